"""What every store does: one suite, the memory store is the reference."""

from dataclasses import fields

import pytest

from recrawl.backends import open_store
from recrawl.engine.records import Outcome, PageColumns, State
from recrawl.errors import ConfigError, StoreError

URL = "http://x.test/{}".format


async def listed(store):
    return {page.url: page async for page in store.pages()}


async def kinds(store, after=0):
    return [(entry.kind, entry.url[-1]) for entry in await store.revisions(after, 1000)]


class TestPages:
    async def test_an_empty_store(self, store):
        assert await listed(store) == {}
        assert await store.page(URL("a")) is None
        assert await store.last_revision() == 0
        assert await store.revisions(0, 10) == []
        assert await store.text(URL("a")) is None

    async def test_added_pages_are_known_in_order(self, store, make):
        new = await store.add([make.page("b", weight=2.0), make.page("a", last_modified=5.0)])
        assert [page.url for page in new] == [URL("b"), URL("a")]
        assert list(await listed(store)) == [URL("b"), URL("a")]
        page = await store.page(URL("b"))
        assert (page.state, page.depth, page.found_at, page.weight) == (State.KNOWN, 1, 10.0, 2.0)
        assert (page.last_access, page.digest, page.in_links, page.revision) == (None, None, 0, 0)

    async def test_a_lastmod_of_a_sitemap_is_no_validator(self, store, make):
        (page,) = await store.add([make.page(last_modified=5.0)])
        assert page.announced == 5.0
        assert page.last_modified is None

    async def test_a_known_page_keeps_its_place(self, store, make):
        await store.add([make.page(depth=3, found_at=10.0)])
        assert await store.add([make.page(depth=1, found_at=20.0, weight=4.0, last_modified=7.0)]) == []
        page = await store.page(URL("a"))
        assert (page.depth, page.found_at, page.weight, page.announced) == (3, 10.0, 4.0, 7.0)
        await store.add([make.page(last_modified=6.0)])
        page = await store.page(URL("a"))
        assert (page.weight, page.announced) == (4.0, 7.0)

    async def test_a_page_named_twice_is_added_once(self, store, make):
        assert len(await store.add([make.page(), make.page()])) == 1
        assert len(await listed(store)) == 1

    async def test_columns_are_the_pages(self, store, make):
        assert [columns async for columns in store.scan()] == []
        await store.add([make.page(f"p{n}", weight=float(n)) for n in range(50)])
        await store.record([make.finding("p3", text="one", links=["p4"], belief=b"1", retry_at=7.0)])
        await store.lease([URL("p5")], until=9.0)
        batches = [columns async for columns in store.scan()]
        names = [field.name for field in fields(PageColumns)]
        rows = [
            row for batch in batches for row in zip(*(getattr(batch, name) for name in names), strict=True)
        ]
        pages = (await listed(store)).values()
        assert rows == [tuple(getattr(page, name) for name in names) for page in pages]

    async def test_strange_urls(self, store, make):
        names = ["ä?q=%20&x=1", "'; DROP TABLE pages; --", "x" * 5000, "漢字", "%"]
        await store.add([make.page(name) for name in names])
        assert list(await listed(store)) == [URL(name) for name in names]


