"""Laws that are kept in files: `empirical:FILE` and `phase-type:FILE`."""

from __future__ import annotations

import csv
import json
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recrawl.errors import InvalidModel
from recrawl.laws import Empirical, PhaseType, parse_law
from recrawl.tables._files import open_to_read

if TYPE_CHECKING:
    from recrawl.laws import Law

__all__ = ["read_law"]


def read_law(spelling: str) -> Law:
    """The law that a spelling names, files included.

    `empirical:FILE` is a list of times, one per line (a header line is skipped; of several columns the first is
    taken); `phase-type:FILE` is TOML or JSON with `alpha` and `S`.
    """
    name, _, rest = spelling.strip().partition(":")
    if name == "empirical":
        return _read_sample(_file(spelling, rest))
    if name == "phase-type":
        return _read_phases(_file(spelling, rest))
    return parse_law(spelling)


def _file(spelling: str, rest: str) -> Path:
    if not rest:
        raise InvalidModel(f"{spelling!r} should name a file: {spelling.partition(':')[0]}:FILE")
    path = Path(rest)
    if not path.is_file():
        raise InvalidModel(f"{spelling!r}: there is no file {rest!r}")
    return path


def _read_sample(path: Path) -> Empirical:
    times = []
    with open_to_read(path) as stream:
        for number, row in enumerate(csv.reader(stream), start=1):
            if not row or not row[0].strip():
                continue
            try:
                times.append(float(row[0]))
            except ValueError:
                if number > 1:
                    raise InvalidModel(f"{path}: line {number} should be a number, not {row[0]!r}") from None
    try:
        return Empirical(times)
    except InvalidModel as error:
        raise InvalidModel(f"{path}: {error}") from None


def _read_phases(path: Path) -> PhaseType:
    with open_to_read(path) as stream:
        text = stream.read()
    try:
        document: Any = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except (json.JSONDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidModel(f"{path}: {error}") from None
    missing = [key for key in ("alpha", "S") if not isinstance(document, dict) or key not in document]
    if missing:
        raise InvalidModel(f"{path}: {missing[0]} is missing; a phase-type law has alpha and S")
    try:
        return PhaseType(document["alpha"], document["S"])
    except (InvalidModel, TypeError, ValueError) as error:
        raise InvalidModel(f"{path}: {error}") from None
