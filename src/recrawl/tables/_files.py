"""Opening text files for reading and writing: plain, gzip, or the standard streams."""

from __future__ import annotations

import gzip
import io
import sys
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

from recrawl.errors import InvalidModel

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["open_to_read", "open_to_write"]


@contextmanager
def open_to_read(path: Path) -> Iterator[IO[str]]:
    """Open a text file (UTF-8, with or without byte-order mark), a gzip of one, or `-` for standard input."""
    try:
        if str(path) == "-":
            yield sys.stdin
        elif path.suffix == ".gz":
            with (
                gzip.open(path, "rb") as raw,
                io.TextIOWrapper(raw, encoding="utf-8-sig", newline="") as stream,
            ):
                yield stream
        else:
            with path.open(encoding="utf-8-sig", newline="") as stream:
                yield stream
    except UnicodeDecodeError as error:
        raise InvalidModel(f"{path}: not a UTF-8 text file ({error.reason} at byte {error.start})") from None
    except (gzip.BadGzipFile, EOFError) as error:
        raise InvalidModel(f"{path}: not a complete gzip file ({error})") from None


@contextmanager
def open_to_write(path: Path) -> Iterator[IO[str]]:
    """Open a text file or a gzip of one for writing."""
    if path.suffix == ".gz":
        with gzip.open(path, "wb") as raw, io.TextIOWrapper(raw, encoding="utf-8", newline="") as stream:
            yield stream
    else:
        with path.open("w", encoding="utf-8", newline="") as stream:
            yield stream
