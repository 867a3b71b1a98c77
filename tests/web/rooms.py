"""Control rooms for tests: an engine in memory and in a time of its own, behind the application."""

import asyncio
from contextlib import asynccontextmanager

import httpx
from tests.engine.fakes import Web, advance, engine

from recrawl.backends.memory import ManualClock, MemoryStore
from recrawl.web.app import make_app
from recrawl.web.live import LiveSource
from recrawl.web.options import WebOptions

TOKEN = "a-token-for-tests-only"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
URLS = [f"http://{site}.example/{i}" for site in "ab" for i in range(10)]
HOSTILE = "http://a.example/hostile?q=%3Cscript%3E"


class HostileWeb(Web):
    """Titles and texts that would be harmful if they were not escaped."""

    def extract(self, access):
        outcome, content, reason = super().extract(access)
        if access.url == HOSTILE:
            from dataclasses import replace

            content = replace(content, title="<script>alert(1)</script>")
        return outcome, content, reason


class Room:
    """An engine that runs, its source and its application."""

    def __init__(self, **options):
        self.clock = ManualClock()
        texts = {url: f"common words of {url} number {place}" for place, url in enumerate(URLS)}
        texts[HOSTILE] = "common <img src=x onerror=alert(1)> text"
        self.web = HostileWeb(self.clock, texts)
        self.store = MemoryStore()
        self.engine = engine(self.clock, self.web, [*URLS, HOSTILE], store=self.store, budget=20.0)
        self.source = LiveSource(self.engine)
        self.options = WebOptions(**{"token": TOKEN, "indexnow_key": "0123456789abcdef", **options})
        self.app = make_app(self.source, self.options)

    def client(self, base="http://127.0.0.1:8717", address="127.0.0.1", **settings):
        transport = httpx.ASGITransport(self.app, client=(address, 1234))
        return httpx.AsyncClient(transport=transport, base_url=base, **settings)

    async def pass_time(self, seconds):
        await advance(self.clock, seconds, 0.05)


@asynccontextmanager
async def open_room(seconds=4.0, **options):
    """A room whose engine has run for some seconds, and runs."""
    room = Room(**options)
    stopping = asyncio.Event()
    task = asyncio.ensure_future(room.engine.run(stopping))
    while not room.engine.running and not task.done():
        await asyncio.sleep(0.001)
    await room.pass_time(0.5 * seconds)
    room.web.texts[URLS[2]] = "common words of another text"
    await room.pass_time(0.5 * seconds)
    try:
        yield room
    finally:
        stopping.set()
        for _ in range(400):
            await room.pass_time(0.05)
            if task.done():
                break
        await task
