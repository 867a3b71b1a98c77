"""Compiled loops of the access sequences.

Each `*_take` fills `out` with the next accesses and leaves its state arrays ready for the call after it. Pages whose
`alive` entry is zero are never written.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from recrawl._compiled import compiled
from recrawl.revisit._kernels import gain

if TYPE_CHECKING:
    from numpy.typing import NDArray

# A heap with four children per node: half the depth of a binary heap, and the children share a cache line.
_CHILDREN = 4


@compiled
def heap_push(
    key: NDArray[np.float64], item: NDArray[np.int32], size: int, new_key: float, new_item: int
) -> None:
    """Add an entry to a heap of `size` entries."""
    place = size
    while place > 0:
        parent = (place - 1) // _CHILDREN
        if key[parent] <= new_key:
            break
        key[place] = key[parent]
        item[place] = item[parent]
        place = parent
    key[place] = new_key
    item[place] = new_item


@compiled
def heap_sink(
    key: NDArray[np.float64], item: NDArray[np.int32], size: int, place: int, new_key: float, new_item: int
) -> None:
    """Put an entry at `place` or below, where it belongs among `size` entries."""
    while True:
        child = _CHILDREN * place + 1
        if child >= size:
            break
        best = child
        for other in range(child + 1, min(child + _CHILDREN, size)):
            if key[other] < key[best]:
                best = other
        if key[best] >= new_key:
            break
        key[place] = key[best]
        item[place] = item[best]
        place = best
    key[place] = new_key
    item[place] = new_item


@compiled
def heap_drop(key: NDArray[np.float64], item: NDArray[np.int32], size: int) -> None:
    """Remove the first of `size` entries."""
    if size > 1:
        heap_sink(key, item, size - 1, 0, key[size - 1], item[size - 1])


@compiled
def heapify(key: NDArray[np.float64], item: NDArray[np.int32], size: int) -> None:
    """Make a heap of the first `size` entries."""
    for place in range((size - 2) // _CHILDREN, -1, -1):
        heap_sink(key, item, size, place, key[place], item[place])


@compiled
def windows_take(
    out: NDArray[np.int64],
    now: float,
    sizes: NDArray[np.int64],
    release: NDArray[np.float64],
    waiting: NDArray[np.int32],
    deadline: NDArray[np.float64],
    released: NDArray[np.int32],
    base: NDArray[np.float64],
    period: NDArray[np.float64],
    alive: NDArray[np.uint8],
    early: float,
    late: float,
) -> None:
    """Earliest deadline first among released pages; `waiting` by release, `released` by deadline."""
    in_wait, in_line = sizes[0], sizes[1]
    for k in range(out.size):
        page = -1
        while page < 0:
            while in_wait > 0 and release[0] <= now:
                page = waiting[0]
                heap_drop(release, waiting, in_wait)
                in_wait -= 1
                if alive[page]:
                    heap_push(deadline, released, in_line, base[page] + late * period[page], page)
                    in_line += 1
            page = -1
            if in_line > 0:
                page = released[0]
                heap_drop(deadline, released, in_line)
                in_line -= 1
            else:
                page = waiting[0]
                heap_drop(release, waiting, in_wait)
                in_wait -= 1
            if not alive[page]:
                page = -1
        base[page] += period[page]
        heap_push(release, waiting, in_wait, base[page] + early * period[page], page)
        in_wait += 1
        out[k] = page
        now += 1.0
    sizes[0], sizes[1] = in_wait, in_line


@compiled
def due_take(
    out: NDArray[np.int64],
    size: int,
    due: NDArray[np.float64],
    item: NDArray[np.int32],
    period: NDArray[np.float64],
    alive: NDArray[np.uint8],
) -> int:
    """The page that is due first; then it is due one period later. Return the size of the heap."""
    for k in range(out.size):
        while not alive[item[0]]:
            heap_drop(due, item, size)
            size -= 1
        page = item[0]
        out[k] = page
        heap_sink(due, item, size, 0, due[0] + period[page], page)
    return size


@compiled
def index_take(
    out: NDArray[np.int64],
    exponent: NDArray[np.float64],
    excess: NDArray[np.float64],
    step: NDArray[np.float64],
    scale: NDArray[np.float64],
    age: NDArray[np.float64],
    decay: NDArray[np.float64],
    alive: NDArray[np.uint8],
) -> None:
    """The page of largest index 1 − h^d (1 + d(1−h)) = gain(L·d) + h^d·d·(L − 1 + h), times its `scale`.

    `step` is h, `decay` is h^d, `age` is d, `excess` is L − 1 + h. A loop over all pages for each access.
    """
    for k in range(out.size):
        best = -1
        best_index = -math.inf
        for i in range(age.size):
            age[i] += 1.0
            decay[i] *= step[i]
            if alive[i]:
                y = exponent[i] * age[i]
                value = gain(y) if y < 0.35 else 1.0 - decay[i] * (1.0 + y)
                index = (value + decay[i] * age[i] * excess[i]) * scale[i]
                if index > best_index:
                    best_index = index
                    best = i
        decay[best] = 1.0
        age[best] = 0.0
        out[k] = best


@compiled
def merge_smallest(
    weight: NDArray[np.float64],
    leaf: NDArray[np.int32],
    pages: int,
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    share: NDArray[np.float64],
) -> None:
    """Huffman's tree over leaves of rising weight: again and again join the two lightest nodes, in O(N)."""
    joined = np.empty(left.size)
    next_leaf, next_node = 0, 0
    for node in range(left.size):
        for side in range(2):
            if next_leaf < leaf.size and (next_node >= node or weight[next_leaf] <= joined[next_node]):
                mass, child = weight[next_leaf], leaf[next_leaf]
                next_leaf += 1
            else:
                mass, child = joined[next_node], np.int32(pages + next_node)
                next_node += 1
            if side == 0:
                joined[node] = mass
                left[node] = child
            else:
                share[node] = joined[node] / (joined[node] + mass)
                joined[node] += mass
                right[node] = child


