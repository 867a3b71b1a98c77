"""Opening the file: named queries, layout and its version, the lock of the engine that owns it."""

from __future__ import annotations

import os
import re
import sqlite3
from importlib.resources import files
from typing import TYPE_CHECKING

from recrawl.errors import StoreError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["LAYOUT", "QUERIES", "EngineLock", "explained", "open_reader", "open_writer"]

_APPLICATION = 0x7263726C  # "rcrl" in the file's header: this file is ours
_PATIENCE = 10.0  # seconds to wait for somebody who looks into the file with another program
_SQL = files("recrawl.backends.sqlite") / "sql"


def _read_queries() -> dict[str, str]:
    blocks = re.split(r"^-- name: *(\w+)\n", (_SQL / "queries.sql").read_text("utf-8"), flags=re.MULTILINE)
    return dict(zip(blocks[1::2], (block.strip() for block in blocks[2::2]), strict=True))


def _read_migrations() -> list[tuple[int, str]]:
    scripts = [entry for entry in (_SQL / "migrations").iterdir() if entry.name.endswith(".sql")]
    return sorted((int(script.name[:4]), script.read_text("utf-8")) for script in scripts)


QUERIES = _read_queries()
_MIGRATIONS = _read_migrations()
LAYOUT = _MIGRATIONS[-1][0]  # the newest layout that this version knows


def explained(path: Path, error: sqlite3.Error) -> StoreError:
    """The error as people understand it: what happened to which file, and what can be done."""
    text = str(error)
    if "full" in text:
        advice = "the disk is full; free some space, nothing was damaged"
    elif "locked" in text or "busy" in text:
        advice = f"another program has locked it for more than {_PATIENCE:.0f} s"
    elif "readonly" in text or "read-only" in text:
        advice = "it cannot be written: the file or the disk is read-only"
    elif "malformed" in text or "not a database" in text:
        advice = (
            "it is damaged or not a store; restore it from a backup, or start with an empty data directory"
        )
    else:
        advice = text
    return StoreError(f"store {path}: {advice}")


def open_writer(path: Path) -> sqlite3.Connection:
    """Open or make the file for writing, and bring its layout up to date."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"store {path}: {error.strerror}") from error
    try:
        connection = _connect(path, "rwc")
        try:
            _check(connection, path)
            # WAL: readers and the writer do not wait for each other. NORMAL: a commit does not wait for the disk, so
            # the last ones may be lost with the power (never with the process, and never is the file damaged). Pages
            # whose record was lost are due again; a revision is handed out only after a commit that did wait.
            connection.execute("PRAGMA journal_mode = wal").fetchone()
            connection.execute("PRAGMA synchronous = normal")
            connection.execute("PRAGMA wal_autocheckpoint = 4000")  # disk pages of 4 KiB
            connection.execute("PRAGMA journal_size_limit = 67108864")
            connection.execute("PRAGMA cache_size = -65536")  # KiB
            _migrate(connection)
            connection.execute(
                QUERIES["end_leases"]
            ).close()  # the caller has the lock: whoever had pages is dead
        except BaseException:
            connection.close()
            raise
    except sqlite3.Error as error:
        raise explained(path, error) from error
    return connection


def open_reader(path: Path) -> sqlite3.Connection:
    """Open the file for reading, beside whoever writes it."""
    if not path.exists():
        raise StoreError(f"store {path}: there is none; `recrawl run` makes it")
    try:
        try:
            connection = _connect(path, "ro")
            version = _check(connection, path)
        except sqlite3.OperationalError:
            # A directory that cannot be written has no place for WAL's shared memory. When no log is left
            # behind the file is complete in itself, and nobody can be writing it.
            log = path.with_name(path.name + "-wal")
            if os.access(path.parent, os.W_OK) or (log.exists() and log.stat().st_size):
                raise
            connection = _connect(path, "ro&immutable=1")
            version = _check(connection, path)
    except sqlite3.Error as error:
        raise explained(path, error) from error
    if version < LAYOUT:
        connection.close()
        raise StoreError(f"store {path}: layout {version} is older than {LAYOUT}; `recrawl run` upgrades it")
    return connection


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        timeout=_PATIENCE,
        isolation_level=None,  # transactions are written out where they are meant
        check_same_thread=False,  # each connection is used by one thread at a time
    )


def _check(connection: sqlite3.Connection, path: Path) -> int:
    """Refuse files of others and of newer versions; return the layout's version."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (objects,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if application != _APPLICATION and (objects or application or version):
        raise StoreError(f"store {path}: this is a SQLite file, but not a store of recrawl")
    if version > LAYOUT:
        raise StoreError(
            f"store {path}: layout {version} was made by a newer recrawl, this one knows {LAYOUT}; upgrade recrawl"
        )
    return int(version)


def _migrate(connection: sqlite3.Connection) -> None:
    """Run the migrations that the file has not seen, each in a transaction of its own."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    for number, script in _MIGRATIONS:
        if number <= version:
            continue
        connection.execute("BEGIN IMMEDIATE")
        try:
            for statement in _statements(script):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            connection.execute(f"PRAGMA user_version = {number}")
            connection.execute("COMMIT")
        except BaseException:
            connection.rollback()
            raise


def _statements(script: str) -> list[str]:
    """Single statements of a script (`executescript` would commit between them)."""
    statements, part = [], ""
    for line in script.splitlines(keepends=True):
        part += line
        if sqlite3.complete_statement(part):
            statements.append(part)
            part = ""
    return statements


class EngineLock:
    """At most one engine writes a data directory.

    The lock is SQLite's own, on a small file beside the store: it works on every system, ends with the process however
    that dies, and is not inherited by processes that the engine starts. The file names the owner.
    """

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
        try:
            self._connection.execute("CREATE TABLE IF NOT EXISTS owner (process INTEGER)")
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.execute("DELETE FROM owner")
            self._connection.execute("INSERT INTO owner VALUES (?)", [os.getpid()])
            self._connection.execute("COMMIT")
            self._connection.execute("BEGIN IMMEDIATE")  # held until the end; others may still read the owner
        except sqlite3.OperationalError as error:
            owner = self._owner()
            self._connection.close()
            if "locked" not in str(error):
                raise explained(path, error) from error
            raise StoreError(
                f"{path.parent} is in use by another engine{owner}: stop it, or choose another data directory"
            ) from error

    def _owner(self) -> str:
        try:
            row = self._connection.execute("SELECT process FROM owner").fetchone()
        except sqlite3.OperationalError:
            return ""
        return f" (process {row[0]})" if row else ""

    def release(self) -> None:
        """Let another engine have the directory."""
        self._connection.close()
