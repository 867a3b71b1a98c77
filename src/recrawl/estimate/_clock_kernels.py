"""Compiled loops of the group clocks: what is learnt from accesses.

The arrays are shared with `_clock_order`, which keeps the order of pages.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recrawl._compiled import compiled, compiled_inline
from recrawl.revisit._kernels import gain, solve_gap

if TYPE_CHECKING:
    from recrawl.revisit._pairing import Entries

BINS = 64

# Places in State.numbers.
WIDTH, ORIGIN, PRICE, SHRINK, CAP, LOG_PRICE, GAP = 0, 1, 2, 3, 4, 5, 6
# Places in State.counters.
BIN, TOP, PAGES, GROUPS, ACCESSES, NEXT_SPEEDS, NEXT_PRIOR, REKEYED, SPARE = 0, 1, 2, 3, 4, 5, 6, 8, 9
# Places in State.rules.
TICKING, RULE, KNOWN = 0, 1, 2
OPTIMAL, PROPORTIONAL = 0, 1

FREE, WAITING, OUT = 0, 1, 2
UNCHANGED, CHANGED, DATED = 0, 1, 2

NEVER = 1e30
SHARE = 20  # pages and price are put in order anew after this part of N accesses


class Pages(NamedTuple):
    """One entry for each slot."""

    last: NDArray[np.float64]
    loglik: NDArray[np.float32]
    rate: NDArray[np.float32]
    wait: NDArray[np.float32]  # ln of the clock time at which the value of an access reaches `level`
    level: NDArray[
        np.float32
    ]  # ln of a value: the price when `wait` was solved for, less if it is out of reach
    lean: NDArray[
        np.float32
    ]  # how the value grows there: d ln value / d ln time; < 0: the price is out of reach
    most: NDArray[np.float32]  # ln of what an access can be worth at most
    weight: NDArray[np.float32]
    group: NDArray[np.int32]
    status: NDArray[np.uint8]
    fresh: NDArray[np.bool_]  # never accessed yet


class Groups(NamedTuple):
    """One row for each group; a parent comes before its children. Columns are bins, number modulo `BINS`."""

    parent: NDArray[np.int32]
    changes: NDArray[np.float32]
    exposure: NDArray[np.float32]
    speed: NDArray[np.float32]
    since: NDArray[np.float32]  # clock at the start of each bin, from `base` on
    base: NDArray[np.float64]  # clock at the start of the oldest bin
    clock: NDArray[np.float64]  # at the last reordering
    root: NDArray[np.int32]


class State(NamedTuple):
    """Everything that the kernels read and write."""

    pages: Pages
    groups: Groups
    page_heaps: Entries
    group_heap: Entries
    rates: NDArray[np.float64]
    log_rates: NDArray[np.float64]
    prior: NDArray[np.float64]
    numbers: NDArray[np.float64]
    counters: NDArray[np.int64]
    rules: NDArray[np.int64]
    known: NDArray[np.float64]
    scratch: NDArray[np.float64]
    members: NDArray[np.int32]
    free: NDArray[np.int32]


# The clocks.


@compiled_inline
def clock_at(state: State, group: int, time: float) -> float:
    """The clock of a group at a time up to now; before the live bins it went at speed 1."""
    groups, now_bin = state.groups, state.counters[BIN]
    width = state.numbers[WIDTH]
    place = (time - state.numbers[ORIGIN]) / width
    number = math.floor(place)
    oldest = now_bin - BINS + 1
    if number < oldest:
        return float(groups.base[group] - (oldest - place) * width)
    number = min(number, now_bin)
    column = number & (BINS - 1)
    start = groups.base[group] + groups.since[group, column]
    return float(start + groups.speed[group, column] * (place - number) * width)


@compiled
def speeds(state: State) -> None:
    """Speeds of all clocks in all live bins, parents first: changes over exposure, drawn towards the parent."""
    groups, numbers = state.groups, state.numbers
    shrink, cap, width = numbers[SHRINK], numbers[CAP], numbers[WIDTH]
    oldest = state.counters[BIN] - BINS + 1
    for group in range(state.counters[GROUPS]):
        parent = groups.parent[group]
        total = 0.0
        for number in range(oldest, oldest + BINS):
            column = number & (BINS - 1)
            groups.since[group, column] = total
            if state.rules[TICKING]:
                above = groups.speed[parent, column] if parent >= 0 else 1.0
                seen = groups.changes[group, column] + shrink * above
                groups.speed[group, column] = min(seen / (groups.exposure[group, column] + shrink), cap)
            total += groups.speed[group, column] * width


@compiled
def advance_clocks(state: State, now: float) -> None:
    """Open a new bin when its time has come; the oldest one leaves."""
    groups, numbers, counters = state.groups, state.numbers, state.counters
    width = numbers[WIDTH]
    number = math.floor((now - numbers[ORIGIN]) / width)
    if number <= counters[BIN]:
        return
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
    speeds(state)


# The belief about a page.


@compiled
def posterior(state: State, page: int) -> None:
    """Probabilities of the rates, into `scratch`; the page's mean rate."""
    weights, prior = state.scratch, state.prior
    row = state.pages.loglik[page]
    total = 0.0
    for k in range(prior.size):
        weights[k] = prior[k] * math.exp(row[k]) if row[k] > -40.0 else 0.0
        total += weights[k]
    mean = 0.0
    for k in range(prior.size):
        weights[k] /= total
        mean += weights[k] * state.rates[k]
    state.pages.rate[page] = mean


