"""Accesses pages over HTTP, by aiohttp.

Redirects are followed by hand: each hop is checked for scope, exclusion and private addresses, and gets only the
headers that the settings give to its own host. Bodies are read piece by piece and given up at the size cap, which
counts decompressed bytes. Whatever a server does is an outcome, never an exception.
"""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import dataclass, field, replace
from email.utils import formatdate
from typing import TYPE_CHECKING, Any

import aiohttp
from yarl import URL

from recrawl.engine._headers import is_readable, media_type, parse_date, parse_retry_after
from recrawl.engine.bandwidth import Bandwidth
from recrawl.engine.decoding import ACCEPT_ENCODING, BadEncoding, Decoder, TooLong
from recrawl.engine.exclusion import MAX_EXCLUSION_BYTES, Exclusion, Permission
from recrawl.engine.guard import AddressRefused
from recrawl.engine.records import Access, Outcome
from recrawl.engine.urls import canonical_url, host_and_port, resolve, site_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aiohttp.abc import AbstractResolver

    from recrawl.engine.guard import Guard
    from recrawl.engine.options import AccessOptions, SiteOptions
    from recrawl.engine.protocols import Clock
    from recrawl.engine.records import PageRecord
    from recrawl.engine.urls import Scope

__all__ = ["HttpAccessor"]

_ACCEPT = (
    "text/html,application/xhtml+xml,text/plain;q=0.9,text/markdown;q=0.9,application/pdf;q=0.8,*/*;q=0.1"
)
_REDIRECTS = {301, 302, 303, 307, 308}


class _Ended(Exception):
    """The access ended early: an outcome, and what is known of it."""

    def __init__(self, outcome: Outcome, reason: str, **fields: Any) -> None:
        super().__init__(reason)
        self.fields = {"outcome": outcome, "reason": reason, **fields}


@dataclass(frozen=True)
class _Errand:
    """What an access is for: a page, or a file that tells of pages (robots.txt, a sitemap)."""

    is_page: bool
    max_bytes: int
    max_redirects: int
    headers: Mapping[str, str] = field(default_factory=dict)  # of the first hop only
    cut: bool = False  # take the beginning of what is too long


