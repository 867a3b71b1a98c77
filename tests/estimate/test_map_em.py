"""The E-step against matrix exponentials; EM climbs, recovers known processes and keeps its families."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import expm

from recrawl.errors import InvalidModel
from recrawl.estimate import Gaps, fit_arrivals, map_em
from recrawl.estimate.map_em import _e_step, em, log_likelihood_of_gaps
from recrawl.laws.arrivals import Bmap

ORDER3 = np.array(
    [
        [[-3.0, 0.5, 0.1], [0.2, -1.0, 0.05], [0.0, 0.02, -0.3]],
        [[2.0, 0.3, 0.1], [0.1, 0.6, 0.05], [0.02, 0.06, 0.2]],
    ]
)


def by_matrix_exponentials(times, runs, marks, D, start):
    """Log-likelihood, occupation, jumps and starts from the definitions, one gap at a time."""
    order = len(start)
    loglik, stay = 0.0, np.zeros((order, order))
    jumps, starts = np.zeros_like(D[1:]), np.zeros(order)
    for run in runs:
        before = [start]
        for k in run:
            before.append(before[-1] @ expm(D[0] * times[k]) @ D[1 + marks[k]])
        whole = before[-1].sum()
        loglik += np.log(whole)
        behind = np.ones(order)
        for place in range(len(run) - 1, -1, -1):
            k = run[place]
            v = D[1 + marks[k]] @ behind
            block = np.block([[D[0], np.outer(v, before[place])], [np.zeros_like(D[0]), D[0]]])
            stay += expm(block * times[k])[:order, order:] / whole
            jumps[marks[k]] += (
                np.outer(before[place] @ expm(D[0] * times[k]), behind) * D[1 + marks[k]] / whole
            )
            behind = expm(D[0] * times[k]) @ v
        starts += start * behind / whole
    return loglik, stay, jumps, starts


@given(
    st.lists(st.floats(1e-4, 40.0), min_size=1, max_size=8),
    st.integers(0, 2**31),
)
def test_e_step_is_that_of_the_definition(times, seed):
    rng = np.random.default_rng(seed)
    D = np.concatenate((ORDER3[:1], [0.7 * ORDER3[1], 0.3 * ORDER3[1]]))
    fresh = rng.random(len(times)) < 0.3
    fresh[0] = True
    marks = rng.integers(0, 2, len(times))
    start = rng.dirichlet(np.ones(3))
    gaps = Gaps.of(times, fresh=fresh)
    runs = np.split(np.arange(len(times)), np.flatnonzero(fresh)[1:])
    expected = by_matrix_exponentials(np.array(times), runs, marks, D, start)
    found = _e_step(gaps, marks, D, start)
    assert found[0] == pytest.approx(expected[0], rel=1e-9, abs=1e-9)
    assert found[1] == pytest.approx(expected[1], rel=1e-6)
    assert found[2] == pytest.approx(expected[2], rel=1e-9)
    assert found[3] == pytest.approx(expected[3], rel=1e-9)
    # The phases share the whole time, every run starts once, every gap ends once.
    assert np.trace(found[1]) == pytest.approx(sum(times), rel=1e-7)
    assert found[3].sum() == pytest.approx(len(runs))
    assert found[2].sum() == pytest.approx(len(times))


def test_blocks_do_not_matter(monkeypatch):
    rng = np.random.default_rng(1)
    gaps = Gaps.of(rng.exponential(1.0, 1000), fresh=rng.random(1000) < 0.01)
    start = np.array([0.2, 0.3, 0.5])
    whole = _e_step(gaps, None, ORDER3, start)
    monkeypatch.setattr(map_em, "_BLOCK", 64)
    cut = _e_step(gaps, None, ORDER3, start)
    for one, other in zip(whole, cut, strict=True):
        assert one == pytest.approx(other, rel=1e-10)


def test_gaps_of_days_among_milliseconds():
    D = Bmap([[[-1000.0, 0.1], [1e-6, -1e-6 - 1e-7]], [[999.9, 0.0], [0.0, 1e-7]]]).D
    times = [1e-3, 3e5, 2e-4, 5e4]
    gaps = Gaps.of(times)
    start = np.array([0.5, 0.5])
    expected = by_matrix_exponentials(np.array(times), [np.arange(4)], np.zeros(4, int), D, start)
    assert log_likelihood_of_gaps(gaps, D, start) == pytest.approx(expected[0], rel=1e-6)


def test_em_never_falls():
    gaps = Gaps.of(np.random.default_rng(2).gamma(0.5, 2.0, 400))
    steps = np.diff(em(gaps, ORDER3, iterations=60, tolerance=-1.0).history)
    assert (steps > -1e-8).all()


def test_leaps_reach_what_small_steps_reach():
    process = Bmap(
        [[[-2, 1.9, 0], [0, -2, 1.9], [0.05, 0, -2]], [[0.05, 0.05, 0], [0, 0.1, 0], [1.9, 0.05, 0]]]
    )
    gaps = Gaps.of(process.sample(np.random.default_rng(3), 3000)[0])
    slow = em(gaps, ORDER3, iterations=3000, tolerance=1e-8, leaps=False)
    quick = em(gaps, ORDER3, iterations=3000, tolerance=1e-8)
    assert quick.converged
    assert slow.converged
    assert quick.loglik > slow.loglik - 0.5
    assert quick.iterations < slow.iterations


def test_poisson_is_the_inverse_mean():
    times = np.random.default_rng(4).exponential(2.0, 500)
    result = em(Gaps.of(times), np.array([[[-1.0]], [[1.0]]]))
    assert result.D[1, 0, 0] == pytest.approx(1.0 / times.mean(), rel=1e-9)


def test_mmpp_stays_one():
    process = Bmap([[[-5.1, 0.1], [0.05, -1.05]], [[5, 0], [0, 1]]])
    gaps = Gaps.of(process.sample(np.random.default_rng(5), 4000)[0])
    fit = fit_arrivals(gaps, family="mmpp", orders=[2])
    off = fit.arrivals.D[1] - np.diag(np.diag(fit.arrivals.D[1]))
    assert not off.any()
    assert sorted(np.diag(fit.arrivals.D[1])) == pytest.approx([1.0, 5.0], rel=0.15)


PROCESSES = {
    "two phases": Bmap([[[-4, 0.2], [0.05, -0.5]], [[3.7, 0.1], [0.05, 0.4]]]),
    "alternating": Bmap([[[-10, 2], [0, -0.5]], [[0.1, 7.9], [0.49, 0.01]]]),
    "three phases": Bmap(
        [
            [[-10, 0.5, 0.3], [0.3, -2, 0.2], [0.05, 0.05, -0.4]],
            [[8.5, 0.4, 0.3], [0.2, 1.1, 0.2], [0.05, 0.05, 0.2]],
        ]
    ),
}


def chance_of_rate(process, gaps):
    """Relative deviation of the rate of so many gaps: √(scv (1 + 2 Σ r_k) / n)."""
    scv = process.interval_variance / process.interval_mean**2
    together = sum(process.interval_correlation(lag) for lag in range(1, 400))
    return np.sqrt(scv * (1.0 + 2.0 * together) / gaps)


@pytest.mark.parametrize("seed", [6, 61, 62])
@pytest.mark.parametrize("name", PROCESSES)
def test_a_known_process_is_found_again(name, seed):
    """65,000 arrivals: rate within 2 %, lag-1 correlation within 0.02, log-likelihood near the true one's.

    A process with long memory gives logs whose own rate is further off; none can be fitted nearer than that.
    """
    process = PROCESSES[name]
    gaps = Gaps.of(process.sample(np.random.default_rng(seed), 65_000)[0])
    after = process.phases @ process.D[1] / process.batch_rate
    fit = fit_arrivals(gaps, orders=[process.order])
    assert fit.converged
    assert fit.arrivals.rate == pytest.approx(1.0 / gaps.times.mean(), rel=0.01)
    assert fit.arrivals.rate == pytest.approx(
        process.rate, rel=max(0.02, 3.0 * chance_of_rate(process, 65_000))
    )
    assert fit.arrivals.interval_correlation(1) == pytest.approx(process.interval_correlation(1), abs=0.02)
    assert fit.loglik > log_likelihood_of_gaps(gaps, process.D, after) - 3.0
    assert fit.fitted.lag_correlations == pytest.approx(fit.empirical.lag_correlations, abs=0.05)


def test_order_by_criterion():
    gaps = Gaps.of(PROCESSES["two phases"].sample(np.random.default_rng(8), 5000)[0])
    fit = fit_arrivals(gaps, orders=[1, 2, 3])
    assert fit.order == 2
    assert [order for order, _score in fit.tried] == [1, 2, 3]


@pytest.mark.parametrize("seed", [9, 91, 92])
def test_batches_by_marks_are_found_again(seed):
    """Sizes that depend on the phase: marks see it, independent sizes cannot."""
    process = Bmap(
        [
            [[-4.0, 0.1], [0.05, -0.5]],
            [[3.5, 0.1], [0.0, 0.05]],
            [[0.3, 0.0], [0.0, 0.0]],
            [[0.0, 0.0], [0.0, 0.4]],
        ]
    )
    times, sizes = process.sample(np.random.default_rng(seed), 65_000)
    gaps = Gaps.of(times, sizes)
    marks = fit_arrivals(gaps, orders=[2], batches="marks")
    plain = fit_arrivals(gaps, orders=[2])
    after = process.phases @ process.D[1:].sum(axis=0) / process.batch_rate
    true = log_likelihood_of_gaps(gaps, process.D, after, sizes.astype(np.int64) - 1)
    assert marks.loglik > true - 3.0
    assert marks.bic < plain.bic - 1000.0
    assert marks.arrivals.rate == pytest.approx(process.rate, rel=0.02)
    assert plain.arrivals.rate == pytest.approx(process.rate, rel=0.02)
    assert marks.arrivals.batch_sizes == pytest.approx(np.bincount(sizes) / sizes.size, abs=0.003)
    assert marks.arrivals.batch_sizes == pytest.approx(process.batch_sizes, abs=0.02)
    assert plain.fitted.batch_sizes == pytest.approx(plain.empirical.batch_sizes)


@given(
    st.lists(
        st.sampled_from([1e-9, 1e-6, 0.1, 1.0, 1.0, 1.0 + 1e-12, 50.0, 1e4, 1e9]), min_size=1, max_size=30
    ),
    st.sampled_from([1, 2, 3]),
)
def test_any_log_gives_a_process_or_an_error(times, order):
    """Constant gaps, gaps of years, one gap: a valid process of the log's rate, never a crash."""
    fit = fit_arrivals(Gaps.of(times), orders=[order], iterations=30)
    assert np.isfinite(fit.loglik)
    assert fit.arrivals.generator.sum(axis=1) == pytest.approx(0.0, abs=1e-6 * np.abs(fit.arrivals.D).max())
    assert all(
        "in the log" in text or "not converged" in text or "too little" in text for text in fit.warnings
    )


def test_warnings_are_honest():
    gaps = Gaps.of(np.random.default_rng(10).exponential(1.0, 60))
    fit = fit_arrivals(gaps, orders=[3], iterations=3)
    assert any("not converged" in text for text in fit.warnings)
    assert any("too little data" in text for text in fit.warnings)


def test_bad_input():
    with pytest.raises(InvalidModel, match=r"gap 1 .*nan"):
        Gaps.of([1.0, float("nan")])
    with pytest.raises(InvalidModel, match="at least one gap"):
        Gaps.of([])
    with pytest.raises(InvalidModel, match="size of batch 0"):
        Gaps.of([1.0], [0])
    with pytest.raises(InvalidModel, match="family"):
        fit_arrivals(Gaps.of([1.0, 2.0]), family="arma")
