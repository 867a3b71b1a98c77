"""Turns a git repository of pages into a history of changes: what its main line published, and when."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from recrawl.errors import InvalidModel
from recrawl.tables.histories import PageRow

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["GitHistory", "read_git"]

_MASS_SHARE = 0.2  # a commit that changes more of the living pages is a mass edit
_MASS, _FLAP = 1, 2
_FEWEST_LIVING = 20  # below that every edit would be a mass edit


@dataclass
class _Page:
    path: str
    number: int
    born: int
    died: int | None = None
    changes: int = 0
    contents: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class GitHistory:
    """Pages and events (page, time, kind, flags) of a repository; kinds are M, A and D."""

    pages: list[PageRow]
    events: list[tuple[int, int, str, int]]
    commits: int
    #: Commits whose time was before that of the commit they follow; they count at the time of that one.
    late_commits: int


def read_git(directory: Path, pattern: str, *, revision: str = "HEAD") -> GitHistory:
    """Follow the first parents of a revision: a page changes when the main line gets the change.

    `pattern` is a git glob, `content/**`. Renames are not followed: a moved page disappears and appears.
    Flags: 1, the commit changed more than a fifth of the living pages; 2, the content is one that the page
    had before.
    """
    pages: dict[str, _Page] = {}
    events: list[tuple[int, int, str, int]] = []
    commits = late = now = living = 0
    for time, changes in _commits(directory, pattern, revision):
        commits += 1
        late += time < now
        now = max(now, time)
        edits = sum(kind == "M" and path in pages for kind, path, _blob in changes)
        mass = _MASS if living >= _FEWEST_LIVING and edits > _MASS_SHARE * living else 0
        for kind, path, blob in changes:
            living += _apply(pages, events, now, kind, path, blob, mass)
    if not pages:
        raise InvalidModel(f"no page of {directory} at {revision} ever matched {pattern!r}")
    rows = [PageRow(page.path, page.born, page.died, page.changes) for page in pages.values()]
    return GitHistory(rows, events, commits, late)


def _apply(
    pages: dict[str, _Page],
    events: list[tuple[int, int, str, int]],
    now: int,
    kind: str,
    path: str,
    blob: str,
    mass: int,
) -> int:
    """Enter one change; returns by how much the number of living pages grew."""
    page = pages.get(path)
    if kind == "D":
        if page is None or page.died is not None:
            return 0
        page.died = now
        events.append((page.number, now, "D", 0))
        return -1
    if page is None:
        page = pages[path] = _Page(path, len(pages), now)
    elif page.died is None:
        page.changes += 1
        events.append((page.number, now, "M", mass | (_FLAP if blob in page.contents else 0)))
        page.contents.add(blob)
        return 0
    page.died = None
    page.contents.add(blob)
    events.append((page.number, now, "A", 0))
    return 1


def _commits(
    directory: Path, pattern: str, revision: str
) -> Iterator[tuple[int, list[tuple[str, str, str]]]]:
    """Time and changes (kind, path, content) of each commit, oldest first, as git prints them."""
    command = [
        "git", "-C", str(directory), "log", "--first-parent", "-m", "--reverse", "--raw", "--no-abbrev",
        "--no-renames", "-z", "--format=%x01%ct", revision, "--", f":(glob){pattern}",
    ]  # fmt: skip
    try:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except FileNotFoundError:
        raise InvalidModel("git is not installed") from None
    with process:
        assert process.stdout is not None
        assert process.stderr is not None
        time, started = 0, False
        changes: list[tuple[str, str, str]] = []
        fields = _fields(process.stdout)
        for text in fields:
            if "\x01" in text:
                if started:
                    yield time, changes
                time, changes, started = int(text.rpartition("\x01")[2]), [], True
            elif text.lstrip("\n").startswith(":"):
                _mode, _new_mode, _old, blob, kind = text.lstrip("\n").lstrip(":").split(" ")
                changes.append(("M" if kind == "T" else kind[0], next(fields), blob))
        if started:
            yield time, changes
        complaint = process.stderr.read().decode(errors="replace").strip()
    if process.returncode:
        raise InvalidModel(
            f"git could not read {directory}: {complaint.splitlines()[0] if complaint else ''}"
        )


def _fields(stream: object) -> Iterator[str]:
    """Parts of a stream between NUL bytes."""
    rest = b""
    while chunk := stream.read(1 << 16):  # type: ignore[attr-defined]
        *whole, rest = (rest + chunk).split(b"\0")
        for part in whole:
            yield part.decode("utf-8", errors="surrogateescape")
    if rest:
        yield rest.decode("utf-8", errors="surrogateescape")
