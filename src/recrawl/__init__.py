"""Keeps a copy of web pages fresh: which page next, how many robots, when to switch them.

The names below are the public face; the rooms behind them (`recrawl.laws`, `recrawl.revisit`, `recrawl.simulate`, ...)
have more. Names are loaded when they are first used, so that ``import recrawl`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from recrawl._version import __version__
from recrawl.errors import InvalidModel, NotConverged, RecrawlError

if TYPE_CHECKING:
    from recrawl.estimate import Scheduler
    from recrawl.laws import Law, parse_law
    from recrawl.revisit import (
        Limits,
        Pages,
        Plan,
        budget_curve,
        budget_for,
        lower_bound,
        make_plan,
        obsolescence_of_template,
        optimal_frequencies,
    )
    from recrawl.simulate import simulate_schedule

__all__ = [
    "InvalidModel",
    "Law",
    "Limits",
    "NotConverged",
    "Pages",
    "Plan",
    "RecrawlError",
    "Scheduler",
    "__version__",
    "budget_curve",
    "budget_for",
    "lower_bound",
    "make_plan",
    "obsolescence_of_template",
    "optimal_frequencies",
    "parse_law",
    "simulate_schedule",
]

# The room of each name that is not loaded at once.
_ROOMS = {
    "Law": "laws",
    "Limits": "revisit",
    "Pages": "revisit",
    "Plan": "revisit",
    "Scheduler": "estimate",
    "budget_curve": "revisit",
    "budget_for": "revisit",
    "lower_bound": "revisit",
    "make_plan": "revisit",
    "obsolescence_of_template": "revisit",
    "optimal_frequencies": "revisit",
    "parse_law": "laws",
    "simulate_schedule": "simulate",
}


def __getattr__(name: str) -> Any:
    if name not in _ROOMS:
        raise AttributeError(f"module 'recrawl' has no attribute {name!r}")
    value = getattr(import_module(f"recrawl.{_ROOMS[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
