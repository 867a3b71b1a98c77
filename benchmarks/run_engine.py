"""The engine as `recrawl run` assembles it, in a process of its own; prints one JSON document.

`python -m benchmarks.run_engine URL PAGES DATA`: until every page was indexed once; processor seconds by thread.
`python -m benchmarks.run_engine URL PAGES DATA 20000`: the same beside so many pages indexed before, with searches at a
steady rate meanwhile; their times.
`python -m benchmarks.run_engine accesses FILE`: the accessor alone on the URLs of a file.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import random
import resource
import sys
import threading
import time
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.local_web import words
from recrawl.assemble import engine_of
from recrawl.backends import open_index, open_store
from recrawl.backends.memory import SystemClock
from recrawl.engine.guard import Guard
from recrawl.engine.http_access import HttpAccessor
from recrawl.engine.options import AccessOptions
from recrawl.engine.records import Access, Content, Finding, NewPage, Outcome, PageRecord, State
from recrawl.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from recrawl.engine.engine import Engine

STAGES = {  # how the names of threads begin
    "MainThread": "event loop",
    "parse": "extract",
    "recrawl-store": "store",
    "recrawl-index": "index",
    "thrd-tantivy": "index",
    "thread-tantivy": "index",
    "merge_thread": "index",
    "segment_updat": "index",
    "docstore": "index",
    "recrawl-search": "search",
    "asyncio": "plan",
}
SEARCHES_PER_SECOND = 50.0


def processor_seconds() -> float:
    """Of this process and those it has started."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


def seconds_by_stage() -> dict[str, float]:
    """Processor seconds of the threads that live, by the stage they work for (Linux)."""
    names = {thread.native_id: thread.name for thread in threading.enumerate()}
    found: dict[str, float] = {}
    for task in Path("/proc/self/task").iterdir():
        try:
            name = names.get(int(task.name)) or (task / "comm").read_text().strip()
            spent = int((task / "schedstat").read_text().split()[0]) * 1e-9
        except OSError:  # it has ended
            continue
        stage = next((stage for start, stage in STAGES.items() if name.startswith(start)), "others")
        found[stage] = found.get(stage, 0.0) + spent
    return found


def settings_for(url: str, data: str) -> Settings:
    """Politeness off, and no page again at once; everything else as it is."""
    return Settings(
        seeds=(url,),
        data=data,
        min_delay_seconds=0.0,
        max_concurrency=16,
        robots=16,
        sitemaps=False,
        shortest_interval_seconds=4.0,
    )


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.005)


async def run(url: str, pages: int, data: str, indexed: int) -> dict[str, Any]:
    if indexed:
        await fill(Path(data), url, indexed)
    stopping, texts = asyncio.Event(), Texts()
    async with engine_of(settings_for(url, data)) as engine:
        work = asyncio.create_task(engine.run(stopping))
        await until(lambda: engine.running or work.done())
        begun, wall, before = processor_seconds(), time.perf_counter(), seconds_by_stage()
        searching = asyncio.create_task(search(engine, texts, stopping)) if indexed else None
        await until(lambda: engine.measures.findings["added"] >= pages or work.done())
        stopping.set()
        await work  # until everything is in the index
        after, seconds = seconds_by_stage(), processor_seconds() - begun
        stages = {stage: spent - before.get(stage, 0.0) for stage, spent in after.items()}
        # A commit ends the threads of tantivy and starts new ones: what no living thread has spent was theirs.
        stages["index"] += max(0.0, seconds - sum(stages.values()))
        document = engine.measures.document()
        return {
            "pages": document["findings"]["added"],
            "accesses": document["accesses"],
            "indexed": await engine.world.index.watermark(),
            "seconds": seconds,
            "wall": time.perf_counter() - wall,
            "start": begun,
            "stages": stages,
            "lag_p99": document["loop_lag_seconds"]["p99"],
            "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            "searches": await searching if searching is not None else [],
        }


async def access_all(urls: list[str]) -> dict[str, Any]:
    """Access pages by as many robots, and do nothing with them."""
    settings = settings_for(urls[0], "")
    accessor = HttpAccessor(AccessOptions(), clock=SystemClock(), guard=Guard.of(settings.seeds))
    pages = [PageRecord(url, "", State.KNOWN, 0, 0.0) for url in urls]
    await accessor.access(pages[0])
    begun, left = processor_seconds(), iter(pages)

    async def robot() -> None:
        for page in left:
            access = await accessor.access(page)
            assert access.outcome is Outcome.CONTENT, access

    await asyncio.gather(*(robot() for _ in range(settings.robots)))
    seconds = processor_seconds() - begun
    await accessor.close()
    return {"seconds": seconds}


class Texts:
    """Texts and queries of words that are as frequent as in a language."""

    def __init__(self) -> None:
        self._words, self._random = words(), random.Random(3)
        self._frequency = list(accumulate(1.0 / (place + 2.7) for place in range(len(self._words))))

    def some(self, number: int) -> str:
        return " ".join(self._random.choices(self._words, cum_weights=self._frequency, k=number))


def waited() -> float:
    """Seconds that this thread was ready to run and other processes had the processors (Linux)."""
    path = Path(f"/proc/self/task/{threading.get_native_id()}/schedstat")
    return int(path.read_text().split()[1]) * 1e-9


async def search(engine: Engine, texts: Texts, stopping: asyncio.Event) -> list[tuple[float, float]]:
    """Search as a web server in this event loop does, at a steady rate.

    How long each took, and for how long of that the event loop waited for a processor.
    """
    times, number = list[tuple[float, float]](), 0
    due = time.perf_counter()
    while not stopping.is_set():
        due += 1.0 / SEARCHES_PER_SECOND
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        idle, begun = waited(), time.perf_counter()
        number += 1
        await engine.world.index.search(texts.some(1 + number % 3))
        times.append((time.perf_counter() - begun, waited() - idle))
    return times


async def fill(data: Path, url: str, pages: int) -> None:
    """A store and an index with pages that were accessed just now, and are not due for long."""
    store, index = open_store(data / "store.db"), open_index(data / "index")
    texts, site, now = Texts(), url.split("/")[2], time.time()
    bodies = [texts.some(1500) for _ in range(500)]
    for start in range(0, pages, 500):
        urls = [f"{url}before/{number}.html" for number in range(start, start + 500)]
        await store.add([NewPage(name, site, 1, now) for name in urls])
        findings = []
        for name, body in zip(urls, bodies, strict=True):
            text = f"{body} {name}"
            digest = hashlib.blake2b(text.encode(), digest_size=16).digest()
            access = Access(name, now, now, Outcome.CONTENT, status=200)
            findings.append(
                Finding(access, State.KNOWN, True, Content(texts.some(4), text, (texts.some(3),), digest))
            )
        await store.record(findings)
        await index.apply(await store.revisions(start, 500))
        await index.commit()
    await index.close()
    await store.close()


if __name__ == "__main__":
    if sys.argv[1] == "accesses":
        document = asyncio.run(access_all(Path(sys.argv[2]).read_text().split()))
    else:
        url, pages, data, *indexed = sys.argv[1:]
        document = asyncio.run(run(url, int(pages), data, int(indexed[0]) if indexed else 0))
    print(json.dumps(document))
    sys.stdout.flush()
    os._exit(0)
