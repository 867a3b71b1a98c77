"""Robots that finish their accesses, against a simulation written from the words."""

import heapq
import math
import random

import pytest

from recrawl.control import Costs, Model, finishing_robots, measure, switched_at_once
from recrawl.errors import InvalidModel
from recrawl.laws import Bmap, PhaseType

COSTS = Costs(loss=1, obsolete=1, response=0, robot=0, starvation=1)


def model(access, table, obsolete_after=0.5, modes=finishing_robots):
    keeps = PhaseType([1.0], [[-1.0 / obsolete_after]])
    arrivals = modes(Bmap.poisson(1.0 / access), table)
    return Model(len(table) - 1, PhaseType([1.0], [[-1.0]]), arrivals, COSTS, obsolescence=keeps)


def played(table, access, obsolete_after, deliveries, seed=1):
    """Loss, obsolescence, starvation: robots are started while fewer than the table says are at work."""
    chance = random.Random(seed)
    now, idle, arrived, lost, obsolete = 0.0, 0.0, 0, 0, 0
    accesses, waiting, serving = [], [], math.inf
    while arrived < deliveries:
        level = len(waiting) + (serving < math.inf)
        while len(accesses) < table[level]:
            heapq.heappush(accesses, now + chance.expovariate(1.0 / access))
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


def test_the_difference_grows_with_what_is_under_way():
    """The same arrivals from ever more robots, each of them slower: more is under way when they are switched off."""
    table = (4, 4, 2, 2)
    gaps = []
    for split in (1, 4, 16):
        one = Bmap.poisson(0.5 / split)
        many = tuple(split * number for number in table)
        found = [
            measure(Model(3, PhaseType([1.0], [[-1.0]]), kind(one, many), COSTS), many).loss
            for kind in (finishing_robots, switched_at_once)
        ]
        gaps.append(found[0] - found[1])
    assert 0.0 < gaps[0] < gaps[1] < gaps[2]


def test_arrivals_of_two_phases():
    one = Bmap([[[-6.0, 1.0], [0.5, -2.0]], [[4.0, 1.0], [0.5, 1.0]]])
    modes = finishing_robots(one, [1, 3])
    assert modes[1].arrivals.rate == pytest.approx(3.0 * one.rate)
    assert modes[0].arrivals.rate == pytest.approx(one.rate)


def test_bad_input():
    with pytest.raises(InvalidModel, match="one page at a time, not up to 2"):
        finishing_robots(Bmap([[[-2.0]], [[1.0]], [[1.0]]]), [1, 2])
    with pytest.raises(InvalidModel, match="some mode must have a robot"):
        switched_at_once(Bmap.poisson(1.0), [0])
