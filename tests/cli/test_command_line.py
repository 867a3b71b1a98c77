import os
import subprocess
import sys

import pytest

from recrawl import __version__


def test_version(recrawl):
    assert recrawl("--version").out.strip() == f"recrawl {__version__}"


@pytest.mark.parametrize("command", [["plan"], ["simulate", "schedule"], ["papers", "schedule"]])
def test_help_shows_an_example(recrawl, command):
    result = recrawl(*command, "--help")
    assert result.code == 0
    assert "Example: recrawl " in result.out


def test_papers_json(recrawl):
    rows = recrawl("papers", "schedule", "--json").json
    assert {"paper", "item", "printed", "computed", "verdict", "note"} == set(rows[0])
    assert any("1.109" in row["computed"] for row in rows)


def test_papers_table(recrawl):
    out = recrawl("papers", "schedule").out
    assert "false claim" in out
    assert "4 2 4 1 3 4 2 4 1 3 4 2 3" in out


def test_unknown_command(recrawl):
    result = recrawl("crawl")
    assert result.code == 2
    assert "No such command" in result.err


def test_module_and_script_agree():
    run = [sys.executable, "-m", "recrawl", "--version"]
    assert (
        subprocess.run(run, capture_output=True, text=True, check=True).stdout.strip()
        == f"recrawl {__version__}"
    )


def test_a_reader_that_stops_early(tmp_path):
    path = tmp_path / "pages.csv"
    path.write_text("page,change_rate\na,1\nb,2\n")
    command = f"{sys.executable} -m recrawl plan {path} --budget 3 --accesses 100000 | head -n 2"
    result = subprocess.run(
        command, shell=True, capture_output=True, text=True, env={**os.environ}, check=False
    )
    assert len(result.stdout.splitlines()) == 2
    assert result.stderr == ""


def test_interrupt(monkeypatch, recrawl, tmp_path):
    def interrupted(_path):
        raise KeyboardInterrupt

    monkeypatch.setattr("recrawl.tables.read_pages", interrupted)
    assert recrawl("plan", tmp_path, "--budget", "1").code == 130
