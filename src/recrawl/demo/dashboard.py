"""The web pages of the engine that the demonstration shows."""

from __future__ import annotations

from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from recrawl.engine.engine import Engine
    from recrawl.settings import Settings

__all__ = ["dashboard", "place_of"]


def place_of(listen: str | None) -> tuple[str, int]:
    """Where to listen."""
    del listen
    return "127.0.0.1", 8717


@asynccontextmanager
async def dashboard(engine: Engine, settings: Settings, listen: tuple[str, int]) -> AsyncIterator[str | None]:
    """Serve an engine's pages while open; the address, or None where there is no room `web`."""
    del engine, settings, listen
    if find_spec("recrawl.web") is None:
        yield None
        return
    yield None
