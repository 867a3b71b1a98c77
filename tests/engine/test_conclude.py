"""What an access means for a page."""

from dataclasses import replace

import pytest
from tests.engine.fakes import FreeSites, access_of, page

from recrawl.engine.conclude import Conclusions, Patience
from recrawl.engine.records import Content, Link, Outcome, State

URL = "http://a.example/x"


class Below:
    def admits(self, url, depth):
        return url.startswith("http://a.example/") and depth <= 2

    def site_of(self, url):
        return url.split("/")[2]

    def weight_of(self, url):
        return 2.5 if url.endswith("/heavy") else None


@pytest.fixture
def conclude():
    return Conclusions(Below(), FreeSites(None), Patience(confirm_seconds=60.0))


def content(**changes):
    return replace(Content("t", "text", (), b"d" * 16), **changes)


def test_gone_needs_confirmation(conclude):
    first = conclude.without_content(access_of(URL, 100.0, Outcome.GONE, status=404), page(URL, digest=b"d"))
    assert (first.state, first.retry_at) == (State.KNOWN, 160.0)
    again = page(URL, digest=b"d", failures=1)
    assert (
        conclude.without_content(access_of(URL, 200.0, Outcome.GONE, status=404), again).state is State.GONE
    )
    at_once = conclude.without_content(access_of(URL, 1.0, Outcome.GONE, status=410), page(URL))
    assert at_once.state is State.GONE


def test_failures_wait_longer_and_longer(conclude):
    waits = [
        conclude.without_page(access_of(URL, 0.0, Outcome.FAILED), page(URL, failures=failures)).retry_at
        for failures in range(3)
    ]
    assert waits == [10.0, 20.0, 40.0]
    asked = conclude.without_page(access_of(URL, 0.0, Outcome.BUSY, retry_after=500.0), page(URL))
    assert asked.retry_at == 500.0


def test_noindex_leaves_but_its_links_count(conclude):
    found = conclude.with_content(
        access_of(URL, 1.0), page(URL), content(index=False, links=(Link("http://a.example/y"),)), None
    )
    assert found.state is State.EXCLUDED
    assert found.content is None
    assert [new.url for new in found.found] == ["http://a.example/y"]


def test_canonical_elsewhere_is_a_move(conclude):
    target = "http://a.example/real"
    found = conclude.with_content(access_of(URL, 1.0), page(URL), content(canonical=target), None)
    assert (found.state, found.moved_to, found.found[0].url) == (State.DUPLICATE, target, target)
    outside = conclude.with_content(
        access_of(URL, 1.0), page(URL), content(canonical="http://b.example/"), None
    )
    assert outside.state is State.KNOWN


def test_a_redirect_out_of_scope_excludes(conclude):
    moved = access_of(URL, 1.0, Outcome.MOVED, final_url="http://b.example/")
    assert conclude.without_content(moved, page(URL)).state is State.EXCLUDED


def test_links_of_the_scope_only(conclude):
    links = (
        Link("http://a.example/y"),
        Link("http://a.example/y"),
        Link("http://b.example/z"),
        Link("http://a.example/no", follow=False),
        Link(URL),
    )
    found = conclude.with_content(access_of(URL, 5.0), page(URL, depth=1), content(links=links), None)
    assert [(new.url, new.depth) for new in found.found] == [("http://a.example/y", 2)]
    deep = conclude.with_content(access_of(URL, 5.0), page(URL, depth=2), content(links=links), None)
    assert deep.found == ()


def test_pages_found_by_links_get_their_weights(conclude):
    links = (Link("http://a.example/heavy"), Link("http://a.example/light"))
    found = conclude.with_content(access_of(URL, 1.0), page(URL), content(links=links), None)
    assert [new.weight for new in found.found] == [2.5, None]


def test_pages_without_text_are_no_copies_of_one_another(conclude):
    empty = conclude.with_content(access_of(URL, 1.0), page(URL), content(text=" \n"), "http://a.example/y")
    assert (empty.state, empty.duplicate_of) == (State.KNOWN, None)
    same = conclude.with_content(access_of(URL, 1.0), page(URL), content(), "http://a.example/y")
    assert (same.state, same.duplicate_of) == (State.DUPLICATE, "http://a.example/y")


def test_unchanged_content(conclude):
    assert not conclude.with_content(
        access_of(URL, 1.0), page(URL, digest=b"d" * 16), content(), None
    ).changed
    assert not conclude.without_content(access_of(URL, 1.0, Outcome.NOT_MODIFIED), page(URL)).changed