@compiled
def value(state: State, page: int, elapsed: float) -> float:
    """What an access is worth after this time on the page's clock; needs `posterior` before."""
    if state.rules[RULE] == PROPORTIONAL:
        return float(state.pages.rate[page] * elapsed)
    total = 0.0
    if state.rules[KNOWN]:
        rate = state.known[page]
        return float(state.pages.weight[page] * (gain(rate * elapsed) / rate if rate > 0.0 else 0.0))
    for k in range(state.rates.size):
        if state.scratch[k] > 0.0:
            total += state.scratch[k] * gain(state.rates[k] * elapsed) / state.rates[k]
    return float(state.pages.weight[page] * total)


@compiled
def solve_wait(state: State, page: int) -> None:
    """Set the clock time at which the value of an access reaches the price; needs `posterior` before.

    Newton steps in ln τ inside a bracket, from the last answer.
    """
    pages, rates, weights = state.pages, state.rates, state.scratch
    price, weight, y = state.numbers[PRICE], pages.weight[page], pages.wait[page]
    pages.level[page] = math.log(price)
    pages.lean[page] = 1.0
    pages.most[page] = NEVER
    if not weight > 0.0:
        worthless(pages, page)
        return
    if state.rules[RULE] == PROPORTIONAL:
        pages.wait[page] = math.log(price / pages.rate[page])
        return
    if state.rules[KNOWN]:
        known_wait(state, page)
        return
    most = 0.0
    mean = 0.0
    for k in range(rates.size):
        most += weights[k] / rates[k]
        mean += weights[k] * rates[k]
    pages.most[page] = math.log(most * weight)
    out_of_reach = price >= 0.995 * most * weight
    level = 0.9 * most if out_of_reach else price / weight
    low = 0.5 * math.log(2.0 * level / mean)  # the value is below E[λ]τ²/2
    high = math.inf
    y = max(low, y)
    worth, slope = 1.0, 1.0
    for _ in range(60):
        worth, slope = _worth(rates, weights, math.exp(y))
        if worth < level:
            low = y
        else:
            high = y
        step = math.log(level / worth) * worth / max(slope, 1e-300)
        forward = y + min(max(step, -3.0), 3.0)
        if not low < forward < high:
            forward = 0.5 * (low + high) if high < math.inf else y + 1.0
        moved = abs(forward - y)
        y = forward
        if moved < 1e-2:
            break
    pages.level[page] = math.log(level * weight)
    pages.wait[page] = y
    pages.lean[page] = min(max(slope / worth, 0.05), 2.0) * (-1.0 if out_of_reach else 1.0)


@compiled
def worthless(pages: Pages, page: int) -> None:
    """No access of this page is ever worth anything."""
    pages.level[page] = -NEVER
    pages.most[page] = -NEVER
    pages.lean[page] = -1.0
    pages.wait[page] = 0.0


