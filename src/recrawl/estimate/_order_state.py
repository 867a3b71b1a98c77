"""The arrays of the order of pages: made, and grown with what is believed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from recrawl.estimate import _clock_order as kernel
from recrawl.revisit._pairing import Entries, entries

if TYPE_CHECKING:
    from recrawl.estimate._clock_kernels import Clocks
    from recrawl.estimate.clock_belief import ClockBelief

__all__ = ["empty_order", "following"]


def empty_order(belief: ClockBelief, rule: str) -> kernel.Order:
    """No page, one group."""
    numbers = np.zeros(3)
    numbers[kernel.PRICE] = 1.0 if rule == "proportional" else 0.2 / belief.budget
    numbers[kernel.LOG_PRICE] = math.log(numbers[kernel.PRICE])
    numbers[kernel.GAP] = 1.0 / belief.budget
    counters = np.zeros(4, dtype=np.int64)
    counters[kernel.TOP] = -1
    choice = kernel.PROPORTIONAL if rule == "proportional" else kernel.OPTIMAL
    return kernel.Order(
        clocks=belief.state,
        wait=np.zeros(0, dtype=np.float32),
        level=np.zeros(0, dtype=np.float32),
        lean=np.zeros(0, dtype=np.float32),
        most=np.zeros(0, dtype=np.float32),
        weight=np.zeros(0, dtype=np.float32),
        status=np.zeros(0, dtype=np.uint8),
        known=np.zeros(0),
        page_heaps=entries(0),
        clock=np.zeros(1),
        root=np.full(1, -1, dtype=np.int32),
        built=np.full(1, kernel.NEVER),
        group_heap=entries(1),
        numbers=numbers,
        counters=counters,
        rules=np.array([choice, rule == "known"], dtype=np.int64),
        members=np.zeros(0, dtype=np.int32),
        one=np.zeros(1, dtype=np.int32),
    )


def following(order: kernel.Order, clocks: Clocks) -> kernel.Order:
    """Room for the slots and groups that there are now; heaps must be built anew if the groups are others."""
    size = clocks.pages.last.size
    more = size - order.status.size
    groups = clocks.groups.parent.size
    found = order._replace(clocks=clocks)
    if more:
        floats = np.zeros(more, dtype=np.float32)
        old, new = order.page_heaps, entries(more)
        found = found._replace(
            wait=np.append(order.wait, floats),
            level=np.append(order.level, floats),
            lean=np.append(order.lean, floats),
            most=np.append(order.most, floats),
            weight=np.append(order.weight, floats),
            status=np.append(order.status, np.zeros(more, dtype=np.uint8)),
            known=np.append(order.known, np.zeros(more if order.rules[kernel.KNOWN] else 0)),
            page_heaps=Entries(
                np.append(old.key, new.key),
                np.append(old.child, new.child),
                np.append(old.after, new.after),
                np.append(old.before, new.before),
            ),
            members=np.zeros(size, dtype=np.int32),
        )
    if clocks.groups.base.size != order.clock.size or clocks.groups.base is not order.clocks.groups.base:
        found = found._replace(
            clock=np.zeros(groups),
            root=np.full(groups, -1, dtype=np.int32),
            built=np.full(groups, kernel.NEVER),
            group_heap=entries(groups),
        )
        found.counters[kernel.TOP] = -1
    return found
