"""Where fits are computed: in a thread, or in a process of its own that is not in the engine's way.

A fit takes seconds of computing, and threads of one process share one interpreter: robots would wait for it, and what
is fitted would be disturbed by fitting it.
"""

from __future__ import annotations

import asyncio
import pickle
import signal
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from recrawl.engine.automatic import Proposal, fit_queue, propose
from recrawl.errors import RecrawlError

if TYPE_CHECKING:
    from recrawl.control import Measures
    from recrawl.engine.fitted import Conditions, FittedQueue
    from recrawl.engine.queue_log import Log

__all__ = ["Apart", "Fitter", "Found", "Here", "Task", "work"]


@dataclass(frozen=True)
class Task:
    """What is to be fitted, and whether thresholds are to be found."""

    log: Log
    conditions: Conditions
    table: tuple[int, ...]
    time: float
    auto: bool


@dataclass(frozen=True)
class Found:
    """A fit, a proposal where one was asked for, and for the tables in question what they give.

    `at_once` is the same for the papers' robots, that stop when they are switched off.
    """

    fitted: FittedQueue
    proposal: Proposal | None
    predicted: dict[tuple[int, ...], Measures]
    at_once: dict[tuple[int, ...], Measures]


def work(task: Task) -> Found:
    """Fit, propose, predict."""
    fitted = fit_queue(task.log, task.conditions, task.table, task.time)
    proposal = propose(fitted) if task.auto else None
    tables = {task.table}
    if proposal is not None and proposal.policy is not None:
        tables.add(proposal.policy.robots(task.conditions.capacity))
    return Found(
        fitted,
        proposal,
        {table: fitted.predict(table) for table in tables},
        {table: fitted.predict(table, at_once=True) for table in tables},
    )


class Fitter(Protocol):
    """Computes what a task asks for; None when it was told to stop meanwhile."""

    async def __call__(self, task: Task) -> Found | None:
        """Compute, without holding up the event loop."""

    def stop(self) -> None:
        """Give up what is being computed."""


class Here:
    """In a thread."""

    async def __call__(self, task: Task) -> Found | None:
        """Compute in a thread."""
        return await asyncio.to_thread(work, task)

    def stop(self) -> None:
        """Let it finish."""


class Apart:
    """In a process of its own, with a low priority, one for each fit: there are few, and rarely."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None
        self._stopped = False

    async def __call__(self, task: Task) -> Found | None:
        """Compute in another process."""
        if self._stopped:
            return None
        process = self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", "from recrawl.engine.fitting import main; main()",
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        try:
            answer, _ = await process.communicate(pickle.dumps(task))
        finally:
            self._kill()
        return None if process.returncode == -signal.SIGKILL else _answered(answer, process.returncode)

    def stop(self) -> None:
        """End the process."""
        self._stopped = True
        self._kill()

    def _kill(self) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.kill()


def _answered(answer: bytes, code: int | None) -> Found:
    if not answer:
        raise RecrawlError(f"the process that fits ended with {code}")
    found: Found | RecrawlError = pickle.loads(answer)
    if isinstance(found, RecrawlError):
        raise found
    return found


def main() -> None:
    """Read a task, write what was found."""
    import os

    os.nice(10)
    task = pickle.load(sys.stdin.buffer)
    found: Found | RecrawlError
    try:
        found = work(task)
    except RecrawlError as error:
        found = error
    sys.stdout.buffer.write(pickle.dumps(found))
