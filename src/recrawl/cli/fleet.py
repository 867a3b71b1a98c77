"""`recrawl fleet`: how many robots?"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from recrawl.fleet import Allocation, Costs, IndexQueue, OptimalLoad, SmallestCapacity
    from recrawl.laws import Law

__all__ = ["register"]

# Longest curve that is printed; longer ones are thinned evenly.
_CURVE_POINTS = 500


def register(root: typer.Typer) -> None:
    """Hang the command into the command line."""
    root.command()(fleet)


Service = Annotated[
    str,
    typer.Option(
        metavar="LAW",
        help="Time to index one page, NAME:MEAN[,SCV]: exponential, deterministic, erlang, gamma, "
        "hyperexponential, lognormal, uniform; or two-task:MEAN1,MEAN2,P, phase-type:FILE, empirical:FILE.",
    ),
]
Capacity = Annotated[
    int,
    typer.Option(metavar="K", help="Most pages in buffer and indexer, the one being indexed included."),
]
StarvationWeight = Annotated[
    float, typer.Option(metavar="G", help="Cost of an idle indexer, where a lost page costs 1.")
]
RobotRate = Annotated[
    float | None, typer.Option(metavar="R", help="Pages that one robot brings per unit of time.")
]
Groups = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME:RATE,MOST[,LEAST[,PRICE]]",
        help="Instead of --robot-rate: robots of one speed or area; may be repeated.",
    ),
]
ResponseWeight = Annotated[
    float, typer.Option(metavar="C", help="Cost of one unit of mean time from arrival to indexed.")
]
ObsoleteAfter = Annotated[
    float | None,
    typer.Option(metavar="T", help="Mean time after which a waiting page is obsolete (for --tolerance)."),
]
Tolerance = Annotated[
    float | None,
    typer.Option(metavar="E", help="Also find the smallest capacity within E of an unbounded buffer's cost."),
]


def fleet(
    service: Service,
    capacity: Capacity,
    starvation_weight: StarvationWeight,
    robot_rate: RobotRate = None,
    group: Groups = None,
    max_robots: Annotated[int | None, typer.Option(metavar="N", help="Run at most N robots.")] = None,
    robot_price: Annotated[float, typer.Option(metavar="C", help="Cost of one active robot.")] = 0.0,
    response_weight: ResponseWeight = 0.0,
    obsolete_after: ObsoleteAfter = None,
    tolerance: Tolerance = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw into a PNG, SVG or PDF file.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """How many robots? The number at which the indexer neither starves nor overflows.

    Example: recrawl fleet --robot-rate 0.03 --service two-task:2,10,0.35 --capacity 15 --starvation-weight 2
    """
    from recrawl.errors import ConfigError
    from recrawl.fleet import Costs
    from recrawl.tables.laws import read_law

    if (robot_rate is None) == (not group):
        raise ConfigError("give either --robot-rate or --group")
    if obsolete_after is not None and tolerance is None:
        raise ConfigError("--obsolete-after needs --tolerance")
    law = read_law(service)
    costs = Costs(starvation_weight, response_weight, robot_price)
    if robot_rate is None:
        document = _groups(group or [], law, costs, capacity, max_robots, plot)
    else:
        document = _alike(robot_rate, law, costs, capacity, max_robots, plot)
    if tolerance is not None:
        _add_capacity(document, law, starvation_weight, obsolete_after, tolerance)
    _print(document, as_json)


def _alike(
    rate: float, law: Law, costs: Costs, capacity: int, max_robots: int | None, plot: Path | None
) -> dict[str, Any]:
    """Robots that are all alike."""
    from recrawl.fleet import in_words, limit_robots, optimal_robots, robot_curve

    choice = optimal_robots(law, rate, costs, capacity, max_robots=max_robots)
    top = max_robots or max(2 * choice.robots, choice.robots + 5)
    step = -(-top // _CURVE_POINTS)
    beside = [n for n in (choice.robots - 1, choice.robots, choice.robots + 1) if n >= 1]
    numbers = sorted({*range(1, top + 1, step), *beside})
    points = robot_curve(law, rate, costs, capacity, numbers)
    near = {number: (cost, queue) for number, cost, queue in points}
    best = _optimum(law, costs, capacity, costs.robot / (rate * law.mean))
    document = {
        "answer": in_words(choice, near[choice.robots + 1], near.get(choice.robots - 1)),
        **_queue(choice.queue, choice.cost),
        "robots": choice.robots,
        "robots_unbounded": limit_robots(law, rate, costs.starvation),
        **_optimal(best),
        "curve": [_point(number, cost, queue) for number, cost, queue in points if number <= top],
    }
    if plot is not None:
        _draw(plot, document, best)
    return document


def _groups(
    texts: list[str], law: Law, costs: Costs, capacity: int, max_robots: int | None, plot: Path | None
) -> dict[str, Any]:
    """Robots of different speeds, or in different areas."""
    from recrawl.errors import ConfigError
    from recrawl.fleet import allocate, allocation_in_words

    if plot is not None:
        raise ConfigError("--plot draws cost against the number of equal robots: it needs --robot-rate")
    found: Allocation = allocate(
        [_group(text) for text in texts], law, costs, capacity, most_robots=max_robots
    )
    return {
        "answer": allocation_in_words(found),
        **_queue(found.queue, found.cost),
        "robots": sum(found.robots.values()),
        "groups": found.robots,
        "exact": found.exact,
        "lower_bound": found.lower_bound,
        **_optimal(_optimum(law, costs, capacity, 0.0) if not costs.robot else None),
    }


def _group(text: str) -> Any:
    from recrawl.errors import ConfigError
    from recrawl.fleet import RobotGroup

    name, colon, rest = text.rpartition(":")
    parts = rest.split(",")
    try:
        rate, most, *others = parts
        least = int(others[0]) if others else 0
        price = float(others[1]) if len(others) > 1 else 0.0
        numbers = (float(rate), int(most), least, price)
    except ValueError:
        numbers = None
    if not colon or not name or numbers is None or len(parts) > 4:
        raise ConfigError(f"--group {text!r} should read NAME:RATE,MOST[,LEAST[,PRICE]]")
    return RobotGroup(name, *numbers)


def _optimum(law: Law, costs: Costs, capacity: int, load_price: float) -> OptimalLoad | None:
    """The optimal load, or None (and a word on stderr) where there is none."""
    from recrawl.errors import InvalidModel, NotConverged
    from recrawl.fleet import optimal_load

    try:
        return optimal_load(
            law, costs.starvation, capacity, response_weight=costs.response, load_price=load_price
        )
    except (InvalidModel, NotConverged) as error:
        sys.stderr.write(f"recrawl: no optimal load: {error}\n")
        return None


def _queue(queue: IndexQueue, cost: float) -> dict[str, Any]:
    return {
        "cost": cost,
        "load": queue.load,
        "starvation": queue.starvation,
        "loss": queue.loss,
        "mean_queue": queue.mean_queue,
        "response_time": queue.response_time,
        "throughput": queue.throughput,
        "method": queue.method,
    }


def _optimal(best: OptimalLoad | None) -> dict[str, Any]:
    return {
        "optimal_load": best and best.load,
        "optimal_cost": best and best.cost,
        "optimal_cost_bound": best and best.lower_bound,
        "local_minima": list(best.minima) if best else None,
    }


def _point(number: int, cost: float, queue: IndexQueue) -> dict[str, Any]:
    return {
        "robots": number,
        "load": queue.load,
        "cost": cost,
        "starvation": queue.starvation,
        "loss": queue.loss,
    }


def _add_capacity(
    document: dict[str, Any], law: Law, weight: float, obsolete_after: float | None, tolerance: float
) -> None:
    from recrawl.fleet import capacity_in_words, smallest_capacity
    from recrawl.laws.law import positive

    rate = 0.0 if obsolete_after is None else 1.0 / positive("obsolete after", obsolete_after)
    answer: SmallestCapacity = smallest_capacity(
        law, document["load"], weight, obsolescence_rate=rate, tolerance=tolerance
    )
    document["answer"] += " " + capacity_in_words(answer)
    document["smallest_capacity"] = answer.capacity
    document["smallest_capacity_cost"] = answer.cost
    document["unbounded_cost"] = answer.limit


def _print(document: dict[str, Any], as_json: bool) -> None:
    from recrawl.cli._output import print_json, print_table, significant

    if as_json:
        print_json(document)
        return
    typer.echo(document["answer"])
    best = document["optimal_load"]
    if best is not None:
        typer.echo(f"Best load {significant(best)}, cost {significant(document['optimal_cost'])}.")
    shown = _around(document.get("curve", []), document["robots"])
    if shown:
        print_table(
            ["robots", "load", "idle", "lost", "cost"],
            [
                [
                    f"{point['robots']}{' *' if point['robots'] == document['robots'] else ''}",
                    *[significant(point[name], 4) for name in ("load", "starvation", "loss", "cost")],
                ]
                for point in shown
            ],
        )


def _around(curve: list[dict[str, Any]], robots: int) -> list[dict[str, Any]]:
    """At most eleven points about the best."""
    places = [place for place, point in enumerate(curve) if point["robots"] <= robots]
    middle = places[-1] if places else 0
    return curve[max(0, middle - 5) : middle + 6]


def _draw(path: Path, document: dict[str, Any], best: OptimalLoad | None) -> None:
    from recrawl.cli._output import new_figure, save_figure

    figure, (left, right) = new_figure(columns=2)
    curve = document["curve"]
    robots = [point["robots"] for point in curve]
    left.plot(robots, [point["cost"] for point in curve], marker="." if len(curve) < 60 else "")
    left.plot([document["robots"]], [document["cost"]], "o", label=f"{document['robots']} robots")
    if best is not None:
        left.axhline(best.cost, linestyle=":", color="gray", label="best load")
    left.set(xlabel="robots", ylabel="cost")
    left.legend()
    right.plot(robots, [point["starvation"] for point in curve], label="indexer idle")
    right.plot(robots, [point["loss"] for point in curve], label="pages lost")
    right.axvline(document["robots"], linestyle=":", color="gray")
    right.set(xlabel="robots", ylabel="probability", ylim=(0, 1))
    right.legend()
    save_figure(figure, path)
