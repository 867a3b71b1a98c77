"""What `recrawl control` prints."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from recrawl.cli._output import new_figure, print_json, print_table, progress, save_figure, significant
from recrawl.control import (
    Solved,
    best_full_state,
    best_queue_length,
    best_thresholds,
    best_within,
    cost_curve,
    near_queue_length,
    pareto_front,
)
from recrawl.control.policies import mode_sets, threshold_count
from recrawl.errors import ConfigError, InvalidModel, NotConverged

if TYPE_CHECKING:
    from pathlib import Path

    from recrawl.control import Evaluator, FullState, Limits, Measures, Model, Optimum, Policy

__all__ = ["show_front", "show_limits", "show_optimum", "show_policy"]

_WORDS = {
    "cost": "cost (2)",
    "arrival_rate": "pages arriving per unit of time",
    "loss": "share of pages lost",
    "obsolete": "share of pages obsolete",
    "success": "share of pages indexed",
    "starvation": "share of time starving",
    "active_robots": "active robots, mean",
    "throughput": "pages indexed per unit of time",
    "mean_pages": "pages in the system, mean",
    "mean_queue": "pages waiting, mean",
    "response_time": "stay of indexed pages, mean",
    "response_variance": "  its variance",
    "obsolete_time": "stay of obsolete pages, mean",
    "obsolete_variance": "  its variance",
    "sojourn_time": "stay of all pages, mean",
    "sojourn_variance": "  its variance",
}


def in_words(policy: Policy) -> str:
    """A policy as a sentence: "3 robots up to 2 pages, then 1"."""
    parts: list[str] = []
    last = -1
    for robots, threshold in zip(policy.modes, policy.thresholds, strict=False):
        if threshold > last:
            parts.append(f"{robots} robot{'s' * (robots > 1)} up to {threshold} page{'s' * (threshold != 1)}")
        last = threshold
    fewest = policy.modes[-1]
    if not parts:
        return f"always {fewest} robot{'s' * (fewest > 1)}"
    return ", ".join([*parts, f"then {fewest}"])


def _table_of(measures: Measures, title: str) -> None:
    rows = [[words, significant(getattr(measures, name), 6)] for name, words in _WORDS.items()]
    print_table(
        ["", "value"],
        rows,
        title=title,
        caption=f"{measures.states} states, {measures.method}, residual {measures.residual:.1e}",
    )


def show_policy(model: Model, policy: Policy, within: str | None, plot: Path | None, as_json: bool) -> None:
    """All numbers of one policy."""
    solved = Solved(model, policy)
    measures = solved.measures()
    document: dict[str, Any] = {
        "modes": policy.modes,
        "thresholds": policy.thresholds,
        **asdict(measures),
    }
    if within is not None:
        document["stays"] = _stays(solved, within)
    if plot is not None:
        _draw_levels(measures, model.assignment(policy), model, plot)
    if as_json:
        print_json(document)
        return
    _table_of(measures, in_words(policy))
    for stay in document.get("stays", []):
        sys.stdout.write(
            f"within {stay['time']:g}: share {significant(stay['served'])} of indexed, "
            f"{significant(stay['obsolete'])} of obsolete, {significant(stay['all'])} of all have left\n"
        )


def _stays(solved: Solved, within: str) -> list[dict[str, float | None]]:
    try:
        times = [float(part) for part in within.split(",")]
    except ValueError:
        raise ConfigError(f"--within must be numbers separated by commas, not {within!r}") from None
    expires = solved.rates["obsolete"] > 0
    return [
        {
            "time": t,
            "served": solved.distribution(t, "served"),
            "obsolete": solved.distribution(t, "obsolete") if expires else None,
            "all": solved.distribution(t),
        }
        for t in times
    ]


def _draw_levels(measures: Measures, assignment: tuple[int, ...], model: Model, path: Path) -> None:
    figure, axes = new_figure(8.0, 4.2)
    levels = range(len(measures.level_probability))
    robots = [model.numbers[place] for place in assignment]
    for number in sorted(set(robots), reverse=True):
        heights = [p if robots[i] == number else 0.0 for i, p in enumerate(measures.level_probability)]
        axes[0].bar(levels, heights, label=f"{number} robot{'s' * (number > 1)} active")
    axes[0].set_xlabel("pages in the system")
    axes[0].set_ylabel("probability")
    axes[0].legend(frameon=False)
    save_figure(figure, path)


def _bounds(evaluator: Evaluator, best_policy: Policy, skip: bool) -> tuple[dict[str, Any], FullState | None]:
    """Costs of wider classes of policies; null with a reason where they cannot be had."""
    found: dict[str, Any] = {"queue_length": None, "full_state": None, "reason": None}
    if skip:
        found["reason"] = "skipped by --no-bounds"
        return found, None
    reasons = []
    try:
        best = best_queue_length(evaluator)
        found |= {"queue_length": best.cost, "queue_length_robots": best.robots}
    except (InvalidModel, NotConverged) as error:
        reasons.append(f"queue_length: {error}")
        found |= _near(evaluator, best_policy)
    full: FullState | None = None
    try:
        full = best_full_state(evaluator)
        found |= {"full_state": full.cost, "full_state_proven": full.bound}
    except (InvalidModel, NotConverged) as error:
        reasons.append(f"full_state: {error}")
    found["reason"] = "; ".join(reasons) or None
    return found, full


def _near(evaluator: Evaluator, policy: Policy) -> dict[str, Any]:
    """What changing single queue lengths can save, where that is quick."""
    model = evaluator.model
    if evaluator.work * 10 * len(model.modes) * (model.capacity + 1) > 3e9:
        return {}
    near = near_queue_length(evaluator, policy.robots(model.capacity))
    return {"queue_length_found": near.cost, "queue_length_robots": near.robots}


def show_optimum(
    evaluator: Evaluator, no_bounds: bool, policy_table: Path | None, plot: Path | None, as_json: bool
) -> None:
    """The best thresholds of every set of modes, beside what other policies could reach."""
    model = evaluator.model
    with progress("policies", threshold_count(model)) as tell:
        optimum = best_thresholds(model, evaluator, tell)
    measures = Solved(model, optimum.best.policy, chain=evaluator.chain).measures()
    bounds, full = _bounds(evaluator, optimum.best.policy, no_bounds)
    if policy_table is not None:
        if full is None:
            raise InvalidModel(f"there is no policy table: {bounds['reason']}")
        _write_policy(evaluator, full, policy_table)
    if plot is not None:
        _draw_curves(evaluator, plot)
    if as_json:
        print_json({**_optimum_document(optimum, measures, bounds), "curves": _curves(evaluator)})
    else:
        _print_optimum(optimum, measures, bounds)


def _curves(evaluator: Evaluator) -> list[dict[str, Any]]:
    """Cost against the threshold for every pair of modes."""
    return [
        {"modes": modes, "costs": cost_curve(evaluator, (modes[0], modes[1]))}
        for modes in mode_sets(evaluator.model)
        if len(modes) == 2
    ]


def _optimum_document(optimum: Optimum, measures: Measures, bounds: dict[str, Any]) -> dict[str, Any]:
    return {
        "fixed": [{"robots": c.modes[0], "cost": c.cost} for c in optimum.fixed],
        "combinations": [asdict(c) for c in optimum.combinations],
        "best": {**asdict(optimum.best), "measures": asdict(measures)},
        "profit_percent": optimum.profit_percent,
        "bounds": bounds,
        "search": optimum.search,
        "policies": optimum.policies,
        "states": measures.states,
        "method": measures.method,
        "residual": measures.residual,
    }


def _print_optimum(optimum: Optimum, measures: Measures, bounds: dict[str, Any]) -> None:
    rows = [
        [
            " or ".join(map(str, c.modes)),
            ", ".join(map(str, c.thresholds)) or "-",
            significant(c.cost, 6),
            "best" if c == optimum.best else "",
        ]
        for c in optimum.combinations
    ]
    print_table(
        ["robots", "thresholds", "cost", ""],
        rows,
        title="The best thresholds of every set of modes",
        caption=f"{optimum.policies} policies by {optimum.search}",
        left=2,
    )
    _table_of(measures, f"Best: {in_words(optimum.best.policy)}")
    fixed = min(optimum.fixed, key=lambda c: c.cost)
    sys.stdout.write(
        f"{in_words(optimum.best.policy)}: cost {significant(optimum.best.cost, 6)}, "
        f"{optimum.profit_percent:.1f} % below {in_words(fixed.policy)} ({significant(fixed.cost, 6)}).\n"
    )
    _print_bounds(optimum.best.cost, bounds)


def _print_bounds(cost: float, bounds: dict[str, Any]) -> None:
    if bounds["queue_length"] is not None:
        gap = cost - bounds["queue_length"]
        robots = ", ".join(map(str, bounds["queue_length_robots"]))
        text = (
            "no policy that sees only the queue length is cheaper"
            if gap <= 1e-9 * cost
            else f"any mode at any queue length: {significant(bounds['queue_length'], 6)} (robots {robots})"
        )
        sys.stdout.write(f"{text[0].upper()}{text[1:]}.\n")
    if bounds.get("queue_length_found") is not None:
        found, robots = bounds["queue_length_found"], ", ".join(map(str, bounds["queue_length_robots"]))
        text = (
            "Changing the robots at one or two queue lengths saves nothing"
            if found >= cost * (1.0 - 1e-9)
            else f"Other robots per queue length ({robots}) would cost {significant(found, 6)}"
        )
        sys.stdout.write(f"{text}.\n")
    if bounds["full_state"] is not None:
        saved = (1.0 - bounds["full_state"] / cost) * 100.0 if cost > 0 else 0.0
        sys.stdout.write(
            f"A controller that also sees the phases would reach {significant(bounds['full_state'], 6)} "
            f"({saved:.1f} % less); proven: not below {significant(bounds['full_state_proven'], 6)}.\n"
        )
    if bounds["reason"] and "--no-bounds" not in bounds["reason"]:
        sys.stdout.write(f"No bound on {bounds['reason']}.\n")


def _write_policy(evaluator: Evaluator, full: FullState, path: Path) -> None:
    """One row for each state: pages, phases, robots."""
    import csv

    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["pages", "waiting", "arrival_phase", "service_phase", "robots"])
        for state, number in zip(evaluator.chain.describe(), full.robots.tolist(), strict=True):
            writer.writerow([*state, number])


def show_limits(evaluator: Evaluator, limits: Limits, as_json: bool) -> None:
    """The cheapest policy within limits, and the prices that the limits imply."""
    found = best_within(evaluator, limits)
    if as_json:
        print_json(
            {
                "feasible": found.feasible,
                "limits": limits.named,
                "modes": found.policy.modes,
                "thresholds": found.policy.thresholds,
                "rest": found.rest,
                "values": found.values,
                "multipliers": found.multipliers,
                "gap": found.gap,
            }
        )
        return
    if not found.feasible:
        sys.stdout.write(
            "No threshold policy is within the limits. The nearest: " + in_words(found.policy) + ".\n"
        )
    rows = [
        [
            name,
            significant(value, 6),
            significant(limits.named.get(name), 6),
            significant(found.multipliers.get(name), 6),
        ]
        for name, value in found.values.items()
    ]
    print_table(["measure", "value", "limit", "implied cost coefficient"], rows, title=in_words(found.policy))
    if found.feasible:
        sys.stdout.write(
            f"Cost of what is not limited: {significant(found.rest, 6)}; "
            f"mixing policies within the limits would save {significant(max(found.gap, 0.0), 4)}.\n"
        )


def show_front(evaluator: Evaluator, names: list[str], plot: Path | None, as_json: bool) -> None:
    """Policies that no other beats in all named measures."""
    front = pareto_front(evaluator, names)
    if plot is not None:
        if len(names) != 2:
            raise ConfigError("--plot draws a front of two measures")
        _draw_front(names, front, plot)
    if as_json:
        print_json(
            [
                {
                    "modes": point.policy.modes,
                    "thresholds": point.policy.thresholds,
                    **dict(zip(names, point.values, strict=True)),
                    "cost": point.cost,
                }
                for point in front
            ]
        )
        return
    rows = [
        [in_words(p.policy), *(significant(v, 6) for v in p.values), significant(p.cost, 6)] for p in front
    ]
    print_table(["policy", *names, "cost"], rows, title="Not beaten in " + " and ".join(names))


def _draw_front(names: list[str], front: list[Any], path: Path) -> None:
    figure, axes = new_figure(7.0, 4.5)
    axes[0].plot([p.values[0] for p in front], [p.values[1] for p in front], "o-", drawstyle="steps-post")
    for point in front if len(front) <= 12 else []:
        label = f"{'/'.join(map(str, point.policy.modes))} at {','.join(map(str, point.policy.thresholds))}"
        axes[0].annotate(label, point.values, textcoords="offset points", xytext=(6, 4), fontsize=8)
    axes[0].margins(x=0.12)
    axes[0].set_xlabel(names[0])
    axes[0].set_ylabel(names[1])
    save_figure(figure, path)


def _draw_curves(evaluator: Evaluator, path: Path) -> None:
    """Cost against the threshold for every pair of modes, as in Figure 1."""
    if len(evaluator.model.modes) == 1:
        raise ConfigError("--plot draws costs against thresholds, and a single mode has none")
    figure, axes = new_figure(8.0, 4.8)
    for curve in _curves(evaluator):
        label = f"{curve['modes'][0]} or {curve['modes'][1]} robots"
        axes[0].plot(curve["costs"], "o-", markersize=3, label=label)
    axes[0].set_xlabel("threshold")
    axes[0].set_ylabel("cost")
    axes[0].legend(frameon=False, ncols=2)
    save_figure(figure, path)
