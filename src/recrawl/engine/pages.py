"""What the scheduler holds of every page, in arrays: a slot for each page."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import TYPE_CHECKING

import numpy as np

from recrawl.engine.records import PageColumns, State
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
_PACKED = 2 * GRID.points  # bytes: log-likelihoods in half precision
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
    """URLs, sites, weights and times of last access, by slot; slots are those of the belief."""

    def __init__(self, weights: str = "links", counts: bool = True) -> None:
        self.belief = Belief(GRID)
        self._counts = counts  # a page without a kept belief is judged by its counts
        self.weights = weights
        self.url: list[str] = []
        self.slot: dict[str, int] = {}
        self.sites: list[str] = []
        self._site_number: dict[str, int] = {}
        self.site = np.zeros(0, dtype=np.int64)
        self.weight = np.zeros(0)
        self.last = np.zeros(0)  # end of the last access that brought news; NaN: never
        self.due = np.zeros(0)  # NaN: not waiting
        self.present = np.zeros(0, dtype=np.bool_)

    def __len__(self) -> int:
        return len(self.slot)

    def site_number(self, name: str) -> int:
        """The number of a site, new when it was not known."""
        number = self._site_number.get(name)
        if number is None:
            number = self._site_number[name] = len(self.sites)
            self.sites.append(name)
        return number

    def add(self, columns: PageColumns) -> NDArray[np.int64]:
        """Slots for pages that are not here yet; what the store keeps of their beliefs is believed."""
        slots = self.belief.add(len(columns.url))
        self._grow(int(slots.max(initial=-1)) + 1)
        numbers = slots.tolist()
        self.slot.update(zip(columns.url, numbers, strict=True))
        for slot, url in zip(numbers, columns.url, strict=True):
            self.url[slot] = url
        self.site[slots] = [self.site_number(site) for site in columns.site]
        self.weight[slots] = self._weights(columns)
        self.last[slots] = np.array(columns.last_access, dtype=np.float64)  # None becomes NaN
        self.due[slots] = math.nan
        self.present[slots] = True
        self._believe(slots, columns)
        return slots

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
        return (
            np.where(np.array([state == State.DUPLICATE for state in columns.state]), _DUPLICATE_WEIGHT, 1.0)
            * found
        )

    def update(self, slots: NDArray[np.int64], records: Sequence[PageRecord]) -> None:
        """Take over what the store says of pages that are here."""
        columns = columns_of(records)
        self.weight[slots] = self._weights(columns)
        self.last[slots] = np.array(columns.last_access, dtype=np.float64)

    def _believe(self, slots: NDArray[np.int64], columns: PageColumns) -> None:
        """What the store keeps of each page's belief, or else what its counts say."""
        kept = np.array([len(belief) == _PACKED for belief in columns.belief], dtype=np.bool_)
        if kept.any():
            whole = b"".join(belief for belief in columns.belief if len(belief) == _PACKED)
            rows = np.frombuffer(whole, dtype=np.float16).reshape(-1, GRID.points)
            self.belief.set_evidence(slots[kept], rows.astype(np.float32))
        rest = np.flatnonzero(~kept)
        if rest.size and self._counts:
            believe_counts(self.belief, slots[rest], columns, rest.tolist())

    def learn_prior(self, slots: NDArray[np.int64], most_pages: int = 8192, steps: int = 60) -> None:
        """Learn the prior of the change rates from pages that told something, on a copy: the belief stays in use."""
        if slots.size > 4 * most_pages:
            slots = slots[:: slots.size // (4 * most_pages)]
        rows = self.belief.evidence(slots)
        rows = rows[rows.any(axis=1)][:most_pages]
        if not len(rows):
            return
        copy = Belief(GRID)
        copy.set_priors(self.belief.priors)
        copy.set_evidence(copy.add(len(rows)), rows)
        copy.settle_priors(steps=steps)
        self.belief.set_priors(copy.priors)

    def packed(self, slots: NDArray[np.int64]) -> list[bytes]:
        """What is believed of pages, as the store keeps it."""
        rows = np.maximum(self.belief.evidence(slots), _LEAST).astype(np.float16)
        return [row.tobytes() for row in rows]

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
        self.site = np.concatenate((self.site, np.zeros(more, dtype=np.int64)))
        self.weight = np.concatenate((self.weight, np.zeros(more)))
        self.last = np.concatenate((self.last, np.full(more, math.nan)))
        self.due = np.concatenate((self.due, np.full(more, math.nan)))
        self.present = np.concatenate((self.present, np.zeros(more, dtype=np.bool_)))

    def freshness(self, now: float, most_pages: int = 4096, seed: int = 0) -> float:
        """Probability that a copy is current, by weight, over pages that were accessed (of a sample, if many)."""
        slots = np.flatnonzero(self.present & ~np.isnan(self.last))
        if not slots.size:
            return math.nan
        if slots.size > most_pages:
            slots = np.random.default_rng(seed).choice(slots, most_pages, replace=False)
        current = self.belief.current_probability(slots, np.maximum(now - self.last[slots], 0.0))
        weight = self.weight[slots]
        return float(weight @ current / weight.sum()) if weight.sum() > 0 else math.nan
