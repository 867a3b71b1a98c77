"""`recrawl plan`: which page next?"""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

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
from recrawl.cli._plan_output import (
    check_outputs,
    curve_points,
    draw_plan,
    print_curve,
    print_split,
    write_plan,
)

if TYPE_CHECKING:
    from recrawl.laws import Law
    from recrawl.revisit import BudgetPoint, Limits, Plan
    from recrawl.tables import PageTable

__all__ = ["register"]

# Above this number of pages, lists of pages are left out of the JSON document unless asked for.
_LISTED = 10_000


def register(root: typer.Typer) -> None:
    """Hang the command into the command line."""
    root.command()(plan)


Target = Annotated[
    float | None,
    typer.Option(metavar="R", help="Find the budget whose best obsolescence is R, from 0 to 1."),
]
Split = Annotated[bool, typer.Option("--split", help="Give each robot its own pages instead of one order.")]
PolicyName = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="windows, golden, index, bracket, due-time, power-of-two, randomised, uniform or proportional.",
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write the plan of every page to a .csv or .parquet file."),
]
Accesses = Annotated[
    int, typer.Option(metavar="N", min=0, help="Print the first N pages of the order, one per line.")
]
MeasureAccesses = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, help="Accesses over which a cost without closed form is measured."),
]
Curve = Annotated[
    bool, typer.Option("--curve", help="Add what budgets from 1/16 to 16 times this one would give.")
]
AllPages = Annotated[
    bool, typer.Option("--all-pages", help="List every page in the JSON document, however many there are.")
]


def plan(
    pages: PagesFile,
    access: Access = None,
    budget: Budget = None,
    target_obsolescence: Target = None,
    robots: Robots = 1,
    split: Split = False,
    policy: PolicyName = "windows",
    max_interval: MaxInterval = None,
    min_interval: MinInterval = None,
    site_rate: SiteRate = None,
    out: Out = None,
    accesses: Accesses = 0,
    measure_accesses: MeasureAccesses = None,
    curve: Curve = False,
    all_pages: AllPages = False,
    plot: Plot = None,
    as_json: Json = False,
) -> None:
    """Which page next? Optimal access frequencies, the order that realises them, and what they cost.

    Example: recrawl plan pages.csv --access exponential:0.5 --max-interval 30 --out plan.csv
    """
    from recrawl.errors import ConfigError
    from recrawl.tables import read_law, read_pages

    _check_budget(target_obsolescence, access, budget)
    check_outputs(pages, out, plot)
    table = read_pages(pages)
    law = None if access is None else read_law(access)
    limits = read_limits(table, max_interval, min_interval, site_rate)
    if split:
        others = (accesses, target_obsolescence, plot, measure_accesses, curve, all_pages)
        if limits or any(others):
            raise ConfigError(
                "--split goes with --robots, --access, --budget, --policy, --out and --json only"
            )
        print_split(table, law, budget, robots, policy, out, as_json)
        return
    if target_obsolescence is not None:
        from recrawl.revisit import budget_for

        budget = budget_for(table.pages, target_obsolescence, law, limits).budget
    result = _plan(table, law, budget, robots, policy, limits, measure_accesses)
    if out is not None:
        _write(out, table, result)
    if plot is not None:
        draw_plan(plot, result, limits)
    points = curve_points(result, limits) if curve else []
    _report(table, result, limits, robots, target_obsolescence, accesses, all_pages, as_json, points)


def _check_budget(target: float | None, access: str | None, budget: float | None) -> None:
    from recrawl.errors import ConfigError

    if target is not None and budget is not None:
        raise ConfigError("--target-obsolescence finds the budget; leave --budget out")
    if target is None and access is None and budget is None:
        raise ConfigError("how fast can pages be accessed? Give --access, --budget or --target-obsolescence")


def _write(path: Path, table: PageTable, result: Plan) -> None:
    write_plan(
        path,
        table,
        frequency=result.frequency,
        access_rate=result.access_rate,
        obsolescence=result.page_obsolescence,
    )


def _plan(
    table: PageTable,
    law: Law | None,
    budget: float | None,
    robots: int,
    policy: str,
    limits: Limits,
    measure_accesses: int | None,
) -> Plan:
    from recrawl.cli._output import progress
    from recrawl.revisit import make_plan
    from recrawl.revisit.plan import default_accesses

    total = measure_accesses or default_accesses(len(table.pages), policy)
    with progress("measuring the order", total) as advance:
        return make_plan(
            table.pages,
            law,
            budget=budget,
            robots=robots,
            policy=policy,
            limits=limits,
            measure_accesses=measure_accesses,
            progress=advance,
        )


