"""Compiled loops of the group clocks: the order of pages.

A page of group g is due when the clock of g has gone so far since its last access that the value of an access
reaches the price. Pages wait in the heap of their group by clock time; groups wait in one heap by the real time at
which their clock, at its present speed, reaches their first page.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recrawl._compiled import compiled, compiled_in_place, compiled_inline
from recrawl.estimate._clock_kernels import (
    GROUPS,
    OBSERVED,
    PAGES,
    PARTS,
    STALE,
    WIDTH,
    Clocks,
    advance_clocks,
    clock_at,
    learn_access,
    mean_of,
    refresh,
    speed_now,
)
from recrawl.estimate._clock_prior import learn_prior
from recrawl.estimate._grid_kernels import grid_reach
from recrawl.revisit._kernels import solve_gap
from recrawl.revisit._pairing import Entries, build, insert, pop, take_out

__all__ = ["Order", "forget", "rebuild_all", "record", "settle", "signalled", "take", "unqueue_page"]

# Places in Order.numbers, Order.counters and Order.rules.
PRICE, LOG_PRICE, GAP = 0, 1, 2
TOP, REKEYED, REBUILT, GONE = 0, 1, 2, 3
RULE, KNOWN = 0, 1
OPTIMAL, PROPORTIONAL = 0, 1

FREE, WAITING, OUT = 0, 1, 2

ROUND = 16  # bins in a uniform revisit time
STIR = 0.015  # a heap is built anew when its clock (in rounds) or the price (its logarithm) has moved further

NEVER = 1e30


class Order(NamedTuple):
    """What the order of pages is made of: `wait` to `status` by slot, `clock` and `root` by group."""

    clocks: Clocks
    wait: NDArray[np.float32]  # ln of the clock time at which the value of an access reaches `level`
    level: NDArray[np.float32]  # ln of a value: the price `wait` was solved for, less if it is out of reach
    lean: NDArray[np.float32]  # d ln value / d ln time there; < 0: the price is out of reach
    most: NDArray[np.float32]  # ln of what an access can be worth at most
    weight: NDArray[np.float32]
    status: NDArray[np.uint8]
    known: NDArray[np.float64]
    page_heaps: Entries
    clock: NDArray[np.float64]  # at the last reordering
    root: NDArray[np.int32]
    built: NDArray[np.float64]  # ln of the price when the heap of a group was built
    group_heap: Entries
    numbers: NDArray[np.float64]
    counters: NDArray[np.int64]
    rules: NDArray[np.int64]
    members: NDArray[np.int32]
    one: NDArray[np.int32]


# How long a page waits.


@compiled_in_place
def renew(order: Order, page: int) -> None:
    """How long a page waits, from what is believed now: until the value of an access reaches the price."""
    clocks, price, weight = order.clocks, order.numbers[PRICE], order.weight[page]
    order.level[page] = order.numbers[LOG_PRICE]
    order.lean[page] = 1.0
    order.most[page] = NEVER
    if not weight > 0.0:
        worthless(order, page)
        return
    if order.rules[KNOWN]:
        known_wait(order, page)
        return
    mean = mean_of(clocks, page)
    if order.rules[RULE] == PROPORTIONAL:
        order.wait[page] = math.log(price / mean)
        return
    shares = clocks.scratch
    most = 0.0
    for k in range(shares.size):
        shares[k] /= clocks.rates[k]
        most += shares[k]
    order.most[page] = math.log(most * weight)
    out_of_reach = price >= 0.995 * most * weight
    level = 0.9 * most if out_of_reach else price / weight
    low = 0.5 * math.log(2.0 * level / mean)
    wait, lean = grid_reach(shares, clocks.log_rates[0], level, low, order.wait[page])
    order.level[page] = math.log(level * weight)
    order.wait[page] = wait
    order.lean[page] = min(max(lean, 0.05), 2.0) * (-1.0 if out_of_reach else 1.0)


@compiled_in_place
def worthless(order: Order, page: int) -> None:
    """No access of this page is ever worth anything."""
    order.level[page] = -NEVER
    order.most[page] = -NEVER
    order.lean[page] = -1.0
    order.wait[page] = 0.0


@compiled_in_place
def known_wait(order: Order, page: int) -> None:
    """The same for a page whose rate is known."""
    rate, price = order.known[page], order.numbers[PRICE]
    if not rate > 0.0:
        worthless(order, page)
        return
    most = order.weight[page] / rate
    out_of_reach = price >= 0.995 * most
    level = 0.9 * most if out_of_reach else price
    z = solve_gap(level / most, 2)
    order.most[page] = math.log(most)
    order.level[page] = math.log(level)
    order.wait[page] = math.log(z / rate)
    order.lean[page] = z * z * math.exp(-z) * most / level * (-1.0 if out_of_reach else 1.0)


# Heaps.


@compiled_in_place
def set_keys(order: Order, chosen: NDArray[np.int32], count: int) -> None:
    """The clock times at which pages are due, into the keys of the heaps."""
    clocks = order.clocks  # taken apart here once: inside a loop every array of it would be counted again
    pages = clocks.pages
    key, wait, level, lean = order.page_heaps.key, order.wait, order.level, order.lean
    log_price = order.numbers[LOG_PRICE]
    for i in range(count):
        page = chosen[i]
        if lean[page] < 0.0:
            key[page] = NEVER
            continue
        start = clock_at(clocks, pages.group[page], pages.last[page])
        if pages.state[page] != STALE:
            start += math.exp(wait[page] + (log_price - level[page]) / max(lean[page], 0.3))
        key[page] = start


@compiled_in_place
def page_key(order: Order, page: int) -> float:
    """The clock time at which a page is due."""
    order.one[0] = page
    set_keys(order, order.one, 1)
    return float(order.page_heaps.key[page])


@compiled_inline
def group_due(order: Order, group: int, now: float) -> float:
    """The real time at which a group's clock reaches its first page, if its speed stays."""
    key = order.page_heaps.key[order.root[group]]
    speed = speed_now(order.clocks, group)
    return float(now + (key - clock_at(order.clocks, group, now)) / max(speed, 1e-6))