class TestRecord:
    async def test_a_first_text(self, store, make):
        await store.add([make.page()])
        (page,) = await store.record(
            [make.finding(at=100.0, text="hello", etag='"1"', last_modified=50.0, belief=b"12")]
        )
        assert page == await store.page(URL("a"))
        assert page.digest == make.content("hello").digest
        assert (page.last_access, page.last_change, page.last_try) == (100.0, 100.0, 100.0)
        assert (page.etag, page.last_modified, page.title) == ('"1"', 50.0, "Title")
        assert (page.accesses, page.changes, page.failures, page.revision) == (1, 0, 0, 1)
        assert (page.belief, page.last_outcome) == (b"12", Outcome.CONTENT)
        (entry,) = await store.revisions(0, 10)
        assert (entry.number, entry.kind, entry.url, entry.site) == (1, "added", URL("a"), "x.test")
        assert (entry.time, entry.digest, entry.title, entry.text) == (100.0, page.digest, "Title", "hello")
        assert entry.latest
        assert await store.text(URL("a")) == entry

    async def test_a_change(self, store, make):
        await store.add([make.page()])
        await store.record([make.finding(at=100.0, text="one", etag='"1"')])
        (page,) = await store.record([make.finding(at=200.0, text="two")])
        assert (page.changes, page.accesses, page.last_change, page.revision) == (1, 2, 200.0, 2)
        assert page.etag is None  # the new answer had none
        first, second = await store.revisions(0, 10)
        assert (first.kind, first.latest, first.text, first.title) == ("added", False, "", "")
        assert (second.kind, second.latest, second.text) == ("changed", True, "two")
        assert (await store.text(URL("a"))).text == "two"

    async def test_not_modified(self, store, make):
        await store.add([make.page()])
        await store.record([make.finding(at=100.0, text="one", etag='"1"', last_modified=9.0)])
        (page,) = await store.record([make.finding(at=200.0, outcome=Outcome.NOT_MODIFIED, changed=False)])
        assert (page.last_access, page.last_change, page.accesses, page.changes) == (200.0, 100.0, 2, 0)
        assert (page.etag, page.last_modified, page.revision) == ('"1"', 9.0, 1)
        assert await store.last_revision() == 1

    async def test_the_same_text_again_makes_no_revision(self, store, make):
        await store.add([make.page()])
        await store.record([make.finding(at=100.0, text="one")])
        (page,) = await store.record([make.finding(at=200.0, text="one", changed=True)])
        assert (page.changes, page.revision, page.last_change, page.last_access) == (0, 1, 100.0, 200.0)

    async def test_a_text_extracted_anew_is_no_change_of_the_page(self, store, make):
        await store.add([make.page()])
        await store.record([make.finding(at=100.0, text="one and menu")])
        (page,) = await store.record([make.finding(at=200.0, text="one", changed=False)])
        assert (page.changes, page.revision) == (0, 2)
        assert (await store.text(URL("a"))).text == "one"

    async def test_a_finding_recorded_twice_counts_once(self, store, make):
        await store.add([make.page()])
        found = make.finding(at=100.0, text="one", links=["b"])
        once = await store.record([found])
        again = await store.record([found])
        assert again == once[:1]
        failed = make.finding(at=200.0, outcome=Outcome.FAILED, changed=False)
        await store.record([failed])
        assert (await store.record([failed, failed]))[0].failures == 1
        statistics = await store.statistics()
        assert statistics["accesses"] == {"content": 1, "failed": 1}
        assert statistics["revisions"] == 1

    @pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.BUSY, Outcome.REFUSED, Outcome.GONE])
    async def test_an_access_without_news(self, store, make, outcome):
        await store.add([make.page()])
        await store.record([make.finding(at=100.0, text="one", etag='"1"')])
        (page,) = await store.record(
            [make.finding(at=200.0, outcome=outcome, changed=False, retry_at=500.0, reason="no answer")]
        )
        assert (page.failures, page.retry_at, page.last_access, page.last_try) == (1, 500.0, 100.0, 200.0)
        assert (page.accesses, page.etag, page.reason, page.last_outcome) == (1, '"1"', "no answer", outcome)
        assert (await store.text(URL("a"))).text == "one"
        (page,) = await store.record([make.finding(at=300.0, outcome=outcome, changed=False)])
        assert page.failures == 2
        (page,) = await store.record([make.finding(at=400.0, outcome=Outcome.NOT_MODIFIED, changed=False)])
        assert (page.failures, page.retry_at, page.reason) == (0, None, "")

    async def test_belief_stays_unless_given(self, store, make):
        await store.add([make.page()])
        await store.record([make.finding(at=100.0, text="one", belief=b"\x00\xff")])
        (page,) = await store.record([make.finding(at=200.0, text="two")])
        assert page.belief == b"\x00\xff"
        (page,) = await store.record([make.finding(at=300.0, text="three", belief=b"")])
        assert page.belief == b""

    async def test_an_unknown_page_and_nothing_is_written(self, store, make):
        await store.add([make.page("a")])
        with pytest.raises(StoreError, match=r"x\.test/z"):
            await store.record([make.finding("a", text="one", links=["b"]), make.finding("z", text="two")])
        assert (await store.page(URL("a"))).accesses == 0
        assert await store.page(URL("b")) is None
        assert await store.last_revision() == 0
        assert (await store.statistics())["accesses"] == {}
        await store.record([make.finding("a", text="one", links=["b"])])
        assert await store.last_revision() == 1
        assert (await store.page(URL("b"))).in_links == 1

    async def test_a_page_may_be_found_in_the_same_batch(self, store, make):
        await store.add([make.page("a")])
        pages = await store.record(
            [make.finding("a", text="one", links=["b", "c"]), make.finding("b", text="two", links=["a"])]
        )
        assert [page.url[-1] for page in pages] == ["a", "b", "b", "c"]
        assert [page.accesses for page in pages] == [1, 1, 1, 0]

    async def test_or_by_a_later_finding_of_the_batch(self, store, make):
        await store.add([make.page("a")])
        pages = await store.record(
            [make.finding("b", text="two"), make.finding("a", text="one", links=["b"])]
        )
        assert [(page.url[-1], page.in_links) for page in pages] == [("b", 1), ("a", 0), ("b", 1)]

    async def test_findings_of_one_page_in_one_batch(self, store, make):
        await store.add([make.page()])
        pages = await store.record([make.finding(at=float(at), text=f"text {at}") for at in (1, 2, 3)])
        assert [page.revision for page in pages] == [3, 3, 3]
        entries = await store.revisions(0, 10)
        assert [(entry.kind, entry.latest) for entry in entries] == [
            ("added", False),
            ("changed", False),
            ("changed", True),
        ]

    async def test_no_findings(self, store):
        assert await store.record([]) == []


