"""Tables of pages: CSV (also gzip) or Parquet with `page`, `change_rate`, and optionally `weight` and `site`."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from recrawl.errors import InvalidModel, require_extra
from recrawl.revisit import Pages
from recrawl.tables._files import open_to_read, open_to_write

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["PageTable", "read_pages", "write_table"]

_REQUIRED = ("page", "change_rate")
_OPTIONAL = ("weight", "site")


@dataclass(frozen=True, eq=False)
class PageTable:
    """Pages with their names; `sites` names the sites in the order of their numbers."""

    names: list[str]
    pages: Pages
    sites: list[str]


def read_pages(path: str | Path) -> PageTable:
    """Read a table of pages; `-` reads CSV from standard input.

    Every error names the row (counted from 1 below the header), the page and the column.
    """
    path = Path(path)
    columns = _read_parquet(path) if path.suffix == ".parquet" else _read_csv(path)
    names = columns["page"]
    if not names:
        raise InvalidModel(f"{path}: the table has no rows")
    _check_names(path, names)
    rates = _numbers(path, names, "change_rate", columns["change_rate"], zero=True)
    weights = _numbers(path, names, "weight", columns["weight"], zero=False) if "weight" in columns else None
    sites, codes = [""], None
    if "site" in columns:
        unique, codes = np.unique(np.asarray(columns["site"], dtype=np.str_), return_inverse=True)
        sites = unique.tolist()
    return PageTable(names, Pages(rates, weights, codes), sites)


def _read_csv(path: Path) -> dict[str, list[str]]:
    with open_to_read(path) as stream:
        reader = csv.reader(stream)
        try:
            header = [name.strip() for name in next(reader, [])]
            places = _places(path, header)
            rows = [row for row in reader if row]
        except csv.Error as error:
            raise InvalidModel(f"{path}: line {reader.line_num}: {error}") from None
    width = len(header)
    for number, row in enumerate(rows, start=1):
        if len(row) != width:
            raise InvalidModel(f"{path}: row {number} has {len(row)} fields, the header has {width}")
    return {name: [row[place] for row in rows] for name, place in places.items()}


def _places(path: Path, header: Sequence[str]) -> dict[str, int]:
    """Where the columns that matter are; others are ignored."""
    for name in _REQUIRED:
        if name not in header:
            found = ", ".join(header) or "nothing"
            raise InvalidModel(
                f"{path}: no column {name!r}; the first line must name columns, and has {found}"
            )
    for name in (*_REQUIRED, *_OPTIONAL):
        if header.count(name) > 1:
            raise InvalidModel(f"{path}: column {name!r} appears {header.count(name)} times")
    return {name: header.index(name) for name in (*_REQUIRED, *_OPTIONAL) if name in header}


def _read_parquet(path: Path) -> dict[str, Any]:
    parquet = require_extra("pyarrow.parquet", "parquet")
    arrow = require_extra("pyarrow", "parquet")
    try:
        schema = parquet.read_schema(path)
        places = _places(path, schema.names)
        table = parquet.read_table(path, columns=list(places))
    except arrow.ArrowInvalid as error:
        raise InvalidModel(f"{path}: not a Parquet file ({error})") from None
    columns: dict[str, Any] = {}
    for name in places:
        column = table.column(name)
        if name in ("page", "site"):
            columns[name] = ["" if value is None else str(value) for value in column.to_pylist()]
        else:
            columns[name] = column.to_numpy()
    return columns


def _check_names(path: Path, names: list[str]) -> None:
    if "" in names:
        raise InvalidModel(f"{path}: row {names.index('') + 1}: page is empty")
    if len(set(names)) == len(names):
        return
    seen: dict[str, int] = {}
    for number, name in enumerate(names, start=1):
        if name in seen:
            raise InvalidModel(f"{path}: row {number}: page {name!r} is already in row {seen[name]}")
        seen[name] = number


def _numbers(path: Path, names: list[str], column: str, values: Any, *, zero: bool) -> NDArray[np.float64]:
    """A column of numbers, or an error that names the first bad cell."""
    try:
        numbers = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.array([_number(value) for value in values])
    good = np.isfinite(numbers) & ((numbers >= 0) if zero else (numbers > 0))
    if not good.all():
        place = int(np.flatnonzero(~good)[0])
        kind = "a number not below zero" if zero else "a positive number"
        raise InvalidModel(
            f"{path}: row {place + 1} (page {names[place]!r}): {column} must be {kind}, not {values[place]!r}"
        )
    return numbers


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")


def write_table(path: str | Path, columns: dict[str, Any]) -> None:
    """Write columns as CSV (also `.csv.gz`) or Parquet; the format follows the name's ending."""
    path = Path(path)
    ending = path.name.removesuffix(".gz").rpartition(".")[2]
    if ending == "parquet":
        arrow = require_extra("pyarrow", "parquet")
        parquet = require_extra("pyarrow.parquet", "parquet")
        parquet.write_table(arrow.table(columns), path)
    elif ending == "csv":
        lists = [value.tolist() if hasattr(value, "tolist") else value for value in columns.values()]
        with open_to_write(path) as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow(columns)
            writer.writerows(zip(*lists, strict=True))
    else:
        raise InvalidModel(f"cannot write {path.name!r}: the name must end in .csv, .csv.gz or .parquet")
