"""The order of accesses and its hand-out."""

import asyncio
import math
from dataclasses import replace

import numpy as np
import pytest
from tests.engine.fakes import FreeSites, page

from recrawl.engine.pace import Pace
from recrawl.engine.scheduler import Observation, Scheduler, SchedulerSettings, Ticket


class Clock:
    def __init__(self, now=1e9):
        self.now = now

    def time(self):
        return self.now

    def monotonic(self):
        return self.now

    async def sleep(self, seconds):
        self.now += seconds


def scheduler(clock, rate=math.inf, politeness=None, **settings):
    sites = politeness or FreeSites(clock)
    return Scheduler(clock, sites, Pace(rate, clock.now), SchedulerSettings(weights="equal", **settings))


def take(subject, count):
    found = []
    for _ in range(count):
        ticket = subject.try_next()
        if not isinstance(ticket, Ticket):
            break
        found.append(ticket.url)
    return found


def seen(url, last, **changes):
    return page(url, last_access=last, digest=b"x" * 16, accesses=1, **changes)


def test_new_pages_come_first_shallow_ones_before_deep_ones():
    clock = Clock()
    subject = scheduler(clock)
    subject.add([seen("old", clock.now - 1e6), page("deep", depth=3), page("shallow", depth=1)])
    assert take(subject, 3) == ["shallow", "deep", "old"]


def test_uniform_is_oldest_first():
    clock = Clock()
    subject = scheduler(clock, policy="uniform")
    subject.add([seen(f"u{i}", clock.now - 100.0 + 7 * i % 10) for i in range(10)])
    order = take(subject, 10)
    ages = [7 * int(url[1:]) % 10 for url in order]
    assert ages == sorted(ages)


def test_a_blocked_site_does_not_hold_up_others():
    clock = Clock()
    sites = FreeSites(clock, delay=10.0)
    subject = scheduler(clock, politeness=sites)
    subject.add([seen(f"a{i}", clock.now - 1e6) for i in range(5)])
    subject.add([seen("b", clock.now - 10.0, site="b.example")])
    assert take(subject, 9) == ["a0", "b"]
    assert subject.try_next() == pytest.approx(10.0)
    clock.now += 10.0
    assert take(subject, 9) == ["a1"]


def test_places_of_a_site_are_respected():
    clock = Clock()
    subject = scheduler(clock, politeness=FreeSites(clock, places=2))
    subject.add([page(f"a{i}") for i in range(5)])
    assert len(take(subject, 9)) == 2
    assert subject.try_next() == pytest.approx(subject.settings.lease_seconds)
    subject.ended("a.example", None)
    assert len(take(subject, 9)) == 1


def test_budget_paces():
    clock = Clock()
    subject = scheduler(clock, rate=2.0)
    subject.add([page(f"a{i}") for i in range(5)])
    assert len(take(subject, 9)) == 1
    assert subject.try_next() == pytest.approx(0.5)
    clock.now += 0.5
    assert len(take(subject, 9)) == 1


def test_retry_times_are_kept():
    clock = Clock()
    subject = scheduler(clock)
    subject.add([page("later", retry_at=clock.now + 50.0)])
    assert subject.try_next() == pytest.approx(50.0)
    clock.now += 51.0
    assert take(subject, 2) == ["later"]


def test_leases_end_by_themselves():
    clock = Clock()
    subject = scheduler(clock, lease_seconds=30.0)
    subject.add([page("a")])
    assert take(subject, 2) == ["a"]
    clock.now += 31.0
    assert take(subject, 2) == ["a"]
    assert subject.leases_ended == 1


def test_pages_that_are_gone_leave_at_once():
    from recrawl.engine.records import State

    clock = Clock()
    subject = scheduler(clock)
    subject.add([page("a"), page("b")])
    assert take(subject, 1) == ["a"]
    subject.settle([page("a", state=State.GONE)])
    assert take(subject, 5) == ["b"]
    assert len(subject) == 1


async def test_waiting_robots_are_woken():
    clock = Clock()
    subject = scheduler(clock)
    waiting = asyncio.ensure_future(subject.next())
    await asyncio.sleep(0)
    subject.add([page("a")])
    assert (await waiting).url == "a"
    another = asyncio.ensure_future(subject.next())
    await asyncio.sleep(0)
    subject.close()
    assert await another is None


