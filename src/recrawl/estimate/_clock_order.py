"""Compiled loops of the group clocks: the order of pages.

A page of group g is due when the clock of g has gone so far since its last access that the value of an access
reaches the price. Pages wait in the heap of their group by clock time; groups wait in one heap by the real time at
which their clock, at its present speed, reaches their first page.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from recrawl._compiled import compiled, compiled_inline
from recrawl.estimate._clock_kernels import (
    ACCESSES,
    BIN,
    BINS,
    DATED,
    FREE,
    GAP,
    GROUPS,
    KNOWN,
    LOG_PRICE,
    NEVER,
    NEXT_PRIOR,
    NEXT_SPEEDS,
    OUT,
    PAGES,
    PRICE,
    REKEYED,
    SHARE,
    SPARE,
    TICKING,
    TOP,
    WAITING,
    WIDTH,
    State,
    advance_clocks,
    clock_at,
    learn_clocks,
    learn_prior,
    learn_row,
    posterior,
    renew,
    speeds,
)
from recrawl.revisit._pairing import Entries, insert, pop, take_out

__all__ = ["forget", "rebuild_all", "record", "settle", "take", "unqueue_page"]


@compiled_inline
def page_key(state: State, page: int) -> float:
    """The clock time at which a page is due."""
    pages = state.pages
    if pages.lean[page] < 0.0:
        return NEVER
    wait = math.exp(
        pages.wait[page] + (state.numbers[LOG_PRICE] - pages.level[page]) / max(pages.lean[page], 0.3)
    )
    return clock_at(state, pages.group[page], pages.last[page]) + wait


@compiled_inline
def group_due(state: State, group: int, now: float) -> float:
    """The real time at which a group's clock reaches its first page, if its speed stays."""
    key = state.page_heaps.key[state.groups.root[group]]
    speed = state.groups.speed[group, state.counters[BIN] & (BINS - 1)]
    return float(now + (key - clock_at(state, group, now)) / max(speed, 1e-6))


@compiled
def place_group(state: State, group: int, now: float, queued: bool) -> None:
    """Put a group where its first page says; out of the heap if it has none."""
    counters = state.counters
    if queued:
        counters[TOP] = take_out(state.group_heap, counters[TOP], group)
    if state.groups.root[group] >= 0:
        counters[TOP] = insert(state.group_heap, counters[TOP], group, group_due(state, group, now))


@compiled
def queue_page(state: State, page: int, now: float) -> None:
    """A page that is out waits again."""
    group = state.pages.group[page]
    queued = state.groups.root[group] >= 0
    first = state.groups.root[group]
    state.groups.root[group] = insert(state.page_heaps, first, page, page_key(state, page))
    state.pages.status[page] = WAITING
    if state.groups.root[group] != first:
        place_group(state, group, now, queued)


@compiled
def unqueue_page(state: State, page: int, now: float) -> None:
    """A page that waits is taken out."""
    group = state.pages.group[page]
    first = state.groups.root[group]
    state.groups.root[group] = take_out(state.page_heaps, first, page)
    state.pages.status[page] = OUT
    if page == first:
        place_group(state, group, now, True)


@compiled
def collect(pool: Entries, root: int, out: NDArray[np.int32]) -> int:
    """Write all entries of a heap; return how many."""
    if root < 0:
        return 0
    out[0] = root
    count = 1
    done = 0
    while done < count:
        entry = pool.child[out[done]]
        while entry >= 0:
            out[count] = entry
            count += 1
            entry = pool.after[entry]
        done += 1
    return count


@compiled_inline
def price_has_left(state: State, page: int) -> bool:
    """Is the price out of the reach of the slope at the page's wait?"""
    pages = state.pages
    off = state.numbers[LOG_PRICE] - pages.level[page]
    if pages.lean[page] < 0.0:
        return bool(off < 0.08 and pages.level[page] > -NEVER)
    return bool(abs(off) > 0.2)


@compiled
def find_price(state: State, ahead: float, wanted: int) -> None:
    """The price that as many pages as there will be accesses have reached, a time `ahead` from now.

    Near its wait the value of a page is a power of time, far beyond it the most that it can be.
    """
    pages, groups, numbers = state.pages, state.groups, state.numbers
    fineness = 50.0
    counts = np.zeros(1001, dtype=np.int64)
    column = state.counters[BIN] & (BINS - 1)
    for page in range(pages.status.size):
        if pages.status[page] == WAITING:
            group = pages.group[page]
            elapsed = groups.clock[group] - clock_at(state, group, pages.last[page])
            elapsed += groups.speed[group, column] * ahead
            worth = pages.level[page] + (math.log(max(elapsed, 1e-300)) - pages.wait[page]) * abs(
                pages.lean[page]
            )
            place = 500.5 + fineness * (min(worth, pages.most[page]) - numbers[LOG_PRICE])
            counts[int(min(max(place, 0.0), 1000.0))] += 1
    found = 0
    place = 1000
    while place > 0 and found + counts[place] < wanted:
        found += counts[place]
        place -= 1
    # A little below, so that pages that are worth just that are reached.
    set_price(state, numbers[PRICE] * math.exp((place - 502) / fineness))