class HttpAccessor:
    """The engine's `Accessor`.

    Parameters
    ----------
    scope
        Where a redirect may lead; None: anywhere public.
    sites
        Options by site (``example.org``, ``example.org:8080``).
    resolver
        Names to addresses; None: the system's.
    """

    def __init__(
        self,
        options: AccessOptions,
        *,
        clock: Clock,
        guard: Guard,
        scope: Scope | None = None,
        sites: Mapping[str, SiteOptions] | None = None,
        resolver: AbstractResolver | None = None,
    ) -> None:
        self.options = options
        self.guard = guard
        self.scope = scope
        self.sites = sites or {}
        self.exclusion = Exclusion(self._read_exclusion, clock, options)
        self.bandwidth = Bandwidth(options.bandwidth_bytes_per_second, clock)
        self._clock = clock
        self._resolver = resolver
        self._session: aiohttp.ClientSession | None = None
        self._closed = False

    async def access(self, page: PageRecord) -> Access:
        """Access a page, conditionally when its etag or date is known."""
        errand = _Errand(True, self.options.max_body_bytes, self.options.max_redirects, _conditional(page))
        access = await self._run(page.url, errand)
        if access.outcome is Outcome.NOT_MODIFIED:  # 304 need not repeat what is known
            known = page.last_modified if access.last_modified is None else access.last_modified
            access = replace(access, etag=access.etag or page.etag, last_modified=known)
        return access

    async def read(self, url: str, max_bytes: int, *, cut: bool = False) -> Access:
        """Read a file that tells of pages, of any type; exclusion is not asked, addresses are guarded."""
        errand = _Errand(False, max_bytes, max(5, self.options.max_redirects), cut=cut)
        return await self._run(url, errand)

    async def close(self) -> None:
        """Close connections."""
        self._closed = True
        if self._session is not None:
            await self._session.close()

    async def _read_exclusion(self, url: str) -> Access:
        return await self.read(url, MAX_EXCLUSION_BYTES, cut=True)

    async def _run(self, url: str, errand: _Errand) -> Access:
        await self.bandwidth.wait()
        started = self._clock.time()
        try:
            fields = await self._follow(url, errand)
        except _Ended as ended:
            fields = ended.fields
        except (aiohttp.ClientError, OSError, ValueError, asyncio.IncompleteReadError) as error:
            fields = _failure(error)
        return Access(url=url, started=started, ended=self._clock.time(), **fields)

    async def _follow(self, url: str, errand: _Errand) -> dict[str, Any]:
        deadline = asyncio.get_running_loop().time() + self.options.total_timeout_seconds
        seen = {url}
        here, headers = url, errand.headers
        while True:
            await self._check(here, url, errand)
            fields = await self._hop(here, url, headers, errand, deadline)
            target = fields.pop("redirect", None)
            if target is None:
                break
            if target in seen:
                raise _Ended(Outcome.FAILED, f"a redirect loop at {target}", final_url=target)
            if len(seen) > errand.max_redirects:
                raise _Ended(Outcome.FAILED, f"more than {errand.max_redirects} redirects", final_url=target)
            seen.add(target)
            here, headers = target, {}
        if here != url:
            fields["final_url"] = here
        return fields

    async def _check(self, here: str, first: str, errand: _Errand) -> None:
        """Whether this hop may be made: scope, exclusion, and addresses as far as the URL tells."""
        if canonical_url(here) != here:
            raise _Ended(Outcome.FAILED, "not a canonical http or https URL")
        moved = {} if here == first else {"final_url": here}
        host, port = host_and_port(here)
        if not self.guard.permits_literal(host, port):
            self.guard.refusals += 1
            raise _Ended(Outcome.REFUSED, f"{host}:{port} is a private address", **moved)
        if not errand.is_page:
            return
        if moved and self.scope is not None and not self.scope.contains(here):
            raise _Ended(Outcome.EXCLUDED, f"redirected out of scope, to {here}", **moved)
        permission, rules = await self.exclusion.permission(here)
        if permission is Permission.DISALLOWED:
            raise _Ended(Outcome.EXCLUDED, "disallowed by robots.txt", **moved)
        if permission is Permission.UNKNOWN:
            busy = Outcome.BUSY if rules.retry_after is not None else Outcome.FAILED
            raise _Ended(busy, rules.reason, retry_after=rules.retry_after, **moved)

    async def _hop(
        self, here: str, first: str, extra: Mapping[str, str], errand: _Errand, deadline: float
    ) -> dict[str, Any]:
        host, port = host_and_port(here)
        target = URL(here, encoded=True)
        if target.raw_host != host or target.port != port:  # two parsers must not disagree on who is asked
            raise _Ended(Outcome.FAILED, "a URL that can be read in two ways")
        headers = {**self._site_headers(here, first), **extra}
        session = self._open_session()
        proxy = self.options.proxy
        with self.guard.connecting_to(host, port, by_proxy=proxy is not None):
            async with (
                asyncio.timeout_at(deadline),
                session.get(target, headers=headers, allow_redirects=False, proxy=proxy) as response,
            ):
                return await self._receive(response, here, first, errand)

    async def _receive(
        self, response: aiohttp.ClientResponse, here: str, first: str, errand: _Errand
    ) -> dict[str, Any]:
        status = response.status
        conditional = here == first and bool(errand.headers)
        fields: dict[str, Any] = {"status": status, "outcome": Outcome.CONTENT}
        if status in _REDIRECTS and "Location" in response.headers:
            return {"redirect": self._location(response, here)}
        if status == 304 and conditional:
            return fields | {"outcome": Outcome.NOT_MODIFIED} | _validators(response)
        if status in (404, 410):
            return fields | {"outcome": Outcome.GONE, "reason": f"status {status}"}
        if status in (429, 503):
            wait = parse_retry_after(response.headers.get("Retry-After", ""), self._clock.time())
            return fields | {"outcome": Outcome.BUSY, "retry_after": wait, "reason": f"status {status}"}
        if status not in (200, 203):
            return fields | {"outcome": Outcome.FAILED, "reason": f"status {status}"}
        type_, charset = media_type(response.headers.get("Content-Type", ""))
        fields |= {"content_type": type_, "encoding": charset} | _validators(response)
        fields["robots_tag"] = ", ".join(response.headers.getall("X-Robots-Tag", ()))
        if errand.is_page and not is_readable(type_):
            raise _Ended(Outcome.UNREADABLE, f"content type {type_!r}", status=status, content_type=type_)
        if errand.is_page and here != first:  # the page it moved to has its own accesses
            return fields | {"outcome": Outcome.MOVED, "reason": f"moved to {here}"}
        body, size = await self._body(response, errand)
        return fields | {"body": body, "size": size}

    async def _body(self, response: aiohttp.ClientResponse, errand: _Errand) -> tuple[bytes, int]:
        size = 0
        promised = response.content_length
        if promised is not None and promised > errand.max_bytes and not errand.cut:
            reason = f"a body of {promised} bytes; at most {errand.max_bytes} are read"
            raise _Ended(Outcome.UNREADABLE, reason, status=response.status)
        try:
            decoder = Decoder(response.headers.get("Content-Encoding", ""), errand.max_bytes)
            async for piece in response.content.iter_any():
                size += len(piece)
                decoder.feed(piece)
            decoder.finish()
        except BadEncoding as error:
            raise _Ended(Outcome.UNREADABLE, str(error), status=response.status, size=size) from None
        except TooLong as error:
            if not errand.cut:
                raise _Ended(Outcome.UNREADABLE, str(error), status=response.status, size=size) from None
        finally:
            self.bandwidth.spend(size)
        return decoder.body(), size

    def _location(self, response: aiohttp.ClientResponse, here: str) -> str:
        target = resolve(response.headers["Location"], here)
        if target is None:
            raise _Ended(Outcome.FAILED, "a redirect to no http or https URL", status=response.status)
        return target

    def _site_headers(self, here: str, first: str) -> dict[str, str]:
        """The settings' headers for this hop's own host; none after a step down from https to http."""
        site = self.sites.get(site_of(here))
        if site is None or (here.startswith("http:") and first.startswith("https:")):
            return {}
        return site.request_headers()

    def _open_session(self) -> aiohttp.ClientSession:
        if self._closed:
            raise aiohttp.ClientConnectionError("the accessor is closed")
        if self._session is None:
            options = self.options
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=options.max_connections,
                    socket_factory=self.guard.make_socket,
                    resolver=self._resolver,
                    ttl_dns_cache=60,
                ),
                timeout=aiohttp.ClientTimeout(
                    total=None,
                    sock_connect=options.connect_timeout_seconds,
                    sock_read=options.read_timeout_seconds,
                ),
                headers={
                    "User-Agent": options.user_agent,
                    "Accept": _ACCEPT,
                    "Accept-Encoding": ACCEPT_ENCODING,
                },
                auto_decompress=False,
                cookie_jar=aiohttp.DummyCookieJar(),
                requote_redirect_url=False,
            )
        return self._session


