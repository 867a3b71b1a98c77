"""The demonstration web: one server, several sites, each at a port of its own on 127.0.0.1."""

from __future__ import annotations

import asyncio
import gzip
import time as system_time
from collections import Counter
from email.utils import formatdate, parsedate_to_datetime
from typing import TYPE_CHECKING, Self

import numpy as np
from aiohttp import web

from recrawl.demo.options import DemoOptions
from recrawl.demo.pages import page_html, page_number, page_path
from recrawl.demo.rates import drawn_rates
from recrawl.demo.troubles import TROUBLES, trouble_path
from recrawl.demo.truth import Truth, poisson_truth, replay_truth
from recrawl.laws import parse_law

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["DemoWeb"]

_HOST = "127.0.0.1"
_SITEMAP_PAGES = 1000  # in one file


class DemoWeb:
    """Serves the sites while it is open, and knows the truth about them.

    Parameters
    ----------
    history
        Changes to replay instead of drawing them: (seconds from the start, page), a page being its number, site after
        site, or its path on the first site.
    ports
        One for each site; 0 or nothing: free ones.
    time
        Seconds since 1970; for tests in a time of their own.

    Examples
    --------
    ::

        async with DemoWeb(DemoOptions(sites=2, pages_per_site=100)) as demo:
            print(demo.seeds)
            ...
            demo.truth.obsolescence(copies, since, until)
    """

    def __init__(
        self,
        options: DemoOptions | None = None,
        *,
        history: Iterable[tuple[float, int | str]] | None = None,
        ports: list[int] | None = None,
        time: Callable[[], float] = system_time.time,
    ) -> None:
        self.options = options or DemoOptions()
        self.time = time
        self.hits: Counter[tuple[int, str]] = Counter()  # by port and path
        self.statuses: Counter[int] = Counter()
        self.served: dict[str, list[float]] = {}  # times at which a page was given out or confirmed
        self.down: set[int] = set()  # numbers of sites that answer nothing but 503
        self.gone: set[str] = set()  # URLs of pages that were removed
        self.sessions = 0
        self.closing = asyncio.Event()
        self._delay = parse_law(self.options.delay_law) if self.options.delay_law else None
        self._chance = np.random.default_rng((self.options.seed, 1, 0))
        self._history = history
        self._wanted_ports = ports or []
        self._runner: web.AppRunner | None = None
        self.ports: list[int] = []

    @property
    def seeds(self) -> list[str]:
        """The front page of each site."""
        return [f"http://{_HOST}:{port}/" for port in self.ports]

    def url(self, number: int, site: int = 0) -> str:
        """URL of a page."""
        return f"http://{_HOST}:{self.ports[site]}{self._path(number)}"

    def _path(self, number: int) -> str:
        return page_path(number, self.options.pages_per_directory)

    def trouble(self, name: str, tail: str = "", site: int = 0) -> str:
        """URL of a trouble."""
        return f"http://{_HOST}:{self.ports[site]}{trouble_path(name)}{tail}"

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def start(self) -> None:
        """Start to serve; the pages begin to change now."""
        application = web.Application()
        application.router.add_get("/robots.txt", self._exclusion)
        application.router.add_get("/{name:sitemap.*}", self._sitemap)
        application.router.add_get("/trouble/{name}{tail:.*}", self._trouble)
        application.router.add_get("/{path:.*}", self._page)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        for site in range(self.options.sites):
            wanted = self._wanted_ports[site] if site < len(self._wanted_ports) else 0
            await web.TCPSite(self._runner, _HOST, wanted).start()
        self.ports = [address[1] for address in self._runner.addresses]
        self._site_of_port = {port: site for site, port in enumerate(self.ports)}
        self.truth = self._make_truth(self.time())

    async def close(self) -> None:
        """Stop to serve."""
        self.closing.set()
        if self._runner is not None:
            await self._runner.cleanup()

    def _make_truth(self, start: float) -> Truth:
        options = self.options
        urls = [self.url(n, site) for site in range(options.sites) for n in range(options.pages_per_site)]
        if self._history is not None:
            named = (
                (t, urls[p] if isinstance(p, int) else f"{self.seeds[0][:-1]}{p}") for t, p in self._history
            )
            return replay_truth(named, urls, start=start, speed=options.speed)
        rates, directories = drawn_rates(options)
        return poisson_truth(rates, urls, start=start, seed=options.seed, directories=directories)

    def _arrive(self, request: web.Request) -> tuple[int, int]:
        """The port and the number of the site that was asked."""
        port = request.url.port or 80
        transport = request.transport
        if transport is not None:
            port = transport.get_extra_info("sockname")[1]
        self.hits[(port, request.path)] += 1
        return port, self._site_of_port[port]

    async def _page(self, request: web.Request) -> web.StreamResponse:
        port, site = self._arrive(request)
        if self.options.delay_seconds:
            await asyncio.sleep(self.options.delay_seconds)
        if self._delay is not None:
            await asyncio.sleep(float(self._delay.sample(self._chance, 1)[0]))
        number = page_number(request.rel_url.raw_path, self.options.pages_per_directory)
        url = f"http://{_HOST}:{port}{request.path}"
        if site in self.down:
            return self._answer(web.Response(status=503))
        if number is None or number >= self.options.pages_per_site or url in self.gone:
            return self._answer(web.Response(status=404, text="no such page"))
        now = self.time()
        page = site * self.options.pages_per_site + number
        version = self.truth.version(page, now)
        headers = self._validators(page, version, now)
        if self.options.remember:
            self.served.setdefault(url, []).append(now)
        if self._is_current(request, headers):
            return self._answer(web.Response(status=304, headers=headers))
        body = page_html(
            site=site,
            number=number,
            version=version,
            pages=self.options.pages_per_site,
            links=self.options.links_per_page,
            size=self.options.page_bytes,
            now=now if self.options.volatile else None,
            extra=self._trouble_links() if number == 0 else "",
            directory=self.options.pages_per_directory,
        )
        response = web.Response(body=body, content_type="text/html", charset="utf-8", headers=headers)
        if self.options.compress:
            response.enable_compression()
        return self._answer(response)

    def _answer(self, response: web.StreamResponse) -> web.StreamResponse:
        self.statuses[response.status] += 1
        return response

    def _validators(self, page: int, version: int, now: float) -> dict[str, str]:
        headers = {}
        if self.options.etag:
            headers["ETag"] = f'W/"{page}-{version}"'
        if self.options.last_modified:
            headers["Last-Modified"] = formatdate(self.truth.last_change(page, now), usegmt=True)
        return headers

    def _is_current(self, request: web.Request, headers: dict[str, str]) -> bool:
        """RFC 9110, 13: the etag decides where there is one; the date alone is exact to a second only."""
        asked = request.headers.get("If-None-Match")
        if asked is not None and "ETag" in headers:
            return asked == headers["ETag"]
        since = request.headers.get("If-Modified-Since")
        if since is None or "Last-Modified" not in headers:
            return False
        try:
            return parsedate_to_datetime(headers["Last-Modified"]) <= parsedate_to_datetime(since)
        except (TypeError, ValueError):
            return False

    def _trouble_links(self) -> str:
        return "".join(f'<p><a href="{trouble_path(name)}">{name}</a></p>' for name in self.options.troubles)

    async def _trouble(self, request: web.Request) -> web.StreamResponse:
        self._arrive(request)
        handler = TROUBLES.get(request.match_info["name"])
        if handler is None:
            return self._answer(web.Response(status=404))
        return self._answer(await handler(self, request))

    async def _exclusion(self, request: web.Request) -> web.StreamResponse:
        port, site = self._arrive(request)
        kind = "error" if site in self.down else self.options.exclusion
        if kind == "hang":
            await self.closing.wait()
        if kind in ("missing", "error", "busy"):
            status = {"missing": 404, "error": 500, "busy": 503}[kind]
            return self._answer(
                web.Response(status=status, headers={"Retry-After": "60"} if kind == "busy" else None)
            )
        if kind == "loop":
            return self._answer(web.Response(status=302, headers={"Location": "/robots.txt"}))
        if kind == "garbage":
            return self._answer(
                web.Response(body=bytes(range(256)) * 40, content_type="application/octet-stream")
            )
        lines = ["User-agent: *", f"Disallow: {'/' if kind == 'disallow' else '/private/'}"]
        if self.options.crawl_delay_seconds is not None:
            lines.append(f"Crawl-delay: {self.options.crawl_delay_seconds}")
        if self.options.sitemaps:
            lines.append(f"Sitemap: http://{_HOST}:{port}/sitemap.xml")
        if kind == "huge":
            lines += ["# " + "x" * 1000] * 2000
        return self._answer(web.Response(text="\n".join(lines) + "\n"))

    async def _sitemap(self, request: web.Request) -> web.StreamResponse:
        """``sitemap.xml`` is the index; ``sitemap-3.xml.gz`` holds the pages from 3000 on."""
        port, site = self._arrive(request)
        name, pages = request.match_info["name"], self.options.pages_per_site
        part = name.removeprefix("sitemap-").removesuffix(".xml.gz")
        count = -(-pages // _SITEMAP_PAGES)
        if not self.options.sitemaps or site in self.down:
            return self._answer(web.Response(status=404))
        now = self.time()
        root = f"http://{_HOST}:{port}"
        if name == "sitemap.xml":
            items = [f"<sitemap><loc>{root}/sitemap-{n}.xml.gz</loc></sitemap>" for n in range(count)]
            return self._answer(
                web.Response(text=_xml("sitemapindex", items), content_type="application/xml")
            )
        if not (part.isdecimal() and part.isascii()) or int(part) >= count:
            return self._answer(web.Response(status=404))
        first = int(part) * _SITEMAP_PAGES
        items = []
        for number in range(first, min(first + _SITEMAP_PAGES, pages)):
            changed = self.truth.last_change(site * pages + number, now)
            stamp = system_time.strftime("%Y-%m-%dT%H:%M:%SZ", system_time.gmtime(changed))
            lastmod = f"<lastmod>{stamp}</lastmod>" if self.options.lastmod else ""
            items.append(f"<url><loc>{root}{self._path(number)}</loc>{lastmod}</url>")
        body = gzip.compress(_xml("urlset", items).encode(), 1)
        return self._answer(web.Response(body=body, content_type="application/gzip"))


def _xml(root: str, items: list[str]) -> str:
    start = f'<?xml version="1.0" encoding="UTF-8"?>\n<{root} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
    return "\n".join([start, *items, f"</{root}>"])
