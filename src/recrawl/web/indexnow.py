"""IndexNow: sites tell of changed pages by a protocol that content systems already speak."""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING

import msgspec
from starlette.responses import PlainTextResponse, Response

from recrawl.engine.urls import canonical_url, site_of
from recrawl.web.requests import IndexNowOrder, IndexNowQuery, SignalItem

if TYPE_CHECKING:
    from starlette.requests import Request

    from recrawl.web.options import WebOptions
    from recrawl.web.source import Source

__all__ = ["IndexNow"]


class IndexNow:
    """`GET /indexnow?url=&key=` and `POST /indexnow`; 200, 400, 403 and 422 mean what the protocol says."""

    def __init__(self, source: Source, options: WebOptions) -> None:
        self._source, self._key = source, options.indexnow_key

    async def one(self, request: Request) -> Response:
        """One page."""
        try:
            query = msgspec.convert(dict(request.query_params), IndexNowQuery)
        except msgspec.ValidationError as error:
            return _answer(400, str(error))
        return await self._take(query.key, [query.url], None)

    async def many(self, request: Request) -> Response:
        """Pages of one host."""
        try:
            order = msgspec.json.decode(await request.body(), type=IndexNowOrder)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            return _answer(400, str(error))
        return await self._take(order.key, order.urlList, order.host)

    async def _take(self, key: str, urls: list[str], host: str | None) -> Response:
        if not self._key or not hmac.compare_digest(key.encode("utf-8", "replace"), self._key.encode()):
            return _answer(403, "the key is not the one of the setting indexnow_key")
        names = [canonical_url(url) for url in urls]
        if any(name is None or (host is not None and not _of_host(name, host)) for name in names):
            return _answer(422, "a URL is not valid, or does not belong to the host")
        done = await self._source.signal([SignalItem(url=name) for name in names if name is not None])
        return _answer(200, done.text)


def _of_host(url: str, host: str) -> bool:
    site = site_of(url)
    return host.lower() in (site, site.rpartition(":")[0])


def _answer(status: int, text: str) -> Response:
    return PlainTextResponse(f"{text}\n", status)
