"""SIGKILL at any moment: nothing lost, nothing indexed twice, index and store agree."""

import asyncio
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from recrawl.backends import open_index, open_store

PAGES = 120


class Site(BaseHTTPRequestHandler):
    """Pages in a ring, each with a word of its own and a version that rises while `changing` is set."""

    protocol_version = "HTTP/1.1"
    versions = [0] * PAGES
    changing = True
    random = random.Random(1)

    def do_GET(self):
        name = self.path.strip("/") or "0"
        if not name.isdigit() or int(name) >= PAGES:
            self.send_response(404)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        number = int(name)
        if self.changing and self.random.random() < 0.2:
            self.versions[number] += 1
        links = "".join(f"<a href='/{(number + step) % PAGES or ''}'>{step}</a>" for step in (1, 7, 30))
        body = f"<title>p{number}</title><main>word{number} version{self.versions[number]}</main><nav>{links}</nav>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *arguments):
        pass


@pytest.fixture
def site():
    Site.versions, Site.changing = [0] * PAGES, True
    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    server.handle_error = lambda *_arguments: None  # connections of killed engines
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/"
    server.shutdown()
    server.server_close()


def start(url, data, *more):
    options = [
        "min_delay_seconds=0",
        "max_concurrency=8",
        "commit_pages=20",
        "commit_seconds=0.1",
        "status_seconds=0.2",
    ]
    command = [sys.executable, "-m", "recrawl", "run", url, "--data", str(data), *more]
    for option in options:
        command += ["--set", option]
    environment = {**os.environ, "RECRAWL_SITEMAPS": "false"}
    return subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)


def wait_for_work(data, process, before):
    """Until this run has recorded something (or it has ended)."""
    for _ in range(600):
        if process.poll() is not None:
            raise AssertionError(process.stderr.read().decode())
        with contextlib.suppress(Exception):
            if asyncio.run(last_revision(data)) > before:
                return
        time.sleep(0.05)


async def last_revision(data):
    store = open_store(data / "store.db", read_only=True)
    try:
        return await store.last_revision()
    finally:
        await store.close()


async def check(data):
    store, index = open_store(data / "store.db", read_only=True), open_index(data / "index", read_only=True)
    try:
        assert await index.watermark() == await store.last_revision()
        pages = {page.url: page async for page in store.pages()}
        assert len(pages) == PAGES  # nothing lost
        for url, page in pages.items():
            number = int(url.rpartition("/")[2] or 0)
            text = await store.text(url)
            assert f"version{Site.versions[number]}" in text.text.split()
            count, hits = await index.search(f"word{number}")
            assert (count, hits[0].url) == (1, url)  # once, and only once
            assert hits[0].revision == page.revision
            assert f"version{Site.versions[number]}" in hits[0].snippet
        await check_feed(store)
    finally:
        await index.close()
        await store.close()


async def check_feed(store):
    numbers, kinds = [], defaultdict(list)
    while revisions := await store.revisions(numbers[-1] if numbers else 0, 500):
        for revision in revisions:
            numbers.append(revision.number)
            kinds[revision.url].append(revision.kind)
    assert numbers == sorted(set(numbers))
    for history in kinds.values():
        assert history[0] == "added"
        assert set(history[1:]) <= {"changed"}


def kill_and_continue(site, data, kills, seed):
    chance = random.Random(seed)
    for _ in range(kills):
        before = asyncio.run(last_revision(data)) if (data / "store.db").exists() else 0
        process = start(site, data)
        if chance.random() < 0.8:
            wait_for_work(data, process, before)
        time.sleep(chance.uniform(0.0, 0.7))
        process.send_signal(signal.SIGKILL)
        process.communicate()
    Site.changing = False
    process = start(site, data, "--for", "60s", "--json")
    end = time.monotonic() + 45.0
    while time.monotonic() < end and process.poll() is None and asyncio.run(obsolete(data)):
        time.sleep(0.3)
    process.send_signal(signal.SIGTERM)
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors.decode()
    assert json.loads(out)["outcomes"]["content"] > 0
    asyncio.run(check(data))


async def obsolete(data):
    """Pages without a copy, or with one of an older version."""
    store = open_store(data / "store.db", read_only=True)
    try:
        copies = [await store.text(page.url) async for page in store.pages()]
    finally:
        await store.close()
    texts = {copy.text for copy in copies if copy is not None}
    return PAGES - len(texts & {f"word{n} version{Site.versions[n]}" for n in range(PAGES)})


def test_kill(site, tmp_path):
    kill_and_continue(site, tmp_path / "data", kills=4, seed=1)


@pytest.mark.slow
def test_kill_fifty_times(site, tmp_path):
    kill_and_continue(site, tmp_path / "data", kills=50, seed=2)


def test_second_engine_is_refused(site, tmp_path):
    first = start(site, tmp_path / "data")
    try:
        wait_for_work(tmp_path / "data", first, 0)
        second = start(site, tmp_path / "data", "--for", "2s")
        _, errors = second.communicate(timeout=30)
        assert second.returncode == 1
        assert b"engine" in errors
    finally:
        first.send_signal(signal.SIGTERM)
        _, errors = first.communicate(timeout=30)
    assert first.returncode == 0, errors.decode()
