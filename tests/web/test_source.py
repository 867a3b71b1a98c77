"""The same answers from the data directory, beside an engine or without one; and what is kept small."""

import asyncio
import math
import time

import msgspec
import pytest
from tests.web.rooms import URLS, Room, open_room

from recrawl.backends import open_index, open_store
from recrawl.engine.history import SERIES
from recrawl.engine.records import AccessNote, Outcome
from recrawl.web.kept import Kept
from recrawl.web.overview import alarms
from recrawl.web.page_view import replayed
from recrawl.web.requests import PagesQuery
from recrawl.web.source import Source

WEEK = 7 * 86400.0


async def test_a_week_of_history_is_a_small_answer(tmp_path):
    store = open_store(tmp_path / "store.db")
    end = 1_700_000_000.0
    # Sixty seconds apart, so that the test is short; the tiers above the finest are as full as in a week of samples.
    for step in range(int(WEEK // 60)):
        values = [0.123456789 + 0.1 * math.sin(step / 60.0 + place) for place in range(len(SERIES))]
        await store.note_history(end - WEEK + 60.0 * step, values)
    source = Source(store, open_index("memory:"))
    for seconds, points in ((WEEK, 400), (WEEK, 1000), (86400.0, 1000), (3600.0, 1000)):
        found = await source.history(seconds, None, points, end)
        assert 2 <= len(found.times) <= points
        assert len(msgspec.json.encode(found)) < 200_000
    found = await source.history(WEEK, ["obsolescence"], 1000, end)
    assert len(found.times) > 400
    assert found.times == sorted(found.times)
    assert all(abs(value - 0.123456789) <= 0.11 for value in found.series["obsolescence"])
    await store.close()


async def test_the_store_says_the_same_as_the_engine():
    async with open_room() as room:
        await room.engine._save()
        await room.engine._note_status()
        beside = Source(room.store, room.engine.world.index)
        beside.now = room.clock.time
        for name in ("overview", "sites", "plan", "robots"):
            live = msgspec.to_builtins(await getattr(room.source, name)())
            stored = msgspec.to_builtins(await getattr(beside, name)())
            moving = ("read_only", "loop_lag_seconds", "price", "reachable", "delay_seconds")
            for key in live.keys() - set(moving) - {"queue", "rows"}:
                assert stored[key] == (
                    pytest.approx(live[key], rel=1e-4) if isinstance(live[key], float) else live[key]
                ), key
        query = PagesQuery(sort="url", limit=100)
        live, stored = await room.source.pages(query), await beside.pages(query)
        assert [row.url for row in live.rows] == [row.url for row in stored.rows]
        assert await room.source.changes() == await beside.changes()
        assert (await beside.page(URLS[2])).accesses == (await room.source.page(URLS[2])).accesses


async def test_an_engine_that_died_is_not_running():
    room = Room()
    document = {**room.engine.status(True), "process": 2**22 + 1}  # no such process
    import json

    await room.store.save("status", json.dumps(document).encode())
    found = await Source(room.store, room.engine.world.index).overview()
    assert not found.running
    assert found.alarms[0].kind == "not_running"


async def test_an_empty_store_answers_too(tmp_path):
    store, index = open_store(tmp_path / "store.db"), open_index("memory:")
    source = Source(store, index, tmp_path)
    found = await source.overview()
    assert (found.running, found.obsolescence, found.accesses) == (False, None, 0)
    assert found.disk_free_bytes > 0
    assert (await source.pages(PagesQuery())).rows == []
    assert (await source.sites()).rows == []
    assert (await source.plan()).curve == []
    assert (await source.history()).times == []
    assert (await source.search("words")).count == 0
    assert (await source.robots()).reason
    await store.close()


def test_the_belief_is_replayed_as_it_was_learnt():
    from recrawl.engine.insight import Insight

    insight = Insight(None, "poisson")
    notes = [AccessNote(1000.0 + 600.0 * i, Outcome.CONTENT, i in (3, 7)) for i in range(12)]
    notes.insert(5, AccessNote(1000.0 + 600.0 * 4 + 60.0, Outcome.FAILED, False))  # tells nothing
    found = replayed(insight, notes)
    belief = insight.blank_belief()
    slot = belief.add(1)
    told = [note for note in notes if note.outcome is Outcome.CONTENT]
    for place, point in enumerate(found):
        if place:
            belief.update(slot, [told[place].time - told[place - 1].time], [told[place].changed])
        assert point.rate == pytest.approx(float(belief.mean_rate(slot)[0]), rel=1e-6)
        assert point.low <= point.rate <= point.high
    assert len(found) == 12


def status(**changes):
    return {
        "running": True,
        "time": 1000.0,
        "running_seconds": 100.0,
        "budget_per_second": 5.0,
        "scheduled_pages": 10,
        "index_delay_seconds": {"p99": 1.0},
        "unreachable_sites": {},
        "control": {"warnings": []},
        **changes,
    }


@pytest.mark.parametrize(
    ("kind", "document", "latest", "others"),
    [
        ("not_running", None, {}, {}),
        ("not_running", status(running=False), {}, {}),
        ("site_unreachable", status(unreachable_sites={"a.example": 90.0}), {}, {}),
        ("losing", status(), {"loss": 0.2}, {}),
        ("starving", status(budget_per_second=None), {"starvation": 0.9}, {}),
        ("budget_too_small", status(), {"obsolescence_bound": 0.6}, {}),
        ("index_behind", status(index_delay_seconds={"p99": 300.0}), {}, {"uncommitted": 10}),
        ("nothing_accessed", status(), {"accesses_per_second": 0.0}, {}),
        ("disk_nearly_full", status(), {}, {"disk": (10_000_000, 10**12)}),
        ("disk_nearly_full", status(), {}, {"disk": (4 * 10**10, 10**12)}),
        ("control", status(control={"warnings": ["drift"]}), {}, {}),
    ],
)
def test_alarms_in_words(kind, document, latest, others):
    (found,) = alarms(2000.0, document, latest, **{"uncommitted": 0, "disk": None, "paused": [], **others})
    assert found.kind == kind
    assert found.text.endswith(".") or kind == "control"


def test_no_alarm_when_all_is_well():
    latest = {"loss": 0.0, "starvation": 0.9, "obsolescence_bound": 0.1, "accesses_per_second": 5.0}
    # With a budget an idle indexer is spare; a paused site that does not answer is no news.
    document = status(unreachable_sites={"a.example": 9.0})
    assert alarms(2000.0, document, latest, uncommitted=3, disk=(10**11, 10**12), paused=["a.example"]) == []


async def test_answers_are_made_once_for_many():
    kept, made = Kept(), 0

    async def make():
        nonlocal made
        made += 1
        await asyncio.sleep(0.01)
        return made

    assert await asyncio.gather(*(kept.get("key", 60.0, make) for _ in range(10))) == [1] * 10
    assert await kept.get("key", 60.0, make) == 1
    assert await kept.get("other", 0.0, make) == 2
    kept.forget()
    assert await kept.get("key", 60.0, make) == 3


async def test_the_answer_before_will_do_while_another_is_made():
    kept, made = Kept(), 0

    async def make():
        nonlocal made
        made += 1
        await asyncio.sleep(0.05)
        return made

    assert await kept.get("key", 60.0, make, stale=True) == 1
    kept.forget()
    assert await kept.get("key", 60.0, make, stale=True) == 1
    assert await kept.get("key", 60.0, make) == 2
    assert await kept.get("key", 60.0, make, stale=True) == 2


async def test_a_failure_is_not_kept():
    kept = Kept()

    async def fail():
        raise ValueError("no")

    async def fine():
        return 1

    with pytest.raises(ValueError, match="no"):
        await kept.get("key", 60.0, fail)
    assert await kept.get("key", 60.0, fine) == 1


async def test_the_catalogue_of_many_pages_is_quick(tmp_path, capsys):
    """Ten thousand pages in SQLite: sorted, filtered and summed in about a second, and then kept."""
    from recrawl.engine.records import NewPage

    store = open_store(tmp_path / "store.db")
    for first in range(0, 10_000, 1000):
        await store.add(
            [
                NewPage(f"http://s{i % 7}.example/{i}", f"s{i % 7}.example", i % 5, 1.0)
                for i in range(first, first + 1000)
            ]
        )
    source = Source(store, open_index("memory:"))
    begun = time.perf_counter()
    found = await source.pages(PagesQuery(sort="weight", descending=True, site="s3.example", limit=10))
    first = time.perf_counter() - begun
    begun = time.perf_counter()
    await source.pages(PagesQuery(sort="url", offset=5000))
    again = time.perf_counter() - begun
    assert found.count == 1429
    assert all(row.site == "s3.example" for row in found.rows)
    assert [row.pages for row in (await source.sites()).rows] == [1429] * 4 + [1428] * 3
    assert first < 30.0
    assert again < first
    await store.close()
