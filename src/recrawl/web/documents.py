"""Everything that is shown, as typed documents: what the pages draw and what the HTTP API answers with.

Times are seconds since 1970, lengths of time seconds, rates per second, probabilities and shares numbers in [0, 1].
None stands for what is not known. The descriptions of the OpenAPI document are the comments and docstrings here.
"""

from __future__ import annotations

from typing import Literal

from recrawl.web.queue_documents import (
    Amount,
    BufferView,
    Control,
    Count,
    Decision,
    DensityBin,
    Document,
    FittedLaw,
    FleetPoint,
    LevelShare,
    Measured,
    PolicyWord,
    Probability,
    QueueCase,
    RobotsView,
    State,
    ThresholdRow,
    WhatIf,
)

__all__ = [
    "AccessEntry",
    "Alarm",
    "BeliefPoint",
    "BudgetValue",
    "BufferView",
    "Change",
    "Changes",
    "CountBin",
    "Decision",
    "DensityBin",
    "ErrorView",
    "FittedLaw",
    "FleetPoint",
    "HistorySeries",
    "Hit",
    "LevelShare",
    "Measured",
    "Overview",
    "PageRow",
    "PageView",
    "Pages",
    "PlanView",
    "PolicyValue",
    "QueueCase",
    "RobotsView",
    "SearchResult",
    "SiteRow",
    "SiteView",
    "Sites",
    "ThresholdRow",
    "WhatIf",
]


class ErrorView(Document, frozen=True, kw_only=True):
    """Why something was not done."""

    status: int
    error: str  # one word: not_found, invalid, refused, ...
    detail: str  # for people


class Alarm(Document, frozen=True, kw_only=True):
    """Something is wrong, in words."""

    kind: Literal[
        "not_running", "site_unreachable", "starving", "losing", "budget_too_small", "index_behind", "disk_nearly_full",
        "nothing_accessed", "control",
    ]  # fmt: skip
    severity: Literal["warning", "critical"]
    text: str
    advice: str = ""
    site: str | None = None


class Overview(Document, frozen=True, kw_only=True):
    """Is my copy fresh? The engine and its copy at a glance."""

    time: float
    running: bool
    read_only: bool  # no action can be taken here
    running_seconds: Amount | None = None
    obsolescence: Probability | None = None  # expected now, by weight
    obsolescence_bound: Probability | None = (
        None  # least possible at this budget, if pages change as believed
    )
    policy: Literal["optimal", "poisson", "uniform", "proportional"] = "optimal"
    budget_per_second: Amount | None = None  # None: as fast as politeness allows
    planned_budget_per_second: Amount | None = None
    accesses_per_second: Amount | None = None  # lately
    budget_used: Amount | None = None  # accesses per second over the budget
    price: Amount | None = None
    pages: dict[str, Count]  # by state
    searchable: Count
    scheduled: Count | None = None
    sites: Count
    paused_sites: list[str]
    accesses: Count  # ever
    outcomes: dict[str, Count]  # ever
    accesses_this_run: Count
    changes: Count  # seen, ever
    change_share: Probability | None = None  # of accesses that found a change
    revision: Count  # the newest entry of the change feed
    uncommitted: Count  # revisions that are not searchable yet
    index_delay_seconds: Amount | None = None  # 99 %
    loop_lag_seconds: Amount | None = None  # 99 %
    bytes_received: Count
    store_bytes: Count
    disk_free_bytes: Count | None = None
    robots_active: Count
    robots_accessing: Count
    robots_most: Count
    buffer: BufferView
    control: Control
    queue: list[Measured]
    alarms: list[Alarm]


class Hit(Document, frozen=True, kw_only=True):
    """One page that a search found. `snippet` is plain text; `marks` are the places [begin, end) of matched words."""

    url: str
    href: str | None  # the URL if it is safe as a link
    site: str
    title: str
    snippet: str
    marks: list[tuple[int, int]]
    score: float
    revision: Count
    last_seen: float | None = None
    current_probability: Probability | None = None


class SearchResult(Document, frozen=True, kw_only=True):
    """Pages that match, the best first."""

    query: str
    site: str | None
    count: Count
    offset: Count
    limit: Count
    took_seconds: Amount
    hits: list[Hit]


class PageRow(Document, frozen=True, kw_only=True):
    """One page in a table. Change rates with a 90 % credible interval."""

    url: str
    href: str | None
    site: str
    title: str
    state: State
    depth: Count
    in_links: Count
    weight: Amount
    change_rate: Amount
    change_rate_low: Amount
    change_rate_high: Amount
    access_interval: Amount | None = None  # None: not worth an access at the present price
    next_due: float | None = None
    last_seen: float | None = None
    last_change: float | None = None
    current_probability: Probability | None = None
    accesses: Count
    changes: Count
    failures: Count


