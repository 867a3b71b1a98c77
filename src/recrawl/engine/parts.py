"""What an engine is made of: the world it is given, and how it behaves."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from recrawl.engine.automatic import CostSettings
from recrawl.engine.conclude import Patience
from recrawl.engine.scheduler import SchedulerSettings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from concurrent.futures import Executor

    from recrawl.control import Policy
    from recrawl.engine.conclude import Admission
    from recrawl.engine.fitting import Fitter
    from recrawl.engine.protocols import Accessor, Buffer, Clock, Index, Politeness, Store
    from recrawl.engine.records import Access, Content, Delivery, NewPage, Outcome

__all__ = ["Behaviour", "World"]


@dataclass(frozen=True)
class World:
    """Everything outside the engine."""

    clock: Clock
    store: Store
    index: Index
    buffer: Buffer
    accessor: Accessor
    politeness: Politeness
    admission: Admission
    extract: Callable[[Access], tuple[Outcome, Content | None, str]]
    discover: Callable[
        [], AsyncIterator[list[NewPage]]
    ]  # seeds, lists and sitemaps, read once from the start
    executor: Executor | None = None
    delay: Callable[[Delivery], Awaitable[None]] | None = None
    fitter: Fitter | None = None  # of the index queue; None: in a thread


@dataclass(frozen=True)
class Behaviour:
    """How the engine behaves."""

    scheduler: SchedulerSettings = field(default_factory=SchedulerSettings)
    patience: Patience = field(default_factory=Patience)
    costs: CostSettings = field(default_factory=CostSettings)
    budget: float | None = None  # accesses per second
    robots: int = 16
    fewest_robots: int = 0  # with auto
    control: str = "guarded"  # guarded, fixed, thresholds, auto
    policy: Policy | None = None  # with thresholds
    obsolete_after: float = math.inf
    deterministic: bool = False
    batch: int = 32
    commit_pages: int = 500
    commit_seconds: float = 2.0
    replan_seconds: float = 5.0
    discover_seconds: float = 86400.0
    status_seconds: float = 2.0
    grace_seconds: float = 30.0
    max_pages: int = 1_000_000
    warm: bool = True  # compile what the scheduler needs before robots start
    seed: int | None = None
