"""How many robots, and when to switch them: from the engine's state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recrawl.web.documents import RobotsView, ThresholdRow
from recrawl.web.overview import buffer_view, measured

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["robots_view", "threshold_rows"]


def threshold_rows(table: Sequence[int] | None) -> list[ThresholdRow]:
    """Runs of equal numbers of robots in a table by level.

    >>> [(row.robots, row.low, row.high) for row in threshold_rows([4, 4, 1])]
    [(4, 0, 1), (1, 2, 2)]
    """
    rows: list[ThresholdRow] = []
    for level, robots in enumerate(table or ()):
        if rows and rows[-1].robots == robots:
            rows[-1] = ThresholdRow(robots=robots, low=rows[-1].low, high=level)
        else:
            rows.append(ThresholdRow(robots=robots, low=level, high=level))
    return rows


def robots_view(now: float, status: Mapping[str, Any] | None, service_factor: float) -> RobotsView:
    """What is known without a model of the queue."""
    control = (status or {}).get("control", {})
    robots = (status or {}).get("robots", {"active": 0, "accessing": 0, "most": 0})
    budget = (status or {}).get("budget_per_second")
    return RobotsView(
        time=now,
        control=control.get("control", "guarded"),
        decision=control.get("decision", ""),
        warnings=list(control.get("warnings", [])),
        budget_per_second=budget,
        robots_active=robots["active"],
        robots_accessing=robots["accessing"],
        robots_most=robots["most"],
        buffer=buffer_view(status),
        queue=measured(status),
        thresholds=threshold_rows(control.get("table")),
        occupancy=[],
        laws=[],
        fleet=[],
        best_fixed_robots=control.get("best_fixed_robots"),
        service_factor=service_factor,
        controls=["guarded", "fixed", "thresholds"]
        if budget is not None
        else ["guarded", "fixed", "thresholds", "auto"],
        reason="" if status is not None else "no engine has run on this data yet",
    )
