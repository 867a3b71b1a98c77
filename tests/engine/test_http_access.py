"""Accesses against the demonstration web: every trouble is an outcome, never an exception."""

import asyncio
import contextlib
import dataclasses
import time
import tracemalloc
from email.utils import formatdate

import pytest
from aiohttp import web
from hypothesis import given, settings
from hypothesis import strategies as st

from recrawl.demo import TROUBLES, DemoOptions, DemoWeb
from recrawl.demo.bombs import bomb
from recrawl.engine.extract import extract
from recrawl.engine.guard import Guard
from recrawl.engine.http_access import HttpAccessor
from recrawl.engine.options import AccessOptions, SiteOptions
from recrawl.engine.records import Outcome, PageRecord, State
from recrawl.engine.urls import Scope, site_of
from recrawl.errors import ConfigError


class RealClock:
    monotonic = staticmethod(time.monotonic)
    sleep = staticmethod(asyncio.sleep)
    time = staticmethod(time.time)


QUICK = AccessOptions(
    connect_timeout_seconds=2, read_timeout_seconds=0.4, total_timeout_seconds=1.2, max_body_bytes=2_000_000
)
PATIENT = dataclasses.replace(QUICK, read_timeout_seconds=5, total_timeout_seconds=10)


def page(url, **known):
    return PageRecord(url=url, site=site_of(url), state=State.KNOWN, depth=0, found_at=0.0, **known)


def accessor_for(demo, options=QUICK, **more):
    more.setdefault("guard", Guard.of(seeds=demo.seeds))
    return HttpAccessor(options, clock=RealClock(), **more)


@pytest.fixture
async def demo():
    async with DemoWeb(DemoOptions(sites=2, pages_per_site=30)) as web_:
        yield web_


@pytest.fixture
async def accessor(demo):
    accessor = accessor_for(demo)
    yield accessor
    await accessor.close()


async def test_a_page_comes_with_its_validators(demo, accessor):
    before = time.time()
    access = await accessor.access(page(demo.url(3)))
    assert access.outcome is Outcome.CONTENT
    assert access.status == 200
    assert access.content_type == "text/html"
    assert access.encoding == "utf-8"
    assert access.etag == 'W/"3-0"'
    assert access.last_modified == pytest.approx(demo.truth.start, abs=1)
    assert access.size == len(access.body) > 3000
    assert before <= access.started <= access.ended <= time.time()


async def test_a_copy_that_is_current_is_confirmed(demo, accessor):
    access = await accessor.access(page(demo.url(3), etag='W/"3-0"', digest=b"x"))
    assert access.outcome is Outcome.NOT_MODIFIED
    assert access.body == b""


async def test_what_a_304_does_not_repeat_is_kept():
    access = await raw(
        b"HTTP/1.1 304 Not Modified\r\n\r\n", record={"etag": '"e"', "last_modified": 99.0, "digest": b"x"}
    )
    assert (access.outcome, access.etag, access.last_modified) == (Outcome.NOT_MODIFIED, '"e"', 99.0)


@pytest.mark.parametrize(("age", "kept"), [(0, False), (1, False), (2, True), (1000, True)])
async def test_a_date_alone_is_trusted_when_it_is_old_enough(age, kept):
    dates = f"Date: {formatdate(1e9, usegmt=True)}\r\nLast-Modified: {formatdate(1e9 - age, usegmt=True)}\r\n"
    alone = await raw(OK + HTML + dates.encode() + b"\r\nfine")
    assert alone.last_modified == (1e9 - age if kept else None)
    with_etag = await raw(OK + HTML + dates.encode() + b'ETag: "e"\r\n\r\nfine')
    assert with_etag.last_modified == 1e9 - age


async def test_without_a_copy_no_conditional_access(demo, accessor):
    access = await accessor.access(page(demo.url(3), etag='W/"3-0"', last_modified=time.time()))
    assert access.outcome is Outcome.CONTENT


