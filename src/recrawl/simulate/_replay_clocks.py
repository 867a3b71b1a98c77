"""The compiled loop that plays a history to the group clocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recrawl._compiled import compiled
from recrawl.estimate._clock_order import forget, record, take
from recrawl.simulate._replay import ACCESSES, NEWS, NOTHING, World, access, advance, next_arrival

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from recrawl.estimate._clock_kernels import State

__all__ = ["clock_steps"]


@compiled
def clock_steps(
    world: World,
    state: State,
    page_of: NDArray[np.int32],
    slot_of: NDArray[np.int32],
    start: float,
    gap: float,
    upto: int,
    dated: bool,
) -> int:
    """Go on until `upto` accesses are done, or a page appears; return that page (its access is not done), or −1."""
    while world.cursor[ACCESSES] < upto:
        now = start + (world.cursor[ACCESSES] + 1) * gap
        advance(world, now)
        page = next_arrival(world)
        if page >= 0 and slot_of[page] < 0:
            return page
        slot = take(state, now)
        if slot < 0:
            world.cursor[ACCESSES] += 1
            continue
        page = page_of[slot]
        found = access(world, page)
        if found == NOTHING:
            slot_of[page] = -1
            forget(state, slot, now)
        else:
            kind = 0 if found != NEWS else (2 if dated else 1)
            record(state, slot, now, kind, world.since[page])
    return -1
