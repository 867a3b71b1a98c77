"""Troubles of the real web, on demand: each a handler below ``/trouble/NAME``.

They are served whether a site links to them or not; `DemoOptions.troubles` adds the links.
"""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Awaitable, Callable
from email.utils import formatdate
from typing import TYPE_CHECKING

from aiohttp import web

from recrawl.demo.bombs import bomb

if TYPE_CHECKING:
    from recrawl.demo.web import DemoWeb

Handler = Callable[["DemoWeb", web.Request], Awaitable[web.StreamResponse]]

__all__ = ["TROUBLES", "trouble_path"]

TROUBLES: dict[str, Handler] = {}
_PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(1000)


def trouble_path(name: str) -> str:
    """Where a trouble is found.

    >>> trouble_path("hang")
    '/trouble/hang'
    """
    return f"/trouble/{name}"


def _trouble(name: str) -> Callable[[Handler], Handler]:
    def keep(handler: Handler) -> Handler:
        TROUBLES[name] = handler
        return handler

    return keep


def _html(main: str, *, head: str = "", title: str = "a trouble") -> bytes:
    page = f"<!doctype html><html><head><title>{title}</title>{head}</head><body><main>{main}</main></body></html>"
    return page.encode()


def _page(
    main: str, *, head: str = "", headers: dict[str, str] | None = None, title: str = "a trouble"
) -> web.Response:
    return web.Response(body=_html(main, head=head, title=title), content_type="text/html", headers=headers)


def _fixed(
    name: str,
    body: bytes = b"",
    *,
    status: int = 200,
    type_: str = "text/html",
    headers: dict[str, str] | None = None,
) -> None:
    """A trouble that always answers the same."""
    whole = {"Content-Type": type_, **(headers or {})}

    async def answer(*_: object) -> web.StreamResponse:
        return web.Response(status=status, body=body, headers=whole)

    TROUBLES[name] = answer


def _tail(request: web.Request) -> str:
    return request.match_info.get("tail", "")


def _number(request: web.Request) -> int:
    tail = _tail(request).rpartition("/")[2]
    return int(tail) if tail.isdecimal() and tail.isascii() and len(tail) < 9 else 0


async def _stream(request: web.Request, headers: dict[str, str] | None = None) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/html; charset=utf-8", **(headers or {})})
    await response.prepare(request)
    return response


# Time


@_trouble("slow")
async def _slow(_: DemoWeb, request: web.Request) -> web.StreamResponse:
    """A good page that takes two seconds."""
    response = await _stream(request)
    for piece in (b"<title>slow</title>", b"<main><p>a slow page", b" that comes", b" at last</p></main>"):
        await asyncio.sleep(0.5)
        await response.write(piece)
    return response


@_trouble("drip")
async def _drip(_: DemoWeb, request: web.Request) -> web.StreamResponse:
    """A byte every tenth of a second, for ever: no pause is long, the whole is."""
    response = await _stream(request)
    while True:
        await response.write(b"x")
        await asyncio.sleep(0.1)


@_trouble("hang")
async def _hang(demo: DemoWeb, _: web.Request) -> web.StreamResponse:
    """Takes the question and never answers."""
    await demo.closing.wait()
    return _page("too late")


@_trouble("hang-in-body")
async def _hang_in_body(demo: DemoWeb, request: web.Request) -> web.StreamResponse:
    """Stops in the middle of the body."""
    response = await _stream(request)
    await response.write(b"<p>the beginning")
    await demo.closing.wait()
    return response


# Status

_fixed("error", b"broken", status=500)  # always


@_trouble("flaky")
async def _flaky(demo: DemoWeb, request: web.Request) -> web.StreamResponse:
    """500 at every other access."""
    if demo.hits[(request.url.port or 0, request.path)] % 2:
        return web.Response(status=500, text="broken")
    return _page("<p>this time it works</p>")


_fixed("busy", status=429, headers={"Retry-After": "2"})


@_trouble("busy-date")
async def _busy_date(demo: DemoWeb, _: web.Request) -> web.StreamResponse:
    """503 with Retry-After as a date."""
    return web.Response(status=503, headers={"Retry-After": formatdate(demo.time() + 5, usegmt=True)})


