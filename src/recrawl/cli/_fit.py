"""What the commands of `recrawl fit` share: options that are lists or durations, documents, plots."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recrawl.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recrawl.estimate import ArrivalFit, ArrivalStatistics, PhaseTypeFit

__all__ = [
    "Json",
    "Log",
    "Out",
    "Plot",
    "arrival_document",
    "choice",
    "duration",
    "numbers",
    "plot_arrivals",
    "plot_service",
    "say",
    "service_document",
    "statistics_document",
    "whole_numbers",
    "write_document",
]

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of tables.")]
Out = Annotated[Path | None, typer.Option(metavar="FILE", help="Write the JSON document to this file.")]
Plot = Annotated[Path | None, typer.Option(metavar="FILE", help="Draw the fit (png, svg, pdf).")]

Log = Annotated[
    Path | None, typer.Argument(metavar="LOG.csv", help="The log (plain or gzip).", show_default=False)
]

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


def duration(text: str, option: str) -> float:
    """Seconds from `90`, `1.5s`, `10m`, `2h`, `1d` (a plain number is in the log's own unit).

    >>> duration("1.5m", "--interval")
    90.0
    """
    number = text.strip().rstrip("abcdefghijklmnopqrstuvwxyz")
    unit = text.strip()[len(number) :]
    try:
        value = float(number) * (_UNITS[unit] if unit else 1.0)
    except (ValueError, KeyError):
        raise ConfigError(f"{option} must be a time such as 90, 1.5s, 10m, 2h or 1d, not {text!r}") from None
    if not value >= 0:
        raise ConfigError(f"{option} must not be negative, not {text!r}")
    return value


def choice(value: str, allowed: Sequence[str], option: str) -> None:
    """Refuse a word that is not one of those allowed."""
    if value not in allowed:
        raise ConfigError(f"{option} must be one of {', '.join(allowed)}, not {value!r}")


def numbers(text: str, option: str) -> list[float]:
    """Numbers from `1,2.5,3`."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise ConfigError(f"{option} must be numbers with commas between them, not {text!r}") from None


def whole_numbers(text: str, option: str) -> list[int]:
    """Whole numbers from `1,2,3` or `1-4`."""
    first, dash, last = text.partition("-")
    try:
        found = list(range(int(first), int(last) + 1)) if dash else [int(part) for part in text.split(",")]
    except ValueError:
        found = []
    if not found or min(found) < 1:
        raise ConfigError(f"{option} must be whole numbers from 1 such as 1,2,3 or 1-4, not {text!r}")
    return found


def say(notes: Sequence[str]) -> None:
    """Warnings go to stderr, so that stdout stays what was asked for."""
    for note in notes:
        sys.stderr.write(f"recrawl: {note}\n")


def write_document(document: Any, path: Path) -> None:
    """Write one JSON document to a file."""
    from recrawl.cli._output import _plain

    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(_plain(document), indent=2, allow_nan=False) + "\n", encoding="utf-8")


def statistics_document(statistics: ArrivalStatistics) -> dict[str, Any]:
    """Statistics of a log or of a process."""
    return {
        "mean": statistics.mean,
        "scv": statistics.scv,
        "third_moment": statistics.third_moment,
        "lag_correlations": list(statistics.lag_correlations),
        "batch_mean": statistics.batch_mean,
        "batch_sizes": list(statistics.batch_sizes),
        "rate": statistics.rate,
        "windows": list(statistics.windows),
        "dispersion": list(statistics.dispersion),
    }


def arrival_document(fit: ArrivalFit) -> dict[str, Any]:
    """A fitted arrival process."""
    return {
        "method": fit.method,
        "order": fit.order,
        "D": fit.arrivals.D.tolist(),
        "rate": fit.arrivals.rate,
        "batch_mean": fit.fitted.batch_mean,
        "loglik": fit.loglik,
        "parameters": fit.parameters,
        "gaps": fit.gaps,
        "aic": fit.aic,
        "bic": fit.bic,
        "iterations": fit.iterations,
        "converged": fit.converged,
        "empirical": statistics_document(fit.empirical),
        "fitted": statistics_document(fit.fitted),
        "tried": [{"order": order, "criterion": score} for order, score in fit.tried],
        "warnings": list(fit.warnings),
    }