async def test_price_meets_the_budget_and_fast_pages_come_more_often():
    clock = Clock()
    subject = scheduler(clock, policy="poisson")
    records = [seen(f"u{i}", clock.now) for i in range(40)]
    subject.add(records)
    for turn in range(30):
        clock.now += 10.0
        changed = [i < 20 or turn % 10 == 0 for i in range(40)]
        subject.learn([Observation(r, clock.now, c) for r, c in zip(records, changed, strict=True)])
        records = [replace(r, last_access=clock.now) for r in records]
        subject.settle(records)
    plan = await subject.replan(2.0)
    assert plan.demand == pytest.approx(2.0, rel=1e-3)
    slots = np.array([subject.table.slot[f"u{i}"] for i in range(40)])
    rates = subject.table.belief.mean_rate(slots)
    assert rates[:20].min() > 3 * rates[20:].max()


async def test_a_site_at_its_ceiling_gets_its_own_price():
    clock = Clock()
    sites = FreeSites(clock, delay=5.0)
    subject = scheduler(clock, politeness=sites, policy="poisson")
    subject.add([seen(f"a{i}", clock.now - 10) for i in range(50)])
    subject.add([seen(f"b{i}", clock.now - 10, site="b.example") for i in range(50)])
    plan = await subject.replan(10.0)
    assert set(plan.site_price) == {0, 1}
    assert plan.demand == pytest.approx(0.4, rel=1e-2)


class OneSlowSite(FreeSites):
    def delay(self, site):
        return 5.0 if site == "a.example" else 0.0


async def test_a_site_at_its_ceiling_gets_its_own_price_with_clocks_too():
    clock = Clock()
    subject = scheduler(clock, politeness=OneSlowSite(clock))
    subject.add([seen(f"a{i}", clock.now - 150 - i) for i in range(50)])
    subject.add([seen(f"b{i}", clock.now - 10 - i, site="b.example") for i in range(150)])
    plan = await subject.replan(10.0)
    assert set(plan.site_price) == {0}
    assert plan.site_price[0] > plan.price
    waits = subject.table.waits["wait"][[subject.table.slot["a1"], subject.table.slot["b1"]]]
    assert waits[0] > waits[1]  # the same page waits longer at the site that cannot be accessed more often


async def test_a_clock_that_speeds_up_moves_its_directory():
    """One page of a directory has changed, so its other pages are due before those of a directory that is quiet."""
    clock = Clock()
    subject = scheduler(clock)
    urls = [f"http://a.example/{folder}/{i}" for folder in ("x", "y") for i in range(40)]
    subject.restore({}, 80, 8.0)
    records = {url: seen(url, clock.now + i * 1e-3) for i, url in enumerate(urls)}
    subject.add(list(records.values()))
    await subject.replan(8.0)
    rounds = 0
    while rounds < 6:
        rounds += 1
        for url in urls:
            clock.now += 1 / 8
            changed = rounds == 6 and url in (urls[0], urls[2], urls[4], urls[6])
            subject.learn([Observation(records[url], clock.now, changed)])
            records[url] = replace(records[url], last_access=clock.now)
            subject.settle([records[url]])
            if rounds == 6 and url == urls[6]:
                rounds = 99
                break
        await subject.replan(8.0)
    rest = [url for url in urls if url not in urls[:7]]
    first = take(subject, 20)
    assert sum("/x/" in url for url in first) >= 18
    assert set(first) <= set(rest)


async def test_pages_removed_while_planning():
    clock = Clock()
    subject = scheduler(clock)
    subject.add([seen(f"u{i}", clock.now - 10) for i in range(200)])
    plan = asyncio.ensure_future(subject.replan(5.0))
    await asyncio.sleep(0)
    for i in range(100):
        subject.remove(f"u{i}")
    subject.add([page("new")])
    await plan
    assert len(subject) == 101
    assert set(take(subject, 200)) == {f"u{i}" for i in range(100, 200)} | {"new"}


@pytest.mark.parametrize("policy", ["optimal", "poisson"])
async def test_belief_survives_in_the_store_form(policy):
    clock = Clock()
    subject = scheduler(clock, policy=policy)
    subject.add([seen("a", clock.now - 100.0), seen("b", clock.now - 100.0)])
    (kept,) = subject.learn([Observation(seen("a", clock.now - 100.0), clock.now, True)])
    again = scheduler(clock, policy=policy)
    again.restore(subject.kept(), 2, 1.0)
    again.add([seen("a", clock.now, belief=kept)])
    rate = [s.table.change_rate(np.array([s.table.slot["a"]]))[0] for s in (subject, again)]
    assert rate[1] == pytest.approx(rate[0], rel=1e-2 if policy == "poisson" else 1e-9)


def test_a_clock_that_was_set_back_does_no_harm():
    clock = Clock()
    subject = scheduler(clock)
    record = seen("a", clock.now)
    subject.add([record])
    clock.now -= 1e6
    subject.learn([Observation(record, clock.now, True)])
    subject.settle([replace(record, last_access=clock.now)])
    assert take(subject, 1) == ["a"]
