"""How many robots are active: fixed, by thresholds on the index queue, or found while running."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from recrawl.errors import ConfigError, InvalidModel

if TYPE_CHECKING:
    from recrawl.control import Policy
    from recrawl.engine.measures import Measures
    from recrawl.engine.queue import IndexQueue
    from recrawl.engine.queue_log import Log
    from recrawl.engine.robots import Robots

__all__ = ["Controller", "chosen_table", "described", "fixed", "guarded", "switched", "table_of"]


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


def table_of(control: str, robots: int, capacity: int, paced: bool = False) -> tuple[int, ...]:
    """Where a kind of control begins.

    >>> table_of("auto", 4, 3), table_of("fixed", 4, 3, paced=True)
    ((3, 2, 1, 1), (3, 2, 1, 0))
    """
    if control == "auto":  # a start that shows how deliveries grow with the robots
        return tuple(max(1, number) for number in guarded(robots, capacity))
    return guarded(robots, capacity) if control == "guarded" or paced else fixed(robots, capacity)


def chosen_table(
    control: str,
    robots: int | None,
    modes: tuple[int, ...],
    thresholds: tuple[int, ...],
    most: int,
    capacity: int,
    paced: bool,
) -> tuple[int, ...]:
    """The table that somebody asks for at run time, or a ConfigError that says what is wrong with it."""
    if control not in ("guarded", "fixed", "thresholds", "auto"):
        raise ConfigError(f"control: {control!r} must be one of guarded, fixed, thresholds, auto")
    if control == "auto" and paced:
        raise ConfigError("control: 'auto' needs a run without a budget; with one, use guarded or thresholds")
    if control == "fixed":
        number = most if robots is None else robots
        if not 1 <= number <= most:
            raise ConfigError(
                f"robots: {number} must lie from 1 to {most}, the most that the engine was given"
            )
        return fixed(number, capacity)
    if control != "thresholds":
        return table_of(control, most, capacity)
    if not modes or max(modes) > most or min(modes) < 0 or max(modes) < 1:
        raise ConfigError(
            f"modes: {list(modes)} must be numbers of robots up to {most}, the most that the engine was given"
        )
    from recrawl.control import Policy

    try:
        return switched(Policy(modes, thresholds), capacity)
    except InvalidModel as error:
        raise ConfigError(str(error)) from None


def described(table: tuple[int, ...]) -> str:
    """A table of active robots in words.

    >>> described((4, 4, 1)), described((2, 2))
    ('robots: 4 up to 1 pages, then 1', 'robots: always 2')
    """
    ends = [level for level in range(len(table) - 1) if table[level] != table[level + 1]]
    if not ends:
        return f"robots: always {table[0]}"
    if len(ends) > 4:
        return f"robots: {table[0]} at first, fewer and fewer, {table[-1]} at {len(table) - 1} pages"
    steps = ", ".join(f"{table[level]} up to {level} pages" for level in ends)
    return f"robots: {steps}, then {table[-1]}"


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
        self.robots.on_wait = self._note
        self.robots.on_worked = self.log.accessed
        self.steer(self.queue.level())

    def use(self, table: tuple[int, ...]) -> None:
        """Steer by another table from now on; measures of the queue begin anew."""
        if len(table) != self.queue.buffer.capacity + 1 or min(table) < 0 or table[0] < 1:
            raise ConfigError(
                f"robots: {list(table[:8])} must be a number for each of 0 to {self.queue.buffer.capacity} pages, "
                "and at least 1 for an empty queue"
            )
        self.table = table
        self.measures.restart()
        self.steer(self.queue.level())

    def steer(self, level: int) -> None:
        """The level has changed."""
        number = self.table[min(level, len(self.table) - 1)]
        if number != self.robots.active:
            self.robots.switch(number)
        self._note()

    def _note(self) -> None:
        robots = self.robots
        # Nobody accesses anything and somebody would: nothing is due, or politeness or the budget forbids it.
        spare = self.paced or (robots.waiting > 0 and not robots.in_flight)
        self.measures.state(self.queue.level(), robots.active, spare, robots.working)
