"""Backends by name, and records that tests are made of."""

import hashlib
from dataclasses import replace
from types import SimpleNamespace

import pytest

from recrawl.backends import open_index, open_store
from recrawl.engine.records import Access, Content, Finding, NewPage, Outcome, Revision, State

STORES = ["memory", "sqlite"]
INDEXES = ["memory", "tantivy"]


def new_page(name="a", **fields):
    return replace(NewPage(url=f"http://x.test/{name}", site="x.test", depth=1, found_at=10.0), **fields)


def content(text, title="Title", headings=(), **fields):
    digest = hashlib.blake2b(f"{title}\n{text}".encode(), digest_size=16).digest()
    return Content(title=title, text=text, headings=tuple(headings), digest=digest, **fields)


def access(name="a", at=100.0, outcome=Outcome.CONTENT, **fields):
    return Access(url=f"http://x.test/{name}", started=at - 1, ended=at, outcome=outcome, **fields)


def finding(name="a", at=100.0, text=None, outcome=Outcome.CONTENT, links=(), title="Title", **fields):
    """A finding as the indexer makes it; `text` brings a content, `links` names pages that it links to."""
    answer = {key: fields.pop(key) for key in ("etag", "last_modified", "reason") if key in fields}
    body = None if text is None else content(text, title)
    fields = {"state": State.KNOWN, "changed": text is not None, "content": body, **fields}
    found = tuple(new_page(link) for link in links)
    return Finding(access=access(name, at, outcome, **answer), found=found, **fields)


def revision(number, name="a", text="", kind="changed", **fields):
    base = Revision(number=number, kind=kind, url=f"http://x.test/{name}", site="x.test", time=1.0, text=text)
    return replace(base, **fields)


@pytest.fixture
def make():
    """Builders of records: `make.finding("a", text="...")`."""
    return SimpleNamespace(page=new_page, content=content, access=access, finding=finding, revision=revision)


@pytest.fixture(params=STORES)
def store_url(request, tmp_path):
    return {"memory": "memory:", "sqlite": f"sqlite:{tmp_path / 'store.sqlite3'}"}[request.param]


@pytest.fixture
async def store(store_url):
    opened = open_store(store_url)
    yield opened
    await opened.close()


@pytest.fixture(params=INDEXES)
def index_url(request, tmp_path):
    return {"memory": "memory:", "tantivy": f"tantivy:{tmp_path / 'index'}"}[request.param]


@pytest.fixture
async def index(index_url):
    opened = open_index(index_url)
    yield opened
    await opened.close()
