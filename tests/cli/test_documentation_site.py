"""A documentation site served by a plain web server, as a new user would watch over it: weeks of life in a minute.

The tree is made here, in the shape of an unpacked documentation package: chapters in folders, links up and across,
the same navigation on every page, text files and pictures beside the pages.
"""

import json
import random
import signal
import subprocess
import sys
import time

import pytest

WORDS = (
    "access",
    "buffer",
    "capacity",
    "index",
    "page",
    "robot",
    "schedule",
    "threshold",
    "clock",
    "rate",
    "price",
)
CHAPTERS, PAGES = 6, 8
OPTIONS = [
    "--budget", "60/s", "--set", "min_delay_seconds=0", "--set", "max_concurrency=8", "--set", "commit_seconds=0.2",
    "--set", "confirm_seconds=0.5", "--set", "status_seconds=0.2",
]  # fmt: skip


def page(title, text, links):
    items = "".join(f'<li><a href="{link}">{link}</a></li>' for link in links)
    return (
        f"<!DOCTYPE html><html><head><title>{title}</title></head><body><nav><ul>{items}</ul></nav>"
        f"<main><h1>{title}</h1><p>{text}</p></main><footer>Generated on some day</footer></body></html>"
    )


def make_tree(folder):
    """Some fifty pages; each has a word of its own."""
    chance = random.Random(1)
    folder.mkdir()
    (folder / "index.html").write_text(
        page("The Manual", "where to begin", [f"chapter{c}/index.html" for c in range(CHAPTERS)])
    )
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    for chapter in range(CHAPTERS):
        place = folder / f"chapter{chapter}"
        place.mkdir()
        names = [f"section{n}.html" for n in range(PAGES)]
        (place / "index.html").write_text(
            page(f"Chapter {chapter}", "contents", ["../index.html", "../picture.png", *names])
        )
        for number, name in enumerate(names):
            text = " ".join(chance.choices(WORDS, k=120)) + f" unique{chapter}x{number}"
            links = ["index.html", chance.choice(names), f"../chapter{chance.randrange(CHAPTERS)}/index.html"]
            (place / name).write_text(page(f"Section {chapter}.{number}", text, links))


@pytest.fixture
def site(tmp_path):
    folder = tmp_path / "manual"
    make_tree(folder)
    code = (
        "import functools, http.server as h, sys\n"
        "handler = functools.partial(h.SimpleHTTPRequestHandler, directory=sys.argv[1])\n"
        "s = h.ThreadingHTTPServer(('127.0.0.1', 0), handler)\n"
        "print(s.server_address[1], flush=True)\n"
        "s.serve_forever()\n"
    )
    server = subprocess.Popen(
        [sys.executable, "-c", code, str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    yield folder, f"http://127.0.0.1:{int(server.stdout.readline())}/"
    server.kill()
    server.communicate()


def command(*arguments):
    return [sys.executable, "-m", "recrawl", *arguments]


def ask(*arguments):
    result = subprocess.run(command(*arguments), capture_output=True, text=True, check=False, timeout=120)
    assert result.returncode == 0, result.stderr
    return result.stdout


def until(what, seconds=90.0):
    """Wait for something to hold."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = what()
        if found:
            return found
        time.sleep(0.3)
    raise AssertionError(f"{what} did not come about in {seconds} s")


def searcher(data):
    def count(query):
        if not any((data / "index").glob("meta.json")):  # nothing was committed yet
            return 0
        return json.loads(ask("search", query, "--data", str(data), "--json"))["count"]

    return count


@pytest.mark.slow
def test_weeks_of_a_manual(site, tmp_path):
    folder, url = site
    data = tmp_path / "data"
    count = searcher(data)
    run = command("run", url, "--data", str(data), *OPTIONS)
    engine = subprocess.Popen(run, stderr=subprocess.DEVNULL)
    every = CHAPTERS * PAGES
    try:
        # Everything is found, each page by its own word, pictures are no pages.
        until(lambda: count("section") >= every)
        assert count("unique3x4") == 1
        # Somebody follows the changes; a page is edited, one is added and linked, one is removed.
        cursor = json.loads(ask("changes", "--data", str(data)).splitlines()[-1])["cursor"]
        follow = command("changes", "--follow", "--since", str(cursor), "--data", str(data), "--text")
        follower = subprocess.Popen(follow, stdout=subprocess.PIPE, text=True)
        edited = folder / "chapter2" / "section5.html"
        edited.write_text(edited.read_text().replace("</main>", "<p>zebrafish</p></main>"))
        (folder / "chapter2" / "appendix.html").write_text(page("Appendix", "wolverine", ["index.html"]))
        index = folder / "chapter2" / "index.html"
        index.write_text(
            index.read_text().replace("<li>", '<li><a href="appendix.html">appendix</a></li><li>', 1)
        )
        (folder / "chapter4" / "section0.html").unlink()
        until(lambda: count("zebrafish") == 1 and count("wolverine") == 1 and count("unique4x0") == 0)
        told = [json.loads(follower.stdout.readline()) for _ in range(3)]
        follower.kill()
        follower.communicate()
        kinds = {entry["url"].removeprefix(url): entry["kind"] for entry in told}
        assert kinds["chapter2/section5.html"] == "changed"
        assert kinds["chapter2/appendix.html"] == "added"
        assert kinds["chapter4/section0.html"] == "removed"
        # Ctrl-C drains; a second engine is refused; a killed one loses nothing.
        second = subprocess.run(run, capture_output=True, text=True, check=False, timeout=120)
        assert second.returncode != 0
        assert "recrawl:" in second.stderr
        assert "Traceback" not in second.stderr
        engine.send_signal(signal.SIGINT)
        assert engine.wait(60) == 130
        engine = subprocess.Popen(run, stderr=subprocess.DEVNULL)
        (folder / "chapter0" / "section1.html").write_text(page("Section 0.1", "capybara", ["index.html"]))
        until(lambda: count("capybara") == 1)
        engine.kill()
        engine.wait()
        before = count("section")
        engine = subprocess.Popen(run, stderr=subprocess.DEVNULL)
        (folder / "chapter1" / "section1.html").write_text(page("Section 1.1", "pangolin", ["index.html"]))
        until(lambda: count("pangolin") == 1)
        assert count("section") == before
        numbers = [json.loads(line)["cursor"] for line in ask("changes", "--data", str(data)).splitlines()]
        assert numbers == sorted(set(numbers))
        status = json.loads(ask("status", "--data", str(data), "--json"))
        assert status["searchable"] == sum(1 for _ in folder.rglob("*.html"))
    finally:
        engine.kill()
        engine.wait()
