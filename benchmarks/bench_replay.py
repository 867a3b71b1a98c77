"""Speed of the replay: microseconds per access, against the same rules as plain Python.

With RECRAWL_DATA set to a directory of histories, also the freshness of each site beside that of uniform.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from benchmarks.measure import Measure
from recrawl.simulate import replay, synthetic_history, unit_budget

TITLE = "Replay of histories"

_PLAIN = """
from recrawl.simulate import replay, synthetic_history
site = synthetic_history("shocks", pages={pages}, groups=40, duration={duration})
print(replay(site, site.change_rate, "{policy}").seconds)
"""


def _plain_seconds(policy: str, pages: int, duration: float) -> float:
    """The same code without compilation, in a process of its own."""
    code = _PLAIN.format(policy=policy, pages=pages, duration=duration)
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    return float(found.stdout)


def run() -> list[Measure]:
    measures = []
    pages, duration = 2000, 250.0
    site = synthetic_history("shocks", pages=pages, duration=duration)
    small = synthetic_history("shocks", pages=400, duration=3.0)
    for policy, wanted in (("uniform", 1.0), ("nutch", 1.0), ("optimal", 10.0)):
        replay(small, small.change_rate, policy, second=1 / 86400)  # compiles
        found = replay(site, site.change_rate, policy, second=1 / 86400)
        each = found.seconds / found.accesses
        plain = _plain_seconds(policy, 400, 3.0) / (3.0 * small.change_rate)
        measures.append(
            Measure(
                f"{policy}, a million accesses",
                f"{1e6 * each:.2f} s",
                f"plain Python {1e6 * plain:.0f} s",
                f"{plain / each:.0f}",
                f"<= {wanted:g} s",
                1e6 * each <= wanted,
            )
        )
    if "RECRAWL_DATA" in os.environ:
        measures += _real_sites(Path(os.environ["RECRAWL_DATA"]))
    return measures


def _real_sites(place: Path) -> list[Measure]:
    from recrawl.tables.history import find_sites, read_site

    measures = []
    for name, files in find_sites(place).items():
        site = read_site(name, *files)
        budget = unit_budget(site)
        found, base = replay(site, budget, "optimal"), replay(site, budget, "uniform")
        measures.append(
            Measure(
                f"{name} at 1x: freshness",
                f"{found.freshness:.4f}",
                f"uniform {base.freshness:.4f}",
                f"{found.freshness / base.freshness:.4f}",
                "> 1",
                found.freshness > base.freshness,
            )
        )
        each = found.seconds / found.accesses
        measures.append(
            Measure(
                f"{name} at 1x: a million accesses",
                f"{1e6 * each:.2f} s",
                f"uniform {1e6 * base.seconds / base.accesses:.2f} s",
                f"{found.seconds / base.seconds:.0f}",
                "<= 10 s",
                1e6 * each <= 10.0,
            )
        )
    return measures
