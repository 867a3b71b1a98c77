"""A small world for tests of the engine: pages of known truth behind a fake accessor, no network."""

import asyncio
import hashlib
import math
import random
from concurrent.futures import Executor, Future
from dataclasses import replace

from recrawl.backends.memory import MemoryBuffer, MemoryIndex, MemoryStore
from recrawl.engine.engine import Engine
from recrawl.engine.parts import Behaviour, World
from recrawl.engine.records import Access, Content, Link, NewPage, Outcome, PageRecord, State

SITE = "a.example"


class FreeSites:
    """No politeness, or a delay for every site."""

    def __init__(self, clock, delay=0.0, places=math.inf):
        self.clock, self.seconds, self.places = clock, delay, places
        self.next_free, self.active = {}, {}

    def ready_at(self, site):
        if self.active.get(site, 0) >= self.places:
            return math.inf
        return self.next_free.get(site, -math.inf)

    def begin(self, site):
        self.active[site] = self.active.get(site, 0) + 1
        self.next_free[site] = self.clock.monotonic() + self.seconds

    def end(self, site, _access):
        self.active[site] -= 1

    def delay(self, _site):
        return self.seconds

    def backoff(self, failures, retry_after=None):
        return max(10.0 * 2.0 ** (failures - 1), retry_after or 0.0)


def page(url, site=SITE, **changes):
    return PageRecord(
        **{"url": url, "site": site, "state": State.KNOWN, "depth": 0, "found_at": 0.0, **changes}
    )


def access_of(url, ended, outcome=Outcome.CONTENT, **changes):
    return Access(**{"url": url, "started": ended - 0.01, "ended": ended, "outcome": outcome, **changes})


class Web:
    """Pages with texts that tests change; accesses take a random time."""

    def __init__(self, clock, texts, access_seconds=0.01, seed=1, exponential=False):
        self.clock, self.texts = clock, dict(texts)
        self.links, self.outcomes = {}, {}
        self.seconds, self.random, self.exponential = access_seconds, random.Random(seed), exponential
        self.accesses = []
        self.conditional = True

    async def access(self, page):
        started = self.clock.time()
        rate = self.random.expovariate(1 / self.seconds) if self.exponential else self.seconds
        await self.clock.sleep(rate)
        self.accesses.append((page.url, self.clock.time()))
        special = self.outcomes.get(page.url)
        base = Access(page.url, started, self.clock.time(), Outcome.CONTENT, status=200)
        if special is not None:
            return replace(base, outcome=special, status={Outcome.GONE: 404}.get(special))
        if page.url not in self.texts:
            return replace(base, outcome=Outcome.GONE, status=404)
        text = self.texts[page.url]
        tag = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
        if self.conditional and page.etag == tag:
            return replace(base, outcome=Outcome.NOT_MODIFIED, status=304, etag=tag)
        return replace(base, body=text.encode(), etag=tag, size=len(text))

    async def close(self):
        pass

    def extract(self, access):
        text = access.body.decode()
        digest = hashlib.blake2b(access.body, digest_size=16).digest()
        links = tuple(Link(url) for url in self.links.get(access.url, ()))
        return Outcome.CONTENT, Content(text.split()[0], text, (), digest, links), ""


class Here(Executor):
    """Runs things at once: extraction takes no time of the clock."""

    def submit(self, function, /, *arguments, **named):
        future = Future()
        future.set_result(function(*arguments, **named))
        return future


class Anywhere:
    """Every page belongs to the run."""

    def admits(self, _url, _depth):
        return True

    def note(self, _url):
        pass

    def noted(self):
        pass

    def kept(self):
        return b""

    def restore(self, kept):
        pass

    def site_of(self, url):
        return url.split("/")[2]

    def weight_of(self, _url):
        return None


def seeds(clock, urls):
    async def discover():
        yield [NewPage(url, url.split("/")[2], 0, clock.time()) for url in urls]

    return discover


def engine(
    clock, web, urls, *, store=None, index=None, capacity=64, delay=None, politeness=None, **behaviour
):
    """A wired engine in memory."""
    world = World(
        clock=clock,
        store=store or MemoryStore(),
        index=index or MemoryIndex(),
        buffer=MemoryBuffer(capacity),
        accessor=web,
        politeness=politeness or FreeSites(clock),
        admission=Anywhere(),
        extract=web.extract,
        discover=seeds(clock, urls),
        executor=Here(),
        delay=delay,
    )
    return Engine(world, Behaviour(**{"robots": 4, "seed": 1, **behaviour}))


async def run_for(subject, clock, seconds, step=0.05):
    """Run an engine for so long in the clock's time, then let it drain."""
    stopping = asyncio.Event()
    task = asyncio.ensure_future(subject.run(stopping))
    while not subject.running and not task.done():
        await asyncio.sleep(0.001)
    await advance(clock, seconds, step)
    # Draining takes the clock's time too; what is measured ends here.
    subject.final = (subject.measures.queue(), subject.measures.total())
    stopping.set()
    for _ in range(2000):
        await advance(clock, step, step)
        if task.done():
            break
    await task


async def advance(clock, seconds, step):
    """Let time pass; threads get real time between the steps."""
    end = clock.monotonic() + seconds
    while clock.monotonic() < end - 1e-9:
        await asyncio.sleep(0.0005)
        await clock.advance(min(step, end - clock.monotonic()))
