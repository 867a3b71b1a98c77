"""Compiled loops of the group clocks: what is learnt from accesses.

Rows of log-likelihoods are those of a `Belief`, and so are the loops over them; here are the clocks, and what an access
tells about both. `_clock_order` keeps the order of pages.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recrawl._compiled import compiled, compiled_in_place, compiled_inline
from recrawl.estimate._belief_kernels import add_access, grid_posterior

BINS = 64

# Places in Clocks.numbers.
WIDTH, ORIGIN, SHRINK, CAP, LASTING, SCORES = 0, 1, 2, 3, 4, 5
# Shrinkages that are tried side by side; the scores of each follow from SCORES on.
SHRINKS = (0.4, 1.2, 3.6, 11.0, 100.0)
TRIED = 4  # every so many accesses say which shrinkage foretells best
# Places in Clocks.counters.
BIN, GROUPS, PAGES, OBSERVED, NEXT_SPEEDS, NEXT_PRIOR, TICKING, MOVES, PARTS = 0, 1, 2, 3, 4, 5, 6, 7, 8

# What is known of a page: nothing (an empty slot), only its name, its content, that its content is out of date.
ABSENT, NEW, SEEN, STALE = 0, 1, 2, 3
# What an access finds.
UNCHANGED, CHANGED, DATED = 0, 1, 2


class Pages(NamedTuple):
    """One entry for each slot."""

    last: NDArray[np.float64]  # until when a page's changes are known: its last access, or a later signal
    loglik: NDArray[np.float32]
    group: NDArray[np.int32]
    state: NDArray[np.uint8]


class Groups(NamedTuple):
    """One row for each group; a parent comes before its children. Columns are bins, number modulo `BINS`."""

    parent: NDArray[np.int32]
    changes: NDArray[np.float32]
    exposure: NDArray[np.float32]
    speed: NDArray[np.float32]
    since: NDArray[np.float32]  # clock at the start of each bin, from `base` on
    base: NDArray[np.float64]  # clock at the start of the oldest bin
    moved: NDArray[np.float32]  # how far the clock was set, in its own time, since someone set this to 0


class Clocks(NamedTuple):
    """Everything that is believed."""

    pages: Pages
    groups: Groups
    rates: NDArray[np.float64]
    log_rates: NDArray[np.float64]
    prior: NDArray[np.float64]  # density at the grid's rates, the same for all pages
    numbers: NDArray[np.float64]
    counters: NDArray[np.int64]
    scratch: NDArray[np.float64]


# The clocks.


@compiled_inline
def clock_at(clocks: Clocks, group: int, time: float) -> float:
    """The clock of a group at a time up to now; before the live bins it went at speed 1."""
    groups, now_bin = clocks.groups, clocks.counters[BIN]
    width = clocks.numbers[WIDTH]
    place = (time - clocks.numbers[ORIGIN]) / width
    number = math.floor(place)
    oldest = now_bin - BINS + 1
    if number < oldest:
        return float(groups.base[group] - (oldest - place) * width)
    number = min(number, now_bin)
    column = number & (BINS - 1)
    start = groups.base[group] + groups.since[group, column]
    return float(start + groups.speed[group, column] * (place - number) * width)


@compiled_inline
def speed_now(clocks: Clocks, group: int) -> float:
    """The present speed of a clock."""
    return float(clocks.groups.speed[group, clocks.counters[BIN] & (BINS - 1)])


@compiled
def clocks_at(
    clocks: Clocks, group: NDArray[np.int64], time: NDArray[np.float64], out: NDArray[np.float64]
) -> None:
    """Clocks of many groups at many times."""
    for i in range(group.size):
        out[i] = clock_at(clocks, group[i], time[i])


@compiled
def choose_shrink(clocks: Clocks) -> None:
    """The shrinkage: mean of the logarithms of those tried, weighted by how well they foretold accesses."""
    numbers = clocks.numbers
    best = -math.inf
    for j in range(len(SHRINKS)):
        best = max(best, numbers[SCORES + j])
    mass = 0.0
    total = 0.0
    for j in range(len(SHRINKS)):
        weight = math.exp(numbers[SCORES + j] - best)
        mass += weight
        total += weight * math.log(SHRINKS[j])
    numbers[SHRINK] = math.exp(total / mass)


@compiled
def speeds(clocks: Clocks) -> None:
    """Speeds of all clocks in all live bins, parents first: changes over exposure, drawn towards the parent."""
    choose_shrink(clocks)
    groups, numbers = clocks.groups, clocks.numbers
    parents, changes, exposure, speeds_, since = (
        groups.parent, groups.changes, groups.exposure, groups.speed, groups.since,
    )  # fmt: skip
    shrink, cap, width, lasting = numbers[SHRINK], numbers[CAP], numbers[WIDTH], numbers[LASTING]
    oldest = clocks.counters[BIN] - BINS + 1
    ticking = clocks.counters[TICKING] > 0
    for group in range(clocks.counters[GROUPS]):
        parent = parents[group]
        total = 0.0
        off = 0.0
        furthest = 0.0
        excess = 0.0  # by which the bin before went faster than the parent's
        for number in range(oldest, oldest + BINS):
            column = number & (BINS - 1)
            since[group, column] = total
            if ticking:
                above = speeds_[parent, column] if parent >= 0 else 1.0
                expected = max(above + lasting * excess, 0.2 * above)
                seen = changes[group, column] + shrink * expected
                speed = min(seen / (exposure[group, column] + shrink), cap)
                excess = speed - above
                off += (speed - speeds_[group, column]) * width
                furthest = max(furthest, abs(off))
                speeds_[group, column] = speed
            total += speeds_[group, column] * width
        groups.moved[group] += furthest
    clocks.counters[MOVES] += 1


@compiled_in_place
def advance_clocks(clocks: Clocks, now: float) -> None:
    """Open new bins when their time has come."""
    number = math.floor((now - clocks.numbers[ORIGIN]) / clocks.numbers[WIDTH])
    if number > clocks.counters[BIN]:
        open_bins(clocks, number)


@compiled
def open_bins(clocks: Clocks, number: int) -> None:
    """Open bins up to a number; as many of the oldest leave."""
    groups, counters, width = clocks.groups, clocks.counters, clocks.numbers[WIDTH]
    steps = number - counters[BIN]
    for group in range(counters[GROUPS]):
        for step in range(1, min(steps, BINS) + 1):
            column = (counters[BIN] + step) & (BINS - 1)
            groups.base[group] += groups.speed[group, column] * width
            groups.changes[group, column] = 0.0
            groups.exposure[group, column] = 0.0
            groups.speed[group, column] = 1.0
        groups.base[group] += max(0, steps - BINS) * width
    counters[BIN] = number
    speeds(clocks)


@compiled_in_place
def refresh(clocks: Clocks, now: float) -> bool:
    """Let the clocks go on to now; estimate their speeds anew if enough was seen since: were they?"""
    counters = clocks.counters
    advance_clocks(clocks, now)
    due = counters[OBSERVED] >= counters[NEXT_SPEEDS]
    if due:
        speeds(clocks)
        counters[NEXT_SPEEDS] = counters[OBSERVED] + max(8, counters[PAGES] // counters[PARTS])
    return bool(due)


# What accesses tell.


@compiled_in_place
def mean_of(clocks: Clocks, page: int) -> float:
    """Probabilities of the page's rates, into `scratch`; their mean."""
    grid_posterior(clocks.pages.loglik[page], clocks.prior, clocks.scratch)
    mean = 0.0
    for k in range(clocks.rates.size):
        mean += clocks.scratch[k] * clocks.rates[k]
    return mean


