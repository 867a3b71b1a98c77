"""Headers of a response, read with patience."""

from __future__ import annotations

import re
from email.utils import parsedate_to_datetime
from functools import lru_cache
from importlib.util import find_spec

__all__ = ["is_readable", "media_type", "parse_date", "parse_retry_after"]

HTML = {"text/html", "application/xhtml+xml"}
TEXT = {"text/plain", "text/markdown", "text/x-markdown", "text/x-rst"}
PDF = {"application/pdf", "application/x-pdf"}
_HAS_PDF = find_spec("pypdf") is not None

_CHARSET = re.compile(r"charset\s*=\s*[\"']?([A-Za-z0-9._:-]{1,40})", re.IGNORECASE)


@lru_cache(maxsize=1024)
def media_type(header: str) -> tuple[str, str | None]:
    """Type and charset of a Content-Type.

    >>> media_type('Text/HTML; charset="ISO-8859-1"')
    ('text/html', 'ISO-8859-1')
    """
    kind = header.partition(";")[0].strip().lower()
    match = _CHARSET.search(header)
    return kind[:100], match[1] if match else None


def is_readable(kind: str) -> bool:
    """Whether a type can be indexed; an empty one is looked at."""
    return not kind or kind in HTML or kind in TEXT or (kind in PDF and _HAS_PDF)


@lru_cache(maxsize=4096)  # pages written together, and the time of the answer, have the same dates
def parse_date(text: str) -> float | None:
    """Seconds since 1970 of an HTTP date, or None.

    >>> parse_date("Thu, 01 Jan 1970 00:01:00 GMT")
    60.0
    """
    if not text or len(text) > 64:
        return None
    try:
        seconds = parsedate_to_datetime(text).timestamp()
    except (ValueError, TypeError, OverflowError, OSError):
        return None
    return seconds if seconds >= 0 else None


def parse_retry_after(text: str, now: float) -> float | None:
    """Seconds to wait, from a number or a date; None when it says nothing.

    >>> parse_retry_after("120", 0.0), parse_retry_after("Thu, 01 Jan 1970 00:01:00 GMT", 20.0)
    (120.0, 40.0)
    """
    text = text.strip()
    if re.fullmatch(r"\d{1,9}", text, re.ASCII):
        return float(text)
    date = parse_date(text)
    return None if date is None else max(0.0, date - now)
