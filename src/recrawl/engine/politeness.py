"""Politeness: when a site may be accessed again.

Nothing here sleeps: the scheduler asks when, and waits itself. Times are the clock's monotonic seconds, so that a
wall clock set back or forth neither stalls a site nor hammers it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

from recrawl.engine.options import PolitenessOptions, SiteOptions
from recrawl.engine.records import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping

    from recrawl.engine.protocols import Clock
    from recrawl.engine.records import Access

__all__ = ["Politeness"]

_SITE_IS_UP = {
    Outcome.CONTENT,
    Outcome.NOT_MODIFIED,
    Outcome.GONE,
    Outcome.MOVED,
    Outcome.UNREADABLE,
    Outcome.NEEDS_SCRIPT,
}
# A 500 is the page's own trouble; these, like no answer at all, are the site's.
_GATEWAY = {502, 504, *range(520, 525)}


@dataclass
class _Site:
    delay: float
    concurrency: int
    active: int = 0
    next_start: float = -math.inf
    closed_until: float = -math.inf
    failures: int = 0  # in a row
    busy: int = 0  # in a row


@dataclass
class Politeness:
    """Minimum delay, concurrency and back-off of each site; back-off of each page.

    A site that says it is busy (429, 503) is left alone for its Retry-After; one that does not say for how long, or
    fails several times in a row, for the back-off, which doubles each time that the site is no better after it.
    Waiting times are spread by up to a fifth, so that pages that failed together do not come back together.
    """

    clock: Clock
    options: PolitenessOptions = field(default_factory=PolitenessOptions)
    sites: Mapping[str, SiteOptions] = field(default_factory=dict)
    random: Random = field(default_factory=Random)
    _sites: dict[str, _Site] = field(default_factory=dict)

    def ready_at(self, site: str) -> float:
        """The earliest monotonic time of the next access; infinity while the site has all its accesses running."""
        known = self._site(site)
        if known.active >= known.concurrency:
            return math.inf
        return max(known.next_start, known.closed_until)

    def begin(self, site: str) -> None:
        """An access starts."""
        known = self._site(site)
        known.active += 1
        known.next_start = self.clock.monotonic() + known.delay

    def end(self, site: str, access: Access | None) -> None:
        """An access ended; None when it was given up, and says nothing of the site."""
        known = self._site(site)
        known.active = max(0, known.active - 1)
        if access is None:
            return
        if access.outcome is Outcome.BUSY:
            self._busy(known, access.retry_after)
        elif access.outcome is Outcome.FAILED and (access.status is None or access.status in _GATEWAY):
            self._failed(known)
        elif access.outcome in _SITE_IS_UP:
            known.failures = known.busy = 0

    def _busy(self, known: _Site, retry_after: float | None) -> None:
        """The site's own word counts; our back-off when it says nothing, or is busy again after that time."""
        if not self._is_closed(known):  # accesses that ran side by side all hear the same: it counts once
            known.busy += 1
            if retry_after is None or known.busy > 1:
                self._close(known, self.backoff(known.busy))
        if retry_after is not None:
            self._close(known, retry_after)

    def _failed(self, known: _Site) -> None:
        if self._is_closed(known):
            return
        known.failures += 1
        if known.failures >= self.options.site_failures:
            self._close(known, self.backoff(known.failures - self.options.site_failures + 1))

    def _is_closed(self, known: _Site) -> bool:
        return known.closed_until > self.clock.monotonic()

    def ask_delay(self, site: str, seconds: float | None) -> None:
        """Take a crawl-delay into account; the longer of it and the setting counts."""
        known = self._site(site)
        wanted = min(seconds or 0.0, self.options.max_crawl_delay_seconds)
        known.delay = max(self._own_delay(site), wanted)

    def delay(self, site: str) -> float:
        """Seconds between the starts of two accesses to a site: its polite rate is one over it."""
        return self._site(site).delay

    def closed_until(self, site: str) -> float:
        """Monotonic time until which a site is left alone; minus infinity: it is not."""
        return self._site(site).closed_until

    def document(self, site: str, now: float) -> dict[str, float | int | None]:
        """How a site is treated; `now` is the time of day."""
        known = self._site(site)
        wait = known.closed_until - self.clock.monotonic()
        return {
            "concurrency": known.concurrency,
            "accessing": known.active,
            "failures_in_a_row": known.failures,
            "closed_until": now + wait if wait > 0 else None,
        }

    def unreachable(self) -> dict[str, float]:
        """Sites that failed so often in a row that they are left alone, with the seconds until the next try."""
        now = self.clock.monotonic()
        return {
            name: site.closed_until - now
            for name, site in self._sites.items()
            if site.closed_until > now and site.failures >= self.options.site_failures
        }

    def backoff(self, failures: int, retry_after: float | None = None) -> float:
        """Seconds until a page that failed so many times in a row is tried again."""
        options = self.options
        exponent = min(max(failures, 1) - 1, 60)
        wait = min(options.backoff_seconds * 2.0**exponent, options.max_backoff_seconds)
        wait *= 1.0 + 0.2 * self.random.random()
        return min(max(wait, retry_after or 0.0), 1.2 * options.max_backoff_seconds)

    def _close(self, known: _Site, seconds: float) -> None:
        seconds = min(seconds, 1.2 * self.options.max_backoff_seconds)
        known.closed_until = max(known.closed_until, self.clock.monotonic() + seconds)

    def _own_delay(self, site: str) -> float:
        special = self.sites.get(site)
        if special is not None and special.min_delay_seconds is not None:
            return special.min_delay_seconds
        return self.options.min_delay_seconds

    def _site(self, site: str) -> _Site:
        known = self._sites.get(site)
        if known is None:
            special = self.sites.get(site)
            concurrency = special.max_concurrency if special is not None else None
            known = _Site(self._own_delay(site), concurrency or self.options.max_concurrency)
            self._sites[site] = known
        return known
