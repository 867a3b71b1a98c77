"""How long pages wait for their next accesses, and what is known besides: a row for each page.

`wait` was found at the price `level`; `lean` is d ln value / d ln wait there, and `most` what an access can be worth at
most. Near its wait the value of an access is nearly a power of time: so another price within reach gives another wait,
and another time another value, without solving for it again.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["NO_WAIT", "WAITS", "WAIT_FIELDS", "log_worth", "near", "wait_at", "waits_of"]

WAIT_FIELDS = [("wait", "<f4"), ("level", "<f4"), ("lean", "<f4"), ("most", "<f4")]
WAITS = np.dtype(WAIT_FIELDS)
NO_WAIT = np.array((math.nan,) * 4, dtype=WAITS)

_REACH = 0.2  # by this share a price may move before waits are solved for again
_LEAST_LEAN = 0.3  # flatter values say nothing about another price


def waits_of(
    wait: Floats, level: Floats | float, lean: Floats | float = 1.0, most: Floats | float = math.inf
) -> NDArray[np.void]:
    """Rows from columns."""
    found = np.empty(wait.size, dtype=WAITS)
    found["wait"], found["level"], found["lean"], found["most"] = wait, level, lean, most
    return found


def near(waits: NDArray[np.void], prices: Floats) -> NDArray[np.bool_]:
    """Whether prices are within reach. Pages that were not worth an access may be so below their prices."""
    with np.errstate(divide="ignore", invalid="ignore"):
        off = np.log(prices / waits["level"])
    found = np.where(np.isinf(waits["wait"]), off > -0.03, np.abs(off) <= _REACH)  # NaN is not near
    return np.asarray(found, dtype=np.bool_)


def wait_at(waits: NDArray[np.void], prices: Floats) -> Floats:
    """Waits at other prices within reach; never when a price is beyond what an access can be worth."""
    with np.errstate(divide="ignore", invalid="ignore"):
        off = np.log(prices / waits["level"].astype(np.float64))
        found = waits["wait"] * np.exp(off / np.maximum(waits["lean"], _LEAST_LEAN))
    return np.where(prices < waits["most"], found, math.inf)


def log_worth(waits: NDArray[np.void], elapsed: Floats) -> Floats:
    """Logarithms of what accesses are worth when so much time has passed; minus infinity where it is not known."""
    with np.errstate(divide="ignore", invalid="ignore"):
        grown = np.log(waits["level"]) + waits["lean"] * np.log(elapsed / waits["wait"])
        found = np.minimum(grown, np.log(waits["most"]))
    return np.where(np.isfinite(found), found, -math.inf)
