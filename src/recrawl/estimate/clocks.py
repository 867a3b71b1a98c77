"""Which page next, for pages that change together: an order on top of what is believed about them.

A page is due when the value of an access reaches the price, on the clock of its group. The head of the order is
accessed whenever an access is free, early or late: the budget is met exactly, and the price only sets the order. One
access costs O(log N), amortised.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from recrawl.errors import InvalidModel
from recrawl.estimate.clock_belief import ClockBelief
from recrawl.laws.law import positive

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from recrawl.estimate._clock_order import Order


__all__ = ["RULES", "GroupClocks"]

RULES = ("optimal", "poisson", "proportional", "known")

_BY_SLOT = ("wait", "level", "lean", "most", "weight", "status", "known", "page_heaps")


class GroupClocks:
    """Which page next, for pages that change together.

    Pages are slots: numbers that `add` gives and `remove` takes back.

    Parameters
    ----------
    budget
        Accesses per unit of time.
    rule
        `optimal`: group clocks. `poisson`: every page on its own. `proportional`: as often as it changes.
        `known`: as `poisson`, with rates given to `add`.
    start
        The time before the first access.

    >>> clocks = GroupClocks(budget=2.0)
    >>> slots = clocks.add(["a/1", "a/2"], now=0.0)
    >>> first = clocks.take(0.5)
    >>> clocks.observe(first, 0.5, changed=False)
    >>> clocks.take(1.0) != first
    True
    """

    def __init__(self, budget: float, *, rule: str = "optimal", start: float = 0.0) -> None:
        from recrawl.estimate._order_state import empty_order

        if rule not in RULES:
            raise InvalidModel(f"rule must be one of {', '.join(RULES)}, not {rule!r}")
        self.rule = rule
        self.belief = ClockBelief(budget, start=start, ticking=rule == "optimal")
        self._newcomers: deque[int] = deque()
        self.order: Order = empty_order(self.belief, rule)

    # Pages come and go.

    def __len__(self) -> int:
        return len(self.belief)

    @property
    def budget(self) -> float:
        """Accesses per unit of time."""
        return self.belief.budget

    def add(
        self,
        names: Sequence[str],
        now: float,
        *,
        weights: Iterable[float] | None = None,
        rates: Iterable[float] | None = None,
        seen: ArrayLike | None = None,
    ) -> list[int]:
        """Slots for new pages. They are accessed next, unless they were `seen` at times before."""
        from recrawl.estimate import _clock_order as kernel

        mass = np.ones(len(names)) if weights is None else np.array(list(weights), dtype=np.float64)
        if mass.shape != (len(names),) or not ((mass >= 0) & np.isfinite(mass)).all():
            raise InvalidModel("every page needs a weight that is not negative")
        slots = self.belief.add(names, seen)
        self._follow()
        order = self.order
        if self.rule == "known":
            order.known[slots] = np.array(list(() if rates is None else rates), dtype=np.float64)
        order.weight[slots] = mass
        order.wait[slots] = 0.0
        order.status[slots] = kernel.OUT
        if seen is None:
            self._newcomers.extend(slots.tolist())
        else:
            for slot in slots.tolist():
                kernel.settle(order, slot, now)
        return [int(slot) for slot in slots]

    def reserve(self, count: int) -> NDArray[np.int64]:
        """Slots for pages that a compiled loop will put in."""
        slots = self.belief.reserve(count)
        self._follow()
        return slots

    def remove(self, slot: int, now: float) -> None:
        """Forget a page."""
        from recrawl.estimate import _clock_order as kernel

        self.belief.check(slot)
        kernel.forget(self.order, slot, now)
        self.belief.remove(slot)

    def name_of(self, slot: int) -> str:
        """The name of a page."""
        self.belief.check(slot)
        return self.belief.names[slot]

    def slots(self) -> list[int]:
        """Slots of all pages."""
        return [int(slot) for slot in self.belief.slots()]

    def set_budget(self, budget: float) -> None:
        """Another number of accesses per unit of time, from now on."""
        from recrawl.estimate._clock_order import GAP

        self.belief.set_budget(positive("budget", budget))
        self.order.numbers[GAP] = 1.0 / budget

    def _follow(self) -> None:
        """Take over arrays that the belief has made anew."""
        from recrawl.estimate._order_state import following

        self.order = following(self.order, self.belief.state)

    # Accesses.

    def take(self, now: float) -> int:
        """The page to access now; it is out until it is observed or given back. −1: none waits."""
        from recrawl.estimate import _clock_order as kernel

        while self._newcomers:
            slot = self._newcomers.popleft()
            if self.order.status[slot] == kernel.OUT:
                return slot
        self.maintain(now)
        return int(kernel.take(self.order, now))

    def observe(self, slot: int, now: float, changed: bool, last_modified: float | None = None) -> None:
        """What an access found; the time of the page's last change if it is known."""
        from recrawl.estimate import _clock_order as kernel

        self.belief.check(slot)
        if self.order.status[slot] == kernel.WAITING:
            kernel.unqueue_page(self.order, slot, now)
        kernel.record(self.order, slot, now, *_kind(changed, last_modified))

    def signal(self, slot: int, now: float, changed: bool = True, last_modified: float | None = None) -> None:
        """Someone said that the page has changed since its last access (or has not); it is not accessed yet."""
        from recrawl.estimate import _clock_order as kernel
        from recrawl.estimate._clock_kernels import SEEN

        self.belief.check(slot)
        if changed:
            kernel.signalled(self.order, slot, now, *_kind(True, last_modified))
        elif self.belief.state.pages.state[slot] == SEEN:
            self.observe(slot, now, False)

    def give_back(self, slot: int, now: float) -> None:
        """A page that is out was not accessed: it waits again."""
        from recrawl.estimate import _clock_order as kernel
        from recrawl.estimate._clock_kernels import NEW

        self.belief.check(slot)
        if self.belief.state.pages.state[slot] == NEW:
            self._newcomers.append(slot)
        elif self.order.status[slot] == kernel.OUT:
            kernel.settle(self.order, slot, now)

    def maintain(self, now: float) -> None:
        """Groups, bins and the grid of rates follow when the number of pages or the budget has moved far."""
        from recrawl.estimate._clock_order import PRICE, rebuild_all

        if self.belief.wants_care():
            before = self.belief.belief.grid.low
            self.belief.maintain(now)
            ratio = before / self.belief.belief.grid.low
            self._follow()
            if self.rule != "proportional":
                self.order.numbers[PRICE] *= ratio
            rebuild_all(self.order, now, ratio != 1.0)

    # Keeping it.

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Everything, as arrays: what `restore` needs to go on exactly."""
        found = {f"clocks.{name}": array for name, array in self.belief.arrays().items()}
        used = found["clocks.belief.alive"].size
        fields: dict[str, Any] = self.order._asdict()
        del fields["clocks"], fields["members"]
        for name, value in fields.items():
            parts = value._asdict().items() if hasattr(value, "_asdict") else [("", value)]
            for part, array in parts:
                found[f"{name}.{part}"] = (array[:used] if name in _BY_SLOT else array).copy()
        found["rule"] = np.array(RULES.index(self.rule))
        found["newcomers"] = np.array(self._newcomers, dtype=np.int64)
        return found

    @classmethod
    def restore(cls, arrays: Mapping[str, NDArray[np.generic]]) -> GroupClocks:
        """The clocks that `arrays` were taken from."""
        belief = {name[7:]: arrays[name] for name in arrays if name.startswith("clocks.")}
        found = cls(1.0, rule=RULES[int(arrays["rule"])])
        found.belief = ClockBelief.restore(belief)
        found._newcomers = deque(int(slot) for slot in arrays["newcomers"])
        fields: dict[str, Any] = found.order._asdict()
        for name, value in fields.items():
            if name == "clocks":
                fields[name] = found.belief.state
            elif hasattr(value, "_asdict"):
                parts = {part: np.array(arrays[f"{name}.{part}"]) for part in value._asdict()}
                fields[name] = type(value)(**parts)
            elif name == "members":
                fields[name] = np.zeros(arrays["status."].size, dtype=np.int32)
            else:
                fields[name] = np.array(arrays[f"{name}."])
        found.order = found.order._replace(**fields)
        return found

    @property
    def bytes_per_page(self) -> float:
        """Memory of the arrays, groups included, over the number of pages."""
        return _bytes(self.order) / max(len(self), 1)


def _bytes(value: Any) -> int:
    return sum(map(_bytes, value)) if isinstance(value, tuple) else int(value.nbytes)


def _kind(changed: bool, last_modified: float | None) -> tuple[int, float]:
    from recrawl.estimate import _clock_kernels as kernel

    if not changed:
        return kernel.UNCHANGED, 0.0
    return (kernel.CHANGED, 0.0) if last_modified is None else (kernel.DATED, last_modified)
