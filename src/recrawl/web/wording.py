"""Numbers, times and marks as people read them: the filters of the HTML templates.

The same rules are in static/words.js, for what is drawn in the browser.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from recrawl.engine.wording import NOTHING, significant

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "FILTERS",
    "across",
    "ago",
    "between",
    "bytes_of",
    "count",
    "due",
    "moment",
    "parts",
    "percent",
    "rate",
    "safe_link",
    "sentence",
    "significant",
    "span",
]

_THIN = "\u202f"  # narrow no-break space between a number and its unit
_SPANS = ((86400.0, "d"), (3600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms"))
_RATES = ((1.0, "s"), (60.0, "min"), (3600.0, "h"), (86400.0, "d"))


def percent(share: float | None) -> str:
    """A share in percent.

    >>> percent(0.1316), percent(0.99999), percent(0.00012), percent(0.00001), percent(0.0), percent(1.0)
    ('13.2\u202f%', '>99.9\u202f%', '0.012\u202f%', '<0.01\u202f%', '0\u202f%', '100\u202f%')
    """
    if share is None or not math.isfinite(share):
        return NOTHING
    if 0.9995 <= share < 1.0:
        return f">99.9{_THIN}%"
    if 0.0 < share < 1e-4:
        return f"<0.01{_THIN}%"
    return f"{significant(100.0 * share)}{_THIN}%"


def count(number: float | None) -> str:
    """A count with thousands apart.

    >>> count(1234567)
    '1,234,567'
    """
    return NOTHING if number is None else f"{number:,.0f}"


def rate(per_second: float | None) -> str:
    """A rate in the unit that makes it at least one: per s, min, h or d.

    >>> rate(12.345), rate(0.05), rate(1 / 7200), rate(1e-7), rate(0.0), rate(None)
    ('12.3/s', '3/min', '12/d', '0.00864/d', '0/s', '–')
    """
    if per_second is None or not math.isfinite(per_second):
        return NOTHING
    if per_second == 0:
        return "0/s"
    seconds, unit = _unit(per_second)
    return f"{significant(per_second * seconds)}/{unit}"


def _unit(per_second: float) -> tuple[float, str]:
    return next((pair for pair in _RATES if per_second * pair[0] >= 0.9995), _RATES[-1])


def between(middle: float | None, low: float | None, high: float | None) -> str:
    """An interval of rates in the unit of its middle.

    >>> between(1 / 7200, 1 / 18000, 1 / 3000)
    '4.8 to 29/d'
    """
    if middle is None or low is None or high is None:
        return NOTHING
    seconds, unit = _unit(middle)
    return f"{significant(low * seconds, 2)} to {significant(high * seconds, 2)}/{unit}"


def span(seconds: float | None) -> str:
    """A length of time in its largest unit.

    >>> span(0.0021), span(59.0), span(90.0), span(86400.0 * 40), span(0.0)
    ('2.1\u202fms', '59\u202fs', '1.5\u202fmin', '40\u202fd', '0\u202fs')
    """
    if seconds is None or not math.isfinite(seconds):
        return NOTHING
    for size, unit in _SPANS:
        if abs(seconds) >= size:
            return f"{significant(seconds / size, 2 if unit == 's' and seconds >= 10 else 3)}{_THIN}{unit}"
    return f"0{_THIN}s" if seconds == 0 else f"{significant(seconds / 1e-3)}{_THIN}ms"


def ago(time: float | None, now: float) -> str:
    """How long a past time is ago.

    >>> ago(0.0, 120.0), ago(None, 0.0), ago(119.8, 120.0)
    ('2\u202fmin ago', 'never', 'just now')
    """
    if time is None:
        return "never"
    return "just now" if now - time < 1.0 else f"{_rough(now - time)} ago"


def due(time: float | None, now: float) -> str:
    """When a time comes, or how long it is overdue.

    >>> due(90.0, 0.0), due(0.0, 7200.0), due(None, 0.0)
    ('in 1.5\u202fmin', 'overdue by 2\u202fh', '–')
    """
    if time is None:
        return NOTHING
    if abs(time - now) < 1.0:
        return "now"
    return f"in {_rough(time - now)}" if time > now else f"overdue by {_rough(now - time)}"


def _rough(seconds: float) -> str:
    """Two digits are enough for what passes while one reads."""
    for size, unit in _SPANS:
        if seconds >= size:
            return f"{significant(seconds / size, 2)}{_THIN}{unit}"
    return f"0{_THIN}s"


def moment(time: float | None) -> str:
    """A time for machines and tooltips, UTC.

    >>> moment(0.0)
    '1970-01-01T00:00:00Z'
    """
    if time is None:
        return ""
    try:
        return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, ValueError, OSError):
        return ""


def bytes_of(number: float | None) -> str:
    """A size.

    >>> bytes_of(512), bytes_of(1_500_000)
    ('512\u202fB', '1.5\u202fMB')
    """
    if number is None:
        return NOTHING
    for size, unit in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if number >= size:
            return f"{significant(number / size)}{_THIN}{unit}"
    return f"{number:.0f}{_THIN}B"


def parts(text: str, marks: Iterable[tuple[int, int]]) -> list[tuple[str, bool]]:
    """A text cut at its marks: pieces, and whether each is marked. Marks out of order or range are left out.

    >>> parts("fresh <b> pages", [(0, 5), (10, 15)])
    [('fresh', True), (' <b> ', False), ('pages', True)]
    """
    found: list[tuple[str, bool]] = []
    place = 0
    for begin, end in sorted(marks):
        if begin < place or end <= begin or end > len(text):
            continue
        if begin > place:
            found.append((text[place:begin], False))
        found.append((text[begin:end], True))
        place = end
    if place < len(text):
        found.append((text[place:], False))
    return found


def sentence(text: str) -> str:
    """A text that begins like a sentence.

    >>> sentence("after an hour"), sentence("")
    ('After an hour', '')
    """
    return text[:1].upper() + text[1:]


def safe_link(url: str | None) -> str | None:
    """The URL if it may become a link: http and https only, whatever else the string holds.

    >>> safe_link("https://example.org/a"), safe_link("javascript:alert(1)"), safe_link(" https://example.org")
    ('https://example.org/a', None, None)
    """
    return url if url is not None and url.lower().startswith(("https://", "http://")) else None


def across(value: float | None, most: float) -> str:
    """A coordinate in percent for an SVG attribute, held inside the drawing.

    >>> across(3, 12), across(20, 12), across(None, 12)
    ('25%', '100%', '0%')
    """
    if value is None or not math.isfinite(value) or most <= 0:
        return "0%"
    return f"{100.0 * min(1.0, max(0.0, value / most)):.4g}%"


FILTERS: dict[str, Any] = {
    "across": across,
    "ago": ago,
    "between": between,
    "bytes_of": bytes_of,
    "count": count,
    "due": due,
    "moment": moment,
    "parts": parts,
    "percent": percent,
    "rate": rate,
    "safe_link": safe_link,
    "sentence": sentence,
    "significant": significant,
    "span": span,
}
