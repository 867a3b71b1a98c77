"""Ciw, an independent simulator, on what it can play: one mode, phase-type times, batches, both orders."""

import math

import numpy as np
import pytest

from recrawl.control import Costs, Mode, Model, Policy, measure
from recrawl.laws import Bmap, PhaseType

ciw = pytest.importorskip("ciw", reason="the oracle Ciw is not installed")

SERVICE = PhaseType([0.4, 0.6], [[-3.0, 1.0], [2.0, -3.0]])
PATIENCE = PhaseType([0.9, 0.1], [[-3.0, 2.0], [0.5, -0.6]])


def phases(law):
    """Ciw's spelling of a phase-type law: an absorbing state at the end."""
    matrix = [[*row, end] for row, end in zip(law.S.tolist(), law.exits.tolist(), strict=True)]
    return ciw.dists.PhaseType([*law.alpha.tolist(), 0.0], [*matrix, [0.0] * (law.order + 1)])


def played(model, batch_sizes, batch_rate, customers=120_000):
    options = {
        "arrival_distributions": [ciw.dists.Exponential(batch_rate)],
        "batching_distributions": [ciw.dists.Pmf(range(1, len(batch_sizes) + 1), batch_sizes)],
        "service_distributions": [phases(model.service)],
        "number_of_servers": [1],
        "queue_capacities": [model.capacity - 1],
    }
    if model.obsolescence is not None:
        options["reneging_time_distributions"] = [phases(model.obsolescence)]
    if model.order == "random":
        options["service_disciplines"] = [ciw.disciplines.SIRO]
    ciw.seed(11)
    simulation = ciw.Simulation(ciw.create_network(**options))
    simulation.simulate_until_max_customers(customers, method="Arrive")
    records = simulation.get_all_records()
    kinds = {
        kind: [r for r in records if r.record_type == kind] for kind in ("service", "renege", "rejection")
    }
    total = sum(map(len, kinds.values()))
    stays = np.array([r.exit_date - r.arrival_date for r in kinds["service"]])
    return {
        "loss": len(kinds["rejection"]) / total,
        "obsolete": len(kinds["renege"]) / total,
        "response_time": stays.mean(),
        "spread": stays.std() / math.sqrt(len(stays)),
    }


@pytest.mark.slow
@pytest.mark.parametrize("order", ["fifo", "random"])
@pytest.mark.parametrize("patience", [None, PATIENCE], ids=["patient", "phase-type patience"])
def test_ciw_agrees(order, patience):
    sizes = [0.5, 0.3, 0.2]
    arrivals = Bmap([[[-1.1]], *([[1.1 * p]] for p in sizes)])
    model = Model(6, SERVICE, (Mode(1, arrivals),), Costs(1, 1, 1, 1, 1), patience, order=order)
    exact = measure(model, Policy((1,)))
    found = played(model, sizes, 1.1)
    assert found["loss"] == pytest.approx(exact.loss, abs=0.006)
    assert found["obsolete"] == pytest.approx(exact.obsolete, abs=0.006)
    # Successive stays are correlated, so their spread is an optimistic measure.
    assert found["response_time"] == pytest.approx(exact.response_time, abs=8 * found["spread"])
