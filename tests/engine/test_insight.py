"""What commands say of pages, from what the store keeps."""

import numpy as np
import pytest
from tests.engine.fakes import page

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
    return np.concatenate(([price, budget], prior)).tobytes()


def test_fast_pages_are_less_probably_current():
    fast = believed("fast", [(10.0, True)] * 20)
    slow = believed("slow", [(10.0, False)] * 20)
    a, b = Insight(kept()).pages([fast, slow], now=1030.0)
    assert a.change_rate > 10 * b.change_rate
    assert a.current_probability < 0.2
    assert b.current_probability > 0.8
    assert a.change_rate_low < a.change_rate < a.change_rate_high
    assert b.next_due == pytest.approx(1000.0 + b.access_interval)


def test_quick_probabilities_are_close_to_the_exact_ones():
    records = [believed(f"u{n}", [(10.0, k < n) for k in range(20)]) for n in range(0, 20, 4)]
    insight = Insight(kept())
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
    answers = Insight(kept(budget=0.5)).budgets(records, 5, (0.5, 1.0, 2.0))
    assert [answer.budget for answer in answers] == [0.25, 0.5, 1.0]
    fresh = [answer.freshness for answer in answers]
    assert fresh == sorted(fresh)
    assert fresh[0] < fresh[-1]
