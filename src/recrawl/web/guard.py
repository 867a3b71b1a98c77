"""What stands before every call: host, size, rate, token, origin; and the headers that go with every answer.

Reading is free on a loopback address; actions need the token, and when others can reach the address everything does.
A browser logs in once and gets a cookie; its orders must come from our own pages (Origin, Sec-Fetch-Site) and carry
the token of their forms. Programs send the token as a bearer.
"""

from __future__ import annotations

import hmac
import ipaddress
import logging
import time
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, quote, urlsplit

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, RedirectResponse, Response

from recrawl.errors import RecrawlError
from recrawl.web.endpoints import problem_response
from recrawl.web.problems import Problem

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from recrawl.web.options import WebOptions

__all__ = ["Buckets", "Guard"]

_log = logging.getLogger(__name__)
_SAFE = ("GET", "HEAD", "OPTIONS")
_OPEN = ("/login", "/healthz")  # no token needed
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
_RAW_HEADERS = [(name.lower().encode(), value.encode()) for name, value in _HEADERS.items()]
_BURST_SECONDS = 4.0  # of a rate that may come at once
_MOST_CLIENTS = 4096


class Buckets:
    """A bucket for each client, which holds what comes in some seconds, and `least` in any case.

    >>> buckets = Buckets(1.0)
    >>> [buckets.wait("a", 0.0) for _ in range(5)], buckets.wait("b", 0.0), buckets.wait("a", 1.0)
    ([0.0, 0.0, 0.0, 0.0, 1.0], 0.0, 0.0)
    """

    def __init__(self, per_second: float, least: float = 1.0) -> None:
        self._rate = per_second
        self._size = max(least, _BURST_SECONDS * per_second)
        self._clients: dict[str, tuple[float, float]] = {}

    def wait(self, client: str, now: float) -> float:
        """Seconds until the client may call; 0: now, and it counts."""
        tokens, since = self._clients.get(client, (self._size, now))
        tokens = min(self._size, tokens + (now - since) * self._rate)
        waiting = 0.0 if tokens >= 1.0 else (1.0 - tokens) / self._rate
        self._clients[client] = (tokens - 1.0 if waiting == 0.0 else tokens, now)
        if len(self._clients) > _MOST_CLIENTS:
            self._clients = {name: entry for name, entry in self._clients.items() if now - entry[1] < 60.0}
        return waiting


