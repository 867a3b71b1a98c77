"""`recrawl status`: how the engine and its copy are doing."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from recrawl.cli._engine import Data, Json, ago, span, with_data

if TYPE_CHECKING:
    from recrawl.engine.protocols import Index, Store
    from recrawl.engine.records import PageRecord

__all__ = ["register"]

_SAMPLE = 20_000  # pages that what-if answers are computed from
_LAW = ("name", "family", "mean", "scv", "samples")
_QUEUE = (
    ("loss", "loss (per page)"),
    ("obsolete", "obsolete in buffer (per page)"),
    ("starvation", "starvation (share of time)"),
    ("spare", "spare (share of time)"),
    ("response_time", "response time, s"),
    ("active_robots", "active robots"),
    ("mean_pages", "pages in buffer and indexer"),
    ("service_time", "service time, s"),
    ("cost", "cost per second"),
)


def register(root: typer.Typer) -> None:
    """Hang the command into the command line."""
    root.command(epilog="Example: recrawl status --data docs --json")(status)


def status(data: Data = Path("recrawl-data"), as_json: Json = False) -> None:
    """Pages, accesses, expected freshness, budget, robots, buffer, and what twice or half the budget would give."""
    document = with_data(data, _collect)
    if as_json:
        from recrawl.cli._output import print_json

        print_json(document)
    else:
        _print(document)


async def _collect(store: Store, index: Index) -> dict[str, Any]:
    import json

    from recrawl.engine.insight import Insight
    from recrawl.engine.records import State
    from recrawl.engine.status import process_alive

    kept = await store.load("status")
    engine = json.loads(kept) if kept is not None else None
    if engine is not None and engine["running"]:
        engine["running"] = process_alive(engine["process"])
    revisions, watermark = await store.last_revision(), await index.watermark()
    records: list[PageRecord] = []
    total = 0
    async for record in store.pages():
        if record.state is not State.KNOWN:
            continue
        total += 1
        if record.last_access is not None and len(records) < _SAMPLE:
            records.append(record)
    insight = await Insight.of(store)
    pages = insight.pages(records, time.time())
    weight = sum(page.weight for page in pages)
    fresh = sum(page.weight * (page.current_probability or 0.0) for page in pages)
    answers = insight.budgets(records, max(total, 1), (0.5, 1.0, 2.0))
    return {
        **await store.statistics(),
        "uncommitted": revisions - watermark,
        "expected_freshness": fresh / weight if weight > 0 else None,
        "budget_per_second": _known(insight.budget, engine, "planned_budget_per_second"),
        "price": _known(insight.price, engine, "price"),
        "what_if": [
            {"budget_per_second": answer.budget, "freshness_bound": answer.freshness} for answer in answers
        ],
        "engine": engine,
        "queue_model": await _queue_model(store),
    }


def _known(kept: float, engine: dict[str, Any] | None, name: str) -> float | None:
    """What the engine says of itself while it runs, else what it has kept."""
    told: float | None = engine.get(name) if engine is not None else None
    return told if told is not None else None if math.isnan(kept) else kept


async def _queue_model(store: Store) -> dict[str, Any] | None:
    """The index queue as the engine last fitted it, also when it no longer runs."""
    from recrawl.engine.fitted import KEPT_AS, FittedQueue
    from recrawl.engine.prospects import laws, thresholds
    from recrawl.errors import RecrawlError

    kept = await store.load(KEPT_AS)
    if kept is None:
        return None
    try:
        model = FittedQueue.from_bytes(kept)
        found = [{name: law[name] for name in _LAW} for law in laws(model)]
    except RecrawlError:  # another version's
        return None
    return {
        "time": model.time,
        "laws": found,
        "thresholds": thresholds(model.table),
        "doubts": list(model.doubts),
        "access_per_service": model.access_share,
    }


def _print(document: dict[str, Any]) -> None:
    from recrawl.cli._output import print_table, significant

    engine, budget = document["engine"], document["budget_per_second"]
    rows = [
        [
            "pages",
            ", ".join(f"{count:,} {state}" for state, count in document["pages"].items() if count) or "none",
        ],
        ["searchable", f"{document['searchable']:,}, {document['uncommitted']:,} revisions uncommitted"],
        [
            "accesses",
            ", ".join(f"{count:,} {name}" for name, count in document["accesses"].items()) or "none",
        ],
        ["changes seen", f"{document['changes']:,}"],
        ["expected freshness", _percent(document["expected_freshness"])],
        ["budget", "-" if budget is None else f"{significant(budget)}/s"],
        ["price of an access", significant(document["price"])],
    ]
    for answer in document["what_if"]:
        rate = significant(answer["budget_per_second"])
        rows.append([f"freshness bound at {rate}/s", _percent(answer["freshness_bound"])])
    print_table(["copy", ""], rows, left=2)
    if engine is None:
        return
    print_table(["engine", ""], _engine_rows(engine), left=2)
    head = f"index queue, {engine['queue_arrivals']:,} deliveries"
    print_table([head, "measured", "± (95 %)", "predicted"], _queue_rows(engine))
    if document["queue_model"] is not None:
        laws = _law_rows(document["queue_model"]["laws"])
        print_table(["fitted", "mean, s", "scv", "samples"], laws)
    for warning in engine["control"]["warnings"]:
        typer.echo(f"recrawl: {warning}", err=True)


def _engine_rows(engine: dict[str, Any]) -> list[list[str]]:
    robots, buffer, delay, lag = (
        engine["robots"], engine["buffer"], engine["index_delay_seconds"], engine["loop_lag_seconds"],
    )  # fmt: skip
    state = "running" if engine["running"] else f"stopped, {ago(engine['time'], time.time())}"
    rows = [
        ["state", f"{state}; ran {span(engine['running_seconds'])}"],
        ["accesses in this run", f"{engine['accesses']:,}, {engine['bytes_received']:,} bytes"],
        ["findings", ", ".join(f"{count:,} {name}" for name, count in engine["findings"].items()) or "none"],
        ["accesses per second", _pace(engine)],
        ["policy", engine["policy"]],
        ["robots", f"{robots['accessing']} accessing, {robots['active']} active, {robots['most']} at most"],
        ["buffer", f"{buffer['level']} of {buffer['capacity']}"],
        ["control", "; ".join(filter(None, (engine["control"]["control"], engine["control"]["decision"])))],
        ["index delay", f"p50 {span(delay['p50'])}, p99 {span(delay['p99'])}"],
        ["event-loop lag", f"p50 {span(lag['p50'])}, p99 {span(lag['p99'])}"],
    ]
    if engine["leases_ended"]:
        rows.append(["leases that ended", f"{engine['leases_ended']:,}"])
    return rows


def _pace(engine: dict[str, Any]) -> str:
    """How much of the budget is used, and what holds it back."""
    from recrawl.cli._output import significant

    rate = engine["accesses"] / max(engine["running_seconds"], 1e-9)
    budget = engine["budget_per_second"]
    text = significant(rate, 3) + (f" of a budget of {significant(budget, 3)}" if budget else ", no budget")
    sites = engine["sites_at_ceiling"]
    if not sites:
        return text
    return (
        f"{text}; {sites} {'site is' if sites == 1 else 'sites are'} at the polite rate (min_delay_seconds)"
    )


def _queue_rows(engine: dict[str, Any]) -> list[list[str]]:
    from recrawl.cli._output import significant

    predicted = engine["control"]["predicted"] or {}
    return [
        [
            label,
            significant(engine["queue"][name]["value"], 4),
            significant(engine["queue"][name]["half_width"], 2),
            significant(predicted.get(name), 4),
        ]
        for name, label in _QUEUE
        if name in engine["queue"] and (name != "cost" or engine["budget_per_second"] is None)
    ]


def _law_rows(laws: list[dict[str, Any]]) -> list[list[str]]:
    from recrawl.cli._output import significant

    return [
        [
            f"{law['name']} ({law['family']})",
            significant(law["mean"], 4),
            significant(law["scv"], 3),
            f"{law['samples']:,}",
        ]
        for law in laws
    ]


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.2f} %"
