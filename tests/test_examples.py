"""The programs in examples/ run."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


def test_revisit(tmp_path, monkeypatch, capsys):
    """On fewer pages than it shows by itself."""
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    program = runpy.run_path(str(EXAMPLES / "revisit.py"))
    run = program["main"]
    run.__globals__.update(PAGES=60, ACCESSES=4_000, REPLICATIONS=2)
    run()
    shown = capsys.readouterr().out
    assert "60 pages" in shown
    for policy in ("windows", "golden", "uniform", "proportional"):
        assert policy in shown
    assert (tmp_path / program["PLOT"]).stat().st_size > 10_000
