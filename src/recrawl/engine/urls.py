"""Canonical URLs, the scope of a run, and traps.

A page's name is its canonical URL: parsed by the WHATWG rules (so that every spelling of a host, ``http://0x7f.1/``
included, becomes one), without fragment, without parameters that only track the reader, with percent-encodings
spelled one way. Whatever is not http or https, or carries a password, is no page.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import ada_url

from recrawl.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = [
    "Scope",
    "TrapOptions",
    "Traps",
    "canonical_url",
    "host_and_port",
    "origin_of",
    "resolve",
    "site_of",
]

_LONGEST_INPUT = 8192

# Parameters that tell where a reader came from or who they are, never which page it is.
_TRACKING = re.compile(
    r"(?:^|&)(?:utm_[a-z_]+|gclid|gbraid|wbraid|fbclid|msclkid|yclid|dclid|mc_cid|mc_eid|igshid|_ga|_gl|"
    r"phpsessid|jsessionid|aspsessionid[a-z]*|cfid|cftoken)(?:=[^&]*)?(?=&|$)",
    re.IGNORECASE,
)
_SESSION_IN_PATH = re.compile(r";(?:jsessionid|phpsessid|sid)=[^/?#;]*", re.IGNORECASE)
_ENCODED = re.compile(r"%([0-9a-fA-F]{2})")
_UNRESERVED = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_~")
# A link that joins to its base by writing one behind the other: no scheme, no backslash, no white space.
_PLAIN_PATH = re.compile(r"[A-Za-z0-9_.~%/-]+(?:\?[A-Za-z0-9_.~%/=&+-]*)?\Z")


def _respell(match: re.Match[str]) -> str:
    # RFC 3986, 6.2.2: unreserved characters plain, others in capitals. A dot stays encoded: decoded it could make
    # a segment that the parser has to remove, and canonical URLs would not be fixed points.
    character = chr(int(match[1], 16))
    return character if character in _UNRESERVED else match[0].upper()


@lru_cache(maxsize=65536)
def canonical_url(url: str) -> str | None:
    """Canonical form of an absolute URL, or None when it names no page of the web.

    >>> canonical_url("HTTP://Example.ORG:80/a/../%7euser?utm_source=x&id=7#top")
    'http://example.org/~user?id=7'
    >>> canonical_url("http://0x7f.1/") == canonical_url("http://2130706433/") == "http://127.0.0.1/"
    True
    >>> canonical_url("mailto:someone@example.org") is None
    True
    """
    if len(url) > _LONGEST_INPUT:
        return None
    try:
        normal = ada_url.normalize_url(url)
    except (ValueError, UnicodeEncodeError):
        return None
    if not normal.startswith(("http://", "https://")):
        return None
    normal = normal.partition("#")[0]
    if "%" in normal:
        normal = _ENCODED.sub(_respell, normal)
    head, mark, query = normal.partition("?")
    authority_end = head.index("/", 8)
    if "@" in head[:authority_end]:
        return None
    head = _without_final_dot(head, authority_end)
    if not head:
        return None
    if ";" in head:
        head = _SESSION_IN_PATH.sub("", head)
    if mark:
        query = _TRACKING.sub("", query).strip("&")
    return f"{head}?{query}" if query else head


def _without_final_dot(head: str, end: int) -> str:
    """``example.org.`` is ``example.org``; empty when nothing is left."""
    authority, path = head[:end], head[end:]
    host, colon, port = authority.rpartition(":") if authority.count(":") > 1 else (authority, "", "")
    if colon and not port.isdigit():  # the colons of an IPv6 address
        host, colon, port = authority, "", ""
    if not host.endswith("."):
        return head
    host = host.rstrip(".")
    return "" if host.endswith("/") else f"{host}{colon}{port}{path}"


def resolve(link: str, base: str) -> str | None:
    """Canonical URL of a link on a page whose canonical URL is `base`; None when it leads to no page.

    >>> resolve("../c.html#part", "https://example.org/a/b/")
    'https://example.org/a/c.html'
    """
    link = link.strip(" \t\r\n\f")
    if not link or link[0] == "#":
        return None
    if _PLAIN_PATH.match(link):  # most links; the parsed form is kept for the next page that has it
        if link[0] != "/":
            return canonical_url(base.partition("?")[0].rpartition("/")[0] + "/" + link)
        if link[1:2] != "/":
            return canonical_url(base[: base.index("/", 8)] + link)
    if len(link) > _LONGEST_INPUT:
        return None
    try:
        return canonical_url(ada_url.join_url(base, link))
    except (ValueError, UnicodeEncodeError):
        return None


def site_of(url: str) -> str:
    """Host, and port when it is not the scheme's own: what is polite to, and named by settings.

    >>> site_of("https://example.org:8443/a?b")
    'example.org:8443'
    """
    return url[url.index("//") + 2 :].partition("/")[0]


def origin_of(url: str) -> str:
    """Scheme, host and port: the reach of one robots.txt.

    >>> origin_of("https://example.org/a?b")
    'https://example.org'
    """
    return url[: url.index("/", 8)]


def host_and_port(url: str) -> tuple[str, int]:
    """Host (an IPv6 address without brackets) and port of a canonical URL.

    >>> host_and_port("http://[::1]/x")
    ('::1', 80)
    """
    return _place(origin_of(url))


@lru_cache(maxsize=4096)
def _place(origin: str) -> tuple[str, int]:
    parts = urlsplit(origin)
    return parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)


def _bare(site: str) -> str:
    return site.removeprefix("www.")


def _prefix(path: str) -> str:
    """The part of the site that a seed stands for: its directory, or itself when it looks like one."""
    last = path.rpartition("/")[2]
    return path if "." not in last else path[: len(path) - len(last)]


def _compiled(name: str, patterns: Iterable[str]) -> tuple[re.Pattern[str], ...]:
    found = []
    for pattern in patterns:
        try:
            found.append(re.compile(pattern))
        except re.error as error:
            raise ConfigError(f"{name}: {pattern!r} is not a regular expression: {error}") from None
    return tuple(found)


@dataclass(frozen=True)
class Scope:
    """Which pages belong to a run: those below the seeds, narrowed by `include` and `exclude`.

    Patterns are regular expressions, searched in the canonical URL. `include` widens nothing: with it, a page below
    the seeds must match one of the patterns too. Other hosts are added, whole, by `hosts`. http and https, with
    and without ``www.``, are the same place.

    >>> scope = Scope.of(["https://example.org/docs/"], exclude=[r"/old/"])
    >>> [scope.contains(f"https://www.example.org/{path}") for path in ("docs/a", "docs/old/a", "blog")]
    [True, False, False]
    """

    prefixes: tuple[tuple[str, str], ...]
    include: tuple[re.Pattern[str], ...] = ()
    exclude: tuple[re.Pattern[str], ...] = ()
    max_depth: int | None = None
    urls: frozenset[str] | None = None  # a fixed list: nothing else

    @classmethod
    def of(
        cls,
        seeds: Iterable[str],
        *,
        hosts: Iterable[str] = (),
        include: Iterable[str] = (),
        exclude: Iterable[str] = (),
        max_depth: int | None = None,
        fixed: bool = False,
    ) -> Scope:
        """A scope from seeds, or with `fixed` from a list of URLs that is complete."""
        names = []
        for seed in seeds:
            url = canonical_url(seed)
            if url is None:
                raise ConfigError(f"seed {seed!r}: not an http or https URL (or with a password in it)")
            names.append(url)
        prefixes = [(_bare(site_of(url)), _prefix(urlsplit(url).path)) for url in names]
        prefixes += [(_bare(host.lower()), "/") for host in hosts]
        if max_depth is not None and max_depth < 0:
            raise ConfigError(f"max_depth: {max_depth}; must be 0 or more")
        return cls(
            prefixes=tuple(dict.fromkeys(prefixes)),
            include=_compiled("include", include),
            exclude=_compiled("exclude", exclude),
            max_depth=max_depth,
            urls=frozenset(names) if fixed else None,
        )

    def is_too_deep(self, depth: int) -> bool:
        """Whether no page so many links from a seed belongs to the run, unless it is on a list."""
        return self.max_depth is not None and depth > self.max_depth and self.urls is None

    def contains(self, url: str, depth: int = 0) -> bool:
        """Whether a page, so many links from a seed, belongs to the run."""
        if self.urls is not None:
            return url in self.urls
        if self.is_too_deep(depth):
            return False
        start = url.index("//") + 2
        slash = url.index("/", start)
        site, path = _bare(url[start:slash]), url[slash:]
        if not any(site == host and _below(path, prefix) for host, prefix in self.prefixes):
            return False
        if any(pattern.search(url) for pattern in self.exclude):
            return False
        return not self.include or any(pattern.search(url) for pattern in self.include)


def _below(path: str, prefix: str) -> bool:
    if not path.startswith(prefix):
        return False
    return prefix.endswith("/") or len(path) == len(prefix) or path[len(prefix)] in "/?"


@dataclass(frozen=True)
class TrapOptions:
    """Bounds against sites that make up pages without end."""

    max_url_length: int = 1024
    max_segments: int = 24  # of a path
    max_repeats: int = 3  # the same segment, or group of segments, in one path
    max_parameters: int = 10
    max_query_length: int = 256
    max_dated_pages: int = 1000  # of one calendar
    max_query_pages: int = 10_000  # that differ in the values of the same parameters only
    max_numbered_pages: int = 100_000  # that differ in numbers only

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value < 1:
                raise ConfigError(f"{name}: {value}; must be 1 or more")


_DATE = re.compile(
    r"(?:/(?:1[0-9]|2[0-9])\d\d(?:[/-]\d{1,2}){0,2}/?(?:\?|$))|"
    r"[?&](?:year|month|day|week|date)=\d|[?&/=](?:1[0-9]|2[0-9])\d\d-\d\d(?:-\d\d)?(?:&|/?$|/?\?)"
)
_NUMBERED = re.compile(
    r"/[A-Za-z_-]{0,16}\d+(?:\.[A-Za-z]{1,5})?/?$"
)  # a last segment that is little but a number
_DIGITS = re.compile(r"\d+")
_VALUES = re.compile(r"=[^&]*")
_WORTH_KEEPING = 8  # pages of a shape; fewer are far from any bound


@dataclass
class Traps:
    """Counts pages that look alike, and refuses them beyond a bound. A page that was admitted stays so.

    >>> traps = Traps(TrapOptions(max_dated_pages=2))
    >>> [traps.admit(f"http://example.org/calendar?month={m}") is None for m in range(1, 5)]
    [True, True, False, False]
    >>> traps.admit("http://example.org/a/b/a/b/a/b/a/b")
    'a path that repeats itself'
    """

    options: TrapOptions = field(default_factory=TrapOptions)
    shapes: Counter[str] = field(default_factory=Counter)
    _admitted: set[int] = field(default_factory=set, repr=False)  # hashes: a page costs little

    def admit(self, url: str) -> str | None:
        """None when the page may be added; otherwise why not."""
        reason = self.shape_of_trap(url)
        if reason is not None:
            return reason
        shape, bound = self._shape(url)
        if shape is None:
            return None
        if hash(url) in self._admitted:
            return None
        if self.shapes[shape] >= bound:
            return f"more than {bound} pages that differ in numbers or parameters only"
        self.shapes[shape] += 1
        self._admitted.add(hash(url))
        return None

    def kept(self) -> dict[str, int]:
        """How many pages of each shape were admitted, where it may matter, for `restore`."""
        return {shape: number for shape, number in self.shapes.items() if number >= _WORTH_KEEPING}

    def restore(self, kept: Mapping[str, int]) -> None:
        """Go on from counts that were kept, or that were made anew: the larger ones hold."""
        for shape, number in kept.items():
            self.shapes[shape] = max(self.shapes[shape], number)

    def shape_of_trap(self, url: str) -> str | None:
        """What is wrong with this URL alone, or None."""
        options = self.options
        if len(url) > options.max_url_length:
            return f"a URL longer than {options.max_url_length} characters"
        path, _, query = url[url.index("/", 8) :].partition("?")
        if path.count("/") > options.max_segments:
            return f"a path of more than {options.max_segments} segments"
        if path.count("/") > options.max_repeats and _repeats(path, options.max_repeats):
            return "a path that repeats itself"
        if query and len(query) > options.max_query_length:
            return f"a query longer than {options.max_query_length} characters"
        if query and query.count("&") >= options.max_parameters:
            return f"a query of more than {options.max_parameters} parameters"
        return None

    def _shape(self, url: str) -> tuple[str | None, int]:
        options = self.options
        head, mark, query = url.partition("?")
        dated = _DATE.search(url) is not None
        if not mark and not dated and not _NUMBERED.search(head):
            return None, 0
        shape = _DIGITS.sub("0", head)
        if mark:
            shape += "?" + "&".join(sorted(_VALUES.sub("", query).split("&")))
        if dated:
            return shape, options.max_dated_pages
        return shape, options.max_query_pages if mark else options.max_numbered_pages


def _repeats(path: str, most: int) -> bool:
    """Whether one group of segments follows itself more than `most` times, or one segment occurs oftener."""
    segments = [segment for segment in path.split("/") if segment]
    if not segments:
        return path.count("/") > most + 1
    if max(Counter(segments).values()) > most:
        return True
    for size in range(2, len(segments) // (most + 1) + 1):
        run = 1
        for start in range(size, len(segments) - size + 1, size):
            run = run + 1 if segments[start : start + size] == segments[start - size : start] else 1
            if run > most:
                return True
    return False
