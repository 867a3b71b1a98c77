"""One battery over every access sequence."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl.errors import InvalidModel
from recrawl.revisit import (
    IDLE,
    Bracket,
    DueTimes,
    GoldenRatio,
    PowerOfTwo,
    Randomised,
    RoundRobin,
    Template,
    WhittleIndex,
    Windows,
    power_of_two_frequencies,
)


def whittle(frequency):
    return WhittleIndex(frequency, 0.7 * np.abs(frequency))


MAKERS = {
    "windows": Windows,
    "due-time": DueTimes,
    "golden": GoldenRatio,
    "power-of-two": PowerOfTwo,
    "bracket": Bracket,
    "randomised": lambda frequency: Randomised(frequency, 5),
    "index": whittle,
}
# How far, in accesses, the count of a page may be from f·n.
SLACK = {
    "windows": 4,
    "due-time": 4,
    "golden": 3,
    "power-of-two": 1,
    "bracket": 12,
    "randomised": 400,
    "index": 400,
}


def target(name, frequency):
    return power_of_two_frequencies(frequency) if name == "power-of-two" else np.asarray(frequency)


@pytest.fixture(params=MAKERS)
def name(request):
    return request.param


def zipf(size, exponent=1.0):
    frequency = 1.0 / np.arange(1, size + 1) ** exponent
    return frequency / frequency.sum()


@pytest.mark.parametrize("size", [1, 2, 7, 100])
def test_frequencies_are_realised(name, size):
    frequency = zipf(size)
    count = 10_000
    seen = np.bincount(MAKERS[name](frequency).take(count), minlength=size)
    assert seen.sum() == count
    assert np.abs(seen - target(name, frequency) * count).max() <= SLACK[name]


def test_one_at_a_time_or_many_at_once(name):
    frequency = zipf(20)
    one, many = MAKERS[name](frequency), MAKERS[name](frequency)
    singles = [next(one) for _ in range(50)]
    chunks = np.concatenate((many.take(13), many.take(0), many.take(37)))
    if name != "randomised":  # its draws come in blocks
        assert singles == chunks.tolist()
    assert iter(one) is one


def test_pages_of_frequency_zero_never_come(name):
    frequency = np.array([0.0, 0.5, 0.0, 0.5])
    assert set(MAKERS[name](frequency).take(200).tolist()) == {1, 3}


def test_slots_without_access(name):
    frequency = np.array([0.4, 0.1])
    pages = MAKERS[name](frequency).take(20_000)
    share = np.mean(pages == IDLE)
    assert share == pytest.approx(0.5, abs=0.05 if name == "index" else 0.02)
    assert set(pages.tolist()) == {IDLE, 0, 1}


@given(st.integers(0, 1000), st.sampled_from(sorted(MAKERS)), st.integers(2, 30))
def test_a_page_that_is_gone_never_comes_again(seed, name, size):
    rng = np.random.default_rng(seed)
    sequence = MAKERS[name](zipf(size, 0.7))
    gone = set()
    for _ in range(size - 1):
        sequence.take(int(rng.integers(0, 40)))
        page = int(rng.choice([p for p in range(size) if p not in gone]))
        sequence.remove(page)
        gone.add(page)
        assert not gone & set(sequence.take(60).tolist())
    assert (sequence.frequency > 0).sum() == 1


def test_when_all_pages_are_gone(name):
    sequence = MAKERS[name](np.array([0.5, 0.5]))
    sequence.remove(0)
    sequence.remove(1)
    assert list(sequence) == []
    with pytest.raises(InvalidModel, match="no page is left"):
        sequence.take(1)
    with pytest.raises(InvalidModel, match="page must be from 0 to 1, not 2"):
        sequence.remove(2)


def test_the_others_take_the_place_of_a_page_that_is_gone(name):
    sequence = MAKERS[name](np.full(8, 0.125))
    for page in (1, 2, 3, 4, 5):
        sequence.remove(page)
    seen = np.bincount(sequence.take(30_000), minlength=8)[[0, 6, 7]]
    expected = target(name, np.full(3, 1 / 3)) if name == "power-of-two" else np.full(3, 1 / 3)
    assert sorted(seen / 30_000) == pytest.approx(sorted(expected), abs=0.02)


def test_new_pages_enter_with_the_next_plan(name):
    sequence = MAKERS[name](np.array([0.7, 0.3]))
    assert set(sequence.take(500).tolist()) == {0, 1}
    frequency = np.array([0.5, 0.0, 0.25, 0.25])
    if name == "index":
        sequence.replan(frequency, 0.7 * frequency)
    else:
        sequence.replan(frequency)
    seen = np.bincount(sequence.take(20_000), minlength=4) / 20_000
    np.testing.assert_allclose(seen, frequency, atol=0.02)
    with pytest.raises(InvalidModel, match="fewer than the 4 so far"):
        sequence.replan([0.5, 0.5])


def test_replanning_keeps_the_rhythm():
    """A page that was accessed just now is not accessed at once again because the plan was made anew."""
    frequency = zipf(50)
    for maker in (Windows, DueTimes):
        sequence = maker(frequency)
        sequence.take(1000)
        before = sequence.take(200).tolist()
        sequence.replan(frequency)
        order = before + sequence.take(200).tolist()
        for page in range(5):
            places = np.flatnonzero(np.array(order) == page)
            assert np.diff(places).max() < 2.2 / frequency[page] + 2
            assert np.diff(places).min() > 0.3 / frequency[page] - 1


def test_round_robin():
    sequence = RoundRobin(np.full(4, 0.25))
    assert sequence.take(6).tolist() == [0, 1, 2, 3, 0, 1]
    sequence.remove(2)
    assert sequence.take(5).tolist() == [3, 0, 1, 3, 0]
    with pytest.raises(InvalidModel, match="same frequency"):
        RoundRobin([0.7, 0.3])


def test_template():
    sequence = Template([0, -1, 1], pages=3)
    assert sequence.take(5).tolist() == [0, -1, 1, 0, -1]
    np.testing.assert_allclose(sequence.frequency, [1 / 3, 1 / 3, 0])
    sequence.remove(0)
    assert 0 not in sequence.take(10)
    with pytest.raises(InvalidModel, match="make a new template"):
        sequence.replan([1.0])
    with pytest.raises(InvalidModel, match="there are 2"):
        Template([0, 5], pages=2)
    with pytest.raises(InvalidModel, match="at least one"):
        Template([], pages=2)


@pytest.mark.parametrize(
    ("frequency", "message"),
    [
        ([0.0, 0.0], "nothing to access"),
        ([0.9, 0.3], "above 1"),
        ([-0.1, 1.1], r"frequency\[0\]"),
        ([], "nothing"),
    ],
)
def test_bad_frequencies(name, frequency, message):
    with pytest.raises(InvalidModel, match=message):
        MAKERS[name](np.array(frequency))
