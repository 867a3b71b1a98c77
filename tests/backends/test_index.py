"""What every index does: one suite, the memory index is the reference."""

import asyncio

import pytest

from recrawl.backends import open_index
from recrawl.errors import ConfigError, StoreError


async def found(index, query, **options):
    count, hits = await index.search(query, **options)
    names = [hit.url.removeprefix("http://x.test/") for hit in hits]
    assert count >= len(hits)
    return names


async def fill(index, *revisions):
    await index.apply(revisions)
    return await index.commit()


class TestFollowing:
    async def test_an_empty_index(self, index):
        assert await index.watermark() == 0
        assert await index.search("anything") == (0, [])
        assert await index.commit() == 0

    async def test_nothing_is_searchable_before_the_commit(self, index, make):
        await index.apply([make.revision(1, text="apple")])
        assert await found(index, "apple") == []
        assert await index.watermark() == 0
        assert await index.commit() == 1
        assert await found(index, "apple") == ["a"]
        assert await index.watermark() == 1

    async def test_at_most_one_copy_of_a_page(self, index, make):
        await fill(index, make.revision(1, text="apple"), make.revision(2, text="apple pear"))
        await fill(index, make.revision(3, text="apple plum"))
        await fill(index, make.revision(3, text="apple plum"))
        count, (hit,) = await index.search("apple")
        assert (count, hit.revision) == (1, 3)
        assert await found(index, "pear") == []

    async def test_a_removed_page(self, index, make):
        await fill(index, make.revision(1, text="apple"), make.revision(2, "b", text="apple"))
        await fill(index, make.revision(3, kind="removed"))
        assert await found(index, "apple") == ["b"]
        assert await index.watermark() == 3

    async def test_added_and_removed_in_one_batch(self, index, make):
        await fill(index, make.revision(1, text="apple"), make.revision(2, kind="removed"))
        assert await found(index, "apple") == []
        await fill(index, make.revision(3, kind="removed"), make.revision(4, kind="added", text="apple"))
        assert await found(index, "apple") == ["a"]

    async def test_a_replaced_entry_only_raises_the_watermark(self, index, make):
        await fill(index, make.revision(1, text="apple"))
        assert await fill(index, make.revision(2, text="", latest=False)) == 2
        assert await found(index, "apple") == ["a"]

    async def test_the_watermark_never_falls(self, index, make):
        await fill(index, make.revision(5, text="apple"))
        assert await fill(index, make.revision(2, "b", text="apple")) == 5
        assert await index.commit() == 5
        assert await index.watermark() == 5

    async def test_clear_and_build_anew(self, index, make):
        await fill(index, make.revision(7, text="apple"))
        await index.apply([make.revision(8, "b", text="apple")])
        await index.clear()
        assert await index.watermark() == 0
        assert await found(index, "apple") == []
        assert await index.commit() == 0
        assert await fill(index, make.revision(1, "c", text="apple")) == 1
        assert await found(index, "apple") == ["c"]

    async def test_searching_and_verifying_while_indexing(self, index, make):
        async def write():
            for number in range(1, 21):
                await fill(index, make.revision(number, f"p{number}", text="apple"))
                await index.verify()

        async def read():
            counts = []
            while not counts or counts[-1] < 20:
                counts.append((await index.search("apple"))[0])
                await asyncio.sleep(0)
            return counts

        _, counts = await asyncio.wait_for(asyncio.gather(write(), read()), 60)
        assert counts == sorted(counts)


