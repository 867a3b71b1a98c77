"""What the web is asked for: queries and orders, as typed documents with their limits."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from recrawl.engine.history import SERIES
from recrawl.web.queue_documents import Control  # noqa: TC001 - read at run time

__all__ = [
    "BudgetOrder",
    "ChangesQuery",
    "ControlOrder",
    "Done",
    "HistoryQuery",
    "IndexNowOrder",
    "IndexNowQuery",
    "Nothing",
    "PageQuery",
    "PagesQuery",
    "PlanQuery",
    "RobotsQuery",
    "SearchQuery",
    "SignalItem",
    "SignalOrder",
    "SiteOrder",
    "SiteQuery",
    "UrlOrder",
    "WeightOrder",
]

Url = Annotated[str, Meta(min_length=1, max_length=8192)]
SiteName = Annotated[str, Meta(min_length=1, max_length=300)]
Offset = Annotated[int, Meta(ge=0, le=1_000_000)]
Time = Annotated[float, Meta(ge=0.0, le=1e11)]
SortName = Literal[
    "due", "rate", "interval", "current", "weight", "seen", "changed", "links", "accesses", "changes", "failures", "url"
]  # fmt: skip


class Nothing(Struct, frozen=True, forbid_unknown_fields=True):
    """No parameters."""


class SearchQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Words, "a phrase", -word to leave out."""

    q: Annotated[str, Meta(max_length=1000)] = ""
    site: SiteName | None = None
    limit: Annotated[int, Meta(ge=1, le=100)] = 10
    offset: Annotated[int, Meta(ge=0, le=10_000)] = 0


class PagesQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which pages, in which order."""

    sort: SortName = "due"
    descending: bool = False
    site: SiteName | None = None
    state: Literal["known", "gone", "excluded", "duplicate"] | None = None
    matching: Annotated[str, Meta(max_length=1000)] | None = None  # part of the URL
    limit: Annotated[int, Meta(ge=1, le=500)] = 50
    offset: Offset = 0


class PageQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One page by its URL."""

    url: Url


class SiteQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One site by its name."""

    name: SiteName


class PlanQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """At how many times the present budget?"""

    factor: Annotated[float, Meta(ge=0.001, le=1000.0)] = 1.0


class RobotsQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What if indexing took so many times as long?"""

    service_factor: Annotated[float, Meta(ge=0.01, le=100.0)] = 1.0


_NAME = "|".join(SERIES)
_NAMES = f"^(({_NAME})(,({_NAME}))*)?$"


class HistoryQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which series (comma separated; none: all), over which time, with how many points at most."""

    seconds: Annotated[float, Meta(gt=0.0, le=1e10)] = 3600.0
    names: Annotated[str, Meta(max_length=500, pattern=_NAMES)] = ""
    points: Annotated[int, Meta(ge=2, le=1000)] = 400
    end: Time | None = None


class ChangesQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The change feed above a cursor."""

    since: Annotated[int, Meta(ge=0, le=2**62)] = 0
    limit: Annotated[int, Meta(ge=1, le=1000)] = 100


class UrlOrder(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Do something with one page."""

    url: Url


class SiteOrder(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Do something with one site."""

    site: SiteName


class WeightOrder(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How much a page counts."""

    url: Url
    weight: Annotated[float, Meta(gt=0.0, le=1e6)]


class SignalItem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A page has changed, at this time (none: just now)."""

    url: Url
    time: Time | None = None


Signals = Annotated[list[SignalItem], Meta(max_length=10_000)]
SignalOrder = SignalItem | Signals  # one of them, or a list


class ControlOrder(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the number of active robots is decided from now on."""

    control: Control
    robots: Annotated[int, Meta(ge=1, le=10_000)] | None = None  # with fixed
    modes: Annotated[list[Annotated[int, Meta(ge=0, le=10_000)]], Meta(max_length=100)] = []
    thresholds: Annotated[list[Annotated[int, Meta(ge=0, le=1_000_000)]], Meta(max_length=100)] = []


class BudgetOrder(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A number with a unit, such as 5/s."""

    budget: Annotated[str, Meta(pattern=r"^[1-9][0-9]{0,8}(\.[0-9]{1,6})?/(s|min|m|h|d)$")]


class IndexNowQuery(Struct, frozen=True, kw_only=True):
    """IndexNow for one URL."""

    url: Url
    key: Annotated[str, Meta(max_length=128)] = ""


class IndexNowOrder(Struct, frozen=True, kw_only=True):
    """IndexNow for many URLs of one host. Unknown fields are passed over, as the protocol may grow."""

    host: SiteName
    key: Annotated[str, Meta(max_length=128)]
    urlList: Annotated[list[Url], Meta(max_length=10_000)]  # noqa: N815 - the protocol's name
    keyLocation: Annotated[str, Meta(max_length=8192)] | None = None  # noqa: N815


class Done(Struct, frozen=True, kw_only=True):
    """What was done, in words."""

    text: str
    affected: int = 1
