"""What is tantivy's own: files, damage, writers and readers."""

import random
import subprocess
import sys

import pytest

from recrawl.backends import open_index
from recrawl.backends.tantivy import TantivyIndex, _schema
from recrawl.errors import IndexDamaged, StoreError


@pytest.fixture
def path(tmp_path):
    return tmp_path / "data" / "index"


@pytest.fixture
async def index(path):
    opened = TantivyIndex(path)
    yield opened
    await opened.close()


async def filled(path, make, pages=20):
    index = TantivyIndex(path)
    await index.apply([make.revision(n, f"p{n}", text=f"apple number{n}") for n in range(1, pages + 1)])
    await index.commit()
    await index.close()


class TestOneDirectory:
    async def test_everything_is_there_after_reopening(self, path, make):
        await filled(path, make)
        index = TantivyIndex(path)
        assert await index.watermark() == 20
        assert (await index.search("apple"))[0] == 20
        await index.close()

    async def test_what_was_not_committed_is_not_there(self, path, make):
        await filled(path, make)
        index = TantivyIndex(path)
        await index.apply([make.revision(21, "p21", text="apple"), make.revision(22, "p1", kind="removed")])
        await index.close()
        index = TantivyIndex(path)
        assert await index.watermark() == 20
        assert (await index.search("apple"))[0] == 20
        await index.apply([make.revision(21, "p21", text="apple"), make.revision(22, "p1", kind="removed")])
        assert await index.commit() == 22
        assert (await index.search("apple"))[0] == 20
        assert (await index.search("number1"))[0] == 0
        await index.close()

    async def test_the_watermark_is_no_page(self, path, make):
        await filled(path, make, pages=1)
        index = TantivyIndex(path)
        for query in ("watermark", ":watermark", '":watermark"'):
            assert await index.search(query) == (0, [])
        await index.close()

    async def test_words_of_documents_and_queries_are_the_same(self, index, make):
        """Every part of a text finds it, whatever the letters."""
        rng = random.Random(3)
        letters = "aÀßéÇ漢字かナไ한글हिं-_.'0９ İıﬁ²Ω🙂\u0301"
        texts = ["".join(rng.choices(letters, k=40)) for _ in range(30)]
        await index.apply([make.revision(n + 1, f"p{n}", text=text) for n, text in enumerate(texts)])
        await index.commit()
        for n, text in enumerate(texts):
            for part in text.split():
                if _schema.analyzer().analyze(_schema.separated(part)):
                    _, hits = await index.search(f'"{part}"', limit=30)
                    assert f"http://x.test/p{n}" in [hit.url for hit in hits], (part, text)


class TestWritersAndReaders:
    async def test_a_second_writer_is_refused(self, index, path, make):
        await index.apply([make.revision(1, text="apple")])
        second = TantivyIndex(path)
        with pytest.raises(StoreError, match="another engine"):
            await second.apply([make.revision(1, text="apple")])
        await second.close()
        assert await index.commit() == 1

    async def test_a_reader_sees_each_commit(self, index, path, make):
        await index.apply([make.revision(1, text="apple")])
        await index.commit()
        reader = open_index(path, read_only=True)
        assert await reader.watermark() == 1
        await index.apply([make.revision(2, "b", text="apple")])
        assert (await reader.search("apple"))[0] == 1
        await index.commit()
        assert (await reader.search("apple"))[0] == 2
        assert await reader.watermark() == 2
        await index.clear()
        assert (await reader.search("apple"))[0] == 0
        await reader.close()

    async def test_a_reader_writes_nothing(self, path, make):
        await filled(path, make)
        reader = TantivyIndex(path, read_only=True)
        with pytest.raises(StoreError, match="opened for reading"):
            await reader.apply([make.revision(1, text="apple")])
        with pytest.raises(StoreError, match="opened for reading"):
            await reader.clear()
        assert (await reader.search("apple"))[0] == 20
        await reader.close()

    async def test_a_reader_makes_nothing(self, path):
        reader = TantivyIndex(path, read_only=True)
        with pytest.raises(StoreError, match="there is none"):
            await reader.search("apple")
        assert not path.exists()
        await reader.close()