@compiled_in_place
def place_group(order: Order, group: int, now: float, queued: bool) -> None:
    """Put a group where its first page says; out of the heap if it has none."""
    counters = order.counters
    if queued:
        counters[TOP] = take_out(order.group_heap, counters[TOP], group)
    if order.root[group] >= 0:
        counters[TOP] = insert(order.group_heap, counters[TOP], group, group_due(order, group, now))


@compiled_in_place
def queue_page(order: Order, page: int, now: float) -> None:
    """A page that is out waits again."""
    group = order.clocks.pages.group[page]
    first = order.root[group]
    order.root[group] = insert(order.page_heaps, first, page, page_key(order, page))
    order.status[page] = WAITING
    if order.root[group] != first:
        place_group(order, group, now, first >= 0)


@compiled_in_place
def unqueue_page(order: Order, page: int, now: float) -> None:
    """A page that waits is taken out."""
    group = order.clocks.pages.group[page]
    first = order.root[group]
    order.root[group] = take_out(order.page_heaps, first, page)
    order.status[page] = OUT
    if page == first:
        place_group(order, group, now, True)


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


@compiled_in_place
def renew_where_price_left(order: Order, chosen: NDArray[np.int32], count: int) -> None:
    """New waits for pages where the price is out of the reach of the slope at their waits."""
    log_price, level, lean = order.numbers[LOG_PRICE], order.level, order.lean
    for i in range(count):
        off = log_price - level[chosen[i]]
        reachable = lean[chosen[i]] >= 0.0
        if (reachable and abs(off) > 0.2) or (not reachable and off < 0.08 and level[chosen[i]] > -NEVER):
            renew(order, chosen[i])


@compiled
def find_price(order: Order, ahead: float, wanted: int) -> None:
    """The price that as many pages as there will be accesses have reached, a time `ahead` from now.

    Near its wait the value of a page is a power of time, far beyond it the most that it can be.
    """
    clocks, numbers = order.clocks, order.numbers
    pages, status, clock = clocks.pages, order.status, order.clock
    wait, level, lean, most = order.wait, order.level, order.lean, order.most
    fineness = 50.0
    counts = np.zeros(1001, dtype=np.int64)
    for page in range(status.size):
        if status[page] == WAITING:
            group = pages.group[page]
            elapsed = clock[group] - clock_at(clocks, group, pages.last[page])
            elapsed += speed_now(clocks, group) * ahead
            worth = most[page]
            if pages.state[page] != STALE:
                grown = (math.log(max(elapsed, 1e-300)) - wait[page]) * abs(lean[page])
                worth = min(worth, level[page] + grown)
            place = 500.5 + fineness * (worth - numbers[LOG_PRICE])
            counts[int(min(max(place, 0.0), 1000.0))] += 1
    found = 0
    place = 1000
    while place > 0 and found + counts[place] < wanted:
        found += counts[place]
        place -= 1
    # A little below, so that pages that are worth just that are reached; it stays if it is nearly right.
    off = (place - 502) / fineness
    if abs(off) > STIR:
        set_price(order, numbers[PRICE] * math.exp(off))


