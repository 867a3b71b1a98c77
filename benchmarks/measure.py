"""What benchmarks share: timing against a baseline in the same run, and the table they print."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Measure", "seconds"]


@dataclass(frozen=True)
class Measure:
    """One line of the table: what was measured, against what, and what is asked of it."""

    name: str
    value: str
    baseline: str
    ratio: str
    wanted: str
    good: bool | None = None

    def row(self) -> list[str]:
        verdict = {True: "yes", False: "NO", None: "-"}[self.good]
        return [self.name, self.value, self.baseline, self.ratio, self.wanted, verdict]


def seconds(function: Callable[[], object], repeats: int = 5) -> tuple[float, float]:
    """Median and spread (largest minus smallest) of the process's own seconds over `repeats` calls.

    One call before them pays for compilation. Processor time, so that a shared machine disturbs less.
    """
    function()
    times = []
    for _ in range(repeats):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return float(np.median(times)), max(times) - min(times)
