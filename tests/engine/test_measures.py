"""What is measured, and how surely."""

import random

import pytest

from recrawl.engine.measures import Measures, Reservoir


class Clock:
    now = 0.0

    def time(self):
        return self.now

    def monotonic(self):
        return self.now


def test_time_is_attributed_to_states():
    clock = Clock()
    measures = Measures(clock)
    measures.state(level=0, robots=2)
    clock.now = 3.0
    measures.state(level=1, robots=1)
    clock.now = 10.0
    measures.state(level=0, robots=1, spare=True)
    clock.now = 14.0
    total = measures.total()
    assert (total.seconds, total.idle_seconds, total.spare_seconds) == pytest.approx((14.0, 3.0, 4.0))
    assert total.robot_seconds == pytest.approx(6.0 + 7.0 + 4.0)
    assert total.level_seconds == pytest.approx(7.0)


def test_intervals_cover_the_truth():
    covered = 0
    for seed in range(200):
        chance, clock = random.Random(seed), Clock()
        measures = Measures(clock)
        for _ in range(400):
            clock.now += chance.expovariate(1.0)
            measures.arrived(lost=chance.random() < 0.3)
        loss = measures.ratio("lost", "arrived")
        covered += abs(loss.value - 0.3) <= loss.half_width
    assert covered >= 180  # of 200, at 95 %


def test_windows_are_joined_and_lose_nothing():
    clock = Clock()
    measures = Measures(clock)
    for _ in range(5000):
        clock.now += 0.7
        measures.arrived(lost=False)
    assert len(measures.windows) < 64
    assert measures.total().arrived == 5000
    assert measures.total().seconds == pytest.approx(3500.0)


def test_reservoir_keeps_the_latest():
    values = Reservoir(10)
    for value in range(100):
        values.add(float(value))
    assert values.document() == {"count": 100, "mean": 94.5, "p50": 94.0, "p99": 99.0}
