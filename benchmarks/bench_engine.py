"""The engine's schedule with a million known pages: start from the store's file, memory, hand-outs, a plan beside them.

`RECRAWL_BENCH_PAGES` sets the number of pages, `RECRAWL_BENCH_POLICY` the policy.
"""

from __future__ import annotations

import asyncio
import math
import os
import resource
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from benchmarks.measure import Measure
from recrawl.backends import open_store
from recrawl.engine.pace import Pace
from recrawl.engine.records import Access, PageColumns
from recrawl.engine.scheduler import Scheduler, SchedulerSettings, Ticket

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recrawl.engine.planning import PolicyName
    from recrawl.engine.protocols import Politeness

TITLE = "The engine's schedule"
PAGES = int(os.environ.get("RECRAWL_BENCH_PAGES", "1000000"))
POLICY = cast("PolicyName", os.environ.get("RECRAWL_BENCH_POLICY", "optimal"))
_NOW = 1.8e9
_CHUNK = 20_000
_BUDGET = 100.0


class _Clock:
    now = _NOW

    def time(self) -> float:
        return self.now

    def monotonic(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


class _Free:
    def ready_at(self, _site: str) -> float:
        return -math.inf

    def begin(self, site: str) -> None:
        pass

    def end(self, site: str, access: Access | None) -> None:
        pass

    def delay(self, _site: str) -> float:
        return 0.0

    def backoff(self, _failures: int, _retry_after: float | None = None) -> float:
        return 1.0


def _scheduler() -> Scheduler:
    clock = _Clock()
    settings = SchedulerSettings(policy=POLICY)
    return Scheduler(clock, cast("Politeness", _Free()), Pace(math.inf, clock.now), settings)


def _columns(start: int, rng: np.random.Generator) -> PageColumns:
    """Pages of a hundred sites, as the store knows them after some accesses."""
    count = min(_CHUNK, PAGES - start)
    last = _NOW - rng.uniform(0, 1e6, count)
    numbers = range(start, start + count)
    return PageColumns(
        url=[f"https://site{i % 100}.example/section/{i // 1000}/page-{i}" for i in numbers],
        site=[f"site{i % 100}.example" for i in numbers],
        state=["known"] * count,
        depth=[3] * count,
        found_at=[_NOW - 1e8] * count,
        weight=[None] * count,
        in_links=[4] * count,
        last_access=last.tolist(),
        last_change=[None] * count,
        accesses=[9] * count,
        changes=[2] * count,
        failures=[0] * count,
        retry_at=[None] * count,
        leased_until=[None] * count,
        announced=[None] * count,
        belief=[b""] * count,
    )


def _rows(columns: PageColumns, beliefs: list[bytes]) -> Iterator[tuple[object, ...]]:
    for place, url in enumerate(columns.url):
        site = int(columns.site[place][4 : -len(".example")])
        yield url, site + 1, columns.last_access[place], columns.last_access[place], beliefs[place]


def make_store(path: Path) -> dict[str, bytes]:
    """A store of `PAGES` pages with beliefs, and what the scheduler keeps beside them."""
    from recrawl.backends.sqlite._files import open_writer

    rng = np.random.default_rng(1)
    scheduler = _scheduler()
    connection = open_writer(path)
    connection.execute("PRAGMA synchronous = off")
    connection.execute("BEGIN")
    connection.executemany(
        "INSERT INTO sites (id, name) VALUES (?, ?)", [(i + 1, f"site{i}.example") for i in range(100)]
    )
    scheduler.restore({}, PAGES, _BUDGET)
    for start in range(0, PAGES, _CHUNK):
        scheduler.load(_columns(start, np.random.default_rng(start)))
    scheduler.order_pages()
    begun = time.perf_counter()
    asyncio.run(scheduler.replan(_BUDGET))
    print(f"groups made and pages planned for the first time ever in {time.perf_counter() - begun:.1f} s")
    for start in range(0, PAGES, _CHUNK):
        columns = _columns(start, np.random.default_rng(start))
        slots = np.array([scheduler.table.slot[url] for url in columns.url])
        _observe(scheduler, slots, rng)
        beliefs = scheduler.table.packed(slots)
        connection.executemany(
            "INSERT INTO pages (url, site, state, depth, found_at, last_access, last_change, digest, accesses, changes,"
            " title, last_try, last_outcome, belief) VALUES (?, ?, 'known', 3, 1.7e9, ?, 1.75e9,"
            " randomblob(16), 9, 2, 'A page of some length', ?, 'content', ?)",
            _rows(columns, beliefs),
        )
    connection.execute("INSERT INTO in_links SELECT id, 4 FROM pages")
    connection.execute("COMMIT")
    connection.close()
    asyncio.run(scheduler.replan(_BUDGET))
    return scheduler.kept()


def _observe(scheduler: Scheduler, slots: np.ndarray, rng: np.random.Generator) -> None:
    """Two accesses of each page."""
    rates = np.exp(rng.normal(-13.0, 2.0, slots.size))
    last = scheduler.table.last[slots]
    nothing = np.full(slots.size, np.nan)
    for back in (3e6, 2e6):
        changed = rng.random(slots.size) < -np.expm1(-rates * 1e6)
        scheduler.table.observe(slots, last - back, last - back + 1e6, changed, nothing, nothing)
    scheduler.table.waits[slots] = scheduler.policy.find_waits(
        slots, scheduler.table.weight[slots], np.full(slots.size, scheduler.plan.price)
    )


def _memory() -> float:
    """Megabytes that are resident now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


@dataclass
class _Found:
    read_seconds: float = 0.0
    start_seconds: float = 0.0
    start_wall_seconds: float = 0.0
    start_memory: float = 0.0
    most_memory: float = 0.0
    hand_outs: float = 0.0
    plan_seconds: float = 0.0
    second_plan_seconds: float = 0.0
    hand_outs_while_planning: float = 0.0
    lags: list[float] = field(default_factory=list)


async def _start(path: Path, kept: dict[str, bytes], found: _Found) -> Scheduler:
    """As the engine does it: open the store, read every page, put them in order. Times are the processor's."""
    from recrawl.engine.warm import warm_kernels, warm_up

    warm_kernels()
    await warm_up(_Clock(), cast("Politeness", _Free()), SchedulerSettings(policy=POLICY))
    begun, processor = time.perf_counter(), time.process_time()
    store = open_store(path)
    scheduler = _scheduler()
    scheduler.restore(kept, PAGES, _BUDGET)
    async for columns in store.scan():
        scheduler.load(columns)
        await asyncio.sleep(0)
    scheduler.order_pages()
    found.start_seconds, found.start_memory = time.process_time() - processor, _memory()
    found.start_wall_seconds = time.perf_counter() - begun
    processor = time.process_time()
    async for _columns in store.scan():
        pass
    found.read_seconds = time.process_time() - processor
    await store.close()
    return scheduler


def _hand_out(scheduler: Scheduler, count: int) -> float:
    """Seconds for one page, back at once."""
    begun = time.perf_counter()
    for _ in range(count):
        cast("_Clock", scheduler.clock).now += 1e-4
        ticket = scheduler.try_next()
        assert isinstance(ticket, Ticket)
        scheduler.ended(ticket.site, None)
    return (time.perf_counter() - begun) / count


async def _plan(scheduler: Scheduler, found: _Found, paced: float) -> float:
    """A plan while pages are handed out at a pace; how long it took, and how far the event loop lagged."""
    plan = asyncio.ensure_future(scheduler.replan(_BUDGET))
    begun, handed = time.perf_counter(), 0
    while not plan.done():
        before = time.perf_counter()
        await asyncio.sleep(0.005)
        found.lags.append(time.perf_counter() - before - 0.005)
        wanted = int((time.perf_counter() - begun) * paced) - handed
        if wanted > 0:
            _hand_out(scheduler, wanted)
            handed += wanted
        found.most_memory = max(found.most_memory, _memory())
    took = time.perf_counter() - begun
    found.hand_outs_while_planning = handed / took
    await plan
    return took


async def _measure(path: Path, kept: dict[str, bytes]) -> _Found:
    found = _Found()
    scheduler = await _start(path, kept, found)
    found.most_memory = found.start_memory
    found.hand_outs = 1.0 / _hand_out(scheduler, 20_000)
    found.plan_seconds = await _plan(scheduler, found, 2000.0)
    found.second_plan_seconds = await _plan(scheduler, found, 2000.0)
    return found


def run() -> list[Measure]:
    """All of it, in a process of its own that has made nothing before."""
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.db"
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(1, mp_context=context) as pool:
            kept = pool.submit(make_store, path).result()
        with ProcessPoolExecutor(1, mp_context=context) as pool:
            found = pool.submit(_run_measure, path, kept).result()
        size = path.stat().st_size / 1e6
    lag = float(np.quantile(found.lags, 0.99))
    print(
        f"{PAGES:,} pages, policy {POLICY}, a store of {size:,.0f} MB: start {found.start_seconds:.1f} s of the "
        f"processor ({found.start_wall_seconds:.1f} s by the clock), {found.start_memory:,.0f} MB; the read alone "
        f"{found.read_seconds:.1f} s, ten million pages at that rate {found.read_seconds * 1e7 / PAGES:.0f} s; "
        f"first plan {found.plan_seconds:.1f} s, next {found.second_plan_seconds:.1f} s by the clock with "
        f"{found.hand_outs_while_planning:,.0f} hand-outs per s beside it; loop lag p99 {1e3 * lag:.0f} ms, "
        f"most {1e3 * max(found.lags):.0f} ms; {found.most_memory:,.0f} MB at most"
    )
    return _table(found, lag)


def _run_measure(path: Path, kept: dict[str, bytes]) -> _Found:
    return asyncio.run(_measure(path, kept))


def _table(found: _Found, lag: float) -> list[Measure]:
    wanted = [
        (
            "start, store read included, processor",
            f"{found.start_seconds:.2f} s",
            "< 10 s",
            found.start_seconds < 10.0,
        ),
        (
            "ten million pages read, processor",
            f"{found.read_seconds * 1e7 / PAGES:.0f} s",
            "< 60 s",
            found.read_seconds * 1e7 / PAGES < 60.0,
        ),
        (
            "memory, resident at most",
            f"{found.most_memory:,.0f} MB",
            "< 1000 MB",
            found.most_memory < 1000.0,
        ),
        ("hand-outs", f"{found.hand_outs:,.0f} per s", "> 2000 per s", found.hand_outs > 2000.0),
        (
            "hand-outs while planning, paced at 2000 per s",
            f"{found.hand_outs_while_planning:,.0f} per s",
            "> 1900 per s",
            found.hand_outs_while_planning > 1900.0,
        ),
        (
            "first plan, beside the robots, clock",
            f"{found.plan_seconds:.1f} s",
            "< 10 s",
            found.plan_seconds < 10.0,
        ),
        ("event loop lag while planning, p99", f"{1e3 * lag:.0f} ms", "< 100 ms", lag < 0.1),
    ]
    return [Measure(name, value, "-", "-", target, good) for name, value, target, good in wanted]