@compiled
def set_price(state: State, price: float) -> None:
    """Change the price."""
    state.numbers[PRICE] = price
    state.numbers[LOG_PRICE] = math.log(price)


@compiled
def reorder(state: State, now: float) -> None:
    """A new price; all pages and groups in the order that it gives."""
    groups, counters, members = state.groups, state.counters, state.members
    for group in range(counters[GROUPS]):
        groups.clock[group] = clock_at(state, group, now)
    batch = max(1, counters[PAGES] // SHARE)
    find_price(state, 0.5 * batch * state.numbers[GAP], batch)
    counters[TOP] = -1
    for group in range(counters[GROUPS]):
        count = collect(state.page_heaps, groups.root[group], members)
        root = -1
        for i in range(count):
            if price_has_left(state, members[i]):
                renew(state, members[i])
            root = insert(state.page_heaps, root, members[i], page_key(state, members[i]))
        groups.root[group] = root
        counters[REKEYED] += count
        if root >= 0:
            counters[TOP] = insert(state.group_heap, counters[TOP], group, group_due(state, group, now))


@compiled
def take(state: State, now: float) -> int:
    """The page that is due first goes out; −1 if none waits. Call it with rising times."""
    counters, groups = state.counters, state.groups
    advance_clocks(state, now)
    if counters[ACCESSES] >= counters[NEXT_SPEEDS]:
        speeds(state)
        reorder(state, now)
        counters[NEXT_SPEEDS] = counters[ACCESSES] + max(8, counters[PAGES] // SHARE)
    for attempt in range(24):
        group = counters[TOP]
        if group < 0:
            return -1
        page = groups.root[group]
        key = page_key(state, page)
        if attempt == 23 or key <= state.page_heaps.key[page] + 1e-9 * state.numbers[WIDTH]:
            break
        # Its clock was set back since the key was computed: it is due later.
        groups.root[group] = insert(state.page_heaps, pop(state.page_heaps, page), page, key)
        place_group(state, group, now, True)
    unqueue_page(state, page, now)
    return int(page)


@compiled
def record(state: State, page: int, now: float, kind: int, dated: float) -> None:
    """An access of a page that is out: learn from it, and let the page wait again."""
    pages, counters, numbers = state.pages, state.counters, state.numbers
    advance_clocks(state, now)
    if pages.fresh[page]:
        pages.fresh[page] = False
        pages.last[page] = now
        if kind == DATED and state.rules[KNOWN] == 0:
            learn_row(
                state,
                page,
                0.0,
                kind,
                clock_at(state, pages.group[page], now) - clock_at(state, pages.group[page], dated),
            )
    elif now > pages.last[page]:
        group = pages.group[page]
        elapsed = max(
            clock_at(state, group, now) - clock_at(state, group, pages.last[page]), 1e-9 * numbers[WIDTH]
        )
        posterior(state, page)
        if state.rules[KNOWN] == 0:
            age = clock_at(state, group, now) - clock_at(state, group, dated) if kind == DATED else 0.0
            if state.rules[TICKING]:
                learn_clocks(state, page, now, elapsed, kind, dated)
            learn_row(state, page, elapsed, kind, age)
        pages.last[page] = now
    counters[ACCESSES] += 1
    if state.rules[KNOWN] == 0 and counters[ACCESSES] >= counters[NEXT_PRIOR]:
        learn_prior(state)
        counters[NEXT_PRIOR] = counters[ACCESSES] + max(8, counters[PAGES] // 2)
    renew(state, page)
    queue_page(state, page, now)


@compiled
def forget(state: State, page: int, now: float) -> None:
    """A page is no more; its slot is free."""
    if state.pages.status[page] == WAITING:
        unqueue_page(state, page, now)
    state.pages.status[page] = FREE
    state.free[state.counters[SPARE]] = page
    state.counters[SPARE] += 1
    state.counters[PAGES] -= 1


@compiled
def settle(state: State, page: int, now: float) -> None:
    """A page that is out waits for its due time, from what is believed."""
    renew(state, page)
    queue_page(state, page, now)


@compiled
def rebuild_all(state: State, now: float, revalue: bool) -> None:
    """Put every page that waits into the heap of its group, all groups in order."""
    pages, groups, _counters = state.pages, state.groups, state.counters
    advance_clocks(state, now)
    speeds(state)
    groups.root[:] = -1
    set_price(state, state.numbers[PRICE])
    for page in range(pages.status.size):
        if revalue and pages.status[page] != FREE:
            renew(state, page)
        if pages.status[page] == WAITING:
            group = pages.group[page]
            groups.root[group] = insert(state.page_heaps, groups.root[group], page, page_key(state, page))
    reorder(state, now)
