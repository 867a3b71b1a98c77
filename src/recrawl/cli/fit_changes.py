"""`recrawl fit changes`, `recrawl fit history` and `recrawl fit compare`."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recrawl.cli._fit import Json, Out, choice, duration, say, whole_numbers, write_document
from recrawl.errors import ConfigError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from recrawl.estimate.calibration import HistoryScore, Score
    from recrawl.tables.observations import ObservationTable

__all__ = ["changes", "compare", "history"]

_SHOWN = 20


def changes(
    observations: Annotated[
        Path, typer.Argument(metavar="OBSERVATIONS.csv", help="One line per access.", show_default=False)
    ],
    level: Annotated[float, typer.Option(help="Probability that the interval holds the rate.")] = 0.9,
    half_life: Annotated[
        str | None, typer.Option(metavar="TIME", help="Old accesses lose half their weight in this time.")
    ] = None,
    group: Annotated[
        str, typer.Option(metavar="all|site|directory", help="Pages that share a prior, learnt from them.")
    ] = "all",
    price: Annotated[
        float | None, typer.Option(help="Also say when each page's access will be worth this price.")
    ] = None,
    now: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Time at which copies are judged (default: last access)."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write all pages: a table (.csv) or a JSON document.")
    ] = None,
    as_json: Json = False,
) -> None:
    """How often does each page change? Rates with credible intervals, from what accesses found.

    Columns: page, changed (1 or 0), and time (of the access) or interval (since the one before); optional
    last_modified (a time) or, with interval, age.

    Example: recrawl fit changes observations.csv --out pages.csv
    """
    choice(group, ("all", "site", "directory"), "--group")
    from recrawl.tables.observations import read_observations

    table = read_observations(observations)
    rows = _pages(table, level, duration(half_life, "--half-life") if half_life else None, group, price, now)
    if table.same_time:
        say([f"{table.same_time} accesses at the same time as the page's access before were dropped"])
    document = {
        "pages": rows,
        "lines": table.lines,
        "accesses": table.observations.accesses,
        "first_accesses": table.first_accesses,
        "dropped_same_time": table.same_time,
        "level": level,
    }
    if out:
        _write_pages(document, rows, out)
    _tell_changes(document, rows, as_json)


def _groups(pages: list[str], group: str) -> NDArray[np.int64] | None:
    """A number for the site or directory of each page."""
    import numpy as np

    if group == "all":
        return None
    names = []
    for page in pages:
        path = page.split("://", 1)[-1]
        names.append(path.split("/", 1)[0] if group == "site" else path.rpartition("/")[0])
    return np.unique(np.array(names), return_inverse=True)[1].astype(np.int64)


def _pages(
    table: ObservationTable,
    level: float,
    half_life: float | None,
    group: str,
    price: float | None,
    now: str | None,
) -> list[dict[str, Any]]:
    import numpy as np

    from recrawl.estimate import change_rates
    from recrawl.estimate.calibration import learnt_belief
    from recrawl.tables._text import cell_time

    seen = table.observations
    finite = seen.intervals[np.isfinite(seen.intervals)]
    typical = float(np.median(finite)) if finite.size else float(np.median(seen.ages))
    belief, slots = learnt_belief(
        seen, typical, half_life=half_life or np.inf, groups=_groups(table.pages, group)
    )
    likeliest = change_rates(seen)
    mean = belief.mean_rate(slots)
    bounds = belief.interval(slots, level)
    changed = np.bincount(seen.page_of, weights=seen.kinds > 0, minlength=seen.pages)
    moment = (
        cell_time(now, Path("--now"), 0, "now")
        if now
        else float(np.nanmax(table.last_access, initial=-np.inf))
    )
    elapsed = np.maximum(moment - table.last_access, 0.0)
    timed = np.isfinite(elapsed)
    current = np.full(seen.pages, np.nan)
    if timed.any():
        current[timed] = belief.current_probability(slots[timed], elapsed[timed])
    due = None if price is None else belief.time_to_price(slots, price)
    return [
        {
            "page": page,
            "change_rate": float(mean[k]),
            "low": float(bounds[k, 0]),
            "high": float(bounds[k, 1]),
            "likeliest_rate": float(likeliest.rates[k]),
            "accesses": int(seen.counts[k]),
            "changes": int(changed[k]),
            "current_probability": float(current[k]),
            **({} if due is None else {"due_after": float(due[k])}),
        }
        for k, page in enumerate(table.pages)
    ]


def _write_pages(document: dict[str, Any], rows: list[dict[str, Any]], out: Path) -> None:
    if out.suffix != ".csv":
        write_document(document, out)
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    with out.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({name: "" if value != value else value for name, value in row.items()})  # noqa: PLR0124


def _tell_changes(document: dict[str, Any], rows: list[dict[str, Any]], as_json: bool) -> None:
    from recrawl.cli._output import print_json, print_table, significant

    if as_json:
        print_json(document)
        return
    columns = [name for name in rows[0] if name != "page"]
    more = f"\nand {len(rows) - _SHOWN} more pages; --out FILE.csv writes all" if len(rows) > _SHOWN else ""
    print_table(
        ["page", *[name.replace("_", " ") for name in columns]],
        [
            [row["page"], *[_cell(row[name], significant) for name in columns]]
            for row in sorted(rows, key=lambda row: -row["change_rate"])[:_SHOWN]
        ],
        title=f"{len(rows)} pages, {document['accesses']} telling accesses; fastest first",
        caption=f"low and high: {document['level']:.0%} credible interval; rates per unit of time{more}",
    )


def _cell(value: float, shown: Any) -> str:
    return str(value) if isinstance(value, int) else "-" if value != value else str(shown(value, 4))  # noqa: PLR0124


def history(
    git: Annotated[
        Path, typer.Option("--git", metavar="DIR", help="A git repository of pages.", show_default=False)
    ],
    path: Annotated[
        str, typer.Option(metavar="GLOB", help="Which files are pages, e.g. 'content/**'.")
    ] = "**",
    revision: Annotated[
        str, typer.Option(help="Branch or commit whose first parents are followed.")
    ] = "HEAD",
    out: Annotated[
        Path | None,
        typer.Option(metavar="STEM", help="Write STEM.pages.csv.gz and STEM.events.csv.gz."),
    ] = None,
    plain: Annotated[bool, typer.Option("--plain", help="Write .csv instead of .csv.gz.")] = False,
    as_json: Json = False,
) -> None:
    """When did pages change? The history of a git repository of pages.

    One event per change (M), appearance (A) and disappearance (D) of a page on the main line.

    Example: recrawl fit history --git website --path 'content/**' --out website
    """
    from collections import Counter

    from recrawl.cli._output import print_json, print_table
    from recrawl.tables.git_history import read_git
    from recrawl.tables.histories import write_history

    found = read_git(git, path, revision=revision)
    kinds = Counter(event[2] for event in found.events)
    document = {
        "pages": len(found.pages),
        "alive": sum(page.last_seen is None for page in found.pages),
        "commits": found.commits,
        "late_commits": found.late_commits,
        "changes": kinds["M"],
        "appearances": kinds["A"],
        "disappearances": kinds["D"],
        "mass_changes": sum(event[3] & 1 for event in found.events),
        "reverts": sum(event[3] >> 1 & 1 for event in found.events),
        "files": [],
    }
    if out:
        files = write_history(out, found.pages, found.events, packed=not plain)
        document["files"] = [str(file) for file in files]
    if as_json:
        print_json(document)
        return
    names = [name for name in document if name != "files"]
    print_table(["", "number"], [[name.replace("_", " "), str(document[name])] for name in names])
    for file in document["files"] if isinstance(document["files"], list) else []:
        typer.echo(f"wrote {file}")


def compare(
    accesses: Annotated[
        str, typer.Option(metavar="N,N,...", help="Accesses per synthetic page.")
    ] = "5,20,100",
    pages: Annotated[int, typer.Option(min=10, help="Synthetic pages of each spread.")] = 4000,
    regular: Annotated[
        bool, typer.Option("--regular", help="Access at regular instead of exponential intervals.")
    ] = False,
    histories: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Use the real histories NAME.pages.csv[.gz] of a directory instead."
        ),
    ] = None,
    per_change: Annotated[float, typer.Option(help="Accesses per change of an average page.")] = 4.0,
    dated: Annotated[bool, typer.Option("--dated", help="With histories: accesses also see dates.")] = False,
    seed: Annotated[int, typer.Option(help="Of pages, accesses and twins.")] = 1,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """How good are the estimators of change rates? Bias, error and coverage.

    Example: recrawl fit compare --accesses 20 --pages 1000
    """
    from dataclasses import asdict
    from functools import partial

    from recrawl.cli._output import print_json
    from recrawl.estimate.calibration import SPREADS, examine, judge

    if not per_change > 0:
        raise ConfigError(f"--per-change must be positive, not {per_change}")
    document: Any
    if histories is not None:
        from recrawl.tables.histories import find_histories, read_history

        exams = {}
        for name, files in find_histories(histories).items():
            known = read_history(*files)
            exams[name] = examine(known, 1.0 / (per_change * known.mean_rate), seed=seed, dated=dated)
        document = {name: [asdict(score) for score in scores] for name, scores in exams.items()}
        show = partial(_print_exams, exams)
    else:
        counts = whole_numbers(accesses, "--accesses")
        judged = {
            (spread, count): judge(spread, count, pages=pages, seed=seed, regular=regular)
            for spread in SPREADS
            for count in counts
        }
        document = [
            {"spread": spread, "accesses": count, **asdict(score)}
            for (spread, count), group in judged.items()
            for score in group
        ]
        show = partial(_print_scores, judged)
    if out:
        write_document(document, out)
    if as_json:
        print_json(document)
    else:
        show()


def _print_scores(scores: dict[tuple[str, int], list[Score]]) -> None:
    from recrawl.cli._output import print_table

    rows = []
    for (spread, count), group in scores.items():
        rows += [
            [
                spread,
                str(count),
                score.estimator,
                f"{score.bias:+.3f}",
                f"{score.error:.4f}",
                "-" if score.coverage != score.coverage else f"{score.coverage:.3f}",
            ]
            for score in group
        ]
    print_table(
        ["rates", "accesses", "estimator", "bias", "error", "coverage of 90 %"],
        rows,
        left=3,
        caption="bias: median of estimate/truth - 1; error: root mean square, of the probability that a page "
        "changes in one interval",
    )


def _print_exams(exams: dict[str, list[HistoryScore]]) -> None:
    from recrawl.cli._output import print_table

    def cell(value: float) -> str:
        return "-" if value != value else f"{value:.3f}"  # noqa: PLR0124

    rows = []
    for name, group in exams.items():
        for score in group:
            values = (
                score.predicted,
                score.twin_predicted,
                score.loss,
                score.twin_loss,
                score.coverage,
                score.twin_coverage,
            )
            rows.append([name, score.estimator, *[cell(value) for value in values]])
    print_table(
        ["history", "estimator", "predicted/found", "twin", "loss", "twin", "coverage", "twin"],
        rows,
        left=2,
        caption="trained on first halves, examined on second halves; twin: the same pages, but Poisson",
    )
