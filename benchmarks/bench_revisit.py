"""Speed of planning, sequencing and simulating, and the quality of every order."""

from __future__ import annotations

import time
import tracemalloc
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.measure import Measure, seconds
from recrawl.cli._output import print_table
from recrawl.laws import Deterministic, Exponential, Hyperexponential, Law
from recrawl.revisit import (
    GoldenRatio,
    Pages,
    Template,
    Windows,
    kkt_residual,
    make_plan,
    optimal_frequencies,
)
from recrawl.simulate import simulate_schedule

if TYPE_CHECKING:
    from numpy.typing import NDArray

TITLE = "Revisit: speed as a ratio to a baseline in the same run"

MILLION = 1_000_000


def lognormal_pages(size: int, seed: int = 0) -> Pages:
    rng = np.random.default_rng(seed)
    return Pages(rng.lognormal(0, 2, size), rng.lognormal(0, 1, size))


def run() -> list[Measure]:
    return [*planning(), *sequencing(), *simulating(), *quality()]


def planning() -> list[Measure]:
    pages, access = lognormal_pages(MILLION), Exponential(1 / MILLION)
    values = np.random.default_rng(1).random(MILLION)
    solve, spread = seconds(lambda: optimal_frequencies(pages, access))
    sort, _ = seconds(lambda: np.argsort(values))
    residual = kkt_residual(pages, access, optimal_frequencies(pages, access))
    measures = [
        Measure(
            f"general weights, 1,000,000 pages (residual {residual:.0e})",
            f"{1e3 * solve:.0f} ± {1e3 * spread:.0f} ms",
            f"np.argsort of a million: {1e3 * sort:.0f} ms",
            f"{solve / sort:.2f}",
            "at most 3",
            solve / sort <= 3,
        )
    ]
    measures.append(_ten_million(solve))
    return measures


def _ten_million(solve: float) -> Measure:
    size = 10 * MILLION
    pages, access = lognormal_pages(size), Exponential(1 / size)
    tracemalloc.start()
    optimal_frequencies(pages, access)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # The pages themselves are two arrays, made before the count began.
    arrays = peak / (8 * size) + 2
    start = time.process_time()
    optimal_frequencies(pages, access)
    long = time.process_time() - start
    return Measure(
        "general weights, 10,000,000 pages",
        f"{long:.2f} s, {arrays:.1f} arrays of memory",
        f"ten times a million: {10 * solve:.2f} s",
        f"{long / (10 * solve):.2f}",
        "at most 10 arrays; linear",
        arrays <= 10 and long < 15 * solve,
    )


def sequencing() -> list[Measure]:
    frequency = lognormal_pages(MILLION).change_rate
    frequency = frequency / frequency.sum()
    count = 2 * MILLION
    plain = _plain_heap_seconds(frequency[:100_000], 100_000) / 100_000
    measures = []
    for maker, most in ((Windows, 1e-6), (GoldenRatio, 5e-7)):
        sequence = maker(frequency)
        one, spread = seconds(lambda sequence=sequence: sequence.take(count), repeats=3)  # type: ignore[misc]
        measures.append(
            Measure(
                f"{maker.__name__} in bulk, 1,000,000 pages",
                f"{1e9 * one / count:.0f} ± {1e9 * spread / count:.0f} ns per access",
                f"heapq loop in Python, 100,000 pages: {1e9 * plain:.0f} ns",
                f"{one / count / plain:.3f}",
                f"at most {1e9 * most:.0f} ns",
                one / count <= most,
            )
        )
    return measures


def _plain_heap_seconds(frequency: NDArray[np.float64], count: int) -> float:
    """A due-time order in plain Python, as most crawlers have it."""
    import heapq

    period = (frequency.sum() / frequency).tolist()
    heap = [(part, page) for page, part in enumerate(period)]
    heapq.heapify(heap)
    start = time.process_time()
    for _ in range(count):
        due, page = heap[0]
        heapq.heapreplace(heap, (due + period[page], page))
    return time.process_time() - start


def simulating() -> list[Measure]:
    pages, access = Pages(np.random.default_rng(0).lognormal(0, 1, 1000) / 1000), Exponential(1.0)
    order = make_plan(pages, access, policy="golden").sequence().take(100_000)
    accesses = 5 * MILLION

    def compiled() -> None:
        simulate_schedule(
            pages, access, lambda _rng: Template(order, 1000), accesses=accesses, replications=1
        )

    fast, spread = seconds(compiled, repeats=3)
    slow = _plain_simulation_seconds(pages, access, order) / order.size
    tuned = _tuned_simulation_seconds(pages, order) / order.size
    rate = accesses / fast
    windows = make_plan(pages, access, measure_accesses=200_000)
    whole, _ = seconds(
        lambda: simulate_schedule(pages, access, windows.sequence, accesses=accesses, replications=1),
        repeats=3,
    )
    return [
        Measure(
            "simulator, any order given",
            f"{rate / 1e6:.1f} ± {rate * spread / fast / 1e6:.1f} million accesses per second",
            f"plain Python loop, any law and number of robots: {1 / slow / 1e6:.3f} million",
            f"{rate * slow:.0f}",
            "at least 5 million and 50 times",
            rate >= 5e6 and rate * slow >= 50,
        ),
        Measure(
            "simulator, any order given",
            f"{rate / 1e6:.1f} million accesses per second",
            f"Python loop tuned for one robot, exponential accesses: {1 / tuned / 1e6:.3f} million",
            f"{rate * tuned:.0f}",
            "-",
        ),
        Measure(
            "simulator with the windows order of 1,000 pages",
            f"{accesses / whole / 1e6:.1f} million accesses per second",
            "simulator, any order given",
            f"{fast / whole:.2f}",
            "-",
        ),
    ]


