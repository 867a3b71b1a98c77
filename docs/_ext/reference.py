"""The parts of the reference that are generated from the code.

A page says where, by a line ``<!-- generated: commands -->`` (or ``settings``, ``names``, ``rooms``); the line is
replaced when the page is read.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sphinx.application import Sphinx

DOCS = Path(__file__).parent.parent
_PLACE = re.compile(r"^<!-- generated: (\w+) -->$", re.MULTILINE)

# The order of the pages about rooms; others follow by name.
_ROOMS = (
    "run",
    "access",
    "store",
    "web",
    "demo",
    "revisit",
    "clocks",
    "fleet",
    "control",
    "estimate",
    "replay",
)
_ELSEWHERE = ("index", "tutorial", "errata")


def every_command() -> Iterator[tuple[list[str], Any]]:
    """Path and parser of every command, groups left out."""
    import typer

    from recrawl.cli import app

    def below(path: list[str], command: Any) -> Iterator[tuple[list[str], Any]]:
        children = getattr(command, "commands", None)
        if not children:
            yield path, command
            return
        for name in children:
            if not children[name].hidden:
                yield from below([*path, name], children[name])

    yield from below(["recrawl"], typer.main.get_command(app))


def commands() -> str:
    """Every command: what it does, an example, its arguments and options."""
    parts = []
    for path, command in every_command():
        text, examples = _split_help(f"{command.help or ''}\n\n{command.epilog or ''}")
        parts += [f"## {' '.join(path)}", "", text, ""]
        if examples:
            parts += ["```sh", *examples, "```", ""]
        parts += ["| | default | |", "|---|---|---|"]
        for parameter in command.params:
            parts.append(_parameter(parameter))
        parts.append("")
    return "\n".join(parts)


def _split_help(text: str) -> tuple[str, list[str]]:
    """What a command does, and its examples."""
    plain = re.sub(r"\[/?(?:bold|italic|dim|cyan|green)\]", "", text).replace("\f", "").strip()
    before, *examples = plain.split("Example:")
    return _escaped(before.strip()), [" ".join(example.split()) for example in examples]


def _parameter(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        names = f"`{parameter.metavar or parameter.name.upper()}`"
        metavar = ""
    else:
        names = ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))
        metavar = "" if parameter.is_flag or parameter.count else f" `{_metavar(parameter)}`"
    default = parameter.default
    shown = "" if default in (None, "", (), [], False) or callable(default) else f"`{default}`"
    if parameter.required:
        shown = "*needed*"
    return f"| {_cell(names + metavar)} | {_cell(shown)} | {_cell(_escaped(parameter.help or ''))} |"


def _metavar(parameter: Any) -> str:
    """What stands for the value of an option."""
    numbers = isinstance(parameter.default, int | float)
    return str(parameter.metavar or ("X" if numbers else parameter.name.upper()))


def settings() -> str:
    """Every setting of the engine."""
    from recrawl.settings import describe

    rows = ["| setting | default | allowed | meaning |", "|---|---|---|---|"]
    for name, default, allowed, about in describe():
        shown = f"`{default}`" if default else ""
        rows.append(f"| `{name}` | {shown} | {_cell(allowed)} | {_cell(_escaped(about))} |")
    return "\n".join(rows)


def names() -> str:
    """The public names of the library, by autodoc."""
    import inspect

    import recrawl

    lines = ["```{eval-rst}"]
    for name in recrawl.__all__:
        if name.startswith("__"):
            continue
        value = getattr(recrawl, name)
        if inspect.isclass(value):
            members = "" if issubclass(value, Exception) else "   :members:\n"
            lines.append(f".. autoclass:: recrawl.{name}\n{members}")
        else:
            lines.append(f".. autofunction:: recrawl.{name}\n")
    return "\n".join([*lines, "```"])


def rooms() -> str:
    """The pages about rooms, those that nobody has put into an order last."""
    there = {page.stem for page in DOCS.glob("*.md")} - set(_ELSEWHERE)
    ordered = [name for name in _ROOMS if name in there] + sorted(there - set(_ROOMS))
    return "\n".join([":::{toctree}", ":caption: Rooms", ":maxdepth: 1", "", *ordered, ":::"])


def _escaped(text: str) -> str:
    """Text that Markdown leaves alone."""
    return re.sub(r"([*_<>$])", r"\\\1", text)


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


GENERATED = {"commands": commands, "settings": settings, "names": names, "rooms": rooms}


def fill(text: str) -> str:
    """A page's text with what is generated in its place."""
    return _PLACE.sub(lambda match: GENERATED[match[1]](), text)


def _read(_app: Sphinx, _name: str, source: list[str]) -> None:
    source[0] = fill(source[0])


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("source-read", _read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
