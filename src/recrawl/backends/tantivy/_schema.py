"""What an index page consists of, and how texts become words."""

from __future__ import annotations

import tantivy

from recrawl.backends._words import LONGEST_WORD, UNSPACED

__all__ = ["BOOSTS", "analyzer", "schema"]

# What a matched word weighs by its place.
BOOSTS = {"title": 3.0, "headings": 2.0, "text": 1.0}

_WORD = rf"[{UNSPACED}]|[\p{{L}}\p{{M}}\p{{N}}_--[{UNSPACED}]]+"


def analyzer() -> tantivy.TextAnalyzer:
    """Words without case and accents, in any language."""
    return (
        tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.regex(_WORD))
        .filter(tantivy.Filter.remove_long(LONGEST_WORD))
        .filter(tantivy.Filter.lowercase())
        .filter(tantivy.Filter.ascii_fold())
        .build()
    )


def schema() -> tantivy.Schema:
    """The fields. `url` and `site` are single terms; the revision is also that of the watermark (see index.py)."""
    builder = tantivy.SchemaBuilder()
    for name in ("url", "site"):
        builder.add_text_field(name, stored=True, tokenizer_name="raw", index_option="basic")
    for name in BOOSTS:
        builder.add_text_field(name, stored=True, tokenizer_name="words")
    builder.add_integer_field("revision", stored=True, indexed=True)
    return builder.build()
