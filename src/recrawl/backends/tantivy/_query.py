"""From a user's words to a query, and from a match to a snippet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tantivy

from recrawl.backends._words import fragments
from recrawl.backends.tantivy._schema import BOOSTS, joined, separated
from recrawl.engine.records import Hit

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Finder"]

_SNIPPET = 200  # characters
_LOOKED_AT = 3_000  # characters of a text in which a snippet is looked for
_AROUND = 800  # of them, where a word is known to be
_TRIES = 20  # places inside longer words that are passed over
_WORDS = 64  # of a query that are looked for; the rest of a longer one is left out


class Finder:
    """Searches one state of the index."""

    def __init__(
        self, searcher: tantivy.Searcher, schema: tantivy.Schema, analyzer: tantivy.TextAnalyzer
    ) -> None:
        self._searcher = searcher
        self._schema = schema
        self._analyzer = analyzer

    def search(self, query: str, site: str | None, limit: int, offset: int) -> tuple[int, list[Hit]]:
        parsed = fragments(query)
        wanted = self._queries(parsed.wanted)
        if not wanted:
            return 0, []
        fixed = [(tantivy.Occur.MustNot, query) for query in self._queries(parsed.unwanted)]
        if site is not None:
            # The constant 0 keeps the filter out of the score.
            term = tantivy.Query.term_query(self._schema, "site", site)
            fixed.append((tantivy.Occur.Must, tantivy.Query.const_score_query(term, 0.0)))
        all_of_them = tantivy.Query.boolean_query([(tantivy.Occur.Must, query) for query in wanted])
        some_of_them = tantivy.Query.boolean_query([(tantivy.Occur.Should, query) for query in wanted])
        for words in (all_of_them, some_of_them):
            whole = tantivy.Query.boolean_query([(tantivy.Occur.Must, words), *fixed])
            # tantivy demands a limit of at least 1.
            result: Any = self._searcher.search(whole, limit=max(limit, 1), offset=offset, count=True)
            if result.count:
                return result.count, self._hits(result.hits[:limit], some_of_them, parsed.wanted)
        return 0, []

    def _queries(self, texts: Sequence[str]) -> list[tantivy.Query]:
        """A query for each text that has words: all its words, side by side, in any of the fields."""
        queries = []
        for text in texts[:_WORDS]:
            words = self._analyzer.analyze(separated(text))[:_WORDS]
            if words:
                queries.append(
                    tantivy.Query.boolean_query(
                        [(tantivy.Occur.Should, self._in_field(name, words)) for name in BOOSTS]
                    )
                )
        return queries

    def _in_field(self, name: str, words: list[str]) -> tantivy.Query:
        if len(words) == 1:
            query = tantivy.Query.term_query(self._schema, name, words[0])
        else:
            query = tantivy.Query.phrase_query(self._schema, name, list(words))
        return tantivy.Query.boost_query(query, BOOSTS[name])

    def _hits(
        self,
        found: Sequence[tuple[float, tantivy.DocAddress]],
        query: tantivy.Query,
        texts: Sequence[str],
    ) -> list[Hit]:
        snippets = tantivy.SnippetGenerator.create(self._searcher, query, self._schema, "text")
        snippets.set_max_num_chars(_SNIPPET)
        words = [word for text in texts[:_WORDS] for word in self._analyzer.analyze(separated(text))][:_WORDS]
        words.sort(key=len, reverse=True)
        return [self._hit(score, self._searcher.doc(address), snippets, words) for score, address in found]

    def _hit(self, score: float, page: Any, snippets: tantivy.SnippetGenerator, words: Sequence[str]) -> Hit:
        whole = page.get_first("text") or ""
        start, end = _place(whole, words)  # to take a whole text apart would take longer than the search
        part = page if (start, end) == (0, len(whole)) else tantivy.Document(text=whole[start:end])
        snippet = snippets.snippet_from_doc(part)
        text, places = joined(snippet.fragment(), [(mark.start, mark.end) for mark in snippet.highlighted()])
        if not text:  # the words are in the title or the headings
            text, _ = joined(whole[:_SNIPPET])
        return Hit(
            url=page.get_first("url"),
            site=page.get_first("site"),
            title=joined(page.get_first("title") or "")[0],
            snippet=text,
            score=score,
            revision=page.get_first("revision"),
            marks=places,
        )


def _place(text: str, words: Sequence[str]) -> tuple[int, int]:
    """Where to look for a snippet: around the longest of the words that is found, or else at the beginning.

    >>> _place("apples and an apple", ["apple"]), _place("no fruit", ["apple"])
    ((0, 19), (0, 8))
    >>> text = "x " * 500 + "apple" + " x" * 500
    >>> text[slice(*_place(text, ["apple"]))].index("apple")
    200
    """
    small = text.lower()
    for word in words:
        place = small.find(word)
        for _ in range(_TRIES):
            if place < 0:
                break
            end = place + len(word)
            if not (small[place - 1 : place].isalnum() or small[end : end + 1].isalnum()):
                start = small.rfind(" ", 0, max(place - _SNIPPET, 0)) + 1
                return start, min(start + _AROUND, len(text))
            place = small.find(word, end)
    return 0, min(_LOOKED_AT, len(text))
