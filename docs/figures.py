"""Draws the figures of the explanations: `make figures` (the drawings are kept in docs/figures)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from recrawl.control import Evaluator, cost_curve
from recrawl.estimate import Belief, RateGrid
from recrawl.fleet import Costs, robot_curve
from recrawl.laws import Deterministic, parse_law
from recrawl.revisit import Pages, lower_bound, optimal_frequencies
from recrawl.tables import read_model

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HERE = Path(__file__).parent
COLOURS = ("#1b6ca8", "#d1495b", "#3d8361", "#8a5a9e")


def _panels(number: int) -> tuple[Figure, Any]:
    figure, axes = plt.subplots(1, number, figsize=(4.2 * number, 3.1), layout="constrained")
    for panel in np.atleast_1d(axes):
        panel.spines[["top", "right"]].set_visible(False)
        panel.grid(alpha=0.25)
    return figure, axes


def which_page() -> Figure:
    """The best access rates of pages, and what budgets buy under three rules."""
    figure, (left, right) = _panels(2)
    rates = np.sort(np.random.default_rng(1).lognormal(0.0, 2.0, 4000))
    pages = Pages(rates)
    for colour, budget in zip(COLOURS, (0.2, 1.0, 5.0), strict=False):
        found = optimal_frequencies(pages, Deterministic(1.0 / (budget * rates.size)))
        left.plot(
            rates[::20],
            found.frequency[::20] * budget * rates.size,
            color=colour,
            label=f"{budget:g} per page",
        )
    left.set(xscale="log", xlim=(1e-3, 1e3), xlabel="change rate of a page", ylabel="its best access rate")
    left.legend(title="budget", frameon=False)
    budgets = np.geomspace(0.05, 20.0, 25)
    rules = {"optimal": [], "uniform": [], "proportional": []}
    for budget in budgets:
        law = Deterministic(1.0 / (budget * rates.size))
        shares = {
            "optimal": optimal_frequencies(pages, law).frequency,
            "uniform": np.full(rates.size, 1.0 / rates.size),
            "proportional": rates / rates.sum(),
        }
        for name, share in shares.items():
            rules[name].append(lower_bound(pages, law, share).mean())
    for colour, (name, values) in zip(COLOURS, rules.items(), strict=False):
        right.plot(budgets, values, color=colour, label=name)
    right.set(xscale="log", ylim=(0, 1), xlabel="accesses per page and unit of time", ylabel="obsolescence")
    right.legend(frameon=False)
    return figure


def how_many_robots() -> Figure:
    """Starvation, loss and cost against the number of robots."""
    figure, panel = _panels(1)
    curve = robot_curve(parse_law("two-task:2,10,0.35"), 0.03, Costs(starvation=2.0), 15, range(1, 15))
    numbers, values, queues = zip(*curve, strict=True)
    panel.plot(numbers, [queue.starvation for queue in queues], color=COLOURS[0], label="indexer idle")
    panel.plot(numbers, [queue.loss for queue in queues], color=COLOURS[1], label="pages lost")
    panel.plot(numbers, values, color=COLOURS[2], label="cost: 2 × idle + lost")
    panel.plot(numbers[int(np.argmin(values))], min(values), "o", color=COLOURS[2])
    panel.set(ylim=(0, 1.2), xlabel="robots")
    panel.legend(frameon=False)
    return figure


def when_to_switch() -> Figure:
    """The cost of two modes against the threshold between them."""
    figure, panel = _panels(1)
    evaluator = Evaluator(read_model(HERE.parent / "examples" / "control_table1.toml"))
    for colour, modes in zip(COLOURS, ((2, 1), (3, 1), (4, 1), (3, 2)), strict=True):
        curve = cost_curve(evaluator, modes)
        panel.plot(curve, "o-", color=colour, label=f"{modes[0]} or {modes[1]} robots", markersize=4)
    panel.set(xlabel="threshold: most pages with many robots", ylabel="cost", xticks=range(len(curve)))
    panel.legend(frameon=False)
    return figure


def beliefs() -> Figure:
    """What is believed of one page as accesses tell about it."""
    figure, (left, right) = _panels(2)
    rng = np.random.default_rng(3)
    belief = Belief(RateGrid.around(1.0))
    page = belief.add(1)
    seen = 0
    for colour, number in zip(COLOURS, (1, 5, 20, 100), strict=True):
        for _ in range(number - seen):
            belief.update(page, [1.0], [rng.random() < -np.expm1(-0.3)])
        seen = number
        edges = belief.quantiles(page, np.linspace(0.001, 0.999, 400))[0]
        density = np.diff(np.linspace(0.001, 0.999, 400)) / np.diff(np.log(edges))
        left.plot(edges[1:], density, color=colour, label=f"{number} access{'es' if number > 1 else ''}")
        elapsed = np.linspace(0.0, 10.0, 60)
        right.plot(elapsed, belief.current_probability(np.repeat(page, 60), elapsed), color=colour)
    left.axvline(0.3, color="#888888", linestyle=":")
    left.set(xscale="log", xlabel="change rate", ylabel="density of ln rate", xlim=(1e-3, 1e2))
    left.legend(frameon=False)
    right.plot(elapsed, np.exp(-0.3 * elapsed), ":", color="#888888", label="true rate 0.3")
    right.set(ylim=(0, 1), xlabel="time since the last access", ylabel="probability that the copy is current")
    right.legend(frameon=False)
    return figure


def main() -> None:
    """Draw all of them."""
    mpl.rcParams.update({"svg.hashsalt": "recrawl", "font.size": 9, "svg.fonttype": "path"})
    (HERE / "figures").mkdir(exist_ok=True)
    for draw in (which_page, how_many_robots, when_to_switch, beliefs):
        name = draw.__name__.replace("_", "-")
        draw().savefig(HERE / "figures" / f"{name}.svg", metadata={"Date": None}, facecolor="white")
        plt.close("all")


if __name__ == "__main__":
    main()
