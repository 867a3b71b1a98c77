"""The engine at a glance, from its own state document; and what is wrong, in words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from recrawl.web.documents import Alarm, BufferView, Measured, Overview
from recrawl.web.page_view import span

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Facts", "alarms", "buffer_view", "measured", "overview", "share"]

Facts = dict[str, Any]

# Name, label, unit of each measure of the index queue.
_QUEUE = (
    ("loss", "Loss, per page", "share"),
    ("obsolete", "Obsolete in buffer, per page", "share"),
    ("starvation", "Starvation, share of time", "share"),
    ("spare", "Spare, share of time", "share"),
    ("response_time", "Response time", "seconds"),
    ("service_time", "Service time", "seconds"),
    ("active_robots", "Active robots", "robots"),
    ("mean_pages", "Pages in buffer and indexer", "pages"),
    ("arrival_rate", "Pages delivered", "per second"),
)
_FAR_BEHIND = 60.0  # seconds until a change is searchable
_MUCH = 0.05  # of the pages lost
_OFTEN = 0.5  # of the time starving
_STALE = 0.3  # obsolescence that even the best schedule cannot avoid
_LITTLE_DISK = 1_000_000_000  # bytes
_LITTLE_SHARE = 0.05


def share(value: float | None) -> float | None:
    """A probability, or None where it is not known."""
    return None if value is None or not math.isfinite(value) else min(max(float(value), 0.0), 1.0)


def _amount(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else max(float(value), 0.0)


def measured(status: Mapping[str, Any] | None) -> list[Measured]:
    """Measures of the index queue beside what was predicted."""
    if status is None:
        return []
    predicted = status["control"]["predicted"] or {}
    return [
        Measured(
            name=name,  # type: ignore[arg-type]
            label=label,
            unit=unit,  # type: ignore[arg-type]
            measured=status["queue"][name]["value"],
            half_width=status["queue"][name]["half_width"],
            predicted=predicted.get(name),
        )
        for name, label, unit in _QUEUE
        if name in status["queue"]
    ]


def buffer_view(status: Mapping[str, Any] | None) -> BufferView:
    """The buffer with the levels at which robots are switched."""
    if status is None:
        return BufferView(level=0, capacity=0)
    table = status["control"].get("table")
    levels: list[int] = []
    if table is not None and status["control"]["control"] in ("thresholds", "auto"):
        levels = [place for place in range(len(table) - 1) if table[place + 1] < table[place]]
    return BufferView(
        level=status["buffer"]["level"], capacity=status["buffer"]["capacity"], table=table, thresholds=levels
    )


def overview(
    now: float,
    statistics: Mapping[str, Any],
    status: Mapping[str, Any] | None,
    latest: Mapping[str, float],
    facts: Facts,
) -> Overview:
    """`latest` is the newest sample of the history; `facts` is what else is known, by name of the field."""
    accesses = sum(statistics["accesses"].values())
    news = accesses - sum(statistics["accesses"].get(name, 0) for name in ("failed", "busy", "refused"))
    running = status is not None and status["running"]
    engine: Mapping[str, Any] = status or {}
    robots = engine.get("robots", {"active": 0, "accessing": 0, "most": 0})
    budget, rate = (
        engine.get("budget_per_second"),
        _amount(latest.get("accesses_per_second")) if running else None,
    )
    return Overview(
        time=now,
        running=running,
        running_seconds=_amount(engine.get("running_seconds")),
        obsolescence_bound=share(latest.get("obsolescence_bound")),
        policy=engine.get("policy", "optimal"),
        budget_per_second=budget,
        planned_budget_per_second=_amount(engine.get("planned_budget_per_second")),
        accesses_per_second=rate,
        budget_used=rate / budget if rate is not None and budget else None,
        price=_amount(engine.get("price")),
        pages=statistics["pages"],
        searchable=max(statistics["searchable"], 0),
        scheduled=engine.get("scheduled_pages"),
        accesses=accesses,
        outcomes=statistics["accesses"],
        accesses_this_run=engine.get("accesses", 0),
        changes=statistics["changes"],
        change_share=share(statistics["changes"] / news) if news else None,
        revision=statistics["revisions"],
        index_delay_seconds=_amount(engine.get("index_delay_seconds", {}).get("p99")),
        loop_lag_seconds=_amount(engine.get("loop_lag_seconds", {}).get("p99")),
        bytes_received=engine.get("bytes_received", 0),
        store_bytes=statistics["bytes"],
        robots_active=robots["active"],
        robots_accessing=robots["accessing"],
        robots_most=robots["most"],
        buffer=buffer_view(status),
        control=engine.get("control", {}).get("control", "guarded"),
        queue=measured(status),
        **facts,
    )


def alarms(
    now: float,
    status: Mapping[str, Any] | None,
    latest: Mapping[str, float],
    *,
    uncommitted: int,
    disk: tuple[int, int] | None,
    paused: Sequence[str],
) -> list[Alarm]:
    """Everything that is wrong, the worst first. `disk` is free and total bytes."""
    found: list[Alarm] = []
    if status is None:
        found.append(
            _alarm("not_running", "No engine has run on this data yet.", "Start one with `recrawl run`.")
        )
    elif not status["running"]:
        text = f"The engine stopped {span(max(now - status['time'], 0.0))} ago: the copy grows old."
        found.append(_alarm("not_running", text, "Start it with `recrawl run`."))
    if disk is not None and (disk[0] < _LITTLE_DISK or disk[0] < _LITTLE_SHARE * disk[1]):
        text = f"The disk is nearly full: {disk[0] / 1e9:.2g} GB of {disk[1] / 1e9:.3g} GB are free."
        found.append(
            _alarm("disk_nearly_full", text, "Free some space: a full disk stops the engine.", worst=True)
        )
    if status is not None and status["running"]:
        found += _running_alarms(status, latest, uncommitted, paused)
    return sorted(found, key=lambda alarm: alarm.severity != "critical")


def _running_alarms(
    status: Mapping[str, Any], latest: Mapping[str, float], uncommitted: int, paused: Sequence[str]
) -> list[Alarm]:
    found = [
        _alarm(
            "site_unreachable",
            f"{site} does not answer; it is tried again in {span(seconds)}.",
            "Its pages keep their last copy meanwhile.",
            site=site,
        )
        for site, seconds in list((status.get("unreachable_sites") or {}).items())[:10]
        if site not in paused
    ]
    loss, idle = latest.get("loss", math.nan), latest.get("starvation", math.nan)
    if loss > _MUCH:
        text = f"{100 * loss:.0f} % of the pages that robots bring are refused by a full buffer."
        found.append(_alarm("losing", text, "Use fewer robots, or `control = auto`."))
    if idle > _OFTEN and status["budget_per_second"] is None:
        text = f"The indexer starves {100 * idle:.0f} % of the time while robots run."
        found.append(_alarm("starving", text, "More robots, or more sites, would keep it busy."))
    bound = latest.get("obsolescence_bound", math.nan)
    if bound > _STALE and status["budget_per_second"] is not None:
        text = f"At this budget even the best schedule leaves {100 * bound:.0f} % of the copy out of date."
        found.append(_alarm("budget_too_small", text, "The plan shows what a larger budget gives."))
    delay = status.get("index_delay_seconds", {}).get("p99")
    if delay is not None and delay > _FAR_BEHIND and uncommitted > 0:
        text = f"The index is behind: changes are searchable after {span(delay)}; {uncommitted:,} wait."
        found.append(_alarm("index_behind", text, "It catches up by itself when accesses leave it time."))
    if (
        status["running_seconds"] > 60
        and status["scheduled_pages"]
        and latest.get("accesses_per_second", 1.0) == 0.0
    ):
        text = "No page has been accessed lately."
        found.append(_alarm("nothing_accessed", text, "Sites may be paused, closed or out of reach."))
    found += [_alarm("control", warning) for warning in status["control"]["warnings"]]
    return found


def _alarm(kind: str, text: str, advice: str = "", *, site: str | None = None, worst: bool = False) -> Alarm:
    severity = "critical" if worst else "warning"
    return Alarm(kind=kind, severity=severity, text=text, advice=advice, site=site)  # type: ignore[arg-type]
