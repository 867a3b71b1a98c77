"""The compiled loop that plays a history to the group clocks."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recrawl._compiled import compiled, compiled_in_place
from recrawl.estimate._clock_kernels import ABSENT, OBSERVED, PAGES, SEEN
from recrawl.estimate._clock_order import Order, forget, record, settle, take
from recrawl.simulate._replay import ACCESSES, NEWS, NOTHING, World, access, advance, next_arrival

__all__ = ["Places", "clock_steps"]

# Places in Places.counts: slots that wait for pages, slots whose pages went, pages that came or went.
SPARE, LEFT, MOVED = 0, 1, 2


class Places(NamedTuple):
    """Which page of the history is in which slot."""

    page_of: NDArray[np.int32]  # by slot
    slot_of: NDArray[np.int32]  # by page; −1: not known
    home: NDArray[np.int32]  # by page: the group that it belongs to
    weight: NDArray[np.float64]  # by page
    rate: NDArray[np.float64]  # by page: told to the rule that knows rates
    spare: NDArray[np.int64]
    left: NDArray[np.int64]
    counts: NDArray[np.int64]


@compiled_in_place
def _enter(order: Order, places: Places, page: int, now: float) -> None:
    """A page that appeared was accessed for the first time."""
    places.counts[SPARE] -= 1
    slot = places.spare[places.counts[SPARE]]
    places.slot_of[page] = slot
    places.page_of[slot] = page
    clocks = order.clocks
    clocks.pages.group[slot] = places.home[page]
    clocks.pages.last[slot] = now
    clocks.pages.state[slot] = SEEN
    clocks.counters[PAGES] += 1
    clocks.counters[OBSERVED] += 1
    order.weight[slot] = places.weight[page]
    order.wait[slot] = 0.0
    if order.known.size > 0:
        order.known[slot] = places.rate[page]
    settle(order, slot, now)


@compiled_in_place
def _leave(order: Order, places: Places, slot: int, now: float) -> None:
    """A page is no more."""
    forget(order, slot, now)
    order.clocks.pages.state[slot] = ABSENT
    order.clocks.counters[PAGES] -= 1
    places.slot_of[places.page_of[slot]] = -1
    places.left[places.counts[LEFT]] = slot
    places.counts[LEFT] += 1


@compiled
def clock_steps(
    world: World,
    order: Order,
    places: Places,
    start: float,
    gap: float,
    upto: int,
    most_moves: int,
    dated: bool,
) -> None:
    """Go on until `upto` accesses are done, or so many pages came or went that groups should be made anew."""
    counts = places.counts
    while world.cursor[ACCESSES] < upto and counts[MOVED] < most_moves:
        now = start + (world.cursor[ACCESSES] + 1) * gap
        advance(world, now)
        page = next_arrival(world)
        if page >= 0 and places.slot_of[page] < 0:
            access(world, page)
            _enter(order, places, page, now)
            counts[MOVED] += 1
            continue
        slot = take(order, now)
        if slot < 0:
            world.cursor[ACCESSES] += 1
            continue
        page = places.page_of[slot]
        found = access(world, page)
        if found == NOTHING:
            _leave(order, places, slot, now)
            counts[MOVED] += 1
        else:
            kind = 0 if found != NEWS else (2 if dated else 1)
            record(order, slot, now, kind, world.since[page])
