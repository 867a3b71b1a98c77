"""`recrawl simulate control`: the crawl queue played out, beside the exact numbers."""

from __future__ import annotations

from typing import Annotated

import typer

from recrawl.cli.control import Json, ModelFile, Modes, Repair, Thresholds, chosen_policy, load_model

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Hang the command into the group `recrawl simulate`."""
    app.command("control")(simulate_control)


def simulate_control(
    model: ModelFile,
    modes: Modes = None,
    thresholds: Thresholds = None,
    arrivals: Annotated[int, typer.Option(metavar="N", help="Pages that arrive in the run.")] = 3_000_000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random numbers.")] = 1,
    repair: Repair = False,
    as_json: Json = False,
) -> None:
    """Simulate a crawl queue under a policy (the best thresholds by default), with 95 % confidence intervals.

    Example: recrawl simulate control control_table1.toml --modes 3,1 --thresholds 2
    """
    from recrawl.cli._control import in_words
    from recrawl.cli._output import print_json, print_table, significant
    from recrawl.control import best_thresholds, measure
    from recrawl.simulate.control import simulate_queue

    queue = load_model(model, repair)
    if modes is None and thresholds is None:
        policy = best_thresholds(queue).best.policy
    else:
        policy = chosen_policy(queue, modes, thresholds)
    found = simulate_queue(queue, policy, arrivals=arrivals, seed=seed)
    exact = measure(queue, policy)
    rows = {
        name: {"exact": getattr(exact, name), "simulated": estimate.value, "half_width": estimate.half_width}
        for name, estimate in found.estimates.items()
    }
    if as_json:
        print_json(
            {
                "modes": policy.modes,
                "thresholds": policy.thresholds,
                "arrivals": found.arrivals,
                "confidence": found.confidence,
                "measures": rows,
                "level_probability": [
                    {"exact": p, "simulated": e.value, "half_width": e.half_width}
                    for p, e in zip(exact.level_probability, found.level_probability, strict=True)
                ],
            }
        )
        return
    print_table(
        ["", "exact", "simulated", "±", "inside"],
        [
            [
                name.replace("_", " "),
                significant(row["exact"], 6),
                significant(row["simulated"], 6),
                significant(row["half_width"], 2),
                "yes" if abs(row["exact"] - row["simulated"]) <= row["half_width"] else "no",
            ]
            for name, row in rows.items()
        ],
        title=in_words(policy),
        caption=f"{found.arrivals:,} pages, {found.confidence:.0%} confidence: one in twenty may lie outside",
    )
