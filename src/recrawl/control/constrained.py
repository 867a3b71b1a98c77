"""Limits instead of prices, and trade-offs between two measures. [Avrachenkov, after (2) and Section 7]

"Alternatively, the cost coefficients can be viewed as Lagrange multipliers in the constrained problem":
among all threshold policies the cheapest one within the limits is found by enumeration, where the cost is
(2) without the limited terms; the multipliers are the dual solution of the linear programme over mixtures
of policies, so they are the cost coefficients of (2) that would have led to the same trade-off.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from recrawl.control.model import Costs, Model, Policy
from recrawl.control.policies import TIE, mode_sets, threshold_policies
from recrawl.control.rewards import REWARDS
from recrawl.errors import InvalidModel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from recrawl.control.evaluate import Evaluator

__all__ = ["MEASURES", "Constrained", "Limits", "Tradeoff", "best_within", "pareto_front"]

MEASURES = ("loss", "obsolete", "response", "robot", "starvation", "success", "throughput", "cost")


@dataclass(frozen=True)
class Limits:
    """Upper limits: shares of pages lost and obsolete, response time, mean active robots, starvation."""

    loss: float | None = None
    obsolete: float | None = None
    response: float | None = None
    robot: float | None = None
    starvation: float | None = None

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if value is not None and not (np.isfinite(value) and value >= 0):
                raise InvalidModel(f"the limit on {name} must be a number not below zero, not {value}")
        if not self.named:
            raise InvalidModel("at least one limit is needed")

    @property
    def named(self) -> dict[str, float]:
        """The limits that are set."""
        return {name: float(value) for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True)
class Constrained:
    """The cheapest threshold policy within the limits.

    `rest` is (2) without the limited terms. `multipliers` are implied cost coefficients. `gap` is how much
    the cheapest *mixture* of policies within the limits would save; 0 means that the multipliers support
    the policy. When no policy is within the limits `feasible` is false, `policy` is the one whose worst
    relative excess is least, and there are no multipliers.
    """

    feasible: bool
    policy: Policy
    rest: float
    values: dict[str, float]
    multipliers: dict[str, float]
    gap: float


@dataclass(frozen=True)
class Tradeoff:
    """One point of a front."""

    policy: Policy
    values: tuple[float, ...]
    cost: float


def _all_policies(model: Model) -> list[Policy]:
    """Every threshold policy once: of equal ones, that with the fewest modes and smallest thresholds."""
    seen: dict[tuple[int, ...], Policy] = {}
    for modes in mode_sets(model):
        for policy in threshold_policies(modes, model.capacity):
            seen.setdefault(model.assignment(policy), policy)
    return list(seen.values())


def _columns(evaluator: Evaluator, policies: list[Policy]) -> dict[str, NDArray[np.float64]]:
    """Measures of many policies; `…_rate` are the quantities as they stand in (2)."""
    found = evaluator.rates([evaluator.model.assignment(p) for p in policies])
    rates = {name: found[:, place] for place, name in enumerate(REWARDS)}
    return {
        "loss": rates["lost"] / rates["arrived"],
        "obsolete": rates["obsolete"] / rates["arrived"],
        "success": rates["served"] / rates["arrived"],
        "throughput": rates["served"],
        "response": rates["response"] / rates["served"],
        "robot": rates["robots"],
        "starvation": rates["starving"],
        "loss_rate": rates["lost"],
        "obsolete_rate": rates["obsolete"],
        "arrived": rates["arrived"],
        "cost": evaluator.costs([evaluator.model.assignment(p) for p in policies]),
    }


def _term(name: str) -> str:
    return f"{name}_rate" if name in ("loss", "obsolete") else name


def best_within(evaluator: Evaluator, limits: Limits) -> Constrained:
    """The cheapest threshold policy within limits, with the prices that the limits imply."""
    model = evaluator.model
    policies = _all_policies(model)
    columns = _columns(evaluator, policies)
    named = limits.named
    rest = np.zeros(len(policies))
    for field in fields(Costs):
        if field.name not in named:
            rest += getattr(model.costs, field.name) * columns[_term(field.name)]
    excess = np.max([columns[name] / max(limit, 1e-300) - 1.0 for name, limit in named.items()], axis=0)
    feasible = excess <= TIE
    if not feasible.any():
        place = int(np.argmin(excess))
        return Constrained(
            False, policies[place], float(rest[place]), _values(columns, place), {}, float("nan")
        )
    place = int(np.flatnonzero(feasible)[np.argmin(rest[feasible])])
    multipliers, mixed = _multipliers(columns, rest, named, place)
    return Constrained(
        True,
        policies[place],
        float(rest[place]),
        _values(columns, place),
        multipliers,
        float(rest[place] - mixed),
    )


def _values(columns: dict[str, NDArray[np.float64]], place: int) -> dict[str, float]:
    return {name: float(columns[name][place]) for name in MEASURES}


def _multipliers(
    columns: dict[str, NDArray[np.float64]], rest: NDArray[np.float64], named: dict[str, float], place: int
) -> tuple[dict[str, float], float]:
    """Duals of: mix policies so that the mean of each limited term of (2) stays within its limit."""
    from scipy.optimize import linprog

    rows, right = [], []
    for name, limit in named.items():
        rows.append(columns[_term(name)])
        scale = columns["arrived"][place] if name in ("loss", "obsolete") else 1.0
        right.append(limit * scale * (1.0 + 1e-9))
    result = linprog(
        rest,
        A_ub=np.array(rows),
        b_ub=np.array(right),
        A_eq=np.ones((1, rest.size)),
        b_eq=[1.0],
        method="highs",
    )
    prices = {name: max(0.0, -float(m)) for name, m in zip(named, result.ineqlin.marginals, strict=True)}
    return prices, float(result.fun)


def pareto_front(evaluator: Evaluator, names: Sequence[str]) -> list[Tradeoff]:
    """Threshold policies that no other beats in all named measures at once (smaller is better)."""
    for name in names:
        if name not in MEASURES:
            raise InvalidModel(f"cannot trade {name!r}; known are {', '.join(MEASURES)}")
    if len(set(names)) < 2:
        raise InvalidModel("a front needs two different measures")
    policies = _all_policies(evaluator.model)
    columns = _columns(evaluator, policies)
    signs = np.array([-1.0 if name in ("success", "throughput") else 1.0 for name in names])
    points = np.stack([columns[name] for name in names], axis=1)
    order = np.lexsort((points * signs).T[::-1])
    front: list[int] = []
    for place in order:
        here = points[place] * signs
        if not any((points[kept] * signs <= here + TIE * np.abs(here)).all() for kept in front):
            front.append(int(place))
    return [
        Tradeoff(policies[p], tuple(float(v) for v in points[p]), float(columns["cost"][p])) for p in front
    ]
