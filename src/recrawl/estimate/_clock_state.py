"""The arrays of the group clocks: made, grown, regrouped, brought to another scale of time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recrawl.errors import InvalidModel
from recrawl.estimate import _clock_kernels as kernel
from recrawl.estimate._clock_prior import learn_many

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from recrawl.estimate.belief import Belief

__all__ = ["empty_clocks", "first_prior", "first_scores", "grown", "learn", "regrouped", "rescaled"]

_BINS_PER_ROUND = 16
_PARTS = 20  # speeds are estimated anew after this part of N accesses


def empty_clocks(belief: Belief, round_time: float, start: float, ticking: bool) -> kernel.Clocks:
    """No page, one group. `round_time` is the uniform revisit time, N/B."""
    numbers = np.zeros(kernel.SCORES + len(kernel.SHRINKS))
    numbers[kernel.WIDTH] = round_time / _BINS_PER_ROUND
    numbers[kernel.ORIGIN] = start
    numbers[kernel.SHRINK], numbers[kernel.CAP], numbers[kernel.LASTING] = kernel.SHRINKS[0], 64.0, 0.4
    numbers[kernel.SCORES :] = first_scores()
    counters = np.zeros(9, dtype=np.int64)
    counters[kernel.PARTS] = _PARTS
    counters[kernel.GROUPS] = 1
    counters[kernel.TICKING] = ticking
    rates = belief.grid.rates
    clocks = kernel.Clocks(
        pages=kernel.Pages(
            last=np.zeros(0),
            loglik=belief.rows,
            group=np.zeros(0, dtype=np.int32),
            state=np.zeros(0, dtype=np.uint8),
        ),
        groups=_group_arrays(np.array([-1], dtype=np.int32)),
        rates=rates,
        log_rates=np.log(rates),
        prior=belief.densities[0],
        numbers=numbers,
        counters=counters,
        scratch=np.zeros(rates.size),
    )
    kernel.speeds(clocks)
    return clocks


def first_scores() -> NDArray[np.float64]:
    """Before anything is foretold: groups matter, by three nats for each step towards pages on their own."""
    return np.linspace(0.0, -3.0 * (len(kernel.SHRINKS) - 1), len(kernel.SHRINKS))


def first_prior(changes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Before anything is learnt: about one change in two rounds, within a factor of twenty."""
    mass = np.exp(-0.5 * (np.log(2.0 * changes) / 1.5) ** 2)
    return np.asarray(0.98 * mass / mass.sum() + 0.02 / mass.size)


def _group_arrays(parent: NDArray[np.int32]) -> kernel.Groups:
    size = parent.size
    bins = (size, kernel.BINS)
    return kernel.Groups(
        parent=parent,
        changes=np.zeros(bins, dtype=np.float32),
        exposure=np.zeros(bins, dtype=np.float32),
        speed=np.ones(bins, dtype=np.float32),
        since=np.zeros(bins, dtype=np.float32),
        base=np.zeros(size),
        moved=np.zeros(size, dtype=np.float32),
    )


def learn(
    clocks: kernel.Clocks,
    places: NDArray[np.int64],
    times: ArrayLike,
    changed: ArrayLike,
    dates: ArrayLike | None,
    signal: bool,
) -> None:
    """Learn from accesses, or signals, of pages that are there, in the order given."""
    shape = places.shape
    moments = np.ascontiguousarray(np.broadcast_to(np.asarray(times, dtype=np.float64), shape))
    if not np.isfinite(moments).all():
        raise InvalidModel("times of accesses must be finite")
    known = np.asarray(np.nan if dates is None else dates, dtype=np.float64)
    known = np.minimum(np.broadcast_to(known, shape), moments)  # a clock may run ahead of ours
    kinds = np.broadcast_to(np.asarray(changed, dtype=np.bool_), shape).astype(np.int8)
    kinds[(kinds > 0) & ~np.isnan(known)] = kernel.DATED
    learn_many(clocks, places, moments, kinds, known, signal)


