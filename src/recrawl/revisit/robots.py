"""Several robots: one shared order, or a set of pages for each."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recrawl.errors import InvalidModel
from recrawl.revisit.obsolescence import cost_of, lower_bound
from recrawl.revisit.plan import Limits, Plan, access_law, make_plan

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from recrawl.laws import Law
    from recrawl.revisit.pages import Pages

__all__ = ["Split", "split_pages", "split_plan"]


def split_pages(frequency: ArrayLike, robots: int) -> NDArray[np.int64]:
    """The robot of each page, so that all robots have about the same share of the accesses.

    Longest processing time first [Graham 1969]: pages by falling frequency, each to the robot with least so far.

    >>> split_pages([0.4, 0.3, 0.2, 0.1], 2).tolist()
    [0, 1, 1, 0]
    """
    frequency = np.asarray(frequency, dtype=np.float64)
    if int(robots) != robots or robots < 1:
        raise InvalidModel(f"robots must be a whole number from 1, not {robots}")
    result = np.empty(frequency.size, dtype=np.int64)
    # The number of pages breaks ties, so that pages without accesses are spread as well.
    load = [(0.0, 0, robot) for robot in range(robots)]
    for page in np.argsort(-frequency, kind="stable").tolist():
        share, count, robot = load[0]
        result[page] = robot
        heapq.heapreplace(load, (share + float(frequency[page]), count + 1, robot))
    return result


@dataclass(frozen=True, eq=False)
class Split:
    """Disjoint sets of pages: who accesses what, each robot's own plan, and what the splitting costs.

    `robot` numbers the robot of each page, `plans[r]` is the plan of robot r over its pages in their order;
    `shared_bound` is the lower bound when all robots serve one order.
    """

    robot: NDArray[np.int64]
    plans: list[Plan]
    shared_bound: float

    @property
    def bound(self) -> float:
        """The lower bound when each robot serves its own pages only."""
        return sum(plan.lower_bound for plan in self.plans)

    @property
    def cost(self) -> float:
        """Cost of all robots under their policy."""
        return sum(plan.cost for plan in self.plans)

    @property
    def penalty(self) -> float:
        """Relative increase of the lower bound by splitting."""
        return self.bound / self.shared_bound - 1.0 if self.shared_bound > 0 else 0.0

    def per_page(self, name: str) -> NDArray[np.float64]:
        """One value of every page from its robot's plan, such as `frequency`, `access_rate`, `page_obsolescence`."""
        result = np.empty(self.robot.size)
        for number, plan in enumerate(self.plans):
            result[self.robot == number] = getattr(plan, name)
        return result


def split_plan(pages: Pages, access: Law, robots: int, policy: str = "windows") -> Split:
    """Give each of `robots` robots its own pages, and plan each set by itself.

    Splitting loses because the budgets of the sets are equal while their needs are not; with many pages the sets
    can be balanced and the loss vanishes. `access` is the law of one robot's access.
    """
    if robots > len(pages):
        raise InvalidModel(f"{robots} robots for {len(pages)} pages: some would have none")
    shared_law = access_law(access, robots=robots)
    shared = Limits().frequencies(pages, shared_law)
    robot = split_pages(shared.frequency, robots)
    plans = [
        make_plan(pages.subset(np.flatnonzero(robot == one)), access, policy=policy) for one in range(robots)
    ]
    return Split(robot, plans, cost_of(pages, lower_bound(pages, shared_law, shared.frequency)))
