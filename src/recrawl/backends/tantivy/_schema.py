"""What an index page consists of, and how texts become words."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

import tantivy

from recrawl.backends._words import LONGEST_WORD, UNSPACED

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["BOOSTS", "analyzer", "joined", "schema", "separated"]

# What a matched word weighs by its place.
BOOSTS = {"title": 3.0, "headings": 2.0, "text": 1.0}

# An invisible space makes each character of an unspaced script a word for tantivy's plain splitting, which is four
# times as fast as splitting by a regular expression. Snippets lose it again.
_INVISIBLE = "\u200b"
_UNSPACED_RUN = re.compile(f"[{UNSPACED}]+")


def analyzer() -> tantivy.TextAnalyzer:
    """Words without case and accents, of a text that was `separated`."""
    return (
        tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
        .filter(tantivy.Filter.remove_long(LONGEST_WORD))
        .filter(tantivy.Filter.lowercase())
        .filter(tantivy.Filter.ascii_fold())
        .build()
    )


def separated(text: str) -> str:
    """The text with accents joined to their letters and unspaced characters apart."""
    if text.isascii() or _is_latin(text):
        return text
    text = unicodedata.normalize("NFC", text)
    return _UNSPACED_RUN.sub(lambda run: _INVISIBLE + _INVISIBLE.join(run[0]) + _INVISIBLE, text)


def _is_latin(text: str) -> bool:
    """Whether all characters are below U+0100: no accent stands apart there, and spaces are written."""
    try:
        text.encode("latin-1")
    except UnicodeEncodeError:
        return False
    return True


def joined(text: str, places: Sequence[tuple[int, int]] = ()) -> tuple[str, tuple[tuple[int, int], ...]]:
    """The text as people read it, and places in it, which were counted in bytes of UTF-8, in its characters.

    >>> joined("\u200b漢\u200b字\u200b ab", [(3, 6), (16, 18)])
    ('漢字 ab', ((0, 1), (3, 5)))
    """
    if text.isascii():
        return text, tuple(sorted(places))
    data = text.encode()

    def characters(end: int) -> int:
        return len(data[:end].decode().replace(_INVISIBLE, ""))

    return text.replace(_INVISIBLE, ""), tuple((characters(a), characters(b)) for a, b in sorted(places))


def schema() -> tantivy.Schema:
    """The fields. `url` and `site` are single terms; the revision is also that of the watermark (see index.py)."""
    builder = tantivy.SchemaBuilder()
    for name in ("url", "site"):
        builder.add_text_field(name, stored=True, tokenizer_name="raw", index_option="basic")
    for name in BOOSTS:
        builder.add_text_field(name, stored=True, tokenizer_name="words")
    builder.add_integer_field("revision", stored=True, indexed=True)
    return builder.build()
