"""What is believed about pages that change together: clocks of groups, and every page's rate on the clock of its group.

Page i of group g changes at rate θ_i · m_g(t): its own rate times the speed of the clock of its group. On that clock
the page is a Poisson process. Rates are kept in a `Belief`, whose elapsed times are those of the clocks; speeds and the
prior of the rates are learnt online, from accesses that say whether the page had changed since the one before.

This knows nothing of budgets' prices and of order; `clocks` and the live engine put pages in order by it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from recrawl.errors import InvalidModel
from recrawl.estimate.belief import Belief
from recrawl.estimate.groups import nested_groups, prefixes
from recrawl.estimate.rate_grid import RateGrid
from recrawl.laws.law import positive

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from recrawl.estimate._clock_kernels import Clocks

    Floats = NDArray[np.float64]
    Found = tuple[list[bytes], NDArray[np.int32], NDArray[np.int32], NDArray[np.int64], list[str]]

__all__ = ["ClockBelief"]

_POINTS = 24
_SLOWEST, _FASTEST = 0.01, 200.0  # changes per uniform revisit time, at the ends of the grid of rates
_STEP = (_FASTEST / _SLOWEST) ** (1.0 / (_POINTS - 1))
_RESCALE = 2.2  # the uniform revisit time may drift by this factor before bins and grid follow
_REGROUP = 1 / 3  # pages that may come or go, as a share, before groups are made anew
_SLOWEST_CLOCK = 1e-6


class ClockBelief:
    """Clocks of groups, and the change rates of pages on them.

    A page is a slot: a number that `add` gives and `remove` takes back. Methods take many slots at once. Times are
    absolute; those of accesses should not fall, small disorder does no harm.

    Parameters
    ----------
    budget
        Accesses per unit of time: with the number of pages it says how fine times and rates must be.
    start
        The time before the first access.
    ticking
        Without, all clocks go at speed 1: every page on its own.

    >>> belief = ClockBelief(budget=2.0)
    >>> slots = belief.add(["a/1", "a/2"], last_access=[0.0, 0.0])
    >>> belief.observe(slots, [1.0, 1.5], [True, False])
    >>> belief.mean_rate(slots).argmax()
    np.int64(0)
    >>> belief.signal(slots[1:], [2.0])
    >>> (belief.probability_current(slots, 2.0) > 0).tolist()
    [True, False]
    """

    def __init__(self, budget: float, *, start: float = 0.0, ticking: bool = True) -> None:
        from recrawl.estimate._clock_state import empty_clocks, first_prior

        self.budget = positive("budget", budget)
        self.names: list[str] = []
        self.group_of: dict[bytes, int] = {b"": 0}
        self._grouped = 0  # pages when groups were last made
        self._unsettled = 0  # pages that came or went since
        self._round = 1.0 / self.budget  # the uniform revisit time N/B that bins and grid are made for
        self.belief = Belief(RateGrid(_SLOWEST / self._round, _FASTEST / self._round, _POINTS))
        self.belief.set_priors(first_prior(self.belief.grid.rates * self._round)[None, :])
        self.state: Clocks = empty_clocks(self.belief, self._round, start, ticking)

    # Pages come and go.

    def __len__(self) -> int:
        from recrawl.estimate._clock_kernels import PAGES

        return int(self.state.counters[PAGES])

    def add(self, names: Sequence[str], last_access: ArrayLike | None = None) -> NDArray[np.int64]:
        """Slots for new pages: with the time of their copies, or never accessed yet (NaN, or none given)."""
        from recrawl.estimate import _clock_kernels as kernel

        slots = self.reserve(len(names))
        pages = self.state.pages
        for slot, name in zip(slots.tolist(), names, strict=True):
            self.names[slot] = name
            pages.group[slot] = self.nearest_group(name)
        last = np.full(slots.size, np.nan) if last_access is None else np.asarray(last_access, np.float64)
        pages.last[slots] = np.where(np.isnan(last), 0.0, last)
        pages.state[slots] = np.where(np.isnan(last), kernel.NEW, kernel.SEEN)
        self.admitted(slots.size)
        return slots

    def admitted(self, count: int) -> None:
        """So many slots that were reserved hold pages now."""
        from recrawl.estimate._clock_kernels import PAGES

        self.state.counters[PAGES] += count
        self._unsettled += count

    def reserve(self, count: int) -> NDArray[np.int64]:
        """Slots that hold no page yet."""
        from recrawl.estimate._clock_state import grown

        slots = self.belief.add(count)
        self.state = grown(self.state, self.belief)
        self.names.extend([""] * (self.belief.rows.shape[0] - len(self.names)))
        return slots

    def remove(self, slots: ArrayLike) -> None:
        """Forget pages; their slots will be given to new ones."""
        from recrawl.estimate import _clock_kernels as kernel

        places = self.check(slots)
        self.belief.remove(places)
        self.state.pages.state[places] = kernel.ABSENT
        self.state.counters[kernel.PAGES] -= places.size
        self._unsettled += places.size

    def release(self, slots: NDArray[np.int64], moves: int) -> None:
        """Slots that a compiled loop has emptied, and how many pages it let come and go."""
        self.belief.remove(slots)
        self._unsettled += moves

    def slots(self) -> NDArray[np.int64]:
        """Slots of all pages."""
        return np.flatnonzero(self.state.pages.state)

    def check(self, slots: ArrayLike) -> NDArray[np.int64]:
        """Slots as an array; all must hold a page."""
        places = np.atleast_1d(np.asarray(slots, dtype=np.int64))
        states = self.state.pages.state
        bad = (places < 0) | (places >= states.size)
        bad |= states[np.where(bad, 0, places)] == 0 if states.size else True
        if bad.any():
            raise InvalidModel(f"slot {places[bad][0]} holds no page")
        return places

    # What accesses tell.

    def observe(
        self, slots: ArrayLike, times: ArrayLike, changed: ArrayLike, last_modified: ArrayLike | None = None
    ) -> None:
        """Accesses: had each page changed since the one before, and when last (NaN: no date)."""
        from recrawl.estimate._clock_state import learn

        learn(self.state, self.check(slots), times, changed, last_modified, False)

    def signal(
        self,
        slots: ArrayLike,
        times: ArrayLike,
        last_modified: ArrayLike | None = None,
        changed: ArrayLike = True,
    ) -> None:
        """Someone said, at these times, that pages have changed since their last accesses; they are not accessed yet.

        A sitemap's date, a pushed URL. Until it is accessed the page's copy is out of date, and an access is worth as
        much as it can ever be. A date no later than what is known already says nothing. With `changed` false it was
        said that the page is as it was, which is worth as much as an access.
        """
        from recrawl.estimate._clock_state import learn

        places, moments = self.check(slots), np.asarray(times, dtype=np.float64)
        moments = np.broadcast_to(moments, places.shape)
        told = np.broadcast_to(np.asarray(changed, dtype=np.bool_), places.shape)
        dates = np.broadcast_to(np.asarray(np.nan if last_modified is None else last_modified), places.shape)
        calm = ~told & (self.state.pages.state[places] == 2)  # said to be stale before: the calm may be older
        learn(self.state, places[calm], moments[calm], False, None, False)
        learn(self.state, places[told], moments[told], True, dates[told], True)

    # What is believed.

    def speed(self, slots: ArrayLike) -> Floats:
        """The present speeds of the pages' clocks."""
        from recrawl.estimate._clock_kernels import BIN, BINS

        column = int(self.state.counters[BIN]) & (BINS - 1)
        found = self.state.groups.speed[self.state.pages.group[self.check(slots)], column]
        return np.asarray(np.maximum(found, _SLOWEST_CLOCK), dtype=np.float64)

    def clock(self, slots: ArrayLike, times: ArrayLike) -> Floats:
        """The pages' clocks at times up to now (later: at their present speed)."""
        from recrawl.estimate._clock_kernels import clocks_at

        places = self.check(slots)
        moments = np.ascontiguousarray(np.broadcast_to(np.asarray(times, dtype=np.float64), places.shape))
        out = np.empty(places.size)
        clocks_at(self.state, self.state.pages.group[places].astype(np.int64), moments, out)
        return out

    def elapsed(self, slots: ArrayLike, now: float) -> Floats:
        """Time on the pages' clocks since they were last accessed (or said to have changed)."""
        places = self.check(slots)
        return np.maximum(self.clock(places, now) - self.clock(places, self.state.pages.last[places]), 0.0)

    def mean_rate(self, slots: ArrayLike) -> Floats:
        """Posterior mean of the change rates now: own rate times present speed of the clock."""
        return self.belief.mean_rate(slots) * self.speed(slots)

    def interval(self, slots: ArrayLike, level: float = 0.9) -> Floats:
        """Credible intervals of the change rates now, equal tails: columns low and high; clocks are taken as known."""
        return self.belief.interval(slots, level) * self.speed(slots)[:, None]

    def probability_current(self, slots: ArrayLike, now: float) -> Floats:
        """Probability that the copy of each page is current; 0 if there is none, or someone said otherwise."""
        from recrawl.estimate._clock_kernels import SEEN

        places = self.check(slots)
        found = self.belief.current_probability(places, self.elapsed(places, now))
        return np.where(self.state.pages.state[places] == SEEN, found, 0.0)

    def value(self, slots: ArrayLike, now: float, weight: ArrayLike = 1.0) -> Floats:
        """Freshness that an access now is expected to regain, in time on the page's clock.

        The most that the page can be worth if its copy is known to be out of date.
        """
        from recrawl.estimate._clock_kernels import SEEN

        places = self.check(slots)
        elapsed = np.where(
            self.state.pages.state[places] == SEEN, self.elapsed(places, now), 1e6 / self.belief.grid.low
        )
        return self.belief.value(places, elapsed, weight)

    def wait(self, slots: ArrayLike, price: ArrayLike, weight: ArrayLike = 1.0) -> Floats:
        """Time on each page's clock from one access until the next is worth the price; infinite: never."""
        return self.belief.time_to_price(self.check(slots), price, weight)

    def intervals(self, slots: ArrayLike, price: ArrayLike, weight: ArrayLike = 1.0) -> Floats:
        """The same in real time, while clocks keep their present speeds."""
        return self.wait(slots, price, weight) / self.speed(slots)

    def demand(self, slots: ArrayLike, price: ArrayLike, weight: ArrayLike = 1.0) -> float:
        """Accesses per unit of time that the pages ask for at a price, at the present speeds of their clocks."""
        return float((1.0 / self.intervals(slots, price, weight)).sum())

    def clock_due(self, slots: ArrayLike, price: ArrayLike, weight: ArrayLike = 1.0) -> Floats:
        """When each page is due, on the clock of its group: infinite if never, minus infinity if there is no copy.

        Pages of one group keep this order while speeds change. A page said to have changed is due since then,
        unless no access of it is worth the price.
        """
        from recrawl.estimate._clock_kernels import NEW, STALE

        places = self.check(slots)
        pages = self.state.pages
        wait = self.wait(places, price, weight)
        wait = np.where((pages.state[places] == STALE) & np.isfinite(wait), 0.0, wait)
        found = self.clock(places, pages.last[places]) + wait
        return np.where(pages.state[places] == NEW, -np.inf, found)

    def real_time(self, slots: ArrayLike, clock_due: ArrayLike, now: float) -> Floats:
        """The time at which each page's clock, at its present speed, reaches (or reached) a clock time."""
        places = self.check(slots)
        return now + (np.asarray(clock_due) - self.clock(places, now)) / self.speed(places)

    def due(self, slots: ArrayLike, price: ArrayLike, weight: ArrayLike = 1.0, *, now: float) -> Floats:
        """When each page is due, in real time, if its clock keeps its present speed."""
        return self.real_time(slots, self.clock_due(slots, price, weight), now)

    def group(self, slots: ArrayLike) -> NDArray[np.int64]:
        """The group of each page."""
        return self.state.pages.group[self.check(slots)].astype(np.int64)

    # Groups, bins and the grid of rates follow the number of pages and the budget.

    def wants_care(self) -> bool:
        """Whether `maintain` would make groups anew, or change the scale of time."""
        return self.wants_groups() or self._drift() > _RESCALE

    def wants_groups(self) -> bool:
        """Whether so many pages came or went that groups should be made anew."""
        return self.moves_to_regroup() <= 0

    def moves_to_regroup(self) -> int:
        """How many more pages may come or go before groups should be made anew."""
        if not self.ticking:
            return 1 << 60
        return max(3, math.ceil(_REGROUP * self._grouped)) - self._unsettled

    @property
    def ticking(self) -> bool:
        """Whether clocks have speeds of their own."""
        from recrawl.estimate._clock_kernels import TICKING

        return bool(self.state.counters[TICKING])

    def _drift(self) -> float:
        wanted = max(len(self), 1) / self.budget
        return max(wanted / self._round, self._round / wanted)

    def set_budget(self, budget: float) -> None:
        """Another number of accesses per unit of time, from now on."""
        self.budget = positive("budget", budget)

    def maintain(self, now: float) -> bool:
        """Follow the number of pages and the budget, if they have moved far; did numbers of groups or clocks change?"""
        moved = self.wants_groups()
        if moved:
            self.adopt_groups(self.propose_groups(), now)
        return self.rescale(now) or moved

    def rescale(self, now: float) -> bool:
        """Bins and the grid of rates follow the number of pages and the budget, if they have moved far; did they?"""
        from recrawl.estimate._clock_state import rescaled

        if self._drift() <= _RESCALE:
            return False
        wanted = max(len(self), 1) / self.budget
        steps = round(np.log(wanted / self._round) / np.log(_STEP))
        rescaled(self.state, self.belief, steps, now)
        self._round *= _STEP**steps
        return True

    def propose_groups(self) -> Found:
        """Groups for the pages of now: slow for many pages, and may run in a thread of its own."""
        slots = self.slots()
        names = [self.names[slot] for slot in slots]
        return (*nested_groups(names), slots, names)

    def adopt_groups(self, found: Found, now: float) -> None:
        """Other groups; those that were there before keep what they have learnt."""
        from recrawl.estimate._clock_state import regrouped

        prefixes_found, parents, group, slots, names = found
        self.state = regrouped(self.state, self.group_of, prefixes_found, parents, now)
        self.group_of = {prefix: number for number, prefix in enumerate(prefixes_found)}
        self.state.pages.group[:] = -1
        self.state.pages.group[slots] = group
        moved = [slot for slot, name in zip(slots, names, strict=True) if self.names[slot] is not name]
        self.state.pages.group[moved] = -1
        present = self.slots()
        for slot in present[self.state.pages.group[present] < 0].tolist():
            self.state.pages.group[slot] = self.nearest_group(self.names[slot])
        self._grouped, self._unsettled = present.size, 0

    def nearest_group(self, name: str) -> int:
        """The innermost group that a name belongs to."""
        return self.first_group(prefixes(name)) if len(self.group_of) > 1 else 0

    def first_group(self, beginnings: list[bytes]) -> int:
        """The group of the first of these beginnings that is one."""
        for prefix in beginnings:
            if prefix in self.group_of:
                return self.group_of[prefix]
        return 0

    # Keeping it.

    def pack(self, slots: ArrayLike) -> list[bytes]:
        """All that is believed of each page but the state of its group, exactly, for `unpack`: 113 bytes."""
        from recrawl.estimate._clock_store import packed_rows

        return packed_rows(self, self.check(slots))

    def unpack(self, slots: ArrayLike, packed: Sequence[bytes]) -> None:
        """Go on from what `pack` gave; an entry of another length is passed over: its page stays as it was added."""
        from recrawl.estimate._clock_store import believe_rows

        believe_rows(self, self.check(slots), packed)

    def kept_clocks(self) -> bytes:
        """Clocks, groups and prior without the pages: with `pack`, all that is believed."""
        from recrawl.estimate._clock_store import clock_arrays, to_bytes

        return to_bytes(clock_arrays(self))

    @classmethod
    def from_clocks(cls, kept: bytes) -> ClockBelief:
        """What `kept_clocks` gave, without pages: `add` and `unpack` them to go on exactly."""
        from recrawl.estimate._clock_store import from_bytes, without_pages

        return without_pages(from_bytes(kept))

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Everything, names and slots too, as arrays: what `restore` needs to go on exactly."""
        from recrawl.estimate._clock_store import all_arrays

        return all_arrays(self)

    @classmethod
    def restore(cls, arrays: Mapping[str, NDArray[np.generic]]) -> ClockBelief:
        """The belief that `arrays` were taken from."""
        from recrawl.estimate._clock_store import from_arrays

        return from_arrays(arrays)
