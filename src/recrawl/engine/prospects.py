"""What the fitted index queue says, ready to be shown: pure functions from models and status documents to JSON."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from recrawl.engine.automatic import best_fixed, propose, worth
from recrawl.engine.status import finite
from recrawl.engine.wording import significant
from recrawl.errors import InvalidModel, RecrawlError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from recrawl.control import Measures
    from recrawl.engine.fitted import FittedQueue, Histogram
    from recrawl.laws import PhaseType

__all__ = ["comparison", "fleet", "laws", "occupancy", "prospects", "thresholds", "what_if"]

_ROWS = 257  # levels shown one by one
_POINTS = 80  # of a drawn density
_CURVE = 24  # numbers of robots on a curve
_SHORT_CURVE, _LARGE = 10, 128  # on that of a buffer for more pages than this
_MODELS = 4  # fitted queues whose answers are kept: the present one, and some that commands ask for
_MEASURED = {
    "loss": ("loss (per page)", "share"),
    "obsolete": ("obsolete in buffer (per page)", "share"),
    "starvation": ("starvation (share of time)", "share"),
    "spare": ("spare (share of time)", "share"),
    "response_time": ("response time", "seconds"),
    "service_time": ("service time", "seconds"),
    "active_robots": ("active robots", "robots"),
    "mean_pages": ("pages in buffer and indexer", "pages"),
    "arrival_rate": ("deliveries", "per second"),
    "cost": ("cost", "per second"),
}


def thresholds(table: Sequence[int]) -> list[dict[str, int]]:
    """Numbers of active robots with the levels they are for.

    >>> thresholds((3, 3, 1))
    [{'robots': 3, 'low': 0, 'high': 1}, {'robots': 1, 'low': 2, 'high': 2}]
    """
    found: list[dict[str, int]] = []
    for level, robots in enumerate(table):
        if found and found[-1]["robots"] == robots:
            found[-1]["high"] = level
        else:
            found.append({"robots": robots, "low": level, "high": level})
    return found


def occupancy(
    measured: Sequence[Mapping[str, Any]] | None,
    model: FittedQueue | None,
    table: Sequence[int] | None = None,
) -> list[dict[str, Any]]:
    """Share of time at each level, as measured and as the fitted queue predicts it under a table of robots."""
    seen = {row["level"]: row for row in measured or ()}
    predicted: Sequence[float] = ()
    if model is not None:
        predicted = _predicted(model, None if table is None else tuple(table))
    top = max([len(predicted) - 1, *seen])
    width = max(1, math.ceil((top + 1) / _ROWS))
    found = []
    for low in range(0, top + 1, width):
        levels = range(low, min(low + width, top + 1))
        rows = [seen[level] for level in levels if level in seen]
        by_robots: dict[str, float] = {}
        for row in rows:
            for robots, share in row["by_robots"].items():
                by_robots[robots] = by_robots.get(robots, 0.0) + share
        found.append(
            {
                "level": low,
                "high": levels[-1],
                "measured": math.fsum(row["share"] for row in rows) if seen else None,
                "half_width": rows[0]["half_width"] if len(rows) == 1 and width == 1 else None,
                "by_robots": by_robots,
                "predicted": math.fsum(predicted[low : levels[-1] + 1]) if predicted else None,
            }
        )
    return finite(found)  # type: ignore[no-any-return]


@lru_cache(8 * _MODELS)
def _predicted(model: FittedQueue, table: tuple[int, ...] | None) -> tuple[float, ...]:
    return tuple(model.predict(table).level_probability)


def laws(model: FittedQueue) -> list[dict[str, Any]]:
    """The fitted laws with their densities, beside histograms of what was measured."""
    parts = (
        ("accesses of one robot", model.access, model.accesses, model.access_histogram),
        ("service times", model.service, model.services, model.service_histogram),
    )
    return [_law(*part) for part in parts]


def _law(name: str, law: PhaseType, samples: int, histogram: Histogram) -> dict[str, Any]:
    bins = zip(histogram.edges, histogram.edges[1:], histogram.counts, strict=False)
    return {
        "name": name,
        "family": "exponential" if law.order == 1 else f"phase-type, {law.order} phases",
        "mean": law.mean,
        "scv": law.scv,
        "samples": samples,
        "detail": f"mean {significant(law.mean, 4)} s, scv {significant(law.scv)}, from {samples:,}",
        "density": _density(law, histogram.edges),
        "histogram": [
            {"low": low, "high": high, "density": count / (samples * (high - low))}
            for low, high, count in bins
            if high > low
        ],
    }


def _density(law: PhaseType, edges: Sequence[float]) -> list[list[float]]:
    """f(x) = α e^{Sx} s at evenly spaced points, by powers of e^{S step}."""
    from scipy.linalg import expm

    if not edges:
        return []
    step = edges[-1] / _POINTS
    leap = expm(law.S * step)
    found, here = [], law.alpha
    for place in range(_POINTS + 1):
        found.append([place * step, float(here @ law.exits)])
        here = here @ leap
    return found


def _numbers_up_to(most: int, points: int) -> list[int]:
    """All numbers, or about so many of them, evenly in their logarithm.

    >>> _numbers_up_to(3, 5), _numbers_up_to(100, 5)
    ([1, 2, 3], [1, 3, 10, 32, 100])
    """
    if most <= points:
        return list(range(1, most + 1))
    return sorted({round(most ** (place / (points - 1))) for place in range(points)})


def fleet(model: FittedQueue, most: int | None = None) -> dict[str, Any]:
    """Cost against the number of robots: always the same number, or the best thresholds with at most so many."""
    model = _with_robots(model, most)
    capacity = model.conditions.capacity
    rows = []
    for number in _numbers_up_to(model.conditions.robots, _CURVE if capacity <= _LARGE else _SHORT_CURVE):
        found = model.predict((number,) * (capacity + 1))
        rows.append({"robots": number, **_measures(found)})
    least = min(rows, key=lambda row: row["cost"])
    proposal = propose(replace(model, doubts=()))
    curve = [(number, cost) for number, cost in proposal.curve if math.isfinite(cost)]
    enough = worth(curve) if curve else int(least["robots"])
    document = {
        "fixed": rows,
        "at_most": [{"robots": number, "cost": cost} for number, cost in curve],
        "best_fixed_robots": least["robots"],
        "talim_robots": best_fixed(model),
        "worth_robots": enough,
        "in_words": f"{enough} of at most {model.conditions.robots} robots are worth having; if their number never "
        f"changed, {least['robots']} would cost least",
    }
    return finite(document)  # type: ignore[no-any-return]


def _with_robots(model: FittedQueue, most: int | None) -> FittedQueue:
    if most is None:
        return model
    if most < 1:
        raise InvalidModel(f"robots must be at least 1, not {most}")
    return replace(model, conditions=replace(model.conditions, robots=most))


def _measures(found: Measures) -> dict[str, float]:
    names = (
        "loss", "obsolete", "starvation", "response_time", "active_robots", "mean_pages", "arrival_rate", "throughput",
        "cost",
    )  # fmt: skip
    return {name: getattr(found, name) for name in names}


def comparison(status: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Measured and predicted, side by side, from the engine's status."""
    predicted = status["control"]["predicted"] or {}
    return [
        {
            "name": name,
            "label": label,
            "unit": unit,
            "measured": status["queue"][name]["value"],
            "half_width": status["queue"][name]["half_width"],
            "predicted": predicted.get(name),
        }
        for name, (label, unit) in _MEASURED.items()
        if name in status["queue"]
    ]


