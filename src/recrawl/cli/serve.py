"""`recrawl serve`: the control room of a data directory, read-only."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recrawl.cli._engine import Data
from recrawl.errors import ConfigError

if TYPE_CHECKING:
    from recrawl.settings import Settings

__all__ = ["register"]


def register(root: typer.Typer) -> None:
    """Hang the command into the command line."""
    root.command(epilog="Example: recrawl serve --data docs --listen 127.0.0.1:8800")(serve)


def serve(
    data: Data = Path("recrawl-data"),
    listen: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="Address (default: 127.0.0.1:8717, or the next free)."),
    ] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Settings (default: recrawl.toml, if there).")
    ] = None,
) -> None:
    """Show search, pages, plan and history in a browser: read-only, beside a running engine or without one.

    Nothing can be changed here; the engine's own address (`recrawl run`) has the actions. When others can reach the
    address, a token is needed: RECRAWL_TOKEN, or a new one that is printed.
    """
    from recrawl.settings import load_settings

    if not (data / "store.db").exists():
        raise ConfigError(f"data: {str(data)!r} holds no pages; `recrawl run --data {data} URL` makes them")
    chosen = load_settings({"data": str(data), "listen": listen}, config)
    if not chosen.listen:
        raise ConfigError("listen: is empty; --listen HOST:PORT says where to serve")
    asyncio.run(_serve(chosen, listen is not None))


async def _serve(settings: Settings, explicit: bool) -> None:
    from recrawl.backends import open_index, open_store
    from recrawl.web.beside import serve_source
    from recrawl.web.source import Source

    data = Path(settings.data)
    store = open_store(data / "store.db", read_only=True)
    index = open_index(data / "index", read_only=True)
    try:
        server, options = serve_source(Source(store, index, data), settings, explicit=explicit)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, server.stop)
        login = f"login?token={options.token}" if options.guarded else ""
        sys.stderr.write(f"recrawl: control room (read-only): {server.address}{login}\n")
        sys.stderr.flush()
        await server.run()
    finally:
        await index.close()
        await store.close()
