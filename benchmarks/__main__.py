"""Run all benchmarks, or those whose names are given: `python -m benchmarks [NAME ...]`.

Each module ``bench_NAME`` has a ``TITLE`` and ``run() -> list[Measure]``; it may print tables of its own.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

from recrawl.cli._output import print_table


def main(wanted: list[str]) -> int:
    known = sorted(path.stem.removeprefix("bench_") for path in Path(__file__).parent.glob("bench_*.py"))
    unknown = [name for name in wanted if name not in known]
    if unknown:
        print(f"unknown benchmark {unknown[0]!r}; known are {', '.join(known)}", file=sys.stderr)
        return 2
    for name in wanted or known:
        module = import_module(f"benchmarks.bench_{name}")
        measures = module.run()
        print_table(
            ["measured", "value", "baseline", "ratio", "wanted", "reached"],
            [measure.row() for measure in measures],
            title=module.TITLE,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