@compiled
def _worth(rates: NDArray[np.float64], weights: NDArray[np.float64], tau: float) -> tuple[float, float]:
    """E[(1 − (1+λτ)e^{−λτ})/λ] and its slope in ln τ."""
    worth = 0.0
    slope = 0.0
    for k in range(rates.size):
        if weights[k] > 1e-9:
            x = rates[k] * tau
            if x < 0.02:
                worth += weights[k] * x * tau * (0.5 - x * (1 / 3 - 0.125 * x))
                slope += weights[k] * x * tau * (1.0 - x * (1.0 - 0.5 * x))
            else:
                e = math.exp(-x)
                worth += weights[k] * (1.0 - (1.0 + x) * e) / rates[k]
                slope += weights[k] * x * tau * e
    return worth, slope


@compiled
def known_wait(state: State, page: int) -> None:
    """The same for a page whose rate is known."""
    pages, rate, price = state.pages, state.known[page], state.numbers[PRICE]
    if not rate > 0.0:
        worthless(pages, page)
        return
    most = pages.weight[page] / rate
    out_of_reach = price >= 0.995 * most
    level = 0.9 * most if out_of_reach else price
    z = solve_gap(level / most, 2)
    pages.most[page] = math.log(most)
    pages.level[page] = math.log(level)
    pages.wait[page] = math.log(z / rate)
    pages.lean[page] = z * z * math.exp(-z) * most / level * (-1.0 if out_of_reach else 1.0)


@compiled
def learn_row(state: State, page: int, elapsed: float, kind: int, age: float) -> None:
    """Add an access to the log-likelihoods of a page; the largest stays 0."""
    row, rates, log_rates = state.pages.loglik[page], state.rates, state.log_rates
    best = -math.inf
    for k in range(rates.size):
        x = rates[k] * elapsed
        if kind == UNCHANGED:
            more = -x
        elif kind == DATED:
            more = log_rates[k] - rates[k] * age
        elif x > 40.0:
            more = 0.0
        else:
            more = math.log(-math.expm1(-x))
        row[k] += more
        best = max(best, row[k])
    for k in range(rates.size):
        row[k] -= best


@compiled
def learn_clocks(state: State, page: int, now: float, elapsed: float, kind: int, dated: float) -> None:
    """Add an access to the changes and exposures of all groups of a page, bin by bin (one step of online EM).

    A change found stands for θτ / P(changed) changes, where P is that of the whole posterior: with that of its mean
    alone pages of uncertain rate would slow the clock down. Needs `posterior` before.
    """
    pages, groups, numbers = state.pages, state.groups, state.numbers
    width, origin = numbers[WIDTH], numbers[ORIGIN]
    rate = pages.rate[page]
    begin = dated if kind == DATED else pages.last[page]
    x = rate * elapsed
    trust = min(1.0, 3.0 / x)  # a page that surely changed says little about the clock, however often it did
    expected = 0.0
    if kind == CHANGED:
        likely = 0.0
        for k in range(state.rates.size):
            if state.scratch[k] > 1e-9:
                likely -= state.scratch[k] * math.expm1(-state.rates[k] * elapsed)
        expected = trust * x / likely if x > 1e-9 else 1.0
    newest = state.counters[BIN]
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


@compiled
def learn_prior(state: State) -> None:
    """The prior becomes the mean posterior of all pages, a fiftieth of it spread evenly."""
    size = state.prior.size
    total = np.zeros(size)
    count = 0
    for page in range(state.pages.status.size):
        if state.pages.status[page] != FREE:
            posterior(state, page)
            for k in range(size):
                total[k] += state.scratch[k]
            count += 1
    moved = 0.0
    if count > 0:
        for k in range(size):
            mass = 0.98 * total[k] / count + 0.02 / size
            moved += abs(mass - state.prior[k])
            state.prior[k] = mass
    if moved > 0.02:
        for page in range(state.pages.status.size):
            if state.pages.status[page] == WAITING:
                renew(state, page)


@compiled
def renew(state: State, page: int) -> None:
    """How long a page waits, from what is believed now."""
    posterior(state, page)
    solve_wait(state, page)
