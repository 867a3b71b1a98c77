"""The command line's spelling of laws: `NAME:MEAN[,SCV]`, and `two-task:MEAN1,MEAN2,P`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recrawl.errors import InvalidModel
from recrawl.laws.closed import Deterministic, Erlang, Exponential, Gamma, Uniform
from recrawl.laws.lognormal import Lognormal
from recrawl.laws.mixtures import Hyperexponential, TwoTask

if TYPE_CHECKING:
    from collections.abc import Callable

    from recrawl.laws.law import Law

__all__ = ["parse_law"]


def _erlang(mean: float, scv: float = 0.5) -> Erlang:
    stages = round(1.0 / scv) if scv > 0 else 0
    if stages < 1 or abs(scv * stages - 1.0) > 1e-3:
        raise InvalidModel(
            f"the scv of an erlang law must be 1, 1/2, 1/3, ..., not {scv:g}; use gamma instead"
        )
    return Erlang(mean, stages)


# Each maker with the fewest and the most numbers it takes.
_MAKERS: dict[str, tuple[Callable[..., Law], int, int]] = {
    "deterministic": (Deterministic, 1, 1),
    "exponential": (Exponential, 1, 1),
    "erlang": (_erlang, 1, 2),
    "gamma": (Gamma, 1, 2),
    "hyperexponential": (Hyperexponential.balanced, 1, 2),
    "lognormal": (Lognormal, 1, 2),
    "uniform": (Uniform.with_scv, 1, 2),
    "two-task": (TwoTask, 3, 3),
}


def parse_law(spelling: str) -> Law:
    """The law that a spelling names.

    Without an scv: erlang 1/2, gamma 1, hyperexponential 4 (two phases with balanced means), lognormal 1,
    uniform 1/3 (from 0 to twice the mean).

    >>> parse_law("gamma:2,0.25")
    Gamma(mean=2, scv=0.25)
    >>> parse_law("weibull:2")
    Traceback (most recent call last):
    ...
    recrawl.errors.InvalidModel: unknown law 'weibull' in 'weibull:2'; known are ...
    """
    name, colon, rest = spelling.strip().partition(":")
    if name not in _MAKERS:
        known = ", ".join([*_MAKERS, "phase-type:FILE", "empirical:FILE"])
        raise InvalidModel(f"unknown law {name!r} in {spelling!r}; known are {known}")
    maker, fewest, most = _MAKERS[name]
    shape = "MEAN1,MEAN2,P" if name == "two-task" else "MEAN" if most == 1 else "MEAN[,SCV]"
    try:
        numbers = [float(part) for part in rest.split(",")] if colon else []
    except ValueError:
        raise InvalidModel(f"{spelling!r} should read {name}:{shape} with numbers") from None
    if not fewest <= len(numbers) <= most:
        raise InvalidModel(f"{spelling!r} should read {name}:{shape}")
    try:
        return maker(*numbers)
    except InvalidModel as error:
        raise InvalidModel(f"in {spelling!r}: {error}") from None
