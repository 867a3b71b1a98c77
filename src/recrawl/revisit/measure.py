"""The obsolescence of an endless sequence that has no closed form, from its gaps over many accesses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recrawl.revisit.obsolescence import lower_bound

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from recrawl.laws import Law
    from recrawl.revisit.pages import Pages
    from recrawl.revisit.sequences import AccessSequence

__all__ = ["Measured", "measure_sequence"]

_CHUNK = 1 << 18
_ENOUGH_GAPS = 20


@dataclass(frozen=True, eq=False)
class Measured:
    """Obsolescence rates of a sequence, from `accesses` of its accesses.

    For each page the mean stale time [Coffman 1999, Lemma 3.1] is averaged over the gaps between its accesses, so
    nothing is random but the length of the run. `short` pages had fewer than 20 gaps, of which the short ones are more
    likely to be complete; for them the lower bound at their frequency stands in.
    """

    obsolescence: NDArray[np.float64]
    accesses: int
    short: NDArray[np.int64]


def measure_sequence(
    pages: Pages,
    access: Law,
    sequence: AccessSequence,
    accesses: int,
    progress: Callable[[int], None] | None = None,
) -> Measured:
    """Run a sequence for so many accesses and average over the gaps that were completed.

    >>> from recrawl.laws import Deterministic
    >>> from recrawl.revisit import Pages
    >>> from recrawl.revisit.sequences import Windows
    >>> pages = Pages([1.0, 1.0])
    >>> measure_sequence(pages, Deterministic(1.0), Windows([0.5, 0.5]), 100).obsolescence.round(4).tolist()
    [0.5677, 0.5677]
    """
    from recrawl.revisit import _kernels

    size = len(pages)
    exponent = pages.exponents(access)
    last = np.full(size, -1, dtype=np.int64)
    remainder = np.zeros(size)
    span = np.zeros(size)
    gaps = np.zeros(size, dtype=np.int64)
    frequency = sequence.frequency
    done = 0
    while done < accesses:
        chunk = sequence.take(min(_CHUNK, accesses - done))
        _kernels.add_gaps(chunk, done, exponent, last, remainder, span, gaps)
        done += chunk.size
        if progress is not None:
            progress(chunk.size)
    load = pages.change_rate * access.mean
    complete = gaps >= _ENOUGH_GAPS
    rate = remainder / np.where(complete & (load > 0), span * load, 1.0)
    measured = np.minimum(access.exponent_deficit(pages.change_rate) + rate, 1.0)
    bound = lower_bound(pages, access, frequency)
    result = np.where(load > 0, np.where(complete, measured, bound), 0.0)
    return Measured(result, done, np.flatnonzero(~complete & (frequency > 0) & (load > 0)))
