"""Logging in with the token: a cookie for browsers, so that pages can carry out actions."""

from __future__ import annotations

import hmac
from html import escape
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from starlette.responses import HTMLResponse, RedirectResponse, Response

if TYPE_CHECKING:
    from starlette.requests import Request

    from recrawl.web.options import WebOptions

__all__ = ["Login", "local_path"]

_DAYS = 30
_PAGE = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Log in - recrawl</title><link rel="stylesheet" href="/static/style.css"></head>
<body class="login"><main><h1>recrawl</h1>
<form method="post" action="/login"><input type="hidden" name="next" value="{next}">
<label for="token">Token</label>
<input id="token" name="token" type="password" autocomplete="current-password" required autofocus>
<button type="submit">Log in</button></form>
<p>{note}</p>
<p><code>recrawl run</code> prints the token when it starts; the setting <code>token</code> fixes it.</p>
</main></body></html>
"""


def local_path(target: str) -> str:
    """A path of our own to go to, never another site.

    >>> local_path("/pages?sort=url"), local_path("//evil.example/"), local_path("https://evil.example/")
    ('/pages?sort=url', '/', '/')
    """
    fine = target.startswith("/") and not target.startswith(("//", "/\\")) and target.isprintable()
    return target if fine and "\\" not in target else "/"


class Login:
    """`GET /login` shows a form or takes `?token=`; `POST /login` takes the form."""

    def __init__(self, options: WebOptions) -> None:
        self._options = options

    async def show(self, request: Request) -> Response:
        """The form; a link with the token in it logs in at once."""
        target = local_path(request.query_params.get("next", "/"))
        token = request.query_params.get("token")
        return self._form(target, "") if token is None else self._attempt(token, target)

    async def take(self, request: Request) -> Response:
        """The filled form."""
        fields = parse_qs((await request.body()).decode("utf-8", "replace"))
        return self._attempt(fields.get("token", [""])[0], local_path(fields.get("next", ["/"])[0]))

    def _attempt(self, token: str, target: str) -> Response:
        if not hmac.compare_digest(token.encode("utf-8", "replace"), self._options.token.encode()):
            return self._form(target, "That is not the token.", 403)
        response = RedirectResponse(target, 303)
        response.set_cookie(
            self._options.cookie,
            self._options.derived("session"),
            max_age=_DAYS * 86400,
            path="/",
            httponly=True,
            samesite="strict",
        )
        return response

    def _form(self, target: str, note: str, status: int = 200) -> Response:
        page = _PAGE.format(next=escape(target, quote=True), note=escape(note))
        # Without a referrer a browser sends its form with "Origin: null", which is refused.
        return HTMLResponse(page, status, {"Cache-Control": "no-store", "Referrer-Policy": "same-origin"})
