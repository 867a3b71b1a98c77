"""Words of texts and queries, the same for every index and every language.

A word is a run of letters and digits; in scripts that write no spaces (Han, Kana, Thai, Lao, Khmer, Burmese) every
character is a word. What has several words in a query (`foo_bar`, `搜索`) is a phrase. No stemming, no stop words: they
would belong to one language.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["LONGEST_WORD", "UNSPACED", "Query", "fragments"]

# Ranges of characters, written to stand inside [...] of a regular expression.
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"

LONGEST_WORD = 100  # bytes; what is longer is no word but data

_PART = re.compile(r'(-?)(?:"([^"]*)"?|(\S+))')


@dataclass(frozen=True, slots=True)
class Query:
    """What a user asks for: texts of which each is a word or a phrase."""

    wanted: tuple[str, ...]
    unwanted: tuple[str, ...]


def fragments(query: str) -> Query:
    """Split a query at spaces and quotation marks. Every text is a query; what makes no sense is a word like others.

    >>> fragments('fresh "web pages" -old')
    Query(wanted=('fresh', 'web pages'), unwanted=('old',))
    >>> fragments('C++ "unclosed quote')
    Query(wanted=('C++', 'unclosed quote'), unwanted=())
    """
    wanted: list[str] = []
    unwanted: list[str] = []
    for minus, phrase, word in _PART.findall(query):
        text = (phrase or word).strip()
        if text:
            (unwanted if minus else wanted).append(text)
    return Query(tuple(wanted), tuple(unwanted))
