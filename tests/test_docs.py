"""Everything that README and docs show is run.

``pycon`` blocks are doctests (one session for each file); ``console`` blocks are shell sessions: a line
``$ recrawl ...`` is run in a directory with the files of ``examples/``, and the lines below it, if any, must
be what it prints (``...`` stands for anything). A line ``$ python -m recrawl.demo ... &`` starts the demonstration
web, which is stopped at the end of the page.
"""

import doctest
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page, language):
    return [match[2] for match in BLOCK.finditer(page.read_text(encoding="utf-8")) if match[1] == language]


@pytest.fixture
def workplace(tmp_path, monkeypatch):
    shutil.copytree(ROOT / "examples", tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_examples(page, workplace):
    text = "\n".join(blocks(page, "pycon"))
    test = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    report = []
    doctest.DocTestRunner(optionflags=FLAGS).run(test, out=report.append)
    assert not report, "".join(report)


def sessions(block):
    """Pairs of a command and the output shown under it."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        yield command, expected


@pytest.fixture
def background():
    """Starts a command that ends in &, and gives its first line."""
    started = []

    def start(command, environment):
        arguments = [sys.executable, *shlex.split(command.removesuffix("&"))[1:]]
        started.append(subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, env=environment))
        return started[-1].stdout.readline().strip()

    yield start
    for process in started:
        process.terminate()
        process.communicate(timeout=10)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_console_examples(page, workplace, background):
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": "140",
    }
    checker = doctest.OutputChecker()
    for block in blocks(page, "console"):
        for command, expected in sessions(block):
            if command.startswith("python -m recrawl.demo "):
                assert background(command, environment) == expected.strip()
                continue
            if not command.startswith("recrawl "):
                continue  # make, git and pip are run by other tests or not at all
            result = subprocess.run(
                command, shell=True, capture_output=True, text=True, env=environment, check=False
            )
            assert result.returncode == 0, f"{command}\n{result.stderr}"
            if expected.strip():
                assert checker.check_output(expected, result.stdout, FLAGS), f"{command}\n{result.stdout}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name}: {target}"