@compiled
def tree_take(
    out: NDArray[np.int64],
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    share: NDArray[np.float64],
    phase: NDArray[np.float64],
    alive: NDArray[np.uint8],
) -> None:
    """Walk from the root (the last node); at each node a bracket sequence sends the access left or right."""
    pages = alive.size
    for k in range(out.size):
        node = left.size - 1
        page = -1
        while page < 0:
            node = left.size - 1
            while node >= 0:
                phase[node] += share[node]
                if phase[node] >= 1.0:
                    phase[node] -= 1.0
                    child = left[node]
                else:
                    child = right[node]
                if child < pages:
                    page = child
                    node = -1
                else:
                    node = child - pages
            if not alive[page]:
                page = -1
        out[k] = page


@compiled
def lookup(cumulated: NDArray[np.int64], guide: NDArray[np.int32], scale: float, point: int) -> int:
    """The place i with cumulated[i] <= point < cumulated[i+1], from a guess that is almost always right."""
    i = int(guide[min(guide.size - 1, int(point * scale))])
    while cumulated[i + 1] <= point:
        i += 1
    while cumulated[i] > point:
        i -= 1
    return i


@compiled
def make_guide(cumulated: NDArray[np.int64], guide: NDArray[np.int32], scale: float) -> None:
    """For each of guide.size equal parts of the range, the place of its first point."""
    i = 0
    for g in range(guide.size):
        point = int(g / scale)
        while i + 2 < cumulated.size and cumulated[i + 1] <= point:
            i += 1
        guide[g] = i


@compiled
def golden_take(
    out: NDArray[np.int64],
    start: int,
    stride: int,
    cycle: int,
    cumulated: NDArray[np.int64],
    guide: NDArray[np.int32],
    scale: float,
    alive: NDArray[np.uint8],
) -> int:
    """Every slot adds `stride` modulo `cycle`; the part of the cycle it falls in is the page. Return the point."""
    point = start
    for k in range(out.size):
        page = -1
        while page < 0:
            page = lookup(cumulated, guide, scale, point)
            point += stride
            if point >= cycle:
                point -= cycle
            if not alive[page]:
                page = -1
        out[k] = page
    return point


@compiled
def binary_take(
    out: NDArray[np.int64],
    slot: int,
    bits: int,
    cumulated: NDArray[np.int64],
    guide: NDArray[np.int32],
    scale: float,
    alive: NDArray[np.uint8],
) -> int:
    """The bits of the slot's number, reversed, are a point of the cycle; its part is the page. Return the slot."""
    for k in range(out.size):
        page = -1
        while page < 0:
            point = 0
            rest = slot
            for _ in range(bits):
                point = 2 * point + (rest & 1)
                rest >>= 1
            slot += 1
            page = lookup(cumulated, guide, scale, point)
            if not alive[page]:
                page = -1
        out[k] = page
    return slot


@compiled
def alias_table(weight: NDArray[np.float64], accept: NDArray[np.float64], other: NDArray[np.int64]) -> None:
    """Walker's tables: column i keeps itself with probability accept[i], else gives other[i] [Vose 1991]."""
    size = weight.size
    small = np.empty(size, dtype=np.int64)
    large = np.empty(size, dtype=np.int64)
    smalls, larges = 0, 0
    total = weight.sum()
    for i in range(size):
        accept[i] = weight[i] / total * size
        other[i] = i
        if accept[i] < 1.0:
            small[smalls] = i
            smalls += 1
        else:
            large[larges] = i
            larges += 1
    while smalls > 0 and larges > 0:
        smalls -= 1
        i = small[smalls]
        j = large[larges - 1]
        other[i] = j
        accept[j] -= 1.0 - accept[i]
        if accept[j] < 1.0:
            larges -= 1
            small[smalls] = j
            smalls += 1
    # What rounding left over keeps itself, but never a page of weight zero.
    for k in range(smalls):
        if weight[small[k]] > 0.0:
            accept[small[k]] = 1.0


@compiled
def alias_take(
    out: NDArray[np.int64],
    draws: NDArray[np.float64],
    accept: NDArray[np.float64],
    other: NDArray[np.int64],
    alive: NDArray[np.uint8],
) -> int:
    """One page for each uniform draw; draws that fall on a page that is gone are skipped. Return how many."""
    found = 0
    for k in range(draws.size):
        scaled = draws[k] * accept.size
        column = min(int(scaled), accept.size - 1)
        page = column if scaled - column < accept[column] else other[column]
        if alive[page]:
            out[found] = page
            found += 1
            if found == out.size:
                break
    return found


@compiled
def round_robin_take(
    out: NDArray[np.int64], start: int, members: NDArray[np.int64], alive: NDArray[np.uint8]
) -> int:
    """The members in turn. Return the next place."""
    place = start
    for k in range(out.size):
        page = -1
        while page < 0:
            page = members[place]
            place = place + 1 if place + 1 < members.size else 0
            if not alive[page]:
                page = -1
        out[k] = page
    return place
