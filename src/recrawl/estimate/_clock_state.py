"""The arrays of the group clocks: made, grown, regrouped, brought to another scale of time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from recrawl.estimate import _clock_kernels as kernel
from recrawl.estimate import _clock_order as order
from recrawl.revisit._pairing import Entries, entries

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

__all__ = ["empty_state", "grown", "regrouped", "rescaled"]

_POINTS = 24
_SLOWEST, _FASTEST = 0.01, 200.0  # changes per uniform revisit time, at the ends of the grid of rates
_BINS_PER_ROUND = 16
_STEP = (_FASTEST / _SLOWEST) ** (1.0 / (_POINTS - 1))  # from one rate of the grid to the next


def empty_state(rule: str, budget: float, round_time: float, start: float) -> kernel.State:
    """No page, one group. `round_time` is the uniform revisit time, N/B."""
    rates = np.geomspace(_SLOWEST / round_time, _FASTEST / round_time, _POINTS)
    numbers = np.zeros(7)
    numbers[kernel.WIDTH] = round_time / _BINS_PER_ROUND
    numbers[kernel.ORIGIN] = start
    numbers[kernel.PRICE] = 1.0 if rule == "proportional" else 0.2 * round_time
    numbers[kernel.LOG_PRICE] = math.log(numbers[kernel.PRICE])
    numbers[kernel.SHRINK], numbers[kernel.CAP] = 0.4, 64.0
    numbers[kernel.GAP] = 1.0 / budget
    counters = np.zeros(10, dtype=np.int64)
    counters[kernel.TOP] = -1
    counters[kernel.GROUPS] = 1
    choice = kernel.PROPORTIONAL if rule == "proportional" else kernel.OPTIMAL
    return kernel.State(
        pages=_page_arrays(0),
        groups=_group_arrays(np.array([-1], dtype=np.int32)),
        page_heaps=entries(0),
        group_heap=entries(1),
        rates=rates,
        log_rates=np.log(rates),
        prior=_first_prior(rates * round_time),
        numbers=numbers,
        counters=counters,
        rules=np.array([rule == "optimal", choice, rule == "known"], dtype=np.int64),
        known=np.zeros(0),
        scratch=np.zeros(_POINTS),
        members=np.zeros(0, dtype=np.int32),
        free=np.zeros(0, dtype=np.int32),
    )


def _first_prior(changes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Before anything is learnt: about one change in two rounds, within a factor of twenty."""
    mass = np.exp(-0.5 * (np.log(2.0 * changes) / 1.5) ** 2)
    return np.asarray(0.98 * mass / mass.sum() + 0.02 / mass.size)


def _page_arrays(size: int) -> kernel.Pages:
    return kernel.Pages(
        last=np.zeros(size),
        loglik=np.zeros((size, _POINTS), dtype=np.float32),
        rate=np.zeros(size, dtype=np.float32),
        wait=np.zeros(size, dtype=np.float32),
        lean=np.ones(size, dtype=np.float32),
        level=np.zeros(size, dtype=np.float32),
        most=np.zeros(size, dtype=np.float32),
        weight=np.zeros(size, dtype=np.float32),
        group=np.zeros(size, dtype=np.int32),
        status=np.zeros(size, dtype=np.uint8),
        fresh=np.zeros(size, dtype=np.bool_),
    )


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
        clock=np.zeros(size),
        root=np.full(size, -1, dtype=np.int32),
    )


def grown(state: kernel.State, wanted: int) -> kernel.State:
    """Room for `wanted` slots; at least half as many again, so that growing costs O(1) per page."""
    have = state.pages.last.size
    if wanted <= have:
        return state
    size = max(wanted, have + have // 2, 8)
    more = size - have
    return state._replace(
        pages=kernel.Pages(*_joined(state.pages, _page_arrays(more))),
        page_heaps=Entries(*_joined(state.page_heaps, entries(more))),
        known=np.concatenate((state.known, np.zeros(more if state.rules[kernel.KNOWN] else 0))),
        members=np.zeros(size, dtype=np.int32),
        free=np.concatenate((state.free, np.zeros(more, dtype=np.int32))),
    )


def _joined(first: Iterable[Any], second: Iterable[Any]) -> list[Any]:
    return [np.concatenate(pair) for pair in zip(first, second, strict=True)]


def regrouped(
    state: kernel.State,
    before: Mapping[bytes, int],
    prefixes: Sequence[bytes],
    parents: NDArray[np.int32],
    slots: NDArray[np.int64],
    group: NDArray[np.int32],
    now: float,
) -> kernel.State:
    """Other groups; those that were there before keep what they have learnt. `group` is that of each slot."""
    kernel.advance_clocks(state, now)
    groups = _group_arrays(parents)
    pairs = [(new, before[prefix]) for new, prefix in enumerate(prefixes) if prefix in before]
    new, old = (np.array(side, dtype=np.int64) for side in zip(*pairs, strict=True))
    for name in ("changes", "exposure", "speed", "base"):
        getattr(groups, name)[new] = getattr(state.groups, name)[old]
    state.pages.group[slots] = group
    state.counters[kernel.GROUPS] = parents.size
    found = state._replace(groups=groups, group_heap=entries(parents.size))
    order.rebuild_all(found, now, False)
    return found


def rescaled(state: kernel.State, round_time: float, wanted: float, now: float) -> tuple[kernel.State, float]:
    """Bins and the grid of rates for another uniform revisit time, and that time: whole steps of the grid away."""
    kernel.advance_clocks(state, now)
    steps = round(math.log(wanted / round_time) / math.log(_STEP))
    if steps == 0:
        return state, round_time
    ratio = _STEP**steps
    numbers = state.numbers
    state.rates[:] /= ratio
    state.log_rates[:] = np.log(state.rates)
    state.pages.loglik[:] = _shifted(state.pages.loglik, steps)
    state.pages.loglik[:] -= state.pages.loglik.max(axis=1, keepdims=True, initial=-np.inf)
    if state.counters[kernel.ACCESSES] > 0:
        prior = np.exp(_shifted(np.log(state.prior)[None, :], steps)[0])
        state.prior[:] = 0.98 * prior / prior.sum() + 0.02 / _POINTS
    _rebin(state, ratio, now)
    numbers[kernel.PRICE] *= ratio
    order.rebuild_all(state, now, True)
    return state, round_time * ratio


def _shifted(rows: NDArray[np.floating], steps: int) -> NDArray[np.floating]:
    """Values at a grid that lies `steps` lower: straight on beyond the ends."""
    last = rows.shape[1] - 1
    place = np.arange(rows.shape[1]) - steps
    inside = rows[:, np.clip(place, 0, last)]
    below = np.minimum(place, 0) * (rows[:, 1] - rows[:, 0])[:, None]
    above = np.maximum(place - last, 0) * (rows[:, last] - rows[:, last - 1])[:, None]
    return np.asarray(inside + below + above)


def _rebin(state: kernel.State, ratio: float, now: float) -> None:
    """Spread what every bin has seen evenly over its time, and gather it into bins that are `ratio` as wide."""
    numbers, counters, groups = state.numbers, state.counters, state.groups
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
        values[:, target] = values[:, columns] @ share
    speed = np.ones_like(groups.speed)
    covered = np.maximum(overlap, 0.0)
    known = covered.sum(axis=0)
    mean = groups.speed[:, columns] @ covered + np.maximum(numbers[kernel.WIDTH] - known, 0.0)
    speed[:, target] = mean / numbers[kernel.WIDTH]
    groups.speed[:] = speed
