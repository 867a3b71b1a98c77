"""From logs to models: EM against a plain NumPy loop, beliefs, maximum likelihood, memory of long logs.

With the environment variable RECRAWL_DATA (a directory of NAME.pages.csv and NAME.events.csv) the table of
estimators on real histories is printed too.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import brentq

from benchmarks.measure import Measure, seconds
from recrawl.estimate import Belief, Gaps, Observations, RateGrid, change_rates
from recrawl.estimate.map_em import _e_step, _tables, em

if TYPE_CHECKING:
    from numpy.typing import NDArray

TITLE = "Estimates: change rates and arrival processes"

_GAPS = 65_000
_ITERATIONS = 100
ORDER3 = np.array(
    [
        [[-3.0, 0.5, 0.1], [0.2, -1.0, 0.05], [0.01, 0.02, -0.31]],
        [[2.0, 0.3, 0.1], [0.1, 0.6, 0.05], [0.02, 0.06, 0.2]],
    ]
)


def run() -> list[Measure]:
    if "RECRAWL_DATA" in os.environ:
        _print_exams(Path(os.environ["RECRAWL_DATA"]))
    return [_em(), _beliefs(), _due(), _likelihood(), _memory()]


def _plain_e_step(times: NDArray[np.float64], D: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
    """The recursion of the compiled E-step, one NumPy call after the other."""
    tables = _tables(D[0], float(times.max()))
    A, unit, table = tables.A, tables.unit, tables.table
    vector = np.full(len(A), 1.0 / len(A))
    rows, loglik = [], -tables.shift * float(times.sum())
    identity = np.eye(len(A))
    for gap in times:
        whole = int(gap / unit)
        r = gap - whole * unit
        small = identity + A * r + A @ A * (r * r / 2) + A @ A @ A * (r**3 / 6)
        path = [(vector, small, -1, 0)]
        state = vector @ small
        level = 0
        while whole:
            digit = whole & 63
            if digit:
                path.append((state, table[level, digit], level, digit))
                state = state @ table[level, digit]
            whole >>= 6
            level += 1
        rows.append((path, state, r))
        vector = state @ D[1]
        total = vector.sum()
        loglik += math.log(total)
        vector = vector / total
    pieces, jumps = np.zeros_like(table), np.zeros_like(A)
    rests = np.zeros_like(A)
    behind = np.ones(len(A))
    for path, state, r in reversed(rows):
        v = D[1] @ behind
        scale = 1.0 / (state @ v)
        jumps += np.outer(state, behind) * scale
        for before, matrix, level, digit in reversed(path):
            piece = np.outer(v, before) * scale
            if level >= 0:
                pieces[level, digit] += piece
            else:
                rests += r * piece
            v = matrix @ v
        behind = v / v.sum()
    return loglik, jumps * D[1]


def _em() -> Measure:
    gaps = Gaps.of(np.random.default_rng(1).gamma(0.6, 2.0, _GAPS))
    took, spread = seconds(
        lambda: em(gaps, ORDER3, iterations=_ITERATIONS, tolerance=-math.inf, leaps=False), repeats=3
    )
    part = gaps.head(2000)
    plain, _spread = seconds(lambda: _plain_e_step(part.times, ORDER3), repeats=2)
    start = np.full(3, 1.0 / 3.0)
    agree = abs(_plain_e_step(part.times, ORDER3)[0] / _e_step(part, None, ORDER3, start)[0] - 1.0) < 1e-9
    baseline = plain * _ITERATIONS * _GAPS / 2000
    ratio = baseline / took
    return Measure(
        f"EM of a MAP of order 3, {_GAPS} gaps, {_ITERATIONS} iterations",
        f"{took:.2f} s ± {spread:.2f}",
        f"NumPy loop {baseline:.0f} s (from 2000 gaps, {'same' if agree else 'OTHER'} log-likelihood)",
        f"{ratio:.0f}x",
        "3 s, 50x",
        took < 3.0 and ratio > 50 and agree,
    )


def _beliefs() -> Measure:
    rng = np.random.default_rng(2)
    count, pages = 1_000_000, 100_000
    slots = rng.integers(0, pages, count)
    elapsed, changed = rng.exponential(1.0, count), rng.random(count) < 0.4
    belief = Belief(RateGrid.around(1.0))
    belief.add(pages)
    took, _spread = seconds(lambda: belief.update(slots, elapsed, changed), repeats=3)
    rates = belief.grid.rates
    rows = np.zeros((pages, rates.size), dtype=np.float32)

    def plain() -> None:
        for k in range(3000):
            x = rates * elapsed[k]
            rows[slots[k]] += np.log(-np.expm1(-x)) if changed[k] else -x
            rows[slots[k]] -= rows[slots[k]].max()

    slow, _spread = seconds(plain, repeats=3)
    speed = count / took
    size = belief.bytes_per_page
    return Measure(
        f"updates of beliefs in bulk, {size} bytes per page",
        f"{speed / 1e6:.1f} M/s",
        f"NumPy, one by one {3000 / slow / 1e3:.0f} k/s",
        f"{speed * slow / 3000:.0f}x",
        "0.5 M/s, 200 bytes",
        speed > 5e5 and size <= 200,
    )


def _due() -> Measure:
    rng = np.random.default_rng(3)
    pages = 50_000
    belief = Belief(RateGrid.around(1.0))
    slots = belief.add(pages)
    rates = np.repeat(rng.lognormal(0.0, 1.0, pages), 10)
    elapsed = rng.exponential(1.0, 10 * pages)
    changed = rng.random(10 * pages) < -np.expm1(-rates * elapsed)
    belief.update(np.repeat(slots, 10), elapsed, changed)
    took, _spread = seconds(lambda: belief.time_to_price(slots, 0.1), repeats=3)
    asked, _spread = seconds(lambda: belief.current_probability(slots, 1.0), repeats=3)
    return Measure(
        "time until the price is reached, 10 accesses per page",
        f"{pages / took / 1e3:.0f} k/s",
        f"probability current {pages / asked / 1e3:.0f} k/s",
        f"{asked / took:.2f}x",
        "-",
    )


def _likelihood() -> Measure:
    rng = np.random.default_rng(4)
    pages, accesses = 1_000_000, 20
    rates = rng.lognormal(0.0, 1.2, pages)
    intervals = rng.exponential(1.0, (pages, accesses))
    changed = rng.random((pages, accesses)) < -np.expm1(-rates[:, None] * intervals)
    page = np.repeat(np.arange(pages), accesses)
    seen = Observations.of(page, intervals.ravel(), changed.ravel())
    took, spread = seconds(lambda: change_rates(seen), repeats=1)

    def plain() -> None:
        for k in range(300):
            hit, miss = intervals[k][changed[k]], float(intervals[k][~changed[k]].sum())
            if hit.size and miss:
                brentq(lambda rate, hit=hit, miss=miss: (hit / np.expm1(rate * hit)).sum() - miss, 1e-6, 1e4)

    with np.errstate(over="ignore"):
        slow, _spread = seconds(plain, repeats=2)
    baseline = slow / 300 * pages
    return Measure(
        f"maximum likelihood of {pages} pages, {accesses} accesses each",
        f"{took:.2f} s ± {spread:.2f}",
        f"brentq page by page {baseline:.0f} s (from 300 pages)",
        f"{baseline / took:.0f}x",
        "10 s",
        took < 10.0,
    )


_MEASURED = """
import sys, threading, time
from pathlib import Path
from recrawl.estimate import fit_arrivals
from recrawl.tables.logs import read_deliveries
peak, going = 0, True
def watch():
    global peak
    while going:
        text = Path("/proc/self/status").read_text()
        peak = max(peak, int(text.split("RssAnon:")[1].split()[0]))
        time.sleep(0.01)
