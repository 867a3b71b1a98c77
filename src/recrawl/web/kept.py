"""Answers that are kept for a while, and made once however many ask for them at the same time."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable

__all__ = ["Kept"]

T = TypeVar("T")
_MOST = 64  # answers
_STALE = 4.0  # times its age that an answer may have while another is made


class Kept:
    """A small cache in time. An answer that took long to make is kept longer: making takes a tenth of the time at most.

    Only what succeeded is kept.
    """

    def __init__(self) -> None:
        self._found: dict[Hashable, tuple[float, Any, float]] = {}  # good until, answer, bearable until
        self._making: dict[Hashable, asyncio.Task[Any]] = {}

    async def get(
        self, key: Hashable, seconds: float, make: Callable[[], Awaitable[T]], *, stale: bool = False
    ) -> T:
        """The answer to `key`, at most so old; or make it. With `stale` the one before will do meanwhile."""
        found = self._found.get(key)
        now = time.monotonic()
        if found is not None and now < found[0]:
            answer: T = found[1]
            return answer
        task = self._making.get(key)
        if task is None:
            task = asyncio.ensure_future(self._make(key, seconds, make))
            self._making[key] = task
            task.add_done_callback(lambda done: self._made(key, done))
        if stale and found is not None and now < found[2]:
            previous: T = found[1]
            return previous
        result: T = await asyncio.shield(task)  # who gives up waiting does not spoil it for the others
        return result

    def _made(self, key: Hashable, task: asyncio.Task[Any]) -> None:
        self._making.pop(key, None)
        if not task.cancelled():
            task.exception()  # seen: who waits hears of it, and otherwise it is tried again

    async def _make(self, key: Hashable, seconds: float, make: Callable[[], Awaitable[T]]) -> T:
        begun = time.monotonic()
        answer = await make()
        now = time.monotonic()
        if len(self._found) >= _MOST:
            self._found = {name: entry for name, entry in self._found.items() if entry[0] > now}
        if len(self._found) >= _MOST:
            self._found.clear()
        took = now - begun
        self._found[key] = (now + max(seconds, 10.0 * took), answer, now + max(_STALE * seconds, 40.0 * took))
        return answer

    def forget(self) -> None:
        """Make everything anew; what may be stale is still good meanwhile."""
        self._found = {key: (0.0, answer, until) for key, (_, answer, until) in self._found.items()}