class TestStates:
    @pytest.mark.parametrize("state", [State.GONE, State.EXCLUDED])
    async def test_a_page_that_leaves(self, store, make, state):
        await store.add([make.page("a"), make.page("b")])
        await store.record([make.finding("a", text="one", etag='"1"', last_modified=9.0, links=["b"])])
        outcome = Outcome.GONE if state is State.GONE else Outcome.EXCLUDED
        (page,) = await store.record([make.finding("a", 200.0, outcome=outcome, state=state, changed=True)])
        assert (page.state, page.digest, page.etag, page.last_modified) == (state, None, None, None)
        assert await store.text(URL("a")) is None
        entries = await store.revisions(1, 10)
        assert [(entry.kind, entry.text, entry.digest) for entry in entries] == [("removed", "", None)]
        assert (await store.page(URL("b"))).in_links == 0
        # Seen again, it is not removed again; and when it comes back it is added.
        await store.record([make.finding("a", 300.0, outcome=outcome, state=state, changed=False)])
        await store.record([make.finding("a", 400.0, text="one")])
        assert await kinds(store) == [("added", "a"), ("removed", "a"), ("added", "a")]

    async def test_a_page_gone_before_it_had_a_text(self, store, make):
        await store.add([make.page()])
        await store.record([make.finding(outcome=Outcome.GONE, state=State.GONE, changed=False)])
        assert await store.last_revision() == 0

    async def test_a_duplicate_is_not_searchable_but_keeps_its_text(self, store, make):
        await store.add([make.page("a"), make.page("b")])
        await store.record([make.finding("a", text="same")])
        digest = make.content("same").digest
        assert await store.same_content(digest) == URL("a")
        (page,) = await store.record(
            [make.finding("b", text="same", state=State.DUPLICATE, duplicate_of=URL("a"), etag='"b"')]
        )
        assert (page.state, page.duplicate_of, page.digest, page.etag) == (
            State.DUPLICATE,
            URL("a"),
            digest,
            '"b"',
        )
        assert await kinds(store) == [("added", "a")]
        assert (await store.text(URL("b"))).text == "same"
        assert await store.same_content(digest) == URL("a")
        # The original goes; the duplicate takes its place without a new text.
        await store.record([make.finding("a", 200.0, outcome=Outcome.GONE, state=State.GONE)])
        assert await store.same_content(digest) is None
        await store.record([make.finding("b", 300.0, outcome=Outcome.NOT_MODIFIED, changed=False)])
        assert await kinds(store) == [("added", "a"), ("removed", "a"), ("added", "b")]
        assert (await store.revisions(2, 1))[0].text == "same"
        assert (await store.page(URL("b"))).duplicate_of is None
        assert await store.same_content(digest) == URL("b")

    async def test_many_contents_at_once(self, store, make):
        await store.add([make.page(name) for name in "abc"])
        await store.record([make.finding("b", text="one"), make.finding("a", text="one")])
        await store.record([make.finding("c", text="two", state=State.DUPLICATE, duplicate_of=URL("b"))])
        digests = [make.content(text).digest for text in ("one", "two", "three")]
        assert await store.same_contents(digests) == {digests[0]: URL("a")}
        assert await store.same_contents([]) == {}

    async def test_a_page_that_becomes_a_duplicate_is_removed(self, store, make):
        await store.add([make.page("a"), make.page("b")])
        await store.record([make.finding("a", text="same"), make.finding("b", text="other")])
        await store.record(
            [make.finding("b", 200.0, text="same", state=State.DUPLICATE, duplicate_of=URL("a"))]
        )
        assert await kinds(store) == [("added", "a"), ("added", "b"), ("removed", "b")]
        assert (await store.page(URL("b"))).changes == 1

    async def test_a_duplicate_without_text_has_no_validators(self, store, make):
        await store.add([make.page()])
        (page,) = await store.record([make.finding(state=State.DUPLICATE, changed=False, etag='"1"')])
        assert (page.digest, page.etag) == (None, None)
        assert await store.text(URL("a")) is None

    async def test_a_moved_page_loses_its_text(self, store, make):
        await store.add([make.page("a")])
        await store.record([make.finding("a", text="one", etag='"1"')])
        page, target = await store.record(
            [make.finding("a", 200.0, outcome=Outcome.MOVED, moved_to=URL("b"), links=["b"], changed=False)]
        )
        assert (page.moved_to, page.digest, page.etag) == (URL("b"), None, None)
        assert (target.url, target.in_links) == (URL("b"), 0)
        assert await kinds(store) == [("added", "a"), ("removed", "a")]
        (page,) = await store.record([make.finding("a", 300.0, outcome=Outcome.FAILED, changed=False)])
        assert page.moved_to == URL("b")
        (page,) = await store.record([make.finding("a", 400.0, text="back")])
        assert page.moved_to is None


