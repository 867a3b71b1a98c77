"""How many robots are active: fixed, by thresholds on the index queue, or found while running."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recrawl.control import Policy
    from recrawl.engine.automatic import Log
    from recrawl.engine.measures import Measures
    from recrawl.engine.queue import IndexQueue
    from recrawl.engine.robots import Robots

__all__ = ["Controller", "fixed", "guarded", "switched"]


def fixed(robots: int, capacity: int) -> tuple[int, ...]:
    """The same number whatever waits.

    >>> fixed(2, 3)
    (2, 2, 2, 2)
    """
    return (robots,) * (capacity + 1)


def guarded(robots: int, capacity: int) -> tuple[int, ...]:
    """No more robots than there is room for their pages: hardly anything is accessed in vain.

    >>> guarded(3, 4)
    (3, 3, 2, 1, 0)
    """
    return tuple(min(robots, capacity - level) for level in range(capacity + 1))


def switched(policy: Policy, capacity: int) -> tuple[int, ...]:
    """By thresholds."""
    return policy.robots(capacity)


@dataclass
class Controller:
    """Sets the number of active robots whenever a page comes, leaves, or robots run out of pages to access."""

    robots: Robots
    queue: IndexQueue
    measures: Measures
    table: tuple[int, ...]  # active robots for 0, 1, ..., capacity pages
    log: Log
    paced: bool = False  # there is a budget: an idle indexer is spare, not starving

    def attach(self) -> None:
        """Begin to steer."""
        self.queue.on_level = self.steer
        self.queue.on_delivery = self._delivered
        self.robots.on_wait = self._note
        self.steer(self.queue.level())

    def use(self, table: tuple[int, ...]) -> None:
        """Steer by another table from now on; measures of the queue begin anew."""
        self.table = table
        self.measures.restart()
        self.steer(self.queue.level())

    def steer(self, level: int) -> None:
        """The level has changed."""
        number = self.table[min(level, len(self.table) - 1)]
        if number != self.robots.active:
            self.robots.switch(number)
            self.log.state(self.measures.clock.monotonic(), number)
        self._note()

    def _delivered(self, robots: int) -> None:
        self.log.delivered(self.measures.clock.monotonic(), robots)

    def _note(self) -> None:
        robots = self.robots
        # Nobody accesses anything and somebody would: nothing is due, or politeness or the budget forbids it.
        spare = self.paced or (robots.waiting > 0 and not robots.in_flight)
        self.measures.state(self.queue.level(), robots.active, spare)
