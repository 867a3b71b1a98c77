"""What the scheduler is told, and what it hands out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recrawl.engine.planning import PolicyName
    from recrawl.engine.records import PageRecord

__all__ = ["Observation", "SchedulerSettings", "Ticket"]


@dataclass(frozen=True)
class SchedulerSettings:
    """How the scheduler behaves."""

    policy: PolicyName = "optimal"
    shortest_seconds: float = 0.0
    longest_seconds: float = math.inf
    lease_seconds: float = 300.0
    weights: str = "links"


@dataclass(frozen=True, slots=True)
class Ticket:
    """A page that was handed out."""

    url: str
    slot: int
    site: str
    handed: float
    due: float


@dataclass(frozen=True, slots=True)
class Observation:
    """What an access said about a page, for the belief."""

    page: PageRecord  # as it was before
    ended: float
    changed: bool
    date: float | None = None  # of the page's last change, as its server says
