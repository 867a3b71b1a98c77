"""What `recrawl plan` writes and draws."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from recrawl.laws import Law
    from recrawl.revisit import BudgetPoint, Limits, Plan
    from recrawl.tables import PageTable

__all__ = ["curve_points", "draw_plan", "print_curve", "print_split", "write_plan"]


def write_plan(path: Path, table: PageTable, **more: Any) -> None:
    """Write the table of pages with what was planned for each; the interval follows from the access rate."""
    import numpy as np

    from recrawl.tables import write_table

    columns: dict[str, Any] = {"page": table.names}
    if table.pages.site is not None:
        columns["site"] = [table.sites[code] for code in table.pages.site.tolist()]
    with np.errstate(divide="ignore"):
        interval = 1.0 / more["access_rate"]
    columns |= {
        "change_rate": table.pages.change_rate,
        "weight": table.pages.weight,
        **more,
        "interval": interval,
    }
    write_table(path, columns)


def print_split(
    table: PageTable,
    law: Law | None,
    budget: float | None,
    robots: int,
    policy: str,
    out: Path | None,
    as_json: bool,
) -> None:
    """Plan disjoint sets of pages, one for each robot, and say what the splitting costs."""
    from recrawl.cli._output import print_json, print_table, significant
    from recrawl.revisit import access_law, split_plan

    # The law of one robot's access: the fleet's time between accesses, times the number of robots.
    fleet = access_law(law, budget, robots)
    found = split_plan(table.pages, fleet.scaled(fleet.mean * robots), robots, policy)
    weight = table.pages.total_weight
    if out is not None:
        rate = found.per_page("access_rate")
        write_plan(
            out,
            table,
            robot=found.robot,
            frequency=rate * fleet.mean,
            access_rate=rate,
            obsolescence=found.per_page("page_obsolescence"),
        )
    if as_json:
        sizes = [len(plan.pages) for plan in found.plans]
        print_json(
            {
                "pages": len(table.names),
                "robots": robots,
                "policy": policy,
                "budget": 1.0 / fleet.mean,
                "pages_of_robot": sizes,
                "cost": found.cost,
                "obsolescence": found.cost / weight,
                "lower_bound": found.bound,
                "shared_lower_bound": found.shared_bound,
                "split_penalty": found.penalty,
                "price_of_robot": [plan.price for plan in found.plans],
            }
        )
        return
    rows = [
        [str(number), f"{len(plan.pages):,}", significant(plan.price), f"{100 * plan.obsolescence:.3f} %"]
        for number, plan in enumerate(found.plans)
    ]
    rows.append(["all", f"{len(table.names):,}", "", f"{100 * found.cost / weight:.3f} %"])
    note = f"splitting raises the lower bound by {100 * found.penalty:.3f} %"
    print_table(
        ["robot", "pages", "price", "obsolescence"], rows, title="Own pages for each robot", caption=note
    )


def curve_points(result: Plan, limits: Limits, points: int = 9) -> list[BudgetPoint]:
    """The best obsolescence at budgets from 1/16 to 16 times the plan's, as far as the floors allow."""
    import numpy as np

    from recrawl.revisit import budget_curve

    least = limits.least_budget(result.pages) * (1 + 1e-9)
    budgets = [float(b) for b in result.budget * np.geomspace(1 / 16, 16, points) if b >= least]
    return budget_curve(result.pages, budgets, result.access, limits)


def print_curve(points: list[BudgetPoint]) -> None:
    """Print what other budgets would give."""
    from recrawl.cli._output import print_table, significant

    rows = [
        [
            significant(point.budget),
            f"{100 * point.obsolescence:.3f} %",
            significant(point.cost),
            significant(point.price),
        ]
        for point in points
    ]
    header = ["budget", "obsolescence, lower bound", "cost, lower bound", "price"]
    print_table(header, rows, title="What another budget would give", left=0)


def draw_plan(path: Path, result: Plan, limits: Limits) -> None:
    import numpy as np

    from recrawl.cli._output import new_figure, save_figure

    figure, (left, right) = new_figure(11.0, 4.5, columns=2)
    points = curve_points(result, limits, 41)
    left.plot(
        [p.budget for p in points],
        [100 * p.obsolescence for p in points],
        color="#1f5aa6",
        label="lower bound",
    )
    left.plot(
        [result.budget],
        [100 * result.obsolescence],
        "o",
        color="#c0392b",
        label=f"this plan ({result.policy})",
    )
    left.set(xscale="log", xlabel="budget, accesses per unit time", ylabel="obsolescence, %", ylim=(0, None))
    left.set_title("What would more budget buy?")
    left.legend(frameon=False)
    keep = np.random.default_rng(0).permutation(len(result.pages))[:20_000]
    visited = keep[(result.frequency[keep] > 0) & (result.pages.change_rate[keep] > 0)]
    dots = right.scatter(
        result.pages.change_rate[visited],
        result.access_rate[visited],
        c=np.log10(result.pages.weight[visited]),
        s=9,
        cmap="viridis",
    )
    figure.colorbar(dots, ax=right, label="log10 weight")
    right.set(xscale="log", yscale="log", xlabel="change rate", ylabel="access rate")
    right.set_title(f"Access rate of each page ({result.never_visited.size} never visited)")
    for axes in (left, right):
        axes.grid(alpha=0.3)
    save_figure(figure, path)
