"""What the charts draw, as plain data for static/charts.js.

A chart has its kinds of numbers (`x`, `y`: time, rate, span, percent, number), its series in the order of the columns
of `data`, and wishes: `log_x`, `log_y`, `from_zero`, `here` (a ring), `levels` and `moments` (lines across and up).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recrawl.web.wording import across

if TYPE_CHECKING:
    from recrawl.web.documents import AccessEntry, BeliefPoint, FittedLaw, PageView, PlanView, RobotsView

__all__ = ["HISTORY", "accesses", "belief", "curve", "fleet", "law", "obsolescence", "occupancy", "timeline"]

Spec = dict[str, Any]
HISTORY = (
    "obsolescence",
    "obsolescence_bound",
    "accesses_per_second",
    "changes_per_second",
    "budget_per_second",
)
_FAILED = frozenset({"failed", "busy", "refused", "unreadable", "needs_script"})


def obsolescence() -> Spec:
    """Expected obsolescence and its bound over time; the browser asks for the values."""
    return {
        "x": "time",
        "y": "percent",
        "from_zero": True,
        "series": [
            {"name": "obsolescence", "label": "expected", "kind": "area"},
            {"name": "obsolescence_bound", "label": "bound", "tone": "second", "dash": True},
        ],
        "data": [[], [], []],
    }


def accesses() -> Spec:
    """Accesses and changes per second over time, under the budget."""
    return {
        "x": "time",
        "y": "rate",
        "from_zero": True,
        "series": [
            {"name": "accesses_per_second", "label": "accesses", "kind": "area"},
            {"name": "changes_per_second", "label": "changes found", "tone": "third"},
            {"name": "budget_per_second", "label": "budget", "tone": "second", "dash": True},
        ],
        "data": [[], [], [], []],
    }


def curve(view: PlanView, base: float | None) -> Spec:
    """Least obsolescence against budget, with the point that is spoken of."""
    spec: Spec = {
        "x": "rate",
        "y": "percent",
        "log_x": True,
        "from_zero": True,
        "base": base,
        "series": [{"label": "obsolescence, at least", "kind": "area"}],
        "data": [
            [point.budget_per_second for point in view.curve],
            [point.obsolescence for point in view.curve],
        ],
    }
    if view.present is not None:
        spec["here"] = [view.present.budget_per_second, view.present.obsolescence]
    if view.obsolescence is not None:
        spec["levels"] = [{"y": view.obsolescence}]
    return spec


def belief(view: PageView, now: float) -> Spec:
    """What was believed of a page's change rate, and when changes were found."""
    points = [*view.belief, _at(view.belief[-1], now)] if view.belief else []
    floor = (
        min((point.rate for point in points), default=0.0) / 30.0
    )  # below it the band only says "hardly ever"
    lows = [max(point.low, floor) for point in points]
    highs = [point.high for point in points]
    return {
        "x": "time",
        "y": "rate",
        "log_y": bool(points) and min(lows) > 0 and max(highs) > 20 * min(lows),
        "series": [
            {"label": "change rate", "kind": "step"},
            {"label": "at least (90 %)", "kind": "edge"},
            {"label": "at most (90 %)", "kind": "edge"},
        ],
        "bands": [[3, 2]],
        "moments": [access.time for access in view.accesses if access.changed],
        "data": [[point.time for point in points], [point.rate for point in points], lows, highs],
    }


def _at(point: BeliefPoint, now: float) -> BeliefPoint:
    """The last belief holds until now."""
    return type(point)(time=max(now, point.time), rate=point.rate, low=point.low, high=point.high)


def fleet(view: RobotsView) -> Spec:
    """Cost of each fixed number of robots, and of the best thresholds with at most so many."""
    spec: Spec = {
        "x": "number",
        "x_label": "robots",
        "y": "number",
        "series": [{"label": "always the same", "kind": "points"}],
        "data": [[point.robots for point in view.fleet], [point.cost for point in view.fleet]],
    }
    if view.at_most:
        costs = {point.robots: point.cost for point in view.at_most}
        spec["series"].append({"label": "thresholds", "tone": "second", "kind": "points"})
        spec["data"].append([costs.get(point.robots) for point in view.fleet])
    best = [point for point in view.fleet if point.robots == view.best_fixed_robots]
    if best:
        spec["here"] = [best[0].robots, best[0].cost]
    return spec


def law(fitted: FittedLaw) -> Spec:
    """What was measured, and the density of the law that was fitted to it."""
    times = [time for time, _ in fitted.density]
    return {
        "x": "span",
        "y": "number",
        "from_zero": True,
        "series": [
            {"label": "measured", "kind": "steps"},
            {"label": "fitted", "tone": "second"},
        ],
        "data": [times, [_height(fitted, time) for time in times], [height for _, height in fitted.density]],
    }


def _height(fitted: FittedLaw, time: float) -> float | None:
    return next((one.density for one in fitted.histogram if one.low <= time <= one.high), None)


def occupancy(view: RobotsView) -> Spec:
    """Share of time at each level, measured and predicted."""
    return {
        "x": "number",
        "x_label": "pages",
        "y": "percent",
        "from_zero": True,
        "x_range": [-0.6, max((row.high for row in view.occupancy), default=0) + 0.6],
        "series": [
            {"label": "measured", "kind": "bars"},
            {"label": "predicted", "tone": "second", "kind": "points"},
        ],
        "data": [
            [row.level for row in view.occupancy],
            [row.measured for row in view.occupancy],
            [row.predicted for row in view.occupancy],
        ],
    }


def timeline(entries: list[AccessEntry], now: float) -> dict[str, Any]:
    """A page's accesses as places on a line from the first of them to now."""
    if not entries:
        return {"begin": now, "marks": []}
    begin = entries[0].time
    width = max(now - begin, 1e-9)
    marks = [{"place": across(entry.time - begin, width), "kind": _kind(entry)} for entry in entries]
    return {"begin": begin, "marks": marks}


def _kind(entry: AccessEntry) -> str:
    if entry.changed:
        return "change"
    return "failed" if entry.outcome in _FAILED else "access"
