"""`recrawl simulate fleet`: the index queue played out, beside the exact answer."""

from __future__ import annotations

from typing import Annotated, Any

import typer

__all__ = ["register"]


def register(group: typer.Typer) -> None:
    """Hang the command into `recrawl simulate`."""
    group.command()(fleet)


def fleet(
    service: Annotated[str, typer.Option(metavar="LAW", help="Time to index one page.")],
    capacity: Annotated[int, typer.Option(metavar="K", help="Most pages in buffer and indexer.")],
    robot_rate: Annotated[
        float, typer.Option(metavar="R", help="Pages that one robot brings per unit of time.")
    ],
    robots: Annotated[int, typer.Option(metavar="N", min=1, help="Number of robots.")] = 1,
    obsolete_after: Annotated[
        float | None, typer.Option(metavar="T", help="Mean time after which a waiting page is obsolete.")
    ] = None,
    arrivals: Annotated[int, typer.Option(metavar="N", min=60, help="Pages to play.")] = 3_000_000,
    seed: Annotated[int, typer.Option(metavar="S", min=0, help="Seed of the random numbers.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """An index queue fed by robots: starvation, loss, obsolete pages, response time.

    Example: recrawl simulate fleet --robot-rate 0.03 --robots 7 --service two-task:2,10,0.35 --capacity 15
    """
    from recrawl.cli._output import print_json, print_table, significant
    from recrawl.fleet import solve, solve_obsolescent
    from recrawl.laws.law import positive
    from recrawl.simulate import simulate_fleet
    from recrawl.tables.laws import read_law

    law = read_law(service)
    load = positive("robot rate", robot_rate) * robots * law.mean
    rate = 0.0 if obsolete_after is None else 1.0 / positive("obsolete after", obsolete_after)
    exact: dict[str, float | None]
    if rate:
        queue = solve_obsolescent(law, load, capacity, rate)
        exact = {
            "starvation": queue.starvation,
            "loss": queue.loss,
            "obsolete": queue.obsolete,
            "response_time": None,
        }
    else:
        plain = solve(law, load, capacity)
        exact = {
            "starvation": plain.starvation,
            "loss": plain.loss,
            "obsolete": 0.0,
            "response_time": plain.response_time,
        }
    played = simulate_fleet(law, load, capacity, obsolescence_rate=rate, arrivals=arrivals, seed=seed)
    document: dict[str, Any] = {"load": load, "arrivals": played.arrivals, "confidence": played.confidence}
    for name, value in exact.items():
        estimate = getattr(played, name)
        document[name] = {"exact": value, "simulated": estimate.value, "half_width": estimate.half_width}
    if as_json:
        print_json(document)
        return
    print_table(
        ["measure", "exact", "simulated", "± (95 %)"],
        [
            [
                name.replace("_", " "),
                *[significant(document[name][key]) for key in ("exact", "simulated", "half_width")],
            ]
            for name in exact
        ],
        title=f"{played.arrivals:,} pages, load {significant(load)}",
    )
