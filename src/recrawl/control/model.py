"""The crawl queue in words: who brings pages, how they are indexed, how long they keep, what things cost.

Robots bring batches of pages to a queue of finite capacity; one indexer serves them; a page that waits too
long becomes obsolete and leaves. The number of active robots (the mode) is a function of the number of
pages in the system. [Avrachenkov, Section 2]
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from recrawl.errors import InvalidModel
from recrawl.laws.closed import Erlang, Exponential
from recrawl.laws.mixtures import Hyperexponential, TwoTask
from recrawl.laws.phase_type import PhaseType

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from recrawl.laws.arrivals import Bmap
    from recrawl.laws.law import Law

__all__ = ["Admission", "Costs", "Mode", "Model", "Order", "Policy", "modes_of", "phase_type_of"]

Admission = Literal["partial", "reject", "admit"]
Order = Literal["fifo", "random"]


@dataclass(frozen=True)
class Costs:
    """Prices of the five troubles in (2).

    Per page lost, per page obsolete, per unit of response time, per active robot and unit of time, per unit
    of time of starvation.
    """

    loss: float
    obsolete: float
    response: float
    robot: float
    starvation: float

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not (isinstance(value, int | float) and math.isfinite(value) and value >= 0):
                raise InvalidModel(f"costs.{name} must be a number not below zero, not {value}")


@dataclass(frozen=True)
class Mode:
    """How pages arrive while a given number of robots is active.

    None may be active too (`control.finishing`): then next to nothing arrives.
    """

    robots: int
    arrivals: Bmap

    def __post_init__(self) -> None:
        if isinstance(self.robots, bool) or int(self.robots) != self.robots or self.robots < 0:
            raise InvalidModel(f"mode.robots must be a whole number from 0, not {self.robots}")


@dataclass(frozen=True)
class Policy:
    """Numbers of active robots from most to fewest, and the thresholds between them.

    The first mode serves while at most `thresholds[0]` pages are in the system, the last one beyond the last
    threshold. Thresholds may coincide; the mode between two equal ones is then never used.

    >>> Policy(modes=(3, 1), thresholds=(2,)).robots(capacity=5)
    (3, 3, 3, 1, 1, 1)
    """

    modes: tuple[int, ...]
    thresholds: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not self.modes or list(self.modes) != sorted(set(self.modes), reverse=True):
            raise InvalidModel(f"modes must be listed from most to fewest robots, not {list(self.modes)}")
        if len(self.thresholds) != len(self.modes) - 1:
            raise InvalidModel(
                f"{len(self.modes)} modes need {len(self.modes) - 1} thresholds, not {len(self.thresholds)}"
            )
        if list(self.thresholds) != sorted(self.thresholds):
            raise InvalidModel(f"thresholds must not decrease, but are {list(self.thresholds)}")
        if self.thresholds and self.thresholds[0] < 0:
            raise InvalidModel(f"thresholds must be at least 0, not {self.thresholds[0]}")

    def robots(self, capacity: int) -> tuple[int, ...]:
        """Active robots for 0, 1, ..., `capacity` pages in the system."""
        if self.thresholds and self.thresholds[-1] > capacity - 1:
            raise InvalidModel(
                f"thresholds must be at most capacity - 1 = {capacity - 1}, not {self.thresholds[-1]}"
            )
        return tuple(self.modes[sum(i > j for j in self.thresholds)] for i in range(capacity + 1))


@dataclass(frozen=True)
class Model:
    """A crawl queue.

    `capacity` counts waiting pages and the one in service; without obsolescence pages never expire.
    """

    capacity: int
    service: PhaseType
    modes: tuple[Mode, ...]
    costs: Costs
    obsolescence: PhaseType | None = None
    admission: Admission = "partial"
    order: Order = "fifo"

    def __post_init__(self) -> None:
        if isinstance(self.capacity, bool) or int(self.capacity) != self.capacity or self.capacity < 1:
            raise InvalidModel(f"capacity must be a whole number from 1, not {self.capacity}")
        if self.admission not in get_args(Admission):
            raise InvalidModel(
                f"admission must be one of {', '.join(get_args(Admission))}, not {self.admission!r}"
            )
        if self.order not in get_args(Order):
            raise InvalidModel(f"order must be one of {', '.join(get_args(Order))}, not {self.order!r}")
        if not self.modes:
            raise InvalidModel("a model needs at least one mode")
        object.__setattr__(self, "modes", tuple(sorted(self.modes, key=lambda mode: mode.robots)))
        numbers = [mode.robots for mode in self.modes]
        if len(set(numbers)) < len(numbers):
            raise InvalidModel(f"two modes have the same number of robots: {numbers}")
        orders = [mode.arrivals.order for mode in self.modes]
        if len(set(orders)) > 1:
            raise InvalidModel(
                f"all modes must share their arrival phases, but have {orders} phases "
                f"(modes of {numbers} robots)"
            )

    @property
    def numbers(self) -> tuple[int, ...]:
        """Numbers of robots that may be active, from fewest to most."""
        return tuple(mode.robots for mode in self.modes)

    @property
    def largest_batch(self) -> int:
        """Most pages that come at once, in any mode."""
        return max(mode.arrivals.largest_batch for mode in self.modes)

    @property
    def top(self) -> int:
        """Most pages the system can hold: complete admission lets the last batch exceed the capacity."""
        return self.capacity - 1 + self.largest_batch if self.admission == "admit" else self.capacity

    def with_capacity(self, capacity: int) -> Model:
        """The same queue with another capacity."""
        return replace(self, capacity=capacity)

    def assignment(self, robots: Sequence[int] | Policy) -> tuple[int, ...]:
        """Place of the active mode in `modes` for every number of pages in the system."""
        wanted = robots.robots(self.capacity) if isinstance(robots, Policy) else tuple(robots)
        if len(wanted) not in (self.capacity + 1, self.top + 1):
            raise InvalidModel(f"{self.capacity + 1} numbers of robots are needed, not {len(wanted)}")
        wanted += (wanted[-1],) * (self.top + 1 - len(wanted))
        unknown = sorted(set(wanted) - set(self.numbers))
        if unknown:
            raise InvalidModel(f"no mode has {unknown[0]} robots; the modes have {list(self.numbers)}")
        return tuple(self.numbers.index(number) for number in wanted)


def modes_of(arrivals: Iterable[Bmap], robots: Iterable[int] | None = None) -> tuple[Mode, ...]:
    """Modes of 1, 2, ... robots (or of the given numbers) from their arrivals."""
    processes = list(arrivals)
    numbers = list(robots) if robots is not None else list(range(1, len(processes) + 1))
    if len(numbers) != len(processes):
        raise InvalidModel(f"{len(numbers)} numbers of robots for {len(processes)} arrival processes")
    return tuple(Mode(number, process) for number, process in zip(numbers, processes, strict=True))


def phase_type_of(law: Law) -> PhaseType:
    """A law as a phase-type law, where it is one.

    >>> phase_type_of(TwoTask(2.0, 10.0, 0.35)).S.round(3).tolist()
    [[-0.5, 0.175], [0.0, -0.1]]
    """
    if isinstance(law, PhaseType):
        return law
    if isinstance(law, TwoTask):
        check, update = 1.0 / law.check_mean, 1.0 / law.update_mean
        return PhaseType([1.0, 0.0], [[-check, law.update_probability * check], [0.0, -update]])
    if isinstance(law, Hyperexponential):
        return PhaseType(law.probabilities, np.diag([-1.0 / mean for mean in law.means]))
    if isinstance(law, Erlang | Exponential):
        stages = law.stages if isinstance(law, Erlang) else 1
        rate = stages / law.mean
        return PhaseType(np.eye(stages)[0], rate * (np.eye(stages, k=1) - np.eye(stages)))
    raise InvalidModel(
        f"{law} is not phase-type; exponential, erlang, hyperexponential and two-task are, and "
        "`recrawl fit service` fits a phase-type law to measured times"
    )