@compiled_in_place
def set_price(order: Order, price: float) -> None:
    """Change the price."""
    order.numbers[PRICE] = price
    order.numbers[LOG_PRICE] = math.log(price)


@compiled_in_place
def build_group(order: Order, group: int, count: int) -> None:
    """Put the first `count` of `members` into the heap of a group."""
    members = order.members
    renew_where_price_left(order, members, count)
    set_keys(order, members, count)
    order.root[group] = build(order.page_heaps, members, count)
    order.built[group] = order.numbers[LOG_PRICE]
    order.clocks.groups.moved[group] = 0.0
    order.counters[REBUILT] += 1
    order.counters[REKEYED] += count


@compiled
def reorder(order: Order, now: float) -> None:
    """A new price; groups in the order that it gives, and the pages of those whose clock or price has moved far."""
    clocks, counters = order.clocks, order.counters
    for group in range(clocks.counters[GROUPS]):
        order.clock[group] = clock_at(clocks, group, now)
    batch = max(1, clocks.counters[PAGES] // clocks.counters[PARTS])
    find_price(order, 0.5 * batch * order.numbers[GAP], batch)
    far = STIR * ROUND * clocks.numbers[WIDTH]
    counters[TOP] = -1
    for group in range(clocks.counters[GROUPS]):
        if order.root[group] < 0:
            continue
        off = abs(order.numbers[LOG_PRICE] - order.built[group])
        if off > STIR or clocks.groups.moved[group] > far:
            build_group(order, group, collect(order.page_heaps, order.root[group], order.members))
        counters[TOP] = insert(order.group_heap, counters[TOP], group, group_due(order, group, now))


@compiled_in_place
def take(order: Order, now: float) -> int:
    """The page that is due first goes out; −1 if none waits. Call it with rising times."""
    if refresh(order.clocks, now):
        reorder(order, now)
    for attempt in range(24):
        group = order.counters[TOP]
        if group < 0:
            return -1
        page = order.root[group]
        before = order.page_heaps.key[page]
        key = page_key(order, page)
        if attempt == 23 or key <= before + 1e-9 * order.clocks.numbers[WIDTH]:
            break
        # Its clock was set back since the key was computed: it is due later.
        order.root[group] = insert(order.page_heaps, pop(order.page_heaps, page), page, key)
        place_group(order, group, now, True)
    unqueue_page(order, page, now)
    return int(page)


@compiled
def renew_all(order: Order) -> None:
    """New waits for all pages; heaps are built anew when their turn comes."""
    order.built[:] = NEVER
    status = order.status
    for page in range(status.size):
        if status[page] == WAITING:
            renew(order, page)


@compiled_in_place
def record(order: Order, page: int, now: float, kind: int, dated: float) -> None:
    """An access of a page that is out: learn from it, and let the page wait again."""
    clocks = order.clocks
    if order.rules[KNOWN]:
        advance_clocks(clocks, now)
        clocks.pages.last[page] = now
        clocks.counters[OBSERVED] += 1
    else:
        learn_access(clocks, page, now, kind, dated, False)
        if learn_prior(clocks) > 0.02:
            renew_all(order)
    renew(order, page)
    queue_page(order, page, now)


@compiled
def signalled(order: Order, page: int, now: float, kind: int, dated: float) -> None:
    """A page that waits or is out was said to have changed."""
    learn_access(order.clocks, page, now, kind, dated, True)
    if order.status[page] == WAITING:
        unqueue_page(order, page, now)
        settle(order, page, now)


@compiled_in_place
def forget(order: Order, page: int, now: float) -> None:
    """A page is no more."""
    if order.status[page] == WAITING:
        unqueue_page(order, page, now)
    order.status[page] = FREE


@compiled_in_place
def settle(order: Order, page: int, now: float) -> None:
    """A page that is out waits for its due time, from what is believed."""
    renew(order, page)
    queue_page(order, page, now)


@compiled
def rebuild_all(order: Order, now: float, revalue: bool) -> None:
    """Put every page that waits into the heap of its group, all groups in order."""
    set_price(order, order.numbers[PRICE])
    order.root[:] = -1
    for page in range(order.status.size):
        if revalue and order.status[page] != FREE:
            renew(order, page)
        if order.status[page] == WAITING:
            group = order.clocks.pages.group[page]
            order.root[group] = insert(order.page_heaps, order.root[group], page, page_key(order, page))
    order.built[:] = NEVER
    reorder(order, now)
