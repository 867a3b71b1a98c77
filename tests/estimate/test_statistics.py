"""Statistics of logs against plain numpy, those of processes against simulation."""

import numpy as np
import pytest

from recrawl.estimate import Gaps
from recrawl.estimate.statistics import of_arrivals, of_gaps
from recrawl.laws.arrivals import Bmap

PROCESS = Bmap([[[-4, 0.2], [0.05, -0.5]], [[3.0, 0.1], [0.05, 0.2]], [[0.7, 0.0], [0.0, 0.2]]])


def test_log_against_numpy():
    rng = np.random.default_rng(1)
    times = rng.gamma(0.7, 1.0, 4997)
    found = of_gaps(Gaps.of(times, rng.integers(1, 4, 4997)))
    assert found.mean == pytest.approx(times.mean())
    assert found.scv == pytest.approx(times.var() / times.mean() ** 2)
    assert found.third_moment == pytest.approx((times**3).mean())
    centred = times - times.mean()
    for lag in (1, 3):
        expected = (centred[lag:] * centred[:-lag]).mean() / times.var()
        assert found.lag_correlations[lag - 1] == pytest.approx(expected)
    epochs = np.cumsum(times)
    width = found.windows[0]
    counts = np.bincount((epochs // width).astype(int))[: int(epochs[-1] // width)]
    assert found.dispersion[0] == pytest.approx(counts.var(ddof=1) / counts.mean())
    assert sum(found.batch_sizes) == pytest.approx(1.0)


def test_pairs_stay_inside_runs():
    # Between runs the gaps jump from 1 to 9: counted as pairs they would correlate.
    times = np.array([1.0, 1.1, 0.9, 9.0, 9.1, 8.9] * 50)
    fresh = np.arange(300) % 3 == 0
    inside = of_gaps(Gaps.of(times, fresh=fresh), lags=3)
    across = of_gaps(Gaps.of(times), lags=3)
    assert inside.lag_correlations[0] > 0.99
    assert across.lag_correlations[0] < 0.5
    assert np.isnan(inside.lag_correlations[2])


def test_process_against_simulation():
    times, sizes = PROCESS.sample(np.random.default_rng(2), 400_000)
    seen = of_gaps(Gaps.of(times, sizes))
    exact = of_arrivals(PROCESS, seen.windows, 0)
    assert seen.mean == pytest.approx(exact.mean, rel=0.01)
    assert seen.scv == pytest.approx(exact.scv, rel=0.02)
    assert seen.third_moment == pytest.approx(exact.third_moment, rel=0.05)
    assert seen.lag_correlations == pytest.approx(exact.lag_correlations, abs=0.01)
    assert seen.dispersion[:2] == pytest.approx(exact.dispersion[:2], rel=0.05)
    assert seen.batch_mean == pytest.approx(exact.batch_mean, rel=0.01)
    assert seen.rate == pytest.approx(PROCESS.rate, rel=0.01)


def test_poisson_counts_have_dispersion_one():
    assert of_arrivals(Bmap.poisson(3.0), (1.0, 100.0), 0).dispersion == pytest.approx((1.0, 1.0))
