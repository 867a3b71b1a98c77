"""Control at run time: what `auto` does, what it refuses, and switching at any moment."""

import asyncio
import random

import pytest
from tests.engine.fakes import FreeSites, Web, advance, engine, run_for

from recrawl.backends.memory import ManualClock
from recrawl.engine.automatic import fit_queue
from recrawl.engine.fitted import KEPT_AS, Conditions, FittedQueue
from recrawl.engine.fitting import Apart, Task, work
from recrawl.engine.queue_log import Log
from recrawl.errors import ConfigError

URLS = [f"http://a.example/{i}" for i in range(50)]


def subject_of(access=0.2, politeness=None, **behaviour):
    clock, chance = ManualClock(), random.Random(1)

    async def serve(_delivery):
        await clock.sleep(chance.expovariate(1.0))

    web = Web(clock, {url: f"page {url}" for url in URLS}, access, 1, exponential=True)
    given = {"capacity": 4, "batch": 1, "robots": 4, "control": "auto", "warm": False, "replan_seconds": 1e6}
    sites = politeness(clock) if politeness else None
    built = engine(
        clock, web, URLS, delay=serve, politeness=sites, **{**given, "status_seconds": 1e5, **behaviour}
    )
    built.tuning._fitter = AtOnce()
    return clock, built


class AtOnce:
    """Fits take no time of the clock."""

    async def __call__(self, task):
        return work(task)

    def stop(self):
        pass


def log_of(count=600):
    chance, log = random.Random(1), Log()
    for _ in range(count):
        log.accessed(chance.expovariate(5.0), 1, True)
        log.served(chance.expovariate(1.0))
    return log


async def test_auto_decides_and_keeps_its_model():
    clock, subject = subject_of()
    await run_for(subject, clock, 700.0, step=2.0)
    document = subject.tuning.document()
    assert document["decision"].startswith("robots: ")
    assert "worth having" in document["decision"]
    assert 1 <= document["worth_robots"] <= 4
    assert document["predicted"]["starvation"] >= 0.0
    kept = FittedQueue.from_bytes(await subject.world.store.load(KEPT_AS))
    assert kept == subject.tuning.fitted
    assert subject.status()["queue"]["cost"]["value"] > 0


async def test_auto_refuses_robots_that_only_wait():
    """One access at a time on the only site: more robots bring nothing, and no thresholds are made of that."""
    clock, subject = subject_of(2.0, politeness=lambda clock: FreeSites(clock, places=1), capacity=32)
    await run_for(subject, clock, 2200.0, step=4.0)
    assert subject.tuning.policy is None
    assert "refused: deliveries do not grow with the number of robots" in subject.tuning.decision
    assert subject.tuning.history[0]["text"].startswith("tries 2 robots for 100 deliveries")


async def test_switching_at_any_moment():
    clock, subject = subject_of(control="fixed", access=0.05)
    chance, stopping = random.Random(3), asyncio.Event()
    task = asyncio.ensure_future(subject.run(stopping))
    while not subject.running:
        await asyncio.sleep(0.001)
    choices = [
        ("fixed", {"robots": 3}),
        ("guarded", {}),
        ("thresholds", {"modes": (4, 1), "thresholds": (1,)}),
        ("thresholds", {"modes": (4, 0), "thresholds": (2,)}),
        ("auto", {}),
    ]
    for _ in range(60):
        kind, more = chance.choice(choices)
        subject.switch_control(kind, **more)
        assert subject.tuning.control == kind
        assert subject.robots.active == subject.controller.table[subject.queue.level()]
        await advance(clock, chance.random(), 0.05)
        total = subject.measures.total()
        assert total.arrived - total.lost - total.obsolete - total.served <= 4
    before = sum(subject.measures.outcomes.values())
    await advance(clock, 5.0, 0.1)
    assert sum(subject.measures.outcomes.values()) > before
    stopping.set()
    while not task.done():
        await advance(clock, 1.0, 0.1)
    await task


@pytest.mark.parametrize(
    ("kind", "more", "message"),
    [
        ("fast", {}, "control: 'fast' must be one of"),
        ("fixed", {"robots": 5}, "robots: 5 must lie from 1 to 4"),
        ("fixed", {"robots": 0}, "robots: 0 must lie from 1 to 4"),
        ("thresholds", {}, r"modes: \[\] must be numbers of robots"),
        ("thresholds", {"modes": (8, 1), "thresholds": (1,)}, "up to 4"),
        ("thresholds", {"modes": (4, 1), "thresholds": (4,)}, "at most capacity - 1 = 3, not 4"),
        ("thresholds", {"modes": (1, 4), "thresholds": (1,)}, "from most to fewest"),
    ],
)
async def test_bad_switches_change_nothing(kind, more, message):
    _, subject = subject_of(control="fixed")
    before = (subject.controller.table, subject.tuning.control)
    with pytest.raises(ConfigError, match=message):
        subject.switch_control(kind, **more)
    assert (subject.controller.table, subject.tuning.control) == before


async def test_auto_needs_a_run_without_a_budget():
    _, subject = subject_of(control="guarded", budget=5.0)
    with pytest.raises(ConfigError, match="without a budget"):
        subject.switch_control("auto")


async def test_pages_are_served_one_by_one_after_a_switch():
    _, subject = subject_of(control="guarded", batch=32)
    subject.switch_control("thresholds", modes=(2, 1), thresholds=(1,))
    assert subject.indexer.batch == 1


async def test_a_fit_in_another_process():
    task = Task(log_of(), Conditions(3, 2), (1, 1, 1, 1), 0.0, auto=True)
    found = await Apart()(task)
    assert found.fitted == fit_queue(task.log, task.conditions, task.table, task.time)
    assert found.predicted[task.table].cost == work(task).predicted[task.table].cost
    assert found.proposal.policy is not None


async def test_a_fit_that_is_given_up():
    fitter = Apart()
    running = asyncio.ensure_future(
        fitter(Task(log_of(5000), Conditions(200, 4), (1,) * 201, 0.0, auto=True))
    )
    await asyncio.sleep(0.3)
    fitter.stop()
    assert await asyncio.wait_for(running, 20) is None
    assert await fitter(Task(log_of(), Conditions(3, 2), (1, 1, 1, 1), 0.0, auto=True)) is None
