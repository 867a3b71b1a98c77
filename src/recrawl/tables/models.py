"""Model files of the crawl queue, in TOML."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

import numpy as np

from recrawl.control.model import Costs, Mode, Model, modes_of, phase_type_of
from recrawl.errors import InvalidModel
from recrawl.laws.arrivals import Bmap, marked, repaired, superposed, thinned
from recrawl.laws.phase_type import PhaseType
from recrawl.laws.spelling import parse_law

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import ArrayLike

__all__ = ["parse_model", "read_model", "write_model"]

_KEYS = {"capacity", "admission", "order", "service", "obsolescence", "costs", "mode", "arrivals", "robot"}
_COSTS = ("loss", "obsolete", "response", "robot", "starvation")


def read_model(path: Path, repair: bool = False, tell: Callable[[str], None] | None = None) -> Model:
    """Read a model file.

    With `repair`, rows of D that do not sum to zero get a new diagonal of D₀; `tell` is told of every row.
    """
    try:
        with path.open("rb") as stream:
            table = tomllib.load(stream)
    except tomllib.TOMLDecodeError as error:
        raise InvalidModel(f"{path}: not a TOML file: {error}") from None
    except UnicodeDecodeError:
        raise InvalidModel(f"{path}: not a text file") from None
    try:
        return parse_model(table, repair, tell)
    except InvalidModel as error:
        raise InvalidModel(f"{path}: {error}") from None


def parse_model(
    table: dict[str, Any], repair: bool = False, tell: Callable[[str], None] | None = None
) -> Model:
    """The model that a table of a model file describes."""
    _only(table, _KEYS, "the model")
    capacity = _need(table, "capacity", "the model")
    if isinstance(capacity, bool) or not isinstance(capacity, int):
        raise InvalidModel(f"capacity must be a whole number, not {capacity!r}")
    obsolescence = table.get("obsolescence")
    return Model(
        capacity=capacity,
        service=_law(_section(table, "service"), "service"),
        modes=_modes(table, _Arrivals(repair, tell)),
        costs=_costs(_section(table, "costs")),
        obsolescence=None if obsolescence is None else _law(_section(table, "obsolescence"), "obsolescence"),
        admission=table.get("admission", "partial"),
        order=table.get("order", "fifo"),
    )


def _need(table: dict[str, Any], key: str, where: str) -> Any:
    if key not in table:
        raise InvalidModel(f"{where} has no {key}")
    return table[key]


def _section(table: dict[str, Any], name: str) -> dict[str, Any]:
    section = _need(table, name, "the model")
    if not isinstance(section, dict):
        raise InvalidModel(f"{name} must be a table [{name}], not {section!r}")
    return section


def _only(table: dict[str, Any], known: set[str], where: str) -> None:
    unknown = sorted(set(table) - known)
    if unknown:
        raise InvalidModel(f"{where} has an unknown key {unknown[0]!r}; known are {', '.join(sorted(known))}")


def _numbers(value: Any, where: str) -> Any:
    try:
        return np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidModel(f"{where} must hold numbers, in rows of equal length") from None


def _costs(section: dict[str, Any]) -> Costs:
    _only(section, set(_COSTS), "[costs]")
    missing = [name for name in _COSTS if name not in section]
    if missing:
        raise InvalidModel(f"[costs] has no {missing[0]}; write {missing[0]} = 0 if it costs nothing")
    for name, value in section.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InvalidModel(f"costs.{name} must be a number, not {value!r}")
    return Costs(**section)


def _law(section: dict[str, Any], name: str) -> PhaseType:
    _only(section, {"alpha", "S", "law"}, f"[{name}]")
    try:
        if "law" in section:
            if len(section) > 1:
                raise InvalidModel("give either law or alpha and S, not both")
            return phase_type_of(parse_law(str(section["law"])))
        alpha = _numbers(_need(section, "alpha", f"[{name}]"), "alpha")
        return PhaseType(alpha, _numbers(_need(section, "S", f"[{name}]"), "S"))
    except InvalidModel as error:
        raise InvalidModel(f"{name}: {error}") from None


class _Arrivals:
    """Makes arrival processes, repairing rows only when that is wanted, and then saying so."""

    def __init__(self, repair: bool, tell: Callable[[str], None] | None) -> None:
        self.repair, self.tell = repair, tell

    def __call__(self, D: Any, name: str) -> Bmap:
        matrices = [_numbers(part, f"{name}[{k}]") for k, part in enumerate(D)] if isinstance(D, list) else D
        if not self.repair:
            try:
                return Bmap(matrices, name)
            except InvalidModel as error:
                hint = " (--repair)" if "repair" in str(error) else ""
                raise InvalidModel(f"{error}{hint}") from None
        arrivals, off = repaired(matrices, name)
        self.report(off, name)
        return arrivals

    def report(self, off: ArrayLike, name: str) -> None:
        for row, value in enumerate(np.asarray(off)):
            if abs(value) > 1e-12 and self.tell is not None:
                self.tell(f"row {row} of {name} summed to {value:.6g}; its diagonal was repaired")


def _modes(table: dict[str, Any], make: _Arrivals) -> tuple[Mode, ...]:
    if ("mode" in table) == ("arrivals" in table):
        raise InvalidModel("a model needs either [[mode]] or [arrivals]")
    if "mode" in table:
        return tuple(_mode(entry, make) for entry in _entries(table, "mode"))
    section = _section(table, "arrivals")
    kinds = {"scaled": _scaled, "thinned": _thinned, "superposed": _superposed, "marked": _marked}
    kind = _need(section, "kind", "[arrivals]")
    if kind not in kinds:
        raise InvalidModel(f"arrivals.kind must be one of {', '.join(kinds)}, not {kind!r}")
    return kinds[kind](section, table, make)


def _entries(table: dict[str, Any], name: str) -> list[dict[str, Any]]:
    entries = _need(table, name, "the model")
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise InvalidModel(f"{name} must be a list of tables [[{name}]]")
    return entries


def _mode(entry: dict[str, Any], make: _Arrivals) -> Mode:
    _only(entry, {"robots", "D"}, "[[mode]]")
    robots = _need(entry, "robots", "[[mode]]")
    if isinstance(robots, bool) or not isinstance(robots, int) or robots < 1:
        raise InvalidModel(f"mode.robots must be a whole number from 1, not {robots!r}")
    return Mode(robots, make(_need(entry, "D", "[[mode]]"), f"D of the mode of {robots} robots"))


def _scaled(section: dict[str, Any], _table: dict[str, Any], make: _Arrivals) -> tuple[Mode, ...]:
    _only(section, {"kind", "D", "robots"}, "[arrivals]")
    base = make(_need(section, "D", "[arrivals]"), "arrivals.D")
    robots = _need(section, "robots", "[arrivals]")
    if not isinstance(robots, list) or not robots or not all(isinstance(r, int) and r > 0 for r in robots):
        raise InvalidModel(f"arrivals.robots must be a list of whole numbers from 1, not {robots!r}")
    return modes_of([base.scaled(r) for r in robots], robots)


def _thinned(section: dict[str, Any], _table: dict[str, Any], make: _Arrivals) -> tuple[Mode, ...]:
    _only(section, {"kind", "D", "accept"}, "[arrivals]")
    base = make(_need(section, "D", "[arrivals]"), "arrivals.D")
    return modes_of(thinned(base, list(_numbers(_need(section, "accept", "[arrivals]"), "arrivals.accept"))))


def _superposed(section: dict[str, Any], table: dict[str, Any], make: _Arrivals) -> tuple[Mode, ...]:
    _only(section, {"kind"}, "[arrivals]")
    robots = []
    for place, entry in enumerate(_entries(table, "robot"), start=1):
        _only(entry, {"D"}, "[[robot]]")
        robots.append(make(_need(entry, "D", "[[robot]]"), f"D of robot {place}"))
    return modes_of(superposed(robots))


def _marked(section: dict[str, Any], table: dict[str, Any], make: _Arrivals) -> tuple[Mode, ...]:
    _only(section, {"kind", "D0"}, "[arrivals]")
    D0 = _numbers(_need(section, "D0", "[arrivals]"), "arrivals.D0")
    parts = []
    for place, entry in enumerate(_entries(table, "robot"), start=1):
        _only(entry, {"D"}, "[[robot]]")
        matrices = _need(entry, "D", "[[robot]]")
        parts.append([_numbers(part, f"D of robot {place}") for part in matrices])
    if make.repair and D0.ndim == 2:
        off = D0.sum(axis=1) + sum(part.sum(axis=1) for matrices in parts for part in matrices)
        make.report(off, "arrivals.D0")
        D0 = D0 - np.diag(off)
    return modes_of(marked(D0, parts))


def _row(values: Any) -> str:
    return "[" + ", ".join(repr(float(v)) for v in values) + "]"


def _matrix(matrix: Any) -> str:
    return "[" + ", ".join(_row(row) for row in matrix) + "]"


def write_model(model: Model) -> str:
    """A model as the text of a model file; reading it gives the same model back."""
    lines = [
        f"capacity = {model.capacity}",
        f'admission = "{model.admission}"',
        f'order = "{model.order}"',
    ]
    for name, law in (("service", model.service), ("obsolescence", model.obsolescence)):
        if law is not None:
            lines += ["", f"[{name}]", f"alpha = {_row(law.alpha)}", f"S = {_matrix(law.S)}"]
    lines += ["", "[costs]"]
    lines += [f"{name} = {float(getattr(model.costs, name))!r}" for name in _COSTS]
    for mode in model.modes:
        matrices = ", ".join(_matrix(part) for part in mode.arrivals.D)
        lines += ["", "[[mode]]", f"robots = {mode.robots}", f"D = [{matrices}]"]
    return "\n".join(lines) + "\n"
