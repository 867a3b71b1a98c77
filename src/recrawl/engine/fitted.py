"""The index queue as it was fitted to a running engine: kept in the store, and asked for predictions."""

from __future__ import annotations

import dataclasses
import json
import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from recrawl.errors import InvalidModel

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from recrawl.control import Costs, Measures, Model
    from recrawl.laws import PhaseType

__all__ = ["KEPT_AS", "Conditions", "CostSettings", "FittedQueue", "Histogram", "Prices"]

KEPT_AS = "queue_model"  # the store's name for it
_VERSION = 1
_MOST_PHASES = 64  # of arrivals, beyond which robots are modelled as switched at once
_MOST_STATES = 10_000


class Prices(NamedTuple):
    """Prices of troubles per second, without what `control` has to load to work with them."""

    loss: float
    obsolete: float
    response: float
    robot: float
    starvation: float


@dataclass(frozen=True)
class CostSettings:
    """Prices of troubles, in units of one lost page; times count in mean service times."""

    loss_per_page: float = 1.0
    obsolete_per_page: float = 1.0
    response_per_service: float = 0.0
    robot_per_service: float = 0.01
    starvation_per_service: float = 2.0

    def costs(self, mean_service: float) -> Costs:
        """In seconds, as models take them."""
        from recrawl.control import Costs

        return Costs(*self.prices(mean_service))

    def prices(self, mean_service: float) -> Prices:
        """In seconds."""
        return Prices(
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
    """Accesses, service times, and the conditions they were fitted under.

    `access_start`, `access_moves` are the law of the time from when a robot may begin an access to its delivery,
    `service_start`, `service_moves` that of service; `success` is the share of accesses that bring a page; `table` the
    active robots for 0, 1, ... pages that was in force. `doubts` say why the fit is not to be trusted, if it is not.
    """

    time: float
    conditions: Conditions
    access_start: tuple[float, ...]
    access_moves: tuple[tuple[float, ...], ...]
    service_start: tuple[float, ...]
    service_moves: tuple[tuple[float, ...], ...]
    accesses: int
    services: int
    success: float
    table: tuple[int, ...]
    access_histogram: Histogram = field(default_factory=Histogram)
    service_histogram: Histogram = field(default_factory=Histogram)
    doubts: tuple[str, ...] = ()

    # The laws.

    @cached_property
    def access(self) -> PhaseType:
        """Law of the time of an access."""
        from recrawl.laws import PhaseType

        return PhaseType(self.access_start, self.access_moves)

    @cached_property
    def service(self) -> PhaseType:
        """Law of the service time."""
        from recrawl.laws import PhaseType

        return PhaseType(self.service_start, self.service_moves)

    @property
    def access_share(self) -> float:
        """Mean time of an access in mean service times."""
        return self.access.mean / self.service.mean

    @property
    def robot_rate(self) -> float:
        """Pages that one robot brings per second."""
        return self.success / self.access.mean

    # The queue.

    def finishing(self, numbers: Iterable[int]) -> PhaseType | None:
        """The law of accesses for a model in which robots finish them when switched off; None: it would be too large.

        Where the fitted law has too many phases for so many robots, the exponential law of its mean takes its place.
        """
        from recrawl.control import finishing_phases
        from recrawl.laws import PhaseType

        wanted = set(numbers)
        each = self.service.order * self.conditions.capacity
        for law in (self.access, PhaseType([1.0], [[-1.0 / self.access.mean]])):
            phases = finishing_phases(law, wanted)
            if phases <= _MOST_PHASES and phases * each <= _MOST_STATES:
                return law
        return None

    def model(self, numbers: Iterable[int], at_once: bool = False) -> Model:
        """The queue with these numbers of robots. `at_once`: the papers' robots, that stop when switched off."""
        from recrawl.control import Model, finishing_robots, switched_at_once
        from recrawl.laws import PhaseType

        wanted = set(numbers)
        law = None if at_once else self.finishing(wanted)
        modes = (
            switched_at_once(self.access, wanted, self.success)
            if law is None
            else finishing_robots(law, wanted, self.success)
        )
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
        access_histogram=Histogram(*(tuple(part) for part in raw.pop("access_histogram").values())),
        service_histogram=Histogram(*(tuple(part) for part in raw.pop("service_histogram").values())),
        **{name: _tuples(value) for name, value in raw.items()},
    )


def _tuples(value: Any) -> Any:
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value
