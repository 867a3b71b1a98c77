"""The documentation is built without warnings, and its reference leaves nothing out."""

import dataclasses
import html
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer

import recrawl
from recrawl.cli import app
from recrawl.settings import Settings

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def generator():
    spec = importlib.util.spec_from_file_location("reference", DOCS / "_ext" / "reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Text of the built pages of the reference, by name."""
    out = tmp_path_factory.mktemp("docs")
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-q",
        "-W",
        "--keep-going",
        "-b",
        "html",
        "-d",
        str(out / "trees"),
    ]
    result = subprocess.run(
        [*command, str(DOCS), str(out / "html")], capture_output=True, text=True, check=False, timeout=500
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return {
        page.stem: html.unescape(re.sub(r"<[^>]+>", "", page.read_text(encoding="utf-8")))
        for page in (out / "html" / "reference").glob("*.html")
    }


def leaves(command, path=("recrawl",)):
    """Every command that can be run, with its path."""
    for name, child in getattr(command, "commands", {}).items():
        if not child.hidden:
            yield from leaves(child, (*path, name))
    if not getattr(command, "commands", None):
        yield path, command


def test_every_command_and_option_is_in_the_reference(built):
    text = " ".join(built["commands"].split())
    found = dict(leaves(typer.main.get_command(app)))
    assert ("recrawl", "fit", "compare") in found
    for path, command in found.items():
        start = text.find(f"{' '.join(path)}¶")
        assert start >= 0, f"{' '.join(path)} is not in the reference"
        end = text.find("¶", start + len(" ".join(path)) + 1)
        section = text[start : end if end > 0 else None]
        for parameter in command.params:
            for option in parameter.opts:
                if option.startswith("-"):
                    assert option in section, f"{' '.join(path)} {option} is not in the reference"
        assert "Example" not in section  # shown as code, not as prose


def test_every_setting_is_in_the_reference(built):
    for option in dataclasses.fields(Settings):
        assert re.search(rf"\b{option.name}\b", built["settings"]), f"{option.name} is not in the reference"
        about = option.metadata["about"].replace("`", "")
        assert " ".join(about.split()) in " ".join(built["settings"].split())


def test_every_public_name_is_in_the_reference(built):
    for name in recrawl.__all__:
        if not name.startswith("__"):
            assert re.search(rf"recrawl\.\s*{name}\b", built["library"]), f"{name} is not in the reference"


def test_what_is_missing_would_be_noticed(generator):
    """Without its generated part a page has no command, and the tests above would fail."""
    page = (DOCS / "reference" / "commands.md").read_text(encoding="utf-8")
    assert "recrawl plan" not in page
    assert "## recrawl plan" in generator.fill(page)
    assert "| `robots` | `16` | from 1 to 10000 | most robots |" in generator.settings()


def test_every_page_about_a_room_is_listed(generator):
    listed = generator.rooms().split()
    for page in DOCS.glob("*.md"):
        assert page.stem in listed or page.stem in ("index", "tutorial", "errata")


@pytest.mark.parametrize("figure", sorted((DOCS / "figures").glob("*.svg")), ids=lambda figure: figure.stem)
def test_figures_are_small_and_used(figure):
    assert figure.stat().st_size < 150_000
    pages = [page.read_text(encoding="utf-8") for page in (DOCS / "explanation").glob("*.md")]
    assert any(f"../figures/{figure.name}" in page for page in pages)
