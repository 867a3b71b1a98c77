import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl.demo import Directory, Ledger, poisson_truth, replay_truth
from recrawl.errors import InvalidModel

TIMES = st.lists(st.integers(0, 40).map(lambda n: n / 2), max_size=12)


def brute_force(changes, accesses, since, until, step=0.25):
    """Looks at the middle of each small step; changes and accesses lie on the edges."""
    stale = 0
    middles = np.arange(since + step / 2, until, step)
    for now in middles:
        copies = [access for access in accesses if access <= now]
        if not copies or any(max(copies) < change <= now for change in changes):
            stale += 1
    return stale / len(middles)


@given(TIMES, TIMES, TIMES, st.integers(0, 10), st.integers(11, 25))
def test_against_brute_force(changes, first, second, since, until):
    truth = replay_truth([(time, "a") for time in changes], ["a", "b"])
    ledger = Ledger(truth, since)
    for name, accesses in (("a", first), ("b", second)):
        for access in sorted(access for access in accesses if access <= until):
            ledger.note(name, access)
    expected = brute_force(changes, first, since, until) + brute_force([], second, since, until)
    assert ledger.obsolescence(until) == pytest.approx(expected / 2, abs=1e-9)
    assert ledger.accesses == sum(len({t for t in some if since < t <= until}) for some in (first, second))


@given(TIMES, TIMES, st.integers(0, 10), st.integers(11, 25))
def test_what_is_noted_late_counts_at_its_own_time(changes, accesses, since, until):
    """The period is closed first; accesses that ended in it are still taken, later ones are not."""
    truth = replay_truth([(time, "a") for time in changes], ["a"])
    ledger = Ledger(truth, since)
    ledger.close(until)
    for access in sorted(accesses):
        ledger.note("a", access)
    assert ledger.obsolescence(1e9) == pytest.approx(brute_force(changes, accesses, since, until), abs=1e-9)


def test_agrees_with_the_truth_on_a_large_web():
    random = np.random.default_rng(4)
    urls = [f"page {n}" for n in range(40)]
    rates = random.lognormal(-1, 2, 40)
    truth = poisson_truth(rates, urls, start=50.0, seed=4, directories=[Directory((3, 4, 5, 6), 1.0, 0.7)])
    ends = {url: sorted(random.uniform(50, 150, random.integers(0, 60))) for url in urls}
    ledger = Ledger(truth, 80.0)
    for time, url in sorted((time, url) for url, times in ends.items() for time in times):
        assert ledger.note(url, time)
    assert ledger.obsolescence(150.0) == pytest.approx(truth.obsolescence(ends, 80.0, 150.0), rel=1e-12)
    assert ledger.accesses == sum(time > 80 for times in ends.values() for time in times)
    assert ledger.copies == sum(bool(times) for times in ends.values())


def test_strange_notes_are_passed_over():
    ledger = Ledger(replay_truth([], ["a"]), 0.0)
    assert not ledger.note("elsewhere", 1.0)
    assert ledger.note("a", 2.0)
    assert not ledger.note("a", 1.0)
    assert ledger.obsolescence(4.0) == 0.5
    with pytest.raises(InvalidModel, match="until"):
        ledger.obsolescence(0.0)
