"""Speed of store and index: records per second, a million pages read at start, search while indexing.

`RECRAWL_PAGES` sets the number of pages of the start-up measurement (default 1,000,000).
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import random
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.measure import Measure
from recrawl.backends import open_index, open_store
from recrawl.engine.records import Access, Content, Finding, NewPage, Outcome, Revision, State

if TYPE_CHECKING:
    from collections.abc import Callable

TITLE = "Backends: store and index, as a ratio to a baseline in the same run"

PAGES = int(os.environ.get("RECRAWL_PAGES", "1000000"))
RECORDS = 20_000
INDEXED = 20_000
WORDS = [
    f"{a}{b}{c}"
    for a in ("ka", "lo", "mi", "su", "re")
    for b in "bdfgklmnprst"
    for c in ("an", "el", "or", "ut")
]


def run() -> list[Measure]:
    with tempfile.TemporaryDirectory() as folder:
        return [
            *asyncio.run(recording(Path(folder))),
            *starting(Path(folder)),
            *asyncio.run(searching(Path(folder))),
        ]


def text_of(rng: random.Random, words: int = 500) -> str:
    """Words with the uneven frequencies of a language."""
    return " ".join(WORDS[min(int(rng.paretovariate(0.6)) - 1, len(WORDS) - 1)] for _ in range(words))


def finding_of(number: int, text: str, at: float) -> Finding:
    digest = hashlib.blake2b(text.encode(), digest_size=16).digest()
    access = Access(f"http://x.test/page/{number}", at - 0.1, at, Outcome.CONTENT, etag=f'"{number}-{at}"')
    return Finding(access, State.KNOWN, True, Content(f"Page {number}", text, (), digest), belief=bytes(96))


async def cpu(work: Callable[[], object]) -> tuple[float, float]:
    """Processor and wall seconds of a call or a coroutine function."""
    start, wall = time.process_time(), time.perf_counter()
    result = work()
    if asyncio.iscoroutine(result):
        await result
    return time.process_time() - start, time.perf_counter() - wall


async def recording(folder: Path) -> list[Measure]:
    """Findings with texts of 3 KB, against the same bytes by one plain executemany."""
    rng = random.Random(1)
    findings = [finding_of(n, f"{n} {text_of(rng)}", 100.0) for n in range(RECORDS)]
    store = open_store(folder / "record.sqlite3")
    for at in range(0, RECORDS, 1000):
        await store.add([NewPage(f"http://x.test/page/{n}", "x.test", 1, 0.0) for n in range(at, at + 1000)])

    async def record() -> None:
        for at in range(0, RECORDS, 50):
            await store.record(findings[at : at + 50])

    async def one_by_one() -> None:
        for n in range(0, RECORDS, 20):
            access = Access(f"http://x.test/page/{n}", 199.9, 200.0, Outcome.NOT_MODIFIED)
            await store.record([Finding(access, State.KNOWN, changed=False)])

    async def lease() -> None:
        for at in range(0, RECORDS, 50):
            await store.lease([finding.access.url for finding in findings[at : at + 50]], 1.0)

    ours, wall = await cpu(record)
    single, _ = await cpu(one_by_one)
    leases, _ = await cpu(lease)
    await store.close()
    plain, _ = await cpu(lambda: executemany(folder / "plain.sqlite3", findings))
    return [
        Measure(
            f"record {RECORDS:,} findings with text, 50 at a time ({RECORDS / wall:,.0f}/s)",
            f"{1e6 * ours / RECORDS:.0f} CPU-µs each",
            f"executemany of the same texts: {1e6 * plain / RECORDS:.0f} µs",
            f"{ours / plain:.2f}",
            "at most 5",
            ours / plain <= 5,
        ),
        Measure(
            "record one page that has not changed",
            f"{1e6 * single / (RECORDS / 20):.0f} CPU-µs",
            f"executemany, with text: {1e6 * plain / RECORDS:.0f} µs",
            f"{20 * single / plain:.2f}",
            "-",
        ),
        Measure(
            "lease 50 pages at a time",
            f"{RECORDS / leases:,.0f}/CPU-s",
            "2,000 hand-outs/s",
            f"{RECORDS / leases / 2000:.0f}",
            "at least 1",
            RECORDS / leases >= 2000,
        ),
    ]


def executemany(path: Path, findings: list[Finding]) -> None:
    """The baseline: the same texts, compressed alike, into one table with the same key and settings."""
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = wal")
    connection.execute("PRAGMA synchronous = normal")
    connection.execute(
        "CREATE TABLE pages (url TEXT PRIMARY KEY, time REAL, digest BLOB, title TEXT, body BLOB)"
    )
    rows = (
        (found.access.url, found.access.ended, text.digest, text.title, zlib.compress(text.text.encode(), 1))
        for found in findings
        if (text := found.content) is not None
    )
    with connection:
        connection.executemany("INSERT INTO pages VALUES (?, ?, ?, ?, ?)", rows)
    connection.close()


# A process of its own, so that its memory is its own.
READ = """
import asyncio, sys, time
from recrawl.backends import open_store

def resident():  # kB, the most so far
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))

async def main(path, how):
    before = resident()
    start, wall = time.process_time(), time.perf_counter()
    store, count = open_store(path, read_only=True), 0
    if how == "pages":
        async for page in store.pages():
            count += 1
    elif how == "scan":
        async for columns in store.scan():
            count += len(columns.url)
    else:
        import sqlite3
        connection = sqlite3.connect(path)
        for row in connection.execute("SELECT * FROM pages"):
            count += 1
    print(count, time.process_time() - start, time.perf_counter() - wall, resident() - before)
    await store.close()

