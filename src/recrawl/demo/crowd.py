"""The second scene: an indexer slowed down on purpose, robots switched by thresholds beside robots always on.

There is no budget: robots bring pages as fast as the web answers, four of them twice as many as the indexer can take.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from recrawl.demo.options import DemoOptions
from recrawl.engine.fitted import CostSettings
from recrawl.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path

    from recrawl.control import Model, Policy
    from recrawl.demo.web import DemoWeb
    from recrawl.engine.engine import Engine
    from recrawl.engine.measures import Window

__all__ = ["CAPACITY", "ROBOTS", "Queue", "best_policy", "crowd_settings", "crowd_web", "queue_of"]

ROBOTS = 4
CAPACITY = 12  # pages waiting and being indexed
SERVICE_SECONDS = 0.06  # mean, exponential
ACCESS_SECONDS = 0.12  # mean, exponential


@dataclass(frozen=True)
class Queue:
    """Measured in an engine, and predicted by its model of the queue.

    `fitted`: the model is the one that the engine fitted to its log; else one of exponential times with the means that
    were measured, until the log is long enough. In both, robots that are switched off finish their access.
    """

    robots: tuple[int, ...]  # active for 0, 1, ... pages
    level: int
    active: int
    accesses: int
    indexed: int
    service_seconds: float  # mean
    loss: float
    loss_half_width: float
    loss_predicted: float
    starvation: float
    starvation_half_width: float
    starvation_predicted: float
    cost: float  # per mean service time
    cost_predicted: float
    fitted: bool


def crowd_web(seed: int) -> DemoOptions:
    """A site whose answers take an exponential time."""
    return DemoOptions(
        sites=1,
        pages_per_site=80,
        mean_rate_per_second=0.2,
        page_bytes=2000,
        seed=seed,
        delay_law=f"exponential:{ACCESS_SECONDS}",
        remember=False,
    )


def crowd_settings(web: DemoWeb, policy: Policy | None, data: Path) -> Settings:
    """An engine without budget and with a slow indexer; `policy` None: all robots always on."""
    return Settings(
        seeds=tuple(web.seeds),
        data=str(data),
        listen="",
        weights="equal",
        robots=ROBOTS,
        control="fixed" if policy is None else "thresholds",
        modes=() if policy is None else policy.modes,
        thresholds=() if policy is None else policy.thresholds,
        capacity=CAPACITY,
        service_delay=f"exponential:{SERVICE_SECONDS}",
        min_delay_seconds=0.0,
        max_concurrency=ROBOTS,
        replan_seconds=5.0,
        commit_seconds=10.0,
        grace_seconds=2.0,
    )


def best_policy() -> Policy:
    """The cheapest thresholds for these times, at the engine's default prices [Avrachenkov, (2)]."""
    from recrawl.control import best_thresholds

    return best_thresholds(_model(ACCESS_SECONDS, SERVICE_SECONDS)).best.policy


def _model(access: float, service: float) -> Model:
    """The queue, if accesses and services take exponential times of these means."""
    from recrawl.control import Model, finishing_robots
    from recrawl.laws import PhaseType

    return Model(
        capacity=CAPACITY,
        service=PhaseType([1.0], [[-1.0 / service]]),
        modes=finishing_robots(PhaseType([1.0], [[-1.0 / access]]), range(1, ROBOTS + 1)),
        costs=CostSettings().costs(service),
    )


def queue_of(engine: Engine) -> Queue | None:
    """The index queue of an engine; None: too little seen."""
    from recrawl.control import measure

    table, predicted = engine.controller.table, engine.tuning.predicted
    total, ratios = engine.measures.total(), engine.measures.queue()
    if not (total.arrived and total.served and total.working_seconds > 0):
        return None
    service = total.service_seconds / total.served
    fitted = predicted is not None
    if predicted is None:
        predicted = measure(_model(total.working_seconds / total.arrived, service), table)
    return Queue(
        robots=table,
        level=engine.queue.level(),
        active=engine.robots.active,
        accesses=total.arrived,
        indexed=total.served,
        service_seconds=service,
        loss=ratios["loss"].value,
        loss_half_width=ratios["loss"].half_width,
        loss_predicted=predicted.loss,
        starvation=ratios["starvation"].value,
        starvation_half_width=ratios["starvation"].half_width,
        starvation_predicted=predicted.starvation,
        cost=_cost(total) * service,
        cost_predicted=predicted.cost * service,
        fitted=fitted,
    )


def _cost(total: Window) -> float:
    """Per second [Avrachenkov, (2)]: lost pages, active robots, an idle indexer."""
    prices = CostSettings().costs(total.service_seconds / total.served)
    spent = (
        prices.loss * total.lost + prices.robot * total.robot_seconds + prices.starvation * total.idle_seconds
    )
    return spent / total.seconds
