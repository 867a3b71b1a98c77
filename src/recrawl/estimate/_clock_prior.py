"""Compiled loops of the group clocks: the prior of the rates, learnt along with everything else."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recrawl._compiled import compiled, compiled_in_place
from recrawl.estimate._belief_kernels import grid_posterior
from recrawl.estimate._clock_kernels import (
    ABSENT,
    NEXT_PRIOR,
    OBSERVED,
    PAGES,
    Clocks,
    learn_access,
    refresh,
)

__all__ = ["learn_many", "learn_prior"]


@compiled
def learn_many(
    clocks: Clocks,
    slots: NDArray[np.int64],
    times: NDArray[np.float64],
    kinds: NDArray[np.int8],
    dates: NDArray[np.float64],
    signal: bool,
) -> None:
    """Learn from many accesses, or signals, in the order given."""
    for i in range(slots.size):
        learn_access(clocks, slots[i], times[i], kinds[i], dates[i], signal)
        refresh(clocks, times[i])
        learn_prior(clocks)


@compiled_in_place
def learn_prior(clocks: Clocks) -> float:
    """Learn the prior anew if enough was seen; by how much it moved."""
    counters = clocks.counters
    moved = 0.0
    if counters[OBSERVED] >= counters[NEXT_PRIOR]:
        counters[NEXT_PRIOR] = counters[OBSERVED] + max(8, counters[PAGES] // 2)
        moved = mean_posterior(clocks)
    return moved


@compiled
def mean_posterior(clocks: Clocks) -> float:
    """The prior becomes the mean posterior of all pages, a fiftieth of it spread evenly; by how much it moved."""
    prior, rows, scratch, state = clocks.prior, clocks.pages.loglik, clocks.scratch, clocks.pages.state
    size = prior.size
    total = np.zeros(size)
    count = 0
    for page in range(state.size):
        if state[page] != ABSENT:
            grid_posterior(rows[page], prior, scratch)
            for k in range(size):
                total[k] += scratch[k]
            count += 1
    moved = 0.0
    if count > 0:
        for k in range(size):
            share = 0.5 if k in (0, size - 1) else 1.0  # the hats at the two ends are half as wide
            mass = 0.98 * total[k] / count + 0.02 * share / (size - 1)
            moved += abs(mass - prior[k] * share)
            prior[k] = mass / share
    return moved
