"""Sites and their pages in order: which site may be accessed, and which of its pages is due first."""

from __future__ import annotations

import heapq
import math
from typing import TYPE_CHECKING

import numpy as np

from recrawl.engine.line import Line

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recrawl.engine.pages import PageTable
    from recrawl.engine.protocols import Politeness

__all__ = ["Sites"]


class Sites:
    """One line of pages for each site, and heaps of sites: by the due time of the head, by the time of readiness.

    A site is `empty`, `ready`, `blocked` until a time, or `full` until one of its accesses ends. A ready site has one
    entry in the heap that counts, `_key`; it is set right when it comes up and the head of the line has moved.
    """

    def __init__(self, table: PageTable, politeness: Politeness) -> None:
        self._table, self._politeness = table, politeness
        self._lines: list[Line] = []
        self._where: list[str] = []
        self._key: list[float] = []
        self._ready: list[tuple[float, int]] = []
        self._blocked: list[tuple[float, int]] = []

    def _make(self, number: int) -> None:
        while len(self._lines) <= number:
            self._lines.append(Line())
            self._where.append("empty")
            self._key.append(math.inf)

    def push(self, slot: int, due: float) -> None:
        """A page waits from now on, until it is due."""
        number = int(self._table.site[slot])
        self._make(number)
        self._lines[number].push(slot, due)
        if self._where[number] == "empty" or (self._where[number] == "ready" and due < self._key[number]):
            self._set_ready(number, due)

    def _set_ready(self, number: int, due: float) -> None:
        self._where[number], self._key[number] = "ready", due
        heapq.heappush(self._ready, (due, number))

    def access_ended(self, site: str) -> bool:
        """A site may have a place again; whether it had none."""
        number = self._table.site_number(site)
        self._make(number)
        if self._where[number] != "full":
            return False
        self._where[number] = "blocked"
        heapq.heappush(self._blocked, (self._politeness.ready_at(site), number))
        return True

    def unblock(self, steady: float) -> None:
        """Let in the sites whose waiting time is over."""
        while self._blocked and self._blocked[0][0] <= steady:
            _, number = heapq.heappop(self._blocked)
            head = self._lines[number].head(self._table.due)
            self._where[number] = "empty"
            if head is not None:
                self._set_ready(number, head[0])

    def next_ready(self) -> float:
        """When the next blocked site may be accessed; infinity: none is blocked."""
        return self._blocked[0][0] if self._blocked else math.inf

    def first(self, steady: float) -> tuple[float, int] | None:
        """Due time and slot of the page that is due first among the sites that may be accessed now."""
        while self._ready:
            due, number = self._ready[0]
            if self._where[number] != "ready" or self._key[number] != due:
                heapq.heappop(self._ready)
                continue
            head = self._lines[number].head(self._table.due)
            if head is None or head[0] != due:
                heapq.heappop(self._ready)
                self._where[number] = "empty"
                if head is not None:
                    self._set_ready(number, head[0])
                continue
            free = self._politeness.ready_at(self._table.sites[number])
            if free <= steady:
                return head
            heapq.heappop(self._ready)
            self._where[number] = "full" if free == math.inf else "blocked"
            if free < math.inf:
                heapq.heappush(self._blocked, (free, number))
        return None

    def rebuild(self) -> None:
        """Put all waiting pages in the order of their due times."""
        table = self._table
        waiting = np.flatnonzero(table.present & ~np.isnan(table.due))
        order: NDArray[np.int64] = waiting[np.lexsort((table.due[waiting], table.site[waiting]))]
        edges = np.searchsorted(table.site[order], np.arange(len(table.sites) + 1))
        self._make(len(table.sites) - 1)
        self._ready = []
        for number in range(len(table.sites)):
            members = order[edges[number] : edges[number + 1]]
            self._lines[number].rebuild(members, table.due[members])
            if self._where[number] in ("empty", "ready"):
                self._where[number] = "empty"
                if members.size:
                    self._set_ready(number, float(table.due[members[0]]))