class TestLinks:
    async def test_each_page_that_links_counts_once(self, store, make):
        await store.add([make.page("a"), make.page("b")])
        pages = await store.record([make.finding("a", text="1", links=["c", "c", "a", "b"])])
        assert {page.url[-1]: page.in_links for page in pages} == {"a": 0, "c": 1}
        await store.record([make.finding("b", text="2", links=["c"])])
        assert (await store.page(URL("c"))).in_links == 2
        await store.record([make.finding("b", 200.0, text="3", links=["c"])])
        assert (await store.page(URL("c"))).in_links == 2

    async def test_links_that_disappear(self, store, make):
        await store.add([make.page("a")])
        await store.record([make.finding("a", text="1", links=["b", "c"])])
        await store.record([make.finding("a", 200.0, text="2", links=["c", "d"])])
        links = {url[-1]: page.in_links for url, page in (await listed(store)).items()}
        assert links == {"a": 0, "b": 0, "c": 1, "d": 1}
        await store.record([make.finding("a", 300.0, outcome=Outcome.NOT_MODIFIED, changed=False)])
        assert (await store.page(URL("c"))).in_links == 1

    async def test_adding_is_no_link(self, store, make):
        await store.add([make.page("a")])
        await store.add([make.page("a")])
        assert (await store.page(URL("a"))).in_links == 0


