"""Stationary vectors: independent solvers agree, and none returns garbage."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from recrawl.control import Policy
from recrawl.control import solve as solve_module
from recrawl.control.chain import Chain
from recrawl.control.solve import solve
from recrawl.control.solve_structured import solve_structured, structured_residual, triangular_basis
from recrawl.errors import InvalidModel, NotConverged
from recrawl.laws import Erlang, PhaseType
from recrawl.papers._threshold_models import base_model, with_obsolescence_variance

SEEDS = st.integers(0, 2**31)


@settings(max_examples=100)
@given(SEEDS)
def test_independent_solvers_agree(random_model, random_robots, seed):
    """Elimination without subtraction, sparse LU, and the paper's block recursion."""
    model = random_model(seed, capacity=None)
    chain = Chain(model)
    assume(chain.states <= 700)
    assignment = model.assignment(random_robots(model, seed))
    ours = solve(chain, assignment, "elimination")
    assert ours.share.sum() == pytest.approx(1.0, abs=1e-13)
    assert ours.share.min() >= 0.0  # refused batches may leave states that are never reached
    for method in ("sparse", "recursion"):
        theirs = solve(chain, assignment, method)
        np.testing.assert_allclose(theirs.share, ours.share, atol=1e-10)
        assert theirs.residual < 1e-10
    automatic = solve(chain, assignment)
    np.testing.assert_allclose(automatic.share, ours.share, atol=1e-10)


@settings(max_examples=100)
@given(SEEDS, st.integers(2, 3), st.integers(3, 6))
def test_sweeps_agree_with_a_direct_solution(random_model, random_robots, seed, phases, capacity):
    model = random_model(
        seed, capacity=capacity if phases == 2 else 4, waiting_phases=phases, order="fifo", batch=2
    )
    chain = Chain(model)
    assume(chain.ordered and chain.states <= 2000)
    assignment = model.assignment(random_robots(model, seed))
    share, residual, _ = solve_structured(chain, assignment)
    assert residual <= 1e-11
    np.testing.assert_allclose(share, solve(chain, assignment, "sparse").share, atol=1e-10)


@given(SEEDS)
def test_qbd_form_of_section_6(random_model, random_robots, seed):
    model = random_model(seed, batch=1, admission="partial", waiting_phases=seed % 3)
    chain = Chain(model)
    assume(chain.states <= 400)
    assignment = model.assignment(random_robots(model, seed))
    np.testing.assert_allclose(
        solve(chain, assignment, "qbd").share, solve(chain, assignment, "dense").share, atol=1e-11
    )


def test_qbd_form_needs_single_pages():
    chain = Chain(base_model())
    with pytest.raises(InvalidModel, match="one by one"):
        solve(chain, chain.model.assignment(Policy((1,))), "qbd")


@pytest.mark.parametrize(
    "law",
    [
        PhaseType([0.9, 0.1], [[-3.0, 0.0], [0.0, -0.02]]),
        PhaseType([1.0, 0.0], [[-2.0, 2.0], [0.0, -2.0]]),
        PhaseType([0.2, 0.8], [[-1.0, 0.0], [0.9, -2.0]]),
        PhaseType([0.9, 0.1], [[-3.0, 2.0], [0.5, -0.6]]),
        PhaseType([1.0, 0.0, 0.0], [[-2.0, 2.0, 0.0], [0.0, -2.0, 2.0], [1.5, 0.0, -2.0]]),
    ],
    ids=["hyperexponential", "erlang", "backwards", "real Schur", "complex Schur"],
)
def test_triangular_coordinates(law):
    base = base_model(6 if law.order == 2 else 4)
    model = type(base)(base.capacity, base.service, base.modes, base.costs, law)
    chain = Chain(model)
    basis = triangular_basis(chain)
    np.testing.assert_allclose(basis.Q @ basis.T @ basis.Q.conj().T, law.S, atol=1e-13)
    np.testing.assert_allclose(np.tril(basis.T, -1), 0.0)
    assignment = model.assignment(Policy((3, 1), (2,)))
    share, residual, sweeps = solve_structured(chain, assignment)
    assert residual < 1e-11
    assert sweeps < 200
    np.testing.assert_allclose(share, solve(chain, assignment, "sparse").share, atol=1e-11)


