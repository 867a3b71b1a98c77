"""The index in a directory.

The watermark is a page of its own in the index, with no words, replaced in the commit that it describes: both become
durable in the same instant. An index that died between commits is simply as it was at the last one.
"""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

import tantivy

from recrawl.backends.tantivy._check import damaged_file
from recrawl.backends.tantivy._query import Finder
from recrawl.backends.tantivy._schema import analyzer, schema, separated
from recrawl.errors import IndexDamaged, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from recrawl.engine.records import Hit, Revision

__all__ = ["TantivyIndex"]

_WATERMARK = ":watermark"  # no URL begins like this
_HEAP = 64_000_000  # bytes of words gathered before a part is written to disk
_SEARCHERS = 2  # threads that search
_QUICK = 0.002  # seconds: searches that take less, of short queries for a few hits, need no thread
_SHORT_QUERY, _FEW_HITS = 200, 50

# Files that tantivy makes, and nothing else, are removed by `clear`.
_OWN_FILES = (
    "meta.json",
    ".managed.json",
    "*.idx",
    "*.pos",
    "*.term",
    "*.store",
    "*.fast",
    "*.fieldnorm",
    "*.del",
    "*.tmp",
)

# What tantivy says, and what it means.
_MEANINGS = {
    "LockBusy": "is being written by another engine",
    "No space left": "could not be written: the disk is full; free some space, nothing was damaged",
    "StorageFull": "could not be written: the disk is full; free some space, nothing was damaged",
    "Permission": "could not be written: the directory is read-only",
    "Read-only": "could not be written: the disk is read-only",
}
# A file that is already there was left by an engine that was killed while it committed.
_SIGNS_OF_DAMAGE = ("orrupt", "Footer", "FileDoesNotExist", "FileAlreadyExists", "deserialize")

T = TypeVar("T")


