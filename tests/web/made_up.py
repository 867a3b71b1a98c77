"""A source with made-up documents: for what the pages make of them, whatever they hold."""

import math
import time

from tests.web.made_up_queue import no_robots, robots

from recrawl.web import documents as d
from recrawl.web.problems import not_found
from recrawl.web.requests import Done

HOSTILE = "<script>window.hacked = 1</script>"
NOW = 1_800_000_000.0


def page_row(url="https://docs.example.org/guide/start", title="Getting started", **changes):
    fields = {
        "url": url,
        "href": url if url.startswith("http") else None,
        "site": "docs.example.org",
        "title": title,
        "state": "known",
        "depth": 2,
        "in_links": 41,
        "weight": 1.7,
        "change_rate": 1 / 7200,
        "change_rate_low": 1 / 18000,
        "change_rate_high": 1 / 3000,
        "access_interval": 5400.0,
        "next_due": NOW + 900,
        "last_seen": NOW - 1800,
        "last_change": NOW - 40000,
        "current_probability": 0.83,
        "accesses": 118,
        "changes": 37,
        "failures": 0,
    }
    return d.PageRow(**{**fields, **changes})


def site_row(site="docs.example.org", **changes):
    fields = {
        "site": site,
        "pages": 1200,
        "searchable": 1187,
        "paused": False,
        "reachable": True,
        "failing_pages": 3,
        "delay_seconds": 1.0,
        "access_rate": 0.4,
        "change_rate": 0.31,
        "obsolescence": 0.12,
        "last_seen": NOW - 2,
    }
    return d.SiteRow(**{**fields, **changes})


QUEUE = [
    d.Measured(
        name="loss", label="loss (per page)", unit="share", measured=0.012, half_width=0.003, predicted=0.0108
    ),
    d.Measured(
        name="obsolete", label="obsolete in buffer (per page)", unit="share", measured=0.0, predicted=0.0
    ),
    d.Measured(
        name="starvation",
        label="starvation (share of time)",
        unit="share",
        measured=0.076,
        half_width=0.003,
        predicted=0.077,
    ),
    d.Measured(
        name="response_time",
        label="response time",
        unit="seconds",
        measured=0.42,
        half_width=0.02,
        predicted=0.4,
    ),
    d.Measured(
        name="active_robots",
        label="active robots",
        unit="robots",
        measured=5.31,
        half_width=0.1,
        predicted=5.2,
    ),
]
BUFFER = d.BufferView(level=23, capacity=64, thresholds=[20, 40])


def overview(**changes):
    fields = {
        "time": NOW,
        "running": True,
        "read_only": False,
        "running_seconds": 86400 * 1.4,
        "obsolescence": 0.1316,
        "obsolescence_bound": 0.1265,
        "budget_per_second": 5.0,
        "planned_budget_per_second": 5.0,
        "accesses_per_second": 4.93,
        "budget_used": 0.986,
        "price": 312.0,
        "pages": {"known": 2411, "gone": 12, "excluded": 3, "duplicate": 9},
        "searchable": 2398,
        "scheduled": 2420,
        "sites": 3,
        "paused_sites": ["shop.example.org"],
        "accesses": 1_204_331,
        "outcomes": {"content": 800_000, "not_modified": 404_331},
        "accesses_this_run": 603_101,
        "changes": 311_402,
        "change_share": 0.2586,
        "revision": 311_500,
        "uncommitted": 14,
        "index_delay_seconds": 2.1,
        "loop_lag_seconds": 0.004,
        "bytes_received": 18_000_000_000,
        "store_bytes": 240_000_000,
        "disk_free_bytes": 43_000_000_000,
        "robots_active": 8,
        "robots_accessing": 5,
        "robots_most": 16,
        "buffer": BUFFER,
        "control": "thresholds",
        "queue": QUEUE,
        "alarms": [
            d.Alarm(
                kind="site_unreachable",
                severity="critical",
                text="shop.example.org cannot be reached.",
                advice="Its 40 pages stay searchable; it is tried again in 4 min.",
                site="shop.example.org",
            )
        ],
    }
    return d.Overview(**{**fields, **changes})


def curve_point(budget):
    return d.BudgetValue(
        budget_per_second=budget,
        obsolescence=1 / (1 + (budget / 0.7) ** 0.95),
        price=1500 / budget,
        never_visited=round(200 / (1 + budget)),
    )