@compiled
def foretell(
    clocks: Clocks,
    page: int,
    now: float,
    shrink: float,
    path: NDArray[np.int64],
    excess: NDArray[np.float64],
) -> float:
    """Time on a page's clock since its last access, had speeds been drawn to the parents' with this shrinkage.

    As in `speeds`, from four bins before the access on.
    """
    groups, numbers = clocks.groups, clocks.numbers
    width, origin, cap, lasting = numbers[WIDTH], numbers[ORIGIN], numbers[CAP], numbers[LASTING]
    depth = 0
    group = clocks.pages.group[page]
    while group >= 0 and depth < path.size:
        path[depth] = group
        excess[depth] = 0.0
        depth += 1
        group = groups.parent[group]
    newest = clocks.counters[BIN]
    oldest = newest - BINS + 1
    begin = clocks.pages.last[page]
    first = max(oldest, math.floor((begin - origin) / width))
    total = max(0.0, origin + oldest * width - begin)
    for number in range(max(oldest, first - 4), newest + 1):
        column = number & (BINS - 1)
        above = 1.0
        for level in range(depth - 1, -1, -1):
            group = path[level]
            expected = max(above + lasting * excess[level], 0.2 * above)
            seen = groups.changes[group, column] + shrink * expected
            speed = min(seen / (groups.exposure[group, column] + shrink), cap)
            excess[level] = speed - above
            above = speed
        overlap = min(now, origin + (number + 1) * width) - max(begin, origin + number * width)
        total += above * max(overlap, 0.0)
    return float(total)


