"""Pages of a real size, and a web server for them in a process of its own: nginx where there is one, aiohttp otherwise.

`python -m benchmarks.local_web FOLDER PORT` is the second server.
"""

from __future__ import annotations

import asyncio
import shutil
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["make_pages", "path_of", "serve", "words"]

_SYLLABLES = (
    "ba",
    "ke",
    "li",
    "mo",
    "nur",
    "ra",
    "set",
    "ti",
    "vo",
    "zu",
    "dan",
    "fe",
    "gi",
    "ho",
    "jul",
    "me",
)
_VOCABULARY = 20_000
_KINDS = ("n", "o", "k", "s1", "mi", "c1")  # of tokens in a program
_PER_SECTION = 50
PAGE_BYTES = 26_000

_NGINX = """
worker_processes 1;
daemon off;
pid {folder}/nginx.pid;
error_log stderr crit;
events {{ worker_connections 1024; }}
http {{
    types {{ text/html html; text/plain txt; }}
    charset utf-8;
    access_log off;
    sendfile on;
    tcp_nopush on;
    keepalive_requests 1000000;
    client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3;
    uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5;
    server {{ listen 127.0.0.1:{port}; root {pages}; }}
}}
"""


def words() -> list[str]:
    """A vocabulary; the word at a place is used as often as one over the place."""
    random = Random(5)
    found: dict[str, None] = {}
    while len(found) < _VOCABULARY:
        found["".join(random.choices(_SYLLABLES, k=random.choice((1, 2, 2, 3, 3, 4))))] = None
    return list(found)


class _Writer:
    """Writes one page after the other."""

    def __init__(self, pages: int) -> None:
        self._pages = pages
        self._random = Random(1)
        self._words = words()
        self._frequency = list(accumulate(1.0 / (place + 2.7) for place in range(len(self._words))))

    def _some(self, least: int, most: int) -> list[str]:
        return self._random.choices(
            self._words, cum_weights=self._frequency, k=self._random.randint(least, most)
        )

    def _link(self, number: int) -> str:
        name = " ".join(self._some(1, 3))
        return f'<a class="reference internal" href="{path_of(number)}" title="{name} ({number})">{name}</a>'

    def _anywhere(self) -> str:
        return self._link(self._random.randrange(self._pages))

    def _paragraph(self) -> str:
        text = self._some(20, 60)
        for place in range(4, len(text), 13):
            kind = self._random.random()
            if kind < 0.35:
                text[place] = self._anywhere()
            elif kind < 0.7:
                text[place] = (
                    f'<code class="docutils literal notranslate"><span class="pre">{text[place]}</span></code>'
                )
            else:
                text[place] = f"<em>{text[place]}</em>"
        return f"<p>{' '.join(text).capitalize()}.</p>\n"

    def _section(self) -> str:
        title = " ".join(self._some(2, 5)).capitalize()
        name = title.replace(" ", "-")
        parts = [f'<section id="{name}">\n<h2>{title}<a class="headerlink" href="#{name}">¶</a></h2>\n']
        parts += [self._paragraph() for _ in range(self._random.randint(2, 4))]
        if self._random.random() < 0.5:
            items = "".join(f"<li><p>{' '.join(self._some(4, 15))}</p></li>\n" for _ in range(5))
            parts.append(f'<ul class="simple">\n{items}</ul>\n')
        parts.append(self._program())
        return "".join([*parts, "</section>\n"])

    def _program(self) -> str:
        """Five lines of a program, each token marked as highlighters do."""
        lines = (
            "".join(
                f'<span class="{kind}">{word}</span> '
                for kind, word in zip(_KINDS, self._some(4, 6), strict=False)
            )
            for _ in range(5)
        )
        return (
            '<div class="highlight-default notranslate"><div class="highlight"><pre>'
            + "\n".join(lines)
            + "\n</pre></div></div>\n"
        )

    def _head(self, number: int, title: str) -> str:
        links = "".join(
            f'<link rel="stylesheet" type="text/css" href="/static/{name}.css">\n' for name in ("a", "b", "c")
        )
        return (
            f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>\n'
            f'<meta name="viewport" content="width=device-width, initial-scale=1">\n{links}'
            f'<link rel="canonical" href="{path_of(number)}">\n'
            f'<meta name="description" content="{" ".join(self._some(10, 20))}">\n'
            f'<script src="/static/all.js"></script>\n<script>var page = {number}; if (page < 3) {{ start(page); }}'
            f"</script>\n</head>\n"
        )

    def page(self, number: int) -> str:
        """One page: head, navigation, sections until it is long enough, related pages, footer."""
        title = " ".join([*self._some(2, 4), str(number)]).capitalize()
        near = range(number + 1, min(number + 9, self._pages))
        children = range(number * 4 + 1, min(number * 4 + 5, self._pages))
        menu = "".join(
            f'<li class="toctree-l1">{self._link(n * _PER_SECTION % self._pages)}</li>\n' for n in range(30)
        )
        related = "".join(f"<li>{self._link(n)}</li>\n" for n in (*children, *near))
        tail = (
            f'</main>\n<aside class="related"><h3>Related</h3><ul>\n{related}</ul></aside>\n<footer><p>'
            f'{self._link(0)} <a href="https://example.org/licence">licence</a> '
            f'<a href="mailto:x@example.org">mail</a></p></footer>\n</div>\n</body>\n</html>\n'
        )
        parts = [
            self._head(number, title),
            f'<body>\n<div class="page"><header><a class="logo" href="/">Start</a></header>\n'
            f'<nav class="menu"><ul>\n{menu}</ul></nav>\n<main role="main">\n<h1>{title}</h1>\n{self._paragraph()}',
        ]
        length = len(tail) + sum(map(len, parts))
        while length < PAGE_BYTES - 1000:
            parts.append(self._section())
            length += len(parts[-1])
        return "".join([*parts, tail])


