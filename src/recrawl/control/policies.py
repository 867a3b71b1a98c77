"""The best thresholds: all subsets of modes, all non-strict thresholds. [Avrachenkov, Section 7]"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement
from math import comb
from typing import TYPE_CHECKING

from recrawl.control.evaluate import Evaluator
from recrawl.control.model import Model, Policy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Combination", "Optimum", "best_thresholds", "cost_curve", "mode_sets", "threshold_policies"]

TIE = 1e-12  # costs this close, relatively, are equal
_BUDGET = 3e10  # operations that enumeration may take: under a minute


@dataclass(frozen=True)
class Combination:
    """The best thresholds of one set of modes."""

    modes: tuple[int, ...]
    thresholds: tuple[int, ...]
    cost: float

    @property
    def policy(self) -> Policy:
        """The same as a policy."""
        return Policy(self.modes, self.thresholds)


@dataclass(frozen=True)
class Optimum:
    """The cheapest threshold policy, and the best of every set of modes.

    `search` is "enumeration" (every policy was evaluated: the best is the best) or "descent" (no single
    threshold and no pair of neighbours can be moved with profit; compare with a lower bound).
    `profit_percent` compares with the best fixed number of robots.
    """

    best: Combination
    combinations: tuple[Combination, ...]
    search: str
    policies: int

    @property
    def fixed(self) -> tuple[Combination, ...]:
        """Sets of one mode."""
        return tuple(c for c in self.combinations if len(c.modes) == 1)

    @property
    def profit_percent(self) -> float:
        """(1 − C* / min C_r) · 100."""
        least = min(c.cost for c in self.fixed)
        return (1.0 - self.best.cost / least) * 100.0 if least > 0 else 0.0


def threshold_count(model: Model) -> int:
    """Number of different threshold policies: ways to fall from most to fewest robots over K + 1 levels."""
    return comb(model.capacity + len(model.modes), len(model.modes) - 1)


def mode_sets(model: Model) -> list[tuple[int, ...]]:
    """All sets of modes, small ones first, each from most to fewest robots."""
    numbers = model.numbers
    return [tuple(reversed(s)) for size in range(1, len(numbers) + 1) for s in combinations(numbers, size)]


def threshold_policies(modes: tuple[int, ...], capacity: int) -> list[Policy]:
    """All non-strict thresholds 0 <= j₁ <= … <= K − 1 for a set of modes, smallest first."""
    return [Policy(modes, t) for t in combinations_with_replacement(range(capacity), len(modes) - 1)]


def _better(cost: float, key: tuple[object, ...], best: tuple[float, tuple[object, ...]] | None) -> bool:
    """Cheaper, or as cheap (relative 1e-12) with fewer modes, then smaller thresholds."""
    if best is None:
        return True
    slack = TIE * max(abs(cost), abs(best[0]))
    if abs(cost - best[0]) <= slack:
        return key < best[1]
    return cost < best[0]


def _least(candidates: Iterable[Combination]) -> Combination:
    best: Combination | None = None
    held: tuple[float, tuple[object, ...]] | None = None
    for candidate in candidates:
        key = (len(candidate.modes), candidate.thresholds, candidate.modes)
        if _better(candidate.cost, key, held):
            # A tie keeps the lower of the two costs, so that ties cannot drift.
            lowest = candidate.cost if held is None else min(held[0], candidate.cost)
            best, held = candidate, (lowest, key)
    assert best is not None
    return best


def best_thresholds(
    model: Model, evaluator: Evaluator | None = None, tell: Callable[[int], None] | None = None
) -> Optimum:
    """Search all sets of modes; by enumeration when that takes under a minute, by descent otherwise."""
    evaluator = evaluator or Evaluator(model)
    sets = mode_sets(model)
    K = model.capacity
    enumerated = threshold_count(model) * evaluator.work <= _BUDGET
    found = []
    for modes in sets:
        if enumerated or len(modes) <= 2:
            policies = threshold_policies(modes, K)
            costs = evaluator.costs([model.assignment(p) for p in policies], tell)
            found.append(
                _least(
                    Combination(modes, p.thresholds, float(c)) for p, c in zip(policies, costs, strict=True)
                )
            )
        else:
            found.append(_descent(evaluator, modes))
    return Optimum(
        _least(found), tuple(found), "enumeration" if enumerated else "descent", evaluator.evaluated
    )


def _descent(evaluator: Evaluator, modes: tuple[int, ...]) -> Combination:
    """Move one threshold along its line, or two neighbours together, while that pays; several starts."""
    model, K = evaluator.model, evaluator.model.capacity
    count = len(modes) - 1
    starts = {
        tuple([0] * count),
        tuple([K - 1] * count),
        tuple([(K - 1) // 2] * count),
        tuple(round((K - 1) * (n + 1) / (count + 1)) for n in range(count)),
    }
    reached = []
    for start in sorted(starts):
        here = Combination(modes, start, float(evaluator.costs([model.assignment(Policy(modes, start))])[0]))
        while True:
            near = _neighbours(here.thresholds, K)
            costs = evaluator.costs([model.assignment(Policy(modes, t)) for t in near])
            best = _least(
                [here, *(Combination(modes, t, float(c)) for t, c in zip(near, costs, strict=True))]
            )
            if best.thresholds == here.thresholds or not best.cost < here.cost * (1.0 - TIE):
                break
            here = best
        reached.append(here)
    return _least(reached)


def _neighbours(thresholds: tuple[int, ...], capacity: int) -> list[tuple[int, ...]]:
    near = set()
    for place in range(len(thresholds)):
        for together in (1, 2):
            for value in range(capacity):
                moved = list(thresholds)
                moved[place : place + together] = [value] * len(moved[place : place + together])
                if moved == sorted(moved):
                    near.add(tuple(moved))
        for step in (-1, 1):
            shifted = tuple(j + step if n in (place, place + 1) else j for n, j in enumerate(thresholds))
            if list(shifted) == sorted(shifted) and shifted[0] >= 0 and shifted[-1] < capacity:
                near.add(shifted)
    near.discard(thresholds)
    return sorted(near)


def cost_curve(evaluator: Evaluator, modes: tuple[int, int]) -> NDArray[np.float64]:
    """Cost of every threshold 0 ... K − 1 of two modes. [Figures 1-4]"""
    policies = threshold_policies(modes, evaluator.model.capacity)
    return evaluator.costs([evaluator.model.assignment(p) for p in policies])
