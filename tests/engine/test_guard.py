"""A battery of ways to reach what is private; all refused."""

import asyncio
import socket
import time

import pytest
from aiohttp import web
from aiohttp.abc import AbstractResolver
from hypothesis import given
from hypothesis import strategies as st

from recrawl.engine.guard import AddressRefused, Guard, Kind, kind_of
from recrawl.engine.http_access import HttpAccessor
from recrawl.engine.options import AccessOptions
from recrawl.engine.records import Outcome, PageRecord, State
from recrawl.engine.urls import canonical_url
from recrawl.errors import ConfigError


class RealClock:
    monotonic = staticmethod(time.monotonic)
    sleep = staticmethod(asyncio.sleep)
    time = staticmethod(time.time)


class Names(AbstractResolver):
    """A name server under the attacker's control: the n-th question gets the n-th answer."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = 0

    async def resolve(self, host, port=0, family=socket.AF_INET):  # noqa: ARG002
        answers = self.answers[min(self.asked, len(self.answers) - 1)]
        self.asked += 1
        return [
            {
                "hostname": host,
                "host": address,
                "port": port,
                "family": socket.AF_INET6 if ":" in address else socket.AF_INET,
                "proto": 0,
                "flags": socket.AI_NUMERICHOST,
            }
            for address in answers
        ]

    async def close(self):
        pass


def page(url):
    return PageRecord(url=url, site="x", state=State.KNOWN, depth=0, found_at=0.0)


OPTIONS = AccessOptions(
    obey_exclusion=False, connect_timeout_seconds=1, read_timeout_seconds=1, total_timeout_seconds=2
)


async def access(url, *, guard=None, resolver=None, connector_checks=True):
    accessor = HttpAccessor(OPTIONS, clock=RealClock(), guard=guard or Guard(), resolver=resolver)
    if not connector_checks:  # only the socket is left to refuse
        accessor.guard.permits_literal = lambda *_: True
    result = await accessor.access(page(url))
    await accessor.close()
    return result


@pytest.fixture
async def inside():
    """A private service, that counts who came."""
    visits = []

    async def answer(request):
        visits.append(request.path)
        return web.Response(text="the crown jewels")

    application = web.Application()
    application.router.add_get("/{path:.*}", answer)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield runner.addresses[0][1], visits
    await runner.cleanup()


SPELLINGS = [
    "127.0.0.1",
    "127.1",
    "127.0.1",
    "2130706433",
    "0x7f000001",
    "0x7f.0.0.1",
    "0x7f.1",
    "0177.0.0.1",
    "017700000001",
    "127.0.0.1.",
    "[::1]",
    "[0:0:0:0:0:0:0:1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::127.0.0.1]",
    "[64:ff9b::127.0.0.1]",
    "[2002:7f00:1::]",
    "0.0.0.0",
    "0",
    "[::]",
    "①②⑦.⓪.⓪.①",
    "127。0。0。1",
    "%31%32%37.0.0.1",
    "localhost",
    "LOCALHOST",
    "foo.localhost",
    "10.0.0.1",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.0.1",
    "169.254.169.254",
    "2852039166",
    "0xa9fea9fe",
    "0251.0376.0251.0376",
    "[::ffff:169.254.169.254]",
    "[fd00:ec2::254]",
    "[fe80::1]",
    "[fc00::1]",
    "[fec0::1]",
    "[ff02::1]",
    "100.64.0.1",
    "100.100.100.200",
    "198.18.0.1",
    "192.0.0.192",
    "224.0.0.1",
    "255.255.255.255",
]


@pytest.mark.parametrize("spelling", SPELLINGS)
async def test_no_spelling_of_a_private_address_is_connected(spelling, inside):
    port, visits = inside
    url = canonical_url(f"http://{spelling}:{port}/")
    assert url is not None
    result = await access(url)
    assert result.outcome is Outcome.REFUSED, result.reason
    result = await access(url, connector_checks=False)
    assert result.outcome in (Outcome.REFUSED, Outcome.FAILED), result.reason
    assert not visits


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "::ffff:127.0.0.1", "fe80::1", "0.0.0.0"]
)
async def test_a_name_that_resolves_to_a_private_address(address, inside):
    port, visits = inside
    names = Names([address])
    result = await access(f"http://innocent.example:{port}/", resolver=names)
    assert result.outcome is Outcome.REFUSED
    assert names.asked == 1
    assert not visits


async def test_none_of_several_private_answers_is_taken(inside):
    port, visits = inside
    result = await access(f"http://innocent.example:{port}/", resolver=Names(["127.0.0.1", "10.9.9.9"]))
    assert result.outcome is Outcome.REFUSED
    assert not visits


async def test_a_named_host_may_be_private_on_its_port_only(inside):
    port, visits = inside
    guard = Guard.of(seeds=[f"http://intranet.example:{port}/"])
    result = await access(f"http://intranet.example:{port}/", guard=guard, resolver=Names(["127.0.0.1"]))
    assert result.outcome is Outcome.CONTENT
    guard = Guard.of(seeds=["http://intranet.example/"])
    result = await access(f"http://intranet.example:{port}/", guard=guard, resolver=Names(["127.0.0.1"]))
    assert result.outcome is Outcome.REFUSED
    assert len(visits) == 1


def test_a_named_host_seen_public_never_turns_private():
    guard = Guard.of(seeds=["https://docs.example/"])
    assert guard.permits("docs.example", 443, "93.184.215.14")
    assert not guard.permits("docs.example", 443, "127.0.0.1")
    assert guard.permits("docs.example", 443, "93.184.215.14")


def test_a_named_host_is_never_link_local():
    guard = Guard.of(seeds=["http://intranet.example/"], allow_hosts=["other.example"])
    for host in ("intranet.example", "other.example"):
        assert guard.permits(host, 80, "10.0.0.1")
        assert not guard.permits(host, 80, "169.254.169.254")
        assert not guard.permits(host, 80, "fd00:ec2::254")
    assert Guard.of(allow_hosts=["169.254.169.254"]).permits("169.254.169.254", 80, "169.254.169.254")


def test_a_named_address_is_that_address_only():
    guard = Guard.of(seeds=["http://127.0.0.1:8000/"])
    assert not guard.permits("127.0.0.1", 8000, "127.0.0.2")
    assert not guard.permits("127.0.0.2", 8000, "127.0.0.1")
    assert not guard.permits_literal("localhost", 8000)


def test_allow_hosts_with_and_without_port():
    guard = Guard.of(allow_hosts=["a.example", "b.example:8080", "[::1]:80", "[fc00::1]"])
    assert guard.is_named("a.example", 1234)
    assert guard.is_named("b.example", 8080)
    assert not guard.is_named("b.example", 80)
    assert guard.is_named("::1", 80)
    assert not guard.is_named("::1", 81)
    assert guard.is_named("fc00::1", 81)
    for nonsense in ("a b", "http://x/", "", "x/y"):
        with pytest.raises(ConfigError, match="allow_hosts"):
            guard.trust_host(nonsense)


def test_a_socket_for_nobody_is_public_only():
    guard = Guard.of(seeds=["http://127.0.0.1:80/"])
    for address in ("127.0.0.1", "10.0.0.1"):
        with pytest.raises(AddressRefused, match="nobody"):
            guard.make_socket((socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 80)))
    guard.make_socket((socket.AF_INET, socket.SOCK_STREAM, 6, "", ("93.184.215.14", 80))).close()
    with pytest.raises(AddressRefused):
        guard.make_socket((socket.AF_UNIX, socket.SOCK_STREAM, 0, "", "/run/docker.sock"))


async def test_destinations_do_not_leak_between_tasks():
    guard = Guard.of(seeds=["http://127.0.0.1:80/"])
    info = (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 80))

    async def named():
        with guard.connecting_to("127.0.0.1", 80):
            await asyncio.sleep(0.02)
            guard.make_socket(info).close()

    async def other():
        await asyncio.sleep(0.01)
        with guard.connecting_to("evil.example", 80), pytest.raises(AddressRefused):
            guard.make_socket(info)

    async with asyncio.TaskGroup() as group:
        group.create_task(named())
        group.create_task(other())


async def test_redirect_to_a_name_that_is_private(inside):
    port, visits = inside

    async def answer(_):
        return web.Response(status=302, headers={"Location": f"http://inner.example:{port}/"})

    application = web.Application()
    application.router.add_get("/", answer)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    seed = f"http://127.0.0.1:{runner.addresses[0][1]}/"
    result = await access(seed, guard=Guard.of(seeds=[seed]), resolver=Names(["127.0.0.1"]))
    await runner.cleanup()
    assert result.outcome is Outcome.REFUSED
    assert not visits


@given(st.ip_addresses(v=4))
def test_kinds_agree_with_the_standard_library(address):
    if kind_of(str(address)) is Kind.PUBLIC:
        assert address.is_global
    for carrier in (f"::ffff:{address}", f"64:ff9b::{address}"):
        assert kind_of(carrier) is kind_of(str(address))


@given(st.ip_addresses(v=6))
def test_no_special_address_passes_for_public(address):
    if kind_of(str(address)) is Kind.PUBLIC:
        assert address.is_global
        assert not address.is_multicast
