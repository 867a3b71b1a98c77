"""The answer in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recrawl.fleet.mg1k import IndexQueue
    from recrawl.fleet.optimum import RobotChoice
    from recrawl.fleet.robots import Allocation
    from recrawl.fleet.unbounded import SmallestCapacity

__all__ = ["allocation_in_words", "capacity_in_words", "in_words"]


def _percent(share: float) -> str:
    """A share for people: never 0.0 % for what can happen.

    >>> _percent(0.0412), _percent(0.00004), _percent(0.0)
    ('4.1 %', 'less than 0.1 %', '0 %')
    """
    if share == 0.0:
        return "0 %"
    return "less than 0.1 %" if share < 0.0005 else f"{100 * share:.1f} %"


def _fate(queue: IndexQueue) -> str:
    return f"the indexer idles {_percent(queue.starvation)} of the time, {_percent(queue.loss)} of pages are lost"


def in_words(
    choice: RobotChoice, more: tuple[float, IndexQueue], fewer: tuple[float, IndexQueue] | None
) -> str:
    """The choice, and what one robot more or fewer would change.

    >>> from recrawl.fleet import Costs, optimal_robots, robot_curve
    >>> from recrawl.laws import Exponential
    >>> costs = Costs(starvation=2.0)
    >>> choice = optimal_robots(Exponential(1.0), 0.2, costs, 10)
    >>> (_, *five), (_, *seven) = robot_curve(Exponential(1.0), 0.2, costs, 10, [5, 7])
    >>> print(in_words(choice, seven, five))
    6 robots: the indexer idles 3.1 % of the time, 19.3 % of pages are lost. One more would cost 22.9 % more \
(1.0 % idle, 29.3 % lost), one fewer 7.0 % more (9.1 % idle, 9.1 % lost).
    """
    robots = "1 robot" if choice.robots == 1 else f"{choice.robots} robots"
    text = f"{robots}: {_fate(choice.queue)}."
    text += f" One more would {_compared(choice, *more)}"
    if fewer is not None:
        text += f", one fewer {_compared(choice, *fewer, short=True)}"
    text += "."
    if choice.limit:
        text += " More robots than allowed would be cheaper."
    return text


def _compared(choice: RobotChoice, cost: float, queue: IndexQueue, *, short: bool = False) -> str:
    change = cost / choice.cost - 1.0
    verb = "" if short else "cost "
    size = f"{verb}{100 * abs(change):.1f} % {'more' if change >= 0 else 'less'}"
    return f"{size} ({_percent(queue.starvation)} idle, {_percent(queue.loss)} lost)"


def allocation_in_words(allocation: Allocation) -> str:
    """How many robots of each group, and what comes of it.

    >>> from recrawl.fleet import Costs, RobotGroup, allocate
    >>> from recrawl.laws import Exponential
    >>> groups = [RobotGroup("news", 0.7), RobotGroup("archive", 0.2, most=4)]
    >>> print(allocation_in_words(allocate(groups, Exponential(1.0), Costs(1.0), 10)))
    1 robot for news, 2 robots for archive: the indexer idles 5.4 % of the time, 14.0 % of pages are lost.
    """
    parts = [
        f"{number} {'robot' if number == 1 else 'robots'} for {name}"
        for name, number in allocation.robots.items()
        if number
    ]
    text = f"{', '.join(parts)}: {_fate(allocation.queue)}."
    if not allocation.exact:
        gap = 1.0 - allocation.lower_bound / allocation.cost
        text += f" Among {allocation.combinations:.2g} combinations none is cheaper by more than {100 * gap:.1f} %."
    return text


def capacity_in_words(answer: SmallestCapacity) -> str:
    """How large the buffer must be.

    >>> from recrawl.fleet import smallest_capacity
    >>> from recrawl.laws import Exponential
    >>> print(capacity_in_words(smallest_capacity(Exponential(1.0), 0.8, 2.0, tolerance=0.01)))
    A capacity of 18 costs 0.4095, within 0.01 of an unbounded buffer (0.4).
    """
    with_obsolescence = " when waiting pages grow obsolete" if answer.obsolescence_rate else ""
    return (
        f"A capacity of {answer.capacity} costs {answer.cost:.4g}{with_obsolescence}, "
        f"within {answer.tolerance:g} of an unbounded buffer ({answer.limit:.4g})."
    )
