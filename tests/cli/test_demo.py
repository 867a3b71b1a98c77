"""The demonstration, as a person or a script meets it; short, on a small web."""

import asyncio
import io
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import suppress

import pytest
from rich.console import Console

from recrawl.cli._demo import screen_of
from recrawl.demo.figures import figures
from recrawl.demo.rehearsal import prepare
from recrawl.demo.show import Show, ShowOptions

SMALL = ["--pages", "40", "--budget", "60/s"]
WANTED = {"optimal", "uniform", "bound", "accesses", "pages", "loss", "starvation"}


def start(folder, *arguments, out=subprocess.PIPE):
    command = [sys.executable, "-m", "recrawl", "demo", *SMALL, *arguments]
    environment = {**os.environ, "TMPDIR": str(folder), "COLUMNS": "80"}
    return subprocess.Popen(command, stdout=out, stderr=subprocess.PIPE, env=environment, text=True)


def read_until(process, word):
    """Lines of stderr up to the one that begins with a word."""
    lines = []
    for line in process.stderr:
        lines.append(line)
        if line.startswith(word):
            return lines
    raise AssertionError("".join(lines))


async def test_the_show_measures_and_is_drawn(tmp_path):
    prepared = await asyncio.to_thread(prepare, tmp_path)
    assert 10.0 < prepared.access_rate < 5000.0
    show = Show(ShowOptions(pages=40, budget=60.0, seconds=14.0, seed=2))
    shown = []

    def look():
        text = io.StringIO()
        Console(file=text, width=80).print(screen_of(show))
        shown.append(text.getvalue())

    loop = asyncio.get_running_loop()
    await show.run(
        tmp_path, prepared, asyncio.Event(), lambda: [loop.call_later(after, look) for after in (0.5, 2.0)]
    )
    look()
    found = figures(show)
    assert set(found) >= WANTED
    assert found["pages"] == 40
    assert found["change_rate"] == pytest.approx(30.0)
    assert found["measured_seconds"] == pytest.approx(0.6 * 14.0, abs=0.5)
    for name in ("optimal", "uniform", "bound"):
        assert 0.0 < found[name] < 0.6
    assert found["optimal"] > 0.5 * found["bound"]
    rate = found["accesses"] / found["measured_seconds"]
    assert 20.0 < rate < 66.0
    assert found["access_rate"] == pytest.approx(rate)
    switched, always = found["queue"]["thresholds"], found["queue"]["always_on"]
    assert found["loss"] == switched["loss"]
    assert always["loss"] > 0.25 > switched["loss"]
    assert always["robots"] == (4,) * 13
    assert "learn how often" in shown[0]
    assert "0:00" in shown[0]
    assert "less than uniform" in shown[-1]
    for text in shown:
        assert len(text.splitlines()) <= 22
        assert all(len(line) <= 80 for line in text.splitlines())


def test_a_document_for_a_script(tmp_path):
    process = start(tmp_path, "--for", "6s", "--json", "--listen", "127.0.0.1:0")
    said = read_until(process, "running")
    (address,) = (line.split()[-1] for line in said if line.startswith("web pages"))
    time.sleep(2.0)
    assert urllib.request.urlopen(f"{address}healthz", timeout=10).status == 200
    out, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    found = json.loads(out)
    assert set(found) >= WANTED
    assert found["seconds"] == pytest.approx(6.0, abs=1.0)
    assert found["address"] == address
    assert errors == ""
    assert not list(tmp_path.iterdir())


def test_a_signal_ends_it_cleanly(tmp_path):
    process = start(tmp_path, "--json", "--no-web")
    read_until(process, "running")
    time.sleep(2.5)
    process.send_signal(signal.SIGTERM)
    told = time.monotonic()
    out, errors = process.communicate(timeout=60)
    assert time.monotonic() - told < 10.0
    assert process.returncode == 0, errors
    found = json.loads(out)
    assert found["optimal"] is None
    assert found["address"] is None
    assert any("still learning" in note for note in found["notes"])
    assert errors == ""
    assert not list(tmp_path.iterdir())


def test_in_a_terminal_it_stays_until_interrupted(tmp_path):
    pty = pytest.importorskip("pty")
    master, slave = pty.openpty()
    process = start(tmp_path, "--no-web", out=slave)
    os.close(slave)
    seen = b""
    while b"learn how often" not in seen:
        seen += os.read(master, 65536)
    process.send_signal(signal.SIGINT)
    with suppress(OSError):  # the end of the terminal
        while piece := os.read(master, 65536):
            seen += piece
    os.close(master)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert errors == ""
    assert b"How much of the copy is out of date?" in seen
    assert b"Not reached." in seen
    assert not list(tmp_path.iterdir())


def test_a_port_that_is_taken(recrawl):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        result = recrawl("demo", "--listen", f"127.0.0.1:{taken.getsockname()[1]}")
    assert result.code == 2
    assert "the port is taken" in result.err


def test_a_signal_before_anything_runs(tmp_path):
    process = start(tmp_path, "--json", "--no-web")
    process.stderr.readline()  # preparing
    process.send_signal(signal.SIGTERM)
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert json.loads(out)["optimal"] is None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--for", "soon"], "--for: 'soon'"),
        (["--for", "1s"], "must be 5 s or more"),
        (["--pages", "3"], "pages: 3 must lie from 8"),
        (["--budget", "60"], "budget: '60'"),
        (["--budget", "1/d"], "budget: "),
        (["--seed", "-1"], "seed: -1"),
        (["--listen", "here"], "listen: 'here'"),
    ],
)
def test_bad_input(recrawl, arguments, words):
    result = recrawl("demo", *arguments)
    assert result.code == 2
    assert words in result.err


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_optimal_is_below_uniform_and_near_the_bound(tmp_path, seed):
    command = [
        sys.executable,
        "-m",
        "recrawl",
        "demo",
        "--no-web",
        "--for",
        "60s",
        "--json",
        "--seed",
        str(seed),
    ]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert found["optimal"] < 0.95 * found["uniform"]
    assert found["optimal"] < 1.25 * found["bound"]
    switched, always = found["queue"]["thresholds"], found["queue"]["always_on"]
    for queue in (switched, always):
        assert queue["loss"] == pytest.approx(queue["loss_predicted"], abs=0.05)
        assert queue["starvation"] == pytest.approx(queue["starvation_predicted"], abs=0.02)
    assert switched["cost"] < always["cost"]
