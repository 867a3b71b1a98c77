"""Predictions beside measurements, and control by them: what `control = auto` does while the engine runs."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from recrawl.engine.automatic import predict, propose
from recrawl.engine.control_loop import switched

if TYPE_CHECKING:
    from recrawl.control import Measures as Predicted
    from recrawl.engine.automatic import Log
    from recrawl.engine.control_loop import Controller
    from recrawl.engine.measures import Measures
    from recrawl.engine.parts import Behaviour

__all__ = ["Tuning"]

_log = logging.getLogger(__name__)
_GROWTH = 1.5  # of the log before it is fitted again
SLOW_ACCESS = 0.2  # of a mean service time: beyond, predictions drift


class Tuning:
    """Fits the log now and then; predicts the queue as it is steered; steers it anew when asked to."""

    def __init__(
        self, controller: Controller, log: Log, measures: Measures, behaviour: Behaviour, capacity: int
    ) -> None:
        self._controller, self._log, self._measures = controller, log, measures
        self._behaviour, self._capacity = behaviour, capacity
        self.predicted: Predicted | None = None
        self.decision = ""
        self.warnings: tuple[str, ...] = ()
        self.policy: tuple[tuple[int, ...], tuple[int, ...]] | None = None
        self.best_fixed: tuple[int, float] | None = None
        self._fitted = 0

    async def consider(self) -> None:
        """Fit again if the log has grown enough."""
        served = self._measures.total().served
        if not self._log.enough or served < _GROWTH * self._fitted:
            return
        self._fitted = served
        log = self._log.snapshot()
        if self._behaviour.control == "auto" and await self._propose(log):
            return
        table = self._controller.table
        self.predicted, reason = await asyncio.to_thread(
            predict, log, table, self._behaviour.obsolete_after, self._behaviour.costs
        )
        self.warnings = self._doubts(reason)

    async def _propose(self, log: Log) -> bool:
        """Apply the thresholds that a fit calls best; whether they are other than before."""
        access = self._measures.access_time.document()["mean"]
        found = await asyncio.to_thread(
            propose,
            log,
            self._behaviour.robots,
            self._capacity,
            self._behaviour.obsolete_after,
            self._behaviour.costs,
            access,
        )
        if found.policy is None:
            self.decision = f"refused: {found.reason}"
            _log.warning("control: %s", self.decision)
            return False
        self.predicted = found.predicted
        self.best_fixed = (found.best_fixed, found.fixed_cost)
        self.warnings = self._doubts("")
        chosen = (found.policy.modes, found.policy.thresholds)
        if chosen == self.policy:
            return True
        self.policy = chosen
        self.decision = f"robots {list(chosen[0])} with thresholds {list(chosen[1])}"
        _log.info("control: %s", self.decision)
        self._controller.use(switched(found.policy, self._capacity))
        self._fitted = 0  # a prediction for the new table once it has been measured
        return True

    def _doubts(self, reason: str) -> tuple[str, ...]:
        found = [f"no prediction: {reason}"] if reason else []
        access = self._measures.access_time.document()["mean"]
        service = self._measures.queue()["service_time"].value
        if access > SLOW_ACCESS * service and len(set(self._controller.table)) > 1:
            found.append(
                f"accesses take {access / service:.2g} mean service times (more than {SLOW_ACCESS}): robots that are "
                "switched off still deliver, so predictions drift"
            )
        if self._behaviour.deterministic and self._behaviour.obsolete_after < float("inf"):
            found.append("obsolescence after a fixed time is predicted by the exponential law of equal mean")
        return tuple(found)

    def document(self) -> dict[str, Any]:
        """For JSON."""
        predicted = None
        if self.predicted is not None:
            names = (
                "loss",
                "obsolete",
                "starvation",
                "response_time",
                "active_robots",
                "mean_pages",
                "arrival_rate",
                "cost",
            )
            predicted = {name: getattr(self.predicted, name) for name in names}
        return {
            "control": self._behaviour.control,
            "decision": self.decision,
            "predicted": predicted,
            "warnings": list(self.warnings),
            "best_fixed_robots": self.best_fixed[0] if self.best_fixed else None,
            "best_fixed_cost": self.best_fixed[1] if self.best_fixed else None,
            "table": list(self._controller.table) if len(self._controller.table) <= 65 else None,
        }
