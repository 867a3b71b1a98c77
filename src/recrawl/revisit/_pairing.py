"""Pairing heaps in arrays: many heaps share one pool of entries, and an entry may leave from the middle.

An entry is a number; it has a key, its first child, the sibling after it, and the one before it (of a first child: its
parent). A heap is known by its root, −1 if it is empty [Fredman, Sedgewick, Sleator, Tarjan, Algorithmica 1986].
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recrawl._compiled import compiled_in_place, compiled_inline

__all__ = ["Entries", "build", "entries", "insert", "pop", "take_out"]


class Entries(NamedTuple):
    """Keys and links of all entries."""

    key: NDArray[np.float64]
    child: NDArray[np.int32]
    after: NDArray[np.int32]
    before: NDArray[np.int32]


def entries(size: int) -> Entries:
    """Room for `size` entries that are in no heap."""
    return Entries(np.full(size, np.inf), *(np.full(size, -1, dtype=np.int32) for _ in range(3)))


@compiled_inline
def _meld(pool: Entries, a: int, b: int) -> int:
    """Join two heaps; return the root."""
    root, other = (b, a) if a < 0 or (b >= 0 and pool.key[b] < pool.key[a]) else (a, b)
    if other >= 0:
        first = pool.child[root]
        pool.after[other] = first
        if first >= 0:
            pool.before[first] = other
        pool.before[other] = root
        pool.child[root] = other
    return root


@compiled_in_place
def insert(pool: Entries, root: int, entry: int, key: float) -> int:
    """Put an entry into a heap; return the root."""
    pool.key[entry] = key
    pool.child[entry] = -1
    pool.after[entry] = -1
    pool.before[entry] = -1
    return _meld(pool, root, entry)


@compiled_in_place
def build(pool: Entries, members: NDArray[np.int32], count: int) -> int:
    """A heap of the first `count` members, whose keys are set; return the root. Uses up `members`."""
    for i in range(count):
        pool.child[members[i]] = -1
        pool.after[members[i]] = -1
        pool.before[members[i]] = -1
    left = count
    while left > 1:  # neighbours are joined, round by round: roots have few children
        half = 0
        for i in range(0, left - 1, 2):
            members[half] = _meld(pool, members[i], members[i + 1])
            half += 1
        if left % 2:
            members[half] = members[left - 1]
            half += 1
        left = half
    return int(members[0]) if count > 0 else -1


@compiled_in_place
def pop(pool: Entries, root: int) -> int:
    """Remove the root; return the new one."""
    # First pass: join children in pairs, left to right; `before` chains the joined pairs backwards.
    pairs = -1
    child = pool.child[root]
    while child >= 0:
        second = pool.after[child]
        following = pool.after[second] if second >= 0 else -1
        pool.after[child] = -1
        pool.before[child] = -1
        if second >= 0:
            pool.after[second] = -1
            pool.before[second] = -1
        joined = _meld(pool, child, second)
        pool.before[joined] = pairs
        pairs = joined
        child = following
    # Second pass: join them all, right to left.
    found = -1
    while pairs >= 0:
        rest = pool.before[pairs]
        pool.before[pairs] = -1
        found = _meld(pool, found, pairs)
        pairs = rest
    pool.child[root] = -1
    return found


@compiled_in_place
def take_out(pool: Entries, root: int, entry: int) -> int:
    """Remove any entry of a heap; return the root."""
    if entry == root:
        return pop(pool, root)
    before, after = pool.before[entry], pool.after[entry]
    if pool.child[before] == entry:
        pool.child[before] = after
    else:
        pool.after[before] = after
    if after >= 0:
        pool.before[after] = before
    pool.after[entry] = -1
    pool.before[entry] = -1
    return _meld(pool, root, pop(pool, entry))
