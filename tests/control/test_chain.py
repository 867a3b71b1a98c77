"""The Markov chain: is it the one of the words, and is every lumping exact?"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl.control import Costs, Model, Policy, modes_of
from recrawl.control import chain as chain_module
from recrawl.control.chain import Chain
from recrawl.control.rooms import CountedRoom, OrderedRoom, minimal
from recrawl.control.solve_direct import solve_dense
from recrawl.errors import InvalidModel
from recrawl.laws import Bmap, PhaseType
from recrawl.papers._threshold_models import base_model, with_obsolescence_variance

SEEDS = st.integers(0, 2**31)
ROOT = 2**0.5


def level_probabilities(chain, share):
    return np.array([part.sum() for part in chain.split(share)])


@given(SEEDS)
def test_generator_is_a_generator(random_model, random_robots, seed):
    model = random_model(seed)
    chain = Chain(model)
    Q = chain.generator(model.assignment(random_robots(model, seed))).toarray()
    assert Q.shape == (chain.states, chain.states)
    np.testing.assert_allclose(Q.sum(axis=1), 0.0, atol=1e-11 * np.abs(Q).max())
    off = Q - np.diag(np.diag(Q))
    assert off.min() >= 0.0
    assert len(list(chain.describe())) == chain.states


@pytest.mark.parametrize("capacity", [1, 2, 3, 5, 10])
def test_number_of_states(capacity):
    """W(1 + M(R^K − 1)/(R − 1)): 4094 for K = 10 with two phases each, where the paper has 2046."""
    chain = Chain(with_obsolescence_variance(3.0, capacity))
    assert chain.states == 2 * (1 + 2 * (2**capacity - 1))
    assert Chain(base_model(capacity)).states == 2 + 4 * capacity


def test_exponential_in_disguise_is_found():
    assert minimal(PhaseType([0.3, 0.7], [[-0.6, 0.4], [0.1, -0.3]])).order == 1
    # The other disguise: the start is an eigenvector, so the phases keep their proportions.
    hidden = PhaseType([0.5, 0.5], [[-1.0, 0.2], [0.2, -1.0]])
    assert minimal(hidden).order == 1
    skew = PhaseType([2 - ROOT, ROOT - 1], [[-2.0, 0.5], [1.0, -2.0]])
    assert minimal(skew).order == 1
    unused = PhaseType([1.0, 0.0, 0.0], [[-2.0, 1.0, 0.0], [0.0, -3.0, 0.0], [0.0, 0.0, -5.0]])
    assert minimal(unused).order == 2
    genuine = PhaseType([0.9, 0.1], [[-3.0, 0.0], [0.0, -0.2]])
    assert minimal(genuine) == genuine


@pytest.mark.parametrize("order", ["fifo", "random"])
@pytest.mark.parametrize(
    "law",
    [
        PhaseType([0.3, 0.7], [[-0.6, 0.4], [0.1, -0.3]]),
        PhaseType([2 - ROOT, ROOT - 1], [[-2.0, 0.5], [1.0, -2.0]]),
    ],
    ids=["equal exits", "eigenvector"],
)
def test_lumping_of_a_disguised_exponential_is_exact(monkeypatch, order, law):
    base = base_model(4)
    model = Model(4, base.service, base.modes, base.costs, law, order=order)
    policy = model.assignment(Policy((3, 1), (2,)))
    lumped = Chain(model)
    assert lumped.waiting_phases == 1
    monkeypatch.setattr(chain_module, "minimal", lambda given: given)
    whole = Chain(model)
    assert whole.waiting_phases == 2
    np.testing.assert_allclose(
        level_probabilities(lumped, solve_dense(lumped, policy)),
        level_probabilities(whole, solve_dense(whole, policy)),
        atol=1e-13,
    )


def test_counting_phases_is_wrong_for_first_come_first_served():
    """With genuinely phase-type obsolescence the order of service changes the queue."""
    policy = Policy((3, 1), (2,))
    model = with_obsolescence_variance(3.0)
    fifo = Chain(model)
    random = Chain(Model(5, model.service, model.modes, model.costs, model.obsolescence, order="random"))
    assert fifo.ordered
    assert not random.ordered
    ours = level_probabilities(fifo, solve_dense(fifo, model.assignment(policy)))
    theirs = level_probabilities(random, solve_dense(random, model.assignment(policy)))
    assert np.abs(ours - theirs).max() > 1e-4


@given(SEEDS, st.integers(1, 3), st.integers(1, 3))
def test_rooms_agree_where_the_order_cannot_matter(seed, waiting, pages):
    """Counting the ordered states gives the counted matrices for arrivals, moves and obsolescence."""
    rng = np.random.default_rng(seed)
    exits = rng.random(2)
    S = np.array([[0.0, rng.random()], [rng.random(), 0.0]])
    S -= np.diag(S.sum(axis=1) + exits)
    alpha = rng.dirichlet(np.ones(2))
    ordered, counted = OrderedRoom(alpha, S, exits), CountedRoom(alpha, S, exits)

    def counting(n):
        matrix = np.zeros((2**n, n + 1))
        for row in range(2**n):
            matrix[row, bin(row).count("1")] = 1.0
        return matrix

    for ours, theirs, rows, columns in [
        (ordered.grow(waiting, pages), counted.grow(waiting, pages), waiting, waiting + pages),
        (ordered.expire(waiting), counted.expire(waiting), waiting, waiting - 1),
        (ordered.move(waiting), counted.move(waiting), waiting, waiting),
    ]:
        np.testing.assert_allclose(
            ours.toarray() @ counting(columns), counting(rows) @ theirs.toarray(), atol=1e-12
        )
    np.testing.assert_allclose(
        ordered.expire_rates(waiting), counting(waiting) @ counted.expire_rates(waiting), atol=1e-12
    )


def test_too_many_states_says_what_would_help():
    with pytest.raises(
        InvalidModel, match=r"4,398,046,511,102 states.*capacity 22 would fit.*random.*3,282.*162"
    ):
        Chain(with_obsolescence_variance(3.0, capacity=40))
    with pytest.raises(InvalidModel, match="smaller capacity"):
        Chain(base_model(100), max_states=50)


def test_admissions_differ_only_when_a_batch_does_not_fit():
    batches = Bmap([[[-1.0]], [[0.0]], [[0.0]], [[1.0]]])
    service, costs = PhaseType([1.0], [[-1.0]]), Costs(1, 1, 1, 1, 1)

    def accepted(admission):
        chain = Chain(Model(4, service, modes_of([batches]), costs, admission=admission))
        return [chain.accepted(level, 3) for level in range(5)]

    assert accepted("partial") == [3, 3, 2, 1, 0]
    assert accepted("reject") == [3, 3, 0, 0, 0]
    assert accepted("admit") == [3, 3, 3, 3, 0]