EXPECTED = {
    "slow": Outcome.FAILED,  # with the quick timeouts
    "drip": Outcome.FAILED,
    "hang": Outcome.FAILED,
    "hang-in-body": Outcome.FAILED,
    "error": Outcome.FAILED,
    "flaky": Outcome.FAILED,
    "busy": Outcome.BUSY,
    "busy-date": Outcome.BUSY,
    "gone": Outcome.GONE,
    "forbidden": Outcome.FAILED,
    "not-modified": Outcome.FAILED,
    "loop": Outcome.FAILED,
    "self-loop": Outcome.FAILED,
    "chain": Outcome.FAILED,
    "moved": Outcome.MOVED,
    "private": Outcome.REFUSED,
    "odd-redirect": Outcome.FAILED,
    "endless": Outcome.UNREADABLE,
    "gzip-bomb": Outcome.UNREADABLE,
    "brotli-bomb": Outcome.UNREADABLE,
    "double-gzip": Outcome.UNREADABLE,
    "bad-gzip": Outcome.UNREADABLE,
    "cut-gzip": Outcome.UNREADABLE,
    "reset": Outcome.FAILED,
    "malformed": Outcome.FAILED,
    "long-header": Outcome.FAILED,
    "image": Outcome.UNREADABLE,
    "binary-as-html": Outcome.UNREADABLE,
    "script": Outcome.NEEDS_SCRIPT,
    "deep-html": Outcome.UNREADABLE,
}


@pytest.mark.parametrize("name", TROUBLES)
async def test_every_trouble_is_survived(demo, accessor, name):
    access = await accessor.access(page(demo.trouble(name)))
    outcome, reason = access.outcome, access.reason
    if outcome is Outcome.CONTENT:
        extraction = extract(access)
        outcome, reason = extraction.outcome, extraction.reason
    assert outcome is EXPECTED.get(name, Outcome.CONTENT), reason
    assert bool(reason) == (outcome is not Outcome.CONTENT)
    assert len(access.body) <= QUICK.max_body_bytes
    again = await accessor.access(page(demo.url(1)))
    assert again.outcome is Outcome.CONTENT


async def test_slow_is_read_with_patience(demo):
    accessor = accessor_for(demo, PATIENT)
    access = await accessor.access(page(demo.trouble("slow")))
    await accessor.close()
    assert access.outcome is Outcome.CONTENT
    assert access.ended - access.started > 1.9


async def test_retry_after_is_reported(demo, accessor):
    assert (await accessor.access(page(demo.trouble("busy")))).retry_after == 2.0
    assert (await accessor.access(page(demo.trouble("busy-date")))).retry_after == pytest.approx(5.0, abs=1.5)


