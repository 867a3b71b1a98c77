"""What the scheduler holds of every page, in arrays: a slot for each page."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import TYPE_CHECKING

import numpy as np

from recrawl.engine.records import PageColumns
from recrawl.engine.waits import NO_WAIT, WAIT_FIELDS, WAITS, waits_of
from recrawl.estimate import Belief, RateGrid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from recrawl.engine.records import PageRecord

__all__ = ["GRID", "PageTable", "believe_counts", "columns_of", "default_weight"]

# From once in three years to twenty times a second: slower and faster pages look the same as those at the ends.
GRID = RateGrid(1e-8, 20.0, 40)
_MOST_CHANGES = 16  # of a page's counts that are taken into a belief from counts
_DUPLICATE_WEIGHT = 0.05
# What the store keeps of a page's belief: log-likelihoods in half precision, and how long to wait at which price.
_ROW = np.dtype([("evidence", "<f2", (GRID.points,)), *WAIT_FIELDS])
_PRIOR_PAGES, _PRIOR_STEPS = 8192, 60  # from which the prior is learnt, and how far
_PRIOR_MOVED = 0.04  # of a prior's mass, before all pages' waits are found anew
_LEAST = -60000.0  # half precision goes no further


def default_weight(depth: NDArray[np.float64], in_links: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weights of pages when none are given: they fall with the depth, and rise slowly with the links to the page.

    >>> default_weight(np.array([0.0, 2.0]), np.array([0.0, 9.0])).round(3).tolist()
    [1.0, 1.101]
    """
    return np.asarray((1.0 + np.log1p(in_links)) / (1.0 + depth))


def columns_of(records: Sequence[PageRecord]) -> PageColumns:
    """The same pages, field by field."""
    return PageColumns(
        **{name.name: [getattr(record, name.name) for record in records] for name in fields(PageColumns)}
    )


def believe_counts(
    belief: Belief, slots: NDArray[np.int64], columns: PageColumns, places: Sequence[int]
) -> None:
    """Tell the belief what counts say, as if all accesses of a page had been equally far apart.

    At most 16 changes of a page are taken, and as many unchanged accesses in proportion.
    """
    rows: list[tuple[int, float, bool]] = []
    for slot, place in zip(slots.tolist(), places, strict=True):
        last, accesses = columns.last_access[place], columns.accesses[place]
        intervals = accesses - 1
        if intervals < 1 or last is None or last <= columns.found_at[place]:
            continue
        step = (last - columns.found_at[place]) / accesses
        changes = min(columns.changes[place], intervals)
        taken = min(changes, _MOST_CHANGES)
        quiet = (intervals - changes) * step * (taken / changes if changes else 1.0)
        rows += [(slot, step, True)] * taken
        if quiet > 0:
            rows.append((slot, quiet, False))
    if rows:
        where, elapsed, changed = zip(*rows, strict=True)
        belief.update(list(where), list(elapsed), list(changed))


