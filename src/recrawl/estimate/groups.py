"""Nested groups of pages by their names: the longest prefix that many share, then longer ones that fewer share.

A prefix may end after any character that is no letter: `docs/api/`, `2024-`, `ndr/1`. Level by level the least number
of pages that share it falls: max(30, N/25), max(12, N/200), 8, 4.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_NO_LETTER = re.compile(rb"[^A-Za-z\x80-\xff]")

__all__ = ["group_sizes", "nested_groups", "prefixes"]


def group_sizes(pages: int) -> tuple[int, ...]:
    """The least number of pages in a group, for each level below the site."""
    return (max(30, pages // 25), max(12, pages // 200), 8, 4)


def prefixes(name: str) -> list[bytes]:
    """Beginnings of a name where a group may end, longest first.

    >>> prefixes("a/b-12")
    [b'a/b-12', b'a/b-1', b'a/b-', b'a/']
    """
    raw = name.encode("utf-8", errors="surrogateescape")
    return [raw[: end.end()] for end in _NO_LETTER.finditer(raw)][::-1]


def nested_groups(
    names: Sequence[str], levels: int = 4
) -> tuple[list[bytes], NDArray[np.int32], NDArray[np.int32]]:
    """Groups as prefixes (the empty one, the site, first; parents before children), their parents, each name's group.

    `levels` below the site; fewer where there would be more than one group for eight names, so that groups take no
    more memory than names.

    >>> found, parents, group = nested_groups([f"x/a{i}" for i in range(5)] + ["y/b"])
    >>> found, parents.tolist(), group.tolist()
    ([b'', b'x/'], [-1, 0], [1, 1, 1, 1, 1, 0])
    """
    from recrawl.estimate._group_kernels import common_prefixes, widest_windows

    count = len(names)
    if count == 0:
        return [b""], np.array([-1], dtype=np.int32), np.zeros(0, dtype=np.int32)
    raw = [name.encode("utf-8", errors="surrogateescape") for name in names]
    order = sorted(range(count), key=raw.__getitem__)
    text = np.frombuffer(b"".join(raw[i] for i in order) + b"\0", dtype=np.uint8)
    starts = np.concatenate(([0], np.cumsum([len(raw[i]) for i in order]))).astype(np.int64)
    shared = common_prefixes(text, starts)
    lengths = [widest_windows(text, starts, shared, size) for size in group_sizes(count)[:levels]]
    names_in_order = [raw[i] for i in order]
    places = np.array(order, dtype=np.int64)
    for depth in range(len(lengths), 0, -1):
        found, parents, deepest = _nest(names_in_order, lengths[:depth])
        if 8 * len(found) <= max(count, 800):
            break
    group = np.zeros(count, dtype=np.int32)
    group[places] = deepest
    return list(found), np.array(parents, dtype=np.int32), group


def _nest(
    names: Sequence[bytes], lengths: Sequence[NDArray[np.int64]]
) -> tuple[dict[bytes, int], list[int], NDArray[np.int32]]:
    """Groups of sorted names from the lengths of their prefixes, level by level."""
    count = len(names)
    found: dict[bytes, int] = {b"": 0}
    parents = [-1]
    deepest = np.zeros(count, dtype=np.int32)
    for level in range(len(lengths)):
        here = np.maximum.reduce(lengths[: level + 1])
        before = np.maximum.reduce(lengths[:level]) if level else np.zeros(count, dtype=np.int64)
        for place in np.flatnonzero(here > before).tolist():
            prefix = names[place][: here[place]]
            number = found.get(prefix)
            if number is None:
                number = found[prefix] = len(parents)
                parents.append(int(deepest[place]))
            deepest[place] = number
    return found, parents, deepest
