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


class Kept:
    """A small cache in time. An answer that took long to make is kept longer: making takes a tenth of the time at most.

    Only what succeeded is kept.
    """

    def __init__(self) -> None:
        self._found: dict[Hashable, tuple[float, Any]] = {}
        self._making: dict[Hashable, asyncio.Task[Any]] = {}

    async def get(self, key: Hashable, seconds: float, make: Callable[[], Awaitable[T]]) -> T:
        """The answer to `key`, at most so old; or make it."""
        found = self._found.get(key)
        if found is not None and time.monotonic() < found[0]:
            answer: T = found[1]
            return answer
        task = self._making.get(key)
        if task is None:
            task = asyncio.ensure_future(self._make(key, seconds, make))
            self._making[key] = task
            task.add_done_callback(lambda _task: self._making.pop(key, None))
        result: T = await asyncio.shield(task)  # who gives up waiting does not spoil it for the others
        return result

    async def _make(self, key: Hashable, seconds: float, make: Callable[[], Awaitable[T]]) -> T:
        begun = time.monotonic()
        answer = await make()
        now = time.monotonic()
        if len(self._found) >= _MOST:
            self._found = {name: entry for name, entry in self._found.items() if entry[0] > now}
        if len(self._found) >= _MOST:
            self._found.clear()
        self._found[key] = (now + max(seconds, 10.0 * (now - begun)), answer)
        return answer

    def forget(self) -> None:
        """Make everything anew."""
        self._found.clear()
