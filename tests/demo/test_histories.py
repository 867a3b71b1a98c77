import gzip
import os
from pathlib import Path

import pytest

from recrawl.demo import DemoOptions, DemoWeb
from recrawl.demo.histories import read_changes
from recrawl.errors import ConfigError

PAGES = "page_id,path,first_seen,last_seen,n_changes\n7,b/two,0,,1\n8,a/one,0,,2\n9,b/one,0,200,0\n"
EVENTS = "page_id,unix_time,kind,flags\n8,100,M,0\n7,130,A,0\n8,160,M,1\n7,165,M,4\n9,200,D,0\n"


def test_a_csv_of_ones_own(tmp_path):
    path = tmp_path / "own.csv"
    path.write_text("1.5,0\n\n2,/0/1.html\n")
    assert read_changes(path) == ([(1.5, 0), (2.0, "/0/1.html")], None)
    path.write_text("soon,0\n")
    with pytest.raises(ConfigError, match=r"own\.csv"):
        read_changes(path)


@pytest.mark.parametrize("name", ["site", "site.pages.csv", "site.events.csv.gz"])
def test_the_history_of_a_site(tmp_path, name):
    """Pages in the order of their paths; what only looked changed, and what went, is left out."""
    (tmp_path / "site.pages.csv").write_text(PAGES)
    (tmp_path / "site.events.csv").write_text(EVENTS)
    if name.endswith("gz"):
        for kind in ("pages", "events"):
            plain = tmp_path / f"site.{kind}.csv"
            with gzip.open(f"{plain}.gz", "wb") as stream:
                stream.write(plain.read_bytes())
            plain.unlink()
    assert read_changes(tmp_path / name) == ([(0.0, 0), (30.0, 2), (60.0, 0)], 3)


async def test_it_is_replayed(tmp_path):
    (tmp_path / "site.pages.csv").write_text(PAGES)
    (tmp_path / "site.events.csv").write_text(EVENTS)
    history, pages = read_changes(tmp_path / "site")
    options = DemoOptions(sites=1, pages_per_site=pages, speed=10.0)
    async with DemoWeb(options, history=history, time=lambda: 1000.0) as demo:
        assert demo.truth.changes(demo.url(0), 0, 2000).tolist() == [1000.0, 1006.0]
        assert demo.truth.changes(demo.url(2), 0, 2000).tolist() == [1003.0]


def test_no_history(tmp_path):
    with pytest.raises(ConfigError, match="history"):
        read_changes(tmp_path / "none")


@pytest.mark.skipif("RECRAWL_DATA" not in os.environ, reason="needs RECRAWL_DATA, a folder of histories")
def test_real_histories():
    history, pages = read_changes(Path(os.environ["RECRAWL_DATA"]) / "k8s")
    assert len(history) > pages > 1000
