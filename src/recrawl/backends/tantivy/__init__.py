"""An index in a directory, by tantivy."""

from recrawl.backends.tantivy.index import TantivyIndex

__all__ = ["TantivyIndex"]
