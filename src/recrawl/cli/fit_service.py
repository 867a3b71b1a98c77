"""`recrawl fit service`: how long does a page take?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from recrawl.cli._fit import (
    Json,
    Log,
    Out,
    Plot,
    choice,
    numbers,
    plot_service,
    say,
    service_document,
    whole_numbers,
    write_document,
)
from recrawl.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from recrawl.estimate import PhaseTypeFit, Sample

__all__ = ["service"]


def service(
    log: Log = None,
    column: Annotated[
        str, typer.Option(metavar="NAME", help="Column of service times, or of sizes (with --work-rate).")
    ] = "time",
    censored_column: Annotated[
        str | None, typer.Option(metavar="NAME", help="Column that is 1 where the time had not ended yet.")
    ] = None,
    work_rate: Annotated[
        float, typer.Option(help="Size that is worked off per unit of time; times are sizes over this.")
    ] = 1.0,
    method: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="acyclic, hyper-erlang, phase-type (EM), moments-2 or moments-3 (matching)."
        ),
    ] = "acyclic",
    orders: Annotated[str, typer.Option(metavar="N,N,...", help="Numbers of phases to try.")] = "1,2,3,4",
    criterion: Annotated[str, typer.Option(metavar="bic|aic", help="What chooses among orders.")] = "bic",
    iterations: Annotated[int, typer.Option(min=1, help="Most iterations of EM.")] = 1000,
    seed: Annotated[int, typer.Option(help="Of the starting point of phase-type.")] = 1,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Drop and count unreadable lines.")] = False,
    moments: Annotated[
        str | None, typer.Option(metavar="M1,M2,M3", help="Instead of a log: raw moments of sizes or times.")
    ] = None,
    out: Out = None,
    plot: Plot = None,
    as_json: Json = False,
) -> None:
    """How long does a page take? A phase-type law from a log of times or sizes.

    Example: recrawl fit service deliveries.csv --column bytes --work-rate 100000 --out service.json

    Example: recrawl fit service --moments 49207.0356,2.0527e11,2.5773e18 --work-rate 6000 --json
    """
    if not work_rate > 0:
        raise ConfigError(f"--work-rate must be positive, not {work_rate}")
    if (log is None) == (moments is None):
        raise ConfigError("give either a LOG.csv or --moments")
    choice(criterion, ("bic", "aic"), "--criterion")
    if moments is not None:
        _tell_service(_service_from_moments(moments, work_rate), out, as_json)
        return
    assert log is not None
    from recrawl.estimate import Sample
    from recrawl.tables.logs import read_times

    times, censored, dropped = read_times(
        log, column=column, censored_column=censored_column, skip_bad=skip_bad
    )
    times = times / work_rate
    sample = Sample.of(times, censored)
    fit = _fit_service(sample, method, whole_numbers(orders, "--orders"), criterion, iterations, seed)
    say([*fit.warnings, *([f"{dropped} lines without a positive number were dropped"] if dropped else [])])
    if plot:
        plot_service(plot, fit, times, f"{fit.times:g} times, {fit.method}, order {fit.law.order}")
    _tell_service({**service_document(fit), "dropped": dropped}, out, as_json)


def _fit_service(
    sample: Sample, method: str, orders: list[int], criterion: str, iterations: int, seed: int
) -> PhaseTypeFit:
    from recrawl.estimate import fit_phase_type
    from recrawl.estimate.phase_fits import METHODS

    choice(method, METHODS, "--method")
    fit: Callable[..., PhaseTypeFit] = fit_phase_type
    return fit(
        sample,
        method=method,
        orders=orders,
        criterion=criterion,
        iterations=iterations,
        tolerance=1e-7,
        seed=seed,
    )


def _service_from_moments(moments: str, work_rate: float) -> dict[str, Any]:
    from recrawl.estimate import from_three_moments, from_two_moments
    from recrawl.estimate.phase_fits import moments_of

    given = [value / work_rate**n for n, value in enumerate(numbers(moments, "--moments"), start=1)]
    if len(given) == 2:
        law = from_two_moments(given[0], given[1] / given[0] ** 2 - 1.0)
    elif len(given) == 3:
        law = from_three_moments(*given)
    else:
        raise ConfigError(f"--moments takes two or three raw moments, not {len(given)}")
    names = ("mean", "second_moment", "third_moment")
    return {
        "method": f"moments-{len(given)}",
        "order": law.order,
        "alpha": law.alpha.tolist(),
        "S": law.S.tolist(),
        "mean": law.mean,
        "scv": law.scv,
        "loglik": None,
        "aic": None,
        "converged": True,
        "empirical": dict(zip(names, given, strict=False)),
        "fitted": dict(zip(names, moments_of(law), strict=True)),
        "warnings": [],
    }


def _tell_service(document: dict[str, Any], out: Path | None, as_json: bool) -> None:
    from recrawl.cli._output import print_json, print_table, significant

    if out:
        write_document(document, out)
    if as_json:
        print_json(document)
        return
    rows = [
        [name.replace("_", " "), significant(document["empirical"].get(name)), significant(value)]
        for name, value in document["fitted"].items()
    ]
    likelihood = (
        "" if document["loglik"] is None else f", log-likelihood {significant(document['loglik'], 8)}"
    )
    print_table(
        ["", "log" if likelihood else "given", "fitted"],
        rows,
        title=f"Phase-type law of order {document['order']}, mean {significant(document['mean'])}, "
        f"scv {significant(document['scv'])}",
        caption=f"{document['method']}{likelihood}",
    )
    _print_phases(document)


def _print_phases(document: dict[str, Any]) -> None:
    from recrawl.cli._output import print_table, significant

    order = document["order"]
    print_table(
        ["phase", "start", *[f"to {k + 1}" for k in range(order)], "end"],
        [
            [
                str(k + 1),
                significant(document["alpha"][k]),
                *["-" if k == other else significant(document["S"][k][other]) for other in range(order)],
                significant(abs(sum(document["S"][k]))),
            ]
            for k in range(order)
        ],
        title="Phases: where they start, and their rates",
    )
