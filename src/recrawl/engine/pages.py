"""What the scheduler holds of every page, in arrays: a slot for each page."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from recrawl.engine.records import State
from recrawl.estimate import Belief, RateGrid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from recrawl.engine.records import PageRecord

__all__ = ["GRID", "PageTable", "believe_counts", "default_weight"]

# From once in three years to twenty times a second: slower and faster pages look the same as those at the ends.
GRID = RateGrid(1e-8, 20.0, 40)
_MOST_CHANGES = 16  # of a page's counts that are taken into a belief from counts
_DUPLICATE_WEIGHT = 0.05
_PACKED = 2 * GRID.points  # bytes: log-likelihoods in half precision
_LEAST = -60000.0  # half precision goes no further


def default_weight(depth: int, in_links: int) -> float:
    """A page's weight when none is given: falls with its depth, rises slowly with the links to it.

    >>> default_weight(0, 0), round(default_weight(2, 9), 3)
    (1.0, 1.101)
    """
    return (1.0 + math.log1p(in_links)) / (1.0 + depth)


def believe_counts(belief: Belief, slots: NDArray[np.int64], records: Sequence[PageRecord]) -> None:
    """Tell the belief what a record's counts say, as if all its accesses had been equally far apart.

    The store keeps counts, not every access; at most 16 changes count, with as many unchanged accesses in proportion.
    """
    rows: list[tuple[int, float, bool]] = []
    for slot, record in zip(slots.tolist(), records, strict=True):
        intervals = record.accesses - 1
        if intervals < 1 or record.last_access is None or record.last_access <= record.found_at:
            continue
        step = (record.last_access - record.found_at) / record.accesses
        changes = min(record.changes, intervals)
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

    def __init__(self, weights: str = "links") -> None:
        self.belief = Belief(GRID)
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

    def add(self, records: Sequence[PageRecord], learn: bool = True) -> NDArray[np.int64]:
        """Slots for pages that are not here yet; what their counts say is believed."""
        slots = self.belief.add(len(records))
        self._grow(int(slots.max(initial=-1)) + 1)
        for slot, record in zip(slots.tolist(), records, strict=True):
            self.slot[record.url] = slot
            self.url[slot] = record.url
            self.site[slot] = self.site_number(record.site)
            self.weight[slot] = self.weight_of(record)
            self.last[slot] = math.nan if record.last_access is None else record.last_access
        self.due[slots] = math.nan
        self.present[slots] = True
        if learn:
            self._believe(slots, records)
        return slots

    def _believe(self, slots: NDArray[np.int64], records: Sequence[PageRecord]) -> None:
        """What the store keeps of each page's belief, or else what its counts say."""
        kept = np.array([len(record.belief) == _PACKED for record in records], dtype=np.bool_)
        if kept.any():
            whole = b"".join(record.belief for record in records if len(record.belief) == _PACKED)
            rows = np.frombuffer(whole, dtype=np.float16).reshape(-1, GRID.points)
            self.belief.set_evidence(slots[kept], rows.astype(np.float32))
        if not kept.all():
            rest = [record for record, is_kept in zip(records, kept.tolist(), strict=True) if not is_kept]
            believe_counts(self.belief, slots[~kept], rest)

    def packed(self, slots: NDArray[np.int64]) -> list[bytes]:
        """What is believed of pages, as the store keeps it."""
        rows = np.maximum(self.belief.evidence(slots), _LEAST).astype(np.float16)
        return [row.tobytes() for row in rows]

    def weight_of(self, record: PageRecord) -> float:
        """The weight a page has: its own, or by the rule; a duplicate's is small."""
        if record.weight is not None:
            own = record.weight
        else:
            own = 1.0 if self.weights == "equal" else default_weight(record.depth, record.in_links)
        return own * _DUPLICATE_WEIGHT if record.state is State.DUPLICATE else own

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
