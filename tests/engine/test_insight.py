"""What commands say of pages, from what the store keeps."""

from dataclasses import replace

import numpy as np
import pytest
from tests.engine.fakes import page

from recrawl.engine.clock_pages import ClockTable
from recrawl.engine.insight import Insight
from recrawl.engine.pages import GRID, PageTable, columns_of
from recrawl.engine.records import State


def believed(url, observations, last=1000.0):
    """A page as the store keeps it after some accesses: pairs of elapsed time and whether it had changed."""
    table = PageTable("equal")
    slots = table.add(columns_of([page(url)]))
    for elapsed, changed in observations:
        table.belief.update(slots, [elapsed], [changed])
    (kept,) = table.packed(slots)
    return page(url, last_access=last, digest=b"x" * 16, accesses=len(observations) + 1, belief=kept)


def kept(price=10.0, budget=1.0):
    prior = np.full(GRID.points, 1.0 / GRID.points)
    return np.concatenate(([price, budget], prior)).tobytes(), "poisson"


def test_fast_pages_are_less_probably_current():
    fast = believed("fast", [(10.0, True)] * 20)
    slow = believed("slow", [(10.0, False)] * 20)
    a, b = Insight(*kept()).pages([fast, slow], now=1030.0)
    assert a.change_rate > 10 * b.change_rate
    assert a.current_probability < 0.2
    assert b.current_probability > 0.8
    assert a.change_rate_low < a.change_rate < a.change_rate_high
    assert b.next_due == pytest.approx(1000.0 + b.access_interval)


def test_quick_probabilities_are_close_to_the_exact_ones():
    records = [believed(f"u{n}", [(10.0, k < n) for k in range(20)]) for n in range(0, 20, 4)]
    insight = Insight(*kept())
    quick = insight.current(records, 1020.0)
    exact = [found.current_probability for found in insight.pages(records, 1020.0)]
    assert quick == pytest.approx(exact, abs=0.05)


def test_pages_without_a_copy_have_no_probability():
    record = page("u", state=State.GONE)
    (found,) = Insight(None).pages([record], 10.0)
    assert (found.current_probability, found.next_due, found.access_interval) == (None, None, None)
    assert Insight(None).current([record], 10.0) == [None]


def test_more_budget_is_fresher():
    records = [believed(f"u{n}", [(10.0, k % 5 < n) for k in range(20)]) for n in range(5)]
    answers = Insight(*kept(budget=0.5)).budgets(records, 5, (0.5, 1.0, 2.0))
    assert [answer.budget for answer in answers] == [0.25, 0.5, 1.0]
    fresh = [answer.freshness for answer in answers]
    assert fresh == sorted(fresh)
    assert fresh[0] < fresh[-1]


@pytest.fixture
def together():
    """Records of pages in two directories, one of which was edited again and again lately; and an insight into them."""
    table = ClockTable("equal", budget=4.0 / 64)
    urls = [f"http://a.example/{folder}/{i}" for folder in ("busy", "calm") for i in range(32)]
    slots = table.add(columns_of([page(url, last_access=0.0) for url in urls]))
    for _ in range(2):
        prepared = table.prepare(4.0)
        table.care(prepared, 0.0)
    busy = np.arange(64) < 32
    for round_number in range(12):
        now = 16.0 * (round_number + 1)
        times = now + np.arange(64) / 64
        table.observe(slots, table.last[slots], times, busy & (round_number > 8), *np.full((2, 64), np.nan))
        table.last[slots] = times
    rows = table.packed(slots)
    records = [
        page(url, last_access=float(last), digest=b"x" * 16, accesses=12, belief=row)
        for url, last, row in zip(urls, table.last[slots], rows, strict=True)
    ]
    return records, Insight(np.array([5.0, 4.0]).tobytes(), "optimal", "equal", table.kept_prior()), table


def test_what_is_believed_together(together):
    records, insight, table = together
    assert len(table.clocks.group_of) > 2
    found = insight.pages(records, now=200.0)
    busy, calm = found[:32], found[32:]
    assert min(p.change_rate for p in busy) > 3 * max(p.change_rate for p in calm)
    assert max(p.current_probability for p in busy) < min(p.current_probability for p in calm)
    exact = table.current(np.arange(64), 200.0)
    assert [p.current_probability for p in found] == pytest.approx(exact.tolist(), rel=1e-6)


def test_quick_probabilities_of_clocks_are_close_to_the_exact_ones(together):
    records, insight, table = together
    quick = insight.current(records, 200.0)
    assert quick == pytest.approx(table.current(np.arange(64), 200.0).tolist(), abs=0.05)
    old = [replace(record, belief=b"") for record in records[:1]]
    assert insight.current(old, 200.0) == [None]


def test_kept_waits_are_brought_to_another_price():
    table = PageTable("equal")
    slots = table.add(columns_of([page(f"u{n}", last_access=0.0) for n in range(6)]))
    for n, slot in enumerate(slots):
        table.belief.update(np.repeat(slot, 20), [10.0] * 20, [k < 3 * n + 1 for k in range(20)])
    records = []
    for level in (10.0, 10.0, 11.0, 9.0, 40.0, np.nan):  # the last two are too far away, or not known
        slot = slots[len(records) : len(records) + 1]
        if not np.isnan(level):
            table.waits[slot] = table.find_waits(slot, np.ones(1), np.array([level]))
        (row,) = table.packed(slot)
        records.append(
            page(f"u{len(records)}", last_access=1000.0, digest=b"x" * 16, accesses=21, belief=row)
        )
    insight = Insight(*kept(price=10.0))
    exact, quick = (insight.arrays(columns_of(records), 1030.0, level) for level in (0.9, None))
    assert np.isfinite(exact.interval).any()
    np.testing.assert_allclose(quick.interval, exact.interval, rtol=0.05)
    np.testing.assert_allclose(quick.due, exact.due, rtol=1e-3)
    np.testing.assert_array_equal(quick.rate, exact.rate)
    assert np.isnan(quick.low).all()