class Guard:
    """The outermost layer. `state` of a request: `may_act`, `read_only`, `csrf`."""

    def __init__(self, app: ASGIApp, options: WebOptions, read_only: bool) -> None:
        self._app, self._options, self._read_only = app, options, read_only
        self._hosts = options.allowed_hosts()
        self._session, self._csrf = options.derived("session"), options.derived("form")
        self._reads = Buckets(options.reads_per_second)
        self._actions = Buckets(options.actions_per_second)
        self._logins = Buckets(options.logins_per_second, least=5.0)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "websocket":  # there are none
                await send({"type": "websocket.close", "code": 1000})
                return
            await self._app(scope, receive, send)
            return
        begun = False

        async def send_guarded(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                given = {name for name, _ in message["headers"]}
                rest = [pair for pair in _RAW_HEADERS if pair[0] not in given]
                message = {**message, "headers": [*message["headers"], *rest]}
            await send(message)

        try:
            answer = await self._refusal(scope, receive)
            if isinstance(answer, Response):
                await answer(scope, receive, send_guarded)
            else:
                await self._app(scope, answer, send_guarded)
        except Exception as error:
            if begun:
                raise
            await self._failure(scope, error)(scope, receive, send_guarded)

    def _failure(self, scope: Scope, error: Exception) -> Response:
        """What an error is to the caller: words, never a trace."""
        if isinstance(error, Problem):
            problem = error
        else:
            _log.error("%s %s failed", scope["method"], scope["path"], exc_info=error)
            known = isinstance(error, RecrawlError)
            problem = Problem(
                503 if known else 500, "failed", "the store or index cannot be read now; see the log"
            )
        return self._told(scope, problem)

    def _told(self, scope: Scope, problem: Problem) -> Response:
        if scope["path"].startswith("/api/"):
            return problem_response(problem)
        return PlainTextResponse(f"{problem.detail}\n", problem.status)

    async def _refusal(self, scope: Scope, receive: Receive) -> Response | Receive:
        """An answer instead of the application's, or how it reads the body."""
        headers, path, method = Headers(scope=scope), scope["path"], scope["method"]
        try:
            self._check_host(headers)
            self._check_rate(scope, method, path)
            by = self._authenticated(headers)
            state: dict[str, Any] = scope.setdefault("state", {})
            state["read_only"] = self._read_only
            state["may_act"] = by is not None and not self._read_only
            state["csrf"] = self._csrf if by == "cookie" else ""
            if self._options.guarded and by is None and not _is_open(path):
                if method in _SAFE and not path.startswith(("/api/", "/metrics")):
                    return RedirectResponse(f"/login?next={quote(path)}", 303)
                raise Problem(401, "no_token", "a token is needed: Authorization: Bearer TOKEN")
            if method in _SAFE:
                return receive
            self._check_origin(headers)
            body = await self._body(headers, receive)
            if path not in ("/login", "/indexnow"):
                self._check_action(headers, by, body)
        except Problem as problem:
            response = self._told(scope, problem)
            if problem.status == 429:
                response.headers["Retry-After"] = "1"
            return response
        return _replayed(body, receive)

    def _check_host(self, headers: Headers) -> None:
        """Only names of our own: a foreign name that was made to point here (DNS rebinding) gets nothing."""
        name = _host_name(headers.get("host", ""))
        if name in self._hosts or (self._options.guarded and _is_address(name)):
            return
        raise Problem(
            403, "wrong_host", f"not served under the name {name!r}; the setting web_hosts adds names"
        )

    def _check_rate(self, scope: Scope, method: str, path: str) -> None:
        client = scope["client"][0] if scope.get("client") else ""
        buckets = self._reads if method in _SAFE else self._actions
        if path == "/login" and (method not in _SAFE or b"token=" in scope.get("query_string", b"")):
            buckets = self._logins
        if buckets.wait(client, time.monotonic()) > 0:
            raise Problem(429, "too_many", "too many calls; try again in a moment")

    def _authenticated(self, headers: Headers) -> str | None:
        """How the caller has shown the token: "bearer", "cookie" or not at all."""
        kind, _, token = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and _same(token.strip(), self._options.token):
            return "bearer"
        cookies = headers.get("cookie", "")
        if not cookies:
            return None
        try:
            cookie = SimpleCookie(cookies).get(self._options.cookie)
        except CookieError:
            return None
        return "cookie" if cookie is not None and _same(cookie.value, self._session) else None

    def _check_origin(self, headers: Headers) -> None:
        """Orders of a browser come from our own pages."""
        site, origin = headers.get("sec-fetch-site"), headers.get("origin")
        if site not in (None, "same-origin", "none"):
            raise Problem(403, "wrong_origin", "this order comes from another site's page")
        if origin is not None and urlsplit(origin).netloc.lower() != headers.get("host", "").lower():
            raise Problem(403, "wrong_origin", "this order comes from another site's page")

    def _check_action(self, headers: Headers, by: str | None, body: bytes) -> None:
        if self._read_only:
            raise Problem(
                409, "read_only", "this is a read-only view of the data: actions need `recrawl run`"
            )
        if by is None:
            raise Problem(
                401, "no_token", "actions need the token: log in, or send Authorization: Bearer TOKEN"
            )
        if by == "cookie" and not _same(_form_token(headers, body), self._csrf):
            raise Problem(403, "no_form_token", "the form's token is missing or old: load the page again")

    async def _body(self, headers: Headers, receive: Receive) -> bytes:
        """All of the body, which is small."""
        most = self._options.max_body_bytes
        announced = headers.get("content-length", "0")
        too_large = Problem(413, "too_large", f"the body must be at most {most} bytes")
        if announced.isdigit() and int(announced) > most:
            raise too_large
        body = bytearray()
        while True:
            message = await receive()
            body += message.get("body", b"")
            if len(body) > most:
                raise too_large
            if not message.get("more_body", False):  # the end, or the caller has left
                return bytes(body)


def _is_open(path: str) -> bool:
    return path in (*_OPEN, "/indexnow") or path.startswith("/static/")


def _replayed(body: bytes, receive: Receive) -> Receive:
    told = False

    async def again() -> Message:
        nonlocal told
        if told:
            return await receive()
        told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


def _form_token(headers: Headers, body: bytes) -> str:
    """The token of a form: in a header, or a field of a form that a browser sent."""
    found = headers.get("x-csrf-token", "")
    if not found and headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
        try:
            found = parse_qs(body.decode("ascii")).get("csrf", [""])[0]
        except (UnicodeDecodeError, ValueError):
            return ""
    return found


def _host_name(host: str) -> str:
    """The name in a Host header.

    >>> _host_name("LOCALHOST:80"), _host_name("[::1]:80"), _host_name("a.example")
    ('localhost', '::1', 'a.example')
    """
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _same(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode())
