"""The first scene: two engines on the same web, at the same budget, under different policies.

Both see the same changes, and the web knows them all; so what each policy makes of its accesses is measured exactly.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from recrawl.demo.ledger import Ledger
from recrawl.demo.options import DemoOptions
from recrawl.engine.records import Outcome
from recrawl.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path

    from recrawl.demo.truth import Truth
    from recrawl.demo.web import DemoWeb
    from recrawl.engine.engine import Engine
    from recrawl.engine.records import Access

__all__ = ["Contender", "Score", "bound_of", "contest_settings", "contest_web"]

_GOOD = (Outcome.CONTENT, Outcome.NOT_MODIFIED)
_RECENT_SECONDS = 10.0
_SITES = 4
_DIRECTORY = 10  # pages
ACCESSES_PER_CHANGE = 2.0  # the budget in units of the web's change rate


def contest_web(pages: int, budget: float, seed: int) -> DemoOptions:
    """Four sites with half as many changes as accesses, lognormal rates of log-sd 2.

    A quarter of the directories are edited as a whole.
    """
    sites = min(_SITES, pages)
    per_site = -(-pages // sites)
    return DemoOptions(
        sites=sites,
        pages_per_site=per_site,
        pages_per_directory=_DIRECTORY,
        mean_rate_per_second=budget / ACCESSES_PER_CHANGE / (sites * per_site),
        log_sd=2.0,
        even=True,
        edited_share=0.25,
        seed=seed,
        page_bytes=3000,
        remember=False,
    )


def contest_settings(
    web: DemoWeb, policy: str, budget: float, data: Path, listen: str = "", token: str = ""
) -> Settings:
    """An ordinary engine, with politeness that lets a local web be accessed at the budget."""
    return Settings(
        seeds=tuple(web.seeds),
        data=str(data),
        listen=listen,
        token=token,
        policy=policy,
        budget=f"{budget!r}/s",
        weights="equal",
        robots=16,
        min_delay_seconds=0.0,
        max_concurrency=8,
        replan_seconds=1.0,
        commit_seconds=2.0,
        grace_seconds=2.0,
        longest_interval_seconds=1e6,
    )


def bound_of(truth: Truth, access_rate: float) -> float:
    """Least obsolescence at so many accesses per second, by the true rates [Coffman 1999, (7)].

    It holds for every schedule if pages change independently. Pages edited together are taken as if they did not; a
    schedule that concludes from one page of a directory to the others could in principle go below.
    """
    from recrawl.revisit import Pages, budget_curve

    if not access_rate > 0:
        return 1.0
    return float(budget_curve(Pages(truth.rates), [access_rate])[0].obsolescence)


@dataclass(frozen=True)
class Score:
    """What a policy has achieved in the measured period."""

    obsolescence: float
    recent: float  # over the last ten seconds
    believed: float  # by the engine's beliefs, mean over the period
    accesses: int
    access_rate: float  # per second


@dataclass
class Contender:
    """An engine whose copies are watched. `since`: when the measured period begins, in the clock's seconds."""

    engine: Engine
    truth: Truth
    since: float
    recent: deque[float] = field(
        default_factory=lambda: deque(maxlen=240)
    )  # one for each second, for a curve

    def __post_init__(self) -> None:
        self.ledger = Ledger(self.truth, self.since)
        self._whole = Ledger(self.truth, self.truth.start)
        self._marks: deque[tuple[float, float]] = deque([(self.truth.start, 0.0)])
        self._beliefs = [0.0, 0]
        inform = self.engine.indexer.on_access

        def noted(access: Access) -> None:
            if access.outcome in _GOOD:
                self.ledger.note(access.url, access.ended)
                self._whole.note(access.url, access.ended)
            inform(access)

        self.engine.indexer.on_access = noted

    def tick(self, now: float) -> None:
        """Once a second: note the present for curves and for what the engine believes."""
        self._marks.append((now, self._whole.obsolete_seconds(now)))
        while len(self._marks) > 2 and self._marks[1][0] <= now - _RECENT_SECONDS:
            self._marks.popleft()
        (before, stale), pages = self._marks[0], len(self.truth.urls)
        if now > before:
            self.recent.append((self._marks[-1][1] - stale) / pages / (now - before))
        belief = self.engine.expected_freshness
        if now > self.since and not math.isnan(belief):
            self._beliefs[0] += 1.0 - belief
            self._beliefs[1] += 1

    def score(self, now: float) -> Score | None:
        """None while the measured period has not begun."""
        end = min(now, self.ledger.until)
        if not end > self.since:
            return None
        total, count = self._beliefs
        return Score(
            obsolescence=self.ledger.obsolescence(end),
            recent=self.recent[-1] if self.recent else math.nan,
            believed=total / count if count else math.nan,
            accesses=self.ledger.accesses,
            access_rate=self.ledger.accesses / (end - self.since),
        )
