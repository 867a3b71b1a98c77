"""The reference index: looks at every page for every search."""

from __future__ import annotations

import math
import re
import unicodedata
from typing import TYPE_CHECKING

from recrawl.backends._words import LONGEST_WORD, UNSPACED, fragments
from recrawl.engine.records import Hit, Revision
from recrawl.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = ["MemoryIndex"]

_WORD = re.compile(rf"[{UNSPACED}]|[^\W_{UNSPACED}]+")
# The usual constants of BM25, and what a word weighs by its place.
_SATURATION, _LENGTH = 1.2, 0.75
_BOOSTS = {"title": 3.0, "headings": 2.0, "text": 1.0}
_SNIPPET = 200  # characters

_Words = dict[str, list[str]]  # words of each field


class MemoryIndex:
    """Forgets everything when the process ends."""

    def __init__(self) -> None:
        self._applied: dict[str, Revision] = {}
        self._applied_to = 0
        self._searchable: dict[str, tuple[Revision, _Words]] = {}
        self._watermark = 0
        self._closed = False

    async def apply(self, revisions: Sequence[Revision]) -> None:
        self._check_open()
        for revision in revisions:
            self._applied_to = max(self._applied_to, revision.number)
            if revision.latest:
                self._applied[revision.url] = revision

    async def commit(self) -> int:
        self._check_open()
        for url, revision in self._applied.items():
            self._searchable.pop(url, None)
            if revision.kind != "removed":
                self._searchable[url] = revision, _fields(revision)
        self._applied.clear()
        self._watermark = max(self._watermark, self._applied_to)
        return self._watermark

    async def watermark(self) -> int:
        self._check_open()
        return self._watermark

    async def search(
        self, query: str, *, site: str | None = None, limit: int = 10, offset: int = 0
    ) -> tuple[int, list[Hit]]:
        self._check_open()
        parsed = fragments(query)
        wanted = [words for words in map(_words, parsed.wanted) if words]
        unwanted = [words for words in map(_words, parsed.unwanted) if words]
        candidates = [
            (revision, fields)
            for revision, fields in self._searchable.values()
            if (site is None or revision.site == site) and not any(_has(fields, words) for words in unwanted)
        ]
        found = [page for page in candidates if wanted and all(_has(page[1], words) for words in wanted)]
        found = found or [page for page in candidates if any(_has(page[1], words) for words in wanted)]
        scores = {revision.url: self._score(fields, wanted) for revision, fields in found}
        found.sort(key=lambda page: (-scores[page[0].url], page[0].url))
        hits = [
            _hit(revision, scores[revision.url], wanted) for revision, _ in found[offset : offset + limit]
        ]
        return len(found), hits

    def _score(self, fields: _Words, wanted: list[list[str]]) -> float:
        """BM25, summed over fields."""
        pages = [others for _, others in self._searchable.values()]
        score = 0.0
        for field, boost in _BOOSTS.items():
            mean_length = sum(len(others[field]) for others in pages) / len(pages)
            for words in wanted:
                containing = sum(_count(others[field], words) > 0 for others in pages)
                rarity = math.log(1 + (len(pages) - containing + 0.5) / (containing + 0.5))
                count = _count(fields[field], words)
                length = 1 - _LENGTH + _LENGTH * len(fields[field]) / max(mean_length, 1)
                score += (
                    boost * rarity * count * (1 + _SATURATION) / max(count + _SATURATION * length, 1e-300)
                )
        return score

    async def verify(self) -> None:
        self._check_open()  # there are no files

    async def clear(self) -> None:
        self._check_open()
        self._applied.clear()
        self._searchable.clear()
        self._applied_to = self._watermark = 0

    async def close(self) -> None:
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError("the index is closed")


def _fold(text: str) -> str:
    """Lower case, and letters without their accents."""
    decomposed = unicodedata.normalize("NFD", text.lower())
    return "".join(character for character in decomposed if not unicodedata.combining(character))


def _places(text: str) -> Iterator[tuple[str, int, int]]:
    for match in _WORD.finditer(text):
        if len(match[0].encode()) < LONGEST_WORD:
            yield _fold(match[0]), match.start(), match.end()


def _words(text: str) -> list[str]:
    return [word for word, _, _ in _places(unicodedata.normalize("NFC", text))]


def _fields(revision: Revision) -> _Words:
    return {
        "title": _words(revision.title),
        "headings": [word for heading in revision.headings for word in _words(heading)],
        "text": _words(revision.text),
    }


def _count(words: list[str], phrase: list[str]) -> int:
    """How often a phrase occurs."""
    return sum(words[i : i + len(phrase)] == phrase for i in range(len(words) - len(phrase) + 1))


def _has(fields: _Words, phrase: list[str]) -> bool:
    return any(_count(words, phrase) for words in fields.values())


def _hit(revision: Revision, score: float, wanted: Iterable[list[str]]) -> Hit:
    sought = {word for words in wanted for word in words}
    text = unicodedata.normalize("NFC", revision.text)
    places = [(start, end) for word, start, end in _places(text) if word in sought]
    begin = places[0][0] if places else 0
    snippet = text[begin : begin + _SNIPPET]
    marks = tuple((start - begin, end - begin) for start, end in places if end - begin <= len(snippet))
    return Hit(revision.url, revision.site, revision.title, snippet, score, revision.number, marks)
