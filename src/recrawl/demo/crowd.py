"""The second scene: an indexer slowed down on purpose, robots switched by thresholds beside robots always on.

There is no budget: robots bring pages as fast as the web answers, four of them twice as many as the indexer can take.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from recrawl.demo.options import DemoOptions
from recrawl.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path

    from recrawl.control import Policy
    from recrawl.demo.web import DemoWeb
    from recrawl.engine.engine import Engine
    from recrawl.engine.fitted import CostSettings, FittedQueue
    from recrawl.engine.measures import Window

__all__ = ["CAPACITY", "ROBOTS", "Queue", "best_policy", "crowd_settings", "crowd_web", "queue_of"]

ROBOTS = 4
CAPACITY = 12  # pages waiting and being indexed
SERVICE_SECONDS = 0.04  # mean, exponential
ACCESS_SECONDS = 0.08  # mean, exponential


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

    queue = _exponential(1.0 / ACCESS_SECONDS, SERVICE_SECONDS)
    return best_thresholds(queue.model(range(1, ROBOTS + 1))).best.policy


def _exponential(robot_rate: float, service: float) -> FittedQueue:
    """The queue of a robot that brings so many pages per second, and of services of so many seconds on average."""
    from recrawl.engine.fitted import Conditions, FittedQueue

    return FittedQueue(
        time=0.0,
        conditions=Conditions(CAPACITY, ROBOTS),
        D0=((-robot_rate,),),
        D1=((robot_rate,),),
        alpha=(1.0,),
        S=((-1.0 / service,),),
        gaps=0,
        services=0,
        access_seconds=1.0 / robot_rate,
        table=(ROBOTS,) * (CAPACITY + 1),
    )


def queue_of(engine: Engine) -> Queue | None:
    """The index queue of an engine; None: too little seen."""
    table = engine.controller.table
    total, ratios = engine.measures.total(), engine.measures.queue()
    if not (total.arrived and total.served and total.working_seconds > 0):
        return None
    service = total.service_seconds / total.served
    queue = engine.tuning.fitted or _exponential(total.arrived / total.working_seconds, service)
    predicted, costs = queue.predict(table), queue.conditions.costs
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
        cost=_cost(total, costs) * service,
        cost_predicted=predicted.cost * queue.service.mean,
        fitted=engine.tuning.fitted is not None,
    )


def _cost(total: Window, costs: CostSettings) -> float:
    """Per second [Avrachenkov, (2)]: lost pages, active robots, an idle indexer."""
    prices = costs.costs(total.service_seconds / total.served)
    spent = (
        prices.loss * total.lost + prices.robot * total.robot_seconds + prices.starvation * total.idle_seconds
    )
    return spent / total.seconds
