"""Sites and their pages in order: which site may be accessed, and which of its pages is due first."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recrawl.engine.line import Line

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recrawl.engine.pages import PageTable
    from recrawl.engine.protocols import Politeness

__all__ = ["Order", "Sites", "sort_pages"]


@dataclass(frozen=True)
class Order:
    """Pages sorted by site and due time: those of site s are `slots[edges[s]:edges[s + 1]]`."""

    slots: NDArray[np.int64]
    due: NDArray[np.float64]
    edges: NDArray[np.int64]


def sort_pages(
    slots: NDArray[np.int64], due: NDArray[np.float64], site: NDArray[np.int32], sites: int
) -> Order:
    """Put pages in order. Takes a while for a million of them, so it is done in a worker."""
    order = np.lexsort((due, site))
    edges = np.searchsorted(site[order], np.arange(sites + 1))
    return Order(slots[order], due[order], edges.astype(np.int64))


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
        self._moved: set[int] | None = None  # slots that were moved since an order began to be made

    def _make(self, number: int) -> None:
        while len(self._lines) <= number:
            self._lines.append(Line())
            self._where.append("empty")
            self._key.append(math.inf)

    def push(self, slot: int, due: float) -> None:
        """A page waits from now on, until it is due; it may have waited before, for another time."""
        self._table.due[slot] = due
        self._note(slot)
        self._enter(slot, due)

    def take_out(self, slot: int) -> None:
        """A page waits no more."""
        self._table.due[slot] = math.nan
        self._note(slot)

    def _note(self, slot: int) -> None:
        if self._moved is not None:
            self._moved.add(slot)

    def _enter(self, slot: int, due: float) -> None:
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

    # Another order for all pages that wait, made in a worker while pages come and go.

    def begin_order(self) -> NDArray[np.int64]:
        """The pages that wait now; from now on it is noted which of them move."""
        self._moved = set()
        return np.flatnonzero(self._table.present & ~np.isnan(self._table.due))

    def give_up_order(self) -> None:
        """The order that was begun will not come."""
        self._moved = None

    def adopt(self, order: Order) -> None:
        """Take over an order of the pages that waited at `begin_order`; those that moved since keep their places."""
        table, moved = self._table, self._moved or set()
        self._moved = None
        kept = [(slot, table.due[slot]) for slot in moved]
        table.due[order.slots] = order.due
        for slot, due in kept:
            table.due[slot] = due
        self._make(len(table.sites) - 1)
        self._ready = []
        for number in range(order.edges.size - 1):
            begin, end = order.edges[number], order.edges[number + 1]
            self._lines[number].rebuild(order.slots[begin:end], order.due[begin:end])
            self._look_again(number)
        for number in range(order.edges.size - 1, len(self._lines)):
            self._look_again(number)
        for slot, due in kept:
            if not math.isnan(due) and table.present[slot]:
                self._enter(slot, float(due))

    def _look_again(self, number: int) -> None:
        """A site's line was replaced."""
        if self._where[number] in ("empty", "ready"):
            self._where[number] = "empty"
            head = self._lines[number].head(self._table.due)
            if head is not None:
                self._set_ready(number, head[0])
