import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl.errors import InvalidModel
from recrawl.laws import Exponential
from recrawl.revisit import Bracket, Pages, Randomised, WhittleIndex, optimal_frequencies


def test_bracket_of_two_pages_is_as_even_as_can_be():
    for share in (0.1, 0.37, 0.5, 0.613):
        order = Bracket([share, 1 - share]).take(2000)
        distances = np.diff(np.flatnonzero(order == 0))
        assert set(distances.tolist()) <= {int(1 / share), int(1 / share) + 1}
        # A regular sequence: every window of n slots has ⌊nf⌋ or ⌈nf⌉ accesses.
        counts = np.convolve(order == 0, np.ones(50), "valid")
        assert counts.max() - counts.min() <= 1


def test_index_by_its_definition():
    """The index is the price at which accessing now or one slot later costs the same; the largest is served."""
    rng = np.random.default_rng(2)
    pages, access = Pages(rng.lognormal(0, 1, 6), rng.lognormal(0, 1, 6)), Exponential(0.1)
    found = optimal_frequencies(pages, access)
    exponent = pages.exponents(access)
    sequence = WhittleIndex(found.frequency, exponent)
    age = sequence._age[:-1].copy()
    h = np.exp(-exponent)

    def stale(d):
        return pages.weight * (d * access.mean - (1 - h**d) / pages.change_rate)

    for page in sequence.take(500):
        age += 1
        # (A(d) + λ)/d = (A(d+1) + λ)/(d+1)
        index = age * stale(age + 1) - (age + 1) * stale(age)
        index[found.frequency == 0] = -np.inf
        assert index[page] == pytest.approx(index.max(), rel=1e-9)
        age[page] = 0


def test_index_needs_an_exponent_for_each_page():
    with pytest.raises(InvalidModel, match="exponent has 1 entries for 2 pages"):
        WhittleIndex([0.5, 0.5], [1.0])
    sequence = WhittleIndex([0.5, 0.5], [1.0, 1.0])
    with pytest.raises(InvalidModel, match="exponent has 2 entries for 3 pages"):
        sequence.replan([0.5, 0.25, 0.25])


@given(st.integers(0, 1000))
def test_randomised_accesses_are_independent_draws(seed):
    frequency = np.array([0.5, 0.3, 0.2])
    order = Randomised(frequency, seed).take(40_000)
    seen = np.bincount(order, minlength=3)
    assert (np.abs(seen - 40_000 * frequency) < 5 * np.sqrt(40_000 * frequency)).all()
    repeats = np.mean(order[1:] == order[:-1])
    assert repeats == pytest.approx((frequency**2).sum(), abs=0.015)


def test_randomised_can_be_repeated():
    assert Randomised([0.5, 0.5], 3).take(20).tolist() == Randomised([0.5, 0.5], 3).take(20).tolist()