class TestSearch:
    async def test_fields_of_a_hit(self, index, make):
        await fill(index, make.revision(4, text="Some apple here.", title="Fruit", headings=("One", "Two")))
        count, (hit,) = await index.search("apple")
        assert count == 1
        assert (hit.url, hit.site, hit.title, hit.revision) == ("http://x.test/a", "x.test", "Fruit", 4)
        assert hit.score > 0
        assert [hit.snippet[start:end] for start, end in hit.marks] == ["apple"]

    async def test_all_words_or_else_some(self, index, make):
        await fill(
            index,
            make.revision(1, "both", text="apple and pear"),
            make.revision(2, "one", text="apple only"),
            make.revision(3, "none", text="plum"),
        )
        assert await found(index, "apple pear") == ["both"]
        assert sorted(await found(index, "apple nowhere")) == ["both", "one"]

    async def test_phrases_and_words_to_leave_out(self, index, make):
        await fill(
            index,
            make.revision(1, "a", text="the red apple"),
            make.revision(2, "b", text="the apple is red"),
        )
        assert await found(index, '"red apple"') == ["a"]
        assert await found(index, 'apple -"red apple"') == ["b"]
        assert await found(index, "apple -is") == ["a"]

    async def test_title_and_headings_weigh_more(self, index, make):
        filler = "word " * 20
        await fill(
            index,
            make.revision(1, "text", text=f"apple {filler}", title="x", headings=("y",)),
            make.revision(2, "headings", text=f"{filler}", title="x", headings=("apple",)),
            make.revision(3, "title", text=f"{filler}", title="apple", headings=("y",)),
        )
        assert (await found(index, "apple"))[0] == "title"
        assert sorted(await found(index, "apple")) == ["headings", "text", "title"]

    async def test_more_often_and_shorter_is_better(self, index, make):
        await fill(
            index,
            make.revision(1, "once", text="apple " + "word " * 30),
            make.revision(2, "often", text="apple " * 10 + "word " * 21),
        )
        assert await found(index, "apple") == ["often", "once"]

    async def test_a_match_in_the_title_shows_the_beginning(self, index, make):
        await fill(index, make.revision(1, text="Beginning of it.", title="apple"))
        _, (hit,) = await index.search("apple")
        assert hit.snippet.startswith("Beginning")
        assert hit.marks == ()

    async def test_site_limit_and_offset(self, index, make):
        await fill(
            index,
            *(make.revision(n, f"p{n}", text="apple", site=f"site{n % 2}.test") for n in range(1, 11)),
        )
        count, hits = await index.search("apple", site="site1.test", limit=3)
        assert (count, len(hits)) == (5, 3)
        assert {hit.site for hit in hits} == {"site1.test"}
        pages = [
            hit.url for at in range(0, 12, 4) for hit in (await index.search("apple", limit=4, offset=at))[1]
        ]
        assert len(pages) == len(set(pages)) == 10
        assert await index.search("apple", limit=0) == (10, [])
        assert (await index.search("apple", site="nowhere.test"))[0] == 0

    @pytest.mark.parametrize(
        "query",
        [
            "",
            "   ",
            '"',
            '""',
            "-",
            "--",
            "+",
            "*",
            "()",
            "[1 TO 2]",
            "AND",
            "OR NOT",
            "^",
            "~2",
            "title:",
            "\\",
            "'",
            "/re/",
            "a:b:c",
            "🙂",
            "\x00",
            "x" * 10_000,
            "w " * 3_000,
            "-apple",
            "{",
            "IN [a",
        ],
    )
    async def test_any_text_is_a_query(self, index, make, query):
        await fill(index, make.revision(1, text="pear"))
        assert await index.search(query) == (0, [])

    async def test_words_in_any_language(self, index, make):
        await fill(
            index,
            make.revision(1, "accents", text="Café crème, naïve ÉCOLE"),
            make.revision(2, "han", text="我们的搜索引擎很快"),
            make.revision(3, "greek", text="Ελληνικά κείμενα"),
            make.revision(4, "hindi", text="हिन्दी पाठ"),
            make.revision(5, "mixed", text="Python3语言 foo_bar C++"),
            make.revision(6, "thai", text="ภาษาไทย"),
        )
        assert await found(index, "cafe ecole") == ["accents"]
        assert await found(index, "CAFÉ") == ["accents"]
        assert await found(index, "搜索引擎") == ["han"]
        assert await found(index, "擎引") == []
        assert await found(index, "ΕΛΛΗΝΙΚΆ") == ["greek"]
        assert await found(index, "हिन्दी") == ["hindi"]
        assert await found(index, "python3") == ["mixed"]
        assert await found(index, "语言") == ["mixed"]
        assert await found(index, "foo_bar") == ["mixed"]
        assert await found(index, "ไทย") == ["thai"]
        assert await found(index, "bar") == ["mixed"]
        assert await found(index, "cafe\u0301") == ["accents"]

    async def test_snippets_of_unspaced_scripts_are_the_text(self, index, make):
        await fill(index, make.revision(1, text="我们的搜索引擎很快 fast", title="搜索"))
        _, (hit,) = await index.search("引擎")
        assert hit.title == "搜索"
        assert "引擎很快 fast" in hit.snippet
        assert [hit.snippet[start:end] for start, end in hit.marks] == ["引", "擎"]

    async def test_marks_are_places_of_characters(self, index, make):
        await fill(index, make.revision(1, text="Ünïcödé 漢字 🙂 before apple and Apple"))
        _, (hit,) = await index.search("apple")
        assert [hit.snippet[start:end] for start, end in hit.marks] == ["apple", "Apple"]

    async def test_markup_in_texts_is_text(self, index, make):
        await fill(index, make.revision(1, text="<b>apple</b> & <script>"))
        _, (hit,) = await index.search("apple")
        assert "apple</b> & <script" in hit.snippet


async def test_a_closed_index_says_so(index_url):
    index = open_index(index_url)
    await index.close()
    await index.close()
    with pytest.raises(StoreError, match="closed"):
        await index.search("apple")


def test_an_unknown_scheme():
    with pytest.raises(ConfigError, match="elastic"):
        open_index("elastic://host")
