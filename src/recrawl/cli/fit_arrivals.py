"""`recrawl fit arrivals`: how do pages arrive?"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recrawl.cli._fit import (
    Json,
    Log,
    Out,
    Plot,
    arrival_document,
    choice,
    duration,
    numbers,
    plot_arrivals,
    say,
    whole_numbers,
    write_document,
)
from recrawl.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

    from recrawl.estimate import ArrivalFit
    from recrawl.tables.logs import DeliveryLog

__all__ = ["arrivals"]


def arrivals(
    log: Log = None,
    time_column: Annotated[
        str, typer.Option(metavar="NAME", help="Column of delivery times: Unix seconds or ISO dates.")
    ] = "time",
    split: Annotated[
        str | None, typer.Option(metavar="NAME", help="Column that names the run of a line.")
    ] = None,
    mode_column: Annotated[
        str | None, typer.Option(metavar="NAME", help="Column with the number of active robots.")
    ] = None,
    counts: Annotated[
        bool,
        typer.Option("--counts", help="Lines are numbers of deliveries per --interval, spread evenly in it."),
    ] = False,
    interval: Annotated[str, typer.Option(metavar="TIME", help="Interval of --counts.")] = "1s",
    count_column: Annotated[
        str | None, typer.Option(metavar="NAME", help="Column of --counts (default: the first).")
    ] = None,
    ties: Annotated[
        str, typer.Option(metavar="batch|spread", help="Equal times are a batch, or lie within --resolution.")
    ] = "batch",
    resolution: Annotated[
        str, typer.Option(metavar="TIME", help="Rounding of times for --ties spread.")
    ] = "1s",
    batch_within: Annotated[
        str, typer.Option(metavar="TIME", help="Deliveries this close to the one before join its batch.")
    ] = "0",
    stop_after: Annotated[
        str | None, typer.Option(metavar="TIME", help="Longer gaps are stops of the crawler: deleted.")
    ] = None,
    sort: Annotated[bool, typer.Option("--sort", help="Sort the times first (in memory).")] = False,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Drop and count unreadable lines.")] = False,
    family: Annotated[
        str, typer.Option(metavar="map|mmpp|two-state", help="What to fit; two-state: from moments.")
    ] = "map",
    orders: Annotated[str, typer.Option(metavar="N,N,...", help="Numbers of phases to try.")] = "1,2,3",
    criterion: Annotated[str, typer.Option(metavar="bic|aic", help="What chooses among orders.")] = "bic",
    batches: Annotated[
        str, typer.Option(metavar="independent|marks", help="Sizes independent of the phase, or not.")
    ] = "independent",
    iterations: Annotated[int, typer.Option(min=1, help="Most iterations of EM.")] = 500,
    seed: Annotated[int, typer.Option(help="Of starting points and of spreading.")] = 1,
    mean: Annotated[
        float | None, typer.Option(help="Instead of a log: mean gap (with --variance, --correlations).")
    ] = None,
    variance: Annotated[float | None, typer.Option(help="Instead of a log: variance of the gaps.")] = None,
    correlations: Annotated[
        str | None, typer.Option(metavar="C,C,...", help="Instead of a log: correlations from lag 1.")
    ] = None,
    batch_sizes: Annotated[
        str | None, typer.Option(metavar="P,P,...", help="Instead of a log: shares of batches of 1, 2, ...")
    ] = None,
    slow_weight: Annotated[
        float, typer.Option(help="Instead of a log: share of gaps in the slow phase.")
    ] = 0.5,
    out: Out = None,
    plot: Plot = None,
    as_json: Json = False,
) -> None:
    """How do pages arrive? A (batch) Markovian arrival process from a log of deliveries.

    Example: recrawl fit arrivals deliveries.csv --time-column time --orders 1,2 --out arrivals.json

    Example: recrawl fit arrivals --mean 212.03 --variance 51352.38 --correlations 0.622,0.574,0.555 --json
    """
    if log is None:
        if mean is None or variance is None or correlations is None:
            raise ConfigError("give a LOG.csv, or --mean, --variance and --correlations")
        document = _printed(mean, variance, correlations, batch_sizes, slow_weight)
        _tell_printed(document, out, as_json)
        return
    if mean is not None or variance is not None or correlations is not None or batch_sizes is not None:
        raise ConfigError("--mean, --variance, --correlations and --batch-sizes stand instead of a log")
    choice(ties, ("batch", "spread"), "--ties")
    choice(family, ("map", "mmpp", "two-state"), "--family")
    choice(criterion, ("bic", "aic"), "--criterion")
    choice(batches, ("independent", "marks"), "--batches")
    from recrawl.tables.logs import read_counts, read_deliveries

    within = duration(batch_within, "--batch-within")
    longest = duration(stop_after, "--stop-after") if stop_after else math.inf
    if counts:
        read = read_counts(
            log,
            interval=duration(interval, "--interval"),
            count_column=count_column,
            batch_within=within,
            stop_after=longest,
            seed=seed,
        )
    else:
        read = read_deliveries(
            log,
            time_column=time_column,
            split=split,
            mode_column=mode_column,
            ties="batch" if ties == "batch" else "spread",
            resolution=duration(resolution, "--resolution"),
            batch_within=within,
            stop_after=longest,
            sort=sort,
            skip_bad=skip_bad,
            seed=seed,
        )
    fits = _fit_modes(read, family, whole_numbers(orders, "--orders"), criterion, batches, iterations, seed)
    _tell_arrivals(read, fits, criterion, out, plot, as_json)


def _printed(
    mean: float, variance: float, correlations: str, batch_sizes: str | None, slow_weight: float
) -> dict[str, Any]:
    from recrawl.estimate.fit import from_moments

    lags = numbers(correlations, "--correlations")
    shares = numbers(batch_sizes, "--batch-sizes") if batch_sizes else [1.0]
    process, two = from_moments(mean, variance, lags, shares, weight=slow_weight)
    say(two.warnings)
    fitted = [process.interval_correlation(lag) for lag in range(1, len(lags) + 1)]
    return {
        "method": "two-state process from moments",
        "order": 2,
        "D": process.D.tolist(),
        "rate": process.rate,
        "batch_mean": process.rate / process.batch_rate,
        "loglik": None,
        "aic": None,
        "converged": True,
        "decay": two.decay,
        "correlation_bound": two.correlation_bound,
        "empirical": {"mean": mean, "scv": variance / mean**2, "lag_correlations": lags},
        "fitted": {
            "mean": process.interval_mean,
            "scv": process.interval_variance / process.interval_mean**2,
            "lag_correlations": fitted,
        },
        "warnings": list(two.warnings),
    }


def _tell_printed(document: dict[str, Any], out: Path | None, as_json: bool) -> None:
    from recrawl.cli._output import print_json, print_table, significant

    if out:
        write_document(document, out)
    if as_json:
        print_json(document)
        return
    seen, fitted = document["empirical"], document["fitted"]
    rows = [["mean gap", seen["mean"], fitted["mean"]], ["scv of gaps", seen["scv"], fitted["scv"]]]
    pairs = zip(seen["lag_correlations"], fitted["lag_correlations"], strict=True)
    rows += [[f"correlation at lag {lag}", *pair] for lag, pair in enumerate(pairs, start=1)]
    print_table(
        ["", "given", "fitted"],
        [[str(row[0]), significant(row[1]), significant(row[2])] for row in rows],
        title=f"Two-state process, {significant(document['rate'])} pages per unit of time",
        caption=f"decay {significant(document['decay'])}; lag-1 correlations can reach "
        f"{significant(document['correlation_bound'])}",
    )


def _fit_modes(
    read: DeliveryLog,
    family: str,
    orders: list[int],
    criterion: str,
    batches: str,
    iterations: int,
    seed: int,
) -> dict[int, ArrivalFit]:
    """One fit for each number of robots, all of one order: the best by the sum of their criteria."""
    from recrawl.cli._output import progress
    from recrawl.estimate import fit_arrivals
    from recrawl.estimate.fit import fit_two_state

    if family == "two-state":
        return {mode: fit_two_state(done.gaps) for mode, done in read.modes.items()}
    together = [orders] if len(read.modes) == 1 else [[order] for order in orders]
    rounds = []
    with progress("EM", iterations * len(orders) * len(read.modes)) as advance:
        for group in together:
            fits = {
                mode: fit_arrivals(
                    done.gaps,
                    family="mmpp" if family == "mmpp" else "map",
                    orders=group,
                    batches="marks" if batches == "marks" else "independent",
                    criterion="aic" if criterion == "aic" else "bic",
                    iterations=iterations,
                    seed=seed,
                    on_step=advance,
                )
                for mode, done in read.modes.items()
            }
            rounds.append((sum(fit.aic if criterion == "aic" else fit.bic for fit in fits.values()), fits))
    return min(rounds, key=lambda entry: entry[0])[1]


def _tell_arrivals(
    read: DeliveryLog,
    fits: dict[int, ArrivalFit],
    criterion: str,
    out: Path | None,
    plot: Path | None,
    as_json: bool,
) -> None:
    from recrawl.cli._output import print_json

    documents = []
    for mode, fit in fits.items():
        done = read.modes[mode]
        say([*done.warnings, *fit.warnings])
        prepared = {
            "deliveries": done.deliveries,
            "runs": done.runs,
            "batch_within": done.batch_within,
            "joined": done.joined,
            "stop_after": done.stop_after,
            "stops": done.stops,
            "stopped_time": done.stopped_time,
        }
        documents.append({"robots": mode or None, **arrival_document(fit), "preparation": prepared})
    say(read.notes)
    document = max(documents, key=lambda entry: entry["gaps"])
    whole = {**document, "lines": read.lines, "dropped": read.dropped, "notes": list(read.notes)}
    if len(documents) > 1:
        whole["modes"] = documents
    if out:
        write_document(whole, out)
    if plot:
        mode = max(fits, key=lambda number: fits[number].gaps)
        title = f"{fits[mode].gaps} gaps, {fits[mode].method}, order {fits[mode].order}"
        plot_arrivals(plot, fits[mode], read.modes[mode].gaps.times, title)
    if as_json:
        print_json(whole)
        return
    for mode, fit in fits.items():
        _print_arrivals(read, mode, fit, criterion)


def _print_arrivals(read: DeliveryLog, mode: int, fit: ArrivalFit, criterion: str) -> None:
    from recrawl.cli._output import print_table, significant

    done = read.modes[mode]
    seen, fitted = fit.empirical, fit.fitted
    rows: list[tuple[str, float, float]] = [
        ("pages per unit of time", seen.rate, fitted.rate),
        ("mean gap", seen.mean, fitted.mean),
        ("scv of gaps", seen.scv, fitted.scv),
        ("mean batch", seen.batch_mean, fitted.batch_mean),
        *[
            (f"correlation at lag {k + 1}", seen.lag_correlations[k], fitted.lag_correlations[k])
            for k in range(3)
        ],
        *[
            (f"dispersion of counts in {significant(width, 3)}", seen.dispersion[k], fitted.dispersion[k])
            for k, width in enumerate(seen.windows)
        ],
    ]
    stops = f", {done.stops} stops deleted" if done.stops else ""
    tried = "; ".join(f"order {order}: {significant(score, 8)}" for order, score in fit.tried)
    print_table(
        ["", "log", "fitted"],
        [[name, significant(log), significant(model)] for name, log, model in rows],
        title=(f"{mode} robots: " if mode else "")
        + f"{done.deliveries} deliveries in {fit.gaps} gaps and {done.runs} runs{stops}",
        caption=f"{fit.method}, order {fit.order}, {'' if fit.converged else 'not '}converged after "
        f"{fit.iterations} iterations, log-likelihood {significant(fit.loglik, 8)}"
        + (f"\n{criterion}: {tried}" if tried else ""),
    )
