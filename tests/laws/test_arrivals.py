"""Arrival processes against closed forms, each other, and samples of themselves."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import expm

from recrawl.errors import InvalidModel
from recrawl.laws import Bmap, marked, repaired, superposed, thinned

# The four modes of Section 7, with the signs and the entry that the scan lost.
PAPER = [
    Bmap([[[-10, 2], [0, -0.5]], [[0.05, 3], [0.29, 0.005]], [[0.05, 4.9], [0.2, 0.005]]]),
    Bmap(
        [
            [[-5.65, 1.1], [0, -0.85]],
            [[0.01, 2.5], [0.25, 0]],
            [[0.02, 0.5], [0.25, 0]],
            [[0.02, 1.5], [0.1, 0.25]],
        ]
    ),
    Bmap([[[-2.48, 0.48], [0.48, -3.48]], [[1.5, 0], [0, 2.25]], [[0.5, 0], [0, 0.75]]]),
    Bmap(
        [
            [[-1.45, 0.45], [0.6, -2.6]],
            [[0.25, 0], [0, 0.5]],
            np.zeros((2, 2)),
            np.zeros((2, 2)),
            [[0.75, 0], [0, 1.5]],
        ]
    ),
]


@st.composite
def bmaps(draw, max_order=3, max_batch=3):
    order = draw(st.integers(1, max_order))
    batch = draw(st.integers(1, max_batch))
    seed = draw(st.integers(0, 2**20))
    rng = np.random.default_rng(seed)
    D = rng.exponential(size=(batch + 1, order, order)) * (rng.random((batch + 1, order, order)) < 0.7)
    D[1] += 0.05  # irreducible, and some pages come
    np.fill_diagonal(D[0], 0.0)
    D[0] -= np.diag(D.sum(axis=(0, 2)))
    return Bmap(D)


def test_intensities_and_correlations_of_the_paper():
    assert [round(b.rate, 3) for b in PAPER] == pytest.approx([1.28, 2.41, 3.125, 4.64], abs=5e-3)
    assert [b.batch_rate for b in PAPER] == pytest.approx([0.853, 1.208, 2.5, 1.43], abs=2e-3)
    assert [b.interval_correlation() for b in PAPER] == pytest.approx([-0.218, -0.111, 0.02, 0.035], abs=1e-3)


@given(bmaps())
def test_rates_by_renewal_of_the_phases(arrivals):
    """Long-run numbers from the matrix exponential, which shares nothing with the elimination."""
    long = expm(arrivals.generator * 500.0)
    np.testing.assert_allclose(long, np.broadcast_to(arrivals.phases, long.shape), atol=1e-9)
    assert arrivals.batch_sizes.sum() == pytest.approx(1.0)
    mean_batch = arrivals.batch_sizes @ np.arange(arrivals.largest_batch + 1)
    assert arrivals.rate == pytest.approx(arrivals.batch_rate * mean_batch)


@given(bmaps())
def test_variance_agrees_with_the_moments(arrivals):
    assert arrivals.interval_moment(1) == pytest.approx(arrivals.interval_mean)
    second = arrivals.interval_moment(2)
    assert arrivals.interval_variance == pytest.approx(second - arrivals.interval_mean**2, rel=1e-8)


def test_statistics_agree_with_a_sample():
    arrivals = PAPER[0]
    intervals, sizes = arrivals.sample(np.random.default_rng(3), 400_000)
    assert intervals.mean() == pytest.approx(arrivals.interval_mean, rel=0.01)
    assert intervals.var() == pytest.approx(arrivals.interval_variance, rel=0.02)
    for lag in (1, 2, 3):
        sampled = np.corrcoef(intervals[:-lag], intervals[lag:])[0, 1]
        assert arrivals.interval_correlation(lag) == pytest.approx(sampled, abs=0.01)
    np.testing.assert_allclose(np.bincount(sizes) / sizes.size, arrivals.batch_sizes, atol=0.005)


@given(bmaps(), st.floats(0.01, 50))
def test_scaling_is_a_change_of_the_unit_of_time(arrivals, factor):
    scaled = arrivals.scaled(factor)
    assert scaled.rate == pytest.approx(factor * arrivals.rate)
    assert scaled.interval_variance == pytest.approx(arrivals.interval_variance / factor**2, rel=1e-7)
    assert scaled.interval_correlation() == pytest.approx(arrivals.interval_correlation(), abs=1e-8)


@given(st.lists(bmaps(max_order=2), min_size=1, max_size=3))
def test_superposition_adds_rates_and_keeps_single_robots(robots):
    parts = superposed(robots)
    rates = np.cumsum([robot.rate for robot in robots])
    np.testing.assert_allclose([part.rate for part in parts], rates, rtol=1e-10)
    # The first robot alone looks the same although the phases of the idle ones are carried along.
    assert parts[0].interval_variance == pytest.approx(robots[0].interval_variance, rel=1e-7)
    assert parts[0].interval_correlation() == pytest.approx(robots[0].interval_correlation(), abs=1e-8)
    assert all(np.allclose(part.generator, parts[0].generator) for part in parts)


@given(bmaps(), st.floats(0.05, 0.95))
def test_thinning_keeps_the_phases(arrivals, q):
    part, whole = thinned(arrivals, [q, 1.0])
    assert whole == Bmap(arrivals.D)
    assert part.rate == pytest.approx(q * arrivals.rate)
    np.testing.assert_allclose(part.generator, arrivals.generator, atol=1e-12)


def test_a_marked_process_of_independent_robots_is_their_superposition():
    first, second = PAPER[0], PAPER[2]
    eye = np.eye(2)
    D0 = np.kron(first.D[0], eye) + np.kron(eye, second.D[0])
    parts = marked(D0, [[np.kron(d, eye) for d in first.D[1:]], [np.kron(eye, d) for d in second.D[1:]]])
    for ours, theirs in zip(parts, superposed([first, second]), strict=True):
        np.testing.assert_allclose(ours.D, theirs.D, atol=1e-12)


def test_repair_is_explicit_and_says_how_much():
    printed = [[[-0.0038, 0], [0, -0.0066]], [[0.0037, 6.58e-5], [1.3e-4, 0.0064]]]
    with pytest.raises(InvalidModel, match=r"row 0 sums to -3.42e-05, row 1 sums to -7e-05"):
        Bmap(printed)
    arrivals, off = repaired(printed)
    assert np.abs(arrivals.generator.sum(axis=1)).max() < 1e-15
    assert off == pytest.approx([-3.42e-5, -7e-5])


@pytest.mark.parametrize(
    ("D", "message"),
    [
        ([[[-1.0]]], "at least D"),
        ([[[-1.0, 0.0]], [[1.0]]], r"D\[0\] must be a square matrix"),
        ([[[-1.0]], [[1.0, 0.0], [0.0, 0.0]]], r"D\[1\] has 2 phases"),
        ([[[-1.0, -1.0], [0.0, -1.0]], [[1.0, 1.0], [1.0, 0.0]]], r"D\[0\]\[0\]\[1\] is a rate"),
        ([[[-1.0]], [[-1.0]]], r"D\[1\]\[0\]\[0\] is a rate"),
        ([[[0.0]], [[0.0]]], r"D\[0\]\[0\]\[0\] must be negative"),
        ([[[-1.0, 1.0], [1.0, -1.0]], np.zeros((2, 2))], "brings no pages"),
        ([[[-1.0, 0.0], [0.0, -1.0]], [[1.0, 0.0], [0.0, 1.0]]], "reducible"),
        ([[[float("nan")]], [[1.0]]], "finite"),
        ("nonsense", "list of matrices"),
    ],
)
def test_bad_matrices(D, message):
    with pytest.raises(InvalidModel, match=message):
        Bmap(D)


def test_bad_parts():
    with pytest.raises(InvalidModel, match=r"accept\[1\]"):
        thinned(PAPER[0], [0.5, 0.4])
    with pytest.raises(InvalidModel, match="at least one"):
        thinned(PAPER[0], [])
    with pytest.raises(InvalidModel, match="at least one robot"):
        superposed([])
    with pytest.raises(InvalidModel, match="at least one robot"):
        marked([[-1.0]], [])
    with pytest.raises(InvalidModel, match="lag"):
        PAPER[0].interval_correlation(0)


def test_equality_and_spelling():
    assert PAPER[0] == Bmap(PAPER[0].D)
    assert PAPER[0] != PAPER[1]
    assert hash(PAPER[0]) == hash(Bmap(PAPER[0].D))
    assert "batches up to 2" in str(PAPER[0])
    assert eval(repr(PAPER[2])) == PAPER[2]
