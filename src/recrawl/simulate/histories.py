"""Histories of the pages of a site: when each one appeared, changed and went; real ones and synthetic ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recrawl.errors import InvalidModel
from recrawl.laws.law import positive

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

__all__ = ["APPEARED", "CHANGED", "GONE", "SYNTHETIC", "SiteHistory", "synthetic_history"]

CHANGED, APPEARED, GONE = 0, 1, 2

SYNTHETIC = ("poisson", "shocks", "drift", "bursts")


@dataclass(frozen=True)
class SiteHistory:
    """What happened to the pages of a site, between `start` and `end`.

    Event i happened at `times[i]` (rising) to page `pages[i]`; `kinds[i]` is `CHANGED`, `APPEARED` or `GONE`. Pages
    with `living[p]` are there at the start. Names say which pages belong together; weights say how much they matter.
    """

    name: str
    names: Sequence[str]
    weights: NDArray[np.float64]
    living: NDArray[np.bool_]
    times: NDArray[np.float64]
    pages: NDArray[np.int32]
    kinds: NDArray[np.int8]
    start: float
    end: float

    @classmethod
    def of(
        cls,
        name: str,
        names: Sequence[str],
        times: ArrayLike,
        pages: ArrayLike,
        kinds: ArrayLike,
        *,
        start: float | None = None,
        end: float | None = None,
        weights: ArrayLike | None = None,
    ) -> SiteHistory:
        """From one row for each event, in any order. A page whose first event is `APPEARED` is not there before it.

        >>> found = SiteHistory.of("s", ["a", "b"], [3.0, 1.0], [0, 1], [CHANGED, APPEARED], start=0.0, end=4.0)
        >>> found.living.tolist(), found.times.tolist(), found.change_rate
        ([True, False], [1.0, 3.0], 0.25)
        """
        when = np.asarray(times, dtype=np.float64)
        which = np.asarray(pages, dtype=np.int32)
        what = np.asarray(kinds, dtype=np.int8)
        if not when.shape == which.shape == what.shape or when.ndim != 1:
            raise InvalidModel(
                f"times, pages and kinds must be lists of one length, not of shapes {when.shape}, {which.shape}, "
                f"{what.shape}"
            )
        if when.size and not np.isfinite(when).all():
            raise InvalidModel("times of events must be finite")
        if which.size and (which.min() < 0 or which.max() >= len(names)):
            raise InvalidModel(
                f"pages of events must lie from 0 to {len(names) - 1}, not up to {which.max()}"
            )
        order = np.argsort(when, kind="stable")
        when, which, what = when[order], which[order], what[order]
        begin = float(when[0] if start is None and when.size else start or 0.0)
        finish = float(when[-1] if end is None and when.size else end or 0.0)
        if not begin < finish:
            raise InvalidModel(f"site {name!r}: the window from {begin:g} to {finish:g} is empty")
        living = np.ones(len(names), dtype=np.bool_)
        first = np.unique(which, return_index=True)[1]
        living[which[first][what[first] == APPEARED]] = False
        mass = np.ones(len(names)) if weights is None else np.asarray(weights, dtype=np.float64)
        if mass.shape != (len(names),) or not ((mass >= 0) & np.isfinite(mass)).all() or not mass.sum() > 0:
            raise InvalidModel(f"site {name!r}: every page needs a weight that is not negative, some above 0")
        return cls(name, names, mass, living, when, which, what, begin, finish)

    @property
    def change_rate(self) -> float:
        """Changes per unit of time, of all pages together."""
        return float((self.kinds == CHANGED).sum()) / (self.end - self.start)

    @property
    def mean_living(self) -> float:
        """Average number of pages that are there."""
        steps = np.where(self.kinds == APPEARED, 1.0, np.where(self.kinds == GONE, -1.0, 0.0))
        span = self.end - self.start
        return float(self.living.sum() + (steps * (self.end - self.times)).sum() / span)

    @property
    def page_rates(self) -> NDArray[np.float64]:
        """Changes of each page per unit of the time that it lived: hindsight, which no robot has."""
        count = len(self.names)
        changes = np.bincount(self.pages[self.kinds == CHANGED], minlength=count)
        sign = np.where(self.kinds == APPEARED, 1.0, np.where(self.kinds == GONE, -1.0, 0.0))
        left = np.bincount(self.pages, weights=sign * (self.end - self.times), minlength=count)
        lived = self.living * (self.end - self.start) + left
        return np.where(lived > 0, changes / np.where(lived > 0, lived, 1.0), 0.0)


def synthetic_history(
    kind: str, *, pages: int = 2000, groups: int = 40, duration: float = 40.0, seed: int = 0
) -> SiteHistory:
    """A site of known truth whose average page changes once per unit of time.

    - `poisson`: every page on its own, rates spread over a factor of about a hundred.
    - `shocks`: the same pages, but half of their changes come as edits of a whole group at one moment.
    - `drift`: rates that wander, so that what was learnt grows old.
    - `bursts`: groups that sleep and wake; awake, their pages change eight times as fast.

    >>> site = synthetic_history("shocks", pages=100, groups=5, duration=10.0)
    >>> len(site.names), 0.5 < site.change_rate / 100 < 2.0
    (100, True)
    """
    if kind not in SYNTHETIC:
        raise InvalidModel(f"kind of history must be one of {', '.join(SYNTHETIC)}, not {kind!r}")
    if not 1 <= groups <= pages:
        raise InvalidModel(f"groups must lie from 1 to the number of pages, {pages}, not {groups}")
    duration = positive("duration", duration)
    rng = np.random.default_rng(seed)
    group = np.arange(pages) % groups
    rate = rng.lognormal(0.0, 1.0, pages)
    rate /= rate.mean()
    make = {"poisson": _own_changes, "shocks": _shocks, "drift": _drift, "bursts": _bursts}[kind]
    times, which = make(rng, rate, group, duration)
    names = [f"site/g{g}/p{page}" for page, g in enumerate(group)]
    kinds = np.full(times.size, CHANGED, dtype=np.int8)
    return SiteHistory.of(kind, names, times, which, kinds, start=0.0, end=duration)


_Changes = tuple["NDArray[np.float64]", "NDArray[np.int64]"]


def _own_changes(
    rng: np.random.Generator, rate: NDArray[np.float64], group: NDArray[np.int64], duration: float
) -> _Changes:
    del group
    which = np.repeat(np.arange(rate.size), rng.poisson(rate * duration))
    return rng.uniform(0.0, duration, which.size), which


def _shocks(
    rng: np.random.Generator, rate: NDArray[np.float64], group: NDArray[np.int64], duration: float
) -> _Changes:
    times, which = _own_changes(rng, rate / 2, group, duration)
    all_times, all_which = [times], [which]
    for g in range(int(group.max()) + 1):
        members = np.flatnonzero(group == g)
        for moment in rng.uniform(0.0, duration, rng.poisson(0.625 * duration)):
            touched = members[
                rng.random(members.size) < 0.8
            ]  # 0.625 edits of 0.8 of the pages: rate one half
            all_times.append(np.full(touched.size, moment))
            all_which.append(touched)
    return np.concatenate(all_times), np.concatenate(all_which)


def _thinned(
    rng: np.random.Generator,
    rate: NDArray[np.float64],
    speed: NDArray[np.float64],
    group: NDArray[np.int64],
    duration: float,
) -> _Changes:
    """Changes at `rate` times the speed of the page's row, which is constant on equal parts of the duration."""
    most = float(speed.max())
    times, which = _own_changes(rng, rate * most, group, duration)
    part = np.minimum((times / duration * speed.shape[1]).astype(np.int64), speed.shape[1] - 1)
    kept = rng.random(times.size) * most < speed[group[which], part]
    return times[kept], which[kept]


def _drift(
    rng: np.random.Generator, rate: NDArray[np.float64], group: NDArray[np.int64], duration: float
) -> _Changes:
    parts = max(2, round(duration / 2))
    walk = np.exp(np.cumsum(rng.normal(0.0, 0.3, (rate.size, parts)), axis=1))
    walk = np.clip(walk / walk.mean(axis=1, keepdims=True), 0.05, 8.0)
    del group
    return _thinned(rng, rate, walk, np.arange(rate.size), duration)


def _bursts(
    rng: np.random.Generator, rate: NDArray[np.float64], group: NDArray[np.int64], duration: float
) -> _Changes:
    parts = max(2, round(duration * 2))
    awake = np.empty((int(group.max()) + 1, parts), dtype=bool)
    awake[:, 0] = rng.random(awake.shape[0]) < 0.1
    for k in range(1, parts):
        # Awake for two parts (one unit of time) on average, asleep for eighteen.
        u = rng.random(awake.shape[0])
        awake[:, k] = np.where(awake[:, k - 1], u < 0.5, u < 1 / 18)
    return _thinned(rng, rate, np.where(awake, 8.0, 2 / 9), group, duration)
