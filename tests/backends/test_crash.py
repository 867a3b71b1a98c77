"""A process that writes is killed at random moments; store and index are then as they should be."""

import asyncio
import random
import signal
import sqlite3
import subprocess
import sys
import time

import pytest

from recrawl.backends import open_index, open_store

WRITER = """
import asyncio, hashlib, sys
from dataclasses import replace
from recrawl.backends import open_index, open_store
from recrawl.engine.records import Access, Content, Finding, NewPage, Outcome, State

def finding(n, at):
    url, gone = f"http://x.test/{n}", at % 11 == 0
    access = Access(url, at - 1.0, float(at), Outcome.GONE if gone else Outcome.CONTENT)
    if gone:
        return Finding(access, State.GONE, changed=True)
    text = f"apple page{n} version{at} " + "filler " * 200
    found = tuple(NewPage(f"http://x.test/{(n * 7 + k) % 60}", "x.test", 1, 0.0) for k in range(3))
    digest = hashlib.blake2b(text.encode(), digest_size=16).digest()
    return Finding(access, State.KNOWN, True, Content("Title", text, (), digest), found=found)

async def follow(store, index):
    while True:
        revisions = await store.revisions(await index.watermark(), 25)
        await index.apply(revisions)
        print("searchable", await index.commit(), flush=True)
        await asyncio.sleep(0.005)

async def main(data, start):
    store, index = open_store(f"sqlite:{data}/store.sqlite3"), open_index(f"{data}/index")
    await store.add([NewPage(f"http://x.test/{n}", "x.test", 0, 0.0) for n in range(60)])
    following = asyncio.create_task(follow(store, index))
    for at in range(start, start + 100_000, 3):
        pages = await store.record([finding((at + k) * 31 % 60, at + k) for k in range(3)])
        print("recorded", at, max(page.revision for page in pages), flush=True)
        if following.done():
            following.result()

asyncio.run(main(sys.argv[1], int(sys.argv[2])))
"""


def write_and_kill(data, start, seconds):
    """Let the writer run, kill it; what it had said is what was acknowledged."""
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, data, str(start)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as writer:
        first = writer.stdout.readline()
        time.sleep(seconds)
        writer.send_signal(signal.SIGKILL)
        output, errors = writer.communicate()
    assert first, errors
    lines = (first + output).splitlines()[:-1] or [first]  # the last one may be cut
    recorded = [line.split() for line in lines if line.startswith("recorded")]
    searchable = [int(line.split()[1]) for line in lines if line.startswith("searchable")]
    last = int(recorded[-1][1]) if recorded else 0
    return last, max((int(line[2]) for line in recorded), default=0), max(searchable, default=0)


async def check(data, last_access, acknowledged, searchable):
    connection = sqlite3.connect(data / "store.sqlite3")
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    connection.close()
    store, index = open_store(f"sqlite:{data}/store.sqlite3"), open_index(f"{data}/index")
    # Nothing that was acknowledged is lost, and no revision is missing or doubled.
    assert await store.last_revision() >= acknowledged
    pages = {page.url: page async for page in store.pages()}
    assert max(page.last_try or 0 for page in pages.values()) >= last_access
    feed = await store.revisions(0, 1_000_000)
    assert [entry.number for entry in feed] == list(range(1, len(feed) + 1))
    for url, page in pages.items():
        numbers = [entry.number for entry in feed if entry.url == url]
        assert max(numbers, default=0) == page.revision
        assert [entry.number for entry in feed if entry.url == url and entry.latest] == numbers[-1:]
    # The index is behind the store, never ahead, and what it had said is there.
    watermark = await index.watermark()
    assert searchable <= watermark <= await store.last_revision()
    while revisions := await store.revisions(await index.watermark(), 100):
        await index.apply(revisions)
        await index.commit()
    # Now they agree: one entry for each page that has a text, of its latest revision.
    wanted = {url: page.revision for url, page in pages.items() if page.digest is not None}
    count, hits = await index.search("apple", limit=1000)
    assert count == len(hits)
    assert sorted((hit.url, hit.revision) for hit in hits) == sorted(wanted.items())
    for url, number in wanted.items():
        text = await store.text(url)
        assert text.number == number
        _, (hit,) = await index.search(f'"page{url.rpartition("/")[2]} version{pages[url].last_change:.0f}"')
        assert (hit.url, hit.revision) == (url, number)
    statistics = await store.statistics()
    assert statistics["searchable"] == len(wanted)
    assert sum(statistics["pages"].values()) == len(pages)
    await store.close()
    await index.close()
    return int(max(page.last_try or 0 for page in pages.values())) + 1


def crash(data, times, seed):
    rng, start = random.Random(seed), 1
    for _ in range(times):
        said = write_and_kill(data, start, rng.uniform(0, 0.5))
        start = asyncio.run(check(data, *said))
    return start


def test_killed_a_few_times(tmp_path):
    assert crash(tmp_path, 4, seed=1) > 10


@pytest.mark.slow
def test_killed_many_times(tmp_path):
    for seed in range(5):
        crash(tmp_path / str(seed), 10, seed)