@compiled
def try_shrinks(clocks: Clocks, page: int, now: float, kind: int) -> None:
    """Add the chance that each shrinkage gave to what an access found to its score (prequential likelihood).

    Call it before the access is learnt from. Old scores fade over eight rounds.
    """
    numbers = clocks.numbers
    path, excess = np.empty(8, dtype=np.int64), np.empty(8)
    mean_of(clocks, page)
    kept = 1.0 - 1.0 / max(1000.0, 8.0 * clocks.counters[PAGES] / TRIED)
    for j in range(len(SHRINKS)):
        elapsed = foretell(clocks, page, now, SHRINKS[j], path, excess)
        same = 0.0
        for k in range(clocks.rates.size):
            if clocks.scratch[k] > 1e-6:
                same += clocks.scratch[k] * math.exp(-clocks.rates[k] * elapsed)
        chance = same if kind == UNCHANGED else 1.0 - same
        numbers[SCORES + j] = kept * numbers[SCORES + j] + math.log(max(chance, 1e-4))


@compiled_in_place
def learn_access(clocks: Clocks, page: int, now: float, kind: int, dated: float, signal: bool) -> None:
    """Learn from an access, or from a signal: the page has changed, and its copy is out of date from now on.

    What a page said to have changed is found to have done is no news, unless there is a date.
    """
    pages = clocks.pages
    state, last = pages.state[page], pages.last[page]
    advance_clocks(clocks, now)
    clocks.counters[OBSERVED] += 1
    if state == NEW:
        if signal:
            return
        if kind == DATED and dated < now:
            age = clock_at(clocks, pages.group[page], now) - clock_at(clocks, pages.group[page], dated)
            add_access(pages.loglik[page], 1.0, DATED, age, clocks.rates, clocks.log_rates, 1.0)
    elif now > last:
        if kind == DATED and not dated > last:
            if signal:
                return  # an old date
            kind = CHANGED
        if kind != CHANGED or state != STALE or signal:
            learn_change(clocks, page, now, kind, dated)
    pages.last[page] = now if state == NEW else max(now, last)
    pages.state[page] = STALE if signal else SEEN


@compiled_in_place
def learn_change(clocks: Clocks, page: int, now: float, kind: int, dated: float) -> None:
    """Add what happened to a page since its last access to its own evidence and to that of its groups."""
    pages, group = clocks.pages, clocks.pages.group[page]
    here = clock_at(clocks, group, now)
    elapsed = max(here - clock_at(clocks, group, pages.last[page]), 1e-9 * clocks.numbers[WIDTH])
    age = here - clock_at(clocks, group, dated) if kind == DATED else 0.0
    if clocks.counters[TICKING]:
        if clocks.counters[OBSERVED] % TRIED == 0:
            try_shrinks(clocks, page, now, kind)
        learn_clocks(clocks, page, now, elapsed, kind, dated)
    add_access(pages.loglik[page], elapsed, kind, age, clocks.rates, clocks.log_rates, 1.0)


@compiled_in_place
def learn_clocks(clocks: Clocks, page: int, now: float, elapsed: float, kind: int, dated: float) -> None:
    """Add an access to the changes and exposures of all groups of a page, bin by bin (one step of online EM).

    A change found stands for θτ / P(changed) changes, where P is that of the whole posterior: with that of its mean
    alone pages of uncertain rate would slow the clock down.
    """
    pages, groups, numbers = clocks.pages, clocks.groups, clocks.numbers
    width, origin = numbers[WIDTH], numbers[ORIGIN]
    rate = mean_of(clocks, page)
    begin = dated if kind == DATED else pages.last[page]
    x = rate * elapsed
    trust = min(1.0, 3.0 / x)  # a page that surely changed says little about the clock, however often it did
    expected = 0.0
    if kind == CHANGED:
        likely = 0.0
        for k in range(clocks.rates.size):
            if clocks.scratch[k] > 1e-9:
                likely -= clocks.scratch[k] * math.expm1(-clocks.rates[k] * elapsed)
        expected = trust * x / likely if x > 1e-9 else 1.0
    newest = clocks.counters[BIN]
    oldest = newest - BINS + 1
    first = max(oldest, math.floor((begin - origin) / width))
    leaf = pages.group[page]
    for number in range(first, newest + 1):
        left = max(begin, origin + number * width)
        overlap = min(now, origin + (number + 1) * width) - left
        if overlap <= 0.0:
            continue
        column = number & (BINS - 1)
        share = expected * groups.speed[leaf, column] * overlap / elapsed
        group = leaf
        while group >= 0:
            groups.exposure[group, column] += trust * rate * overlap
            groups.changes[group, column] += share
            group = groups.parent[group]
    if kind == DATED and dated >= origin + oldest * width:
        column = math.floor((dated - origin) / width) & (BINS - 1)
        group = leaf
        while group >= 0:
            groups.changes[group, column] += 1.0
            group = groups.parent[group]
