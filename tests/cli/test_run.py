"""The engine's commands, as a new user meets them: a site of files, served locally."""

import csv
import functools
import json
import signal
import subprocess
import sys
import threading
import time
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

OPTIONS = [
    "--no-web", "--set", "min_delay_seconds=0", "--set", "max_concurrency=8", "--set", "commit_seconds=0.2",
]  # fmt: skip


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


def write(folder, name, title, text, links=()):
    anchors = "".join(f'<a href="{link}">{link}</a>' for link in links)
    body = f"<nav>{anchors}</nav><main><h1>{title}</h1><p>{text}</p></main>"
    (folder / name).write_text(f"<html><head><title>{title}</title></head><body>{body}</body></html>")


@pytest.fixture
def manual(tmp_path):
    """A small manual, and its URL."""
    folder = tmp_path / "manual"
    folder.mkdir()
    write(folder, "index.html", "Manual", "where to begin", ["install.html", "usage.html"])
    write(
        folder,
        "install.html",
        "Installing",
        "unpack the archive and copy the binary",
        ["index.html", "faq.html"],
    )
    write(folder, "usage.html", "Usage", "the quick robot indexes a page", ["faq.html"])
    write(folder, "faq.html", "Questions", "why is the buffer full", ["index.html"])
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    server.handle_error = lambda *_arguments: None
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield folder, f"http://127.0.0.1:{server.server_address[1]}/"
    server.shutdown()
    server.server_close()


def run(url, data, *more):
    command = [sys.executable, "-m", "recrawl", "run", url, "--data", str(data), *OPTIONS, *more]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_a_new_user(manual, tmp_path, recrawl):
    folder, url = manual
    data = tmp_path / "data"
    result = run(url, data, "--budget", "20/s", "--for", "5s", "--json")
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    document = json.loads(result.stdout)
    assert document["findings"]["added"] == 4

    found = recrawl("search", "quick robot", "--data", data, "--json").json
    assert found["count"] == 1
    (hit,) = found["hits"]
    assert hit["url"] == url + "usage.html"
    assert 0.0 < hit["current_probability"] <= 1.0
    assert hit["last_seen"].endswith("Z")
    shown = recrawl("search", "archive", "--data", data)
    assert "Installing" in shown.out
    assert "current with probability" in shown.out

    lines = [json.loads(line) for line in recrawl("changes", "--data", data, "--text").out.splitlines()]
    assert [line["kind"] for line in lines] == ["added"] * 4
    assert {line["title"] for line in lines} == {"Manual", "Installing", "Usage", "Questions"}
    assert any("unpack the archive" in line["text"] for line in lines)
    cursor = lines[-1]["cursor"]

    write(folder, "usage.html", "Usage", "the slow snail indexes a page", ["faq.html"])
    (folder / "faq.html").unlink()
    result = run(url, data, "--budget", "20/s", "--for", "5s", "--set", "confirm_seconds=0.5")
    assert result.returncode == 0, result.stderr
    news = [
        json.loads(line) for line in recrawl("changes", "--data", data, "--since", cursor).out.splitlines()
    ]
    assert {(line["kind"], line["url"]) for line in news} == {
        ("changed", url + "usage.html"),
        ("removed", url + "faq.html"),
    }
    assert recrawl("search", "snail", "--data", data, "--json").json["count"] == 1
    assert recrawl("search", "quick", "--data", data, "--json").json["count"] == 0
    assert recrawl("search", "buffer", "--data", data, "--json").json["count"] == 0
    _look_around(recrawl, data, url, tmp_path)


def _look_around(recrawl, data, url, tmp_path):
    status = recrawl("status", "--data", data, "--json").json
    assert status["pages"] == {"known": 3, "gone": 1, "excluded": 0, "duplicate": 1}  # / and /index.html
    assert status["uncommitted"] == 0
    assert 0.0 < status["expected_freshness"] <= 1.0
    bounds = [answer["freshness_bound"] for answer in status["what_if"]]
    assert bounds == sorted(bounds)
    assert not status["engine"]["running"]
    assert "freshness bound" in recrawl("status", "--data", data).out

    pages = recrawl("pages", "--data", data, "--sort", "rate", "--json").json
    assert pages["pages"] == 5
    assert pages["rows"][0]["url"] == url + "usage.html"  # the page that changed
    row = pages["rows"][0]
    assert row["change_rate_low"] < row["change_rate"] < row["change_rate_high"]
    out = tmp_path / "pages.csv"
    assert recrawl("pages", "--data", data, "--out", out).code == 0
    with out.open() as stream:
        assert len(list(csv.DictReader(stream))) == 5
    assert recrawl("pages", "--data", data, "--sort", "size").code == 2

    told = recrawl("explain", url + "usage.html", "--data", data, "--json").json
    assert told["changes"] == 1
    assert "slow snail" in told["text"]
    assert "price" in told["why_due"]
    assert "not scheduled: gone" in recrawl("explain", url + "faq.html", "--data", data).out.replace(
        "\n", " "
    )
    assert recrawl("explain", url + "nowhere", "--data", data).code == 2


def test_signals_drain(manual, tmp_path):
    _, url = manual
    command = [sys.executable, "-m", "recrawl", "run", url, "--data", str(tmp_path / "data"), *OPTIONS]
    for number, code in ((signal.SIGTERM, 0), (signal.SIGINT, 130)):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(4.0)
        process.send_signal(number)
        _, errors = process.communicate(timeout=30)
        assert process.returncode == code, errors.decode()
        assert errors == b""


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["ftp://a.example/"], 2, "not an http or https URL"),
        ([], 2, "seeds: none given"),
        (["http://a.invalid/", "--set", "robots=0"], 2, "robots: 0 must lie from 1 to 10000"),
        (["http://a.invalid/", "--set", "robts=1"], 2, "did you mean robots?"),
        (["http://a.invalid/", "--budget", "5"], 2, "budget: '5'"),
        (["http://a.invalid/", "--for", "soon"], 2, "--for: 'soon' must be a time"),
        (["http://127.0.0.1:9/"], 1, "no page could be accessed"),
    ],
)
def test_bad_input(tmp_path, monkeypatch, recrawl, arguments, code, words):
    monkeypatch.chdir(tmp_path)
    result = recrawl("run", "--data", tmp_path / "data", *arguments)
    assert result.code == code
    assert words in result.err
    assert "Traceback" not in result.err


def test_commands_without_data(tmp_path, recrawl):
    for command in (["search", "x"], ["status"], ["pages"], ["changes"], ["explain", "http://a.example/"]):
        result = recrawl(*command, "--data", tmp_path / "none")
        assert result.code == 2
        assert "holds no pages" in result.err
