"""Options that several commands share, and what they become."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from recrawl.revisit import Limits
    from recrawl.tables import PageTable

__all__ = [
    "Access",
    "Budget",
    "Json",
    "MaxInterval",
    "MinInterval",
    "PagesFile",
    "Plot",
    "Robots",
    "SiteRate",
    "read_limits",
]

PagesFile = Annotated[
    Path,
    typer.Argument(
        metavar="PAGES",
        help="CSV or Parquet with columns page, change_rate, and optionally weight, site; - reads CSV.",
    ),
]
Access = Annotated[
    str | None,
    typer.Option(
        metavar="LAW",
        help="Time of one access, NAME:MEAN[,SCV]: deterministic, exponential, erlang, gamma, hyperexponential, "
        "lognormal, uniform; or two-task:MEAN1,MEAN2,P, phase-type:FILE, empirical:FILE.",
    ),
]
Budget = Annotated[
    float | None, typer.Option(metavar="B", help="Accesses per unit time of the table's rates.")
]
Robots = Annotated[int, typer.Option(metavar="M", min=1, help="Robots that share the order.")]
MaxInterval = Annotated[
    float | None, typer.Option(metavar="T", help="Access every page at least once in this time, on average.")
]
MinInterval = Annotated[
    float | None,
    typer.Option(metavar="T", help="Access no page more often than once in this time, on average."),
]
SiteRate = Annotated[
    list[str] | None,
    typer.Option(
        metavar="[SITE=]R", help="At most R accesses per unit time, of each site or of one; may be repeated."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Plot = Annotated[Path | None, typer.Option(metavar="FILE", help="Draw into a PNG, SVG or PDF file.")]


def read_limits(
    table: PageTable, max_interval: float | None, min_interval: float | None, site_rate: list[str] | None
) -> Limits:
    """The bounds that the options ask for."""
    from recrawl.revisit import Limits

    return Limits(max_interval, min_interval, _site_rates(table, site_rate) if site_rate else None)


def _site_rates(table: PageTable, texts: list[str]) -> NDArray[np.float64]:
    import numpy as np

    from recrawl.errors import ConfigError

    numbers = {name: number for number, name in enumerate(table.sites)}
    rates = np.full(len(table.sites), np.inf)
    # A rate for all sites first, so that the named ones override it in any order.
    for text in sorted(texts, key=lambda text: "=" in text):
        site, equals, value = text.rpartition("=")
        try:
            rate = float(value)
        except ValueError:
            raise ConfigError(f"--site-rate {text!r} should read RATE or SITE=RATE") from None
        if not rate >= 0:
            raise ConfigError(f"--site-rate {text!r}: the rate must not be negative")
        if not equals:
            rates[:] = rate
        elif site in numbers:
            rates[numbers[site]] = rate
        else:
            raise ConfigError(f"--site-rate {text!r}: the table has no site {site!r}")
    return rates
