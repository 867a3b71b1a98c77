"""EM of mixtures of Erlang laws against an optimiser; grouped and censored times."""

import numpy as np
import pytest
from scipy.optimize import minimize

from recrawl.estimate import Sample
from recrawl.estimate.hyper_erlang import hyper_erlang_em
from recrawl.estimate.phase_fits import phase_type_em
from recrawl.laws import Erlang, Gamma, PhaseType


def test_hyper_erlang_is_a_maximum():
    """EM against a general optimiser of the same likelihood."""
    times = np.random.default_rng(1).lognormal(0.0, 0.8, 300)
    fit = hyper_erlang_em(Sample.of(times), (2, 1), iterations=20_000, tolerance=1e-13)

    def loss(parameters):
        p = 1.0 / (1.0 + np.exp(-parameters[0]))
        one = Gamma(np.exp(parameters[1]), 0.5).density(times)
        two = Gamma(np.exp(parameters[2]), 1.0).density(times)
        return -np.log(p * one + (1 - p) * two).sum()

    best = min(
        minimize(
            loss, start, method="Nelder-Mead", options={"maxiter": 4000, "xatol": 1e-8, "fatol": 1e-10}
        ).fun
        for start in ([0.0, -0.5, 1.0], [0.0, 0.0, 0.0], [1.0, 0.0, 1.5])
    )
    assert fit.loglik == pytest.approx(-best, abs=1e-3)


def test_grouped_and_censored_times():
    """Cut into groups, or cut off at the median, a sample tells the same law."""
    times = Erlang(2.0, 2).sample(np.random.default_rng(2), 20_000)
    exact = hyper_erlang_em(Sample.of(times), (2,))
    edges = np.append(np.linspace(0.0, 10.0, 51), np.inf)
    grouped = hyper_erlang_em(Sample.grouped(edges, np.histogram(times, edges)[0]), (2,))
    cut = float(np.median(times))
    censored = Sample.of(np.minimum(times, cut), times > cut)
    assert grouped.rates == pytest.approx(exact.rates, rel=0.01)
    assert hyper_erlang_em(censored, (2,)).rates == pytest.approx(exact.rates, rel=0.03)
    # Ignoring the cut would be far off.
    assert hyper_erlang_em(Sample.of(np.minimum(times, cut)), (2,)).rates[0] > 1.4 * exact.rates[0]
    law, _loglik, _steps, good = phase_type_em(censored, erlang_start())
    assert good
    assert law.mean == pytest.approx(2.0, rel=0.03)


def erlang_start():
    return PhaseType([1.0, 0.0], [[-0.5, 0.5], [0.0, -0.5]])
