import asyncio
import gzip
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl.demo import DemoOptions, DemoWeb
from recrawl.engine.guard import Guard
from recrawl.engine.http_access import HttpAccessor
from recrawl.engine.options import AccessOptions
from recrawl.engine.records import Access, Outcome
from recrawl.engine.sitemaps import Entry, SitemapOptions, parse_lastmod, parse_sitemap, read_sitemaps


class RealClock:
    monotonic = staticmethod(time.monotonic)
    sleep = staticmethod(asyncio.sleep)
    time = staticmethod(time.time)


ROOT = "http://example.org/sitemap.xml"


def urlset(*urls, lastmod=""):
    items = "".join(f"<url><loc> {url} </loc>{lastmod}<priority>0.5</priority></url>" for url in urls)
    return f'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{items}</urlset>'.encode()


def index(*urls):
    items = "".join(f"<sitemap><loc>{url}</loc></sitemap>" for url in urls)
    return f"<sitemapindex>{items}</sitemapindex>".encode()


def test_pages_with_dates():
    body = urlset("http://example.org/a?x=1&amp;y=2", "/relative", lastmod="<lastmod>1970-01-02</lastmod>")
    for file in (body, gzip.compress(body), b"\n \n" + body, b"\xef\xbb\xbf" + body):
        assert parse_sitemap(file, ROOT).pages == [
            Entry("http://example.org/a?x=1&y=2", 86400.0),
            Entry("http://example.org/relative", 86400.0),
        ]


def test_other_namespaces_do_not_disturb():
    body = b"""<urlset xmlns="x" xmlns:image="y"><url><loc>http://a.example/1</loc><image:image>
    <image:loc>http://a.example/picture.png</image:loc></image:image></url></urlset>"""
    assert parse_sitemap(body, ROOT).pages == [Entry("http://a.example/1")]


def test_plain_text():
    assert parse_sitemap(b"http://a.example/1\r\n\r\nnonsense\nhttp://a.example/2", ROOT).pages == [
        Entry("http://a.example/1"),
        Entry("http://a.example/2"),
    ]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-01T01:00:00+01:00", 0.0),
        ("1970-01-01T00:00:00Z", 0.0),
        ("1970-01-01T00:00:00.5Z", 0.5),
        ("1971", 31536000.0),
        ("1970-02", 2678400.0),
        ("0000-00-00", None),
        ("soon", None),
        ("", None),
        ("9" * 50, None),
        ("1900-01-01", None),
    ],
)
def test_dates(text, seconds):
    assert parse_lastmod(text) == seconds


BOMB = b"""<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>
<urlset><url><loc>http://a.example/&b;</loc></url></urlset>"""
EXTERNAL = b"""<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><urlset><url><loc>http://a/&e;</loc></url></urlset>"""


@pytest.mark.parametrize("body", [BOMB, EXTERNAL, gzip.compress(BOMB)])
def test_xml_bombs_are_refused(body):
    found = parse_sitemap(body, ROOT)
    assert not found.pages
    assert "document type" in found.error


def test_what_came_before_an_error_is_kept():
    body = urlset("http://a.example/1", "http://a.example/2")
    cut = parse_sitemap(body[:-40], ROOT)
    assert len(cut.pages) >= 1
    assert cut.error
    half = gzip.compress(urlset(*(f"http://a.example/{n * 7919 % 10007}" for n in range(3000))))
    found = parse_sitemap(half[: len(half) // 2], ROOT)
    assert 100 < len(found.pages) < 3000
    assert "truncated" in found.error


def test_bounds():
    body = urlset(*(f"http://a.example/{n}" for n in range(100)))
    assert len(parse_sitemap(body, ROOT, SitemapOptions(max_entries=10)).pages) == 10
    found = parse_sitemap(
        gzip.compress(b"<urlset>" + b" " * 50_000_000), ROOT, SitemapOptions(max_bytes=1_000_000)
    )
    assert "1000000 bytes" in found.error


@given(st.binary(max_size=500))
def test_noise(body):
    for file in (body, b"<" + body, b"\x1f\x8b" + body, gzip.compress(b"<urlset>" + body)):
        parse_sitemap(file, ROOT)


class Files:
    def __init__(self, **files):
        self.files = {f"http://example.org/{name}": body for name, body in files.items()}
        self.asked = []

    async def read(self, url, _max_bytes):
        self.asked.append(url)
        body = self.files.get(url)
        fields = (
            {"outcome": Outcome.CONTENT, "body": body}
            if body
            else {"outcome": Outcome.GONE, "reason": "status 404"}
        )
        return Access(url=url, started=0.0, ended=0.0, **fields)


async def test_indexes_are_followed_once_and_not_for_ever():
    files = Files(
        a=index(
            "http://example.org/a",
            "http://example.org/b",
            "http://example.org/missing",
            "http://evil.example/x",
        ),
        b=index("http://example.org/a", "http://example.org/c"),
        c=urlset("http://example.org/1", "http://other.example/2"),
    )
    problems = []
    found = [
        entry.url
        async for entry in read_sitemaps(
            ["http://example.org/a"], files.read, problems=lambda *problem: problems.append(problem)
        )
    ]
    assert found == ["http://example.org/1", "http://other.example/2"]
    assert files.asked == [f"http://example.org/{name}" for name in ("a", "b", "missing", "c")]
    assert problems == [("http://example.org/missing", "status 404")]


async def test_an_endless_index_ends():
    class Endless:
        asked = 0

        async def read(self, url, _max_bytes):
            Endless.asked += 1
            body = index(*(f"http://example.org/{Endless.asked}-{n}" for n in range(100)))
            return Access(url=url, started=0.0, ended=0.0, outcome=Outcome.CONTENT, body=body)

    options = SitemapOptions(max_files=50)
    assert not [entry async for entry in read_sitemaps(["http://example.org/x"], Endless().read, options)]
    assert Endless.asked == 50


async def test_sitemaps_of_the_demonstration_web():
    async with DemoWeb(DemoOptions(sites=1, pages_per_site=2300)) as demo:
        accessor = HttpAccessor(AccessOptions(), clock=RealClock(), guard=Guard.of(seeds=demo.seeds))
        starts = await accessor.exclusion.sitemaps(demo.seeds[0])
        found = [entry async for entry in read_sitemaps(starts, accessor.read)]
        await accessor.close()
        assert [entry.url for entry in found] == demo.truth.urls
        assert all(abs(entry.last_modified - demo.truth.start) < 100 for entry in found)
