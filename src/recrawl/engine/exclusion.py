"""Exclusion: what robots.txt asks for [RFC 9309].

A robots.txt that is not there (4xx) allows everything; one that cannot be had (5xx, 429, no connection) forbids
everything, unless an older copy is known. Copies are kept for a day, failures for minutes.
"""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from protego import Protego

from recrawl.engine.records import Outcome
from recrawl.engine.urls import origin_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from recrawl.engine.options import AccessOptions
    from recrawl.engine.protocols import Clock
    from recrawl.engine.records import Access

__all__ = ["MAX_EXCLUSION_BYTES", "Exclusion", "Permission", "Rules"]

_SHOWN = 10_000  # characters of a robots.txt that are kept for people
MAX_EXCLUSION_BYTES = 512 * 1024  # RFC 9309, 2.5: at least 500 KiB must be read


class Permission(StrEnum):
    """What robots.txt says of one page."""

    ALLOWED = "allowed"
    DISALLOWED = "disallowed"
    UNKNOWN = "unknown"  # robots.txt could not be read: disallowed for now


@dataclass(frozen=True)
class Rules:
    """One robots.txt, read at a time. `parsed` None: nothing is known, and nothing allowed."""

    parsed: Protego | None
    read_at: float  # monotonic
    expires_at: float
    reason: str = ""
    retry_after: float | None = None
    text: str | None = None  # the beginning of the file, for people


@dataclass
class Exclusion:
    """Reads and keeps robots.txt files.

    Parameters
    ----------
    read
        Reads a URL of any type, following redirects, and cuts what is too long; never raises for what a server does.
    """

    read: Callable[[str], Awaitable[Access]]
    clock: Clock
    options: AccessOptions
    _rules: dict[str, Rules] = field(default_factory=dict)
    _locks: dict[str, asyncio.Lock] = field(default_factory=dict)

    async def rules(self, url: str) -> Rules:
        """The rules for a URL's origin: kept, or read now. One read at a time for each origin."""
        origin = origin_of(url)
        known = self._rules.get(origin)
        if known is not None and self.clock.monotonic() < known.expires_at:
            return known
        lock = self._locks.setdefault(origin, asyncio.Lock())
        async with lock:
            known = self._rules.get(origin)
            if known is None or self.clock.monotonic() >= known.expires_at:
                known = self._next(known, await self.read(f"{origin}/robots.txt"))
                self._rules[origin] = known
        return known

    async def permission(self, url: str) -> tuple[Permission, Rules]:
        """Whether a page may be accessed, and the rules that say so."""
        if not self.options.obey_exclusion:
            return Permission.ALLOWED, Rules(None, 0.0, 0.0)
        rules = await self.rules(url)
        if rules.parsed is None:
            return Permission.UNKNOWN, rules
        allowed = rules.parsed.can_fetch(url, self.options.product)
        return (Permission.ALLOWED if allowed else Permission.DISALLOWED), rules

    async def crawl_delay(self, url: str) -> float | None:
        """Seconds between accesses that the site asks for, or None."""
        if not self.options.obey_exclusion:
            return None
        parsed = (await self.rules(url)).parsed
        if parsed is None:
            return None
        delay = parsed.crawl_delay(self.options.product)
        rate = parsed.request_rate(self.options.product)
        wanted = [float(delay)] if delay is not None else []
        if rate is not None and rate.requests > 0:
            wanted.append(rate.seconds / rate.requests)
        return max((seconds for seconds in wanted if 0 <= seconds < math.inf), default=None)

    async def sitemaps(self, url: str) -> list[str]:
        """Sitemaps that robots.txt names."""
        parsed = (await self.rules(url)).parsed
        return list(parsed.sitemaps) if parsed is not None else []

    def document(self, site: str, now: float) -> dict[str, float | str | bool | None]:
        """What is known of a site's robots.txt; `now` is the time of day."""
        steady = self.clock.monotonic()
        found: dict[str, float | str | bool | None] = {"obey_exclusion": self.options.obey_exclusion}
        for scheme in ("https", "http"):
            rules = self._rules.get(f"{scheme}://{site}")
            if rules is not None:
                found["exclusion_read_at"] = now - (steady - rules.read_at)
                found["exclusion_expires_at"] = now + (rules.expires_at - steady)
                found["exclusion_reason"] = rules.reason
                found["exclusion_text"] = rules.text
                break
        return found

    def _next(self, known: Rules | None, access: Access) -> Rules:
        now = self.clock.monotonic()
        lasting = now + self.options.exclusion_cache_seconds
        if access.outcome is Outcome.CONTENT:
            text = access.body[:MAX_EXCLUSION_BYTES].decode("utf-8-sig", "replace")
            return Rules(Protego.parse(text), now, lasting, text=text[:_SHOWN])
        status = access.status
        if status is not None and 400 <= status < 500 and status != 429:
            return Rules(Protego.parse(""), now, lasting, text="")
        reason = f"robots.txt could not be read: {access.reason or access.outcome}"
        retry = now + max(self.options.exclusion_retry_seconds, access.retry_after or 0.0)
        if known is not None and known.parsed is not None:  # RFC 9309, 2.4: an old copy is better than none
            return Rules(known.parsed, known.read_at, retry, reason, access.retry_after, known.text)
        return Rules(None, now, retry, reason, access.retry_after)