watcher = threading.Thread(target=watch); watcher.start()
done = read_deliveries(Path(sys.argv[1])).modes[0]
fit_arrivals(done.gaps, orders=[2], iterations=3)
going = False; watcher.join()
print(peak // 1024, len(done.gaps))
"""


def _memory() -> Measure:
    """Anonymous memory (what cannot be dropped to disk) while a log is read and fitted, for two lengths."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for lines in (2_000_000, 6_000_000):
            path = Path(folder) / "log.csv"
            with path.open("w", encoding="ascii") as file:
                file.write("time\n")
                now = 1e9
                for part in np.array_split(np.random.default_rng(5).exponential(1.0, lines), 20):
                    times = now + np.cumsum(part)
                    now = float(times[-1])
                    file.write("\n".join(f"{value:.3f}" for value in times) + "\n")
            answer = subprocess.run(
                [sys.executable, "-c", _MEASURED, str(path)], capture_output=True, text=True, check=True
            )
            found.append(int(answer.stdout.split()[0]))
    return Measure(
        "memory to read and fit a log of 6 M lines",
        f"{found[1]} MB",
        f"2 M lines {found[0]} MB",
        f"{found[1] / found[0]:.2f}x",
        "flat: 1.1x",
        found[1] < 1.1 * found[0],
    )


def _print_exams(place: Path) -> None:
    from recrawl.cli.fit_changes import _print_exams as show
    from recrawl.estimate.calibration import examine
    from recrawl.tables.histories import find_histories, read_history

    exams = {}
    for name, files in find_histories(place).items():
        known = read_history(*files)
        exams[name] = examine(known, 0.25 / known.mean_rate)
    show(exams)