def what_if(
    model: FittedQueue,
    *,
    service_factor: float = 1.0,
    access_factor: float = 1.0,
    capacity: int | None = None,
    robots: int | None = None,
    obsolete_factor: float = 1.0,
) -> dict[str, Any]:
    """The fitted queue in another world: indexing or accesses that take longer, another buffer, more robots.

    Prices per second stay as they are. `now` is the present world and table, `same` the other world under the same
    table (its last number of robots goes on where the buffer grows), `best` the other world with thresholds found anew.
    """
    for name, factor in (
        ("service_factor", service_factor),
        ("access_factor", access_factor),
        ("obsolete_factor", obsolete_factor),
    ):
        if not 0 < factor < math.inf:
            raise InvalidModel(f"{name} must be above 0, not {factor}")
    other = _elsewhere(model, service_factor, access_factor, capacity, robots, obsolete_factor)
    proposal = propose(other)
    document: dict[str, Any] = {
        "service_factor": service_factor,
        "access_factor": access_factor,
        "capacity": other.conditions.capacity,
        "robots": other.conditions.robots,
        "obsolete_after": other.conditions.obsolete_after,
        "now": _under(model, model.table),
        "same": _under(other, other.table),
        "best": None,
        "best_fixed": None,
    }
    if proposal.policy is not None:
        document["best"] = _under(other, proposal.policy.robots(other.conditions.capacity))
        document["best_fixed"] = {"robots": proposal.fixed, "cost": proposal.fixed_cost}
    document["in_words"] = _told(document, proposal.reason)
    return finite(document)  # type: ignore[no-any-return]