class TantivyIndex:
    """Words to pages. One engine writes; with `read_only`, others search beside it and see each commit.

    The directory is opened when it is first used, so that a damaged one can be cleared.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self._path = path
        self._read_only = read_only
        self._analyzer = analyzer()
        self._index: tantivy.Index | None = None
        self._writer: tantivy.IndexWriter | None = None
        self._stamp: tuple[int, int] | None = None  # of the meta file, as it was last read
        self._opening = threading.Lock()
        self._applied_to = 0
        self._closed = False
        self._usual = 2.0 * _QUICK  # processor seconds of a search, lately
        self._writing = ThreadPoolExecutor(1, thread_name_prefix="recrawl-index")
        self._searching = ThreadPoolExecutor(_SEARCHERS, thread_name_prefix="recrawl-search")

    async def apply(self, revisions: Sequence[Revision]) -> None:
        await self._run(self._writing, lambda: self._apply(revisions))

    async def commit(self) -> int:
        return await self._run(self._writing, self._commit)

    async def watermark(self) -> int:
        return await self._run(self._searching, self._watermark)

    async def search(
        self, query: str, *, site: str | None = None, limit: int = 10, offset: int = 0
    ) -> tuple[int, list[Hit]]:
        if self._is_quick(query, limit):
            return self._search(query, site, limit, offset)
        return await self._run(self._searching, lambda: self._search(query, site, limit, offset))

    def _is_quick(self, query: str, limit: int) -> bool:
        """Whether a search had better be done at once.

        tantivy keeps the interpreter's lock while it searches, so the event loop gains nothing from a thread; and the
        thread would wait for the lock behind all others, for ten times as long as a search takes.
        """
        opened = self._writer is not None and self._index is not None and not self._closed
        return opened and self._usual < _QUICK and len(query) <= _SHORT_QUERY and limit <= _FEW_HITS

    def _search(self, query: str, site: str | None, limit: int, offset: int) -> tuple[int, list[Hit]]:
        index, begun = self._opened(), time.thread_time()
        with self._explained():
            finder = Finder(index.searcher(), index.schema, self._analyzer)
            found = finder.search(query, site, limit, offset)
        self._usual += 0.1 * (time.thread_time() - begun - self._usual)
        return found

    async def verify(self) -> None:
        await self._run(self._searching, self._verify)

    async def clear(self) -> None:
        await self._run(self._writing, self._clear)

    async def close(self) -> None:
        if not self._closed:
            self._closed = True
            await asyncio.to_thread(self._searching.shutdown)
            await asyncio.to_thread(self._writing.shutdown)
            self._drop_writer()
            self._index = None

    async def _run(self, pool: ThreadPoolExecutor, work: Callable[[], T]) -> T:
        if self._closed:
            raise StoreError(f"index {self._path} is closed")
        return await asyncio.get_running_loop().run_in_executor(pool, work)

    def _opened(self) -> tantivy.Index:
        """The index, as of the last commit by whoever writes it."""
        if (
            self._writer is not None and self._index is not None
        ):  # only this process writes it, and reloads it itself
            return self._index
        with self._opening, self._explained():
            stamp = self._meta_stamp()
            if self._index is None:
                if stamp is None and self._read_only:
                    raise StoreError(f"index {self._path}: there is none; `recrawl run` makes it")
                self._path.mkdir(parents=True, exist_ok=True)
                self._index = tantivy.Index(schema(), path=str(self._path))
                self._index.register_tokenizer("words", self._analyzer)
                self._index.config_reader("manual")
                self._stamp = None
            if self._stamp is None or stamp != self._stamp:
                self._stamp = self._meta_stamp()
                self._index.reload()
            return self._index

    def _meta_stamp(self) -> tuple[int, int] | None:
        """Changes with each commit."""
        try:
            status = (self._path / "meta.json").stat()
        except FileNotFoundError:
            return None
        return status.st_mtime_ns, status.st_ino

    def _watermark(self) -> int:
        index = self._opened()
        with self._explained():
            searcher = index.searcher()
            query = tantivy.Query.term_query(index.schema, "url", _WATERMARK)
            hits = searcher.search(query, limit=1).hits
            return int(searcher.doc(hits[0][1]).get_first("revision") or 0) if hits else 0

    def _verify(self) -> None:
        self._opened()
        with self._explained():
            file = damaged_file(self._path)
            if file is not None:
                raise IndexDamaged(
                    f"index {self._path} is damaged and must be built anew from the store (checksum of {file})"
                )

    def _apply(self, revisions: Sequence[Revision]) -> None:
        if self._read_only:
            raise StoreError(f"index {self._path} was opened for reading")
        index = self._opened()
        with self._explained(writing=True):
            if self._writer is None:
                self._writer = index.writer(_HEAP, 1)
            for revision in revisions:
                self._applied_to = max(self._applied_to, revision.number)
                if revision.latest:
                    self._writer.delete_documents_by_term("url", revision.url)
                    if revision.kind != "removed":
                        self._writer.add_document(_page(revision))

    def _commit(self) -> int:
        number = self._watermark()
        if self._writer is None:  # nothing was applied
            return number
        with self._explained(writing=True):
            if self._applied_to > number:
                number = self._applied_to
                self._writer.delete_documents_by_term("url", _WATERMARK)
                self._writer.add_document(tantivy.Document(url=_WATERMARK, revision=number))
            self._writer.commit()
            self._stamp = self._meta_stamp()
            self._opened().reload()
        return number

    def _drop_writer(self) -> None:
        """Forget what was applied and not committed. Only the attribute holds the writer, so its lock ends here."""
        self._writer = None
        self._applied_to = 0

    def _clear(self) -> None:
        """Remove every file of the index, whatever is in them."""
        if self._read_only:
            raise StoreError(f"index {self._path} was opened for reading")
        self._drop_writer()
        with self._opening, self._explained():
            self._index = None
            for pattern in _OWN_FILES:
                for file in self._path.glob(pattern):
                    file.unlink()
        self._opened()

    @contextmanager
    def _explained(self, *, writing: bool = False) -> Iterator[None]:
        """Errors as people understand them; one while writing loses what was not committed."""
        try:
            yield
        except StoreError:
            raise
        except BaseException as error:
            # Rust's panics come as an exception that is no Exception.
            if not isinstance(error, ValueError | OSError) and type(error).__name__ != "PanicException":
                raise
            if writing:
                self._drop_writer()
            raise self._translated(str(error), writing) from None

    def _translated(self, text: str, writing: bool) -> StoreError:
        for mark, meaning in _MEANINGS.items():
            if mark in text:
                return StoreError(f"index {self._path} {meaning}")
        if writing and not any(mark in text for mark in _SIGNS_OF_DAMAGE):
            return StoreError(f"index {self._path} could not be written: {text[:200]}")
        return IndexDamaged(
            f"index {self._path} is damaged and must be built anew from the store ({text[:200]})"
        )


def _page(revision: Revision) -> tantivy.Document:
    return tantivy.Document(
        url=revision.url,
        site=revision.site,
        title=separated(revision.title),
        headings=separated("\n".join(revision.headings)),
        text=separated(revision.text),
        revision=revision.number,
    )
