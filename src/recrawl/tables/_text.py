"""What the readers of text tables share: gzip or plain, columns by name, cells that name their line."""

from __future__ import annotations

import csv
import gzip
import io
import math
import zlib
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import IO, TYPE_CHECKING, TextIO, cast

from recrawl.errors import ConfigError, InvalidModel

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

__all__ = ["Cells", "cell_number", "cell_time", "open_rows", "open_text"]

_GZIP = b"\x1f\x8b"


@contextmanager
def open_text(path: Path) -> Iterator[TextIO]:
    """Open a text file for reading, unpacking it if it is gzip (by its first bytes, not its name)."""
    with path.open("rb") as raw:
        packed = raw.read(2) == _GZIP
    with path.open("rb") as raw:
        plain = cast("IO[bytes]", gzip.GzipFile(fileobj=raw)) if packed else raw
        try:
            yield io.TextIOWrapper(plain, encoding="utf-8-sig", newline="")
        except (UnicodeDecodeError, EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise InvalidModel(f"{path}: not a readable text table ({error})") from None


@dataclass
class Cells:
    """Rows of a table with a header: the wanted columns only, and the number of the line."""

    path: Path
    header: list[str]
    columns: list[int]
    names: list[str]
    rows: Iterator[list[str]]
    _reader: object = field(repr=False, default=None)

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        width = max(self.columns) + 1
        for row in self.rows:
            if not row:
                continue
            if len(row) < width:
                raise InvalidModel(
                    f"{self.path}, line {self.line}: {len(row)} columns, the header has {len(self.header)}"
                )
            yield self.line, [row[place] for place in self.columns]

    @property
    def line(self) -> int:
        """Line of the row that was read last."""
        return int(self._reader.line_num)  # type: ignore[attr-defined]


@contextmanager
def open_rows(path: Path, wanted: Sequence[str], optional: Sequence[str] = ()) -> Iterator[Cells]:
    """Open a CSV file with a header and pick columns by name; those of `optional` that exist are added."""
    with open_text(path) as text:
        reader = csv.reader(text)
        header = [name.strip() for name in next(reader, [])]
        if not header:
            raise InvalidModel(f"{path} is empty: a header line with column names is needed")
        missing = [name for name in wanted if name not in header]
        if missing:
            raise ConfigError(f"{path} has no column {missing[0]!r}; its columns are {', '.join(header)}")
        names = [*wanted, *(name for name in optional if name in header)]
        yield Cells(path, header, [header.index(name) for name in names], names, reader, reader)


def cell_number(text: str, path: Path, line: int, column: str) -> float:
    """A finite number, or an error that says where it stands."""
    try:
        value = float(text)
    except ValueError:
        raise InvalidModel(f"{path}, line {line}, column {column}: {text!r} is not a number") from None
    if not math.isfinite(value):
        raise InvalidModel(f"{path}, line {line}, column {column}: {text!r} is not a finite number")
    return value


def cell_time(text: str, path: Path, line: int, column: str) -> float:
    """Seconds since 1970 from Unix seconds or an ISO date; a date without a time zone is taken as UTC."""
    try:
        value = float(text)
    except ValueError:
        try:
            moment = datetime.fromisoformat(text.strip())
        except ValueError:
            raise InvalidModel(
                f"{path}, line {line}, column {column}: {text!r} is neither Unix seconds nor an ISO date"
            ) from None
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    if not math.isfinite(value):
        raise InvalidModel(f"{path}, line {line}, column {column}: {text!r} is not a time")
    return value
