import asyncio
import sys

import aiohttp
import numpy as np
import pytest

from recrawl.demo import TROUBLES, DemoOptions, DemoWeb
from recrawl.demo.pages import links_of, page_number, page_path
from recrawl.engine.extract import extract
from recrawl.engine.records import Access, Outcome
from recrawl.errors import ConfigError


class HandTime:
    now = 1_000_000.0

    def __call__(self):
        return self.now


async def get(url, **headers):
    async with (
        aiohttp.ClientSession() as session,
        session.get(url, headers=headers, allow_redirects=False) as response,
    ):
        return response.status, response.headers, await response.read()


def content(url, body):
    return extract(Access(url, 0.0, 0.0, Outcome.CONTENT, body=body, content_type="text/html")).content


async def test_pages_change_when_the_truth_says_so():
    clock = HandTime()
    options = DemoOptions(sites=2, pages_per_site=20, mean_rate_per_second=1.0, log_sd=0, speed=0.1)
    async with DemoWeb(options, time=clock) as demo:
        url = demo.url(7, site=1)
        change = demo.truth.changes(url, clock.now, clock.now + 1000)[0]
        clock.now = change - 0.001
        _, headers, body = await get(url)
        before = content(url, body)
        clock.now = change - 0.0005
        _, _, body = await get(url)
        assert content(url, body).digest == before.digest  # the clock in its footer is no change
        status, _, _ = await get(url, **{"If-None-Match": headers["ETag"]})
        assert status == 304
        clock.now = change + 0.001
        status, _, body = await get(url, **{"If-None-Match": headers["ETag"]})
        assert status == 200
        assert content(url, body).digest != before.digest
        assert demo.served[url] == [change - 0.001, change - 0.0005, change - 0.0005, change + 0.001]


async def test_every_page_is_found_by_links_and_none_is_like_another():
    async with DemoWeb(DemoOptions(sites=1, pages_per_site=60, page_bytes=2000)) as demo:
        waiting, seen, digests = [demo.seeds[0]], set(demo.seeds), set()
        while waiting:
            url = waiting.pop()
            _, _, body = await get(url)
            found = content(url, body)
            digests.add(found.digest)
            waiting += [link.url for link in found.links if link.url not in seen]
            seen |= {link.url for link in found.links}
        assert seen == set(demo.truth.urls)
        assert len(digests) == 60


@pytest.mark.parametrize("size", [3_000, 26_000, 100_000])
async def test_pages_have_the_size_that_was_asked_for(size):
    async with DemoWeb(DemoOptions(sites=1, pages_per_site=5, page_bytes=size)) as demo:
        _, headers, body = await get(demo.url(3))
        assert 0.9 * size <= len(body) <= 1.01 * size
        assert headers["Content-Type"] == "text/html; charset=utf-8"


async def test_rates_are_lognormal_with_the_mean_that_was_asked_for():
    options = DemoOptions(sites=2, pages_per_site=4000, mean_rate_per_second=0.5, log_sd=1.0, speed=4.0)
    async with DemoWeb(options) as demo:
        assert demo.truth.rates.mean() == pytest.approx(2.0, rel=0.1)
        assert np.log(demo.truth.rates).std() == pytest.approx(1.0, rel=0.05)


async def test_a_history_is_replayed():
    clock = HandTime()
    options = DemoOptions(sites=1, pages_per_site=3, speed=10.0)
    async with DemoWeb(options, history=[(10.0, 2), (20.0, "/0/1.html")], time=clock) as demo:
        start = clock.now
        assert list(demo.truth.changes(demo.url(2), start, start + 10)) == [start + 1]
        assert list(demo.truth.changes(demo.url(1), start, start + 10)) == [start + 2]


async def test_a_site_goes_away_and_a_page_too():
    async with DemoWeb(DemoOptions(sites=2, pages_per_site=3)) as demo:
        demo.down.add(0)
        demo.gone.add(demo.url(1, site=1))
        assert (await get(demo.url(1)))[0] == 503
        assert (await get(demo.seeds[0] + "robots.txt"))[0] == 500
        assert (await get(demo.url(1, site=1)))[0] == 404
        assert (await get(demo.url(2, site=1)))[0] == 200
        demo.down.clear()
        assert (await get(demo.url(1)))[0] == 200
        assert (await get(demo.seeds[0] + "0/3.html"))[0] == 404
        assert (await get(demo.trouble("no-such")))[0] == 404
        assert demo.statuses[404] == 3


async def test_troubles_are_linked_when_wanted():
    async with DemoWeb(DemoOptions(sites=1, pages_per_site=3, troubles=tuple(TROUBLES))) as demo:
        _, _, body = await get(demo.seeds[0])
        links = {link.url for link in content(demo.seeds[0], body).links}
        assert {demo.trouble(name) for name in TROUBLES} <= links


def test_paths():
    for number in (0, 1, 49, 50, 12345):
        assert page_number(page_path(number)) == number
    for path in ("/x", "/0/50.html", "/0/01.html", "/0/-1.html", "/0/1.htm", "/0/9999999999999.html", "/0/²"):
        assert page_number(path) is None
    assert set(links_of(0, 1, 8)) == {0}


@pytest.mark.parametrize(
    "values",
    [
        {"sites": 0},
        {"speed": 0},
        {"log_sd": -1},
        {"exclusion": "odd"},
        {"troubles": ("odd",)},
        {"page_bytes": 0},
        {"edited_share": 1.5},
        {"edit_probability": 0.0},
        {"pages_per_directory": 0},
    ],
)
def test_impossible_options(values):
    with pytest.raises(ConfigError, match=next(iter(values))):
        DemoOptions(**values)


async def run_module(*arguments):
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "recrawl.demo",
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


async def test_served_from_the_command_line(tmp_path):
    history = tmp_path / "history.csv"
    history.write_text("1,0\n2,/0/1.html\n")
    process = await run_module("--port", "0", "--pages-per-site", "5", "--history", str(history))
    seeds = [(await process.stdout.readline()).decode().strip() for _ in range(2)]
    assert [(await get(seed))[0] for seed in seeds] == [200, 200]
    process.terminate()
    await process.wait()


async def test_bad_options_on_the_command_line(tmp_path):
    for arguments in (["--speed", "0"], ["--history", str(tmp_path / "none")], ["--troubles", "odd"]):
        process = await run_module(*arguments)
        _, error = await process.communicate()
        assert process.returncode == 2
        assert error.startswith(b"recrawl.demo: ")