def _report(
    table: PageTable,
    result: Plan,
    limits: Limits,
    robots: int,
    target: float | None,
    accesses: int,
    all_pages: bool,
    as_json: bool,
    points: list[BudgetPoint],
) -> None:
    from recrawl.cli._output import print_json

    order = _order(table, result, accesses) if accesses else []
    if as_json:
        document = _document(table, result, robots, all_pages or len(table.names) <= _LISTED)
        if target is not None:
            document["target_obsolescence"] = target
        if accesses:
            document["accesses"] = order
        if points:
            document["curve"] = [asdict(point) for point in points]
        print_json(document)
    elif accesses:
        sys.stdout.writelines(f"{name}\n" for name in order)
    else:
        _print(table, result, limits, robots)
        if points:
            print_curve(points)


def _order(table: PageTable, result: Plan, accesses: int) -> list[str]:
    """The names of the first accesses; slots without access are left out."""
    sequence = result.sequence(0)
    names: list[str] = []
    while len(names) < accesses:
        chunk = sequence.take(accesses - len(names))
        names += [table.names[page] for page in chunk.tolist() if page >= 0]
    return names


def _document(table: PageTable, result: Plan, robots: int, listed: bool) -> dict[str, Any]:
    never = result.never_visited
    document: dict[str, Any] = {
        "pages": len(table.names),
        "robots": robots,
        "access": str(result.access),
        "access_mean": result.access.mean,
        "total_change_rate": result.pages.total_change_rate,
        "budget": result.budget,
        "price": result.price,
        "lower_bound": result.lower_bound,
        "cost": result.cost,
        "obsolescence": result.obsolescence,
        "obsolescence_bound": result.obsolescence_bound,
        "policy": result.policy,
        "cost_basis": _basis(result),
        "measured_accesses": result.measured_accesses,
        "unused_budget": result.unused * result.budget,
        "site_price": {
            site: float(price)
            for site, price in zip(table.sites, result.site_price, strict=False)
            if price > 0
        },
        "never_visited": int(never.size),
    }
    if listed:
        document["never_visited_pages"] = [table.names[page] for page in never]
        document["frequency"] = dict(zip(table.names, result.frequency.tolist(), strict=True))
    return document


def _basis(result: Plan) -> str:
    if not result.measured_accesses:
        return "exact"
    text = f"measured over {result.measured_accesses} accesses"
    if result.short_pages:
        text += f"; {result.short_pages} pages too rare for that count at their lower bound"
    return text


def _print(table: PageTable, result: Plan, limits: Limits, robots: int) -> None:
    import numpy as np

    from recrawl.cli._output import print_table, significant

    number = significant
    lines = [
        ["pages", f"{len(table.names):,}"],
        ["total change rate", number(result.pages.total_change_rate)],
        ["budget (accesses per unit time)", f"{number(result.budget)}, {result.access}" + _fleet(robots)],
        ["policy", result.policy],
        [
            "obsolescence",
            f"{100 * result.obsolescence:.3f} %  (freshness {100 - 100 * result.obsolescence:.3f} %)",
        ],
        ["obsolescence, lower bound", f"{100 * result.obsolescence_bound:.3f} %"],
        ["cost / lower bound", f"{number(result.cost)} / {number(result.lower_bound)}, {_basis(result)}"],
        ["price: what one more access buys", number(result.price)],
        ["never visited", f"{result.never_visited.size:,}"],
    ]
    if result.unused > 0:
        lines.append(
            ["unused budget", f"{number(result.unused * result.budget)}: limits allow no more accesses"]
        )
    lines += [[f"obsolescence bound at {word} the budget", text] for word, text in _what_if(result, limits)]
    print_table(["plan", ""], lines, left=2)
    top = np.argsort(-result.frequency, kind="stable")[:10]
    rows = [
        [
            table.names[page],
            number(result.pages.change_rate[page]),
            number(result.pages.weight[page]),
            number(result.frequency[page]),
            number(1.0 / result.access_rate[page]) if result.frequency[page] > 0 else "never",
            f"{100 * result.page_obsolescence[page]:.2f} %",
        ]
        for page in top
    ]
    header = ["page", "change rate", "weight", "frequency", "interval", "obsolescence"]
    print_table(header, rows, title=f"The {len(rows)} most accessed pages")


def _fleet(robots: int) -> str:
    return f", {robots} robots (approximation of many pages)" if robots > 1 else ""


def _what_if(result: Plan, limits: Limits) -> list[tuple[str, str]]:
    from recrawl.errors import InvalidModel
    from recrawl.revisit import budget_curve

    answers = []
    for word, factor in (("half", 0.5), ("twice", 2.0)):
        try:
            point = budget_curve(result.pages, [factor * result.budget], result.access, limits)[0]
            answers.append((word, f"{100 * point.obsolescence:.3f} %"))
        except InvalidModel as error:
            answers.append((word, f"not possible: {error}"))
    return answers