def test_the_residual_without_a_generator_is_the_residual(random_model):
    model = with_obsolescence_variance(3.0, 4)
    chain = Chain(model)
    assignment = model.assignment(Policy((3, 1), (2,)))
    rng = np.random.default_rng(1)
    guess = rng.dirichlet(np.ones(chain.states))
    Q = chain.generator(assignment)
    expected = np.abs(guess @ Q).sum() / (guess @ -Q.diagonal())
    assert structured_residual(chain, assignment, guess) == pytest.approx(expected, rel=1e-12)


def test_small_probabilities_keep_their_digits():
    """M/M/1/K at load 1e-3: p_K = ρ^K (1 − ρ)/(1 − ρ^{K+1}), far below the rounding of 1."""
    from recrawl.control import Costs, Mode, Model
    from recrawl.laws import Bmap

    model = Model(30, PhaseType([1.0], [[-1.0]]), (Mode(1, Bmap.poisson(1e-3)),), Costs(1, 1, 1, 1, 1))
    chain = Chain(model)
    share = solve(chain, model.assignment(Policy((1,)))).share
    np.testing.assert_allclose(share, 1e-3 ** np.arange(31) * (1 - 1e-3), rtol=1e-12)


def test_method_by_size():
    def chosen(model):
        return solve(Chain(model), model.assignment(Policy((3, 1), (2,)))).method

    assert chosen(base_model(100)) == "elimination"
    assert chosen(with_obsolescence_variance(3.0, 4)) == "elimination"
    assert chosen(with_obsolescence_variance(3.0, 9)) == "structured"


def test_unknown_methods_and_unfit_ones():
    model = base_model()
    chain = Chain(model)
    assignment = model.assignment(Policy((1,)))
    with pytest.raises(InvalidModel, match="method must be one of"):
        solve(chain, assignment, "magic")
    with pytest.raises(InvalidModel, match="ordered waiting rooms"):
        solve(chain, assignment, "structured")


def test_garbage_is_an_error(monkeypatch):
    model = base_model()
    chain = Chain(model)
    assignment = model.assignment(Policy((1,)))
    wrong = np.full(chain.states, 1.0 / chain.states)
    monkeypatch.setattr(solve_module.solve_direct, "solve_dense", lambda *_: wrong)
    with pytest.raises(NotConverged, match="residual"):
        solve(chain, assignment, "dense")


def test_too_few_sweeps_are_an_error():
    model = with_obsolescence_variance(3.0, 6)
    with pytest.raises(NotConverged, match="3 sweeps"):
        solve_structured(Chain(model), model.assignment(Policy((3, 1), (2,))), max_sweeps=3)


def test_time_may_have_any_unit():
    """Erlang patience in years instead of seconds changes nothing but the unit."""
    from recrawl.control import Costs, Mode, Model, phase_type_of
    from recrawl.laws import Bmap

    def queue(unit):
        return Model(
            7,
            phase_type_of(Erlang(2.0 * unit, 2)),
            (Mode(1, Bmap.poisson(0.6 / unit)),),
            Costs(1, 1, 1, 1, 1),
            phase_type_of(Erlang(3.0 * unit, 3)),
        )

    ours, theirs = (
        solve(Chain(queue(unit)), queue(unit).assignment(Policy((1,))), "structured").share
        for unit in (1.0, 3e7)
    )
    np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-13)


@pytest.mark.slow
def test_four_million_states():
    """K = 20: the first levels are those of K = 14, because longer queues hardly ever happen."""

    def levels(capacity):
        model = with_obsolescence_variance(3.0, capacity)
        chain = Chain(model)
        found = solve(chain, model.assignment(Policy((3, 1), (1,))))
        assert found.method == "structured"
        assert found.residual < 1e-10
        assert found.share.min() >= -1e-18
        return np.array([part.sum() for part in chain.split(found.share)])

    long, short = levels(20), levels(14)
    assert long.sum() == pytest.approx(1.0, abs=1e-12)
    assert long[14:].sum() < 1e-7
    np.testing.assert_allclose(long[:10], short[:10], atol=1e-7)
