"""What others say of pages: the dates of sitemaps, and URLs that are pushed.

An announcement moves the page's due time at once, and enters the belief once: with the access that confirms it. It
is then evidence of its own kind, because the access came when it did only since the page had changed. A sitemap that
was read at r and dates the last change at s tells what an access at r would have told that finds the date s. A pushed
URL tells how long the page had been quiet since its last access. The access itself adds nothing. Where it finds the
page unchanged the announcement was wrong, and the access counts like any other. That a sitemap is silent proves
nothing: many never change their dates.

Sitemaps that stamp every page with the date of the day would ruin the schedule, so each site's announcements are
first tried on a few pages, and followed further only as long as at least half of those tried were right.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Announcements", "Pending"]

_TRIED = 10  # announcements of a site that are tried before it is known to be right
_SHARE = 0.5  # of them that must be right
_MEMORY = 200.0  # announcements after which the oldest count half
_AHEAD = 60.0  # seconds that another clock may be ahead of ours


@dataclass(frozen=True, slots=True)
class Pending:
    """A page was said to have changed: when that was heard of, and the date."""

    site: int | None  # whose announcements it speaks for or against
    heard: float
    date: float  # of the last change; NaN: just that there was one


@dataclass
class _Record:
    """How a site's announcements have fared."""

    right: float = 0.0
    wrong: float = 0.0
    open: int = 0  # followed, and not confirmed or refuted yet

    def note(self, right: bool) -> None:
        """One more."""
        kept = 0.5 ** (1.0 / _MEMORY)
        self.right, self.wrong = kept * self.right + right, kept * self.wrong + (not right)

    def follows(self) -> bool:
        """Whether another announcement is to be followed."""
        checked = self.right + self.wrong
        tried = checked > _TRIED - 1  # a little less than their number, as old ones fade
        if tried and self.right >= _SHARE * checked:
            return True
        # A site that was wrong is tried again, one page at a time: it may have been mended.
        return self.open < (1 if tried else _TRIED)


class Announcements:
    """Judges announcements, and remembers those that were followed until their pages are accessed."""

    def __init__(self) -> None:
        self._pending: dict[int, Pending] = {}
        self._records: dict[int, _Record] = {}

    def __len__(self) -> int:
        return len(self._pending)

    def __contains__(self, slot: int) -> bool:
        return slot in self._pending

    def slots(self) -> list[int]:
        """Pages that were said to have changed and are not accessed yet."""
        return list(self._pending)

    def dated(self, slot: int, site: int, last: float, date: float, now: float) -> bool:
        """A list of pages that was read now dates a page's last change; whether to follow it."""
        if not last < date <= now + _AHEAD or slot in self._pending:
            return False
        record = self._records.setdefault(site, _Record())
        if not record.follows():
            return False
        record.open += 1
        self._pending[slot] = Pending(site, now, min(date, now))
        return True

    def pushed(self, slot: int, last: float, when: float, now: float) -> bool:
        """Somebody who may do so said that a page changed at `when`; whether that is news."""
        when = min(when, now)
        if not last < when or slot in self._pending:
            return False
        self._pending[slot] = Pending(None, when, math.nan)
        return True

    def settle(self, slot: int, changed: bool) -> Pending | None:
        """The page was accessed; what to learn from besides, if it was announced and has changed."""
        pending = self._pending.pop(slot, None)
        if pending is None:
            return None
        if pending.site is not None:
            record = self._records.setdefault(pending.site, _Record())
            record.open -= 1
            record.note(changed)
        return pending if changed else None

    def forget(self, slot: int) -> None:
        """The page is gone."""
        pending = self._pending.pop(slot, None)
        if pending is not None and pending.site is not None:
            self._records[pending.site].open -= 1

    def kept(self, names: list[str]) -> bytes:
        """How sites have fared, by name, for `restore`."""
        records = {names[site]: [record.right, record.wrong] for site, record in self._records.items()}
        return json.dumps(records).encode()

    def restore(self, kept: bytes, numbers: Mapping[str, int]) -> None:
        """Go on from what was kept; sites that are not known any more are passed over."""
        for name, (right, wrong) in json.loads(kept).items():
            if name in numbers:
                self._records[numbers[name]] = _Record(right, wrong)
