import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl.demo import Directory, poisson_truth, replay_truth
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


@given(TIMES, TIMES, st.integers(0, 10), st.integers(11, 25))
def test_obsolescence_against_brute_force(changes, accesses, since, until):
    truth = replay_truth([(time, "a") for time in changes], ["a"])
    expected = brute_force(changes, accesses, since, until)
    assert truth.obsolescence({"a": accesses}, since, until) == pytest.approx(expected, abs=1e-9)


def test_many_pages_and_weights():
    truth = replay_truth([(5.0, "a")], ["a", "b", "c"])
    copies = {"a": 0.0, "b": [0.0, 3.0]}
    assert truth.obsolescence(copies, 0.0, 10.0) == pytest.approx((0.5 + 0 + 1) / 3)
    assert truth.obsolescence(copies, 0.0, 10.0, {"a": 4.0, "b": 0.0}) == pytest.approx((2 + 0 + 1) / 5)


def test_poisson_obsolescence_meets_the_formula():
    """A page accessed every T is obsolete for 1 - (1 - exp(-rate T)) / (rate T) of the time."""
    rates, period, end = np.array([0.2, 1.0, 3.0]), 1.0, 4000.0
    truth = poisson_truth(rates, ["a", "b", "c"], seed=5)
    accesses = list(np.arange(0.0, end, period))
    for name, rate in zip("abc", rates, strict=True):
        single = poisson_truth(rates, ["a", "b", "c"], seed=5)
        others = {page: 1.0 if page == name else 0.0 for page in "abc"}
        measured = single.obsolescence({name: accesses}, 0.0, end, others)
        x = rate * period
        assert measured == pytest.approx(1 - (1 - np.exp(-x)) / x, abs=0.02)
    assert truth.version("b", end) == pytest.approx(end, abs=4 * np.sqrt(end))


def test_changes_do_not_depend_on_who_asks():
    one, two = (poisson_truth(np.array([0.5, 2.0]), ["a", "b"], start=100.0, seed=3) for _ in range(2))
    for time in (150.0, 101.0, 400.0, 399.0):
        two.version("b", time)
    assert np.array_equal(one.changes("b", 100, 500), two.changes("b", 100, 500))
    assert not np.array_equal(one.changes("b", 100, 200), one.changes("a", 100, 200))


def test_versions_and_changes_agree():
    truth = poisson_truth(np.array([1.0]), ["a"], start=10.0)
    changes = truth.changes("a", 10.0, 60.0)
    assert truth.version("a", 10.0) == 0
    assert truth.last_change("a", 10.0) == 10.0
    for number, time in enumerate(changes, start=1):
        assert truth.version("a", time) == number
        assert truth.version("a", np.nextafter(time, 0)) == number - 1
        assert truth.last_change("a", time + 1e-9) == time


def test_a_page_that_never_changes():
    truth = poisson_truth(np.array([0.0]), ["a"])
    assert truth.version("a", 1e12) == 0
    assert truth.obsolescence({"a": 0.0}, 1.0, 1e9) == 0


def test_replay_at_speed():
    truth = replay_truth([(20.0, "a"), (10.0, "a")], ["a", "b"], start=100.0, speed=10.0)
    assert list(truth.changes("a", 0, 1000)) == [101.0, 102.0]
    assert list(truth.rates) == [1.0, 0.0]
    assert truth.rate("a") == 1.0


@pytest.mark.parametrize("history", [[(1.0, "no such page")], [(-1.0, "a")], [(float("nan"), "a")]])
def test_impossible_history(history):
    with pytest.raises(InvalidModel, match="history"):
        replay_truth(history, ["a"])


def test_impossible_questions():
    truth = replay_truth([], ["a"])
    with pytest.raises(InvalidModel, match="until"):
        truth.obsolescence({}, 5.0, 5.0)
    with pytest.raises(InvalidModel, match="rates"):
        poisson_truth(np.array([-1.0]), ["a"])


def test_a_directory_edited_as_a_whole():
    """Each page is a Poisson process of edits x probability; two pages change together with its square."""
    directory, end = Directory((0, 1, 2), 2.0, 0.6), 4000.0
    truth = poisson_truth(np.array([9.0, 9.0, 9.0, 1.0]), list("abcd"), seed=2, directories=[directory])
    assert truth.rates.tolist() == pytest.approx([1.2, 1.2, 1.2, 1.0])
    times = [truth.changes(page, 0.0, end) for page in "abc"]
    for changes in times:
        assert len(changes) == pytest.approx(1.2 * end, abs=4 * np.sqrt(1.2 * end))
        gaps = np.diff(changes)
        assert gaps.std() == pytest.approx(gaps.mean(), rel=0.06)
    together = len(np.intersect1d(times[0], times[1]))
    assert together == pytest.approx(2.0 * 0.36 * end, abs=4 * np.sqrt(0.72 * end))
    assert not np.intersect1d(times[0], truth.changes("d", 0.0, end)).size


def test_edits_do_not_depend_on_who_asks():
    directory = Directory((0, 1), 3.0, 0.5)
    one, two = (
        poisson_truth(np.zeros(2), ["a", "b"], start=10.0, seed=3, directories=[directory]) for _ in range(2)
    )
    for time in (15.0, 11.0, 40.0):
        two.version("b", time)
        two.next_change("b", time)
    assert np.array_equal(one.changes("a", 10, 500), two.changes("a", 10, 500))


@pytest.mark.parametrize("page", ["a", "b", "c", "d"])
def test_next_change(page):
    directory = Directory((1,), 0.5, 0.05)
    truth = poisson_truth(np.array([0.3, 0.0, 0.0, 0.0]), list("abcd"), seed=6, directories=[directory])
    if page in "cd":
        assert truth.next_change(page, 5.0) == np.inf
        return
    for time in (0.0, 7.5, 300.0):
        found = truth.next_change(page, time)
        assert truth.changes(page, time, found).tolist() == [found]


@pytest.mark.parametrize(("edits", "probability"), [(1.0, 0.0), (1.0, 1.5), (-1.0, 0.5), (np.inf, 0.5)])
def test_impossible_directories(edits, probability):
    with pytest.raises(InvalidModel, match="must be"):
        Directory((0,), edits, probability)
