"""Webhooks: signed, in order, at least once, whatever the receiver does."""

import asyncio
import hashlib
import hmac
import json

import pytest
from tests.engine.fakes import advance
from tests.web.rooms import open_room

from recrawl.web.webhooks import Webhook, signature


class Receiver:
    """Takes posts; `answers` are the next statuses (an error is raised), then 204."""

    def __init__(self, *answers):
        self.answers, self.posts, self.headers = list(answers), [], []

    async def __call__(self, _url, headers, body):
        self.headers.append(headers)
        self.posts.append(json.loads(body))
        answer = self.answers.pop(0) if self.answers else 204
        if isinstance(answer, Exception):
            raise answer
        return answer

    def told(self):
        return [change["cursor"] for post in self.posts for change in post["changes"]]


def hook(room, receiver):
    return Webhook(room.source, room.clock, "http://hook.example/", "secret", receiver)


async def run(room, webhook, seconds):
    task = asyncio.ensure_future(webhook.run())
    await advance(room.clock, seconds, 0.1)
    webhook.stop()
    await advance(room.clock, 0.2, 0.1)
    await task


async def test_every_change_in_order_and_signed():
    async with open_room() as room:
        receiver = Receiver()
        await run(room, hook(room, receiver), 3.0)
        newest = await room.store.last_revision()
        assert receiver.told() == list(range(1, newest + 1))
        header = receiver.headers[0]["Recrawl-Signature"]
        moment, digest = (part.split("=")[1] for part in header.split(","))
        body = json.dumps(receiver.posts[0], separators=(",", ":")).encode()
        wanted = hmac.new(b"secret", moment.encode() + b"." + body, hashlib.sha256).hexdigest()
        assert hmac.compare_digest(digest, wanted)


async def test_failures_are_tried_again_with_rising_waits():
    async with open_room() as room:
        receiver = Receiver(500, OSError("no route"), 302, 429)
        await run(room, hook(room, receiver), 40.0)
        first = receiver.posts[0]
        assert receiver.posts[:5] == [first] * 5  # nothing is passed over
        newest = await room.store.last_revision()
        assert sorted(set(receiver.told())) == list(range(1, newest + 1))
        assert receiver.told()[4 * len(first["changes"]) :] == list(range(1, newest + 1))


async def test_a_restart_goes_on_where_it_was():
    async with open_room() as room:
        before = Receiver()
        await run(room, hook(room, before), 3.0)
        room.web.texts["http://a.example/1"] = "common text that is new"
        await room.pass_time(5.0)
        after = Receiver()
        await run(room, hook(room, after), 3.0)
        assert after.told()
        assert before.told() + after.told() == list(range(1, await room.store.last_revision() + 1))


def test_a_signature_depends_on_everything():
    base = signature("secret", 1700000000, b"{}")
    others = [
        signature("other", 1700000000, b"{}"),
        signature("secret", 1700000001, b"{}"),
        signature("secret", 1700000000, b"[]"),
    ]
    assert len({base, *others}) == 4


async def test_a_real_receiver(unused_port):
    """Over a socket, with the real client."""
    from aiohttp import web

    from recrawl.web.webhooks import post_by_http

    seen = []

    async def take(request):
        seen.append((request.headers["Recrawl-Signature"], await request.read()))
        return web.Response(status=202)

    async def elsewhere(_request):
        raise web.HTTPFound("/hook")

    application = web.Application()
    application.router.add_post("/hook", take)
    application.router.add_post("/moved", elsewhere)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", unused_port).start()
    try:
        base = f"http://127.0.0.1:{unused_port}"
        headers = {"Recrawl-Signature": "t=1,v1=x"}
        assert await post_by_http(f"{base}/hook", headers, b"{}") == 202
        assert await post_by_http(f"{base}/moved", headers, b"{}") == 302  # not followed
        assert seen == [("t=1,v1=x", b"{}")]
    finally:
        await runner.cleanup()


@pytest.fixture
def unused_port():
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
