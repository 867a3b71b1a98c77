"""Figures of the papers: printed as short tables, drawn and written as CSV."""

from __future__ import annotations

import csv
from textwrap import fill
from typing import TYPE_CHECKING

from recrawl.cli._output import new_figure, print_table, save_figure, significant

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from recrawl.papers.fleet_figures import PaperFigure

__all__ = ["draw_figures", "print_figures"]

_PRINTED_ROWS = 12


def print_figures(figures: Sequence[PaperFigure]) -> None:
    """Each figure as a table of at most a dozen rows."""
    for figure in figures:
        last = len(figure.x) - 1
        count = min(_PRINTED_ROWS, last + 1)
        places = sorted({round(i * last / (count - 1)) for i in range(count)})
        print_table(
            [figure.x_label, *[f"{figure.y_label}, {name}" for name in figure.curves]],
            [
                [significant(figure.x[i], 4), *[significant(curve[i], 6) for curve in figure.curves.values()]]
                for i in places
            ],
            title=f"Figure {figure.number}. {figure.title}",
            left=0,
        )


def draw_figures(figures: Sequence[PaperFigure], folder: Path, prefix: str = "figure") -> None:
    """Write `figure-N.png` and `figure-N.csv` for each figure."""
    folder.mkdir(parents=True, exist_ok=True)
    for figure in figures:
        drawing, (axes,) = new_figure(width=7.0)
        for name, curve in figure.curves.items():
            if figure.steps:
                axes.step(figure.x, curve, where="post", label=name)
            else:
                axes.plot(figure.x, curve, label=name)
        axes.set(xlabel=figure.x_label, ylabel=figure.y_label)
        axes.set_title(fill(f"Figure {figure.number}. {figure.title}", 70), fontsize="medium")
        axes.grid(visible=True, alpha=0.3)
        axes.legend()
        save_figure(drawing, folder / f"{prefix}-{figure.number}.png")
        with (folder / f"{prefix}-{figure.number}.csv").open("w", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream)
            writer.writerow([figure.x_label, *figure.curves])
            writer.writerows(zip(figure.x, *figure.curves.values(), strict=True))
