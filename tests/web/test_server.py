"""Real sockets: the address, streams of events, the engine's drain, the commands."""

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time

import httpx
import pytest
from tests.web.rooms import open_room

from recrawl.errors import ConfigError
from recrawl.web.server import WebServer, bind


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_the_usual_port_gives_way_and_an_explicit_one_does_not():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=f"127.0.0.1:{port}: the port is taken"):
            bind("127.0.0.1", port, explicit=True)
        other = bind("127.0.0.1", port, explicit=False)
        assert other.getsockname()[1] > port
        other.close()
    with pytest.raises(ConfigError, match="listen"):
        bind("192.0.2.1", 8717, explicit=True)  # not an address of this machine


async def test_events_flow_and_end_with_the_server():
    async with open_room() as room:
        server = WebServer(room.app, bind("127.0.0.1", 0, explicit=True))
        task = asyncio.ensure_future(server.run())
        await asyncio.wait_for(server.started(), 10)
        events = []
        async with (
            httpx.AsyncClient(base_url=server.address) as client,
            client.stream("GET", "/api/events") as response,
        ):
            assert response.headers["content-type"].startswith("text/event-stream")
            assert response.headers["cache-control"] == "no-store"
            async for line in response.aiter_lines():
                if line.startswith("event: status"):
                    room.web.texts["http://b.example/1"] = "common text that is new"
                    await room.pass_time(3.0)
                if line.startswith("event: "):
                    events.append(line)
                if line.startswith("data: "):
                    json.loads(line[6:])
                if events[-1:] == ["event: change"]:
                    server.stop()
                    break
        await asyncio.wait_for(task, 10)
        assert events[0] == "event: status"


async def test_streams_are_limited():
    async with open_room(1.0, max_streams=0) as room, room.client() as client:
        assert (await client.get("/api/events")).status_code == 429


@pytest.fixture
def demo():
    """A small web in a process of its own."""
    port = free_port()
    command = [
        sys.executable,
        "-m",
        "recrawl.demo",
        "--sites",
        "1",
        "--pages-per-site",
        "30",
        "--port",
        str(port),
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    process.stdout.readline()
    yield f"http://127.0.0.1:{port}/"
    process.terminate()
    process.wait()
    process.stdout.close()


def start(*arguments):
    environment = {**os.environ, "RECRAWL_TOKEN": "a-token-for-tests"}
    command = [sys.executable, "-m", "recrawl", *map(str, arguments)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )


def address_of(process):
    for line in process.stderr:
        found = re.search(r"control room.*(http://\S+/)", line)
        if found:
            return found[1]
    raise AssertionError("no address was printed")


def wait_for(url, what):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            found = httpx.get(url, timeout=10)
        except httpx.TransportError:
            time.sleep(0.1)
            continue
        if what(found):
            return found
        time.sleep(0.2)
    raise AssertionError(f"{url} did not come to it")


def test_run_serves_drains_and_serve_shows_the_same(demo, tmp_path, recrawl):
    arguments = ("run", demo, "--data", tmp_path / "d", "--budget", "20/s", "--set", "min_delay_seconds=0")
    engine = start(*arguments, "--listen", "127.0.0.1:0", "--json")
    try:
        address = address_of(engine)
        wait_for(f"{address}api/overview", lambda r: r.status_code == 200 and r.json()["searchable"] >= 10)
        assert "token=a-token-for-tests" in engine.stderr.readline()
        view = start("serve", "--data", tmp_path / "d", "--listen", "127.0.0.1:0")
        try:
            beside = address_of(view)
            # The engine's state is kept every few seconds: until the first time, nobody beside it can know.
            found = wait_for(
                f"{beside}api/overview", lambda r: r.status_code == 200 and r.json()["running"]
            ).json()
            assert found["read_only"]
            assert httpx.post(f"{beside}api/pause", json={"site": "x"}).status_code == 409
        finally:
            view.send_signal(signal.SIGTERM)
            assert view.wait(20) == 0
            view.stdout.close(), view.stderr.close()
        port = address.rsplit(":", 1)[1].strip("/")
        taken = recrawl("run", demo, "--data", tmp_path / "e", "--listen", f"127.0.0.1:{port}")
        assert (taken.code, "the port is taken" in taken.err) == (2, True)
        with httpx.stream("GET", f"{address}api/events") as stream:  # an open stream does not hold up the end
            next(stream.iter_lines())
            engine.send_signal(signal.SIGTERM)
            out, err = engine.communicate(timeout=30)
    finally:
        engine.kill()
    assert engine.returncode == 0, err
    assert "Traceback" not in err
    document = json.loads(out)
    assert document["running"] is False
    assert document["handed_out"] == 0


def test_no_web(demo, tmp_path):
    engine = start("run", demo, "--data", tmp_path / "d", "--no-web", "--for", "1s")
    _, err = engine.communicate(timeout=60)
    assert engine.returncode == 0
    assert "control room" not in err


def test_bad_addresses_are_named(recrawl, tmp_path):
    result = recrawl("run", "http://a.example/", "--data", tmp_path, "--listen", "nowhere")
    assert (result.code, "listen: 'nowhere' must be HOST:PORT" in result.err) == (2, True)
    result = recrawl("serve", "--data", tmp_path / "none")
    assert (result.code, "holds no pages" in result.err) == (2, True)


def test_answers_are_not_held_back():
    """asyncio turns the delay of small packets off only on sockets that name their protocol."""
    with bind("127.0.0.1", 0, explicit=True) as listening, socket.create_connection(listening.getsockname()):
        listening.setblocking(True)
        accepted, _ = listening.accept()
        with accepted:
            assert accepted.proto == socket.IPPROTO_TCP
