"""Clocks: the machine's, and one that is moved by hand."""

import asyncio
import time

import pytest

from recrawl.backends.memory import ManualClock, SystemClock


async def test_the_system_clock():
    clock = SystemClock()
    assert abs(clock.time() - time.time()) < 5
    start = clock.monotonic()
    await clock.sleep(0.01)
    assert clock.monotonic() - start >= 0.009


async def test_time_stands_still_until_it_is_moved():
    clock = ManualClock(start=100.0)
    sleeper = asyncio.create_task(clock.sleep(10))
    await clock.advance(9.5)
    assert not sleeper.done()
    assert (clock.time(), clock.monotonic()) == (109.5, 9.5)
    await clock.advance(0.5)
    assert sleeper.done()


async def test_sleepers_wake_in_order_and_at_their_time():
    clock = ManualClock(start=0.0)
    woken = []

    async def sleeper(seconds, times):
        for _ in range(times):
            await clock.sleep(seconds)
            woken.append((seconds, clock.time()))

    async with asyncio.TaskGroup() as group:
        group.create_task(sleeper(3, 2))
        group.create_task(sleeper(2, 3))
        await clock.advance(6)
    assert woken == [(2, 2.0), (3, 3.0), (2, 4.0), (3, 6.0), (2, 6.0)]


async def test_a_jump_moves_the_time_of_day_only():
    clock = ManualClock(start=100.0)
    sleeper = asyncio.create_task(clock.sleep(10))
    await clock.advance(1)
    clock.jump(-50)
    assert (clock.time(), clock.monotonic()) == (51.0, 1.0)
    assert not sleeper.done()
    await clock.advance(9)
    assert sleeper.done()


async def test_a_cancelled_sleeper_is_forgotten():
    clock = ManualClock()
    sleeper = asyncio.create_task(clock.sleep(1))
    await clock.advance(0.5)
    sleeper.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sleeper
    await clock.advance(1)
    assert clock.monotonic() == 1.5


async def test_no_time_at_all():
    await asyncio.wait_for(ManualClock().sleep(0), 1)
    await asyncio.wait_for(ManualClock().sleep(-1), 1)
