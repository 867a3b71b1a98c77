"""Searches while the engine runs: 200 per second for a minute, beside 100 accesses per second."""

import asyncio
import os
import random
import re
import signal
import subprocess
import sys
import time

import aiohttp
import pytest

SECONDS = float(os.environ.get("RECRAWL_LOAD_SECONDS", "60"))
SEARCHES = 200.0  # per second
BUDGET = 100.0


def started(arguments, pattern, stream):
    process = subprocess.Popen(
        [sys.executable, "-m", *arguments],
        text=True,
        **{name: subprocess.PIPE if name == stream else subprocess.DEVNULL for name in ("stdout", "stderr")},
    )
    for line in getattr(process, stream):
        found = re.search(pattern, line)
        if found:
            return process, found[0]
    raise AssertionError("it did not start")


async def searched(session, address, words, latencies, failures):
    begun = time.perf_counter()
    try:
        async with session.get(f"{address}api/search", params={"q": random.choice(words)}) as response:
            document = await response.json()
            if response.status != 200 or document["count"] < 1:
                failures.append(response.status)
    except aiohttp.ClientError as error:
        failures.append(type(error).__name__)
    latencies.append(time.perf_counter() - begun)


async def load(address):
    """Open loop: searches begin by the clock, whether or not those before have ended."""
    latencies, failures, waiting = [], [], set()
    connector = aiohttp.TCPConnector(limit=100)
    async with aiohttp.ClientSession(connector=connector) as session:

        async def overview():
            async with session.get(f"{address}api/overview") as response:
                return await response.json()

        for _ in range(600):
            if (await overview())["searchable"] >= 400:
                break
            await asyncio.sleep(0.2)
        async with session.get(f"{address}api/changes", params={"limit": 100}) as response:
            titles = [change["title"] for change in (await response.json())["changes"] if change["title"]]
        words = [title.split()[0] for title in titles]
        before, begun = await overview(), time.perf_counter()
        for place in range(int(SEARCHES * SECONDS)):
            await asyncio.sleep(max(0.0, begun + place / SEARCHES - time.perf_counter()))
            task = asyncio.ensure_future(searched(session, address, words, latencies, failures))
            waiting.add(task)
            task.add_done_callback(waiting.discard)
        await asyncio.gather(*waiting)
        took, after = time.perf_counter() - begun, await overview()
    rate = (after["accesses"] - before["accesses"]) / (after["time"] - before["time"])
    return sorted(latencies), failures, rate, len(latencies) / took


@pytest.mark.slow
def test_searches_are_quick_while_the_engine_runs(tmp_path, capsys):
    demo, _ = started(["recrawl.demo", "--sites", "5", "--pages-per-site", "100"], "http://", "stdout")
    lines = [demo.stdout.readline().strip() for _ in range(4)]
    seeds = [line for line in lines if line.startswith("http")]
    flags = ["--budget", f"{BUDGET:g}/s", "--set", "min_delay_seconds=0", "--set", "max_concurrency=8"]
    command = ["recrawl", "run", *seeds, *flags, "--data", str(tmp_path / "d"), "--listen", "127.0.0.1:0"]
    engine, address = started(command, r"http://127\.0\.0\.1:\d+/", "stderr")
    try:
        latencies, failures, rate, searches = asyncio.run(load(address))
    finally:
        for process in (engine, demo):
            process.send_signal(signal.SIGTERM)
            process.wait(30)
        engine.stderr.close(), demo.stdout.close()
    p50, p99 = (latencies[int(share * (len(latencies) - 1))] for share in (0.5, 0.99))
    with capsys.disabled():
        sys.stdout.write(
            f"\n{len(latencies)} searches, {searches:.0f}/s: p50 {1e3 * p50:.1f} ms, p99 {1e3 * p99:.1f} ms, "
            f"most {1e3 * latencies[-1]:.0f} ms, {len(failures)} failed; {rate:.1f} accesses/s\n"
        )
    assert not failures
    assert rate > 0.97 * BUDGET
    assert p99 < 0.050
