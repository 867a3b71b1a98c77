"""The engine as `recrawl run` assembles it, until every page was indexed once; prints processor seconds by thread.

`python -m benchmarks.run_engine URL PAGES DATA`, in a process of its own.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import sys
import threading
import time
from pathlib import Path
from typing import Any

from recrawl.assemble import engine_of
from recrawl.settings import Settings

STAGES = {
    "MainThread": "event loop",
    "parse": "extract",
    "recrawl-store-ask": "store",
    "recrawl-store-read": "store",
    "recrawl-store": "store",
    "recrawl-index": "index",
    "thrd-tantivy": "index",
    "merge_thread": "index",
    "segment_updat": "index",
    "docstore-compr": "index",
    "recrawl-search": "index",
    "asyncio": "plan",
}


def processor_seconds() -> float:
    """Of this process and those it has started."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


def seconds_by_thread() -> dict[str, float]:
    """Processor seconds of each thread that lives, by the stage it works for (Linux)."""
    names = {thread.native_id: thread.name for thread in threading.enumerate()}
    found: dict[str, float] = {}
    for task in Path("/proc/self/task").iterdir():
        try:
            name = names.get(int(task.name)) or (task / "comm").read_text().strip()
            spent = int((task / "schedstat").read_text().split()[0]) * 1e-9
        except OSError:
            continue
        stage = next((stage for start, stage in STAGES.items() if name.startswith(start)), name)
        found[stage] = found.get(stage, 0.0) + spent
    return found


def settings_for(url: str, data: str, **more: Any) -> Settings:
    """Politeness off, everything else as it is."""
    return Settings(
        seeds=(url,),
        data=data,
        min_delay_seconds=0.0,
        max_concurrency=16,
        robots=16,
        sitemaps=False,
        shortest_interval_seconds=3600.0,
        **more,
    )


async def until(condition: Any) -> None:
    while not condition():
        await asyncio.sleep(0.002)


async def main(url: str, pages: int, data: str) -> dict[str, Any]:
    stopping = asyncio.Event()
    async with engine_of(settings_for(url, data)) as engine:
        work = asyncio.create_task(engine.run(stopping))
        await until(lambda: engine.running or work.done())
        begun, wall, before = processor_seconds(), time.perf_counter(), seconds_by_thread()
        await until(lambda: engine.measures.findings["added"] >= pages or work.done())
        stopping.set()
        await work  # until everything is in the index
        after, seconds = seconds_by_thread(), processor_seconds() - begun
        took = time.perf_counter() - wall
        document = engine.measures.document()
        watermark = await engine.world.index.watermark()
    stages = {stage: spent - before.get(stage, 0.0) for stage, spent in after.items()}
    return {
        "pages": document["findings"]["added"],
        "accesses": document["accesses"],
        "searchable": watermark,
        "seconds": seconds,
        "wall": took,
        "start": begun,
        "stages": stages,
        "lag": document["loop_lag_seconds"]["p99"],
    }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(sys.argv[1], int(sys.argv[2]), sys.argv[3]))))
    sys.stdout.flush()
    os._exit(0)
