"""What runs beside the engine in its event loop: the control room and the webhook. Neither can stop it."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from recrawl.engine.options import secret
from recrawl.settings import parse_listen
from recrawl.web.app import make_app
from recrawl.web.live import LiveSource
from recrawl.web.options import options_of
from recrawl.web.server import WebServer, bind
from recrawl.web.webhooks import Webhook

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable

    from recrawl.engine.engine import Engine
    from recrawl.settings import Settings
    from recrawl.web.options import WebOptions
    from recrawl.web.source import Source

__all__ = ["Beside", "serve_source"]

_log = logging.getLogger(__name__)


def serve_source(source: Source, settings: Settings, *, explicit: bool) -> tuple[WebServer, WebOptions]:
    """A server for a source on the settings' address; its socket is bound already."""
    host, port = parse_listen(settings.listen)
    bound = bind(host, port, explicit=explicit)
    try:
        options = options_of(settings, host, bound.getsockname()[1])
        return WebServer(make_app(source, options), bound), options
    except BaseException:
        bound.close()
        raise


class Beside:
    """Made before the engine starts, so that an address that is taken is told at once."""

    def __init__(self, engine: Engine, settings: Settings, *, explicit: bool) -> None:
        source = LiveSource(engine, Path(settings.data))
        self.server: WebServer | None = None
        self.options: WebOptions | None = None
        self.webhook: Webhook | None = None
        if settings.webhook_url:
            key = secret(settings.webhook_secret)
            self.webhook = Webhook(source, engine.world.clock, settings.webhook_url, key)
        if settings.listen:
            self.server, self.options = serve_source(source, settings, explicit=explicit)

    def start(self, group: asyncio.TaskGroup) -> None:
        """Make the tasks."""
        if self.server is not None:
            group.create_task(_apart("control room", self.server.run()), name="control room")
        if self.webhook is not None:
            group.create_task(_apart("webhook", self.webhook.run()), name="webhook")

    def stop(self) -> None:
        """Let the tasks end."""
        if self.server is not None:
            self.server.stop()
        if self.webhook is not None:
            self.webhook.stop()

    def lines(self) -> list[str]:
        """Where it is, for people."""
        if self.server is None or self.options is None:
            return []
        address = self.server.address
        return [f"control room: {address}", f"log in to act: {address}login?token={self.options.token}"]


async def _apart(name: str, work: Awaitable[None]) -> None:
    """Trouble here is told, and the engine runs on."""
    try:
        await work
    except Exception:
        _log.exception("the %s has ended", name)
