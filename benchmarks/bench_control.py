"""The crawl queue: tables, large chains, the event simulator."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from benchmarks.measure import Measure, seconds
from recrawl.cli._output import print_table
from recrawl.control import Costs, Mode, Model, Policy, best_thresholds, measure
from recrawl.control.chain import Chain
from recrawl.control.solve import solve
from recrawl.laws import Bmap, PhaseType
from recrawl.papers._threshold_models import base_model, crawler_model, with_obsolescence_variance
from recrawl.simulate.control import simulate_queue

TITLE = "When to switch robots on and off"

POLICY = Policy((3, 1), (2,))
FIGURE4 = 3.0  # α₁ of the law: R = M = W = 2, genuinely phase-type


def _table(model: Model, name: str, limit: float) -> Measure:
    """The whole table against the paper's block recursion, which is timed on one policy."""
    ours, _ = seconds(lambda: best_thresholds(model), repeats=3)
    policies = best_thresholds(model).policies
    reference, _ = seconds(lambda: measure(model, Policy((4, 1), (2,)), method="recursion"), repeats=3)
    whole = reference * policies
    return Measure(
        f"{name}, {policies} policies",
        f"{ours:.3f} s",
        f"block recursion {whole:.1f} s",
        f"{whole / ours:.0f}x",
        f"< {limit:g} s",
        ours < limit,
    )


def _against_spsolve() -> Measure:
    from scipy.sparse.linalg import spsolve

    model = with_obsolescence_variance(FIGURE4, 10)
    chain, assignment = Chain(model), model.assignment(POLICY)
    ours, spread = seconds(lambda: solve(chain, assignment), repeats=7)
    matrix = chain.generator(assignment).T.tolil()
    matrix[0, :] = 1.0
    matrix = matrix.tocsc()
    right = [1.0] + [0.0] * (chain.states - 1)
    start = time.process_time()
    spsolve(matrix, right)
    theirs = time.process_time() - start
    return Measure(
        f"Figure 4 law, K = 10, {chain.states:,} states",
        f"{ours * 1e3:.1f} ± {spread * 1e3:.1f} ms",
        f"spsolve {theirs:.2f} s",
        f"{theirs / ours:.0f}x",
        ">= 10x",
        theirs / ours >= 10,
    )


def _one_large(capacity: int) -> tuple[int, float, float, float, int]:
    """States, seconds, residual, peak megabytes and sweeps, in a process of its own."""
    code = (
        "from benchmarks.bench_control import large_chain; "
        f"print(*large_chain(4)); print(*large_chain({capacity}))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    states, spent, residual, peak, sweeps = result.stdout.splitlines()[-1].split()
    return int(states), float(spent), float(residual), float(peak), int(sweeps)


def large_chain(capacity: int) -> tuple[int, float, float, float, int]:
    """Solve the Figure 4 law with a given capacity."""
    model = with_obsolescence_variance(FIGURE4, capacity)
    start = time.process_time()
    chain = Chain(model)
    found = solve(chain, model.assignment(Policy((3, 1), (2,))), "structured")
    spent = time.process_time() - start
    return chain.states, spent, found.residual, _peak_megabytes(), found.sweeps


def _peak_megabytes() -> float:
    """Most memory this process has held; getrusage would count what it was forked from."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return float(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _large() -> list[Measure]:
    rows, measures, before = [], [], None
    for capacity in (10, 12, 14, 15, 16, 18, 20):
        states, spent, residual, peak, sweeps = _one_large(capacity)
        growth = "-" if before is None else f"{spent / before:.1f}x"
        rows.append(
            [
                str(capacity),
                f"{states:,}",
                str(sweeps),
                f"{spent:.3f}",
                growth,
                f"{peak:.0f}",
                f"{residual:.1e}",
            ]
        )
        before = spent
        if capacity in (15, 20):
            limit = {15: 10.0, 20: 60.0}[capacity]
            measures.append(
                Measure(
                    f"Figure 4 law, K = {capacity}, {states:,} states",
                    f"{spent:.2f} s, {peak:.0f} MB",
                    f"residual {residual:.1e}",
                    "-",
                    f"< {limit:g} s, < 500 MB, < 1e-10",
                    spent < limit and peak < 500 and residual < 1e-10,
                )
            )
    print_table(
        ["K", "states", "sweeps", "seconds", "growth", "MB", "residual"],
        rows,
        title="How time grows with K (R = M = W = 2, first come first served)",
    )
    return measures


def _ciw(arrivals: int) -> float | None:
    """Arrivals per second of Ciw on M/M/1/10, if it is installed."""
    if find_spec("ciw") is None:
        return None
    ciw = import_module("ciw")
    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Exponential(0.9)],
        service_distributions=[ciw.dists.Exponential(1.0)],
        number_of_servers=[1],
        queue_capacities=[9],
    )
    ciw.seed(1)
    simulation = ciw.Simulation(network)
    start = time.process_time()
    simulation.simulate_until_max_customers(arrivals, method="Arrive")
    return arrivals / (time.process_time() - start)


def _plain_python(arrivals: int) -> float:
    """The same queue as a loop in plain Python."""
    import random

    rng = random.Random(1)
    start = time.process_time()
    now, arrival, end, pages, lost = 0.0, rng.expovariate(0.9), float("inf"), 0, 0
    left = arrivals
    while left:
        if arrival <= end:
            now = arrival
            left -= 1
            if pages < 10:
                pages += 1
                if pages == 1:
                    end = now + rng.expovariate(1.0)
            else:
                lost += 1
            arrival = now + rng.expovariate(0.9)
        else:
            now, pages = end, pages - 1
            end = now + rng.expovariate(1.0) if pages else float("inf")
    return arrivals / (time.process_time() - start)


def _simulator() -> list[Measure]:
    single = Model(10, PhaseType([1.0], [[-1.0]]), (Mode(1, Bmap.poisson(0.9)),), Costs(1, 1, 1, 1, 1))
    count = 4_000_000
    spent, _ = seconds(lambda: simulate_queue(single, Policy((1,)), arrivals=count), repeats=3)
    ours = 1.1 * count / spent  # a tenth more to warm up
    peer = _ciw(60_000)
    name, theirs = ("Ciw", peer) if peer is not None else ("plain Python", _plain_python(300_000))
    spent, _ = seconds(lambda: simulate_queue(base_model(), POLICY, arrivals=count), repeats=3)
    batches = 1.1 * count / spent
    return [
        Measure(
            "simulated arrivals, M/M/1/10",
            f"{ours / 1e6:.1f} M/s",
            f"{name} {theirs / 1e3:.0f} k/s",
            f"{ours / theirs:.0f}x",
            ">= 3 M/s",
            ours >= 3e6,
        ),
        Measure(
            "simulated arrivals, Table 1's model",
            f"{batches / 1e6:.1f} M/s",
            f"M/M/1/10 {ours / 1e6:.1f} M/s",
            f"{batches / ours:.2f}x",
            ">= 3 M/s",
            batches >= 3e6,
        ),
    ]


def run() -> list[Measure]:
    return [
        _table(base_model(), "Table 1", 2.0),
        _table(crawler_model(), "Table 5", 10.0),
        _against_spsolve(),
        *_large(),
        *_simulator(),
    ]
