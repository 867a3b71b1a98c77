"""The SQLite store against the memory store: whatever is done to both, they remember the same."""

import asyncio
import hashlib
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from recrawl.backends.memory import MemoryStore
from recrawl.backends.sqlite import SqliteStore
from recrawl.engine.records import Access, Content, Finding, NewPage, Outcome, State
from recrawl.errors import StoreError

NAMES = [f"http://{site}.test/{name}" for site in "xy" for name in "abcd"]
KEEP = 3  # replaced entries are forgotten soon, so that it happens here

urls = st.sampled_from(NAMES)
new_pages = st.builds(
    NewPage,
    url=urls,
    site=st.sampled_from(["x.test", "y.test"]),
    depth=st.integers(0, 3),
    found_at=st.sampled_from([1.0, 2.0]),
    weight=st.sampled_from([None, 1.0, 2.5]),
    last_modified=st.sampled_from([None, 5.0, 9.0]),
)
contents = st.builds(
    lambda text, headings: Content(
        f"T {text[:3]}", text, headings, hashlib.blake2b(text.encode(), digest_size=8).digest()
    ),
    st.sampled_from(["", "one", "two", "drei ü" * 100]),
    st.sampled_from([(), ("a", "b")]),
)


@st.composite
def findings(draw):
    answer = Access(
        url=draw(urls),
        started=0.0,
        ended=draw(st.integers(1, 40)) * 1.0,
        outcome=draw(st.sampled_from(list(Outcome))),
        etag=draw(st.sampled_from([None, '"1"'])),
        last_modified=draw(st.sampled_from([None, 3.0])),
        reason=draw(st.sampled_from(["", "why"])),
    )
    return Finding(
        access=answer,
        state=draw(st.sampled_from([State.KNOWN, State.KNOWN, *State])),
        changed=draw(st.booleans()),
        content=draw(st.none() | contents),
        duplicate_of=draw(st.none() | urls),
        moved_to=draw(st.none() | st.none() | urls),
        retry_at=draw(st.sampled_from([None, 77.0])),
        found=tuple(draw(st.lists(new_pages, max_size=3))),
        belief=draw(st.sampled_from([None, b"", b"\x00b"])),
    )


class Stores(RuleBasedStateMachine):
    """Does everything to both stores."""

    @initialize()
    def begin(self):
        self.runner = asyncio.Runner()
        self.folder = Path(tempfile.mkdtemp())
        self.memory = MemoryStore(keep_replaced=KEEP)
        self.sqlite = SqliteStore(self.folder / "store.sqlite3", keep_replaced=KEEP)
        # Most pages are known, or most findings would be refused.
        self.add([NewPage(url, "x.test", 1, 1.0) for url in NAMES[:-1]])

    def run(self, call):
        return self.runner.run(call)

    def both(self, method, *arguments):
        """Call both; they answer, or refuse, alike."""
        answers = []
        for store in (self.memory, self.sqlite):
            try:
                answers.append(self.run(getattr(store, method)(*arguments)))
            except StoreError as error:
                answers.append(str(error))
        assert answers[0] == answers[1]

    def add(self, pages):
        self.both("add", pages)

    @rule(pages=st.lists(new_pages, max_size=4))
    def add_some(self, pages):
        self.add(pages)

    @rule(batch=st.lists(findings(), max_size=4))
    def record(self, batch):
        self.both("record", batch)

    @rule(names=st.lists(urls, max_size=3), until=st.sampled_from([1.0, 99.0]))
    def lease(self, names, until):
        self.both("lease", names, until)

    @rule(name=st.sampled_from(["p", "q"]), value=st.binary(max_size=3))
    def save(self, name, value):
        self.both("save", name, value)
        self.both("load", name)

    @rule(after=st.integers(0, 10), limit=st.integers(1, 5))
    def feed(self, after, limit):
        self.both("revisions", after, limit)

    @rule(body=contents)
    def twin(self, body):
        self.both("same_content", body.digest)

    @rule()
    def reopen(self):
        self.run(self.sqlite.close())
        self.sqlite = SqliteStore(self.folder / "store.sqlite3", keep_replaced=KEEP)
        pages = self.memory._tables.pages  # whoever opens the file to write ends the leases of a dead process
        pages.update({url: replace(page, leased_until=None) for url, page in pages.items()})

    @invariant()
    def same(self):
        if not hasattr(self, "runner"):
            return

        async def everything(store):
            statistics = await store.statistics()
            del statistics["bytes"]
            texts = [await store.text(url) for url in NAMES]
            pages = [page async for page in store.pages()]
            return pages, texts, await store.revisions(0, 1000), await store.last_revision(), statistics

        assert self.run(everything(self.memory)) == self.run(everything(self.sqlite))

    def teardown(self):
        if hasattr(self, "runner"):
            self.run(self.sqlite.close())
            self.runner.close()
            shutil.rmtree(self.folder)


class TestStores(Stores.TestCase):
    # Making a failure smaller takes minutes, as every attempt opens files: the long test does it.
    settings = settings(max_examples=40, stateful_step_count=20, deadline=None, phases=[Phase.generate])


@pytest.mark.slow
class TestStoresLong(Stores.TestCase):
    settings = settings(max_examples=150, stateful_step_count=40, deadline=None, derandomize=False)