class TestDamage:
    @pytest.mark.parametrize("pattern", ["*.store", "*.term", "*.idx", "meta.json"])
    @pytest.mark.parametrize("how", ["truncated", "emptied", "removed"])
    async def test_is_noticed_cleared_and_built_anew(self, path, make, pattern, how):
        await filled(path, make)
        (path / "notes.txt").write_text("not ours")
        for file in path.glob(pattern):
            if how == "removed":
                file.unlink()
            else:
                data = file.read_bytes()
                file.write_bytes(data[: len(data) // 2] if how == "truncated" else b"")
        index = TantivyIndex(path)
        if (pattern, how) == ("meta.json", "removed"):
            assert await index.watermark() == 0  # as good as new: everything is applied again
        else:
            with pytest.raises(IndexDamaged, match="built anew"):
                await index.watermark()
            with pytest.raises(IndexDamaged, match="built anew"):
                await index.search("apple")
        await index.clear()
        assert await index.watermark() == 0
        await index.apply([make.revision(1, text="apple")])
        assert await index.commit() == 1
        assert (await index.search("apple"))[0] == 1
        assert (path / "notes.txt").exists()
        await index.close()

    @pytest.mark.parametrize("kind", ["idx", "pos", "term", "store", "fast", "fieldnorm", "del"])
    async def test_a_single_bit_is_noticed_by_verifying(self, path, make, kind):
        await filled(path, make)
        index = TantivyIndex(path)
        await index.apply([make.revision(21, "p1", kind="removed")])  # makes a file of deletions
        await index.commit()
        await index.verify()
        await index.close()
        file = next(file for file in path.glob(f"*.{kind}") if file.stat().st_size > 100)
        data = bytearray(file.read_bytes())
        data[1] ^= 4
        file.write_bytes(data)
        index = TantivyIndex(path)
        with pytest.raises(IndexDamaged, match=r"checksum|damaged"):
            await index.verify()
        await index.clear()
        await index.verify()
        await index.close()

    async def test_another_layout_of_pages_is_built_anew(self, path, make):
        import tantivy

        path.mkdir(parents=True)
        builder = tantivy.SchemaBuilder()
        builder.add_text_field("body", stored=True)
        tantivy.Index(builder.build(), path=str(path))
        index = TantivyIndex(path)
        with pytest.raises(IndexDamaged):
            await index.watermark()
        await index.clear()
        await index.apply([make.revision(1, text="apple")])
        assert await index.commit() == 1
        await index.close()


class TestTrouble:
    async def test_a_disk_that_takes_no_more(self, path, make):
        """A limit on the size of files stands for the full disk; the process's own limit, so in a child."""
        await filled(path, make)
        script = """
import asyncio, random, resource, signal, sys
from pathlib import Path
from recrawl.backends.tantivy import TantivyIndex
from recrawl.engine.records import Revision
from recrawl.errors import IndexDamaged, StoreError

async def main():
    index = TantivyIndex(Path(sys.argv[1]))
    rng = random.Random(1)
    texts = ["apple " + rng.randbytes(20000).hex() for _ in range(29)]
    revisions = [Revision(n, "changed", f"http://x.test/p{n}", "x.test", 1.0, text=text)
                 for n, text in enumerate(texts, 1)]
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, resource.RLIM_INFINITY))
    try:
        await index.apply(revisions)
        await index.commit()
    except IndexDamaged as error:
        print("damaged", error)
    except StoreError as error:
        print("refused", error)
    print(await index.watermark(), (await index.search("apple"))[0])
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    await index.apply(revisions)
    print(await index.commit(), (await index.search("apple"))[0])
    await index.close()

asyncio.run(main())
"""
        result = subprocess.run(
            [sys.executable, "-c", script, path], capture_output=True, text=True, timeout=60, check=False
        )
        refused, before, after = result.stdout.splitlines()
        assert refused.startswith("refused index"), result.stderr
        assert "could not be written" in refused
        assert before == "20 20"
        assert after == "29 29"
