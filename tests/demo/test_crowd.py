from types import SimpleNamespace

import numpy as np
import pytest

from recrawl.demo import DemoWeb
from recrawl.demo.crowd import (
    ACCESS_SECONDS,
    CAPACITY,
    ROBOTS,
    best_policy,
    crowd_settings,
    crowd_web,
    queue_of,
)
from recrawl.engine.measures import Estimate, Window


def brute_force(table, access_rate, service_rate):
    """Loss and starvation from the words: each robot at work delivers by itself, and stops after it when told to."""
    states = [(level, working) for level in range(CAPACITY + 1) for working in range(ROBOTS + 1)]
    place = {state: number for number, state in enumerate(states)}
    moves = np.zeros((len(states), len(states)))
    for (level, working), number in place.items():
        after = min(level + 1, CAPACITY)
        if working:
            left = max(working - 1, min(working, table[after]))
            moves[number, place[after, max(left, table[after])]] += working * access_rate
        if level:
            moves[number, place[level - 1, max(working, table[level - 1])]] += service_rate
        elif not working:
            moves[number, place[0, table[0]]] += 1e3  # robots start
    moves -= np.diag(moves.sum(axis=1))
    share = np.linalg.lstsq(
        np.vstack([moves.T, np.ones(len(states))]), np.eye(len(states) + 1)[-1], rcond=None
    )[0]
    arrivals = np.array([working * access_rate for _, working in states])
    full = np.array([level == CAPACITY for level, _ in states])
    empty = np.array([level == 0 for level, _ in states])
    return share @ (arrivals * full) / (share @ arrivals), share @ empty


def fake_engine(table, window):
    values = {
        "loss": Estimate(window.lost / max(window.arrived, 1), 0.01),
        "starvation": Estimate(window.idle_seconds / window.seconds, 0.02),
    }
    return SimpleNamespace(
        controller=SimpleNamespace(table=table),
        tuning=SimpleNamespace(predicted=None),
        measures=SimpleNamespace(total=lambda: window, queue=lambda: values),
        queue=SimpleNamespace(level=lambda: 3),
        robots=SimpleNamespace(active=2),
    )


@pytest.mark.parametrize("table", [(4,) * 13, (4,) * 6 + (1,) * 7, (3, 3, 3) + (2,) * 10])
def test_predictions_from_mean_times(table):
    window = Window(
        seconds=100.0, arrived=1600, lost=400, served=1200, idle_seconds=5.0,
        service_seconds=72.0, robot_seconds=180.0, working_seconds=200.0,
    )  # fmt: skip
    found = queue_of(fake_engine(table, window))
    loss, starvation = brute_force(table, 8.0, 1200 / 72.0)
    assert found.loss_predicted == pytest.approx(loss, rel=1e-6, abs=1e-9)
    assert found.starvation_predicted == pytest.approx(starvation, rel=1e-3, abs=1e-6)
    assert found.loss == 0.25
    assert not found.fitted
    # Per mean service time of 0.06 s: 4 lost pages, 1.8 robots at 0.01 and 0.05 idle at 2 per service.
    assert found.cost == pytest.approx(4 * 0.06 + 1.8 * 0.01 + 0.05 * 2.0)


def test_the_engines_own_prediction_comes_first():
    window = Window(seconds=9.0, arrived=9, served=9, service_seconds=1.0, working_seconds=9.0)
    engine = fake_engine((4,) * 13, window)
    engine.tuning.predicted = SimpleNamespace(loss=0.5, starvation=0.125, cost=3.0)
    found = queue_of(engine)
    assert (found.loss_predicted, found.starvation_predicted, found.fitted) == (0.5, 0.125, True)
    assert queue_of(fake_engine((4,) * 13, Window(seconds=1.0))) is None


async def test_four_robots_bring_twice_what_the_indexer_takes(tmp_path):
    policy = best_policy()
    assert policy.modes[0] == ROBOTS
    assert policy.thresholds
    async with DemoWeb(crowd_web(seed=3)) as web:
        switched, always = (crowd_settings(web, chosen, tmp_path) for chosen in (policy, None))
    assert (switched.control, always.control) == ("thresholds", "fixed")
    assert switched.modes == policy.modes
    assert web.options.delay_law == f"exponential:{ACCESS_SECONDS}"
    assert not switched.budget
