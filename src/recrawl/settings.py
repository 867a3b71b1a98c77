"""Every option of the engine, once: its name (with the unit), its default, what is allowed, what it means.

Values come from `recrawl.toml`, then from the environment (`RECRAWL_ROBOTS=4`), then from flags: later wins.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
import os
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recrawl.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Settings", "describe", "load_settings", "parse_budget", "parse_flags", "parse_listen"]

_UNITS = {"s": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_SITE_KEYS = (
    "headers", "cookies", "user", "password", "bearer", "min_delay_seconds", "max_concurrency", "content", "remove",
    "ignore",
)  # fmt: skip


def _option(
    default: Any, about: str, *, low: float = -math.inf, high: float = math.inf, choices: tuple[str, ...] = ()
) -> Any:
    metadata = {"about": about, "low": low, "high": high, "choices": choices}
    if isinstance(default, dict):
        return field(default_factory=dict, metadata=metadata)
    return field(default=default, metadata=metadata)


def parse_budget(text: str) -> float:
    """Accesses per second from a number with a unit.

    >>> parse_budget("5/s"), parse_budget("7200/h"), round(parse_budget("100000/d"), 4)
    (5.0, 2.0, 1.1574)
    >>> parse_budget("5")
    Traceback (most recent call last):
    ...
    recrawl.errors.ConfigError: budget: '5' must be a number with a unit, such as 5/s, 300/min, 20000/h or 100000/d
    """
    number, slash, unit = text.replace(" ", "").partition("/")
    try:
        rate = float(number) / _UNITS[unit] if slash else math.nan
    except (ValueError, KeyError):
        rate = math.nan
    if not 0 < rate < math.inf:
        raise ConfigError(
            f"budget: {text!r} must be a number with a unit, such as 5/s, 300/min, 20000/h or 100000/d"
        )
    return rate


def parse_listen(text: str) -> tuple[str, int]:
    """Host and port of an address to listen on.

    >>> parse_listen("127.0.0.1:8717"), parse_listen("[::1]:80"), parse_listen(":8080")
    (('127.0.0.1', 8717), ('::1', 80), ('0.0.0.0', 8080))
    """
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or not 0 <= int(port) <= 65535:
        raise ConfigError(f"listen: {text!r} must be HOST:PORT, such as 127.0.0.1:8717")
    return host.strip("[]") or "0.0.0.0", int(port)


@dataclass(frozen=True)
class Settings:
    """All options. Numbers out of range are a ConfigError that names the option, the value and what is allowed."""

    # What belongs to the run.
    seeds: tuple[str, ...] = _option((), "where to begin; hosts and path prefixes of the seeds are the scope")
    urls_file: str = _option("", "a file with one URL per line: exactly these pages, nothing else")
    hosts: tuple[str, ...] = _option((), "further hosts that belong to the scope, whole")
    include: tuple[str, ...] = _option((), "regular expressions: pages must match one of them")
    exclude: tuple[str, ...] = _option((), "regular expressions: pages must match none of them")
    max_depth: int = _option(100, "most links from a seed to a page", low=0)
    max_pages: int = _option(1_000_000, "most pages that are remembered", low=1)
    sitemaps: bool = _option(True, "read the sitemaps of the seeds' sites")
    sitemap_interval_seconds: float = _option(86400.0, "time between two readings of the sitemaps", low=1.0)
    weights: str = _option("links", "weight of pages without one of their own", choices=("links", "equal"))
    weights_file: str = _option("", "CSV with columns page and weight")
    data: str = _option("recrawl-data", "directory of the store and the index")
    # Which page next.
    policy: str = _option(
        "optimal", "rule of the schedule", choices=("optimal", "poisson", "uniform", "proportional")
    )
    budget: str = _option(
        "", "most accesses per time, such as 5/s, 20000/h, 100000/d; none: as fast as polite"
    )
    shortest_interval_seconds: float = _option(0.0, "never access a page again sooner", low=0.0)
    longest_interval_seconds: float = _option(
        30 * 86400.0, "access every page at least this often, if budget allows", low=1.0
    )
    lease_seconds: float = _option(
        300.0, "a page that was handed out and not heard of is due again after", low=1.0
    )
    replan_seconds: float = _option(5.0, "least time between two plans", low=0.01)
    # How many robots.
    robots: int = _option(16, "most robots", low=1, high=10_000)
    control: str = _option(
        "guarded",
        "number of active robots: as many as there is room for in the buffer, always the same, by thresholds, or found "
        "while running",
        choices=("guarded", "fixed", "thresholds", "auto"),
    )
    fewest_robots: int = _option(
        0, "with control = auto: least number of active robots; 0: none while the queue is long enough", low=0
    )
    modes: tuple[int, ...] = _option((), "with control = thresholds: numbers of robots, from most to fewest")
    thresholds: tuple[int, ...] = _option(
        (), "with control = thresholds: pages in the queue beyond which fewer robots work"
    )
    capacity: int = _option(256, "most pages in buffer and indexer", low=1, high=1_000_000)
    obsolete_after_seconds: float = _option(
        math.inf, "mean time after which a waiting page is obsolete", low=1e-6
    )
    obsolescence: str = _option("exponential", "law of that time", choices=("exponential", "deterministic"))
    cost_loss_per_page: float = _option(1.0, "price of a page refused by a full buffer", low=0.0)
    cost_obsolete_per_page: float = _option(1.0, "price of a page obsolete in the buffer", low=0.0)
    cost_response_per_service: float = _option(0.0, "price of a mean service time of response", low=0.0)
    cost_robot_per_service: float = _option(0.01, "price of an active robot for a mean service time", low=0.0)
    cost_starvation_per_service: float = _option(
        2.0, "price of an idle indexer for a mean service time", low=0.0
    )
    # How pages are accessed.
    contact: str = _option("", "a URL or mail address in the User-Agent, for the sites' operators")
    min_delay_seconds: float = _option(1.0, "least time between two accesses to a site", low=0.0)
    max_concurrency: int = _option(1, "most accesses to a site at the same time", low=1)
    backoff_seconds: float = _option(30.0, "wait after a failure; doubled by each further one", low=1e-3)
    max_backoff_seconds: float = _option(86400.0, "longest such wait", low=1e-3)
    connect_timeout_seconds: float = _option(10.0, "longest time to connect", low=1e-3)
    read_timeout_seconds: float = _option(20.0, "longest time between two pieces of a body", low=1e-3)
    total_timeout_seconds: float = _option(60.0, "longest time of an access", low=1e-3)
    max_body_bytes: int = _option(10_000_000, "largest body, decompressed", low=1)
    max_redirects: int = _option(5, "most redirects in a row", low=0)
    proxy: str = _option("", "URL of a proxy")
    bandwidth_bytes_per_second: float = _option(math.inf, "most bytes received per second, in all", low=1.0)
    obey_exclusion: bool = _option(True, "obey robots.txt; only for sites of your own set this to false")
    allow_hosts: tuple[str, ...] = _option(
        (), "private hosts (host or host:port) that may be connected to; seeds may anyway"
    )
    confirm_seconds: float = _option(
        300.0, "time between a page's first 404 and the one that confirms it", low=0.0
    )
    unreadable_seconds: float = _option(
        7 * 86400.0, "time before a page that could not be read is tried again", low=0.0
    )
    site: Mapping[str, Any] = _option(
        {}, 'one table per site, [site."example.org"]: ' + ", ".join(_SITE_KEYS)
    )
    # How they are indexed.
    batch_pages: int = _option(
        0, "most pages recorded at once; 0: 32, but 1 where thresholds count on one by one", low=0, high=1000
    )
    commit_pages: int = _option(500, "pages that wait before the index commits", low=1)
    commit_seconds: float = _option(2.0, "longest time before the index commits", low=0.01)
    large_page_bytes: int = _option(1_000_000, "larger pages are parsed in a process of their own", low=1)
    service_delay: str = _option(
        "", "for experiments: a law, such as exponential:0.1, of extra service time in seconds"
    )
    # The control room.
    listen: str = _option("127.0.0.1:8717", "address of the control room and its API; empty: none")
    web_hosts: tuple[str, ...] = _option((), "further names under which the control room may be addressed")
    token: str = _option(
        "",
        "what actions need, and everything when others can reach the address; env:NAME or file:PATH; empty: a new one "
        "at each start",
    )
    indexnow_key: str = _option(
        "", "key for change signals by IndexNow; env:NAME or file:PATH; empty: none are taken"
    )
    webhook_url: str = _option("", "URL to which every change is posted")
    webhook_secret: str = _option("", "key of the posts' signatures; env:NAME or file:PATH")
    # How it runs.
    grace_seconds: float = _option(30.0, "time for robots to finish when the engine is told to stop", low=0.0)
    status_seconds: float = _option(
        2.0, "time between two notes of the engine's state for `recrawl status`", low=0.05
    )

    def __post_init__(self) -> None:
        for option in dataclasses.fields(self):
            _check(option, getattr(self, option.name))
        if self.budget:
            parse_budget(self.budget)
        if self.listen:
            parse_listen(self.listen)
        if self.webhook_url and not self.webhook_url.startswith(("http://", "https://")):
            raise ConfigError(f"webhook_url: {self.webhook_url!r} must be an http or https URL")
        if self.webhook_url and not self.webhook_secret:
            raise ConfigError("webhook_secret: is needed with webhook_url, to sign what is posted")
        self._check_together()

    def _check_together(self) -> None:
        if self.control == "thresholds" and (
            len(self.modes) < 2 or len(self.thresholds) != len(self.modes) - 1
        ):
            raise ConfigError(
                f"thresholds: {list(self.thresholds)} with modes {list(self.modes)}; control = thresholds needs at "
                "least two modes, from most to fewest robots, and one threshold between each two"
            )
        if self.control == "auto" and self.budget:
            raise ConfigError(
                "control: 'auto' needs a run without a budget; with one, accesses are paced and the controller only "
                "guards the buffer: use guarded or thresholds"
            )
        if self.control in ("auto", "thresholds") and self.batch_pages > 1:
            raise ConfigError(
                f"batch_pages: {self.batch_pages} must be 1 with control = {self.control}: its model serves one by one"
            )
        if self.fewest_robots > self.robots:
            raise ConfigError(f"fewest_robots: {self.fewest_robots} must not exceed robots = {self.robots}")
        if self.modes and max(self.modes) > self.robots:
            raise ConfigError(f"modes: {list(self.modes)} must not exceed robots = {self.robots}")
        if self.longest_interval_seconds < self.shortest_interval_seconds:
            raise ConfigError(
                f"longest_interval_seconds: {self.longest_interval_seconds} must not be below "
                f"shortest_interval_seconds = {self.shortest_interval_seconds}"
            )
        for name, table in self.site.items():
            unknown = sorted(set(table) - set(_SITE_KEYS))
            if unknown:
                raise ConfigError(f"site.{name}.{unknown[0]}: unknown; known are {', '.join(_SITE_KEYS)}")

    @property
    def budget_per_second(self) -> float | None:
        """Accesses per second, or None."""
        return parse_budget(self.budget) if self.budget else None


def _check(option: dataclasses.Field[Any], value: Any) -> None:
    about = option.metadata
    if about["choices"] and value not in about["choices"]:
        raise ConfigError(f"{option.name}: {value!r} must be one of {', '.join(about['choices'])}")
    numbers = value if isinstance(value, tuple) else (value,)
    for number in numbers:
        if isinstance(number, int | float) and not isinstance(number, bool):
            low, high = about["low"], about["high"]
            if not low <= number <= high:
                raise ConfigError(f"{option.name}: {number!r} must lie {_range(low, high)}")


def _range(low: float, high: float) -> str:
    if high == math.inf:
        return f"from {low:g} up"
    return f"from {low:g} to {high:g}"


def load_settings(
    flags: Mapping[str, Any], path: Path | None = None, environment: Mapping[str, str] | None = None
) -> Settings:
    """Settings from a TOML file (default: recrawl.toml, if there is one), the environment and flags.

    A flag of None was not given.
    """
    environment = os.environ if environment is None else environment
    values: dict[str, Any] = {}
    file = path or Path("recrawl.toml")
    if path is not None or file.exists():
        values.update(_from_file(file))
    for option in dataclasses.fields(Settings):
        name = f"RECRAWL_{option.name.upper()}"
        if name in environment and option.name != "site":
            values[option.name] = _from_text(option, environment[name], name)
    values.update({name: value for name, value in flags.items() if value is not None})
    return Settings(**values)


def parse_flags(pairs: Sequence[str]) -> dict[str, Any]:
    """Settings from `NAME=VALUE` texts.

    >>> parse_flags(["capacity=8", "modes=4,1"])
    {'capacity': 8, 'modes': (4, 1)}
    """
    options = {option.name: option for option in dataclasses.fields(Settings) if option.name != "site"}
    found = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if name not in options or not equals:
            near = difflib.get_close_matches(name, options, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise ConfigError(f"--set {pair}: must be NAME=VALUE with the name of a setting{hint}")
        found[name] = _from_text(options[name], text, f"--set {name}")
    return found


def _from_file(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as stream:
            raw = tomllib.load(stream)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: {error}") from None
    options = {option.name: option for option in dataclasses.fields(Settings)}
    found = {}
    for name, value in raw.items():
        if name not in options:
            near = difflib.get_close_matches(name, options, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise ConfigError(f"{path}: {name} is no setting{hint}")
        found[name] = _typed(options[name], value, f"{path}: {name}")
    return found


def _typed(option: dataclasses.Field[Any], value: Any, name: str) -> Any:
    """The value in the option's own type, or a ConfigError."""
    default: Any = {} if option.name == "site" else option.default
    if isinstance(default, tuple) and isinstance(value, list | tuple):
        kind = int if option.name in ("modes", "thresholds") else str
        if all(isinstance(item, kind) and not isinstance(item, bool) for item in value):
            return tuple(value)
    elif isinstance(default, bool) or isinstance(value, bool):
        if isinstance(default, bool) and isinstance(value, bool):
            return value
    elif isinstance(default, float) and isinstance(value, int | float):
        return float(value)
    elif isinstance(value, type(default)):
        return value
    raise ConfigError(f"{name}: {value!r} must be {_KINDS[type(default)]}")


