"""A control room for a browser: the demonstration web, an engine on it, and the pages, in a thread of their own."""

import asyncio
import html
import threading
from pathlib import Path
from urllib.parse import quote

from aiohttp import web

from recrawl.assemble import engine_of
from recrawl.demo import DemoOptions, DemoWeb
from recrawl.settings import Settings
from recrawl.web.app import make_app
from recrawl.web.live import LiveSource
from recrawl.web.options import WebOptions
from recrawl.web.server import WebServer, bind

TITLE = "<script>window.hacked = 1</script>"
TRICK = (
    """<img src=x onerror="window.hacked = 2"> "onmouseover='window.hacked = 3' javascript:window.hacked=4"""
)
TOKEN = "a-token-for-tests-only"
FAST = {
    "min_delay_seconds": 0.0,
    "max_concurrency": 4,
    "robots": 8,
    "capacity": 64,
    "commit_seconds": 0.3,
    "status_seconds": 0.5,
    "replan_seconds": 1.0,
    "grace_seconds": 2.0,
}


class HostileSite:
    """Three pages whose titles, texts and addresses try to become markup."""

    paths = ("/", "/%3Cscript%3Ealert(1)%3C/script%3E", '/"onclick="alert(1)')

    async def __aenter__(self):
        app = web.Application()
        app.router.add_get("/robots.txt", self._exclusion)
        app.router.add_get("/{rest:.*}", self._page)
        self._runner = web.AppRunner(app)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        port = site._server.sockets[0].getsockname()[1]
        self.seed = f"http://127.0.0.1:{port}/"
        return self

    async def __aexit__(self, *_error):
        await self._runner.cleanup()

    async def _exclusion(self, _request):
        return web.Response(text=f"User-agent: *\nDisallow: /{TITLE}\n")

    async def _page(self, request):
        links = "".join(
            f'<li><a href="{html.escape(path)}">{html.escape(path)}</a></li>' for path in self.paths
        )
        text = f"""<!doctype html><title>{html.escape(TITLE)}</title><main><h1>{html.escape(TITLE)}</h1>
        <p>Hostilewords {html.escape(TRICK)} {quote(request.path)}</p><ul>{links}</ul>
        <a href="javascript:window.hacked=5">odd</a></main>"""
        return web.Response(text=text, content_type="text/html")


class Room(threading.Thread):
    """Runs until `close`; `address` is where the pages are."""

    def __init__(self, data: Path, demo: DemoOptions, budget: str = "60/s", **settings):
        super().__init__(name="control room", daemon=True)
        self._data, self._demo, self._settings = data, demo, {**FAST, "budget": budget, **settings}
        self._ready = threading.Event()
        self._error: BaseException | None = None
        self.start()
        if not self._ready.wait(240.0) or self._error is not None:
            raise RuntimeError("the control room did not start") from self._error

    @property
    def login(self) -> str:
        return f"{self.address}login?token={TOKEN}"

    def run(self):
        try:
            asyncio.run(self._serve())
        except BaseException as error:
            self._error = error
            self._ready.set()

    async def _serve(self):
        self._loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        async with DemoWeb(self._demo) as demo, HostileSite() as hostile:
            self.seeds = [*demo.seeds, hostile.seed]
            settings = Settings(seeds=tuple(self.seeds), data=str(self._data), **self._settings)
            async with engine_of(settings) as engine:
                self.engine = engine
                bound = bind("127.0.0.1", 0, explicit=True)
                options = WebOptions(port=bound.getsockname()[1], token=TOKEN)
                server = WebServer(make_app(LiveSource(engine, self._data), options), bound)
                self.address = server.address
                async with asyncio.TaskGroup() as group:
                    group.create_task(engine.run(self._stopping))
                    group.create_task(server.run())
                    group.create_task(self._tell(engine))
                    await self._stopping.wait()
                    server.stop()

    async def _tell(self, engine):
        """Ready when every page was seen, and many again."""
        while engine.measures.findings["unchanged"] < 80 and not self._stopping.is_set():
            await asyncio.sleep(0.05)
        self._ready.set()

    def close(self):
        self._loop.call_soon_threadsafe(self._stopping.set)
        self.join(20.0)
