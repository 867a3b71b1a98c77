"""Robots that finish what they have begun: a robot switched off still delivers the page it is accessing.

[Avrachenkov, Section 2] lets the arrivals change at once when robots are switched. A real robot finishes its access
first, so after a switch from r to r' < r − 1 robots more than r' are at work for a while; and a robot that is switched
on delivers its first page only when a whole access is over. Both are a Markovian arrival process with more phases.

Exponential accesses of rate a: the phase is w, the accesses that go on without the robot that delivered last. Robots
are switched off only when a page arrives (the queue grows by arrivals alone), and in between only switched on, so the
number at work is m = max(w, r) whatever happened before, and a delivery leaves m − 1 accesses going on:

    D₁[w, m − 1] = m a,    D₀[w, w] = −m a.

Phase-type accesses (α, S): the phase is how many robots are in each phase of their access. A delivery takes one of
them out; while fewer than r are at work another one starts, in a time that is next to nothing (`_SWIFT`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recrawl.control.model import Mode
from recrawl.control.rooms import compositions, minimal
from recrawl.errors import InvalidModel
from recrawl.laws.arrivals import Bmap

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from recrawl.laws.phase_type import PhaseType

__all__ = ["finishing_phases", "finishing_robots", "switched_at_once"]

_LINK = 1e-12  # relative to the fastest rate: joins phases that a mode never uses, and lets "no robots" be a process
_SWIFT = 1e5  # the same: how fast a robot starts


def finishing_robots(access: PhaseType, numbers: Iterable[int], success: float = 1.0) -> tuple[Mode, ...]:
    """Modes of so many active robots, each of which finishes its access when it is switched off.

    A share `success` of the accesses brings a page.

    >>> from recrawl.laws import PhaseType
    >>> modes = finishing_robots(PhaseType([1.0], [[-5.0]]), [1, 3])
    >>> [mode.robots for mode in modes], modes[0].arrivals.order
    ([1, 3], 3)
    """
    wanted, law = _checked(numbers, success), minimal(access)
    if law.order == 1:
        rate = float(law.exits[0])
        return tuple(Mode(robots, _exponential(rate, robots, wanted, success)) for robots in wanted)
    states = [state for total in range(wanted[-1] + 1) for state in compositions(total, law.order)]
    return tuple(Mode(robots, _phases(law, robots, states, success)) for robots in wanted)


def finishing_phases(access: PhaseType, numbers: Iterable[int]) -> int:
    """How many phases the arrivals of `finishing_robots` have.

    >>> from recrawl.laws import PhaseType
    >>> finishing_phases(PhaseType([1.0, 0.0], [[-2.0, 2.0], [0.0, -1.0]]), [1, 4])
    15
    """
    from math import comb

    wanted, order = sorted(set(numbers)), minimal(access).order
    return wanted[-1] - max(wanted[0] - 1, 0) if order == 1 else comb(wanted[-1] + order, order)


def switched_at_once(access: PhaseType, numbers: Iterable[int], success: float = 1.0) -> tuple[Mode, ...]:
    """Modes of so many robots whose arrivals are Poisson and change at once: the papers' robots.

    >>> from recrawl.laws import PhaseType
    >>> [mode.arrivals.rate for mode in switched_at_once(PhaseType([1.0], [[-5.0]]), [1, 3])]
    [5.0, 15.0]
    """
    wanted = _checked(numbers, success)
    rate = success / access.mean
    none = np.zeros((2, 1, 1))
    return tuple(
        Mode(robots, Bmap.poisson(robots * rate) if robots else _linked(none, wanted[-1] * rate))
        for robots in wanted
    )


def _checked(numbers: Iterable[int], success: float) -> list[int]:
    wanted = sorted(set(numbers))
    if not wanted or wanted[-1] < 1:
        raise InvalidModel(f"some mode must have a robot, but they have {wanted}")
    if not 0 < success <= 1:
        raise InvalidModel(
            f"the share of accesses that bring a page must be above 0 and at most 1, not {success}"
        )
    return wanted


def _exponential(rate: float, robots: int, wanted: list[int], success: float) -> Bmap:
    left = range(max(wanted[0] - 1, 0), wanted[-1])
    D = np.zeros((2, len(left), len(left)))
    for place, going_on in enumerate(left):
        at_work = max(going_on, robots)
        if at_work:
            after = at_work - 1 - left[0]
            D[1, place, after] += success * at_work * rate
            if after != place:
                D[0, place, after] += (1.0 - success) * at_work * rate
    return _linked(D, wanted[-1] * rate)


def _phases(law: PhaseType, robots: int, states: list[tuple[int, ...]], success: float) -> Bmap:
    places = {state: place for place, state in enumerate(states)}
    fastest = sum(states[-1]) * float(np.abs(law.S).max())
    D = np.zeros((2, len(states), len(states)))
    for state, place in places.items():
        for phase, count in enumerate(state):
            if count:
                fewer = places[_moved(state, phase, -1)]
                D[1, place, fewer] += success * count * law.exits[phase]
                D[0, place, fewer] += (1.0 - success) * count * law.exits[phase]
            for other in range(law.order):
                if count and other != phase:
                    D[0, place, places[_moved(_moved(state, phase, -1), other, 1)]] += (
                        count * law.S[phase, other]
                    )
            if sum(state) < robots:
                D[0, place, places[_moved(state, phase, 1)]] += _SWIFT * fastest * law.alpha[phase]
    return _linked(D, fastest)


def _moved(state: tuple[int, ...], phase: int, by: int) -> tuple[int, ...]:
    return (*state[:phase], state[phase] + by, *state[phase + 1 :])


def _linked(D: NDArray[np.float64], scale: float) -> Bmap:
    """One process, whatever phases a mode cannot reach by itself."""
    off = ~np.eye(D.shape[1], dtype=bool)
    D[0][off] = np.maximum(D[0][off], _LINK * scale)
    if not D[1].any():
        np.fill_diagonal(D[1], _LINK * scale)
    np.fill_diagonal(D[0], 0.0)
    np.fill_diagonal(D[0], -D.sum(axis=(0, 2)))
    return Bmap(D)