asyncio.run(main(sys.argv[1], sys.argv[2]))
"""


def starting(folder: Path) -> list[Measure]:
    """All pages read at start: time, and memory beside what the reader keeps."""
    path = folder / "start.sqlite3"
    asyncio.run(make_pages(path))
    results = {}
    for how in ("plain", "pages", "scan"):
        answer = subprocess.run(
            [sys.executable, "-c", READ, path, how], capture_output=True, text=True, check=True
        ).stdout.split()
        assert int(answer[0]) == PAGES
        results[how] = float(answer[1]), float(answer[2]), int(answer[3]) / 1024
    baseline = f"SELECT * by sqlite3: {results['plain'][0]:.1f} CPU-s"
    measures = []
    for how, name in (("pages", "records"), ("scan", "columns")):
        seconds, wall, memory = results[how]
        measures.append(
            Measure(
                f"read {PAGES:,} pages as {name} ({memory:.0f} MB more)",
                f"{seconds:.1f} CPU-s ({wall:.1f} s)",
                baseline,
                f"{seconds / results['plain'][0]:.2f}",
                "ten million in 60 s" if how == "scan" else "a million in 10 s",
                seconds * 1e7 / PAGES <= 60 if how == "scan" else seconds * 1e6 / PAGES <= 10,
            )
        )
    return measures


async def make_pages(path: Path) -> None:
    store = open_store(path)
    for at in range(0, PAGES, 10_000):
        numbers = range(at, min(at + 10_000, PAGES))
        await store.add(
            [
                NewPage(
                    f"http://site{n % 97}.test/some/directory/page-{n}.html", f"site{n % 97}.test", 3, 1.0
                )
                for n in numbers
            ]
        )
    await store.close()
    # As if each had been accessed; by hand, because only the reading is measured here.
    with sqlite3.connect(path) as connection:
        connection.execute(
            "UPDATE pages SET last_access = 1e9 + id, last_change = 1e9, etag = 'abcdef' || id, accesses = 20,"
            " digest = randomblob(16), changes = 3, title = 'Title of page ' || id, belief = randomblob(96)"
        )
        connection.execute("INSERT INTO in_links SELECT id, id % 50 FROM pages")
    connection.close()


async def searching(folder: Path) -> list[Measure]:
    """Queries of one to three words at 20,000 pages, while more pages are indexed and committed."""
    rng = random.Random(2)
    texts = [text_of(rng) for _ in range(2000)]

    def revision(number: int) -> Revision:
        url, text = f"http://x.test/{number % INDEXED}", f"{texts[number % 2000]} number{number}"
        return Revision(number, "changed", url, f"s{number % 7}", 1.0, b"", f"P {number}", text)

    index = open_index(folder / "index")
    start = time.process_time()
    for at in range(1, INDEXED + 1, 500):
        await index.apply([revision(number) for number in range(at, at + 500)])
        await index.commit()
    indexing = time.process_time() - start
    plain = plain_tantivy(folder / "plain", [revision(number) for number in range(1, INDEXED + 1)])
    times: list[float] = []
    stop = asyncio.Event()

    async def write() -> None:
        number = INDEXED
        while not stop.is_set():
            await index.apply([revision(number := number + 1) for _ in range(50)])
            if number % 500 == 0:
                await index.commit()
            await asyncio.sleep(0.02)

    writing = asyncio.create_task(write())
    for n in range(1500):
        query = " ".join(rng.choices(WORDS, k=rng.randint(1, 3)))
        begin = time.perf_counter()
        await index.search(query, site=f"s{n % 7}" if n % 3 == 0 else None)
        times.append(1e3 * (time.perf_counter() - begin))
        await asyncio.sleep(0.002)
    stop.set()
    await writing
    await index.close()
    p50, p99 = np.percentile(times, [50, 99])
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return [
        Measure(
            f"index {INDEXED:,} pages of 3 KB",
            f"{1e3 * indexing / INDEXED:.2f} CPU-ms each",
            f"tantivy alone, ASCII words, no deletes: {1e3 * plain / INDEXED:.2f} ms",
            f"{indexing / plain:.2f}",
            "at most 3",
            indexing / plain <= 3,
        ),
        Measure(
            f"search at {INDEXED:,} pages while indexing ({memory:.0f} MB)",
            f"p50 {p50:.1f}, p99 {p99:.1f} ms",
            "20 ms",
            f"{p99 / 20:.2f}",
            "p99 under 20 ms",
            bool(p99 < 20),
        ),
    ]


def plain_tantivy(folder: Path, revisions: list[Revision]) -> float:
    """The baseline: the same texts into an index with the default words, in one commit; processor seconds."""
    import tantivy

    builder = tantivy.SchemaBuilder()
    builder.add_text_field("title", stored=True)
    builder.add_text_field("text", stored=True)
    folder.mkdir()
    writer = tantivy.Index(builder.build(), path=str(folder)).writer(64_000_000, 1)
    start = time.process_time()
    for revision in revisions:
        page = tantivy.Document()
        page.add_text("title", revision.title)
        page.add_text("text", revision.text)
        writer.add_document(page)
    writer.commit()
    return time.process_time() - start
