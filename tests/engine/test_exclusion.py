import asyncio
import dataclasses
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl.demo import DemoOptions, DemoWeb
from recrawl.engine.exclusion import MAX_EXCLUSION_BYTES, Exclusion, Permission
from recrawl.engine.guard import Guard
from recrawl.engine.http_access import HttpAccessor
from recrawl.engine.options import AccessOptions
from recrawl.engine.records import Access, Outcome, PageRecord, State


class HandClock:
    now = 1000.0

    def time(self):
        return self.now

    def monotonic(self):
        return self.now


class Server:
    """Answers robots.txt with what it is told to."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = []

    async def __call__(self, url):
        self.asked.append(url)
        await asyncio.sleep(0)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        fields = (
            {"outcome": Outcome.CONTENT, "status": 200, "body": answer}
            if isinstance(answer, bytes)
            else answer
        )
        return Access(url=url, started=0.0, ended=0.0, **fields)


MISSING = {"outcome": Outcome.GONE, "status": 404}
FORBIDDEN = {"outcome": Outcome.FAILED, "status": 403}
BROKEN = {"outcome": Outcome.FAILED, "status": 500, "reason": "status 500"}
UNREACHABLE = {"outcome": Outcome.FAILED, "status": None, "reason": "timed out"}
BUSY = {"outcome": Outcome.BUSY, "status": 429, "retry_after": 1000.0}


def exclusion_of(*answers, **options):
    server = Server(*answers)
    return Exclusion(server, HandClock(), AccessOptions(**options)), server


RULES = b"""
User-agent: *
Disallow: /private/
Allow: /private/open
Disallow: /*.pdf$
Crawl-delay: 7

User-agent: recrawl
Disallow: /not-for-recrawl
Sitemap: http://example.org/map.xml
"""


async def test_rules_of_its_own_group():
    exclusion, _ = exclusion_of(RULES)
    own = [await exclusion.permission(f"http://example.org/{p}") for p in ("not-for-recrawl/x", "private/x")]
    assert [permission for permission, _ in own] == [Permission.DISALLOWED, Permission.ALLOWED]
    exclusion, _ = exclusion_of(RULES, product="another")
    paths = ["private/x", "private/open/x", "a.pdf", "a.pdf?x", ""]
    others = [(await exclusion.permission(f"http://example.org/{p}"))[0] for p in paths]
    assert [permission is Permission.ALLOWED for permission in others] == [False, True, False, True, True]
    assert await exclusion.crawl_delay("http://example.org/") == 7
    assert await exclusion.sitemaps("http://example.org/") == ["http://example.org/map.xml"]


@pytest.mark.parametrize(
    "answer", [MISSING, FORBIDDEN, b"", b"\xff\xfe\x00garbage", b"<html>not found</html>"]
)
async def test_nothing_said_is_allowed(answer):
    exclusion, _ = exclusion_of(answer)
    assert (await exclusion.permission("http://example.org/a"))[0] is Permission.ALLOWED
    assert await exclusion.crawl_delay("http://example.org/a") is None


@pytest.mark.parametrize("answer", [BROKEN, UNREACHABLE, BUSY])
async def test_unreachable_is_disallowed_for_now(answer):
    exclusion, server = exclusion_of(answer, b"User-agent: *\nDisallow: /x")
    permission, rules = await exclusion.permission("http://example.org/a")
    assert permission is Permission.UNKNOWN
    assert "robots.txt" in rules.reason
    assert (await exclusion.permission("http://example.org/b"))[0] is Permission.UNKNOWN
    assert len(server.asked) == 1  # not asked again at once
    exclusion.clock.now += 1001
    assert (await exclusion.permission("http://example.org/a"))[0] is Permission.ALLOWED


async def test_an_old_copy_serves_while_the_site_is_away():
    exclusion, server = exclusion_of(RULES, BROKEN, MISSING)
    url = "http://example.org/not-for-recrawl"
    assert (await exclusion.permission(url))[0] is Permission.DISALLOWED
    exclusion.clock.now += 25 * 3600
    assert (await exclusion.permission(url))[0] is Permission.DISALLOWED
    exclusion.clock.now += 301
    assert (await exclusion.permission(url))[0] is Permission.ALLOWED
    assert len(server.asked) == 3


async def test_asked_once_for_each_origin_even_by_many_robots():
    exclusion, server = exclusion_of(RULES)
    urls = [f"http://{host}/{n}" for host in ("a.example", "b.example", "b.example:81") for n in range(20)]
    await asyncio.gather(*(exclusion.permission(url) for url in urls))
    assert sorted(server.asked) == [
        "http://a.example/robots.txt",
        "http://b.example/robots.txt",
        "http://b.example:81/robots.txt",
    ]
    exclusion.clock.now += 23 * 3600
    await exclusion.permission(urls[0])
    assert len(server.asked) == 3


async def test_disobedience_asks_nobody():
    exclusion, server = exclusion_of(RULES, obey_exclusion=False)
    assert (await exclusion.permission("http://example.org/not-for-recrawl"))[0] is Permission.ALLOWED
    assert await exclusion.crawl_delay("http://example.org/") is None
    assert not server.asked


async def test_only_the_beginning_of_a_huge_file_counts():
    huge = b"User-agent: *\nDisallow: /a\n" + b"#" * MAX_EXCLUSION_BYTES + b"\nDisallow: /b\n"
    exclusion, _ = exclusion_of(huge)
    assert (await exclusion.permission("http://example.org/a"))[0] is Permission.DISALLOWED
    assert (await exclusion.permission("http://example.org/b"))[0] is Permission.ALLOWED


@pytest.mark.parametrize("wish", [b"nan", b"inf", b"-5", b"1e999", b"soon", b""])
async def test_a_crawl_delay_that_makes_no_sense(wish):
    exclusion, _ = exclusion_of(b"User-agent: *\nCrawl-delay: " + wish + b"\nRequest-rate: 1/0\n")
    assert await exclusion.crawl_delay("http://example.org/") in (None, 0.0)


@given(
    st.lists(
        st.sampled_from(
            [
                b"User-agent: *",
                b"Disallow: /*$",
                b"Allow:",
                b"Crawl-delay:",
                b"Request-rate: 0/0",
                b"%",
                b"Sitemap:",
                b"Visit-time: x",
                b"\xff\xfe",
                b"Disallow: /%zz*$*",
                b"\0",
                b":",
            ]
        ),
        max_size=9,
    )
)
def test_any_robots_txt_can_be_read(lines):
    async def ask():
        exclusion, _ = exclusion_of(b"\n".join(lines))
        await exclusion.crawl_delay("http://example.org/")
        await exclusion.sitemaps("http://example.org/")
        return await exclusion.permission("http://example.org/a%zz?b")

    assert asyncio.run(ask())[0] in (Permission.ALLOWED, Permission.DISALLOWED)


class RealClock:
    monotonic = staticmethod(time.monotonic)
    sleep = staticmethod(asyncio.sleep)
    time = staticmethod(time.time)


@pytest.mark.parametrize(
    ("kind", "outcome"),
    [
        ("normal", Outcome.CONTENT),
        ("missing", Outcome.CONTENT),
        ("garbage", Outcome.CONTENT),
        ("huge", Outcome.CONTENT),
        ("disallow", Outcome.EXCLUDED),
        ("error", Outcome.FAILED),
        ("busy", Outcome.BUSY),
        ("hang", Outcome.FAILED),
        ("loop", Outcome.FAILED),
    ],
)
async def test_over_the_wire(kind, outcome):
    async with DemoWeb(DemoOptions(sites=1, pages_per_site=3, exclusion=kind)) as demo:
        options = dataclasses.replace(AccessOptions(), read_timeout_seconds=0.3, total_timeout_seconds=1)
        accessor = HttpAccessor(options, clock=RealClock(), guard=Guard.of(seeds=demo.seeds))
        record = PageRecord(url=demo.url(1), site="x", state=State.KNOWN, depth=0, found_at=0.0)
        access = await accessor.access(record)
        await accessor.close()
        assert access.outcome is outcome, access.reason
        if outcome is not Outcome.CONTENT:
            assert demo.hits[(demo.ports[0], "/0/1.html")] == 0
            assert "robots.txt" in access.reason
