"""The second scene: an indexer slowed down on purpose, robots switched by thresholds beside robots always on.

There is no budget: robots bring pages as fast as the web answers, four of them twice as many as the indexer can take.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from recrawl.demo.options import DemoOptions
from recrawl.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path

    from recrawl.control import Measures, Model, Policy
    from recrawl.demo.web import DemoWeb
    from recrawl.engine.engine import Engine

__all__ = ["CAPACITY", "ROBOTS", "Queue", "best_policy", "crowd_settings", "crowd_web", "queue_of"]

ROBOTS = 4
CAPACITY = 12  # pages waiting and being indexed
SERVICE_SECONDS = 0.04  # mean, exponential
ACCESS_SECONDS = 0.08  # mean, exponential


@dataclass(frozen=True)
class Queue:
    """Measured in an engine, and predicted by the model with the mean times that were measured."""

    robots: tuple[int, ...]  # active for 0, 1, ... pages
    level: int
    active: int
    accesses: int
    indexed: int
    loss: float
    loss_half_width: float
    loss_predicted: float
    starvation: float
    starvation_half_width: float
    starvation_predicted: float
    cost: float  # per mean service time
    cost_predicted: float


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

    return best_thresholds(_model(1.0 / ACCESS_SECONDS, SERVICE_SECONDS)).best.policy


def _model(robot_rate: float, service: float) -> Model:
    from recrawl.control import Mode, Model
    from recrawl.engine.automatic import CostSettings
    from recrawl.laws import Bmap, PhaseType

    return Model(
        capacity=CAPACITY,
        service=PhaseType([1.0], [[-1.0 / service]]),
        modes=tuple(Mode(number, Bmap.poisson(number * robot_rate)) for number in range(1, ROBOTS + 1)),
        costs=CostSettings().costs(service),
    )


def queue_of(engine: Engine, robot_rate: float) -> Queue | None:
    """The index queue of an engine, whose robots bring `robot_rate` pages per second each; None: too little seen."""
    from recrawl.control import measure

    measures, table = engine.measures, engine.controller.table
    total, ratios = measures.total(), measures.queue()
    if not (total.arrived and total.served and robot_rate > 0):
        return None
    service = total.service_seconds / total.served
    model = _model(robot_rate, service)
    predicted: Measures = measure(model, table)
    costs = model.costs
    lost, seconds = total.lost / total.seconds, total.seconds
    measured_cost = (
        costs.loss * lost
        + costs.robot * total.robot_seconds / seconds
        + costs.starvation * total.idle_seconds / seconds
    )
    return Queue(
        robots=table,
        level=engine.queue.level(),
        active=engine.robots.active,
        accesses=total.arrived,
        indexed=total.served,
        loss=ratios["loss"].value,
        loss_half_width=ratios["loss"].half_width,
        loss_predicted=predicted.loss,
        starvation=ratios["starvation"].value,
        starvation_half_width=ratios["starvation"].half_width,
        starvation_predicted=predicted.starvation,
        cost=measured_cost * service,
        cost_predicted=predicted.cost * service,
    )


def robot_rate_of(engine: Engine) -> float:
    """Pages per second that a robot brings, from an engine whose robots are never switched off."""
    total = engine.measures.total()
    return total.arrived / total.robot_seconds if total.robot_seconds > 0 else math.nan
