"""History of measures and of accesses: the same from every store."""

import math

import pytest

from recrawl.backends import open_store
from recrawl.engine.history import SERIES, TIERS
from recrawl.engine.records import KEPT_ACCESSES, Outcome

VALUES = [float(place) for place in range(len(SERIES))]


async def test_accesses_of_a_page_in_order(store, make):
    await store.add([make.page("a"), make.page("b")])
    assert await store.accesses("http://x.test/a") == []
    await store.record([make.finding("a", at=100.25, text="one"), make.finding("b", at=101.0, text="other")])
    await store.record([make.finding("a", at=200.0, outcome=Outcome.NOT_MODIFIED)])
    await store.record([make.finding("a", at=300.5, text="two")])
    await store.record([make.finding("a", at=400.0, outcome=Outcome.FAILED)])
    notes = await store.accesses("http://x.test/a")
    assert [(note.time, note.outcome, note.changed) for note in notes] == [
        (100.25, Outcome.CONTENT, False),  # the first content is no change
        (200.0, Outcome.NOT_MODIFIED, False),
        (300.5, Outcome.CONTENT, True),
        (400.0, Outcome.FAILED, False),
    ]
    assert await store.accesses("http://x.test/unknown") == []


async def test_a_repeated_finding_is_noted_once(store, make):
    await store.add([make.page("a")])
    for _ in range(2):
        await store.record([make.finding("a", at=100.0, text="one")])
    assert len(await store.accesses("http://x.test/a")) == 1


async def test_accesses_are_bounded(store, make):
    await store.add([make.page("a")])
    for first in range(0, KEPT_ACCESSES + 50, 25):
        await store.record(
            [make.finding("a", at=1000.0 + first + i, outcome=Outcome.NOT_MODIFIED) for i in range(25)]
        )
    notes = await store.accesses("http://x.test/a")
    assert len(notes) == KEPT_ACCESSES
    assert [notes[0].time, notes[-1].time] == [1050.0, 1249.0]


async def test_every_outcome_survives(store, make):
    await store.add([make.page("a")])
    for place, outcome in enumerate(Outcome):
        await store.record([make.finding("a", at=100.0 + place, outcome=outcome)])
    assert [note.outcome for note in await store.accesses("http://x.test/a")] == list(Outcome)


async def test_samples_become_points(store):
    assert await store.history(0.0, 2000.0, 100) == []
    await store.note_history(1000.0, VALUES)
    await store.note_history(1001.0, [value + 2.0 for value in VALUES])
    await store.note_history(1002.0, [math.nan] * len(VALUES))
    points = await store.history(990.0, 1010.0, 100)
    assert [(point.time, point.count) for point in points] == [(1000.0, 2), (1002.0, 1)]
    assert points[0].values == pytest.approx([value + 1.0 for value in VALUES])
    assert all(math.isnan(value) for value in points[1].values)


async def test_what_is_not_known_does_not_spoil_a_mean(store):
    for time, value in ((1000.0, 3.0), (1000.5, math.nan), (1001.0, 5.0)):
        await store.note_history(time, [value])
    (point,) = await store.history(999.0, 1002.0, 10)
    assert point.values[0] == pytest.approx(
        (2 * 3.0 + 5.0) / 3.0
    )  # a sample without a value counts as the mean before


async def test_points_are_few_and_keep_the_mean(store):
    for step in range(300):
        await store.note_history(10_000.0 + 2.0 * step, [float(step)])
    for most in (7, 20, 100):
        points = await store.history(10_000.0, 10_600.0, most)
        assert 0.4 * most <= len(points) <= most
        assert sum(point.count for point in points) == 300
        total = sum(point.count * point.values[0] for point in points)
        assert total / 300 == pytest.approx(149.5, rel=1e-5)
        assert len({point.seconds for point in points}) == 1


async def test_old_samples_are_kept_coarsely(store):
    start, tier = 1_000_000.0, TIERS[0]
    for step in range(4000):
        await store.note_history(start + 2.0 * step, [1.0])
    end = start + 8000.0
    assert len(await store.history(end - 100.0, end, 1000)) == pytest.approx(50, abs=2)
    whole = await store.history(start, end, 1000)
    assert whole[0].seconds == TIERS[1].seconds  # the finest tier does not reach back so far
    assert len(whole) == pytest.approx(8000 / 30, abs=2)
    recent = await store.history(end - tier.keeps + 10, end, 1000)
    assert recent[0].seconds == tier.seconds


async def test_history_survives_a_restart(tmp_path, make):
    store = open_store(tmp_path / "store.db")
    await store.add([make.page("a")])
    await store.record([make.finding("a", at=100.0, text="one")])
    await store.note_history(1000.0, [0.5])
    await store.close()
    for read_only in (True, False):
        store = open_store(tmp_path / "store.db", read_only=read_only)
        assert (await store.history(990.0, 1010.0, 10))[0].values == (0.5,)
        assert len(await store.accesses("http://x.test/a")) == 1
        await store.close()


async def test_some_pages_in_one_read(store, make):
    await store.add([make.page("a"), make.page("b")])
    found = await store.some_pages(
        ["http://x.test/b", "http://x.test/none", "http://x.test/a", "http://x.test/b"]
    )
    assert [page and page.url for page in found] == [
        "http://x.test/b",
        None,
        "http://x.test/a",
        "http://x.test/b",
    ]
    assert found[0] == await store.page("http://x.test/b")
    assert await store.some_pages([]) == []


async def test_a_store_of_the_first_layout_is_upgraded(tmp_path, make):
    import sqlite3
    from importlib.resources import files

    path = tmp_path / "store.db"
    first = (files("recrawl.backends.sqlite") / "sql" / "migrations" / "0001_first.sql").read_text("utf-8")
    with sqlite3.connect(path) as connection:
        connection.executescript(first)
        connection.execute(f"PRAGMA application_id = {0x7263726C}")
        connection.execute("PRAGMA user_version = 1")
    connection.close()
    store = open_store(path)
    await store.add([make.page("a")])
    await store.record([make.finding("a", at=100.0, text="one")])
    assert len(await store.accesses("http://x.test/a")) == 1
    await store.close()