def service_document(fit: PhaseTypeFit) -> dict[str, Any]:
    """A fitted phase-type law."""
    names = ("mean", "second_moment", "third_moment")
    return {
        "method": fit.method,
        "order": fit.law.order,
        "alpha": fit.law.alpha.tolist(),
        "S": fit.law.S.tolist(),
        "mean": fit.law.mean,
        "scv": fit.law.scv,
        "loglik": fit.loglik,
        "parameters": fit.parameters,
        "times": fit.times,
        "aic": fit.aic,
        "bic": fit.bic,
        "iterations": fit.iterations,
        "converged": fit.converged,
        "empirical": dict(zip(names, fit.empirical_moments, strict=True)),
        "fitted": dict(zip(names, fit.fitted_moments, strict=True)),
        "tried": [{"order": order, "criterion": score} for order, score in fit.tried],
        "warnings": list(fit.warnings),
    }


def _survival(axes: Any, times: Any, law: Any, label: str) -> None:
    import numpy as np

    ordered = np.sort(times)
    share = 1.0 - np.arange(ordered.size) / ordered.size
    thin = np.unique(np.linspace(0, ordered.size - 1, 2000).astype(int))
    positive = ordered[ordered > 0]
    grid = np.geomspace(positive[0], ordered[-1], 200)
    axes.loglog(ordered[thin], share[thin], ".", markersize=3, label="log")
    axes.loglog(grid, np.maximum(1.0 - law.distribution(grid), 1e-12), label="fitted")
    axes.set_ylim(0.5 / ordered.size, 1.5)
    axes.set_xlabel(label)
    axes.set_ylabel("share longer than that")
    axes.legend()


def plot_arrivals(path: Path, fit: ArrivalFit, times: Any, title: str) -> None:
    """Survival of the gaps, their correlations, sizes of batches: of the log and fitted."""
    import numpy as np

    from recrawl.cli._output import new_figure, save_figure
    from recrawl.laws import PhaseType

    figure, (left, middle, right) = new_figure(width=13.0, columns=3)
    process = fit.arrivals
    after = process.phases @ process.D[1:].sum(axis=0) / process.batch_rate
    _survival(left, times, PhaseType(after, process.D[0]), "gap between batches")
    lags = np.arange(1, len(fit.empirical.lag_correlations) + 1)
    middle.plot(lags, fit.empirical.lag_correlations, "o", label="log")
    middle.plot(lags, fit.fitted.lag_correlations, "-", label="fitted")
    middle.axhline(0.0, color="grey", linewidth=0.5)
    middle.set_xlabel("lag (gaps)")
    middle.set_ylabel("correlation of gaps")
    middle.legend()
    sizes = np.arange(1, len(fit.empirical.batch_sizes) + 1)
    right.bar(sizes - 0.2, fit.empirical.batch_sizes, 0.4, label="log")
    right.bar(sizes + 0.2, fit.fitted.batch_sizes[: sizes.size], 0.4, label="fitted")
    right.set_yscale("log")
    right.set_xlabel("pages in a batch")
    right.set_ylabel("share of batches")
    right.legend()
    figure.suptitle(title)
    save_figure(figure, path)


def plot_service(path: Path, fit: PhaseTypeFit, times: Any, title: str) -> None:
    """Survival of the times: of the log and fitted."""
    from recrawl.cli._output import new_figure, save_figure

    figure, (axes,) = new_figure(width=6.5)
    _survival(axes, times, fit.law, "time")
    axes.set_title(title)
    save_figure(figure, path)
