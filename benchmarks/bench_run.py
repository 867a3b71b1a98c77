"""The whole way of a page (access, extract, store, index) against Scrapy that only accesses and finds links.

Both work on the same 2,000 pages of 26 KB from the same local server, in processes of their own, one after the other;
processor seconds are those of the client's process and its children, from the first access to the end; the server's are
not counted. Scrapy lives in an environment of its own:

    uv venv .bench && uv pip sync --python .bench/bin/python --require-hashes requirements/bench.txt

`RECRAWL_SCRAPY` names another Python that has it; without one, Scrapy's lines are left out. `RECRAWL_REPEATS` sets how
often each is measured (default 3), `RECRAWL_INDEXED` how many pages are indexed before searches are timed (20,000).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.local_web import make_pages, path_of, serve
from benchmarks.measure import Measure
from recrawl.cli._output import print_table

TITLE = "The engine, end to end"

PAGES = 2_000
REPEATS = int(os.environ.get("RECRAWL_REPEATS", "3"))
INDEXED = int(os.environ.get("RECRAWL_INDEXED", "20000"))
_HERE = Path(__file__).parent
_SCRAPY = os.environ.get("RECRAWL_SCRAPY", str(_HERE.parent / ".bench" / "bin" / "python"))


def run() -> list[Measure]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        size = make_pages(folder / "pages", PAGES)
        with serve(folder / "pages", folder) as (url, server):
            print(f"{PAGES:,} pages of {size:,} bytes from {server}; {os.cpu_count()} cores")
            return [*_against_scrapy(url, folder), _searching(url, folder)]


def _against_scrapy(url: str, folder: Path) -> list[Measure]:
    urls = folder / "urls.txt"
    urls.write_text("\n".join(f"{url.rstrip('/')}{path_of(number)}" for number in range(PAGES)))
    ours, theirs, access = [], [], []
    for repeat in range(REPEATS):  # in turn, so that a machine that is busy is so for all
        ours.append(_engine(url, folder / f"data{repeat}"))
        access.append(_engine_accesses(urls))
        if Path(_SCRAPY).exists():
            theirs.append(_document([_SCRAPY, "-P", str(_HERE / "peer_scrapy.py"), str(urls)]))
    _print_stages(ours, access)
    cost = [1e3 * run["seconds"] / PAGES for run in ours]
    value = f"{np.median(cost):.2f} CPU-ms per page ({min(cost):.2f} to {max(cost):.2f})"
    if not theirs:
        print(f"no Scrapy in {_SCRAPY}: see the head of benchmarks/bench_run.py")
        return [Measure("access, extract, store, index", value, "-", "-", "3 times Scrapy's pages per CPU-s")]
    scrapy = [1e3 * run["seconds"] / PAGES for run in theirs]
    assert all(run["pages"] == PAGES for run in (*ours, *theirs))
    ratio = float(np.median(scrapy) / np.median(cost))
    return [
        Measure(
            "access, extract, store, index",
            value,
            f"Scrapy, access and links: {np.median(scrapy):.2f} ({min(scrapy):.2f} to {max(scrapy):.2f})",
            f"{ratio:.2f}",
            "at least 3 times the pages per CPU-s",
            ratio >= 3.0,
        )
    ]


def _print_stages(ours: list[dict[str, Any]], accesses: list[float]) -> None:
    """Processor milliseconds per page by stage: medians."""

    def median(stage: str) -> float:
        return float(np.median([1e3 * run["stages"].get(stage, 0.0) / PAGES for run in ours]))

    access = float(np.median(accesses))
    rows = [
        ("access (measured alone)", access),
        ("decode and extract", median("extract")),
        ("store", median("store")),
        ("index", median("index")),
        ("plan", median("plan")),
        ("rest of the event loop", max(0.0, median("event loop") - access)),
    ]
    print_table(
        ["stage", "CPU-ms per page"], [[name, f"{cost:.2f}"] for name, cost in rows], title="By stage"
    )


def _engine(url: str, data: Path, indexed: int = 0) -> dict[str, Any]:
    return _document(
        [sys.executable, "-m", "benchmarks.run_engine", url, str(PAGES), str(data), str(indexed)]
    )


def _engine_accesses(urls: Path) -> float:
    """The accessor alone on the same pages: CPU-ms per page."""
    found = _document([sys.executable, "-m", "benchmarks.run_engine", "accesses", str(urls)])
    return 1e3 * float(found["seconds"]) / PAGES


def _document(command: list[str]) -> dict[str, Any]:
    answer = subprocess.run(command, capture_output=True, text=True, check=False, cwd=_HERE.parent)
    if answer.returncode:
        raise RuntimeError(f"{' '.join(command)}:\n{answer.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(answer.stdout)
    return found


def _searching(url: str, folder: Path) -> Measure:
    """Searches in the engine's own process and event loop while it indexes as fast as it can."""
    found = _engine(url, folder / "searched", INDEXED)
    times, waits = 1e3 * np.array(found["searches"]).T
    p50, p90, p99 = np.percentile(times, [50, 90, 99])
    p99_running = np.percentile(times - waits, 99)
    return Measure(
        f"search at {INDEXED:,} pages while {found['pages'] / found['wall']:,.0f} pages/s are indexed "
        f"({times.size} searches, {found['megabytes']:,.0f} MB)",
        f"p50 {p50:.1f}, p90 {p90:.1f}, p99 {p99:.1f} ms ({p99_running:.1f} without waits for a processor)",
        "20 ms",
        f"{p99 / 20.0:.2f}",
        "p99 under 20 ms",
        bool(p99 < 20.0),
    )