_KINDS = {
    tuple: "a list", bool: "true or false", float: "a number", int: "a whole number", str: "a text", dict: "a table",
}  # fmt: skip


def _from_text(option: dataclasses.Field[Any], text: str, name: str) -> Any:
    default: Any = option.default
    try:
        if isinstance(default, bool):
            return {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}[
                text.lower()
            ]
        if isinstance(default, tuple):
            parts = [part.strip() for part in text.split(",") if part.strip()]
            return (
                tuple(int(part) for part in parts) if option.name in ("modes", "thresholds") else tuple(parts)
            )
        return type(default)(text)
    except (ValueError, KeyError):
        raise ConfigError(f"{name}: {text!r} must be {_KINDS[type(default)]}") from None


def describe() -> list[tuple[str, str, str, str]]:
    """Name, default, what is allowed, meaning of every option: the reference in the documentation.

    >>> [row for row in describe() if row[0] == "robots"]
    [('robots', '16', 'from 1 to 10000', 'most robots')]
    """
    rows = []
    for option in dataclasses.fields(Settings):
        about = option.metadata
        default = {} if option.default is dataclasses.MISSING else option.default
        shown = (
            ""
            if default in ((), "", {})
            else str(default).lower()
            if isinstance(default, bool)
            else f"{default}"
        )
        allowed = ", ".join(about["choices"])
        if isinstance(default, int | float) and not isinstance(default, bool):
            allowed = _range(about["low"], about["high"])
        rows.append((option.name, shown, allowed, about["about"]))
    return rows