class Pages(Document, frozen=True, kw_only=True):
    """Some pages of the table, sorted and filtered."""

    count: Count  # that match
    total: Count  # in all
    offset: Count
    limit: Count
    sort: str
    descending: bool
    as_of: float  # rates and intervals are computed for all pages now and then
    rows: list[PageRow]


class AccessEntry(Document, frozen=True, kw_only=True):
    """One access of a page."""

    time: float
    outcome: str
    changed: bool


class BeliefPoint(Document, frozen=True, kw_only=True):
    """What was believed of a page's change rate from a time on."""

    time: float
    rate: Amount
    low: Amount
    high: Amount


class PageView(Document, frozen=True, kw_only=True):
    """Everything about one page."""

    row: PageRow
    found_at: float
    searchable: bool
    duplicate_of: str | None = None
    moved_to: str | None = None
    last_outcome: str | None = None
    reason: str = ""
    etag: str | None = None
    last_modified: float | None = None
    announced: float | None = None
    retry_at: float | None = None
    digest: str | None = None
    revision: Count
    why_due: str
    policy: str
    price: Amount | None = None
    headings: list[str]
    text: str | None = None  # the beginning
    text_characters: Count
    accesses: list[AccessEntry]  # the latest, oldest first
    belief: list[BeliefPoint]  # replayed from them


class SiteRow(Document, frozen=True, kw_only=True):
    """One site in a table."""

    site: str
    pages: Count
    searchable: Count
    paused: bool
    reachable: bool
    closed_until: float | None = None  # left alone until then
    failing_pages: Count
    delay_seconds: Amount | None = None  # between two accesses
    access_rate: Amount | None = None  # per second, planned
    change_rate: Amount | None = None  # changes per second of all its pages, believed
    obsolescence: Probability | None = None
    last_seen: float | None = None


class Sites(Document, frozen=True, kw_only=True):
    """All sites."""

    count: Count
    rows: list[SiteRow]


class SiteView(Document, frozen=True, kw_only=True):
    """One site: politeness, errors, exclusion."""

    row: SiteRow
    concurrency: Count | None = None
    accessing: Count | None = None
    failures_in_a_row: Count | None = None
    exclusion_read_at: float | None = None
    exclusion_expires_at: float | None = None
    exclusion_reason: str = ""  # why robots.txt could not be read
    exclusion_text: str | None = None  # None: not known here
    obey_exclusion: bool = True
    states: dict[str, Count]
    errors: list[PageRow]  # pages whose last accesses failed
    reasons: dict[str, str]  # of these pages, by URL


class BudgetValue(Document, frozen=True, kw_only=True):
    """What a budget gives."""

    budget_per_second: Amount
    obsolescence: Probability  # the lower bound
    price: Amount
    never_visited: Count  # pages that are not worth an access then


class PolicyValue(Document, frozen=True, kw_only=True):
    """What a rule gives at the present budget, if pages change as believed."""

    policy: PolicyWord
    label: str
    obsolescence: Probability


class CountBin(Document, frozen=True, kw_only=True):
    """How many pages have a value from `low` to `high`."""

    low: Amount
    high: Amount
    count: Count


class PlanView(Document, frozen=True, kw_only=True):
    """What would more or less budget give?"""

    time: float
    pages: Count
    sampled: Count  # pages that the answers are computed from
    policy: str
    budget_per_second: Amount | None = None
    price: Amount | None = None
    obsolescence: Probability | None = None  # expected now
    present: BudgetValue | None = None  # the curve at the present budget
    curve: list[BudgetValue]
    never_visited: Count  # pages that are not worth an access at this price
    never_visited_pages: list[str]  # some of them
    intervals: list[CountBin]  # between accesses, in seconds
    policies: list[PolicyValue]
    sites_at_ceiling: list[str]


class HistorySeries(Document, frozen=True, kw_only=True):
    """Measures over time, ready for a chart: one list of times and one of values for each name."""

    begin: float
    end: float
    step_seconds: Amount  # between two points
    times: list[float]
    series: dict[str, list[float | None]]


class Change(Document, frozen=True, kw_only=True):
    """One entry of the change feed."""

    cursor: Count
    kind: Literal["added", "changed", "removed"]
    url: str
    site: str
    time: float
    digest: str | None = None
    title: str | None = None
    replaced: bool  # a later entry of the same page has its text


class Changes(Document, frozen=True, kw_only=True):
    """The change feed above a cursor. Go on with `since` = `cursor`."""

    cursor: Count
    more: bool
    changes: list[Change]
