"""What every store does when several call it at the same time."""

import asyncio

from recrawl.errors import StoreError

URL = "http://x.test/{}".format


async def kinds(store, after=0):
    return [(entry.kind, entry.url[-1]) for entry in await store.revisions(after, 1000)]


class TestManyAtOnce:
    async def test_writers_at_the_same_time(self, store, make):
        names = [f"p{n}" for n in range(200)]
        added = await asyncio.gather(*(store.add([make.page(name)]) for name in names))
        assert sum(map(len, added)) == 200
        await asyncio.gather(*(store.record([make.finding(name, text=name)]) for name in names))
        entries = await store.revisions(0, 1000)
        assert [entry.number for entry in entries] == list(range(1, 201))
        assert {entry.url for entry in entries} == {URL(name) for name in names}

    async def test_one_of_them_fails_alone(self, store, make):
        await store.add([make.page("a"), make.page("b")])
        results = await asyncio.gather(
            store.record([make.finding("a", text="1")]),
            store.record([make.finding("z", text="2")]),
            store.record([make.finding("b", text="3")]),
            return_exceptions=True,
        )
        assert [type(result) for result in results] == [list, StoreError, list]
        assert await kinds(store) == [("added", "a"), ("added", "b")]

    async def test_reading_while_writing(self, store, make):
        await store.add([make.page(f"p{n}") for n in range(50)])
        seen = 0
        async for page in store.pages():
            await store.add([make.page(page.url[-2:] + "-more")])
            seen += 1
        assert seen >= 50
