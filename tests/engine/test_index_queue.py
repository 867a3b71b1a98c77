"""The index queue of the running engine against the model that predicts it."""

import random
import sys

import pytest
from tests.engine.fakes import Web, engine, run_for

from recrawl.backends.memory import ManualClock
from recrawl.control import Mode, Model, Policy, best_thresholds, measure
from recrawl.engine.automatic import CostSettings
from recrawl.engine.fitting import work
from recrawl.laws import Bmap, PhaseType

URLS = [f"http://a.example/{i}" for i in range(50)]
SERVICE = 1.0
CAPACITY = 2
ROBOTS = 3
COSTS = CostSettings(loss_per_page=0.05, starvation_per_service=8.0, robot_per_service=0.1)


def world(access_seconds, seed=1, **behaviour):
    clock, chance = ManualClock(), random.Random(seed)

    async def serve(_delivery):
        await clock.sleep(chance.expovariate(1.0 / SERVICE))

    web = Web(clock, {url: f"page {url}" for url in URLS}, access_seconds, seed, exponential=True)
    settings = {
        "capacity": CAPACITY,
        "batch": 1,
        "robots": ROBOTS,
        "costs": COSTS,
        "control": "fixed",
        "warm": False,
        "replan_seconds": 1e6,
    }
    built = engine(clock, web, URLS, delay=serve, **{**settings, "status_seconds": 1e5, **behaviour})
    built.tuning._fitter = AtOnce()
    return clock, built


class AtOnce:
    """Fits take no time of the clock."""

    async def __call__(self, task):
        return work(task)

    def stop(self):
        pass


def model(access_seconds, obsolete_after=None):
    modes = tuple(Mode(number, Bmap.poisson(number / access_seconds)) for number in range(1, ROBOTS + 1))
    keeps = None if obsolete_after is None else PhaseType([1.0], [[-1.0 / obsolete_after]])
    service = PhaseType([1.0], [[-1.0 / SERVICE]])
    return Model(CAPACITY, service, modes, COSTS.costs(SERVICE), obsolescence=keeps)


def cost(queue, total):
    """Cost (2) of what was measured."""
    prices = COSTS.costs(SERVICE)
    return (
        prices.loss * total.lost / total.seconds
        + prices.obsolete * total.obsolete / total.seconds
        + prices.robot * queue["active_robots"].value
        + prices.starvation * queue["starvation"].value
    )


async def measured(access_seconds, deliveries, obsolete_after=None, **behaviour):
    more = {} if obsolete_after is None else {"obsolete_after": obsolete_after}
    clock, subject = world(access_seconds, **more, **behaviour)
    rate = 1.0 / access_seconds
    await run_for(subject, clock, deliveries / rate, step=5.0)
    return subject


def close(estimate, predicted):
    return abs(estimate.value - predicted) <= max(0.1 * predicted, 0.01) + estimate.half_width


async def test_fixed_robots_match_the_model():
    subject = await measured(0.8, 1200, robots=1)
    queue, _ = subject.final
    predicted = measure(model(0.8), Policy((1,)))
    assert close(queue["loss"], predicted.loss)
    assert close(queue["starvation"], predicted.starvation)
    assert queue["response_time"].value == pytest.approx(predicted.response_time, rel=0.1)


async def test_obsolescence_matches_the_model():
    subject = await measured(0.8, 1200, obsolete_after=2.0, robots=1)
    queue, _ = subject.final
    predicted = measure(model(0.8, 2.0), Policy((1,)))
    assert close(queue["loss"], predicted.loss)
    assert close(queue["obsolete"], predicted.obsolete)
    assert close(queue["starvation"], predicted.starvation)


@pytest.mark.slow
@pytest.mark.parametrize("access_seconds", [0.2, 1.0])
async def test_thresholds_against_the_model(access_seconds, record_property):
    """Access time 0.2 services: within 10 %, and cheaper than any fixed number. Access time 1: how far it drifts."""
    queue_model = model(access_seconds)
    best = best_thresholds(queue_model)
    policy = best.best.policy if len(best.best.modes) > 1 else Policy((ROBOTS, 1), (0,))
    predicted = measure(queue_model, policy)
    subject = await measured(access_seconds, 21_000, control="thresholds", policy=policy)
    queue, total = subject.final
    assert total.arrived >= 20_000
    report = {
        "policy": [policy.modes, policy.thresholds],
        "arrived": total.arrived,
        "loss": [queue["loss"].value, queue["loss"].half_width, predicted.loss],
        "starvation": [queue["starvation"].value, queue["starvation"].half_width, predicted.starvation],
        "cost": [cost(queue, total), predicted.cost, min(c.cost for c in best.fixed)],
    }
    sys.stderr.write(f"\naccess {access_seconds}: {report}\n")
    if access_seconds > 0.2:
        return
    assert close(queue["loss"], predicted.loss)
    assert close(queue["starvation"], predicted.starvation)
    fixed = []
    for number in range(1, ROBOTS + 1):
        other = await measured(access_seconds, 20_000 // number, robots=number, seed=3)
        fixed.append(cost(*other.final))
    sys.stderr.write(f"cost of fixed numbers, measured: {fixed}\n")
    assert cost(queue, total) < min(fixed)


@pytest.mark.slow
async def test_auto_finds_thresholds():
    clock, subject = world(0.2, control="auto", robots=3)
    await run_for(subject, clock, 2500.0, step=2.0)
    document = subject.tuning.document()
    sys.stderr.write(f"\n{document}\n")
    assert subject.tuning.policy is not None
    assert document["predicted"]["cost"] <= document["best_fixed_cost"] * 1.0001


@pytest.mark.slow
async def test_auto_allows_for_slow_accesses():
    """Robots that are switched off still deliver: the papers' model drifts, ours does not, and both are told."""
    clock, subject = world(1.0, control="auto", fewest_robots=1)
    await run_for(subject, clock, 2500.0, step=2.0)
    queue, _ = subject.final
    tuning = subject.tuning
    assert tuning.policy is not None
    assert close(queue["loss"], tuning.predicted.loss)
    assert close(queue["starvation"], tuning.predicted.starvation)
    assert tuning.at_once.loss < tuning.predicted.loss - 0.03
    assert any("robots that are switched off still deliver" in text for text in tuning.warnings)


def priced_world(seed=5, **behaviour):
    """The experiment of docs/queue.md: wasted accesses are cheap, pages keep for one service."""
    costs = CostSettings(loss_per_page=0.02, obsolete_per_page=0.02)
    more = {"costs": costs, "obsolete_after": 1.0, "fewest_robots": 1, "robots": 4, **behaviour}
    return world(0.18, seed, **more), costs.costs(SERVICE)


@pytest.mark.slow
async def test_auto_costs_less_than_any_fixed_number():
    """Rates fitted by the engine itself, more than 20,000 deliveries."""
    (clock, subject), prices = priced_world(control="auto")
    await run_for(subject, clock, 4100.0, step=10.0)
    queue, total = subject.final
    predicted = subject.tuning.predicted
    assert total.arrived >= 20_000
    assert close(queue["loss"], predicted.loss)
    assert close(queue["starvation"], predicted.starvation)
    assert close(queue["obsolete"], predicted.obsolete)
    cost = subject.measures.cost(prices)
    for number in (1, 2):
        (clock, other), _ = priced_world(control="fixed", robots=number)
        await run_for(other, clock, 1100.0 / number, step=10.0)
        fixed = other.measures.cost(prices)
        assert cost.value + cost.half_width < fixed.value - fixed.half_width
