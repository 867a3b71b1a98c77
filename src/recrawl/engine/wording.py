"""Numbers in sentences, as people read them."""

from __future__ import annotations

import math

__all__ = ["NOTHING", "significant"]

NOTHING = "–"  # for what is not known


def significant(value: float | None, digits: int = 3) -> str:
    """A number with so many digits that count, without an exponent where people can do without.

    >>> significant(0.012345), significant(1234.5), significant(12.0), significant(3.2e-9), significant(None)
    ('0.0123', '1,234', '12', '3.2e-09', '–')
    """
    if value is None or not math.isfinite(value):
        return NOTHING
    if value == 0:
        return "0"
    size = math.floor(math.log10(abs(value)))
    if size < -5 or size > 14:
        return f"{value:.{digits - 1}g}"
    text = f"{value:,.{max(0, digits - 1 - size)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
