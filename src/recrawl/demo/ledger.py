"""The measured truth about one set of copies, kept up to date access by access."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from recrawl.errors import InvalidModel

if TYPE_CHECKING:
    from recrawl.demo.truth import Truth

__all__ = ["Ledger"]


class Ledger:
    """Obsolescence of copies from `since` on, exactly, in a constant time for each access.

    A copy is current from the end of its access to the page's next change [Coffman 1999, Section 2]; a page without a
    copy is obsolete. Accesses may be noted late, those of one page in their order; each is taken at its own end.

    Parameters
    ----------
    since
        Where the measured period begins; may lie ahead. Accesses before it count as copies, not as time.

    Examples
    --------
    >>> from recrawl.demo import replay_truth
    >>> ledger = Ledger(replay_truth([(3.0, "a"), (8.0, "a")], ["a"]), since=1.0)
    >>> ledger.note("a", 1.0), ledger.note("a", 5.0)
    (True, True)
    >>> ledger.obsolescence(11.0)
    0.5
    """

    def __init__(self, truth: Truth, since: float) -> None:
        self._truth = truth
        self.since = since
        self.until = math.inf
        self.accesses = 0  # that ended in the measured period
        self._current_until = np.full(len(truth.urls), -math.inf)
        self._last = np.full(len(truth.urls), -math.inf)
        self._obsolete = 0.0  # page-seconds before each page's last access

    def note(self, url: str, ended: float) -> bool:
        """A page was accessed; whether it is a page of the web, and the access its newest."""
        number = self._truth.number.get(url)
        if number is None or ended <= self._last[number]:
            return False
        end = min(max(ended, self.since), self.until)
        self._obsolete += max(0.0, end - max(float(self._current_until[number]), self.since))
        self._current_until[number] = (
            self._truth.next_change(number, ended) if ended <= self.until else math.inf
        )
        self._last[number] = ended
        self.accesses += self.since < ended <= self.until
        return True

    def close(self, until: float) -> None:
        """The measured period ends here: what is noted from now on counts up to then only."""
        self.until = until

    def obsolete_seconds(self, until: float) -> float:
        """Page-seconds in which copies were out of date, from `since` to `until` (not before the last access)."""
        end = min(until, self.until)
        open_ = np.clip(end - np.maximum(self._current_until, self.since), 0.0, None)
        return self._obsolete + float(open_.sum())

    def obsolescence(self, until: float) -> float:
        """Fraction of the time since the beginning that copies were out of date: the mean over all pages."""
        end = min(until, self.until)
        if not end > self.since:
            raise InvalidModel(f"until: {end}; must be after since: {self.since}")
        return self.obsolete_seconds(end) / len(self._truth.urls) / (end - self.since)

    @property
    def copies(self) -> int:
        """Pages that have a copy."""
        return int(np.isfinite(self._last).sum())
