"""`recrawl simulate`: the models played out, beside what theory says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from recrawl.cli import simulate_control
from recrawl.cli._inputs import (
    Access,
    Budget,
    Json,
    MaxInterval,
    MinInterval,
    PagesFile,
    Plot,
    Robots,
    SiteRate,
    read_limits,
)

if TYPE_CHECKING:
    from pathlib import Path

    from recrawl.laws import Law
    from recrawl.revisit import Limits, Pages

__all__ = ["register"]

app = typer.Typer(help="Play the models out, beside what theory says.", no_args_is_help=True)


def register(root: typer.Typer) -> None:
    """Hang the commands into the command line."""
    simulate_control.register(app)
    root.add_typer(app, name="simulate")


@app.callback()
def _group() -> None:
    """Play the models out, beside what theory says."""


@app.command()
def schedule(
    pages: PagesFile,
    access: Access = None,
    budget: Budget = None,
    policies: Annotated[
        str, typer.Option(metavar="NAMES", help="Policies to compare, separated by commas.")
    ] = "windows,golden,randomised,uniform,proportional",
    robots: Robots = 1,
    max_interval: MaxInterval = None,
    min_interval: MinInterval = None,
    site_rate: SiteRate = None,
    accesses: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=10, help="Accesses in each run (default: 200 per page, at least 100,000)."
        ),
    ] = None,
    replications: Annotated[
        int, typer.Option(metavar="N", min=2, help="Independent runs of each policy.")
    ] = 10,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random numbers.")] = 0,
    plot: Plot = None,
    as_json: Json = False,
) -> None:
    """Compare policies on a table of pages: theory beside simulation, with 95 % confidence intervals.

    Example: recrawl simulate schedule pages.csv --access exponential:0.5 --policies windows,uniform
    """
    from recrawl.errors import ConfigError
    from recrawl.tables import read_law, read_pages

    names = [name.strip() for name in policies.split(",") if name.strip()]
    if not names:
        raise ConfigError("--policies names no policy")
    table = read_pages(pages)
    limits = read_limits(table, max_interval, min_interval, site_rate)
    law = None if access is None else read_law(access)
    size = accesses or max(100_000, 200 * len(table.pages))
    rows = _compare(table.pages, law, budget, names, robots, limits, size, replications, seed)
    if plot is not None:
        _draw(plot, rows)
    _print(rows, robots, size, replications, as_json)


def _compare(
    pages: Pages,
    law: Law | None,
    budget: float | None,
    names: list[str],
    robots: int,
    limits: Limits,
    accesses: int,
    replications: int,
    seed: int,
) -> list[dict[str, Any]]:
    from recrawl.cli._output import progress
    from recrawl.revisit import make_plan
    from recrawl.simulate import simulate_schedule

    rows = []
    with progress("simulating", len(names) * accesses * replications) as advance:
        for name in names:
            own = limits if name not in ("uniform", "proportional", "power-of-two") else None
            plan = make_plan(pages, law, budget=budget, robots=robots, policy=name, limits=own)
            found = simulate_schedule(
                pages,
                plan.access.scaled(plan.access.mean * robots),
                plan.sequence,
                robots=robots,
                accesses=accesses,
                replications=replications,
                seed=seed,
                progress=advance,
            )
            rows.append(
                {
                    "policy": name,
                    "lower_bound": plan.lower_bound,
                    "cost": plan.cost,
                    "obsolescence": plan.obsolescence,
                    "simulated_cost": found.cost,
                    "simulated_cost_half_width": found.cost_half_width,
                    "simulated_obsolescence": found.cost / pages.total_weight,
                    "simulated_obsolescence_half_width": found.cost_half_width / pages.total_weight,
                }
            )
    return rows


def _print(rows: list[dict[str, Any]], robots: int, accesses: int, replications: int, as_json: bool) -> None:
    from recrawl.cli._output import print_json, print_table

    if as_json:
        print_json({"robots": robots, "accesses": accesses, "replications": replications, "policies": rows})
        return
    cells = [
        [
            row["policy"],
            f"{100 * row['obsolescence']:.3f} %",
            f"{100 * row['simulated_obsolescence']:.3f} % ± {100 * row['simulated_obsolescence_half_width']:.3f}",
            f"{row['cost'] / row['lower_bound']:.4f}" if row["lower_bound"] else "-",
            f"{row['simulated_cost'] / row['lower_bound']:.4f}" if row["lower_bound"] else "-",
        ]
        for row in rows
    ]
    note = f"{replications} runs of {accesses:,} accesses, 95 % confidence"
    if robots > 1:
        note += f"; {robots} robots whose accesses overlap, theory takes their number for large page sets"
    header = ["policy", "obsolescence (theory)", "simulated", "theory / bound", "simulated / bound"]
    print_table(header, cells, title="Policies at the same budget", caption=note)


def _draw(path: Path, rows: list[dict[str, Any]]) -> None:
    from recrawl.cli._output import new_figure, save_figure

    figure, (axes,) = new_figure(8.0, 0.5 * len(rows) + 2.0)
    places = list(range(len(rows)))
    values = [100 * row["simulated_obsolescence"] for row in rows]
    errors = [100 * row["simulated_obsolescence_half_width"] for row in rows]
    axes.barh(places, values, xerr=errors, color="#7fa6d6", ecolor="#333333", label="simulated")
    axes.plot([100 * row["obsolescence"] for row in rows], places, "k|", markersize=18, label="theory")
    total = [row["obsolescence"] / row["cost"] if row["cost"] else 0.0 for row in rows]
    axes.axvline(100 * rows[0]["lower_bound"] * total[0], color="#c0392b", label="lower bound")
    axes.set_yticks(places, [row["policy"] for row in rows])
    axes.invert_yaxis()
    axes.set_xlabel("obsolescence, %")
    axes.legend(frameon=False, loc="lower right")
    save_figure(figure, path)
