"""Robots that finish their accesses, against a simulation written from the words."""

import heapq
import math
import random
from dataclasses import replace

import numpy as np
import pytest

from recrawl.control import Costs, Model, finishing_phases, finishing_robots, measure, switched_at_once
from recrawl.errors import InvalidModel
from recrawl.laws import PhaseType

COSTS = Costs(loss=1, obsolete=1, response=0, robot=0, starvation=1)


def stages(mean, count):
    """Erlang accesses."""
    S = (count / mean) * (np.eye(count, k=1) - np.eye(count))
    return PhaseType(np.eye(count)[0], S)


def model(access, table, obsolete_after=0.5, modes=finishing_robots):
    keeps = PhaseType([1.0], [[-1.0 / obsolete_after]])
    arrivals = modes(stages(access, 1), table)
    return Model(len(table) - 1, PhaseType([1.0], [[-1.0]]), arrivals, COSTS, obsolescence=keeps)


def played(table, access, obsolete_after, deliveries, seed=1, stages=1):
    """Loss, obsolescence, starvation: robots are started while fewer than the table says are at work."""
    chance = random.Random(seed)
    now, idle, arrived, lost, obsolete = 0.0, 0.0, 0, 0, 0
    accesses, waiting, serving = [], [], math.inf
    while arrived < deliveries:
        level = len(waiting) + (serving < math.inf)
        while len(accesses) < table[level]:
            heapq.heappush(accesses, now + chance.gammavariate(stages, access / stages))
        events = (accesses[0] if accesses else math.inf, serving, min(waiting, default=math.inf))
        idle += (min(events) - now) * (level == 0)
        now = min(events)
        if now == events[0]:
            heapq.heappop(accesses)
            arrived += 1
            if level == len(table) - 1:
                lost += 1
            elif level == 0:
                serving = now + chance.expovariate(1.0)
            else:
                waiting.append(now + chance.expovariate(1.0 / obsolete_after))
        elif now == serving:
            serving = math.inf
            if waiting:
                waiting.pop(0)
                serving = now + chance.expovariate(1.0)
        else:
            waiting.remove(now)
            obsolete += 1
    return lost / arrived, obsolete / arrived, idle / now


@pytest.mark.parametrize("access", [0.2, 1.0])
@pytest.mark.parametrize("table", [(3, 3, 1, 1), (4, 2, 1, 0), (3, 2, 0, 0), (6, 6, 6, 1)])
def test_against_a_simulation(access, table):
    found = measure(model(access, table), table)
    loss, obsolete, starvation = played(table, access, 0.5, 40_000)
    assert found.loss == pytest.approx(loss, abs=0.01)
    assert found.obsolete == pytest.approx(obsolete, abs=0.012)
    assert found.starvation == pytest.approx(starvation, abs=0.008)


@pytest.mark.parametrize("table", [(2, 1, 1, 1), (3, 3, 3, 3), (3, 2, 1, 1)])
def test_one_robot_fewer_is_no_difference(table):
    """The robot that has delivered stops: nobody else is switched off, so the paper's model is exact."""
    ours, papers = (
        measure(model(1.0, table, modes=kind), table) for kind in (finishing_robots, switched_at_once)
    )
    assert ours.loss == pytest.approx(papers.loss, rel=1e-9)
    assert ours.starvation == pytest.approx(papers.starvation, rel=1e-9)


@pytest.mark.parametrize("table", [(3, 3, 1, 1), (4, 1, 1, 1), (3, 2, 0, 0)])
@pytest.mark.parametrize("count", [2, 3])
def test_accesses_of_several_stages(table, count):
    """A robot that is switched on needs a whole access for its first page."""
    given = model(0.5, table)
    found = measure(replace(given, modes=finishing_robots(stages(0.5, count), table)), table)
    loss, obsolete, starvation = played(table, 0.5, 0.5, 40_000, stages=count)
    assert found.loss == pytest.approx(loss, abs=0.01)
    assert found.obsolete == pytest.approx(obsolete, abs=0.012)
    assert found.starvation == pytest.approx(starvation, abs=0.008)


def test_one_stage_by_both_roads():
    """Exponential accesses written with two phases, of which the second differs by next to nothing."""
    table = (3, 3, 1, 1)
    disguised = PhaseType([0.5, 0.5], [[-2.0, 0.0], [0.0, -2.000001]])
    plain, other = (
        measure(replace(model(0.5, table), modes=finishing_robots(law, table)), table)
        for law in (stages(0.5, 1), disguised)
    )
    assert other.loss == pytest.approx(plain.loss, rel=1e-3)
    assert other.starvation == pytest.approx(plain.starvation, rel=1e-3)


def test_the_difference_grows_with_what_is_under_way():
    """The same arrivals from ever more robots, each of them slower: more is under way when they are switched off."""
    gaps = []
    for split in (1, 4, 16):
        many = tuple(split * number for number in (4, 4, 2, 2))
        found = [
            measure(
                Model(3, PhaseType([1.0], [[-1.0]]), kind(stages(2.0 * split, 1), many), COSTS), many
            ).loss
            for kind in (finishing_robots, switched_at_once)
        ]
        gaps.append(found[0] - found[1])
    assert 0.0 < gaps[0] < gaps[1] < gaps[2]


def test_accesses_that_bring_nothing():
    half = finishing_robots(stages(0.2, 1), [1, 3], success=0.5)
    assert half[1].arrivals.rate == pytest.approx(0.5 * 3 / 0.2)
    table = (3, 3, 1, 1)
    given = model(0.4, table)
    assert measure(replace(given, modes=finishing_robots(stages(0.2, 2), table, 0.5)), table).arrival_rate > 0


def test_bad_input():
    with pytest.raises(InvalidModel, match="must be above 0 and at most 1, not 0"):
        finishing_robots(stages(1.0, 1), [1, 2], success=0.0)
    with pytest.raises(InvalidModel, match="some mode must have a robot"):
        switched_at_once(stages(1.0, 1), [0])


def test_number_of_phases():
    for count in (1, 2, 3):
        for numbers in ([1, 4], [0, 3], [2, 3]):
            law = stages(1.0, count)
            assert finishing_robots(law, numbers)[0].arrivals.order == finishing_phases(law, numbers)