class TestLeases:
    async def test_a_lease_ends_with_the_record(self, store, make):
        await store.add([make.page("a"), make.page("b")])
        await store.lease([URL("a"), URL("b")], until=500.0)
        assert [page.leased_until for page in (await listed(store)).values()] == [500.0, 500.0]
        await store.lease([URL("a")], until=600.0)
        assert (await store.page(URL("a"))).leased_until == 600.0
        (page,) = await store.record([make.finding("a", text="one")])
        assert page.leased_until is None
        assert (await store.page(URL("a"))).leased_until is None

    async def test_unknown_pages_are_passed_over(self, store):
        await store.lease([URL("z")], until=500.0)
        assert await store.page(URL("z")) is None


class TestFeed:
    async def test_order_and_limit(self, store, make):
        names = [f"p{n}" for n in range(10)]
        await store.add([make.page(name) for name in names])
        await store.record([make.finding(name, text=name) for name in names])
        entries = await store.revisions(0, 4)
        assert [entry.number for entry in entries] == [1, 2, 3, 4]
        assert [entry.number for entry in await store.revisions(8, 100)] == [9, 10]
        assert await store.revisions(10, 100) == []
        assert await store.last_revision() == 10

    async def test_long_and_empty_texts(self, store, make):
        long = "wörter und 漢字 " * 20_000
        await store.add([make.page("a"), make.page("b")])
        await store.record([make.finding("a", text=long), make.finding("b", text="", title="")])
        first, second = await store.revisions(0, 10)
        assert first.text == long
        assert (second.text, second.title, second.kind) == ("", "", "added")

    async def test_headings(self, store, make):
        await store.add([make.page()])
        body = make.content("x", headings=("One, two", 'a "quoted" heading\nline', ""))
        await store.record([make.finding(content=body)])
        assert (await store.text(URL("a"))).headings == body.headings


class TestValues:
    async def test_named_values(self, store):
        assert await store.load("plan") is None
        await store.save("plan", b"\x00\x01")
        await store.save("plan", b"\x02")
        await store.save("other", b"")
        assert await store.load("plan") == b"\x02"
        assert await store.load("other") == b""

    async def test_statistics(self, store, make):
        await store.add([make.page(name) for name in "abcd"])
        await store.record([make.finding("a", text="1"), make.finding("b", text="2")])
        await store.record([make.finding("a", 200.0, text="3")])
        await store.record([make.finding("b", 200.0, outcome=Outcome.GONE, state=State.GONE)])
        await store.record([make.finding("c", 200.0, outcome=Outcome.FAILED, changed=False)])
        statistics = await store.statistics()
        assert statistics.pop("bytes") >= 0
        assert statistics == {
            "pages": {"known": 3, "gone": 1, "excluded": 0, "duplicate": 0},
            "searchable": 1,
            "accesses": {"content": 3, "failed": 1, "gone": 1},
            "changes": 1,
            "revisions": 4,
        }


async def test_a_closed_store_says_so(store_url, make):
    store = open_store(store_url)
    await store.close()
    await store.close()
    with pytest.raises(StoreError, match="closed"):
        await store.add([make.page()])
    with pytest.raises(StoreError, match="closed"):
        await store.page(URL("a"))


def test_an_unknown_scheme():
    with pytest.raises(ConfigError, match="postgres"):
        open_store("postgres://host/db")