def grown(clocks: kernel.Clocks, belief: Belief) -> kernel.Clocks:
    """As many slots as the belief has rows."""
    pages = clocks.pages
    more = belief.rows.shape[0] - pages.last.size
    return clocks._replace(
        pages=kernel.Pages(
            last=np.append(pages.last, np.zeros(more)),
            loglik=belief.rows,
            group=np.append(pages.group, np.zeros(more, dtype=np.int32)),
            state=np.append(pages.state, np.zeros(more, dtype=np.uint8)),
        )
        if more or belief.rows is not pages.loglik
        else pages
    )


def regrouped(
    clocks: kernel.Clocks,
    before: Mapping[bytes, int],
    prefixes: Sequence[bytes],
    parents: NDArray[np.int32],
    now: float,
) -> kernel.Clocks:
    """Other groups; those that were there before keep what they have learnt."""
    kernel.advance_clocks(clocks, now)
    groups = _group_arrays(parents)
    pairs = [(new, before[prefix]) for new, prefix in enumerate(prefixes) if prefix in before]
    new, old = (np.array(side, dtype=np.int64) for side in zip(*pairs, strict=True))
    for name in ("changes", "exposure", "speed", "base"):
        getattr(groups, name)[new] = getattr(clocks.groups, name)[old]
    clocks.counters[kernel.GROUPS] = parents.size
    found = clocks._replace(groups=groups)
    kernel.speeds(found)
    return found


def rescaled(clocks: kernel.Clocks, belief: Belief, steps: int, now: float) -> None:
    """A grid of rates that lies `steps` lower, and bins that are wider alike.

    The prior goes with what was learnt, or else with the grid.
    """
    kernel.advance_clocks(clocks, now)
    prior = belief.priors
    grid = belief.grid
    ratio = (grid.high / grid.low) ** (steps / (grid.points - 1))
    belief.shift(steps)
    if clocks.counters[kernel.OBSERVED] > 0:
        prior = 0.98 * belief.priors + 0.02 / grid.points
    belief.set_priors(prior)
    clocks.rates[:] = belief.grid.rates
    clocks.log_rates[:] = np.log(clocks.rates)
    _rebin(clocks, ratio, now)
    kernel.speeds(clocks)


def _rebin(clocks: kernel.Clocks, ratio: float, now: float) -> None:
    """Spread what every bin has seen evenly over its time, and gather it into bins that are `ratio` as wide.

    Sums by einsum: the threads of a matrix product would go on spinning for longer than this takes.
    """
    numbers, counters, groups = clocks.numbers, clocks.counters, clocks.groups
    bins = kernel.BINS
    columns = (int(counters[kernel.BIN]) - bins + 1 + np.arange(bins)) % bins
    width = numbers[kernel.WIDTH]
    old = numbers[kernel.ORIGIN] + (int(counters[kernel.BIN]) - bins + 1 + np.arange(bins + 1)) * width
    numbers[kernel.WIDTH] = width * ratio
    numbers[kernel.ORIGIN] = now
    counters[kernel.BIN] = 0
    new = now + (np.arange(bins + 1) - bins + 1) * numbers[kernel.WIDTH]
    overlap = np.minimum(old[1:, None], new[None, 1:]) - np.maximum(old[:-1, None], new[None, :-1])
    share = np.maximum(overlap, 0.0) / width
    target = (np.arange(bins) - bins + 1) % bins
    for values in (groups.changes, groups.exposure):
        values[:, target] = np.einsum("gi,ij->gj", values[:, columns], share)
    speed = np.ones_like(groups.speed)
    covered = np.maximum(overlap, 0.0)
    known = covered.sum(axis=0)
    mean = np.einsum("gi,ij->gj", groups.speed[:, columns], covered) + np.maximum(
        numbers[kernel.WIDTH] - known, 0.0
    )
    speed[:, target] = mean / numbers[kernel.WIDTH]
    groups.speed[:] = speed
