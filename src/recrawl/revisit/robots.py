"""Several robots: one shared order, or a set of pages for each."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recrawl.errors import InvalidModel
from recrawl.revisit.obsolescence import cost_of, lower_bound
from recrawl.revisit.plan import Limits, access_law

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
    """Disjoint sets of pages: who accesses what, and what the splitting costs.

    `frequency` is each page's share of the accesses of its own robot; `shared_bound` is the lower bound when all
    robots serve one order, `bound` when each serves its own pages only.
    """

    robot: NDArray[np.int64]
    frequency: NDArray[np.float64]
    bound: float
    shared_bound: float

    @property
    def penalty(self) -> float:
        """Relative increase of the lower bound by splitting."""
        return self.bound / self.shared_bound - 1.0 if self.shared_bound > 0 else 0.0


def split_plan(pages: Pages, access: Law, robots: int, limits: Limits | None = None) -> Split:
    """Give each of `robots` robots its own pages, and plan each set by itself.

    Splitting loses because the budgets of the sets are equal while their needs are not; with many pages the sets can be
    balanced and the loss vanishes.
    """
    limits = limits or Limits()
    if limits:
        raise InvalidModel("limits on intervals and sites are kept by one shared order, not by disjoint sets")
    if robots > len(pages):
        raise InvalidModel(f"{robots} robots for {len(pages)} pages: some would have none")
    law = access_law(access, robots=robots)
    shared = limits.frequencies(pages, law)
    robot = split_pages(shared.frequency, robots)
    frequency = np.zeros(len(pages))
    bound = 0.0
    for one in range(robots):
        members = np.flatnonzero(robot == one)
        part = pages.subset(members)
        found = limits.frequencies(part, access)
        frequency[members] = found.frequency
        bound += cost_of(part, lower_bound(part, access, found.frequency))
    return Split(robot, frequency, bound, cost_of(pages, lower_bound(pages, law, shared.frequency)))
