"""Robots that finish what they have begun: a robot switched off still delivers the page it is accessing.

[Avrachenkov, Section 2] lets the arrivals change at once when robots are switched. A real robot finishes its access
first, so after a switch from r to r' < r − 1 robots more than r' are at work for a while. That is again a Markovian
arrival process, with one more phase: w, the accesses that go on without the robot that delivered last. Robots are
switched off only when a page arrives (the queue grows by arrivals alone), and in between only switched on, so the
number at work is max(w, r) whatever happened before, and a delivery leaves max(w, r) − 1 accesses going on:

    D₀[(ν, w), (ν', w)] = m D₀[ν, ν'],    D₁[(ν, w), (ν', m − 1)] = m D₁[ν, ν'],    m = max(w, r),

with D₀, D₁ the process of one robot at work. Exact for exponential accesses; for others as good as "r robots bring
pages r times as fast". Where at most one robot is switched off at a time it is the paper's model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recrawl.control.model import Mode
from recrawl.errors import InvalidModel
from recrawl.laws.arrivals import Bmap

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["finishing_robots", "switched_at_once"]

_LINK = 1e-12  # relative to the fastest rate: joins phases that a mode never uses, and lets "no robots" be a process


def finishing_robots(one: Bmap, numbers: Iterable[int]) -> tuple[Mode, ...]:
    """Modes of so many active robots, each of which finishes its access when it is switched off.

    >>> modes = finishing_robots(Bmap.poisson(5.0), [1, 3])
    >>> [mode.robots for mode in modes], modes[0].arrivals.order
    ([1, 3], 3)
    """
    wanted = _checked(one, numbers)
    left = range(max(wanted[0] - 1, 0), wanted[-1])
    size = one.order
    found = []
    for robots in wanted:
        D = np.zeros((2, len(left) * size, len(left) * size))
        for place, going_on in enumerate(left):
            at_work = max(going_on, robots)
            rows = slice(place * size, (place + 1) * size)
            D[0, rows, rows] = at_work * one.D[0]
            if at_work:
                after = at_work - 1 - left[0]
                D[1, rows, after * size : (after + 1) * size] = at_work * one.D[1]
        found.append(Mode(robots, _linked(D, wanted[-1] * float(np.abs(one.D).max()))))
    return tuple(found)


def switched_at_once(one: Bmap, numbers: Iterable[int]) -> tuple[Mode, ...]:
    """Modes of so many robots whose arrivals change at once, the paper's model.

    >>> [mode.arrivals.rate for mode in switched_at_once(Bmap.poisson(5.0), [1, 3])]
    [5.0, 15.0]
    """
    wanted = _checked(one, numbers)
    scale = wanted[-1] * float(np.abs(one.D).max())
    return tuple(
        Mode(robots, one.scaled(robots) if robots else _linked(np.zeros((2, *one.D.shape[1:])), scale))
        for robots in wanted
    )


def _checked(one: Bmap, numbers: Iterable[int]) -> list[int]:
    wanted = sorted(set(numbers))
    if one.largest_batch != 1:
        raise InvalidModel(f"a robot brings one page at a time, not up to {one.largest_batch}")
    if not wanted or wanted[-1] < 1:
        raise InvalidModel(f"some mode must have a robot, but they have {wanted}")
    return wanted


def _linked(D: np.ndarray[tuple[int, ...], np.dtype[np.float64]], scale: float) -> Bmap:
    """One process, whatever phases a mode cannot reach by itself."""
    off = ~np.eye(D.shape[1], dtype=bool)
    D[0][off] = np.maximum(D[0][off], _LINK * scale)
    if not D[1].any():
        np.fill_diagonal(D[1], _LINK * scale)
    np.fill_diagonal(D[0], 0.0)
    np.fill_diagonal(D[0], -D.sum(axis=(0, 2)))
    return Bmap(D)