def _plain_simulation_seconds(pages: Pages, access: Law, order: NDArray[np.int64], robots: int = 1) -> float:
    """The same model in plain Python: robots in a heap, any law, one draw after the other."""
    import heapq

    rng = np.random.default_rng(0)
    rate = pages.change_rate.tolist()
    change = [rng.exponential(1.0 / r) for r in rate]
    stale = [0.0] * len(rate)
    start = time.process_time()
    busy = [(float(access.sample(rng, 1)[0]), int(page)) for page in order[:robots]]
    heapq.heapify(busy)
    for page in order[robots:].tolist():
        now, done = busy[0]
        if change[done] < now:
            stale[done] += now - change[done]
        change[done] = now + rng.exponential(1.0 / rate[done])
        heapq.heapreplace(busy, (now + float(access.sample(rng, 1)[0]), page))
    return time.process_time() - start


def _tuned_simulation_seconds(pages: Pages, order: NDArray[np.int64]) -> float:
    """As fast as plain Python gets, for one robot and exponential accesses of mean 1 only."""
    import random

    draw = random.Random(0).expovariate
    rate = pages.change_rate.tolist()
    change = [draw(r) for r in rate]
    stale = [0.0] * len(rate)
    now = 0.0
    start = time.process_time()
    for page in order.tolist():
        now += draw(1.0)
        if change[page] < now:
            stale[page] += now - change[page]
        change[page] = now + draw(rate[page])
    return time.process_time() - start


def family(size: int) -> list[tuple[Pages, Law]]:
    """A fixed set of instances: zipf and gamma rates, three laws, three loads, weights proportional and free."""
    rng = np.random.default_rng(size)
    instances: list[tuple[Pages, Law]] = []
    laws: tuple[Law, ...] = (Deterministic(1.0), Exponential(1.0), Hyperexponential.balanced(1.0))
    for shape in ("zipf", "gamma"):
        for load in (0.3, 1.0, 3.0):
            for law in laws:
                for proportional in (True, False):
                    if shape == "zipf":
                        rates = 1.0 / np.arange(1, size + 1) ** rng.uniform(0.5, 1.5)
                    else:
                        rates = rng.gamma(0.5, 1.0, size) + 1e-9
                    rates *= load / rates.sum()
                    weights = rates.copy() if proportional else rng.lognormal(0, 1, size)
                    instances.append((Pages(rates, weights), law))
    return instances


WANTED = {10: 1.012, 100: 1.002, 1000: 1.001, 10_000: 1.001}
COMPARED = (
    "windows",
    "index",
    "bracket",
    "due-time",
    "power-of-two",
    "golden",
    "randomised",
    "uniform",
    "proportional",
)


def quality() -> list[Measure]:
    table: dict[str, dict[int, float]] = {policy: {} for policy in COMPARED}
    for size in WANTED:
        instances = family(size)
        for policy in COMPARED:
            if policy == "index" and size > 1000:
                continue
            ratios = [_ratio(pages, law, policy) for pages, law in instances]
            table[policy][size] = float(np.mean(ratios))
    rows = [
        [policy, *[f"{table[policy][size]:.4f}" if size in table[policy] else "-" for size in WANTED]]
        for policy in COMPARED
    ]
    print_table(
        ["policy", *[f"{size:,} pages" for size in WANTED]],
        rows,
        title="Mean cost / lower bound over 36 instances (zipf and gamma rates, three laws, three loads, two weights)",
    )
    return [
        Measure(
            f"windows, cost / lower bound, {size:,} pages",
            f"{table['windows'][size]:.4f}",
            f"due-time heap: {table['due-time'][size]:.4f}",
            f"{table['windows'][size] / table['due-time'][size]:.4f}",
            f"at most {most}",
            table["windows"][size] <= most,
        )
        for size, most in WANTED.items()
    ]


def _ratio(pages: Pages, law: Law, policy: str) -> float:
    accesses = min(max(100_000, 300 * len(pages)), 2_000_000) if policy != "index" else 100 * len(pages)
    plan = make_plan(pages, law, policy=policy, measure_accesses=accesses)
    return plan.cost / plan.lower_bound