_fixed("gone", status=410)

_fixed("forbidden", status=403)

_fixed("not-modified", status=304)  # to a question that was not conditional


# Redirects


def _redirect(location: str, status: int = 302) -> web.Response:
    return web.Response(status=status, headers={"Location": location})


@_trouble("loop")
async def _loop(_: DemoWeb, request: web.Request) -> web.StreamResponse:
    """Two pages that redirect to each other."""
    return _redirect("/trouble/loop" if _tail(request) else "/trouble/loop/b")


@_trouble("self-loop")
async def _self_loop(_demo: DemoWeb, _: web.Request) -> web.StreamResponse:
    """A page that sets a cookie and redirects to itself."""
    response = _redirect("/trouble/self-loop")
    response.set_cookie("visited", "yes")
    return response


@_trouble("chain")
async def _chain(_: DemoWeb, request: web.Request) -> web.StreamResponse:
    """Redirects without end, each to a new address."""
    return _redirect(f"/trouble/chain/{_number(request) + 1}", 301)


_fixed("moved", status=301, headers={"Location": "/"})


PRIVATE_TARGETS = (
    "http://169.254.169.254/latest/meta-data/",
    "http://10.0.0.1/",
    "http://192.168.1.1/admin",
    "http://127.0.0.1:22/",
    "http://2130706433:22/",
    "http://0x7f.0.0.1:22/",
    "http://0177.0.0.1:22/",
    "http://localhost:22/",
    "http://[::1]:22/",
    "http://[::ffff:127.0.0.1]:22/",
    "http://[::ffff:a9fe:a9fe]/",
    "http://[fe80::1]/",
    "http://[fd00:ec2::254]/latest/",
    "http://[64:ff9b::7f00:1]:22/",
    "http://0.0.0.0:22/",
    "http://100.100.100.200/",
)


@_trouble("private")
async def _private(_: DemoWeb, request: web.Request) -> web.StreamResponse:
    """Redirects to private addresses: the n-th of the list below ``/trouble/private/n``."""
    return _redirect(PRIVATE_TARGETS[_number(request) % len(PRIVATE_TARGETS)])


@_trouble("odd-redirect")
async def _odd_redirect(_: DemoWeb, request: web.Request) -> web.StreamResponse:
    """Redirects to what is no web page."""
    return _redirect(
        ("file:///etc/passwd", "javascript:alert(1)", "ftp://example.org/", "http://")[_number(request) % 4]
    )


# Size


@_trouble("endless")
async def _endless(_: DemoWeb, request: web.Request) -> web.StreamResponse:
    """A body without end, as fast as it is taken."""
    response = await _stream(request)
    piece = b"<p>" + b"more and more " * 4000 + b"</p>"
    while True:
        await response.write(piece)


async def _bomb(encoding: str) -> web.StreamResponse:
    body = await asyncio.to_thread(bomb, encoding)
    return web.Response(body=body, content_type="text/html", headers={"Content-Encoding": encoding})


@_trouble("gzip-bomb")
async def _bomb_gzip(*_: object) -> web.StreamResponse:
    """200 MB of text in 200 KB of gzip."""
    return await _bomb("gzip")


@_trouble("brotli-bomb")
async def _bomb_brotli(*_: object) -> web.StreamResponse:
    """The same in Brotli: a few hundred bytes."""
    return await _bomb("br")


_fixed(  # compressed twice, and says so
    "double-gzip",
    gzip.compress(gzip.compress(_html("<p>wrapped</p>"))),
    headers={"Content-Encoding": "gzip, gzip"},
)

_fixed("bad-gzip", _html("<p>plain</p>"), headers={"Content-Encoding": "gzip"})  # says gzip and is not

_fixed(  # ends too early
    "cut-gzip",
    gzip.compress(_html("<p>" + "a long story " * 5000 + "</p>"))[:150],
    headers={"Content-Encoding": "gzip"},
)


# Connection


