"""Compiled loops over accesses: sums of the likelihood of change rates, page by page."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from recrawl._compiled import compiled, compiled_inline

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["approximate", "maximise"]

_STEPS = 60
_CLOSE = 1e-10  # of the logarithm of the rate


@compiled_inline
def _slope(
    rate: float,
    intervals: NDArray[np.float64],
    kinds: NDArray[np.int8],
    ages: NDArray[np.float64],
    first: int,
    last: int,
    penalty: float,
) -> tuple[float, float, float]:
    """First and second derivative of the (penalised) log-likelihood in y = ln λ, and the information.

    One access adds, with x = λτ: changed, x/(e^x − 1); unchanged, −x; dated, 1 − λ·age.
    The penalty is penalty·ln I(y), I(y) = Σ x²/(e^x − 1) the expected information about y.
    """
    score = 0.0
    curve = 0.0
    information = 0.0
    information_slope = 0.0
    for i in range(first, last):
        kind = kinds[i]
        if kind == 2:
            score += 1.0 - rate * ages[i]
            curve -= rate * ages[i]
            information += 1.0
            continue
        x = rate * intervals[i]
        if x < 1e-8:
            part = 1.0 - 0.5 * x
            grown = 1.0 + 0.5 * x
        elif x > 700.0:
            part = 0.0
            grown = x
        else:
            e = math.expm1(x)
            part = x / e
            grown = x + part  # x e^x/(e^x − 1)
        if kind == 1:
            score += part
            curve += part * (1.0 - grown)
        else:
            score -= x
            curve -= x
        information += x * part
        information_slope += x * part * (2.0 - grown)
    if penalty > 0.0 and information > 0.0:
        score += penalty * information_slope / information
    return score, curve, information


@compiled
def maximise(
    starts: NDArray[np.int64],
    intervals: NDArray[np.float64],
    kinds: NDArray[np.int8],
    ages: NDArray[np.float64],
    penalty: float,
    rates: NDArray[np.float64],
    informations: NDArray[np.float64],
) -> None:
    """The maximum of every page's likelihood: Newton steps in ln λ inside a bracket that halves.

    Accesses of page p are starts[p] .. starts[p+1] − 1. Kinds: 0 unchanged, 1 changed, 2 dated.
    """
    for page in range(starts.size - 1):
        first, last = starts[page], starts[page + 1]
        changed = 0.0
        unchanged = 0.0
        dated = 0
        total = 0.0
        for i in range(first, last):
            if kinds[i] == 0:
                unchanged += intervals[i]
                total += intervals[i]
            elif kinds[i] == 1:
                changed += 1.0
                total += intervals[i]
            else:
                dated += 1
                total += ages[i]
        if last == first or total <= 0.0:
            rates[page] = math.nan
            informations[page] = 0.0
            continue
        if penalty == 0.0 and changed + dated == 0:
            rates[page] = 0.0
            informations[page] = 0.0
            continue
        if penalty == 0.0 and unchanged == 0.0 and dated == 0:
            rates[page] = math.inf
            informations[page] = 0.0
            continue
        y = math.log((changed + dated + 0.5) / total)
        low = y - 60.0
        high = y + 60.0
        information = 0.0
        for _ in range(_STEPS):
            score, curve, information = _slope(math.exp(y), intervals, kinds, ages, first, last, penalty)
            if score > 0.0:
                low = y
            else:
                high = y
            # The penalty's own curvature is left out: it is bounded, and the bracket catches the rest.
            step = score / max(-curve, 0.25 * information, 1e-300)
            step = min(max(step, -2.0), 2.0)
            forward = y + step
            if not low < forward < high:
                forward = 0.5 * (low + high)
            moved = abs(forward - y)
            y = forward
            if moved < _CLOSE:
                break
        rates[page] = math.exp(y)
        informations[page] = max(-curve, information)


@compiled
def approximate(
    starts: NDArray[np.int64],
    intervals: NDArray[np.float64],
    changed: NDArray[np.bool_],
    rates: NDArray[np.float64],
) -> None:
    """y ← y + η_k (I (y + p) − y), η_k = (k + 1)^{−3/4}, p the accesses per time so far."""
    for page in range(starts.size - 1):
        first, last = starts[page], starts[page + 1]
        if first == last:
            rates[page] = math.nan
            continue
        total = 0.0
        y = 0.0
        for i in range(first, last):
            total += intervals[i]
            k = i - first + 1
            p = k / total
            seen = y + p if changed[i] else 0.0
            y += (seen - y) / (k + 1.0) ** 0.75
        rates[page] = y
