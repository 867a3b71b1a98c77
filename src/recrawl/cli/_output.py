"""What commands share when they print: one JSON document, tables, plots, progress."""

from __future__ import annotations

import json
import math
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from matplotlib.figure import Figure

__all__ = ["new_figure", "print_json", "print_table", "progress", "save_figure", "significant"]


def _plain(value: Any) -> Any:
    """Only what JSON has: no NaN, no infinity (null instead), no numpy types."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def print_json(document: Any) -> None:
    """Write exactly one JSON document to stdout."""
    json.dump(_plain(document), sys.stdout, indent=2, ensure_ascii=False, allow_nan=False)
    sys.stdout.write("\n")


def significant(value: float | None, digits: int = 5) -> str:
    """A number for people: a few significant digits, never an empty precision.

    >>> significant(0.000123456), significant(12345678.0), significant(None)
    ('0.00012346', '12345678', '-')
    """
    if value is None:
        return "-"
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    if 1e-5 <= abs(value) < 1e9:
        decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
        text = f"{value:.{decimals}f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    return f"{value:.{digits - 1}e}"


def print_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    title: str | None = None,
    caption: str | None = None,
    left: int = 1,
    file: Any = None,
) -> None:
    """Print a table; the first `left` columns are words, the rest numbers."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(header_style="bold")
    for place, name in enumerate(columns):
        table.add_column(name, justify="left" if place < left else "right", overflow="fold")
    for row in rows:
        table.add_row(*[Text(cell) for cell in row])
    stream = file or sys.stdout
    # A pipe has no width of its own; a narrow default would cut numbers apart.
    width = None if stream.isatty() else 140
    console = Console(file=stream, width=width, soft_wrap=False, highlight=False, markup=False)
    for part in (title, table, caption):
        if part is not None:
            console.print(part)


@contextmanager
def progress(label: str, total: int) -> Iterator[Callable[[int], None]]:
    """A bar on stderr while long work runs, shown only to a terminal; call with the number of steps done."""
    if not sys.stderr.isatty():
        yield lambda _steps: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:3.0f} %"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(file=sys.stderr), transient=True) as bar:
        task = bar.add_task(label, total=total)
        yield lambda steps: bar.advance(task, steps)


def new_figure(width: float = 9.0, height: float = 4.5, columns: int = 1) -> tuple[Figure, Any]:
    """A figure that needs no screen, and its axes."""
    from recrawl.errors import require_extra

    figure_module = require_extra("matplotlib.figure", "plot")
    figure: Figure = figure_module.Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(1, columns, squeeze=False)[0]


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure; its format follows the name's ending."""
    from recrawl.errors import ConfigError

    allowed = sorted(figure.canvas.get_supported_filetypes())
    if path.suffix.lstrip(".").lower() not in allowed:
        raise ConfigError(f"cannot draw {path.name!r}: the name must end in one of {', '.join(allowed)}")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
