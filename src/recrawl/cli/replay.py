"""`recrawl replay`: what each policy would have kept fresh, on histories of real pages."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recrawl.cli._inputs import Json, Plot

if TYPE_CHECKING:
    from recrawl.simulate.histories import SiteHistory

__all__ = ["register"]

_DEFAULT = "uniform,proportional,nutch,stormcrawler,poisson,optimal,clairvoyant"
_CHEATS = {
    "poisson-known": "told every page's mean rate in advance",
    "clairvoyant": "told the future: a bound",
}


def register(root: typer.Typer) -> None:
    """Hang the command into the command line."""
    root.command()(replay)


@dataclass(frozen=True)
class _Source:
    """Where a site comes from, small enough to be sent to another process."""

    name: str
    kind: str
    places: tuple[str, ...]


@dataclass(frozen=True)
class _Task:
    source: _Source
    weights: str | None
    multiple: float
    policy: str
    dated: bool


def replay(
    sites: Annotated[
        list[str],
        typer.Argument(
            metavar="SITE_OR_DIR...",
            help="NAME of NAME.pages.csv and NAME.events.csv, a directory of such pairs, a git repository, or "
            "synthetic:KIND (poisson, shocks, drift, bursts).",
        ),
    ],
    budget: Annotated[
        list[str] | None,
        typer.Option(metavar="Nx", help="Budget in changes and new pages of the site; may be repeated (1x)."),
    ] = None,
    policies: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            help="Separated by commas: uniform, proportional, nutch, stormcrawler, poisson, poisson-known (cheats), "
            "optimal, clairvoyant (cheats).",
        ),
    ] = _DEFAULT,
    weights: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column of the page table that says how much a page matters."),
    ] = None,
    dated: Annotated[
        bool,
        typer.Option("--dated", help="An access also learns when the page last changed (Last-Modified)."),
    ] = False,
    path: Annotated[
        str, typer.Option(metavar="GLOB", help="Pages of a git repository, as `recrawl fit history --path`.")
    ] = "**",
    jobs: Annotated[int, typer.Option(metavar="N", min=0, help="Processes; 0: one for each processor.")] = 0,
    plot: Plot = None,
    as_json: Json = False,
) -> None:
    """Replay histories of real pages: freshness of every policy at the same budget.

    Example: recrawl replay changes/ --budget 1x --budget 2x --policies uniform,optimal,clairvoyant
    """
    names = _policy_names(policies)
    multiples = [_multiple(text) for text in budget or ["1x"]]
    sources = [source for site in sites for source in _sources(site, path)]
    tasks = [
        _Task(source, weights, multiple, policy, dated)
        for source in sources
        for multiple in multiples
        for policy in names
    ]
    rows = _run(tasks, jobs)
    if plot is not None:
        _draw(plot, rows)
    _print(rows, names, as_json)


def _policy_names(text: str) -> list[str]:
    from recrawl.errors import ConfigError
    from recrawl.simulate.replay import REPLAY_POLICIES

    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in REPLAY_POLICIES:
            raise ConfigError(f"--policies: {name!r} is not one of {', '.join(REPLAY_POLICIES)}")
    if not names:
        raise ConfigError("--policies names no policy")
    return names


def _multiple(text: str) -> float:
    from recrawl.errors import ConfigError

    try:
        value = float(text.removesuffix("x"))
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise ConfigError(f"--budget {text!r} should read 0.5x, 1x, 2x, ...")
    return value


def _sources(site: str, pattern: str) -> list[_Source]:
    from recrawl.tables.history import find_sites

    if site.startswith("synthetic:"):
        return [_Source(site.removeprefix("synthetic:"), "synthetic", ())]
    place = Path(site)
    if (place / ".git").exists():
        return [_Source(place.resolve().name, "git", (site, pattern))]
    return [_Source(name, "tables", (str(a), str(b))) for name, (a, b) in find_sites(place).items()]


@lru_cache(maxsize=2)
def _load(source: _Source, weights: str | None) -> SiteHistory:
    from recrawl.errors import ConfigError
    from recrawl.simulate.histories import synthetic_history
    from recrawl.tables.history import read_site, site_of_git

    if source.kind == "tables":
        return read_site(source.name, Path(source.places[0]), Path(source.places[1]), weights=weights)
    if weights is not None:
        raise ConfigError(f"--weights: {source.name} has no table of pages")
    if source.kind == "git":
        return site_of_git(source.name, Path(source.places[0]), source.places[1])
    return synthetic_history(source.name)


def _replay_one(task: _Task) -> dict[str, Any]:
    from recrawl.simulate.replay import replay as play
    from recrawl.simulate.replay import unit_budget

    history = _load(task.source, task.weights)
    # A synthetic site's unit of time stands for a day.
    second = 1.0 / 86400 if task.source.kind == "synthetic" else 1.0
    found = play(history, task.multiple * unit_budget(history), task.policy, dated=task.dated, second=second)
    return {
        "site": found.site,
        "budget": f"{task.multiple:g}x",
        "policy": found.policy,
        "freshness": found.freshness,
        "accesses": found.accesses,
        "seconds": found.seconds,
    }


def _run(tasks: list[_Task], jobs: int) -> list[dict[str, Any]]:
    import os
    from concurrent.futures import ProcessPoolExecutor

    from recrawl.cli._output import progress

    wanted = jobs or os.cpu_count() or 1
    workers = min(wanted, len({task.source for task in tasks}))
    rows = []
    with progress("replaying", len(tasks)) as advance:
        if workers == 1:
            for task in tasks:
                rows.append(_replay_one(task))
                advance(1)
            return rows
        with ProcessPoolExecutor(workers) as pool:
            for row in pool.map(_replay_one, tasks):
                rows.append(row)
                advance(1)
    return rows


def _print(rows: list[dict[str, Any]], names: list[str], as_json: bool) -> None:
    from recrawl.cli._output import print_json, print_table

    if as_json:
        print_json(rows)
        return
    table: dict[tuple[str, str], dict[str, float]] = {}
    for row in rows:
        table.setdefault((row["site"], row["budget"]), {})[row["policy"]] = row["freshness"]
    cheats = [f"{name}: {_CHEATS[name]}" for name in names if name in _CHEATS]
    print_table(
        ["site", "budget", *names],
        [[*key, *[f"{found[name]:.4f}" for name in names]] for key, found in table.items()],
        title="Freshness: share of living pages whose copy is current",
        caption="; ".join(cheats) or None,
        left=2,
    )


def _draw(path: Path, rows: list[dict[str, Any]]) -> None:
    from recrawl.cli._output import new_figure, save_figure

    sites = list(dict.fromkeys(row["site"] for row in rows))
    figure, axes = new_figure(4.5 * len(sites) + 1.5, 4.5, columns=len(sites))
    for site, ax in zip(sites, axes, strict=True):
        for policy in dict.fromkeys(row["policy"] for row in rows):
            points = sorted(
                (float(row["budget"][:-1]), row["freshness"])
                for row in rows
                if row["site"] == site and row["policy"] == policy
            )
            ax.plot(*zip(*points, strict=True), marker="o", label=policy)
        ax.set_xscale("log", base=2)
        ticks = sorted({float(row["budget"][:-1]) for row in rows})
        ax.set_xticks(ticks, [f"{tick:g}x" for tick in ticks])
        ax.set_title(site)
        ax.set_xlabel("accesses per change")
        ax.set_ylabel("freshness")
        ax.grid(alpha=0.3)
    axes[-1].legend(fontsize="small")
    save_figure(figure, path)
