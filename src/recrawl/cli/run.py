"""`recrawl run`: keep a searchable copy of pages fresh."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recrawl.cli._engine import parse_seconds
from recrawl.errors import RecrawlError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recrawl.engine.engine import Engine
    from recrawl.settings import Settings
    from recrawl.web.beside import Beside

__all__ = ["register"]

_EPILOG = "Example: recrawl run https://docs.example.org/ --budget 2/s --data docs --for 10m"


def register(root: typer.Typer) -> None:
    """Hang the command into the command line."""
    root.command(epilog=_EPILOG)(run)


def run(
    seeds: Annotated[
        list[str] | None, typer.Argument(metavar="[URL]...", help="Where to begin.", show_default=False)
    ] = None,
    urls: Annotated[
        str | None, typer.Option(metavar="FILE", help="Exactly these pages: one URL per line.")
    ] = None,
    data: Annotated[
        str | None, typer.Option(metavar="DIR", help="Directory of the store and the index.")
    ] = None,
    budget: Annotated[
        str | None, typer.Option(metavar="N/UNIT", help="Most accesses: 5/s, 20000/h, 100000/d.")
    ] = None,
    policy: Annotated[
        str | None, typer.Option(metavar="NAME", help="optimal, poisson, uniform or proportional.")
    ] = None,
    robots: Annotated[int | None, typer.Option(metavar="N", help="Most robots.")] = None,
    control: Annotated[
        str | None, typer.Option(metavar="HOW", help="guarded, fixed, thresholds or auto.")
    ] = None,
    contact: Annotated[
        str | None, typer.Option(metavar="WHO", help="URL or mail address for the sites' operators.")
    ] = None,
    include: Annotated[
        list[str] | None, typer.Option(metavar="REGEX", help="Only pages that match; may be repeated.")
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option(metavar="REGEX", help="No pages that match; may be repeated.")
    ] = None,
    listen: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="Address of the control room (default: 127.0.0.1:8717)."),
    ] = None,
    no_web: Annotated[bool, typer.Option("--no-web", help="No control room.")] = False,
    lasting: Annotated[
        str | None, typer.Option("--for", metavar="TIME", help="Stop after 60s, 10m, 2h, 1d.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Settings (default: recrawl.toml, if there).")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Any other setting; may be repeated."),
    ] = None,
    verbose: Annotated[
        int, typer.Option("--verbose", "-v", count=True, help="Log more; twice for everything.")
    ] = 0,
    as_json: Annotated[
        bool, typer.Option("--json", help="At the end print the engine's state as one JSON document.")
    ] = False,
) -> None:
    """Access pages, index them, and keep the copy as fresh as the budget allows.

    Stops on Ctrl-C or SIGTERM: robots finish, everything is written. Settings come from recrawl.toml, the
    environment (RECRAWL_ROBOTS=4) and flags; later wins.
    """
    from recrawl.settings import load_settings, parse_flags

    flags: dict[str, Any] = {
        "seeds": tuple(seeds) if seeds else None,
        "urls_file": urls,
        "data": data,
        "budget": budget,
        "policy": policy,
        "robots": robots,
        "control": control,
        "contact": contact,
        "include": tuple(include) if include else None,
        "exclude": tuple(exclude) if exclude else None,
        "listen": "" if no_web else listen,
    }
    chosen = load_settings({**flags, **parse_flags(settings or [])}, config)
    seconds = None if lasting is None else parse_seconds(lasting, "--for")
    _log_to_stderr(verbose)
    document, interrupted = asyncio.run(_run(chosen, seconds, listen is not None))
    if as_json:
        from recrawl.cli._output import print_json

        print_json(document)
    if interrupted:
        raise typer.Exit(130)


def _log_to_stderr(verbose: int) -> None:
    level = [logging.WARNING, logging.INFO, logging.DEBUG][min(verbose, 2)]
    logging.basicConfig(
        stream=sys.stderr, level=level, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )


async def _run(settings: Settings, seconds: float | None, explicit: bool) -> tuple[dict[str, Any], bool]:
    stopping = asyncio.Event()
    signals: list[int] = []
    with _signals(stopping, signals):  # before anything slow is loaded
        try:
            document = await _run_engine(settings, stopping, seconds, explicit)
        except BaseExceptionGroup as group_error:
            raise _first(group_error) from group_error
    return document, signal.SIGINT in signals


async def _run_engine(
    settings: Settings, stopping: asyncio.Event, seconds: float | None, explicit: bool
) -> dict[str, Any]:
    from recrawl.assemble import engine_of

    async with engine_of(settings) as engine:
        room = _room(engine, settings, explicit)
        async with asyncio.TaskGroup() as group:
            work = group.create_task(engine.run(stopping), name="engine")
            beside = group.create_task(_beside(engine, stopping, seconds), name="beside")
            if room is not None:
                room.start(group)
            await work
            beside.cancel()
            if room is not None:
                room.stop()
        return engine.status(running=False)


def _room(engine: Engine, settings: Settings, explicit: bool) -> Beside | None:
    """The control room and the webhook, if they are wanted."""
    if not settings.listen and not settings.webhook_url:
        return None
    from recrawl.web.beside import Beside

    room = Beside(engine, settings, explicit=explicit)
    for line in room.lines():
        sys.stderr.write(f"recrawl: {line}\n")
    return room


async def _beside(engine: Engine, stopping: asyncio.Event, seconds: float | None) -> None:
    """Stop after the time that was asked for, counted from the start of the robots; show progress to a terminal."""
    await engine.started.wait()
    loop = asyncio.get_running_loop()
    if seconds is not None:
        loop.call_later(seconds, stopping.set)
    if not sys.stderr.isatty():
        return
    try:
        while not stopping.is_set():
            sys.stderr.write(f"\r\x1b[K{_line(engine)}")
            sys.stderr.flush()
            with suppress(TimeoutError):
                async with asyncio.timeout(0.5):
                    await stopping.wait()
        sys.stderr.write("\r\x1b[Kstopping: robots finish their accesses")
    finally:
        sys.stderr.write("\n")
        sys.stderr.flush()


def _line(engine: Engine) -> str:
    measures, robots = engine.measures, engine.robots
    outcomes = measures.outcomes
    failed = sum(outcomes[name] for name in ("failed", "busy", "refused"))
    parts = [
        f"{len(engine.scheduler):,} pages",
        f"{sum(outcomes.values()):,} accesses",
        f"{measures.findings['changed']:,} changed",
        f"{failed:,} failed",
        f"robots {len(robots.in_flight)}/{robots.active}",
        f"buffer {engine.queue.level()}/{engine.world.buffer.capacity}",
    ]
    return "  ".join(parts)


@contextmanager
def _signals(stopping: asyncio.Event, seen: list[int]) -> Iterator[None]:
    loop = asyncio.get_running_loop()

    def stop(number: int) -> None:
        seen.append(number)
        stopping.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop, number)
    try:
        yield
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The error to tell of: ours before others."""
    leaves: list[BaseException] = []
    waiting: list[BaseException] = [group]
    while waiting:
        error = waiting.pop()
        if isinstance(error, BaseExceptionGroup):
            waiting.extend(error.exceptions)
        else:
            leaves.append(error)
    ours = [error for error in leaves if isinstance(error, RecrawlError | OSError)]
    return ours[0] if ours else leaves[0]
