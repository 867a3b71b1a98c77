"""A store in one SQLite file."""

from recrawl.backends.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