class FakeSource:
    """Answers like a source; `texts` is what every foreign string says, `empty` is a directory without pages."""

    read_only = False

    def __init__(self, text="Getting started", url="https://docs.example.org/guide/start", empty=False):
        self.text, self.url, self.empty = text, url, empty
        self.taken = []

    async def overview(self):
        if not self.empty:
            return overview()
        nothing = {
            "pages": {},
            "searchable": 0,
            "scheduled": None,
            "sites": 0,
            "accesses": 0,
            "accesses_this_run": 0,
            "changes": 0,
        }
        unknown = dict.fromkeys(
            (
                "obsolescence",
                "obsolescence_bound",
                "change_share",
                "budget_used",
                "accesses_per_second",
                "price",
            )
        )
        buffer = d.BufferView(level=0, capacity=0)
        return overview(running=False, outcomes={}, queue=[], alarms=[], buffer=buffer, **nothing, **unknown)

    async def search(self, query, site=None, limit=10, offset=0):
        hit = d.Hit(
            url=self.url,
            href=self.url if self.url.startswith("http") else None,
            site="docs.example.org",
            title=self.text,
            snippet=f"{self.text} and keep the copy fresh while pages change",
            marks=[(len(self.text) + 5, len(self.text) + 9)],
            score=3.2,
            revision=9,
            last_seen=NOW - 90,
            current_probability=0.83,
        )
        hits = [] if self.empty else [hit] * 10
        return d.SearchResult(
            query=query,
            site=site,
            count=len(hits) and 123,
            offset=offset,
            limit=limit,
            took_seconds=0.0008,
            hits=hits,
        )

    async def pages(self, query):
        rows = (
            []
            if self.empty
            else [page_row(self.url, self.text), page_row(self.url, "", failures=2, access_interval=None)]
        )
        return d.Pages(
            count=len(rows) and 2411,
            total=len(rows) and 2435,
            offset=query.offset,
            limit=query.limit,
            sort=query.sort,
            descending=query.descending,
            as_of=NOW - 3,
            rows=rows * 12,
        )

    async def page(self, url):
        if url != self.url:
            raise not_found(f"{url} is not known")
        accesses = [
            d.AccessEntry(
                time=NOW - 90_000 + 1500 * n,
                outcome="content" if n % 3 == 0 else "not_modified",
                changed=n % 7 == 3,
            )
            for n in range(60)
        ]
        belief = [
            d.BeliefPoint(
                time=a.time,
                rate=(2 + math.sin(n)) / 7200,
                low=1 / (4000 + 500 * n),
                high=1 / 2000 / (1 + n / 60),
            )
            for n, a in enumerate(accesses)
        ]
        return d.PageView(
            row=page_row(self.url, self.text),
            found_at=NOW - 100_000,
            searchable=True,
            revision=812,
            last_outcome="not_modified",
            reason=self.text,
            etag=self.text,
            digest="ab12",
            why_due=f"Due in 15 min: {self.text}",
            policy="optimal",
            price=312.0,
            headings=[self.text, "Install"],
            text=f"{self.text}\nThe text that was extracted.",
            text_characters=4000,
            accesses=accesses,
            belief=belief,
            moved_to=self.url,
            duplicate_of=self.url,
        )

    async def sites(self):
        rows = [
            site_row(),
            site_row("shop.example.org", paused=True),
            site_row("news.example.org", reachable=False),
        ]
        return d.Sites(count=0 if self.empty else 3, rows=[] if self.empty else rows)

    async def site(self, name):
        if name != "docs.example.org":
            raise not_found(f"{name} is not known")
        return d.SiteView(
            row=site_row(),
            concurrency=1,
            accessing=1,
            failures_in_a_row=0,
            exclusion_read_at=NOW - 3000,
            exclusion_expires_at=NOW + 80_000,
            exclusion_text=f"User-agent: *\nDisallow: /private/{self.text}\n",
            exclusion_reason=self.text,
            states={"known": 1187, "gone": 13},
            errors=[page_row(self.url, failures=3)],
            reasons={self.url: self.text},
        )

    async def plan(self, factor=1.0):
        if self.empty:
            return d.PlanView(
                time=NOW,
                pages=0,
                sampled=0,
                policy="optimal",
                curve=[],
                never_visited=0,
                never_visited_pages=[],
                intervals=[],
                policies=[],
                sites_at_ceiling=[],
            )
        bins = [
            d.CountBin(low=60 * 4**n, high=240 * 4**n, count=c)
            for n, c in enumerate([12, 140, 610, 900, 500, 160, 40])
        ]
        policies = [
            d.PolicyValue(policy="optimal", label="optimal", obsolescence=0.1265),
            d.PolicyValue(policy="uniform", label="uniform: all pages alike", obsolescence=0.1612),
            d.PolicyValue(policy="proportional", label="proportional to change", obsolescence=0.2919),
        ]
        return d.PlanView(
            time=NOW,
            pages=2411,
            sampled=2411,
            policy="optimal",
            budget_per_second=5.0,
            price=312.0,
            obsolescence=0.1316,
            present=curve_point(5 * factor),
            curve=[curve_point(5 * 2 ** (n / 4)) for n in range(-14, 15)],
            never_visited=31,
            never_visited_pages=[self.url] * 5,
            intervals=bins,
            policies=policies,
            sites_at_ceiling=["docs.example.org"],
        )

    async def robots(self, service_factor=1.0):
        return no_robots(NOW) if self.empty else robots(NOW, self.text, service_factor, BUFFER, QUEUE)

    async def history(self, seconds=3600.0, names=None, points=400):
        times = [NOW - seconds + seconds * n / (points - 1) for n in range(points)]
        waves = [math.sin(n / points * 20) + 0.3 * math.sin(n * 1.7) for n in range(points)]
        values = {
            "obsolescence": [
                0.1316 + 0.01 * w + 0.3 * math.exp(-12 * n / points) for n, w in enumerate(waves)
            ],
            "obsolescence_bound": [0.1265] * points,
            "accesses_per_second": [4.9 + 0.1 * w for w in waves],
            "changes_per_second": [1.2 + 0.2 * w for w in waves],
            "budget_per_second": [5.0] * points,
        }
        step = seconds / (points - 1)
        return d.HistorySeries(
            begin=times[0], end=NOW, step_seconds=step, times=times, series={n: values[n] for n in names}
        )

    def __getattr__(self, name):
        async def take(*arguments, **options):
            self.taken.append((name, arguments, options))
            return Done(text=f"{name}: done at {time.time():.0f}")

        if name not in ("visit", "pause", "resume", "set_weight", "remove", "switch", "set_budget"):
            raise AttributeError(name)
        return take
