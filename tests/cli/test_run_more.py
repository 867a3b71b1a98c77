"""Less common ways to use the engine's commands: weights, following changes, Parquet, a terminal."""

import csv
import json
import os
import pty
import select
import subprocess
import sys
import time

import pytest
from tests.cli.test_run import OPTIONS, manual, run, write

__all__ = ["manual"]


@pytest.mark.slow
def test_weights_from_a_file(manual, tmp_path, recrawl):
    _, url = manual
    weights = tmp_path / "weights.csv"
    with weights.open("w", newline="") as stream:
        csv.writer(stream).writerows([["page", "weight"], [url + "faq.html", 7], [url + "usage.html", 0.5]])
    data = tmp_path / "data"
    settings = ["--set", f"weights_file={weights}"]
    result = run(url, data, "--budget", "20/s", "--for", "4s", *settings)
    assert result.returncode == 0, result.stderr
    rows = {row["url"]: row for row in recrawl("pages", "--data", data, "--json").json["rows"]}
    assert rows[url + "faq.html"]["weight"] == 7.0  # found by a link
    assert rows[url + "usage.html"]["weight"] == 0.5
    weights.write_text(f"page,weight\n{url}faq.html,3\n")  # edited: in force at the next start
    assert run(url, data, "--budget", "20/s", "--for", "3s", *settings).returncode == 0
    rows = {row["url"]: row for row in recrawl("pages", "--data", data, "--json").json["rows"]}
    assert rows[url + "faq.html"]["weight"] == 3.0
    weights.write_text("page,weight\nx\n")
    result = run(url, data, "--for", "1s", *settings)
    assert result.returncode == 2
    assert "line 2: there is no weight" in result.stderr


@pytest.mark.slow
def test_changes_are_followed(manual, tmp_path):
    folder, url = manual
    data = tmp_path / "data"
    assert run(url, data, "--budget", "20/s", "--for", "5s").returncode == 0
    command = [sys.executable, "-m", "recrawl", "changes", "--data", str(data), "--follow", "--text"]
    follower = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        first = [json.loads(follower.stdout.readline()) for _ in range(4)]
        assert [line["kind"] for line in first] == ["added"] * 4
        write(folder, "usage.html", "Usage", "the slow snail indexes a page", ["faq.html"])
        assert run(url, data, "--budget", "20/s", "--for", "4s").returncode == 0
        news = json.loads(follower.stdout.readline())
        assert (news["kind"], news["url"]) == ("changed", url + "usage.html")
        assert "slow snail" in news["text"]
        assert news["cursor"] > first[-1]["cursor"]
    finally:
        follower.terminate()
        follower.communicate(timeout=10)


@pytest.mark.slow
def test_pages_as_parquet(manual, tmp_path, recrawl):
    parquet = pytest.importorskip("pyarrow.parquet")
    _, url = manual
    data, out = tmp_path / "data", tmp_path / "pages.parquet"
    assert run(url, data, "--budget", "20/s", "--for", "5s").returncode == 0
    assert recrawl("pages", "--data", data, "--out", out).code == 0
    table = parquet.read_table(out).to_pydict()
    assert set(table["url"]) >= {url + "faq.html", url + "usage.html"}
    assert all(rate > 0 for rate in table["change_rate"])
    assert {"next_due", "current_probability", "weight"} <= set(table)


@pytest.mark.slow
def test_a_terminal_shows_progress(manual, tmp_path):
    _, url = manual
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "recrawl", "run", url, "--data", str(tmp_path / "data"), *OPTIONS]
    process = subprocess.Popen(
        [*command, "--budget", "20/s", "--for", "4s"], stderr=theirs, stdout=subprocess.DEVNULL
    )
    os.close(theirs)
    shown = b""
    end = time.monotonic() + 60.0
    while time.monotonic() < end:
        if select.select([ours], [], [], 0.2)[0]:
            try:
                piece = os.read(ours, 4096)
            except OSError:  # the other side is closed
                break
            shown += piece
        elif process.poll() is not None:
            break
    assert process.wait(10) == 0
    os.close(ours)
    lines = shown.decode().split("\r\x1b[K")
    assert any("5 pages" in line and "accesses" in line and "robots" in line for line in lines)
    assert lines[-1].startswith("stopping: robots finish")