@pytest.mark.parametrize(("name", "encoding"), [("gzip-bomb", "gzip"), ("brotli-bomb", "br")])
async def test_a_bomb_costs_little_memory(demo, accessor, name, encoding):
    bomb(encoding)  # made before memory is watched
    tracemalloc.start()
    access = await accessor.access(page(demo.trouble(name)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert access.outcome is Outcome.UNREADABLE
    assert peak < 20_000_000  # the bomb has 200 MB, the cap is 2 MB


async def test_moved_names_the_new_place(demo, accessor):
    access = await accessor.access(page(demo.trouble("moved")))
    assert (access.outcome, access.final_url, access.body) == (Outcome.MOVED, demo.seeds[0], b"")


async def test_redirect_out_of_scope_is_excluded(demo):
    accessor = accessor_for(demo, scope=Scope.of([demo.trouble("x/")]))
    access = await accessor.access(page(demo.trouble("moved")))
    await accessor.close()
    assert (access.outcome, access.final_url) == (Outcome.EXCLUDED, demo.seeds[0])
    assert demo.hits[(demo.ports[0], "/")] == 0  # not even asked


async def test_refused_redirects_are_never_connected(demo, accessor):
    from recrawl.demo.troubles import PRIVATE_TARGETS

    for number in range(len(PRIVATE_TARGETS)):
        access = await accessor.access(page(demo.trouble("private", f"/{number}")))
        assert access.outcome is Outcome.REFUSED, PRIVATE_TARGETS[number]
    assert accessor.guard.refusals == len(PRIVATE_TARGETS)


async def test_exclusion_is_obeyed(demo, accessor):
    access = await accessor.access(page(demo.seeds[0] + "private/x"))
    assert (access.outcome, access.reason) == (Outcome.EXCLUDED, "disallowed by robots.txt")
    assert demo.hits[(demo.ports[0], "/private/x")] == 0


async def test_a_name_that_does_not_resolve(accessor):
    access = await accessor.access(page("http://no-such-host.invalid/"))
    assert access.outcome is Outcome.FAILED
    assert "does not resolve" in access.reason


async def test_a_port_where_nobody_listens():
    accessor = HttpAccessor(QUICK, clock=RealClock(), guard=Guard.of(seeds=["http://127.0.0.1:9/"]))
    access = await accessor.access(page("http://127.0.0.1:9/"))
    await accessor.close()
    assert access.outcome is Outcome.FAILED
    assert access.status is None


async def test_nobody_uses_a_closed_accessor(demo):
    accessor = accessor_for(demo)
    await accessor.close()
    assert (await accessor.access(page(demo.url(1)))).outcome is Outcome.FAILED


@pytest.mark.parametrize(
    "url", ["ftp://127.0.0.1/", "http://127.0.0.1:1/#x", "http://u:p@127.0.0.1/", "nonsense"]
)
async def test_only_canonical_urls(demo, accessor, url):
    access = await accessor.access(PageRecord(url=url, site="x", state=State.KNOWN, depth=0, found_at=0.0))
    assert access.outcome is Outcome.FAILED


class Echo:
    """A host that tells which headers it got, or redirects to another."""

    def __init__(self, answer=None):
        self.seen = []
        self.location = None
        self.answer = answer or self.echo

    async def __aenter__(self):
        application = web.Application()
        application.router.add_get("/{path:.*}", self.answer)
        self.runner = web.AppRunner(application, access_log=None)
        await self.runner.setup()
        await web.TCPSite(self.runner, "127.0.0.1", 0).start()
        self.root = f"http://127.0.0.1:{self.runner.addresses[0][1]}/"
        return self

    async def __aexit__(self, *_):
        await self.runner.cleanup()

    async def echo(self, request):
        self.seen.append((str(request.path_qs), dict(request.headers)))
        if request.path.startswith("/go"):
            return web.Response(status=302, headers={"Location": self.location, "Set-Cookie": "a=b"})
        if request.path == "/robots.txt":
            return web.Response(status=404)
        return web.Response(text="fine", content_type="text/plain")


async def test_secrets_stay_with_their_host():
    async with Echo() as here, Echo() as there:
        here.location = there.root + "landing"
        site = SiteOptions(headers={"X-Key": "k1"}, cookies={"c": "v"}, user="u", password="secret-word")
        accessor = HttpAccessor(
            QUICK,
            clock=RealClock(),
            guard=Guard.of(seeds=[here.root, there.root]),
            sites={site_of(here.root): site},
        )
        access = await accessor.access(page(here.root + "go", etag='"e"', digest=b"d"))
        await accessor.close()
    assert access.outcome is Outcome.MOVED
    sent = dict(here.seen)["/go"]
    assert (sent["X-Key"], sent["Cookie"]) == ("k1", "c=v")
    assert sent["Authorization"] == "Basic dTpzZWNyZXQtd29yZA=="
    assert sent["If-None-Match"] == '"e"'
    landed = dict(there.seen)["/landing"]
    assert not {"X-Key", "Cookie", "Authorization", "If-None-Match"} & set(landed)
    assert "secret-word" not in repr(site) + repr(access) + repr(accessor.options)
    assert "k1" not in repr(site)


async def test_cookies_of_servers_are_not_kept():
    async with Echo() as here:
        here.location = here.root + "landing"
        accessor = HttpAccessor(QUICK, clock=RealClock(), guard=Guard.of(seeds=[here.root]))
        await accessor.access(page(here.root + "go"))
        await accessor.access(page(here.root + "landing"))
        await accessor.close()
    assert all("Cookie" not in headers for _, headers in here.seen)


async def test_the_robot_says_who_it_is():
    async with Echo() as here:
        options = dataclasses.replace(QUICK, contact="https://example.org/robot")
        accessor = HttpAccessor(options, clock=RealClock(), guard=Guard.of(seeds=[here.root]))
        await accessor.access(page(here.root))
        await accessor.close()
    agent = here.seen[-1][1]["User-Agent"]
    assert agent.startswith("recrawl/")
    assert agent.endswith("(+https://example.org/robot)")
    assert {"gzip", "br", "zstd"} <= {word.strip() for word in here.seen[-1][1]["Accept-Encoding"].split(",")}


async def test_a_proxy_gets_the_question_and_literal_addresses_are_still_refused():
    async with Echo() as proxy:
        options = dataclasses.replace(QUICK, proxy=proxy.root)
        accessor = HttpAccessor(options, clock=RealClock(), guard=Guard.of())
        access = await accessor.access(page("http://example.org/a?b"))
        refused = [
            await accessor.access(page(url))
            for url in ("http://169.254.169.254/", "http://10.1.2.3/", proxy.root + "x")
        ]
        await accessor.close()
    assert access.outcome is Outcome.CONTENT
    assert proxy.seen[-1][1]["Host"] == "example.org"
    assert [one.outcome for one in refused[:2]] == [Outcome.REFUSED] * 2
    assert refused[2].outcome is Outcome.REFUSED  # to have a proxy is not to have its address as a page


async def test_bandwidth_ceiling_holds_on_average(demo):
    options = dataclasses.replace(PATIENT, bandwidth_bytes_per_second=40_000, obey_exclusion=False)
    accessor = accessor_for(demo, options)
    started = time.monotonic()
    accesses = [await accessor.access(page(demo.url(n))) for n in range(6)]
    elapsed = time.monotonic() - started
    await accessor.close()
    paid = sum(access.size for access in accesses[:-1])
    assert paid / 40_000 <= elapsed <= paid / 40_000 + 1.0


async def raw(answer, options=QUICK, name="127.0.0.1", record=None):
    """Access a server that answers these bytes, whatever it is asked."""

    async def serve(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        with contextlib.suppress(ConnectionError):
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    url = f"http://{name}:{server.sockets[0].getsockname()[1]}/"
    options = dataclasses.replace(options, obey_exclusion=False)
    accessor = HttpAccessor(options, clock=RealClock(), guard=Guard.of(seeds=[url]))
    access = await accessor.access(page(url, **(record or {})))
    await accessor.close()
    server.close()
    return access


OK = b"HTTP/1.1 200 OK\r\n"
HTML = b"Content-Type: text/html\r\n"


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (b"", Outcome.FAILED),
        (b"\0\1\2\3" * 1000, Outcome.FAILED),
        (b"SSH-2.0-OpenSSH_9.6\r\n", Outcome.FAILED),
        (b"HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n", Outcome.FAILED),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 50, Outcome.FAILED),
        (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n", Outcome.FAILED),
        (b"HTTP/1.1 204 No Content\r\n\r\n", Outcome.FAILED),
        (OK + HTML + b"Content-Length: -5\r\n\r\nx", Outcome.FAILED),
        (OK + HTML + b"Content-Length: 5\r\nContent-Length: 7\r\n\r\nxxxxx", Outcome.FAILED),
        (OK + HTML + b"Content-Length: 900000000\r\n\r\nx", Outcome.UNREADABLE),
        (OK + HTML + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nx\r\n0\r\n\r\n", Outcome.FAILED),
        (OK + HTML + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nx", Outcome.FAILED),
        (OK + HTML + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", Outcome.FAILED),
        (OK + HTML + b"X: " + b"y" * 50_000 + b"\r\n\r\n", Outcome.FAILED),
        (OK + b"X: y\r\n" * 5_000 + b"\r\n", Outcome.FAILED),
        (OK + b"Bad Header\r\n\r\n", Outcome.FAILED),
        (b"HTTP/1.1 302 Found\r\nLocation: \xff\xfe\r\n\r\n", Outcome.FAILED),
        (b"HTTP/1.1 302 Found\r\nLocation: http://[::bad\r\n\r\n", Outcome.FAILED),
        (b"HTTP/1.1 302 Found\r\nLocation: \r\n\r\n", Outcome.FAILED),
        (b"HTTP/1.1 302 Found\r\n\r\n", Outcome.FAILED),
        (b"HTTP/1.1 429 Slow\r\nRetry-After: -1\r\nContent-Length: 0\r\n\r\n", Outcome.BUSY),
        (b"HTTP/1.1 429 Slow\r\nRetry-After: \xb2\r\nContent-Length: 0\r\n\r\n", Outcome.BUSY),
        (OK + HTML + b"Last-Modified: Mon, 99 Foo 2020\r\nETag: \xff\r\n\r\nfine", Outcome.CONTENT),
        (OK + b"Content-Type: text/html; charset=\xff\r\n\r\nfine", Outcome.CONTENT),
        (OK + HTML + b"\r\nuntil the connection ends", Outcome.CONTENT),
    ],
)
async def test_strange_answers(answer, outcome):
    access = await raw(answer)
    assert access.outcome is outcome, access.reason
    assert access.retry_after is None or access.retry_after >= 0
    extract(access)


@settings(max_examples=40)
@given(
    st.lists(
        st.sampled_from(
            [
                OK,
                HTML,
                b"\r\n",
                b"Content-Length: 3\r\n",
                b"Content-Encoding: br\r\n",
                b"0\r\n",
                b"Location: x\r\n",
                b"HTTP/1.1 301 X\r\n",
                b"Transfer-Encoding: chunked\r\n",
                b"\xff\0",
                b"<p>",
                b"5\r\nabcde\r\n",
            ]
        ),
        max_size=8,
    ).map(b"".join)
)
def test_any_bytes_are_an_outcome(answer):
    access = asyncio.run(raw(answer))
    assert access.outcome in set(Outcome)


async def test_a_seed_may_be_a_local_name():
    access = await raw(OK + HTML + b"\r\nfine", name="localhost")
    assert (access.outcome, access.body) == (Outcome.CONTENT, b"fine")


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd"])
async def test_content_encodings(encoding):
    import zlib
    from importlib import import_module

    text = b"compressed text " * 2000
    if encoding == "br":
        body = import_module("brotli").compress(text)
    elif encoding == "zstd":
        body = pytest.importorskip("backports.zstd").compress(text)
    else:
        engine = zlib.compressobj(9, wbits=31 if encoding == "gzip" else 15)
        body = engine.compress(text) + engine.flush()

    async def answer(_):
        return web.Response(body=body, content_type="text/plain", headers={"Content-Encoding": encoding})

    async with Echo(answer) as here:
        options = dataclasses.replace(QUICK, obey_exclusion=False)
        accessor = HttpAccessor(options, clock=RealClock(), guard=Guard.of(seeds=[here.root]))
        access = await accessor.access(page(here.root))
        await accessor.close()
    assert access.body == text
    assert access.size == len(body)


@pytest.mark.parametrize(
    "values",
    [
        {"total_timeout_seconds": 0},
        {"max_redirects": -1},
        {"product": "my robot"},
        {"contact": "a\nb"},
        {"proxy": "socks5://x"},
        {"max_body_bytes": -5},
        {"bandwidth_bytes_per_second": float("nan")},
    ],
)
def test_impossible_options(values):
    with pytest.raises(ConfigError, match=next(iter(values))):
        AccessOptions(**values)


@pytest.mark.parametrize(
    "values",
    [
        {"user": "x"},
        {"user": "x", "password": "y", "bearer": "z"},
        {"headers": {"Host": "evil"}},
        {"headers": {"X": "a\r\nHost: evil"}},
        {"bearer": "a\nb"},
        {"cookies": {"a": "b; c=d"}},
    ],
)
def test_impossible_site_options(values):
    with pytest.raises(ConfigError):
        SiteOptions(**values)
