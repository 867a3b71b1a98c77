"""The direction of imports, and what a plain import must not load."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import recrawl

ROOT = Path(recrawl.__file__).parent

# What each room may import. The arrows of the house point from right to left.
THEORY = ["errors", "laws", "revisit", "fleet", "control", "estimate"]
ALLOWED = {
    "errors": [],
    "_version": [],
    "_compiled": [],
    "__init__": ["errors", "_version", "laws", "revisit", "simulate", "fleet", "control", "estimate"],
    "laws": ["errors", "_compiled"],
    "revisit": ["errors", "laws", "_compiled"],
    "fleet": ["errors", "laws", "_compiled"],
    "control": ["errors", "laws", "fleet", "_compiled"],
    "estimate": ["errors", "laws", "revisit", "fleet", "control", "_compiled"],
    "simulate": [*THEORY, "_compiled"],
    "papers": [*THEORY, "simulate", "_compiled"],
    "tables": [*THEORY, "simulate"],
    "demo": [*THEORY, "simulate", "tables", "settings", "engine", "assemble", "web"],
    "engine": [*THEORY, "simulate", "_version", "_compiled"],
    "backends": ["errors", "engine"],
    "settings": ["errors"],
    "assemble": ["errors", "settings", "engine", "backends", *THEORY],
    "web": [*THEORY, "_version", "engine", "backends", "settings", "assemble"],
    "cli": [
        *THEORY,
        "simulate",
        "papers",
        "tables",
        "_version",
        "engine",
        "backends",
        "settings",
        "assemble",
        "web",
        "demo",
    ],
    "__main__": ["cli"],
}


def imports_of(path: Path) -> set[str]:
    """Rooms of recrawl that a file imports, type-checking imports included."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names = (
                [f"{node.module}.{alias.name}" for alias in node.names]
                if node.module == "recrawl"
                else [node.module]
            )
        found |= {name.split(".")[1] for name in names if name and name.startswith("recrawl.")}
    return found


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_one_way(path):
    room = path.relative_to(ROOT).parts[0].removesuffix(".py")
    assert room in ALLOWED, f"{room} has no place in the house yet"
    assert imports_of(path) - {room} <= set(ALLOWED[room])


def loaded_by(*arguments: str) -> set[str]:
    code = f"import sys; {arguments[0]}; print(*sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name.split(".")[0] for name in result.stdout.splitlines()[-1].split()}


HEAVY = {"numpy", "scipy", "numba", "matplotlib", "pyarrow"}


def test_import_is_light():
    assert not loaded_by("import recrawl") & (HEAVY | {"typer", "rich"})


def test_help_is_light():
    call = "from recrawl.cli import _run; assert _run(['--help']) == 0; assert _run(['plan', '--help']) == 0"
    assert not loaded_by(call) & HEAVY


def test_every_public_name_exists():
    for name in recrawl.__all__:
        assert getattr(recrawl, name) is not None
    assert sorted(recrawl.__all__) == list(recrawl.__all__)
    assert set(recrawl.__all__) <= set(dir(recrawl))


def test_unknown_name():
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = recrawl.no_such_name


def test_public_names_of_rooms_exist():
    from importlib import import_module

    rooms = sorted(path.parent.name for path in ROOT.glob("*/__init__.py") if path.parent.name != "cli")
    assert "laws" in rooms
    for room in rooms:
        module = import_module(f"recrawl.{room}")
        for name in module.__all__:
            assert hasattr(module, name), f"recrawl.{room}.{name}"