class PageTable:
    """URLs, sites, weights and times of pages, by slot; slots are those of the belief.

    A page is due a time `wait` after its last access; the wait was found at the price `level`.
    """

    def __init__(self, weights: str = "links", counts: bool = True) -> None:
        self.belief = Belief(GRID)
        self._planned_prior = self.belief.priors  # when waits were last found for all pages
        self._counts = counts  # a page without a kept belief is judged by its counts
        self.weights = weights
        self.url: list[str] = []
        self.slot: dict[str, int] = {}
        self.sites: list[str] = []
        self.site_numbers: dict[str, int] = {}
        self.site = np.zeros(0, dtype=np.int32)
        self.weight = np.zeros(0)
        self.last = np.zeros(0)  # end of the last access that brought news; NaN: never
        self.due = np.zeros(0)  # NaN: not waiting
        self.waits = np.zeros(0, dtype=WAITS)  # NaN: not known
        self.present = np.zeros(0, dtype=np.bool_)

    def __len__(self) -> int:
        return len(self.slot)

    @property
    def moves(self) -> int:
        """How often all due times have moved by themselves."""
        return 0

    def site_number(self, name: str) -> int:
        """The number of a site, new when it was not known."""
        number = self.site_numbers.get(name)
        if number is None:
            number = self.site_numbers[name] = len(self.sites)
            self.sites.append(name)
        return number

    def add(self, columns: PageColumns) -> NDArray[np.int64]:
        """Slots for pages that are not here yet; what the store keeps of their beliefs is believed."""
        if not columns.url:
            return np.zeros(0, dtype=np.int64)
        slots = self._slots_for(columns)
        self._grow(int(slots.max(initial=-1)) + 1)
        numbers = slots.tolist()
        self.slot.update(zip(columns.url, numbers, strict=True))
        if (np.diff(slots) == 1).all():
            self.url[slots[0] : slots[-1] + 1] = columns.url
        else:
            for slot, url in zip(numbers, columns.url, strict=True):
                self.url[slot] = url
        for name in set(columns.site):
            self.site_number(name)
        self.site[slots] = [self.site_numbers[name] for name in columns.site]
        self.weight[slots] = self._weights(columns)
        self.last[slots] = np.array(columns.last_access, dtype=np.float64)  # None becomes NaN
        self.due[slots] = math.nan
        self.waits[slots] = NO_WAIT
        self.present[slots] = True
        self._believe(slots, columns)
        return slots

    def _slots_for(self, columns: PageColumns) -> NDArray[np.int64]:
        return self.belief.add(len(columns.url))

    def _weights(self, columns: PageColumns) -> NDArray[np.float64]:
        """The weights pages have: their own, or by the rule; those of duplicates are small."""
        own = np.array(columns.weight, dtype=np.float64)
        if self.weights == "equal":
            ruled = np.ones(own.size)
        else:
            ruled = default_weight(
                np.array(columns.depth, dtype=np.float64), np.array(columns.in_links, np.float64)
            )
        found = np.where(np.isnan(own), ruled, own)
        if "duplicate" in columns.state:
            found[np.array(columns.state) == "duplicate"] *= _DUPLICATE_WEIGHT
        return found

    def update(self, slots: NDArray[np.int64], records: Sequence[PageRecord]) -> None:
        """Take over what the store says of pages that are here."""
        columns = columns_of(records)
        self.weight[slots] = self._weights(columns)
        self.last[slots] = np.array(columns.last_access, dtype=np.float64)

    def _believe(self, slots: NDArray[np.int64], columns: PageColumns) -> None:
        """What the store keeps of each page's belief, or else what its counts say."""
        kept = np.array([len(belief) == _ROW.itemsize for belief in columns.belief], dtype=np.bool_)
        if kept.any():
            whole = b"".join(
                columns.belief if kept.all() else [columns.belief[i] for i in np.flatnonzero(kept).tolist()]
            )
            rows = np.frombuffer(whole, dtype=_ROW)
            self.belief.set_evidence(slots[kept], rows["evidence"].astype(np.float32))
            self.waits[slots[kept]] = rows[list(WAITS.names or ())]
        rest = np.flatnonzero(~kept)
        if rest.size and self._counts:
            believe_counts(self.belief, slots[rest], columns, rest.tolist())

    def learn_prior(self, slots: NDArray[np.int64]) -> bool:
        """Learn the prior of the change rates from pages that told something; did it move?

        On a copy, as the belief stays in use.
        """
        if slots.size > 4 * _PRIOR_PAGES:
            slots = slots[:: slots.size // (4 * _PRIOR_PAGES)]
        rows = self.belief.evidence(slots)
        rows = rows[rows.any(axis=1)][:_PRIOR_PAGES]
        if not len(rows):
            return False
        copy = Belief(GRID)
        copy.set_priors(self.belief.priors)
        copy.set_evidence(copy.add(len(rows)), rows)
        copy.settle_priors(steps=_PRIOR_STEPS)
        self.belief.set_priors(copy.priors)
        if self._moved_little(copy.priors):
            return False
        self._planned_prior = copy.priors
        return True

    def _moved_little(self, prior: NDArray[np.float64]) -> bool:
        return float(np.abs(prior - self._planned_prior).sum()) <= _PRIOR_MOVED

    def prepare(self, _budget: float) -> object | None:
        """What follows the number of pages and the budget, found in a worker; `care` takes it over."""
        return None

    def care(self, prepared: object | None, now: float) -> None:
        """Take over what was prepared."""

    def packed(self, slots: NDArray[np.int64]) -> list[bytes]:
        """What is believed of pages, as the store keeps it."""
        rows = np.zeros(len(slots), dtype=_ROW)
        rows["evidence"] = np.maximum(self.belief.evidence(slots), _LEAST)
        for name in WAITS.names or ():
            rows[name] = self.waits[name][slots]
        whole, size = rows.tobytes(), _ROW.itemsize
        return [whole[place : place + size] for place in range(0, len(whole), size)]

    def remove(self, url: str) -> int | None:
        """Forget a page; its slot, which is not given to another page before `free`."""
        slot = self.slot.pop(url, None)
        if slot is not None:
            self.due[slot] = math.nan
            self.present[slot] = False
            self.url[slot] = ""
        return slot

    def free(self, slots: Sequence[int]) -> None:
        """Give slots of removed pages to new ones."""
        self.belief.remove(list(slots))

    def _grow(self, size: int) -> None:
        if size <= self.present.size:
            return
        more = max(size, self.present.size + self.present.size // 4) - self.present.size
        self.url.extend([""] * more)
        for name, empty in (
            ("site", 0),
            ("weight", 0),
            ("last", math.nan),
            ("due", math.nan),
            ("present", False),
        ):
            before = getattr(self, name)
            setattr(self, name, np.concatenate((before, np.full(more, empty, dtype=before.dtype))))
        self.waits = np.concatenate((self.waits, np.full(more, NO_WAIT, dtype=WAITS)))

    def kept_prior(self) -> bytes:
        """The prior, for a table that goes on from it."""
        return self.belief.priors.ravel().astype("<f8").tobytes()

    def shift_times(self, shift: float) -> None:
        """The clock on the wall was set back: what was before it was earlier by as much."""
        self.last += shift
        self.due += shift

    # What is believed, in real time.

    def find_waits(
        self, slots: NDArray[np.int64], weight: NDArray[np.float64], prices: NDArray[np.float64]
    ) -> NDArray[np.void]:
        """How long pages wait until an access is worth the price."""
        return waits_of(self.belief.time_to_price(slots, prices, weight), prices)

    def due_times(
        self, slots: NDArray[np.int64], waits: NDArray[np.floating], _now: float
    ) -> NDArray[np.float64]:
        """When pages are due that wait so long; NaN where the wait is not known."""
        return np.asarray(self.last[slots] + waits, dtype=np.float64)

    def intervals(self, _slots: NDArray[np.int64], waits: NDArray[np.float64]) -> NDArray[np.float64]:
        """Seconds that waits take."""
        return waits

    def change_rate(self, slots: NDArray[np.int64]) -> NDArray[np.float64]:
        """Changes per second that are expected."""
        return self.belief.mean_rate(slots)

    def typical_rate(self, slots: NDArray[np.int64]) -> NDArray[np.float64]:
        """The rates whose logarithms are the means of what is believed."""
        return self.belief.typical_rate(slots)

    def change_rate_interval(self, slots: NDArray[np.int64], level: float) -> NDArray[np.float64]:
        """Credible intervals of the change rates: columns low and high."""
        return self.belief.interval(slots, level)

    def current(self, slots: NDArray[np.int64], now: float) -> NDArray[np.float64]:
        """Probability that the copy of each page is what the page is now."""
        elapsed = self.elapsed(slots, self.last[slots], np.full(slots.size, now))
        return self.belief.current_probability(slots, elapsed)

    parts = 1  # of the time between two accesses, within which clocks are even

    def elapsed(
        self, _slots: NDArray[np.int64], last: NDArray[np.float64], times: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Time from last accesses to other times, on the clocks that pages have; none for pages never accessed."""
        return np.maximum(np.nan_to_num(times - last), 0.0)

    def observe(
        self,
        slots: NDArray[np.int64],
        last: NDArray[np.float64],
        ended: NDArray[np.float64],
        changed: NDArray[np.bool_],
        dates: NDArray[np.float64],
        heard: NDArray[np.float64],
    ) -> None:
        """Learn from accesses: `dates` are those of last changes, `heard` is when a page was said to have changed.

        Both are NaN where there is none. What was said without a date tells how long the page had been quiet.
        """
        ages = np.where(np.isnan(heard), ended, heard) - dates
        quiet = ~np.isnan(heard) & np.isnan(dates)
        ages[quiet] = heard[quiet] - last[quiet]
        self.belief.update(slots, ended - last, changed, ages)

    def seen(self, slots: NDArray[np.int64], ended: NDArray[np.float64]) -> None:
        """Pages have a copy from now on, whatever was before."""

    def freshness(self, now: float, most_pages: int = 4096, seed: int = 0) -> float:
        """Probability that a copy is current, by weight, over pages that were accessed (of a sample, if many)."""
        slots = np.flatnonzero(self.present & ~np.isnan(self.last))
        if not slots.size:
            return math.nan
        if slots.size > most_pages:
            slots = np.random.default_rng(seed).choice(slots, most_pages, replace=False)
        weight = self.weight[slots]
        return float(weight @ self.current(slots, now) / weight.sum()) if weight.sum() > 0 else math.nan
