"""Clocks of groups: pages that change together are believed together.

Page i of group g changes at rate θ_i · m_g(t): its own rate times the speed of the clock of its group. On that clock
the page is a Poisson process, so the value of an access, the price and the due time are those of `revisit`, with time
replaced by clock time. Speeds, rates and the prior of the rates are learnt online, from accesses that say whether the
page had changed since the one before.

A page is due when its value reaches the price. The head of the order is accessed whenever an access is free, early or
late: the budget is met exactly, and the price only sets the order. One access costs O(log N), amortised.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from recrawl.errors import InvalidModel
from recrawl.estimate.groups import nested_groups, prefixes
from recrawl.laws.law import positive

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray


__all__ = ["RULES", "GroupClocks"]

RULES = ("optimal", "poisson", "proportional", "known")

_RESCALE = 2.2  # the uniform revisit time may drift by this factor before bins and grid follow
_REGROUP = 1 / 3  # pages that may come or go, as a share, before groups are made anew


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
        if rule not in RULES:
            raise InvalidModel(f"rule must be one of {', '.join(RULES)}, not {rule!r}")
        self.budget = positive("budget", budget)
        self.rule = rule
        self._names: list[str] = []
        self._newcomers: deque[int] = deque()
        self._group_of: dict[bytes, int] = {b"": 0}
        self._grouped = 0  # pages when groups were last made
        self._unsettled = 0  # pages that came or went since
        self._round = 1.0 / self.budget  # the uniform revisit time N/B that bins and grid are made for
        from recrawl.estimate._clock_state import empty_state

        self.state = empty_state(rule, self.budget, self._round, start)

    # Pages come and go.

    def __len__(self) -> int:
        from recrawl.estimate._clock_kernels import PAGES

        return int(self.state.counters[PAGES])

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
        from recrawl.estimate import _clock_kernels as kernel
        from recrawl.estimate import _clock_order as order
        from recrawl.estimate._clock_state import grown

        spare = int(self.state.counters[kernel.SPARE])
        again = min(spare, len(names))
        used = len(self._names)
        slots = [int(self.state.free[spare - 1 - i]) for i in range(again)]
        slots += range(used, used + len(names) - again)
        self.state = state = grown(self.state, used + len(names) - again)
        state.counters[kernel.SPARE] -= again
        self._names.extend([""] * (len(names) - again))
        mass = np.ones(len(names)) if weights is None else np.array(list(weights), dtype=np.float64)
        if mass.shape != (len(names),) or not ((mass >= 0) & np.isfinite(mass)).all():
            raise InvalidModel("every page needs a weight that is not negative")
        if self.rule == "known":
            state.known[slots] = np.array(list(() if rates is None else rates), dtype=np.float64)
        for slot, name in zip(slots, names, strict=True):
            self._names[slot] = name
            state.pages.group[slot] = self._nearest_group(name)
        state.pages.weight[slots] = mass
        state.pages.loglik[slots] = 0.0
        state.pages.wait[slots] = 0.0
        state.pages.last[slots] = now if seen is None else seen
        state.pages.status[slots] = kernel.OUT
        state.pages.fresh[slots] = seen is None
        state.counters[kernel.PAGES] += len(slots)
        self._unsettled += len(slots)
        if seen is None:
            self._newcomers.extend(slots)
        else:
            for slot in slots:
                order.settle(state, slot, now)
        return slots

    def remove(self, slot: int, now: float) -> None:
        """Forget a page."""
        from recrawl.estimate import _clock_order as order

        self._check(slot)
        order.forget(self.state, slot, now)
        self._unsettled += 1

    def name_of(self, slot: int) -> str:
        """The name of a page."""
        self._check(slot)
        return self._names[slot]

    def slots(self) -> list[int]:
        """Slots of all pages."""
        from recrawl.estimate._clock_kernels import FREE

        return [int(slot) for slot in np.flatnonzero(self.state.pages.status != FREE)]

    def _check(self, slot: int) -> None:
        from recrawl.estimate._clock_kernels import FREE

        if not 0 <= slot < len(self._names) or self.state.pages.status[slot] == FREE:
            raise InvalidModel(f"slot {slot} holds no page")

    def set_budget(self, budget: float) -> None:
        """Another number of accesses per unit of time, from now on."""
        from recrawl.estimate._clock_kernels import GAP

        self.budget = positive("budget", budget)
        self.state.numbers[GAP] = 1.0 / self.budget

    # Accesses.

    def take(self, now: float) -> int:
        """The page to access now; it is out until it is observed or given back. −1: none waits."""
        from recrawl.estimate import _clock_kernels as kernel
        from recrawl.estimate import _clock_order as order

        while self._newcomers:
            slot = self._newcomers.popleft()
            if self.state.pages.status[slot] == kernel.OUT:
                return slot
        self.maintain(now)
        return int(order.take(self.state, now))

    def observe(self, slot: int, now: float, changed: bool, last_modified: float | None = None) -> None:
        """What an access found; the time of the page's last change if it is known."""
        from recrawl.estimate import _clock_kernels as kernel
        from recrawl.estimate import _clock_order as order

        self._check(slot)
        if self.state.pages.status[slot] == kernel.WAITING:
            order.unqueue_page(self.state, slot, now)
        order.record(self.state, slot, now, *_kind(changed, last_modified))

    def give_back(self, slot: int, now: float) -> None:
        """A page that is out was not accessed: it waits again."""
        from recrawl.estimate import _clock_kernels as kernel
        from recrawl.estimate import _clock_order as order

        self._check(slot)
        if self.state.pages.fresh[slot]:
            self._newcomers.append(slot)
        elif self.state.pages.status[slot] == kernel.OUT:
            order.settle(self.state, slot, now)

    def maintain(self, now: float) -> None:
        """Groups, bins and the grid of rates follow when the number of pages or the budget has moved far."""
        from recrawl.estimate._clock_state import rescaled

        pages = max(len(self), 1)
        if self.rule == "optimal" and self._unsettled > max(3, _REGROUP * self._grouped):
            self._regroup(now)
        wanted = pages / self.budget
        if max(wanted / self._round, self._round / wanted) > _RESCALE:
            self.state, self._round = rescaled(self.state, self._round, wanted, now)

    def _regroup(self, now: float) -> None:
        from recrawl.estimate._clock_kernels import FREE
        from recrawl.estimate._clock_state import regrouped

        slots = np.flatnonzero(self.state.pages.status[: len(self._names)] != FREE)
        found, parents, group = nested_groups([self._names[slot] for slot in slots])
        self.state = regrouped(self.state, self._group_of, found, parents, slots, group, now)
        self._group_of = {prefix: number for number, prefix in enumerate(found)}
        self._grouped, self._unsettled = slots.size, 0

    def _nearest_group(self, name: str) -> int:
        if len(self._group_of) > 1:
            for prefix in prefixes(name):
                if prefix in self._group_of:
                    return self._group_of[prefix]
        return 0

    # Keeping it.

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Everything, as arrays: what `restore` needs to go on exactly."""
        found: dict[str, NDArray[np.generic]] = {}
        fields: dict[str, Any] = self.state._asdict()
        for name, value in fields.items():
            if hasattr(value, "_asdict"):
                found |= {f"{name}.{part}": array.copy() for part, array in value._asdict().items()}
            else:
                found[name] = value.copy()
        found["rule"] = np.array(RULES.index(self.rule))
        found["scalars"] = np.array([self.budget, self._round, self._grouped, self._unsettled])
        found["newcomers"] = np.array(self._newcomers, dtype=np.int64)
        found |= _pack("names", [name.encode("utf-8", "surrogateescape") for name in self._names])
        return found | _pack("prefixes", list(self._group_of))

    @classmethod
    def restore(cls, arrays: Mapping[str, NDArray[np.generic]]) -> GroupClocks:
        """The clocks that `arrays` were taken from."""
        budget, round_time, grouped, unsettled = (float(value) for value in arrays["scalars"])
        clocks = cls(budget, rule=RULES[int(arrays["rule"])])
        clocks._round, clocks._grouped, clocks._unsettled = round_time, int(grouped), int(unsettled)
        clocks._newcomers = deque(int(slot) for slot in arrays["newcomers"])
        clocks._names = [name.decode("utf-8", "surrogateescape") for name in _unpack("names", arrays)]
        clocks._group_of = {prefix: number for number, prefix in enumerate(_unpack("prefixes", arrays))}
        fields: dict[str, Any] = clocks.state._asdict()
        for name, value in fields.items():
            if hasattr(value, "_asdict"):
                parts = {part: np.array(arrays[f"{name}.{part}"]) for part in value._asdict()}
                fields[name] = type(value)(**parts)
            else:
                fields[name] = np.array(arrays[name])
        clocks.state = clocks.state._replace(**fields)
        return clocks

    @property
    def bytes_per_page(self) -> float:
        """Memory of the arrays, groups included, over the number of pages."""
        total = 0
        for value in self.state:
            total += sum(array.nbytes for array in value) if isinstance(value, tuple) else value.nbytes
        return total / max(len(self), 1)


def _pack(name: str, parts: list[bytes]) -> dict[str, NDArray[np.generic]]:
    lengths = np.array([len(part) for part in parts], dtype=np.int64)
    return {f"{name}.text": np.frombuffer(b"".join(parts), dtype=np.uint8), f"{name}.lengths": lengths}


def _unpack(name: str, arrays: Mapping[str, NDArray[np.generic]]) -> list[bytes]:
    text = arrays[f"{name}.text"].tobytes()
    ends = np.cumsum(arrays[f"{name}.lengths"])
    return [text[end - size : end] for end, size in zip(ends, arrays[f"{name}.lengths"], strict=True)]


def _kind(changed: bool, last_modified: float | None) -> tuple[int, float]:
    from recrawl.estimate import _clock_kernels as kernel

    if not changed:
        return kernel.UNCHANGED, 0.0
    return (kernel.CHANGED, 0.0) if last_modified is None else (kernel.DATED, last_modified)
