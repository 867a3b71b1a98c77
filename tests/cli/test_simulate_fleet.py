"""`recrawl simulate fleet`."""

import pytest

from recrawl.fleet import solve
from recrawl.laws import TwoTask

COMMON = ("simulate", "fleet", "--service", "two-task:2,10,0.35", "--capacity", "15", "--robot-rate", "0.03")


def test_exact_and_simulated_stand_side_by_side(recrawl):
    document = recrawl(*COMMON, "--robots", "7", "--arrivals", "300000", "--json").json
    queue = solve(TwoTask(2.0, 10.0, 0.35), 7 * 0.03 * 5.5, 15)
    for name in ("starvation", "loss", "response_time"):
        entry = document[name]
        assert entry["exact"] == pytest.approx(getattr(queue, name))
        assert abs(entry["simulated"] - entry["exact"]) < 3 * entry["half_width"]


def test_obsolete_pages_and_the_table(recrawl):
    result = recrawl(*COMMON, "--robots", "7", "--obsolete-after", "60", "--arrivals", "60000")
    assert result.code == 0
    assert "obsolete" in result.out
    assert "load 1.155" in result.out


def test_bad_input(recrawl):
    result = recrawl(*COMMON, "--capacity", "0")
    assert result.code == 2
    assert "capacity must be a whole number from 1, not 0" in result.err
    assert recrawl(*COMMON, "--obsolete-after", "-1").code == 2
