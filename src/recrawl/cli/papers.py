"""`recrawl papers`: the papers' numbers beside ours."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from recrawl.papers import Row

__all__ = ["print_rows", "register"]

Json = Annotated[bool, typer.Option("--json", help="Print one JSON list instead of a table.")]

app = typer.Typer(help="Every printed number of the papers, recomputed and judged.", no_args_is_help=True)


def register(root: typer.Typer) -> None:
    """Hang the command into the command line."""
    root.add_typer(app, name="papers")


def print_rows(title: str, rows: Sequence[Row], as_json: bool) -> None:
    """Print rows as a table with a count of verdicts, or as one JSON list."""
    from collections import Counter
    from dataclasses import asdict

    from recrawl.cli._output import print_json, print_table

    if as_json:
        print_json([asdict(row) for row in rows])
        return
    counts = Counter(row.verdict for row in rows)
    print_table(
        ["item", "printed", "computed", "verdict", "why"],
        [[row.item, row.printed, row.computed, row.verdict, row.note] for row in rows],
        title=title,
        caption=", ".join(f"{count} {verdict}" for verdict, count in counts.items()),
        left=5,
    )


@app.command()
def schedule(as_json: Json = False) -> None:
    """Coffman, Liu, Weber: which page next?

    Example: recrawl papers schedule --json
    """
    from recrawl.papers.schedule import rows

    print_rows("Optimal Robot Scheduling for Web Search Engines", rows(), as_json)


@app.command()
def fleet(
    as_json: Json = False,
    plots: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write Figures 2-8 there, each as PNG and as CSV.")
    ] = None,
) -> None:
    """Talim, Liu, Nain, Coffman: how many robots?

    Example: recrawl papers fleet --plots figures
    """
    from recrawl.papers.fleet import rows
    from recrawl.papers.fleet_figures import figures

    print_rows("Optimizing the Number of Robots for Web Search Engines", rows(), as_json)
    _show_figures(figures, as_json, plots)


@app.command()
def threshold(
    as_json: Json = False,
    plots: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write Figures 1-4 there, each as PNG and as CSV.")
    ] = None,
) -> None:
    """Avrachenkov, Dudin, Klimenok, Nain, Semenova: when to switch robots on and off?

    Example: recrawl papers threshold --plots figures
    """
    from recrawl.papers.threshold import figures, rows

    print_rows("Optimal Threshold Control by the Robots of Web Search Engines", rows(), as_json)
    _show_figures(figures, as_json, plots, prefix="threshold-figure")


def _show_figures(
    figures: Callable[[], Any], as_json: bool, plots: Path | None, prefix: str = "figure"
) -> None:
    """Print the figures of a paper as tables, and draw them where that is wanted."""
    from recrawl.cli._figures import draw_figures, print_figures

    if plots is None and as_json:
        return
    drawn = figures()
    if not as_json:
        print_figures(drawn)
    if plots is not None:
        draw_figures(drawn, plots, prefix=prefix)
