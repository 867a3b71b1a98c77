"""The finite buffer: what it takes, what it refuses, how it closes."""

import asyncio
import math

import pytest

from recrawl.backends.memory import MemoryBuffer
from recrawl.engine.records import Delivery
from recrawl.errors import ConfigError


@pytest.fixture
def delivery(make):
    return lambda name="a": Delivery(make.access(name), delivered=1.0, obsolete_at=math.inf, robots=1)


@pytest.fixture(params=["memory"])
def buffer_of(request):
    return {"memory": MemoryBuffer}[request.param]


async def test_first_in_first_out(buffer_of, delivery):
    buffer = buffer_of(3)
    first, second = delivery("a"), delivery("b")
    assert buffer.offer(first)
    assert buffer.offer(second)
    assert await buffer.take() is first
    assert await buffer.take() is second


async def test_capacity_counts_what_is_being_indexed(buffer_of, delivery):
    buffer = buffer_of(2)
    assert buffer.capacity == 2
    assert [buffer.offer(delivery()) for _ in range(3)] == [True, True, False]
    taken = await buffer.take()
    assert buffer.level() == 2
    assert not buffer.offer(delivery())
    buffer.done(taken)
    assert buffer.level() == 1
    assert buffer.offer(delivery())


async def test_take_waits(buffer_of, delivery):
    buffer = buffer_of(2)
    waiting = asyncio.create_task(buffer.take())
    await asyncio.sleep(0)
    assert not waiting.done()
    offered = delivery()
    buffer.offer(offered)
    assert await waiting is offered


async def test_several_takers(buffer_of, delivery):
    buffer = buffer_of(5)
    takers = [asyncio.create_task(buffer.take()) for _ in range(3)]
    await asyncio.sleep(0)
    offered = [delivery(name) for name in "abc"]
    for each in offered:
        buffer.offer(each)
    taken = await asyncio.gather(*takers)
    assert sorted(each.access.url for each in taken) == sorted(each.access.url for each in offered)
    assert buffer.level() == 3


async def test_a_cancelled_taker_takes_nothing(buffer_of, delivery):
    buffer = buffer_of(1)
    taker = asyncio.create_task(buffer.take())
    await asyncio.sleep(0)
    buffer.offer(delivery())
    taker.cancel()
    with pytest.raises(asyncio.CancelledError):
        await taker
    assert await asyncio.wait_for(buffer.take(), 1) is not None


async def test_closing_hands_out_what_is_left(buffer_of, delivery):
    buffer = buffer_of(3)
    buffer.offer(delivery("a"))
    buffer.close()
    assert not buffer.offer(delivery("b"))
    assert (await buffer.take()).access.url.endswith("a")
    assert await buffer.take() is None
    assert await buffer.take() is None


async def test_closing_wakes_every_taker(buffer_of):
    buffer = buffer_of(1)
    takers = [asyncio.create_task(buffer.take()) for _ in range(3)]
    await asyncio.sleep(0)
    buffer.close()
    assert await asyncio.gather(*takers) == [None, None, None]


async def test_equal_deliveries_are_two(buffer_of, delivery):
    buffer = buffer_of(2)
    buffer.offer(delivery())
    buffer.offer(delivery())
    buffer.done(await buffer.take())
    assert buffer.level() == 1


async def test_done_only_for_what_was_taken(buffer_of, delivery):
    buffer = buffer_of(2)
    waiting = delivery()
    buffer.offer(waiting)
    with pytest.raises(ValueError, match=r"x\.test/a"):
        buffer.done(waiting)
    assert buffer.level() == 1
    taken = await buffer.take()
    buffer.done(taken)
    with pytest.raises(ValueError, match=r"x\.test/a"):
        buffer.done(taken)


def test_capacity_must_be_positive(buffer_of):
    with pytest.raises(ConfigError, match="0"):
        buffer_of(0)
