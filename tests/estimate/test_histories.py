"""What a robot sees of known changes, change by change."""

import numpy as np
import pytest

from recrawl.errors import InvalidModel
from recrawl.estimate.histories import History


def test_observed_as_it_was():
    history = History.of(
        np.array([0, 0, 1]), np.array([2.5, 2.7, 9.0]), np.array([0.0, 0.0, 5.0]), np.array([10.0, 10.0, 6.0])
    )
    assert history.rates.tolist() == [0.2, 0.1, 0.0]
    seen, when = history.observed(1.0, np.random.default_rng(3), dated=True)
    page = seen.page_of
    for k in range(seen.accesses):
        inside = [t for t in (2.5, 2.7) if page[k] == 0 and when[k] - 1.0 < t <= when[k]]
        inside += [t for t in (9.0,) if page[k] == 1 and when[k] - 1.0 < t <= when[k]]
        assert (seen.kinds[k] > 0) == bool(inside)
        if inside:
            assert seen.ages[k] == pytest.approx(when[k] - max(inside))
    assert (seen.kinds > 0).sum() == 2


def test_twin_keeps_rates_and_lives():
    rng = np.random.default_rng(1)
    born, died = np.zeros(200), np.linspace(50.0, 150.0, 200)
    page = np.repeat(np.arange(200), 40)
    history = History.of(page, rng.random(page.size) * died[page], born, died)
    twin = history.poisson_twin(np.random.default_rng(4))
    assert twin.mean_rate == pytest.approx(history.mean_rate, rel=0.03)
    assert (twin.changes <= np.repeat(died, np.diff(twin.starts))).all()
    assert np.diff(twin.starts).var() == pytest.approx(40.0, rel=0.3)  # Poisson, not 40 each


def test_impossible_life():
    with pytest.raises(InvalidModel, match="page 0 disappears"):
        History.of(np.zeros(0, int), np.zeros(0), np.array([2.0]), np.array([1.0]))