@_trouble("reset")
async def _reset(_: DemoWeb, request: web.Request) -> web.StreamResponse:
    """The connection breaks in the middle of the body."""
    response = await _stream(request, {"Content-Length": "100000"})
    await response.write(b"<p>the beginning, and then")
    if request.transport is not None:
        request.transport.abort()
    return response


@_trouble("malformed")
async def _malformed(_: DemoWeb, request: web.Request) -> web.StreamResponse:
    """Not HTTP."""
    if request.transport is not None:
        request.transport.write(b"HTTP/1.1 two hundred\r\nwhat: ever\r\n\r\n")
        request.transport.close()
    return web.Response()


_fixed("long-header", b"x", headers={"X-Long": "x" * 100_000})


# Types and encodings

_fixed("image", _PICTURE, type_="image/png")

_fixed("binary-as-html", _PICTURE)

_fixed("no-type", _html("<p>untyped but readable</p>"), type_="")

_fixed(  # Latin-1 that says UTF-8
    "wrong-charset",
    "<title>café</title><main><p>naïve café</p></main>".encode("latin-1"),
    type_="text/html; charset=utf-8",
)

_fixed(
    "unknown-charset",
    "<title>café</title><main><p>naïve café</p></main>".encode(),
    type_="text/html; charset=klingon-8",
)

_fixed(  # tags that do not match, attributes that do not end
    "broken-html",
    b'<html><body><main><p>still <b>readable<i></p></b><table><tr><a href="/">front<div class="x><p>lost',
)

_fixed("deep-html", b"<div>" * 50_000 + b"<p>the bottom</p>")

_fixed("empty")

_fixed(
    "script",
    b"<title>app</title><noscript>You need to enable JavaScript to run this app.</noscript>"
    b'<div id="root"></div><script src="/bundle.js"></script>',
)


# Wishes

_fixed("noindex", _html('<p>secret <a href="/">front</a></p>', head='<meta name="robots" content="noindex">'))

_fixed("noindex-header", _html("<p>secret</p>"), headers={"X-Robots-Tag": "noindex, nofollow"})

_fixed(
    "nofollow",
    _html('<p><a href="/private/never">never</a></p>', head='<meta name="robots" content="nofollow">'),
)

_fixed("canonical", _html("<p>the front page by another name</p>", head='<link rel="canonical" href="/">'))

_fixed(  # the same content at many addresses
    "duplicate",
    _html('<p>one text</p><a href="/trouble/duplicate/1">1</a> <a href="/trouble/duplicate/2">2</a>'),
)


# Traps


@_trouble("endless-links")
async def _endless_links(_: DemoWeb, request: web.Request) -> web.StreamResponse:
    """Pages that lead on and on."""
    number = _number(request)
    return _page(
        f'<p>room {number}</p><a href="/trouble/endless-links/{number + 1}">on</a>', title=f"room {number}"
    )


@_trouble("calendar")
async def _calendar(_: DemoWeb, request: web.Request) -> web.StreamResponse:
    """A calendar without end, in both directions."""
    month = request.query.get("month", "2020-01")
    year, _dash, number = month.partition("-")
    total = int(year or 0) * 12 + int(number or 1) - 1 if (year + number).isdecimal() else 24240
    links = "".join(
        f'<a href="/trouble/calendar?month={m // 12:04d}-{m % 12 + 1:02d}">{m}</a> '
        for m in (total - 1, total + 1)
    )
    return _page(f"<p>nothing in month {total}</p>{links}", title=f"month {total}")


@_trouble("session")
async def _session(demo: DemoWeb, _: web.Request) -> web.StreamResponse:
    """A new session in the query at each access."""
    demo.sessions += 1
    return _page(f'<p>welcome</p><a href="/trouble/session?sid={demo.sessions}">again</a>', title="welcome")


@_trouble("repeat")
async def _repeat(_: DemoWeb, request: web.Request) -> web.StreamResponse:
    """A relative link that makes the path longer each time."""
    return _page(f'<p>{len(_tail(request))}</p><a href="{request.path.rstrip("/")}/repeat/">deeper</a>')


_fixed(
    "many-links",
    _html("".join(f'<a href="/trouble/gone/{n}">{n}</a> ' for n in range(20_000)), title="many links"),
)
