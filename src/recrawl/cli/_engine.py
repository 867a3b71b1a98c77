"""What the commands of the engine share: the data directory, times for people, running something asynchronous."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from recrawl.errors import ConfigError

if TYPE_CHECKING:
    from recrawl.engine.protocols import Index, Store

__all__ = ["Data", "Json", "ago", "parse_seconds", "span", "stamp", "with_data"]

Result = TypeVar("Result")

Data = Annotated[
    Path,
    typer.Option(
        "--data", metavar="DIR", envvar="RECRAWL_DATA", help="Directory of the store and the index."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of tables.")]

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


def with_data(data: Path, work: Callable[[Store, Index], Awaitable[Result]]) -> Result:
    """Open store and index beside whatever engine runs, do something, close them."""
    from recrawl.backends import open_index, open_store

    if not (data / "store.db").exists():
        raise ConfigError(f"data: {str(data)!r} holds no pages; `recrawl run --data {data} URL` makes them")

    async def run() -> Result:
        store = open_store(data / "store.db", read_only=True)
        index = open_index(data / "index", read_only=True)
        try:
            return await work(store, index)
        finally:
            await index.close()
            await store.close()

    return asyncio.run(run())


def parse_seconds(text: str, option: str) -> float:
    """Seconds from `60s`, `10m`, `2h`, `1d`.

    >>> parse_seconds("1.5m", "--for")
    90.0
    """
    number = text.rstrip("abcdefghijklmnopqrstuvwxyz")
    try:
        seconds = float(number) * _UNITS[text[len(number) :] or "s"]
    except (ValueError, KeyError):
        seconds = -1.0
    if not seconds > 0:
        raise ConfigError(f"{option}: {text!r} must be a time such as 60s, 10m, 2h or 1d")
    return seconds


def stamp(time: float | None) -> str | None:
    """A time as people and programs both read it.

    >>> stamp(0.0)
    '1970-01-01T00:00:00Z'
    """
    return None if time is None else datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def span(seconds: float | None) -> str:
    """A length of time in its natural unit.

    >>> span(0.02), span(90), span(7200), span(3 * 86400), span(None)
    ('0.02 s', '1.5 min', '2 h', '3 d', '-')
    """
    if seconds is None:
        return "-"
    for unit, size in (("d", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 1.0 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"


def ago(time: float | None, now: float) -> str:
    """How long ago, or how far ahead."""
    if time is None:
        return "never"
    return f"{span(now - time)} ago" if time <= now else f"in {span(time - now)}"
