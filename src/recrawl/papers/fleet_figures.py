"""Figures 2-8 of Talim, Liu, Nain and Coffman, as tables.

The figures themselves are missing from the text at hand. Parameters that the captions do not name are chosen here
and marked as assumed in the title.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from recrawl.fleet import Costs, limit_robots, mm1k, optimal_load, optimal_robots, solve
from recrawl.laws import Exponential, TwoTask

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["PaperFigure", "figures", "robots_mm1k"]

# μ1 = 0.5, μ2 = 0.1 of Figure 6; Figures 7 and 8 name no others.
_CHECK, _UPDATE = 2.0, 10.0


@dataclass(frozen=True)
class PaperFigure:
    """One figure: values of `x`, and one list of the same length for each curve."""

    number: str
    title: str
    x_label: str
    y_label: str
    x: tuple[float, ...]
    curves: dict[str, tuple[float, ...]]
    steps: bool = False


def robots_mm1k(robots_at_capacity: float, weight: float, capacity: int) -> int:
    """N(γ, K) for a given μ/λ. [Talim 2001, (5)]"""
    return optimal_robots(Exponential(1.0), 1.0 / robots_at_capacity, Costs(weight), capacity).robots


def figures() -> list[PaperFigure]:
    """All figures that show numbers."""
    return [
        _figure2(),
        _figure3(),
        _figure4("4a", 5.0),
        _figure4("4b", 6.0),
        _figure5(),
        *_figures_two_task(),
    ]


def _table(
    number: str,
    title: str,
    labels: tuple[str, str],
    x: list[float],
    curves: dict[str, Callable[[float], float]],
    *,
    steps: bool = False,
) -> PaperFigure:
    values = {name: tuple(float(curve(value)) for value in x) for name, curve in curves.items()}
    return PaperFigure(number, title, *labels, tuple(x), values, steps)


def _figure2() -> PaperFigure:
    return _table(
        "2",
        "Optimal number of robots and the starvation weight, μ/λ = 5 (K assumed)",
        ("γ", "N(γ, K)"),
        [i / 10 for i in range(1, 101)],
        {f"K = {k}": lambda weight, k=k: robots_mm1k(5.0, weight, k) for k in (5, 20)},  # type: ignore[misc]
        steps=True,
    )


def _figure3() -> PaperFigure:
    return _table(
        "3",
        "Optimal load and the capacity, exponential service",
        ("K", "ρ(γ, K)"),
        [float(k) for k in range(2, 51)],
        {f"γ = {g:g}": lambda k, g=g: mm1k.optimal_load(g, int(k)) for g in (0.5, 2.0)},  # type: ignore[misc]
    )


def _figure4(number: str, ratio: float) -> PaperFigure:
    assumed = " (assumed)" if number == "4a" else ""
    return _table(
        number,
        f"Optimal number of robots and the capacity, μ/λ = {ratio:g}{assumed}",
        ("K", "N(γ, K)"),
        [float(k) for k in range(2, 41)],
        {f"γ = {g:g}": lambda k, g=g: robots_mm1k(ratio, g, int(k)) for g in (0.5, 2.0)},  # type: ignore[misc]
        steps=True,
    )


def _figure5() -> PaperFigure:
    return _table(
        "5",
        "Optimal number of robots for an unbounded buffer",
        ("μ/λ", "N(γ, ∞)"),
        [1 + i / 20 for i in range(181)],
        {
            f"γ = {g:g}": lambda ratio, g=g: limit_robots(Exponential(1.0), 1 / ratio, g)  # type: ignore[misc]
            for g in (0.5, 2.0)
        },
        steps=True,
    )


def _figures_two_task() -> list[PaperFigure]:
    always, half = TwoTask(_CHECK, _UPDATE, 1.0), TwoTask(_CHECK, _UPDATE, 0.5)
    capacities = [float(k) for k in range(2, 31)]
    labels = ("K", "ρ(γ, K)")
    return [
        _table(
            "6",
            "Cost of a load, two-task service, μ1 = 0.5, μ2 = 0.1, p = 1, γ = 2, K = 15",
            ("ρ", "C(ρ, γ, K)"),
            [i / 50 for i in range(5, 151)],
            {"cost": lambda load: solve(always, load, 15).cost(2.0)},
        ),
        _table(
            "7",
            "Optimal load and the capacity, two-task service, γ = 1 (means of Figure 6 assumed)",
            labels,
            capacities,
            {
                "p = 1": lambda k: optimal_load(always, 1.0, int(k)).load,
                "p = 0.5": lambda k: optimal_load(half, 1.0, int(k)).load,
            },
        ),
        _table(
            "8",
            "Optimal load and the capacity, two-task service, p = 1 (means of Figure 6 assumed)",
            labels,
            capacities,
            {
                "γ = 0.5": lambda k: optimal_load(always, 0.5, int(k)).load,
                "γ = 2": lambda k: optimal_load(always, 2.0, int(k)).load,
            },
        ),
    ]
