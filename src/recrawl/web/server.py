"""uvicorn in the engine's event loop: without signal handlers of its own, on a socket bound before it starts."""

from __future__ import annotations

import asyncio
import errno
import socket
from contextlib import contextmanager
from typing import TYPE_CHECKING

import uvicorn

from recrawl.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recrawl.web.app import ControlRoom

__all__ = ["WebServer", "bind"]

_TRIES = 100  # ports after the usual one


def bind(host: str, port: int, *, explicit: bool) -> socket.socket:
    """A listening socket. The usual port, when taken, gives way to the next free one; an explicit one does not."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for number in range(port, port + (1 if explicit or port == 0 else _TRIES)):
        # By its name: asyncio sends at once (no delay) only on sockets that say they are TCP.
        bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((host, number))
            bound.listen(512)
        except OSError as error:
            bound.close()
            if error.errno == errno.EADDRINUSE and not explicit:
                continue
            reason = "the port is taken" if error.errno == errno.EADDRINUSE else error.strerror or str(error)
            raise ConfigError(f"listen: {host}:{number}: {reason}") from None
        else:
            bound.setblocking(False)
            return bound
    raise ConfigError(f"listen: {host}: no free port from {port} on; --listen HOST:PORT chooses another")


class _Server(uvicorn.Server):
    """Leaves signals to the engine."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class WebServer:
    """Serves an application until it is told to stop."""

    def __init__(self, app: ControlRoom, bound: socket.socket) -> None:
        self._app, self._socket = app, bound
        config = uvicorn.Config(
            app,
            lifespan="off",
            access_log=False,
            log_config=None,
            server_header=False,
            date_header=True,
            proxy_headers=False,
            ws="none",
            timeout_keep_alive=15,
            timeout_graceful_shutdown=2,
            limit_concurrency=1000,
        )
        self._server = _Server(config)

    @property
    def address(self) -> str:
        """Where it listens, as a URL."""
        host, port = self._socket.getsockname()[:2]
        shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
        return f"http://{shown}:{port}/"

    async def run(self) -> None:
        """Serve until `stop`."""
        try:
            await self._server.serve(sockets=[self._socket])
        finally:
            self._socket.close()

    def stop(self) -> None:
        """End streams and leave."""
        self._app.events.close()
        self._server.should_exit = True

    async def started(self) -> None:
        """Wait until it answers."""
        while not self._server.started and not self._server.should_exit:
            await asyncio.sleep(0.01)