def _conditional(page: PageRecord) -> dict[str, str]:
    headers = {}
    if page.etag and page.digest is not None:  # without a digest there is no copy that could be current
        headers["If-None-Match"] = page.etag
    if page.last_modified is not None and page.digest is not None:
        headers["If-Modified-Since"] = formatdate(page.last_modified, usegmt=True)
    return headers


def _validators(response: aiohttp.ClientResponse) -> dict[str, Any]:
    etag = response.headers.get("ETag")
    if etag is not None and (len(etag) > 512 or not etag.isprintable()):
        etag = None
    modified = parse_date(response.headers.get("Last-Modified", ""))
    if etag is None and modified is not None:
        # RFC 9110, 8.8.2.2: a page may change twice within a second, and its date would not tell. Ask in full then.
        date = parse_date(response.headers.get("Date", ""))
        if date is not None and modified >= date - 1:
            modified = None
    return {"etag": etag, "last_modified": modified}


def _failure(error: Exception) -> dict[str, Any]:
    """The outcome of an exception, in words that carry no headers."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, AddressRefused):
            return {"outcome": Outcome.REFUSED, "reason": str(cause)}
        cause = cause.__cause__ or getattr(cause, "os_error", None)
    if isinstance(error, TimeoutError):
        reason = "timed out"
    elif isinstance(error, aiohttp.ClientConnectorDNSError):
        reason = "the name does not resolve"
    elif isinstance(error, (aiohttp.ClientConnectorCertificateError, ssl.SSLError, aiohttp.ClientSSLError)):
        reason = "TLS failed"
    elif isinstance(error, aiohttp.ClientConnectorError):
        reason = f"no connection: {error.os_error.strerror or type(error.os_error).__name__}"
    elif isinstance(error, aiohttp.ClientPayloadError):
        reason = "the body ended too early"
    elif isinstance(error, aiohttp.ClientResponseError):
        reason = "a malformed response"
    else:
        reason = f"broken: {type(error).__name__}"
    return {"outcome": Outcome.FAILED, "reason": reason}
