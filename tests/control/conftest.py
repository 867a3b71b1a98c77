"""Random crawl queues for the tests of this room."""

import numpy as np
import pytest

from recrawl.control import Costs, Model, modes_of
from recrawl.laws import Bmap, PhaseType


def random_bmap(rng, order, batch):
    D = rng.exponential(size=(batch + 1, order, order)) * (rng.random((batch + 1, order, order)) < 0.6)
    D[1] += 0.05
    np.fill_diagonal(D[0], 0.0)
    D[0] -= np.diag(D.sum(axis=(0, 2)))
    return Bmap(D)


def random_phase_type(rng, order, mean, acyclic=False):
    S = rng.exponential(size=(order, order)) * (rng.random((order, order)) < 0.7)
    if acyclic:
        S = np.triu(S)
    np.fill_diagonal(S, 0.0)
    exits = rng.exponential(size=order) + 0.05
    S -= np.diag(S.sum(axis=1) + exits)
    return PhaseType(rng.dirichlet(np.ones(order)), S).scaled(mean)


def make_model(seed, *, capacity=None, waiting_phases=None, order=None, admission=None, batch=None):
    """A queue drawn from a seed; what is given is kept."""
    rng = np.random.default_rng(seed)
    W, M = rng.integers(1, 4), rng.integers(1, 4)
    R = waiting_phases if waiting_phases is not None else rng.integers(0, 4)
    drawn_batch = int(rng.integers(1, 4))
    modes = [random_bmap(rng, W, batch or drawn_batch).scaled(0.4 + r) for r in range(rng.integers(1, 4))]
    drawn = (
        int(rng.integers(1, 6)),
        ("fifo", "random")[rng.integers(2)],
        ("partial", "reject", "admit")[rng.integers(3)],
    )
    patience = None
    if R:
        patience = random_phase_type(rng, R, 10 ** rng.uniform(-1, 1), acyclic=rng.random() < 0.3)
    return Model(
        capacity=capacity or drawn[0],
        service=random_phase_type(rng, M, 10 ** rng.uniform(-0.7, 0.3)),
        modes=modes_of(modes),
        costs=Costs(*rng.uniform(0, 10, size=5)),
        obsolescence=patience,
        order=order or drawn[1],
        admission=admission or drawn[2],
    )


def make_robots(model, seed):
    """Robots for every number of pages, at random."""
    rng = np.random.default_rng(seed)
    return tuple(int(n) for n in rng.choice(model.numbers, model.capacity + 1))


@pytest.fixture(scope="session")
def random_model():
    return make_model


@pytest.fixture(scope="session")
def random_robots():
    return make_robots
