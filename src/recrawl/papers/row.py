"""One printed number of a paper beside the number we compute."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from recrawl.errors import InvalidModel

__all__ = ["Row", "Verdict"]

Verdict = Literal["agrees", "misprint", "false claim"]


@dataclass(frozen=True)
class Row:
    """What a paper prints, what we compute, and which of the two is right.

    `printed` and `computed` are text, so that a sequence, an interval or a number with its digits can stand
    there as the paper has it.

    >>> Row("Coffman", "F_8", "13", "21", "misprint", "F_7 = 13").verdict
    'misprint'
    """

    paper: str
    item: str
    printed: str
    computed: str
    verdict: Verdict
    note: str

    def __post_init__(self) -> None:
        if self.verdict not in get_args(Verdict):
            raise InvalidModel(f"verdict must be one of {get_args(Verdict)}, not {self.verdict!r}")
