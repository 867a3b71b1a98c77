import time

import pytest

from recrawl.engine.complexity import too_complex
from recrawl.engine.extract import extract
from recrawl.engine.records import Access, Outcome


def extracted(body):
    started = time.process_time()
    access = Access("http://a/", 0.0, 0.0, Outcome.CONTENT, body=body, content_type="text/html")
    return extract(access).outcome, time.process_time() - started


ATTACKS = {
    "nested": b"<div>" * 200_000,
    "nested and closed": b"<div>" * 100_000 + b"x" + b"</div>" * 100_000,
    "unknown elements": b"<x-a>" * 100_000 + b"<div></div>" * 100_000,
    "formatting": b"<p>"
    + b"".join(b"<font color=%d>" % n for n in range(400))
    + b"</p>"
    + b"<p>x</p>" * 100_000,
    "self-closed": b"<div/>" * 200_000,
    "foreign outside": b"<path/>" * 200_000 + b"<div></div>" * 1000,
    "many": b"<p></p>" * 1_000_000,
    "tables": b"<table>" * 100_000,
    "links": b"<a><div>" * 100_000,
    "one tag": b"<div " + b"x" * 3_000_000,
    "quotes": b"<div a='" * 200_000,
}


@pytest.mark.parametrize("name", ATTACKS)
def test_attacks_end_soon(name):
    outcome, seconds = extracted(ATTACKS[name])
    assert outcome in (Outcome.UNREADABLE, Outcome.CONTENT)
    assert seconds < 5


@pytest.mark.parametrize(
    "page",
    [
        b"<div><p>text<br>more<img src=x></p></div>" * 20_000,
        b"<ul>" + b"<li>one<li>two" * 20_000,
        b"<table>" + b"<tr><td>a<td>b" * 20_000,
        b"<div>" * 100 + b"<span>x</span>" * 5000,
        b"<svg>" + b'<path d="M0 0"/>' * 5000 + b"</svg>" + b"<p>x</p>" * 1000,
        b"<a name=x>y" * 5000,
        b"a < b and c > d " * 5000,
    ],
)
def test_ordinary_pages_pass(page):
    assert too_complex(page) is None


def test_the_bound_on_depth_is_that_of_browsers():
    around = b"<p>x</p>" * 1000
    assert too_complex(b"<div>" * 512 + around) is None
    assert too_complex(b"<div>" * 513 + around)
