"""How many robots, and when to switch them: from the engine's state and the fitted queue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from recrawl.engine.prospects import prospects
from recrawl.web.documents import (
    Decision,
    FittedLaw,
    FleetPoint,
    LevelShare,
    QueueCase,
    RobotsView,
    ThresholdRow,
    WhatIf,
)
from recrawl.web.overview import buffer_view, measured, share

if TYPE_CHECKING:
    from collections.abc import Mapping

    from recrawl.engine.fitted import FittedQueue

__all__ = ["robots_view"]


def robots_view(
    now: float, status: Mapping[str, Any] | None, model: FittedQueue | None, service_factor: float
) -> RobotsView:
    """Everything about robots. Fits and predictions take up to seconds: run it in a worker."""
    engine: Mapping[str, Any] = status or {}
    control = engine.get("control", {})
    robots = engine.get("robots", {"active": 0, "accessing": 0, "most": 0})
    budget = engine.get("budget_per_second")
    found = prospects(model, status, service_factor)
    fleet = found["fleet"] or {}
    return RobotsView(
        time=now,
        control=control.get("control", "guarded"),
        decision=control.get("decision", ""),
        decisions=msgspec.convert(control.get("history", []), list[Decision]),
        warnings=list(control.get("warnings", [])),
        budget_per_second=budget,
        robots_active=robots["active"],
        robots_accessing=robots["accessing"],
        robots_most=robots["most"],
        buffer=buffer_view(status),
        queue=measured(status),
        thresholds=msgspec.convert(found["thresholds"], list[ThresholdRow]),
        occupancy=[_level(row) for row in found["occupancy"]],
        laws=msgspec.convert(found["laws"], list[FittedLaw]),
        fleet=[_point(row) for row in fleet.get("fixed", [])],
        at_most=[_point(row) for row in fleet.get("at_most", [])],
        fleet_words=fleet.get("in_words", ""),
        best_fixed_robots=fleet.get("best_fixed_robots", control.get("best_fixed_robots")),
        worth_robots=fleet.get("worth_robots", control.get("worth_robots")),
        service_factor=service_factor,
        what_if=_what_if(found["what_if"]),
        controls=["guarded", "fixed", "thresholds", *([] if budget is not None else ["auto"])],  # type: ignore[list-item]
        reason=found["reason"] if status is not None else "no engine has run on this data yet",
    )


def _level(row: Mapping[str, Any]) -> LevelShare:
    return LevelShare(
        level=row["level"],
        high=row.get("high", row["level"]),
        measured=share(row["measured"]),
        half_width=row["half_width"],
        predicted=share(row["predicted"]),
    )


def _point(row: Mapping[str, Any]) -> FleetPoint:
    return FleetPoint(
        robots=row["robots"],
        cost=max(row["cost"], 0.0),
        starvation=share(row.get("starvation")),
        loss=share(row.get("loss")),
        obsolete=share(row.get("obsolete")),
        response_time=row.get("response_time"),
    )


def _what_if(found: Mapping[str, Any] | None) -> WhatIf | None:
    if found is None:
        return None
    fixed = found["best_fixed"]
    return WhatIf(
        service_factor=found["service_factor"],
        now=_case(found["now"]),
        same=_case(found["same"]),
        best=_case(found["best"]) if found["best"] else None,
        best_fixed_robots=fixed["robots"] if fixed else None,
        in_words=found["in_words"],
    )


def _case(found: Mapping[str, Any]) -> QueueCase:
    rows = msgspec.convert(found["thresholds"], list[ThresholdRow])
    return QueueCase(thresholds=rows, measures=dict(found["measures"]))
