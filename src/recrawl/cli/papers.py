"""`recrawl papers`: the papers' numbers beside ours."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

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
def threshold(
    plots: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Draw Figures 1-4 into this directory.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Avrachenkov, Dudin, Klimenok, Nain, Semenova: when to switch robots on and off?

    Example: recrawl papers threshold --plots figures
    """
    from recrawl.papers.threshold import rows

    print_rows("Optimal Threshold Control by the Robots of Web Search Engines", rows(), as_json)
    if plots is not None:
        _draw_thresholds(plots)


def _draw_thresholds(directory: Path) -> None:
    """Cost against the threshold, one picture for each figure."""
    from recrawl.cli._output import new_figure, save_figure
    from recrawl.papers.threshold import figures

    for name, curves in figures().items():
        figure, axes = new_figure(7.0, 4.5)
        for label, costs in curves.items():
            axes[0].plot(range(len(costs)), costs, "o-", markersize=4, label=label)
        axes[0].set_xlabel("threshold")
        axes[0].set_ylabel("cost")
        axes[0].set_xticks(range(len(next(iter(curves.values())))))
        axes[0].legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
        save_figure(figure, directory / f"threshold_{name}.png")
