"""Plan a synthetic set of pages and simulate the plan against simpler policies.

Prints a table and writes a plot into build/examples/.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from recrawl import Pages, Plan, make_plan, parse_law, simulate_schedule
from recrawl.cli._output import new_figure, print_table, progress, save_figure

if TYPE_CHECKING:
    from recrawl.simulate import ScheduleSimulation

PAGES = 2_000
ACCESSES = 400_000
REPLICATIONS = 8
POLICIES = ("windows", "golden", "uniform", "proportional")
PLOT = Path("build/examples/revisit.png")


def synthetic_pages() -> Pages:
    """Change rates that differ by orders of magnitude, as on real sites; some pages matter more than others."""
    rng = np.random.default_rng(2026)
    rates = rng.lognormal(0.0, 2.0, PAGES)
    return Pages(rates / rates.sum(), rng.lognormal(0.0, 0.7, PAGES))


def main() -> None:
    """Run the example."""
    pages = synthetic_pages()
    # One access per unit time and one change per unit time: as many accesses as changes.
    access = parse_law("exponential:1")
    print(f"{PAGES:,} pages, total change rate {pages.total_change_rate:.2f} per second, one robot, {access}")
    plans: list[Plan] = []
    runs: list[ScheduleSimulation] = []
    with progress("simulating", len(POLICIES) * ACCESSES * REPLICATIONS) as advance:
        for policy in POLICIES:
            plan = make_plan(pages, access, policy=policy)
            plans.append(plan)
            runs.append(
                simulate_schedule(
                    pages,
                    access,
                    plan.sequence,
                    accesses=ACCESSES,
                    replications=REPLICATIONS,
                    progress=advance,
                )
            )
    show(plans, runs)
    draw(plans, runs)


def show(plans: list[Plan], runs: list[ScheduleSimulation]) -> None:
    """Print what each policy achieves."""
    weight = plans[0].pages.total_weight
    rows = [["lower bound of any policy", f"{100 * plans[0].obsolescence_bound:.2f} %", "", ""]]
    for plan, run in zip(plans, runs, strict=True):
        simulated = f"{100 * run.cost / weight:.2f} % ± {100 * run.cost_half_width / weight:.2f}"
        rows.append(
            [plan.policy, f"{100 * plan.obsolescence:.2f} %", simulated, f"{plan.never_visited.size:,}"]
        )
    print_table(
        ["policy", "out of date (theory)", "out of date (simulated)", "pages never visited"],
        rows,
        title="Share of weight that is out of date, at the same budget",
    )
    best = plans[0]
    print(f"price: one more access per second would buy {best.price:.4f} of weighted freshness")


def draw(plans: list[Plan], runs: list[ScheduleSimulation]) -> None:
    """Draw the policies and how access rates follow change rates."""
    figure, (left, right) = new_figure(11.0, 4.5, columns=2)
    weight = plans[0].pages.total_weight
    places = list(range(len(plans)))
    left.barh(
        places,
        [100 * run.cost / weight for run in runs],
        xerr=[100 * run.cost_half_width / weight for run in runs],
        color=["#1f5aa6", "#7fa6d6", "#bbbbbb", "#dddddd"],
    )
    left.axvline(100 * plans[0].obsolescence_bound, color="#c0392b", linestyle="--", label="lower bound")
    left.set_yticks(places, [plan.policy for plan in plans])
    left.invert_yaxis()
    left.set_xlabel("weight out of date, % (simulated)")
    left.legend(frameon=False)
    for plan, colour in ((plans[0], "#1f5aa6"), (plans[2], "#999999"), (plans[3], "#e08e0b")):
        visited = plan.frequency > 0
        right.plot(
            plan.pages.change_rate[visited],
            plan.access_rate[visited],
            ".",
            ms=2.5,
            color=colour,
            label=plan.policy,
        )
    right.set(xscale="log", yscale="log", xlabel="change rate", ylabel="access rate")
    right.legend(frameon=False, markerscale=4)
    right.set_title("Pages that change too fast are not chased", fontsize=10)
    save_figure(figure, PLOT)
    print(f"plot: {PLOT}")


if __name__ == "__main__":
    main()
