"""`recrawl demo`: a web of known truth, and what the engine makes of it."""

from __future__ import annotations

import asyncio
import sys
import threading
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recrawl.cli._engine import parse_seconds
from recrawl.cli.run import _first, _signals

if TYPE_CHECKING:
    from recrawl.cli._demo import Screen
    from recrawl.demo.rehearsal import Preparation
    from recrawl.demo.show import Show

__all__ = ["register"]

_EPILOG = "Example: recrawl demo --for 60s --json"
_SECONDS = 60.0  # when nobody watches


def register(root: typer.Typer) -> None:
    """Hang the command into the command line."""
    root.command(epilog=_EPILOG)(demo)


def demo(
    lasting: Annotated[
        str | None,
        typer.Option(
            "--for", metavar="TIME", help="End after 60s, 10m (default: Ctrl-C; 60s without a terminal)."
        ),
    ] = None,
    pages: Annotated[int | None, typer.Option(metavar="N", help="Pages of the web (default: 200).")] = None,
    budget: Annotated[
        str | None,
        typer.Option(
            metavar="N/UNIT", help="Accesses of each engine (default: 60/s to 120/s, by the machine)."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Another seed, another web.")] = 1,
    listen: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Where the web pages are served.")
    ] = None,
    no_web: Annotated[bool, typer.Option("--no-web", help="Serve no web pages.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="At the end print the figures as one JSON document.")
    ] = False,
) -> None:
    """Show on a local web how much fresher a copy can be at the same budget, and what thresholds are good for.

    Two engines access the same web, `optimal` and `uniform`; the web knows its changes, so what is out of date is
    measured, not estimated. Then two engines with a slow indexer: robots switched by thresholds, robots always on.
    """
    from recrawl.cli._demo import Screen, print_figures
    from recrawl.cli._output import print_json
    from recrawl.demo.figures import figures
    from recrawl.demo.show import Show, ShowOptions
    from recrawl.settings import Settings, parse_budget, parse_listen
    from recrawl.web.server import bind

    given: dict[str, Any] = {"pages": pages, "budget": None if budget is None else parse_budget(budget)}
    seconds = None if sys.stdout.isatty() else _SECONDS
    options = ShowOptions(
        seed=seed,
        seconds=seconds if lasting is None else parse_seconds(lasting, "--for"),
        listen="" if no_web else listen or Settings.listen,
        explicit=listen is not None,
        **{name: value for name, value in given.items() if value is not None},
    )
    if options.explicit and options.listen:  # to be told at once, not after the preparations
        bind(*parse_listen(options.listen), explicit=True).close()
    show = Show(options)
    screen = Screen(sys.stderr if as_json else sys.stdout)
    asyncio.run(_run(show, screen))
    if as_json:
        print_json(figures(show))
    elif not screen.live:
        print_figures(show)


async def _run(show: Show, screen: Screen) -> None:
    stopping = asyncio.Event()
    with _signals(stopping, []):
        screen.say("preparing (the first time, code is compiled: some 20 s) ...")
        with TemporaryDirectory(prefix="recrawl-demo-", ignore_cleanup_errors=True) as name:
            folder = Path(name)
            prepared = await _prepared(folder, stopping)
            if prepared is None:
                return
            try:
                async with asyncio.TaskGroup() as group:
                    playing = show.run(folder, prepared, stopping, lambda: screen.begin(show))
                    work = group.create_task(playing, name="show")
                    watch = group.create_task(screen.watch(show), name="screen")
                    await work
                    watch.cancel()
            except BaseExceptionGroup as error:
                raise _first(error) from error


async def _prepared(folder: Path, stopping: asyncio.Event) -> Preparation | None:
    """What `prepare` finds; None when told to stop meanwhile. Its thread is not waited for."""
    from recrawl.demo.rehearsal import prepare

    loop = asyncio.get_running_loop()
    found: asyncio.Future[Preparation] = loop.create_future()

    def work() -> None:
        try:
            answer, failure = prepare(folder), None
        except Exception as error:  # handed to the caller
            answer, failure = None, error
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(_settle, found, answer, failure)

    threading.Thread(target=work, daemon=True, name="prepare").start()
    told = asyncio.ensure_future(stopping.wait())
    both: set[asyncio.Future[Any]] = {found, told}
    await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
    told.cancel()
    return found.result() if found.done() else None


def _settle(
    future: asyncio.Future[Preparation], answer: Preparation | None, failure: Exception | None
) -> None:
    if failure is not None:
        future.set_exception(failure)
    elif answer is not None:
        future.set_result(answer)
