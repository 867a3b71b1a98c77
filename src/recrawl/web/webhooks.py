"""Webhooks: every entry of the change feed is posted to a URL, in order, at least once, signed.

What was delivered is kept in the store, so that a restart goes on where it was. A receiver checks the signature: the
HMAC-SHA256 of `TIME.BODY` by the shared secret, in the header `Recrawl-Signature: t=TIME,v1=HEX`.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from recrawl._version import __version__

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from recrawl.engine.protocols import Clock
    from recrawl.web.source import Source

__all__ = ["Webhook", "post_by_http", "signature"]

_log = logging.getLogger(__name__)
_BATCH = 100  # changes in one post
_LOOK_SECONDS = 2.0
_FIRST_WAIT = 1.0
_LONGEST_WAIT = 600.0
_TIMEOUT = 15.0


def signature(secret: str, time: int, body: bytes) -> str:
    """The header that goes with a body.

    >>> signature("secret", 1700000000, b"{}")[:26]
    't=1700000000,v1=b8569b7879'
    """
    digest = hmac.new(secret.encode(), b"%d." % time + body, hashlib.sha256).hexdigest()
    return f"t={time},v1={digest}"


async def post_by_http(url: str, headers: dict[str, str], body: bytes) -> int:
    """Post; the status that came back. Redirects are not followed: the signature is meant for one receiver."""
    import aiohttp

    timeout = aiohttp.ClientTimeout(total=_TIMEOUT)
    async with (
        aiohttp.ClientSession(timeout=timeout) as session,
        session.post(url, data=body, headers=headers, allow_redirects=False) as response,
    ):
        return response.status


@dataclass
class Webhook:
    """Posts changes until it is stopped."""

    source: Source
    clock: Clock
    url: str
    secret: str
    post: Callable[[str, dict[str, str], bytes], Awaitable[int]] = post_by_http
    failures: int = 0  # in a row
    _stopping: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def _name(self) -> str:
        return "webhook." + hashlib.sha256(self.url.encode()).hexdigest()[:16]

    def stop(self) -> None:
        """End after the post that is under way."""
        self._stopping.set()

    async def run(self) -> None:
        """Post what is new, wait, and again."""
        from recrawl.engine.waiting import wait_until_set

        kept = await self.source.store.load(self._name)
        cursor = int(kept) if kept is not None else 0
        while not self._stopping.is_set():
            cursor, more = await self._step(cursor)
            wait = self._wait() if self.failures else 0.0 if more else _LOOK_SECONDS
            await wait_until_set(self._stopping, self.clock, wait)

    async def _step(self, cursor: int) -> tuple[int, bool]:
        """Post one batch; where the feed stands, and whether there is more."""
        changes = await self.source.changes(cursor, _BATCH)
        if not changes.changes:
            return cursor, False
        if not await self._deliver(msgspec.json.encode(changes)):
            self.failures += 1
            return cursor, True
        self.failures = 0
        await self.source.store.save(self._name, b"%d" % changes.cursor)
        return changes.cursor, changes.more

    async def _deliver(self, body: bytes) -> bool:
        headers = {
            "Content-Type": "application/json",
            "User-Agent": f"recrawl/{__version__}",
            "Recrawl-Signature": signature(self.secret, int(self.clock.time()), body),
        }
        try:
            status = await self.post(self.url, headers, body)
        except asyncio.CancelledError:
            raise
        except Exception as error:  # whatever the network does: it is tried again
            _log.warning("webhook: %s", type(error).__name__)
            return False
        if not 200 <= status < 300:
            _log.warning("webhook: the receiver answered %d", status)
        return 200 <= status < 300

    def _wait(self) -> float:
        wait = min(_FIRST_WAIT * 2.0 ** min(self.failures - 1, 20), _LONGEST_WAIT)
        return wait * (1.0 + 0.2 * random.random())
