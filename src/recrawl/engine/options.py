"""Options of accessing and extracting, as plain values; the unit is in the name."""

from __future__ import annotations

import base64
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from recrawl._version import __version__
from recrawl.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["AccessOptions", "ExtractOptions", "PolitenessOptions", "SiteOptions", "secret"]

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
# Headers that the accessor sets itself; a second value would make an access mean something else.
_RESERVED = {"host", "content-length", "transfer-encoding", "connection", "accept-encoding", "range"}


def _positive(options: object, *names: str) -> None:
    for name in names:
        value = getattr(options, name)
        if value is not None and not (value > 0 and value < float("inf")):
            raise ConfigError(f"{name}: {value}; must be above 0")


@dataclass(frozen=True)
class AccessOptions:
    """How pages are accessed, whatever the site."""

    contact: str = ""  # a URL or mail address, shown to the sites
    product: str = "recrawl"  # the name that robots.txt may address
    connect_timeout_seconds: float = 10.0
    read_timeout_seconds: float = 20.0  # between two pieces of a body
    total_timeout_seconds: float = 60.0
    max_body_bytes: int = 10_000_000  # decompressed
    max_redirects: int = 5
    max_connections: int = 256
    proxy: str | None = field(default=None, repr=False)  # may carry a password
    bandwidth_bytes_per_second: float | None = None
    obey_exclusion: bool = True
    exclusion_cache_seconds: float = 24 * 3600.0
    exclusion_retry_seconds: float = 300.0  # after robots.txt could not be read

    def __post_init__(self) -> None:
        _positive(
            self,
            "connect_timeout_seconds",
            "read_timeout_seconds",
            "total_timeout_seconds",
            "max_body_bytes",
            "max_connections",
            "bandwidth_bytes_per_second",
            "exclusion_cache_seconds",
            "exclusion_retry_seconds",
        )
        if self.max_redirects < 0:
            raise ConfigError(f"max_redirects: {self.max_redirects}; must be 0 or more")
        if not re.fullmatch(r"[A-Za-z_-]+", self.product):
            raise ConfigError(f"product: {self.product!r}; must be letters, '-' and '_' (RFC 9309)")
        if re.search(r"[^\x20-\x7e]", self.contact):
            raise ConfigError("contact: must be printable ASCII")
        if self.proxy is not None and not self.proxy.startswith(("http://", "https://")):
            raise ConfigError("proxy: must be an http or https URL")

    @property
    def user_agent(self) -> str:
        """Who accesses: the product, its version, and whom to ask about it."""
        contact = f" (+{self.contact})" if self.contact else ""
        return f"{self.product}/{__version__}{contact}"


@dataclass(frozen=True)
class PolitenessOptions:
    """How gently sites are treated."""

    min_delay_seconds: float = 1.0  # between the starts of two accesses to a site
    max_concurrency: int = 1  # accesses to a site at the same time
    max_crawl_delay_seconds: float = 60.0  # a robots.txt may ask for more; it gets this
    backoff_seconds: float = 30.0  # after the first failure; doubled by each further one
    max_backoff_seconds: float = 24 * 3600.0
    site_failures: int = 5  # in a row, before a site is left alone for a while

    def __post_init__(self) -> None:
        _positive(self, "max_concurrency", "backoff_seconds", "max_backoff_seconds", "site_failures")
        for name in ("min_delay_seconds", "max_crawl_delay_seconds"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise ConfigError(f"{name}: {getattr(self, name)}; must be 0 or more")


@dataclass(frozen=True)
class ExtractOptions:
    """What counts as a page's content."""

    content: tuple[str, ...] = ()  # CSS selectors of the main content; none: found by itself
    remove: tuple[str, ...] = ()  # CSS selectors of what is no content
    ignore: tuple[
        str, ...
    ] = ()  # regular expressions: what they match may change without the page having changed
    max_text_characters: int = 2_000_000
    max_links: int = 50_000

    def __post_init__(self) -> None:
        _positive(self, "max_text_characters", "max_links")
        for pattern in self.ignore:
            try:
                re.compile(pattern)
            except re.error as error:
                raise ConfigError(f"ignore: {pattern!r} is not a regular expression: {error}") from None
        for name in ("content", "remove"):
            for selector in getattr(self, name):
                _check_selector(name, selector)


def _check_selector(name: str, selector: str) -> None:
    from selectolax.lexbor import LexborHTMLParser

    try:
        LexborHTMLParser("<p>x</p>").css(selector)
    except Exception as error:
        raise ConfigError(f"{name}: {selector!r} is not a CSS selector") from error


@dataclass(frozen=True)
class SiteOptions:
    """What is particular to one site. Secrets are not shown, and are sent to this very host only."""

    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    cookies: Mapping[str, str] = field(default_factory=dict, repr=False)
    user: str | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)
    bearer: str | None = field(default=None, repr=False)
    min_delay_seconds: float | None = None
    max_concurrency: int | None = None
    extract: ExtractOptions = field(default_factory=ExtractOptions)

    def __post_init__(self) -> None:
        if (self.user is None) != (self.password is None):
            raise ConfigError("user, password: one is missing")
        if self.user is not None and ":" in self.user:
            raise ConfigError("user: must not contain ':'")
        if self.user is not None and self.bearer is not None:
            raise ConfigError("user, bearer: give one of them")
        for name, value in self.headers.items():
            if not _HEADER_NAME.match(name) or name.lower() in _RESERVED:
                raise ConfigError(f"headers: {name!r} cannot be set")
            _check_value(f"headers: {name}", value)
        for name, value in self.cookies.items():
            if not _HEADER_NAME.match(name) or ";" in value:
                raise ConfigError(f"cookies: {name!r} cannot be set")
            _check_value(f"cookies: {name}", value)
        _check_value("bearer", self.bearer or "")
        _positive(self, "max_concurrency")
        if self.min_delay_seconds is not None and not 0 <= self.min_delay_seconds < float("inf"):
            raise ConfigError(f"min_delay_seconds: {self.min_delay_seconds}; must be 0 or more")

    def request_headers(self) -> dict[str, str]:
        """Headers, cookies and authentication, as they are sent."""
        headers = dict(self.headers)
        if self.cookies:
            headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        if self.user is not None:
            pair = base64.b64encode(f"{self.user}:{self.password}".encode()).decode()
            headers["Authorization"] = f"Basic {pair}"
        if self.bearer is not None:
            headers["Authorization"] = f"Bearer {self.bearer}"
        return headers


def _check_value(name: str, value: str) -> None:
    if re.search(r"[\r\n\0]", value):
        raise ConfigError(f"{name}: must be one line")


def secret(value: str) -> str:
    """A value as written, or from ``env:NAME`` or ``file:PATH``. Errors name the place, never the value.

    >>> secret("plain")
    'plain'
    """
    kind, colon, place = value.partition(":")
    if colon and kind == "env":
        if place not in os.environ:
            raise ConfigError(f"environment variable {place} is not set")
        return os.environ[place]
    if colon and kind == "file":
        try:
            return Path(place).expanduser().read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{place}: cannot be read ({type(error).__name__})") from None
    return value
