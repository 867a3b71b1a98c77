"""What the engine's Protocols need: stores, indexes, buffers and clocks, chosen by the scheme of a URL.

=============================  ==========================================================
``memory:``                    a store or an index that forgets; the reference of the tests
``sqlite:PATH``                a store in one file
``tantivy:PATH``               an index in a directory
=============================  ==========================================================

A path without a scheme is a SQLite store or a tantivy index.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from recrawl.errors import ConfigError

if TYPE_CHECKING:
    from recrawl.engine.protocols import Index, Store

__all__ = ["open_index", "open_store"]


def open_store(url: str | Path, *, read_only: bool = False) -> Store:
    """Open a store, making it when there is none.

    With `read_only`, look into a store beside the engine that owns it: nothing is made, upgraded or locked.
    """
    scheme, path = _split(url, "sqlite")
    if scheme == "memory":
        from recrawl.backends.memory.store import MemoryStore

        return MemoryStore()
    if scheme == "sqlite":
        from recrawl.backends.sqlite.store import SqliteStore

        return SqliteStore(path, read_only=read_only)
    raise ConfigError(f"store {str(url)!r}: scheme {scheme!r} is not known; known are memory: and sqlite:")


def open_index(url: str | Path, *, read_only: bool = False) -> Index:
    """Open an index, making it when there is none; with `read_only`, beside the engine that writes it."""
    scheme, path = _split(url, "tantivy")
    if scheme == "memory":
        from recrawl.backends.memory.index import MemoryIndex

        return MemoryIndex()
    if scheme == "tantivy":
        from recrawl.backends.tantivy.index import TantivyIndex

        return TantivyIndex(path, read_only=read_only)
    raise ConfigError(f"index {str(url)!r}: scheme {scheme!r} is not known; known are memory: and tantivy:")


def _split(url: str | Path, default: str) -> tuple[str, Path]:
    """Scheme and path; a drive letter is no scheme."""
    scheme, colon, rest = str(url).partition(":")
    if isinstance(url, Path) or not colon or len(scheme) == 1 or not scheme.isalnum():
        return default, Path(url)
    return scheme, Path(rest.removeprefix("//"))
