"""Pages whose groups have clocks: what the scheduler holds of them when pages of one directory change together.

A page waits on the clock of its group: `wait` is time on that clock since its last access, and the real time at which
it is due follows from the clock's present speed. A clock that speeds up or slows down moves its whole group: whenever
speeds were estimated anew (`moves`), all pages that wait are put in order again.
"""

from __future__ import annotations

import math
import zlib
from bisect import bisect_right
from typing import TYPE_CHECKING

import numpy as np

from recrawl.engine.pages import PageTable, believe_counts
from recrawl.engine.waits import WAIT_FIELDS, WAITS, log_worth, waits_of
from recrawl.estimate import ClockBelief

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from recrawl.engine.planning import PolicyName
    from recrawl.engine.records import PageColumns

    Floats = NDArray[np.float64]
    Slots = NDArray[np.int64]

__all__ = ["ClockTable", "Prefixes", "table_of"]

_STEP = 1.05  # in time, over which the growth of a value is taken


class Prefixes:
    """Groups by the beginnings of their pages' names; finds the longest one of a name by a search in their order.

    >>> Prefixes({b"": 0, b"a/": 1, b"a/b/": 2, b"c/": 3}).of(["a/b/x", "a/x", "b", "c/"])
    [2, 1, 0, 3]
    """

    def __init__(self, groups: dict[bytes, int]) -> None:
        self._sorted = sorted(groups)
        self._numbers = [groups[prefix] for prefix in self._sorted]
        self._above: list[int] = []  # place of the longest other prefix that a prefix begins with
        stack: list[int] = []
        for place, prefix in enumerate(self._sorted):
            while stack and not prefix.startswith(self._sorted[stack[-1]]):
                stack.pop()
            self._above.append(stack[-1] if stack else -1)
            stack.append(place)
        self.stamp = zlib.crc32(b"\0".join(groups))  # of these groups with these numbers

    def of(self, names: Iterable[str]) -> list[int]:
        """The innermost group of each name."""
        return [self._group(name.encode("utf-8", "surrogateescape")) for name in names]

    def _group(self, name: bytes) -> int:
        place = bisect_right(self._sorted, name) - 1
        while place >= 0 and not name.startswith(self._sorted[place]):
            place = self._above[place]
        return self._numbers[place] if place >= 0 else 0


