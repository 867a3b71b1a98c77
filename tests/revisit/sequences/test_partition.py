import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl.errors import InvalidModel
from recrawl.revisit import (
    PHI,
    GoldenRatio,
    PowerOfTwo,
    fibonacci,
    golden_counts,
    golden_gap_counts,
    golden_template,
    power_of_two_frequencies,
)


def frequencies(seed, size):
    values = np.random.default_rng(seed).lognormal(0, 1.5, size)
    return values / values.sum()


def gaps(template, page):
    places = np.flatnonzero(template == page)
    return np.diff(np.append(places, places[0] + len(template)))


def test_worked_example_of_the_paper():
    stream = GoldenRatio(np.array([2, 3, 3, 5]) / 13)
    assert stream.k == 7
    printed = [4, 2, 4, 1, 3, 4, 2, 4, 1, 3, 4, 2, 3]
    assert (stream.take(26) + 1).tolist() == printed * 2


@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(5, 15))
def test_template_by_its_definition(seed, size, k):
    """Sort the points frac(j/φ), j = 1..F_k; the first counts[0] values of j belong to page 0, and so on."""
    counts = golden_counts(frequencies(seed, size), k)
    page_of = np.repeat(np.arange(size), counts)
    point = np.modf(np.arange(1, fibonacci(k) + 1) / PHI)[0]
    expected = page_of[np.argsort(point)]
    template = golden_template(counts, k)
    # For even k the point of j = F_k is the last instead of the first: the same cycle, turned by one.
    assert template.tolist() in (expected.tolist(), np.roll(expected, 1).tolist())
    assert (np.bincount(template, minlength=size) == counts).all()


@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(5, 16))
def test_gap_counts_are_those_of_the_template(seed, size, k):
    counts = golden_counts(frequencies(seed, size), k)
    template = golden_template(counts, k)
    page, gap, often = golden_gap_counts(counts, k)
    assert (often >= 0).all()
    for i in np.flatnonzero(counts):
        expected = {}
        for g, n in zip(gap[page == i], often[page == i], strict=True):
            if n:
                expected[int(g)] = expected.get(int(g), 0) + int(n)
        values, numbers = np.unique(gaps(template, i), return_counts=True)
        assert dict(zip(values.tolist(), numbers.tolist(), strict=True)) == expected


@given(st.integers(0, 10**6), st.integers(1, 50), st.integers(4, 78))
def test_counts_are_rounded_frequencies_and_fill_the_cycle(seed, size, k):
    frequency = frequencies(seed, size)
    counts = golden_counts(frequency, k)
    assert counts.sum() == fibonacci(k)
    if k < 60:
        exact = frequency * fibonacci(k)
        slack = 1e-6 + 1e-14 * fibonacci(k)  # what a double leaves of the frequencies' sum
        assert (counts >= np.floor(exact - slack)).all()
        assert (counts <= np.ceil(exact + slack)).all()


@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(5, 14))
def test_the_stream_repeats_the_template(seed, size, k):
    counts = golden_counts(frequencies(seed, size), k)
    stream = GoldenRatio(counts / counts.sum())
    assert stream.k <= k
    template = golden_template(golden_counts(counts / counts.sum(), stream.k), stream.k)
    assert stream.take(2 * template.size).tolist() == np.tile(template, 2).tolist()


def test_a_long_stream_has_three_gaps():
    frequency = frequencies(4, 30)
    order = GoldenRatio(frequency).take(200_000)
    numbers = {fibonacci(k) for k in range(40)}
    for page in range(30):
        distances = set(np.diff(np.flatnonzero(order == page)).tolist())
        assert len(distances) <= 3
        assert distances <= numbers


@given(st.integers(0, 10**6), st.integers(1, 60))
def test_powers_of_two(seed, size):
    frequency = frequencies(seed, size)
    rounded = power_of_two_frequencies(frequency)
    assert rounded.sum() == 1.0
    assert (np.frexp(rounded)[0] == 0.5).all()
    order = PowerOfTwo(frequency).take(int(2 / rounded.min())) if rounded.min() > 1e-5 else None
    for page in range(size if order is not None else 0):
        assert (gaps(order, page) == round(1 / rounded[page])).all()


def test_extreme_frequencies():
    frequency = np.append(np.full(10, 1e-18), 1.0)
    frequency /= frequency.sum()
    # A page that takes everything cannot be rounded to 1 beside others: it gets every second slot.
    rounded = power_of_two_frequencies(frequency)
    assert rounded.sum() == 1.0
    assert rounded[10] == 0.5
    assert (gaps(PowerOfTwo(frequency).take(1000), 10) == 2).all()
    assert set(GoldenRatio(frequency).take(1000).tolist()) == {10}


def test_bad_cycles():
    with pytest.raises(InvalidModel, match="k must be from 3 to 78, not 79"):
        golden_counts([1.0], 79)
    with pytest.raises(InvalidModel, match="counts must sum to F_7 = 13, not 12"):
        golden_template([5, 7], 7)
    with pytest.raises(InvalidModel, match="k must not be negative"):
        fibonacci(-1)
