"""`recrawl control`: when to switch robots on and off."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from recrawl.control import Model, Policy

__all__ = ["ModelFile", "chosen_policy", "load_model", "register"]

ModelFile = Annotated[Path, typer.Argument(metavar="MODEL.toml", help="The crawl queue.", show_default=False)]
Modes = Annotated[str | None, typer.Option(metavar="N,N,...", help="Numbers of robots, from most to fewest.")]
Thresholds = Annotated[
    str | None,
    typer.Option(metavar="J,J,...", help="Thresholds between them: most robots while at most J pages."),
]
Repair = Annotated[
    bool, typer.Option("--repair", help="Give rows of D that do not sum to zero a new diagonal of D[0].")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of tables.")]


def register(root: typer.Typer) -> None:
    """Hang the command into the command line."""
    root.command("control")(control)


def control(
    model: ModelFile,
    modes: Modes = None,
    thresholds: Thresholds = None,
    within: Annotated[
        str | None,
        typer.Option(metavar="T,T,...", help="With a policy: the share of pages that stay at most T."),
    ] = None,
    max_loss: Annotated[
        float | None, typer.Option(metavar="P", help="At most this share of pages lost.")
    ] = None,
    max_obsolete: Annotated[
        float | None, typer.Option(metavar="P", help="At most this share of pages obsolete.")
    ] = None,
    max_starvation: Annotated[
        float | None, typer.Option(metavar="P", help="At most this share of time starving.")
    ] = None,
    max_response: Annotated[
        float | None, typer.Option(metavar="T", help="At most this mean response time.")
    ] = None,
    max_robots_mean: Annotated[
        float | None, typer.Option(metavar="N", help="At most this many robots on average.")
    ] = None,
    pareto: Annotated[
        str | None, typer.Option(metavar="A,B", help="The trade-off of two measures, e.g. loss,starvation.")
    ] = None,
    no_bounds: Annotated[
        bool, typer.Option("--no-bounds", help="Skip the bounds on policies that are no thresholds.")
    ] = False,
    policy_table: Annotated[
        Path | None,
        typer.Option(metavar="FILE.csv", help="Write the best policy that sees the phases as a table."),
    ] = None,
    repair: Repair = False,
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw the costs (png, svg, pdf).")] = None,
    as_json: Json = False,
) -> None:
    """The best thresholds of a crawl queue, or the numbers of a given policy.

    Example: recrawl control control_table1.toml --modes 3,1 --thresholds 2
    """
    from recrawl.cli import _control
    from recrawl.control import Evaluator, Limits
    from recrawl.errors import ConfigError

    queue = load_model(model, repair)
    limited = {
        "loss": max_loss,
        "obsolete": max_obsolete,
        "starvation": max_starvation,
        "response": max_response,
        "robot": max_robots_mean,
    }
    wants_limits = any(value is not None for value in limited.values())
    if modes is not None or thresholds is not None:
        if wants_limits or pareto or policy_table:
            raise ConfigError("limits, --pareto and --policy-table search for a policy: leave --modes out")
        _control.show_policy(queue, chosen_policy(queue, modes, thresholds), within, plot, as_json)
        return
    if within is not None:
        raise ConfigError("--within needs a policy: give --modes and --thresholds")
    if sum((wants_limits, pareto is not None, policy_table is not None)) > 1:
        raise ConfigError("ask for one of: limits, --pareto, --policy-table")
    evaluator = Evaluator(queue)
    if wants_limits:
        _control.show_limits(evaluator, Limits(**limited), as_json)
    elif pareto is not None:
        _control.show_front(evaluator, [name.strip() for name in pareto.split(",")], plot, as_json)
    else:
        _control.show_optimum(evaluator, no_bounds, policy_table, plot, as_json)


def load_model(path: Path, repair: bool) -> Model:
    """Read a model file; repairs are told on stderr."""
    from recrawl.tables.models import read_model

    return read_model(path, repair, lambda note: typer.echo(f"recrawl: {note}", err=True))


def _numbers(text: str, option: str) -> tuple[int, ...]:
    from recrawl.errors import ConfigError

    try:
        return tuple(int(part) for part in text.split(",")) if text.strip() else ()
    except ValueError:
        raise ConfigError(f"{option} must be whole numbers separated by commas, not {text!r}") from None


def chosen_policy(model: Model, modes: str | None, thresholds: str | None) -> Policy:
    """The policy of --modes and --thresholds, checked against the model."""
    from recrawl.control import Policy
    from recrawl.errors import ConfigError

    if modes is None:
        raise ConfigError("--thresholds needs --modes, the numbers of robots from most to fewest")
    policy = Policy(_numbers(modes, "--modes"), _numbers(thresholds or "", "--thresholds"))
    model.assignment(policy)
    return policy
