"""Tiers of history, and the sampler that fills them."""

import math

from hypothesis import given
from hypothesis import strategies as st
from tests.engine.fakes import Web, engine, run_for

from recrawl.backends.memory import ManualClock
from recrawl.engine.history import SERIES, HistoryPoint, choose_tier, joined, merged

NUMBERS = st.floats(-1e6, 1e6)


@given(st.lists(NUMBERS, min_size=1, max_size=50))
def test_merging_one_by_one_is_the_mean(values):
    mean = ()
    for count, value in enumerate(values):
        mean = merged(count, mean, 1, (value,))
    assert math.isclose(mean[0], sum(values) / len(values), rel_tol=1e-9, abs_tol=1e-6)


@given(st.lists(st.integers(0, 500), min_size=1, unique=True), st.integers(1, 60))
def test_joined_points_keep_counts_and_are_few(slots, most):
    points = [HistoryPoint(2.0 * slot, 2.0, 1, (float(slot),)) for slot in sorted(slots)]
    found = joined(points, 0.0, 1000.0, most)
    assert len(found) <= most
    assert sum(point.count for point in found) == len(points)
    assert [point.time for point in found] == sorted({point.time for point in found})


def test_a_row_of_an_older_version_is_shorter():
    assert merged(1, (1.0,), 1, (3.0, 4.0)) == (2.0, 4.0)


def test_the_finest_tier_that_reaches():
    assert [choose_tier(1e9 - age, 1e9) for age in (0.0, 1200.0, 1201.0, 1e5, 1e7)] == [0, 0, 1, 2, 3]


async def test_the_engine_records_what_happens():
    clock = ManualClock()
    urls = [f"http://a.example/{i}" for i in range(20)]
    web = Web(clock, {url: f"page {url}" for url in urls})
    subject = engine(clock, web, urls, budget=10.0)
    await run_for(subject, clock, 30.0)
    now = clock.time()
    points = await subject.world.store.history(now - 60.0, now, 100)
    assert len(points) >= 12
    by_name = {name: [point.values[place] for point in points] for place, name in enumerate(SERIES)}
    middle = by_name["accesses_per_second"][3:-3]
    assert all(9.0 <= rate <= 11.0 for rate in middle)
    assert set(by_name["budget_per_second"]) == {10.0}
    assert by_name["pages"][-1] == 20.0
    assert all(0.0 <= value <= 1.0 for value in by_name["obsolescence"][4:])
    assert all(0.0 <= value <= 1.0 for value in by_name["obsolescence_bound"][4:])
    assert sum(by_name["spare"][4:]) > 0.0
    assert sum(by_name["loss"][4:]) == 0.0
