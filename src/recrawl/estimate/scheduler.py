"""A schedule for people with a crawler of their own: which page next, and what an access found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recrawl.errors import InvalidModel
from recrawl.estimate.clocks import GroupClocks

if TYPE_CHECKING:
    from os import PathLike

__all__ = ["Scheduler"]


class Scheduler:
    """Tells which page to access next, and learns from what each access finds.

    Times are numbers of any unit, the same everywhere; they must not fall. Pages are known by name: a URL or a path,
    whose beginning says which pages belong together.

    Parameters
    ----------
    budget
        Accesses per unit of time that the caller means to spend.
    policy
        `optimal`: pages of a group share a clock. `poisson`: every page on its own. `proportional`: as often as
        it changes, which is worse and here for comparison.
    start
        The time before the first access.

    >>> schedule = Scheduler(budget=1.0)
    >>> schedule.add("https://a.example/1")
    >>> schedule.add("https://a.example/2", weight=2.0)
    >>> page = schedule.next(1.0)
    >>> schedule.observe(page, 1.0, changed=True)
    >>> schedule.next(2.0) != page
    True
    """

    def __init__(self, budget: float, *, policy: str = "optimal", start: float = 0.0) -> None:
        if policy == "known":
            raise InvalidModel("policy must be one of optimal, poisson, proportional, not 'known'")
        self._clocks = GroupClocks(budget, rule=policy, start=start)
        self._slots: dict[str, int] = {}
        self._now = float(start)

    def __len__(self) -> int:
        return len(self._slots)

    def __contains__(self, page: object) -> bool:
        return page in self._slots

    @property
    def policy(self) -> str:
        """How pages are chosen."""
        return self._clocks.rule

    @property
    def budget(self) -> float:
        """Accesses per unit of time; may be changed at any time."""
        return self._clocks.budget

    @budget.setter
    def budget(self, budget: float) -> None:
        self._clocks.set_budget(budget)

    def add(self, page: str, *, weight: float = 1.0, last_access: float | None = None) -> None:
        """A page to keep fresh. It is accessed next, unless there is a copy of it from `last_access`."""
        if page in self._slots:
            raise InvalidModel(f"page {page!r} is already there")
        if last_access is not None and not last_access <= self._now:
            raise InvalidModel(
                f"last_access of {page!r} must not lie after now, {self._now}, not {last_access}"
            )
        seen = None if last_access is None else [last_access]
        (self._slots[page],) = self._clocks.add([page], self._now, weights=[weight], seen=seen)

    def remove(self, page: str) -> None:
        """Forget a page that is gone."""
        self._clocks.remove(self._slot(page), self._now)
        del self._slots[page]

    def next(self, now: float) -> str | None:
        """The page to access now, out until it is observed or given back; None if no page waits."""
        slot = self._clocks.take(self._advance(now))
        return None if slot < 0 else self._clocks.name_of(slot)

    def observe(self, page: str, time: float, changed: bool, last_modified: float | None = None) -> None:
        """What an access found: had the page changed since the access before; and when, if a date is known.

        A page need not be out.
        """
        slot = self._slot(page)
        time = self._advance(time)
        if last_modified is not None and not last_modified <= time:
            last_modified = time  # a clock that runs ahead of ours
        self._clocks.observe(slot, time, changed, last_modified)

    def signal(
        self, page: str, time: float, changed: bool = True, last_modified: float | None = None
    ) -> None:
        """What a sitemap or a pushed URL says: the page has changed since its last access, or it has not.

        A page that has changed is due at once, if an access of it is worth the price at all, and its group's clock
        hears of it. A date that is no later than what is known says nothing.
        """
        slot = self._slot(page)
        time = self._advance(time)
        if last_modified is not None:
            last_modified = min(last_modified, time)
        self._clocks.signal(slot, time, changed, last_modified)

    def give_back(self, page: str, now: float) -> None:
        """The page was not accessed after all; it waits again."""
        self._clocks.give_back(self._slot(page), self._advance(now))

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything to a file (numpy's .npz), to go on from exactly here."""
        with open(path, "wb") as file:
            np.savez(file, now=np.array(self._now), **self._clocks.arrays())  # type: ignore[arg-type]

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Scheduler:
        """The schedule that was saved."""
        with np.load(path, allow_pickle=False) as arrays:
            clocks = GroupClocks.restore(arrays)
            schedule = cls(clocks.budget, policy=clocks.rule)
            schedule._now = float(arrays["now"])
        schedule._clocks = clocks
        schedule._slots = {clocks.name_of(slot): slot for slot in clocks.slots()}
        return schedule

    def _slot(self, page: str) -> int:
        try:
            return self._slots[page]
        except KeyError:
            raise InvalidModel(f"page {page!r} is not there") from None

    def _advance(self, now: float) -> float:
        if not now >= self._now:
            raise InvalidModel(f"time must not fall: {now} comes after {self._now}")
        self._now = float(now)
        return self._now