def path_of(number: int) -> str:
    """Where a page is."""
    return f"/{number // _PER_SECTION}/page-{number}.html" if number else "/"


def make_pages(folder: Path, pages: int) -> int:
    """Write the pages of a site; their mean length in bytes."""
    writer, size = _Writer(pages), 0
    for number in range(pages):
        file = folder / (path_of(number)[1:] or "index.html")
        file.parent.mkdir(parents=True, exist_ok=True)
        size += file.write_bytes(writer.page(number).encode())
    return size // pages


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@contextmanager
def serve(pages: Path, folder: Path) -> Iterator[tuple[str, str]]:
    """Serve a folder of pages; the URL of its front page, and the server's name."""
    port = _free_port()
    nginx = shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin:/opt/homebrew/bin")
    if nginx is not None:
        (folder / "nginx.conf").write_text(_NGINX.format(folder=folder, pages=pages, port=port))
        command = [nginx, "-c", str(folder / "nginx.conf"), "-e", str(folder / "nginx.log")]
    else:
        command = [sys.executable, "-m", "benchmarks.local_web", str(pages), str(port)]
    for entry in (folder, *pages.rglob("*"), pages):  # nginx reads them as a user of its own
        entry.chmod(0o755 if entry.is_dir() else 0o644)
    with subprocess.Popen(command) as server:
        try:
            _wait_for(port)
            yield f"http://127.0.0.1:{port}/", "nginx" if nginx else "aiohttp"
        finally:
            server.terminate()


def _wait_for(port: int, seconds: float = 10.0) -> None:
    end = time.monotonic() + seconds
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1.0).close()
            return
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.02)


async def _serve_by_aiohttp(folder: str, port: int) -> None:
    from aiohttp import web

    async def front(_request: web.Request) -> web.StreamResponse:
        return web.FileResponse(Path(folder) / "index.html")

    application = web.Application()
    application.router.add_get("/", front)
    application.router.add_static("/", folder)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_serve_by_aiohttp(sys.argv[1], int(sys.argv[2])))