def _elsewhere(
    model: FittedQueue,
    service_factor: float,
    access_factor: float,
    capacity: int | None,
    robots: int | None,
    obsolete_factor: float,
) -> FittedQueue:
    conditions = model.conditions
    room = conditions.capacity if capacity is None else capacity
    prices = conditions.costs
    costs = replace(  # per service: the same per second
        prices,
        response_per_service=prices.response_per_service * service_factor,
        robot_per_service=prices.robot_per_service * service_factor,
        starvation_per_service=prices.starvation_per_service * service_factor,
    )
    changed = replace(
        conditions, capacity=room, obsolete_after=conditions.obsolete_after * obsolete_factor, costs=costs
    )
    return replace(
        _with_robots(replace(model, conditions=changed), robots),
        access_moves=_scaled(model.access_moves, 1.0 / access_factor),
        service_moves=_scaled(model.service_moves, 1.0 / service_factor),
        table=(*model.table, *(model.table[-1:] * room))[: room + 1],
        doubts=(),
    )


def _scaled(matrix: tuple[tuple[float, ...], ...], factor: float) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(factor * value for value in row) for row in matrix)


def _under(model: FittedQueue, table: Sequence[int]) -> dict[str, Any]:
    return {
        "table": list(table) if len(table) <= _ROWS else None,
        "thresholds": thresholds(table),
        "measures": _measures(model.predict(table)),
    }


def _told(document: Mapping[str, Any], reason: str) -> str:
    now, same = document["now"]["measures"], document["same"]["measures"]

    def part(of: Mapping[str, Any], name: str) -> str:
        return f"{significant(100 * of[name], 2)} %"

    text = (
        f"With the present thresholds the indexer would starve {part(same, 'starvation')} of the time "
        f"(now {part(now, 'starvation')}), {part(same, 'loss')} of the pages would be lost (now {part(now, 'loss')})"
    )
    if document["best"] is None:
        return f"{text}. No better ones were found: {reason}."
    best = document["best"]["measures"]
    gain = 1.0 - best["cost"] / same["cost"] if same["cost"] > 0 else 0.0
    return f"{text}; the best ones for that would cost {significant(100 * gain, 2)} % less."


@lru_cache(_MODELS)
def _fixed_part(model: FittedQueue) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """What follows from the fitted queue alone: found once for each."""
    return laws(model), fleet(model)


@lru_cache(16 * _MODELS)
def _what_if(model: FittedQueue, service_factor: float) -> dict[str, Any]:
    return what_if(model, service_factor=service_factor)


def prospects(
    model: FittedQueue | None, status: Mapping[str, Any] | None, service_factor: float = 1.0
) -> dict[str, Any]:
    """Everything at once; what cannot be said is None, and `reason` says why."""
    control = (status or {}).get("control") or {}
    table = control.get("table") or (model.table if model is not None else None)
    found: dict[str, Any] = {
        "thresholds": thresholds(table) if table else [],
        "comparison": comparison(status) if status else [],
        "occupancy": [],
        "laws": [],
        "fleet": None,
        "what_if": None,
        "reason": control.get("reason") or "",
    }
    measured = (status or {}).get("occupancy") or []
    if model is None:
        found["reason"] = found["reason"] or "too few pages were delivered one by one to fit the queue"
        found["occupancy"] = occupancy(measured, None) if measured else []
        return found
    usable = table if table and len(table) == model.conditions.capacity + 1 else None
    try:
        found["occupancy"] = occupancy(measured, model, usable)
        found["laws"], found["fleet"] = _fixed_part(model)
        found["what_if"] = _what_if(model, service_factor)
    except RecrawlError as error:
        found["reason"] = str(error)
    return finite(found)  # type: ignore[no-any-return]
