"""The index queue: M/G/1/K at large capacities, the optimiser, and the simulator."""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.measure import Measure, seconds
from recrawl.fleet import Costs, mm1k, optimal_load, optimal_robots, queue_length, solve
from recrawl.laws import Deterministic, Exponential, Gamma, Law, Lognormal, TwoTask, Uniform, arrival_counts
from recrawl.simulate import simulate_fleet

TITLE = "How many robots? Index queues"

CAPACITY = 10_000
SMALL = 1_000


def embedded_chain(law: Law, load: float, capacity: int) -> np.ndarray:
    """The baseline: the chain at ends of service as a dense linear system, solved by LAPACK."""
    k = arrival_counts(law, load / law.mean, capacity).probabilities
    moves = np.zeros((capacity, capacity))
    for i in range(capacity):
        start = max(i - 1, 0)
        moves[i, start : capacity - 1] = k[: capacity - 1 - start]
        moves[i, capacity - 1] = 1 - moves[i, : capacity - 1].sum()
    system = moves.T - np.eye(capacity)
    system[-1] = 1.0
    left = np.linalg.solve(system, np.append(np.zeros(capacity - 1), 1.0))
    return np.asarray(np.append(left, left[0] + load - 1.0) / (left[0] + load))


def _solve_often(law: Law, times: int) -> None:
    """Several times in a row: one call is shorter than the processor clock's tick."""
    for _ in range(times):
        solve(law, 1.1, CAPACITY)


def large_capacities() -> list[Measure]:
    laws = [
        Deterministic(1.0),
        Gamma(1.0, 0.3),
        TwoTask(2.0, 10.0, 0.35),
        Uniform(0.0, 2.0),
        Lognormal(1.0, 1.0),
    ]
    measures = []
    for law in laws:
        ours, spread = (value / 20 for value in seconds(partial(_solve_often, law, 20)))
        measures.append(
            Measure(
                f"M/G/1/K, K = {CAPACITY:,}, {str(law).partition(':')[0]}",
                f"{1000 * ours:.1f} ± {1000 * spread:.1f} ms",
                "1 s",
                f"{1 / max(ours, 1e-6):.0f}x",
                "within 1 s",
                ours < 1.0,
            )
        )
    return measures


def against_the_chain() -> Measure:
    law = Lognormal(1.0, 1.0)
    ours, _ = seconds(lambda: [queue_length(law, 1.1, SMALL) for _ in range(20)])
    ours /= 20
    chain, _ = seconds(lambda: embedded_chain(law, 1.1, SMALL), repeats=3)
    error = float(np.abs(queue_length(law, 1.1, SMALL) - embedded_chain(law, 1.1, SMALL)).max())
    return Measure(
        f"M/G/1/K, K = {SMALL:,}, lognormal (differs by {error:.0e})",
        f"{1000 * ours:.1f} ms",
        f"dense chain {1000 * chain:.0f} ms",
        f"{chain / ours:.0f}x",
        "-",
    )


def accuracy() -> Measure:
    """Largest relative error of the recursion on exponential service, where the exact answer is known."""
    errors = []
    for load in (0.9, 1.0, 1.1):
        exact, ours = mm1k.queue_length(load, CAPACITY), queue_length(Gamma(1.0, 1.0), load, CAPACITY)
        seen = exact > 1e-280
        errors.append(float(np.abs(ours[seen] / exact[seen] - 1).max()))
    return Measure(
        f"relative error, K = {CAPACITY:,}",
        f"{max(errors):.0e}",
        "M/M/1/K",
        "-",
        "below 1e-11",
        max(errors) < 1e-11,
    )


def optimisers() -> list[Measure]:
    law = TwoTask(2.0, 10.0, 0.35)
    load = seconds(lambda: [optimal_load(law, 2.0, 15) for _ in range(20)])[0] / 20
    robots = seconds(lambda: [optimal_robots(law, 1e-4, Costs(2.0), 15) for _ in range(20)])[0] / 20
    best = optimal_robots(law, 1e-4, Costs(2.0), 15)
    every, _ = seconds(lambda: [solve(law, n * 1e-4 * law.mean, 15) for n in range(1, 501)], repeats=3)
    every *= 2 * best.robots / 500
    return [
        Measure(
            "optimal load, two-task, K = 15, proven within 0.1 %", f"{1000 * load:.1f} ms", "-", "-", "-"
        ),
        Measure(
            f"optimal number of robots ({best.robots}), proven",
            f"{1000 * robots:.1f} ms, {best.evaluations} queues",
            f"every number up to twice as many {1000 * every:.0f} ms",
            f"{every / robots:.0f}x",
            "-",
        ),
    ]


def simulator() -> Measure:
    pages = 3_000_000
    ours, _ = seconds(lambda: simulate_fleet(Exponential(1.0), 0.9, 10, arrivals=pages), repeats=3)
    rate = pages * 31 / 30 / ours  # the batch that warms up is played too
    return Measure(
        "simulator, M/M/1/10",
        f"{rate / 1e6:.0f} million pages/s",
        "3 million",
        f"{rate / 3e6:.1f}x",
        "3 million/s",
        rate > 3e6,
    )


def run() -> list[Measure]:
    return [*large_capacities(), against_the_chain(), accuracy(), *optimisers(), simulator()]