class ClockTable(PageTable):
    """A table whose beliefs are those of group clocks."""

    def __init__(
        self, weights: str = "links", counts: bool = True, kept: bytes | None = None, budget: float = 1.0
    ) -> None:
        super().__init__(weights, counts)
        self.clocks = ClockBelief(budget) if kept is None else ClockBelief.from_clocks(zlib.decompress(kept))
        self.prefixes = Prefixes(self.clocks.group_of)
        self.belief = self.clocks.belief  # rates on the clocks
        size = _row_bytes(self.belief.grid.points)
        self._row = np.dtype([("belief", f"V{size}"), *WAIT_FIELDS, ("stamp", "<u4"), ("group", "<i4")])

    @property
    def moves(self) -> int:
        """How often speeds of clocks were estimated anew."""
        from recrawl.estimate._clock_kernels import MOVES

        return int(self.clocks.state.counters[MOVES])

    # Pages come and go.

    def _slots_for(self, columns: PageColumns) -> Slots:
        from recrawl.estimate import _clock_kernels as kernel

        clocks = self.clocks
        slots = clocks.reserve(len(columns.url))
        last = np.array(columns.last_access, dtype=np.float64)
        names = slots.tolist()
        for slot, name in zip(names, columns.url, strict=True):
            clocks.names[slot] = name
        clocks.state.pages.last[slots] = np.nan_to_num(last)
        clocks.state.pages.state[slots] = np.where(np.isnan(last), kernel.NEW, kernel.SEEN)
        clocks.admitted(slots.size)
        return slots

    def free(self, slots: Sequence[int]) -> None:
        """Give slots of removed pages to new ones."""
        if slots:
            self.clocks.remove(list(slots))

    def _believe(self, slots: Slots, columns: PageColumns) -> None:
        """What the store keeps of each page's belief; groups that are numbered as then need not be looked for."""
        kept = np.array([len(row) == self._row.itemsize for row in columns.belief], dtype=np.bool_)
        group = self.clocks.state.pages.group
        unknown = ~kept
        if kept.any():
            places = np.flatnonzero(kept)
            rows = np.frombuffer(b"".join([columns.belief[i] for i in places.tolist()]), dtype=self._row)
            self.clocks.unpack(slots[places], rows["belief"].tolist())
            self.waits[slots[places]] = rows[list(WAITS.names or ())]
            same = rows["stamp"] == self.prefixes.stamp
            group[slots[places[same]]] = rows["group"][same]
            unknown[places[~same]] = True
        rest = np.flatnonzero(unknown)
        if rest.size:
            group[slots[rest]] = self.prefixes.of([columns.url[i] for i in rest.tolist()])
        rest = np.flatnonzero(~kept)
        if rest.size and self._counts:
            believe_counts(self.belief, slots[rest], columns, rest.tolist())

    def packed(self, slots: Slots) -> list[bytes]:
        """What is believed of pages, as the store keeps it."""
        rows = np.zeros(slots.size, dtype=self._row)
        rows["belief"] = self.clocks.pack(slots)
        for name in WAITS.names or ():
            rows[name] = self.waits[name][slots]
        rows["stamp"], rows["group"] = self.prefixes.stamp, self.clocks.group(slots)
        whole, size = rows.tobytes(), self._row.itemsize
        return [whole[place : place + size] for place in range(0, len(whole), size)]

    # What is learnt.

    def observe(
        self,
        slots: Slots,
        _last: Floats,
        ended: Floats,
        changed: NDArray[np.bool_],
        dates: Floats,
        heard: Floats,
    ) -> None:
        """Learn from accesses; `heard` is when a page was said to have changed, NaN where it was not."""
        told = ~np.isnan(heard)
        if told.any():
            # What was said is learnt now that the access has confirmed it, and the access adds nothing.
            self.clocks.signal(slots[told], heard[told], dates[told])
        self.clocks.observe(slots, ended, changed, np.where(told, math.nan, dates))

    def seen(self, slots: Slots, ended: Floats) -> None:
        """Pages have a copy from now on, whatever was before."""
        from recrawl.estimate._clock_kernels import SEEN

        self.clocks.state.pages.last[slots] = ended
        self.clocks.state.pages.state[slots] = SEEN

    def learn_prior(self, _slots: Slots) -> bool:
        """The prior is learnt while accesses are; did it move since waits were last found for all pages?"""
        prior = self.clocks.belief.priors
        if prior.shape == self._planned_prior.shape and self._moved_little(prior):
            return False
        self._planned_prior = prior
        return True

    def prepare(self, budget: float) -> object | None:
        """What follows the number of pages and the budget, found in a worker; `care` takes it over."""
        self.clocks.set_budget(budget)
        return self.clocks.propose_groups() if self.clocks.wants_groups() else None

    def care(self, prepared: object | None, now: float) -> None:
        """Take over other groups, and another scale of time if the number of pages or the budget has moved far."""
        if prepared is not None:
            self.clocks.adopt_groups(prepared, now)  # type: ignore[arg-type]
            self.prefixes = Prefixes(self.clocks.group_of)
        if self.clocks.rescale(now):
            self.waits["level"] = math.nan  # every wait is to be found anew
            self._planned_prior = np.zeros((0, 0))

    # What is believed, in real time.

    def find_waits(self, slots: Slots, weight: Floats, prices: Floats) -> NDArray[np.void]:
        """How long pages wait, on their clocks, until an access is worth the price; and how its value grows there."""
        belief = self.clocks.belief
        wait = belief.time_to_price(slots, prices, weight)
        most = belief.value(slots, 1e6 / belief.grid.low, weight)
        known = np.isfinite(wait)
        with np.errstate(divide="ignore"):
            grown = np.log(belief.value(slots, np.where(known, _STEP * wait, 0.0), weight) / prices)
        return waits_of(wait, prices, np.where(known, grown / math.log(_STEP), 0.0), most)

    def intervals(self, slots: Slots, waits: Floats) -> Floats:
        """Seconds that waits take while clocks keep their present speeds."""
        return waits / self.clocks.speed(slots)

    def due_times(self, slots: Slots, waits: NDArray[np.floating], now: float) -> Floats:
        """When pages are due that wait so long, at the present speeds of their clocks."""
        last = np.where(np.isnan(self.last[slots]), now, self.last[slots])
        return self.clocks.real_time(slots, self.clocks.clock(slots, last) + waits, now)

    def change_rate(self, slots: Slots) -> Floats:
        """Changes per second that are expected now."""
        return self.clocks.mean_rate(slots)

    def typical_rate(self, slots: Slots) -> Floats:
        """The rates whose logarithms are the means of what is believed, at the present speeds."""
        return self.clocks.belief.typical_rate(slots) * self.clocks.speed(slots)

    def change_rate_interval(self, slots: Slots, level: float) -> Floats:
        """Credible intervals of the present change rates: columns low and high."""
        return self.clocks.interval(slots, level)

    def log_value(self, slots: Slots, weight: Floats, now: float, exact: bool = True) -> Floats:
        """Logarithms of the freshness that accesses are expected to regain, in time on the pages' clocks.

        Exactly, or by what is known at the pages' waits, where the value of an access is nearly a power of time.
        """
        elapsed = self.elapsed(slots, self.last[slots], np.full(slots.size, now))
        with np.errstate(divide="ignore", invalid="ignore"):
            if exact:
                return np.log(self.clocks.belief.value(slots, elapsed, weight))
        return log_worth(self.waits[slots], elapsed)

    parts = 16

    def elapsed(self, slots: Slots, last: Floats, times: Floats) -> Floats:
        """Time from last accesses to other times, on the pages' clocks; none for pages never accessed."""
        since = np.minimum(np.where(np.isnan(last), times, last), times)
        return np.maximum(self.clocks.clock(slots, times) - self.clocks.clock(slots, since), 0.0)

    def kept_prior(self) -> bytes:
        """Clocks, groups and prior, for a table that goes on from them."""
        return zlib.compress(self.clocks.kept_clocks(), 1)

    def shift_times(self, shift: float) -> None:
        """The clock on the wall was set back: what was before it was earlier by as much."""
        from recrawl.estimate._clock_kernels import ORIGIN

        super().shift_times(shift)
        self.clocks.state.pages.last[:] += shift
        self.clocks.state.numbers[ORIGIN] += shift


def table_of(
    policy: PolicyName,
    weights: str = "links",
    counts: bool = True,
    kept: bytes | None = None,
    budget: float = 1.0,
) -> PageTable:
    """The table that a policy needs; `kept` is what a table with clocks kept, `budget` is in accesses per page."""
    if policy == "optimal":
        return ClockTable(weights, counts, kept, budget)
    return PageTable(weights, counts)


def _row_bytes(points: int) -> int:
    """What `ClockBelief.pack` gives for a page: the grid's place, last access, state, log-likelihoods."""
    return 8 + 8 + 1 + 4 * points
