"""The index queue of the running engine against its model, in real time: `python -m benchmarks.queue`.

The demonstration web in a process of its own, over loopback; the engine with an indexer slowed down on purpose, no
budget. `auto` fits deliveries and service times, sizes the fleet, finds thresholds and applies them; measured loss,
starvation and cost stand beside what the model predicted, made from what was fitted in the same run. Then every
fixed number of robots is measured, and a run with accesses as long as services. Parameters and why: docs/queue.md.
"""

# ruff: noqa: A005

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recrawl.assemble import engine_of
from recrawl.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recrawl.engine.engine import Engine

SERVICE = 0.12  # seconds; the engine's own work comes on top
ACCESS = 0.014  # the same
OBSOLETE_AFTER = 0.12
CAPACITY = 2
ROBOTS = 4
PRICES = {"cost_loss_per_page": 0.02, "cost_obsolete_per_page": 0.02}
_SHOWN = ("loss", "obsolete", "starvation", "response_time", "active_robots", "cost")


@dataclass(frozen=True)
class Run:
    """One run of the engine."""

    name: str
    deliveries: int
    longest: float  # seconds, whatever was reached
    access: float = ACCESS
    settings: tuple[tuple[str, Any], ...] = ()


@contextmanager
def demo_web(access: float) -> Iterator[str]:
    """The demonstration web in a process of its own; the address of its front page."""
    command = [
        sys.executable, "-m", "recrawl.demo", "--sites", "1", "--pages-per-site", "200", "--page-bytes", "1000",
        "--mean-rate-per-second", "1e-6", "--port", "0", "--delay-law", f"exponential:{access}",
    ]  # fmt: skip
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait()


async def measure(run: Run) -> dict[str, Any]:
    """What one run gave."""
    with demo_web(run.access) as seed, tempfile.TemporaryDirectory() as data:
        values: dict[str, Any] = {
            "seeds": (seed,), "data": data, "min_delay_seconds": 0.0, "max_concurrency": 64, "robots": ROBOTS,
            "capacity": CAPACITY, "obsolete_after_seconds": OBSOLETE_AFTER, "fewest_robots": 1,
            "service_delay": f"exponential:{SERVICE}", "weights": "equal", "replan_seconds": 60.0, **PRICES,
            **dict(run.settings),
        }  # fmt: skip
        async with engine_of(Settings(**values)) as engine:
            stopping = asyncio.Event()
            task = asyncio.ensure_future(engine.run(stopping))
            try:
                forecast = await _reach(engine, task, run)
                document = report(run, engine, forecast)
            finally:
                stopping.set()
                await task
            return document


async def _reach(engine: Engine, task: asyncio.Future[None], run: Run) -> dict[str, Any] | None:
    """Wait for the deliveries, counted from the last change of control; the first prediction for it."""
    forecast, decided = None, ""
    deadline = time.monotonic() + run.longest
    settled = engine.tuning.control != "auto"
    while time.monotonic() < deadline:
        await asyncio.sleep(0.25)
        if task.done():
            task.result()
        tuning = engine.tuning
        if tuning.predicted is not None and tuning.decision != decided:
            decided, forecast = tuning.decision, tuning.document()["predicted"]
            settled = True
        if settled and tuning.predicted is not None and engine.measures.total().arrived >= run.deliveries:
            break
    return forecast


def report(run: Run, engine: Engine, forecast: dict[str, Any] | None) -> dict[str, Any]:
    """Measured beside predicted."""
    status = engine.status(True)
    control, fitted = status["control"], engine.tuning.fitted
    rows = {
        name: {
            "measured": status["queue"][name]["value"],
            "half_width": status["queue"][name]["half_width"],
            "predicted": (control["predicted"] or {}).get(name),
            "robots_stop_at_once": (control["predicted_at_once"] or {}).get(name),
            "first_forecast": (forecast or {}).get(name),
        }
        for name in _SHOWN
    }
    return {
        "run": run.name,
        "deliveries": status["queue_arrivals"],
        "seconds": engine.measures.total().seconds,
        "decision": control["decision"],
        "decisions": [entry["text"] for entry in control["history"]],
        "warnings": control["warnings"],
        "best_fixed_robots_by_model": control["best_fixed_robots"],
        "best_fixed_cost_by_model": control["best_fixed_cost"],
        "service_seconds": status["queue"]["service_time"],
        "access_seconds": status["access_seconds"]["mean"],
        "robot_cycle_per_service": fitted.access_share if fitted else None,
        "loop_lag_seconds": status["loop_lag_seconds"],
        "queue": rows,
        "occupancy": status["occupancy"],
        "predicted_occupancy": list(engine.tuning.predicted.level_probability)
        if engine.tuning.predicted
        else None,
    }


_HEAD = (
    "run",
    "deliveries",
    "cycle / service",
    "measure",
    "measured",
    "predicted",
    "difference",
    "at once",
    "lag, ms",
)


def table(documents: list[dict[str, Any]]) -> str:
    """Markdown."""
    lines = [f"| {' | '.join(_HEAD)} |", f"|{'---|' * len(_HEAD)}"]
    for document in documents:
        for name in ("loss", "obsolete", "starvation", "response_time", "cost"):
            row = document["queue"][name]
            predicted = row["predicted"]
            cells = (
                document["run"],
                f"{document['deliveries']:,}",
                _number(document["robot_cycle_per_service"], 2),
                name,
                f"{_number(row['measured'])} ± {_number(row['half_width'], 2)}",
                _number(predicted),
                f"{100 * (row['measured'] / predicted - 1):+.1f} %" if predicted else "-",
                _number(row["robots_stop_at_once"]),
                f"{1000 * (document['loop_lag_seconds']['p99'] or 0):.1f}",
            )
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _number(value: float | None, digits: int = 4) -> str:
    return "-" if value is None else f"{value:.{digits}g}"


def runs(deliveries: int, fixed: int, robots: int) -> list[Run]:
    """The experiment."""
    return [
        Run("auto", deliveries, 900.0, settings=(("control", "auto"), ("robots", robots))),
        *(
            Run(f"{number} robots", fixed, 150.0, settings=(("control", "fixed"), ("robots", number)))
            for number in range(1, robots + 1)
        ),
        Run(
            "3 then 1, access = service",
            fixed // 2,
            100.0,
            SERVICE,
            (("control", "thresholds"), ("modes", (3, 1)), ("thresholds", (1,))),
        ),
        Run("auto, 0 allowed", fixed // 8, 100.0, settings=(("control", "auto"), ("fewest_robots", 0))),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--deliveries", type=int, default=20_500, help="of the run with thresholds")
    parser.add_argument("--fixed-deliveries", type=int, default=5_000, help="of each run with a fixed number")
    parser.add_argument("--robots", type=int, default=ROBOTS, help="most robots")
    parser.add_argument("--only", default="", help="names of runs, with semicolons between")
    parser.add_argument("--json", type=Path, help="write everything to this file")
    chosen = parser.parse_args()
    wanted = [name for name in chosen.only.split(";") if name]
    documents = []
    for run in runs(chosen.deliveries, chosen.fixed_deliveries, chosen.robots):
        if wanted and run.name not in wanted:
            continue
        documents.append(asyncio.run(measure(run)))
        print(
            json.dumps({key: documents[-1][key] for key in ("run", "deliveries", "seconds", "decision")}),
            flush=True,
        )
        if chosen.json:
            chosen.json.write_text(json.dumps(documents, indent=1), encoding="utf-8")
    print(table(documents))


if __name__ == "__main__":
    main()
