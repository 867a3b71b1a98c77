"""Replay of a history: what would each policy have kept fresh, at the same budget?

One access every 1/B. An access tells only whether the page had changed since the access before (with `dated`, also
when); a page that appears is known at once and accessed next; a page that is gone is learnt at its next access.
Freshness is the average over the last 55 % of the window of the share of living pages whose copy is current.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recrawl.errors import InvalidModel
from recrawl.estimate.groups import prefixes
from recrawl.laws.law import positive
from recrawl.simulate.histories import APPEARED, GONE

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from recrawl.estimate.clocks import GroupClocks
    from recrawl.simulate._replay import World
    from recrawl.simulate.histories import SiteHistory

    Pages = NDArray[np.int64]
    Times = NDArray[np.float64]

__all__ = ["REPLAY_POLICIES", "Replayed", "replay", "unit_budget"]

#: Policies; `poisson-known` is told every page's mean rate in advance and `clairvoyant` the future: both cheat.
REPLAY_POLICIES = (
    "uniform", "proportional", "nutch", "stormcrawler", "poisson", "poisson-known", "optimal", "clairvoyant",
)  # fmt: skip

_RULES = {
    "proportional": "proportional",
    "poisson": "poisson",
    "poisson-known": "known",
    "optimal": "optimal",
}
_DUE_RULES = {"uniform": 0, "nutch": 1, "stormcrawler": 2}
_FIRST_INTERVAL = {"uniform": 0.0, "nutch": 30 * 86400.0, "stormcrawler": 86400.0}
_CHUNK = 5000


@dataclass(frozen=True)
class Replayed:
    """What a policy achieved on a site."""

    site: str
    policy: str
    freshness: float
    accesses: int
    accesses_of_gone: int
    seconds: float


def unit_budget(history: SiteHistory) -> float:
    """The budget `1x`: as many accesses as there are changes and new pages."""
    return float((history.kinds != GONE).sum()) / (history.end - history.start)


def replay(
    history: SiteHistory,
    budget: float,
    policy: str,
    *,
    dated: bool = False,
    warm_up: float = 0.45,
    second: float = 1.0,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> Replayed:
    """Play a history to a policy.

    Parameters
    ----------
    budget
        Accesses per unit of time.
    dated
        Accesses that find a change also learn its time (policies that learn rates use it).
    warm_up
        Share of the window before freshness counts.
    second
        A second, in the history's unit of time: the peers' rules know days and hours.
    seed
        Of the order in which the first pages are listed.
    progress
        Called with numbers of accesses done.

    >>> from recrawl.simulate.histories import synthetic_history
    >>> site = synthetic_history("poisson", pages=50, groups=5, duration=20.0)
    >>> bound = replay(site, 50.0, "clairvoyant").freshness
    >>> 0.3 < replay(site, 50.0, "uniform").freshness < bound < 1.0
    True
    """
    if policy not in REPLAY_POLICIES:
        raise InvalidModel(f"policy must be one of {', '.join(REPLAY_POLICIES)}, not {policy!r}")
    if not 0 <= warm_up < 1:
        raise InvalidModel(f"warm_up must lie in [0, 1), not {warm_up}")
    budget = positive("budget", budget)
    from recrawl.simulate._replay import ACCESSES, FAILED, finish

    started = time.process_time()
    world = _world(history, warm_up)
    total = int((history.end - history.start) * budget)
    step = _stepper(history, world, budget, policy, dated, second, np.random.default_rng(seed))
    done = 0
    while done < total:
        step(min(total, done + _CHUNK))
        now_done = int(world.cursor[ACCESSES])
        if progress is not None:
            progress(now_done - done)
        done = now_done
    freshness = float(finish(world, history.end))
    spent = time.process_time() - started
    return Replayed(history.name, policy, freshness, done, int(world.cursor[FAILED]), spent)


def _world(history: SiteHistory, warm_up: float) -> World:
    from recrawl.simulate._replay import World

    mass = float(history.weights[history.living].sum())
    since = history.start + warm_up * (history.end - history.start)
    return World(
        time=history.times,
        page=history.pages,
        kind=history.kinds,
        weight=history.weights,
        living=history.living.copy(),
        current=history.living.copy(),
        since=np.full(len(history.names), history.start),
        waiting=np.empty(int((history.kinds == APPEARED).sum()) + 1, dtype=np.int32),
        clock=np.array([history.start, since, mass, mass, 0.0]),
        cursor=np.zeros(5, dtype=np.int64),
    )


def _stepper(
    history: SiteHistory,
    world: World,
    budget: float,
    policy: str,
    dated: bool,
    second: float,
    rng: np.random.Generator,
) -> Callable[[int], None]:
    """A function that goes on until so many accesses are done."""
    if policy == "clairvoyant":
        return _clairvoyant(history, world, budget)
    if policy in _DUE_RULES:
        return _due(history, world, budget, policy, second, rng)
    return _believing(history, world, budget, policy, dated, rng)


def _clairvoyant(history: SiteHistory, world: World, budget: float) -> Callable[[int], None]:
    from recrawl.simulate._replay import ACCESSES, clairvoyant_steps, ends_of_versions

    ends = ends_of_versions(history.times, history.pages, len(history.names), history.end)
    key, item = np.empty(ends.size + 1), np.empty(ends.size + 1, dtype=np.int32)
    size = np.zeros(1, dtype=np.int64)

    def step(upto: int) -> None:
        steps = upto - int(world.cursor[ACCESSES])
        clairvoyant_steps(world, ends, key, item, size, history.start, 1.0 / budget, steps)

    return step


def _due(
    history: SiteHistory, world: World, budget: float, policy: str, second: float, rng: np.random.Generator
) -> Callable[[int], None]:
    from recrawl.simulate._replay import ACCESSES, DueList, due_steps

    count = len(history.names)
    first = rng.permutation(np.flatnonzero(history.living))
    interval = _FIRST_INTERVAL[policy] * second
    pages = DueList(
        key=np.full(count + 1, history.start + interval),
        item=np.append(first, np.zeros(count + 1 - first.size)).astype(np.int32),
        size=np.array([first.size]),
        known=history.living.copy(),
        interval=np.full(count, interval),
        last_change=np.full(count, history.start),
    )

    def step(upto: int) -> None:
        steps = upto - int(world.cursor[ACCESSES])
        due_steps(world, pages, _DUE_RULES[policy], second, history.start, 1.0 / budget, steps)

    return step


def _believing(
    history: SiteHistory, world: World, budget: float, policy: str, dated: bool, rng: np.random.Generator
) -> Callable[[int], None]:
    from recrawl.estimate.clocks import GroupClocks
    from recrawl.simulate._replay import ACCESSES
    from recrawl.simulate._replay_clocks import clock_steps

    clocks = GroupClocks(budget, rule=_RULES[policy], start=history.start)
    gap = 1.0 / budget
    first = rng.permutation(np.flatnonzero(history.living))
    # All copies are of the start; a trifle apart, so that the first round is in no order of groups.
    seen = history.start - 1e-3 * first.size * gap * rng.random(first.size)
    book = _Book(history, clocks, first, seen)

    def step(upto: int) -> None:
        while world.cursor[ACCESSES] < upto:
            done = int(world.cursor[ACCESSES])
            book.prepare(history.start + done * gap, history.start + upto * gap, world)
            moves = clocks.belief.moves_to_regroup()
            clock_steps(world, clocks.order, book.places, history.start, gap, upto, moves, dated)
            book.settle()

    return step


class _Book:
    """Which page of a history is in which slot of the clocks."""

    def __init__(self, history: SiteHistory, clocks: GroupClocks, first: Pages, seen: Times) -> None:
        from recrawl.simulate._replay_clocks import Places

        self._history, self._clocks = history, clocks
        appear = history.kinds == APPEARED
        self._appearances = history.times[appear]
        coming = np.unique(history.pages[appear]).tolist() if clocks.belief.ticking else []
        self._beginnings = [(page, prefixes(history.names[page])) for page in coming]
        count = len(history.names)
        self.places = Places(
            page_of=np.zeros(count, dtype=np.int32),
            slot_of=np.full(count, -1, dtype=np.int32),
            home=np.zeros(count, dtype=np.int32),
            weight=history.weights,
            rate=history.page_rates,
            spare=np.zeros(0, dtype=np.int64),
            left=np.zeros(count, dtype=np.int64),
            counts=np.zeros(3, dtype=np.int64),
        )
        slots = clocks.add(
            [history.names[page] for page in first],
            history.start,
            weights=history.weights[first],
            rates=self.places.rate[first],
            seen=seen,
        )
        self.places.slot_of[first] = slots
        self.places.page_of[slots] = first
        self._find_homes()
        self._spare = 0

    def _find_homes(self) -> None:
        """The group of every name, also of those still to come: it depends on the groups of now and the name alone."""
        belief = self._clocks.belief
        self._groups = belief.group_of
        for page, beginnings in self._beginnings:
            self.places.home[page] = belief.first_group(beginnings)

    def prepare(self, now: float, until: float, world: World) -> None:
        """Let groups follow the pages; keep slots ready for pages that may appear."""
        from recrawl.simulate._replay import HEAD
        from recrawl.simulate._replay_clocks import SPARE

        clocks, counts = self._clocks, self.places.counts
        clocks.maintain(now)
        if clocks.belief.group_of is not self._groups:
            self._find_homes()
        coming = int(np.searchsorted(self._appearances, until, side="right")) - int(world.cursor[HEAD])
        if coming > counts[SPARE]:
            more = clocks.reserve(coming - int(counts[SPARE]))
            spare = np.concatenate((self.places.spare[: counts[SPARE]], more))
            size = clocks.order.status.size
            page_of = np.append(
                self.places.page_of, np.zeros(max(0, size - self.places.page_of.size), np.int32)
            )
            self.places = self.places._replace(spare=spare, page_of=page_of)
            counts[SPARE] = spare.size
        self._spare = int(counts[SPARE])

    def settle(self) -> None:
        """Tell the clocks which pages came and went."""
        from recrawl.simulate._replay_clocks import LEFT, MOVED, SPARE

        belief, counts = self._clocks.belief, self.places.counts
        for slot in self.places.spare[counts[SPARE] : self._spare].tolist():
            belief.names[slot] = self._history.names[self.places.page_of[slot]]
        belief.release(self.places.left[: counts[LEFT]], int(counts[MOVED]))
        counts[LEFT] = counts[MOVED] = 0
