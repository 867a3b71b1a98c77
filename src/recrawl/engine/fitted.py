"""The index queue as it was fitted to a running engine: kept in the store, and asked for predictions."""

from __future__ import annotations

import dataclasses
import json
import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from recrawl.errors import InvalidModel

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from recrawl.control import Costs, Measures, Mode, Model
    from recrawl.laws import Bmap, PhaseType

__all__ = ["KEPT_AS", "Conditions", "CostSettings", "FittedQueue", "Histogram"]

KEPT_AS = "queue_model"  # the store's name for it
_VERSION = 1
_MOST_PHASES = 64  # of arrivals, beyond which robots are modelled as switched at once
_MOST_STATES = 40_000


@dataclass(frozen=True)
class CostSettings:
    """Prices of troubles, in units of one lost page; times count in mean service times."""

    loss_per_page: float = 1.0
    obsolete_per_page: float = 1.0
    response_per_service: float = 0.0
    robot_per_service: float = 0.01
    starvation_per_service: float = 2.0

    def costs(self, mean_service: float) -> Costs:
        """In seconds."""
        from recrawl.control import Costs

        return Costs(
            loss=self.loss_per_page,
            obsolete=self.obsolete_per_page,
            response=self.response_per_service / mean_service,
            robot=self.robot_per_service / mean_service,
            starvation=self.starvation_per_service / mean_service,
        )


@dataclass(frozen=True)
class Conditions:
    """What is given, not fitted: the buffer, the robots that may be used, how long pages keep, prices."""

    capacity: int
    robots: int  # most
    fewest: int = 1  # least that may be active
    obsolete_after: float = math.inf
    deterministic: bool = False
    costs: CostSettings = field(default_factory=CostSettings)


@dataclass(frozen=True)
class Histogram:
    """How often values fell between neighbouring edges."""

    edges: tuple[float, ...] = ()
    counts: tuple[int, ...] = ()


@dataclass(frozen=True)
class FittedQueue:
    """Deliveries of one robot, service times, and the conditions they were fitted under.

    `D0`, `D1` are the arrivals of one robot at work; `alpha`, `S` the law of service; `table` the active robots for
    0, 1, ... pages that was in force. `doubts` say why the fit is not to be trusted, if it is not.
    """

    time: float
    conditions: Conditions
    D0: tuple[tuple[float, ...], ...]
    D1: tuple[tuple[float, ...], ...]
    alpha: tuple[float, ...]
    S: tuple[tuple[float, ...], ...]
    gaps: int
    services: int
    access_seconds: float
    table: tuple[int, ...]
    gap_histogram: Histogram = field(default_factory=Histogram)
    service_histogram: Histogram = field(default_factory=Histogram)
    doubts: tuple[str, ...] = ()

    # The laws.

    @cached_property
    def one_robot(self) -> Bmap:
        """Arrivals of one robot at work."""
        from recrawl.laws import Bmap

        return Bmap([self.D0, self.D1])

    @cached_property
    def service(self) -> PhaseType:
        """Law of the service time."""
        from recrawl.laws import PhaseType

        return PhaseType(self.alpha, self.S)

    @property
    def access_share(self) -> float:
        """Time from one delivery of a robot to its next, in mean service times."""
        return 1.0 / (self.one_robot.rate * self.service.mean)

    # The queue.

    def finishes(self, numbers: Iterable[int]) -> bool:
        """Whether the model lets robots that are switched off finish their access; else it would be too large."""
        wanted = sorted(set(numbers))
        phases = self.one_robot.order * (wanted[-1] - max(wanted[0] - 1, 0))
        return (
            phases <= _MOST_PHASES and phases * self.service.order * self.conditions.capacity <= _MOST_STATES
        )

    def model(self, numbers: Iterable[int], at_once: bool = False) -> Model:
        """The queue with these numbers of robots. `at_once`: the papers' robots, that stop when switched off."""
        from recrawl.control import Model, finishing_robots, switched_at_once
        from recrawl.laws import PhaseType

        wanted = tuple(numbers)
        modes: tuple[Mode, ...]
        if at_once or not self.finishes(wanted):
            modes = switched_at_once(self.one_robot, wanted)
        else:
            modes = finishing_robots(self.one_robot, wanted)
        after = self.conditions.obsolete_after
        return Model(
            capacity=self.conditions.capacity,
            service=self.service,
            modes=modes,
            costs=self.conditions.costs.costs(self.service.mean),
            obsolescence=None if after == math.inf else PhaseType([1.0], [[-1.0 / after]]),
        )

    def predict(self, table: Sequence[int] | None = None, at_once: bool = False) -> Measures:
        """What a table of active robots (default: the one in force) would give."""
        from recrawl.control import measure

        chosen = self.table if table is None else tuple(table)
        return measure(self.model(chosen, at_once), chosen)

    # Keeping.

    def document(self) -> dict[str, Any]:
        """For JSON; infinity becomes null."""
        found = {"version": _VERSION, **dataclasses.asdict(self)}
        if self.conditions.obsolete_after == math.inf:
            found["conditions"]["obsolete_after"] = None
        found["access_seconds"] = self.access_seconds if math.isfinite(self.access_seconds) else None
        return found

    def to_bytes(self) -> bytes:
        """As the store keeps it."""
        return json.dumps(self.document(), allow_nan=False).encode()

    @classmethod
    def from_bytes(cls, kept: bytes) -> FittedQueue:
        """From what the store keeps."""
        try:
            raw = json.loads(kept)
            if raw.pop("version") != _VERSION:
                raise InvalidModel("the fitted queue was kept by another version")
            return _restored(cls, raw)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InvalidModel(f"the fitted queue that was kept cannot be read: {error}") from None


def _restored(cls: type[FittedQueue], raw: dict[str, Any]) -> FittedQueue:
    conditions = raw.pop("conditions")
    after = conditions.pop("obsolete_after")
    return cls(
        conditions=Conditions(
            **{**conditions, "costs": CostSettings(**conditions["costs"])},
            obsolete_after=math.inf if after is None else after,
        ),
        gap_histogram=Histogram(*(tuple(part) for part in raw.pop("gap_histogram").values())),
        service_histogram=Histogram(*(tuple(part) for part in raw.pop("service_histogram").values())),
        access_seconds=math.nan if raw["access_seconds"] is None else raw.pop("access_seconds"),
        **{name: _tuples(value) for name, value in raw.items() if name != "access_seconds"},
    )


def _tuples(value: Any) -> Any:
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value
