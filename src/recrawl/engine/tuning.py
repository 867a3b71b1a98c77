"""Predictions beside measurements, and control by them: what `control = auto` does while the engine runs."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from recrawl.engine.control_loop import described, fixed, switched, table_of
from recrawl.engine.fitting import Here, Task
from recrawl.engine.queue_log import FEWEST
from recrawl.engine.wording import significant
from recrawl.errors import RecrawlError

if TYPE_CHECKING:
    from recrawl.control import Measures as Predicted
    from recrawl.engine.automatic import Proposal
    from recrawl.engine.control_loop import Controller
    from recrawl.engine.fitted import Conditions, FittedQueue
    from recrawl.engine.fitting import Fitter, Found
    from recrawl.engine.measures import Measures
    from recrawl.engine.queue_log import Log

__all__ = ["SLOW_ACCESS", "Tuning"]

_log = logging.getLogger(__name__)
_GROWTH = 1.5  # of the log before it is fitted again
_GAIN = 0.01  # of the cost that other thresholds must save
_PROBE = 200  # deliveries with fewer robots, so that their number's effect is seen
_REMEMBERED = 20  # decisions
SLOW_ACCESS = 0.2  # of a mean service time: beyond, robots that stop at once are no good model
_COMPARED = ("loss", "obsolete", "starvation")


class Tuning:
    """Fits the log now and then; predicts the queue as it is steered; steers it anew when asked to."""

    def __init__(
        self,
        controller: Controller,
        log: Log,
        measures: Measures,
        conditions: Conditions,
        control: str,
        fitter: Fitter | None = None,
    ) -> None:
        self._controller, self._log, self._measures = controller, log, measures
        self._conditions, self._fitter = conditions, fitter or Here()
        self.control = control
        self.fitted: FittedQueue | None = None
        self.predicted: Predicted | None = None
        self.at_once: Predicted | None = None  # the papers' robots, that stop when they are switched off
        self.proposal: Proposal | None = None
        self.decision = ""
        self.reason = ""  # why there is no prediction, or no decision
        self.history: list[dict[str, Any]] = []
        self.policy: tuple[tuple[int, ...], tuple[int, ...]] | None = None
        self._fitted = 0
        self._turn = 0  # counts switches of control: what was computed for another one is thrown away

    def switch(self, control: str, text: str) -> None:
        """The number of robots is decided in another way from now on."""
        self.control, self.policy, self.predicted, self.at_once = control, None, None, None
        self.proposal, self.reason = None, ""
        self._fitted = 0
        self._turn += 1
        self._decide(text)

    def _decide(self, text: str, warn: bool = False) -> None:
        if text == self.decision:
            return
        self.decision = text
        self.history = [*self.history, {"time": self._measures.clock.time(), "text": text}][-_REMEMBERED:]
        _log.log(logging.WARNING if warn else logging.INFO, "control: %s", text)

    def stop(self) -> None:
        """Give up a fit that is being computed."""
        self._turn += 1
        self._fitter.stop()

    async def consider(self) -> bool:
        """Fit again if the log has grown enough; whether there is a new fit."""
        served = self._measures.total().served
        if not self._log.enough or served < max(_GROWTH * self._fitted, 1):
            return False
        if self.control == "auto" and self._probe():
            return False
        self._fitted = served
        turn, auto = self._turn, self.control == "auto"
        task = Task(
            self._log.snapshot(), self._conditions, self._controller.table, self._measures.clock.time(), auto
        )
        try:
            found = await self._fitter(task)
        except RecrawlError as error:
            if turn == self._turn:
                self.reason = str(error)
                if auto:
                    self._decide(f"refused: the fit failed: {error}", warn=True)
            return False
        if found is None or turn != self._turn:
            return False
        self._take(found)
        return True

    def _probe(self) -> bool:
        """Run with half of the robots for a while if their number has never changed."""
        most = self._conditions.robots
        times = self._log.access_times(_PROBE // 2)
        if len(times) != 1 or most < 2 or most not in times or self.proposal is not None:
            return False
        half = fixed(most // 2, self._conditions.capacity)
        if self._controller.table != half:
            self._decide(
                f"tries {most // 2} robots for {_PROBE // 2} deliveries, to see what their number does"
            )
            self._controller.use(half)
        return True

    def _take(self, found: Found) -> None:
        self.fitted, self.reason = found.fitted, ""
        if found.proposal is not None:
            self._apply(found.proposal)
        table = self._controller.table
        self.predicted, self.at_once = found.predicted.get(table), found.at_once.get(table)

    def _apply(self, proposal: Proposal) -> None:
        """Use the thresholds that a fit calls best, if they save something worth a switch."""
        if proposal.policy is None:
            self.reason = proposal.reason
            kept = "" if self.policy is None else f"keeps {described(self._controller.table)}; a new fit is "
            self._decide(f"{kept}refused: {proposal.reason}", warn=True)
            if self.policy is None:  # perhaps a trial of fewer robots is on
                start = table_of("auto", self._conditions.robots, self._conditions.capacity)
                if self._controller.table != start:
                    self._controller.use(start)
            return
        self.proposal = proposal
        table = switched(proposal.policy, self._conditions.capacity)
        chosen = (proposal.policy.modes, proposal.policy.thresholds)
        settled = self.policy is not None and proposal.cost > (1.0 - _GAIN) * proposal.present_cost
        if chosen == self.policy or settled:
            return
        self.policy = chosen
        self._decide(_in_words(proposal, self._conditions))
        if table != self._controller.table:
            self._controller.use(table)
            self._fitted = FEWEST // 4  # a prediction of the new table once it has been measured

    @property
    def warnings(self) -> tuple[str, ...]:
        """What speaks against predictions and decisions, as of now."""
        found = [f"no prediction: {self.reason}"] if self.reason and self.predicted is None else []
        if self.fitted is not None:
            found += [text for text in self.fitted.doubts if text not in self.decision]
            found += self._late()
        if self._conditions.deterministic and self._conditions.obsolete_after < float("inf"):
            found.append("obsolescence after a fixed time is predicted by the exponential law of equal mean")
        return (*found, *self._astray())

    def _late(self) -> list[str]:
        """Robots deliver after they have been switched off: how much that matters."""
        fitted, table = self.fitted, self._controller.table
        if fitted is None or fitted.access_share <= SLOW_ACCESS or len(set(table)) == 1:
            return []
        text = (
            f"accesses take {significant(fitted.access_share, 2)} mean service times (more than {SLOW_ACCESS}): "
            "robots that are switched off still deliver"
        )
        if fitted.finishing(table) is None:
            return [f"{text}, so predictions drift"]
        if self.predicted is None or self.at_once is None:
            return [text]
        return [
            f"{text}. The prediction allows for it; without, loss would be {significant(self.at_once.loss)} instead of "
            f"{significant(self.predicted.loss)}, starvation {significant(self.at_once.starvation)} instead of "
            f"{significant(self.predicted.starvation)}"
        ]

    def _astray(self) -> list[str]:
        """Measures that the fitted model does not explain."""
        if self.predicted is None:
            return []
        measured, found = self._measures.queue(), []
        for name in _COMPARED:
            value, width = measured[name].value, measured[name].half_width
            predicted = float(getattr(self.predicted, name))
            if abs(value - predicted) > max(0.1 * predicted, 0.01) + 2.0 * width:  # false while width is NaN
                found.append(
                    f"{name} is {significant(value)} ± {significant(width, 2)} and was predicted as "
                    f"{significant(predicted)}: the fitted model does not describe this queue well"
                )
        return found

    def document(self) -> dict[str, Any]:
        """For JSON."""
        proposal, table = self.proposal, self._controller.table
        return {
            "control": self.control,
            "decision": self.decision,
            "reason": self.reason,
            "predicted": _numbers(self.predicted),
            "predicted_at_once": _numbers(self.at_once),
            "warnings": list(self.warnings),
            "best_fixed_robots": proposal.fixed if proposal else None,
            "best_fixed_cost": proposal.fixed_cost if proposal else None,
            "worth_robots": proposal.worth if proposal else None,
            "table": list(table) if len(table) <= 65 else None,
            "history": self.history,
        }


def _numbers(found: Predicted | None) -> dict[str, float] | None:
    if found is None:
        return None
    names = (
        "loss", "obsolete", "starvation", "response_time", "active_robots", "mean_pages", "arrival_rate", "throughput",
        "cost",
    )  # fmt: skip
    return {name: getattr(found, name) for name in names}


def _in_words(proposal: Proposal, conditions: Conditions) -> str:
    policy = proposal.policy
    assert policy is not None
    parts = [
        f"{robots} up to {threshold} pages"
        for robots, threshold in zip(policy.modes, policy.thresholds, strict=False)
    ]
    robots = f"{', '.join(parts)}, then {policy.modes[-1]}" if parts else f"always {policy.modes[0]}"
    return f"robots: {robots}; {proposal.worth} of at most {conditions.robots} are worth having"
