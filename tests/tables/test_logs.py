"""Logs as they come: gzip, dates, runs, modes, ties, counts, and everything that can be wrong with them."""

import gzip

import numpy as np
import pytest

from recrawl.errors import ConfigError, InvalidModel
from recrawl.tables import logs
from recrawl.tables.logs import read_counts, read_deliveries, read_times


@pytest.fixture
def log(tmp_path):
    def write(text, name="log.csv"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


def gaps_of(path, **options):
    read = read_deliveries(path, **options)
    return read.modes[next(iter(read.modes))].gaps


def test_unix_seconds_and_ties(log):
    gaps = gaps_of(log("time,bytes\n10,5\n11.5,6\n11.5,7\n14,8\n"))
    assert gaps.times.tolist() == [1.5, 2.5]
    assert gaps.sizes.tolist() == [2, 1]


def test_iso_dates_and_time_zones(log):
    text = "when\n2026-01-01T00:00:00Z\n2026-01-01T01:00:10+01:00\n2026-01-01 00:00:30\n"
    assert gaps_of(log(text), time_column="when").times.tolist() == [10.0, 20.0]


def test_gzip_by_content(tmp_path):
    path = tmp_path / "log.csv"
    path.write_bytes(gzip.compress(b"time\n1\n2\n4\n"))
    assert gaps_of(path).times.tolist() == [1.0, 2.0]
    path.write_bytes(gzip.compress(b"time\n1\n2\n4\n")[:-9])
    with pytest.raises(InvalidModel, match="not a readable text table"):
        gaps_of(path)


def test_runs_may_be_mixed(log):
    gaps = gaps_of(log("run,time\na,0\nb,100\na,1\nb,103\na,3\n"), split="run")
    assert gaps.times.tolist() == [1.0, 2.0, 3.0]
    assert gaps.fresh.tolist() == [True, False, True]


def test_modes_are_kept_apart(log):
    text = "time,robots\n0,1\n2,1\n4,1\n5,2\n6,2\n7,2\n20,1\n23,1\n"
    read = read_deliveries(log(text), mode_column="robots")
    assert read.modes[1].gaps.times.tolist() == [2.0, 2.0, 3.0]
    assert read.modes[1].gaps.fresh.tolist() == [True, False, True]
    assert read.modes[2].gaps.times.tolist() == [1.0, 1.0]


def test_spread_ties_stay_in_their_second(log):
    stamps = np.repeat(np.arange(50), 4)
    path = log("time\n" + "\n".join(map(str, stamps)) + "\n")
    read = read_deliveries(path, ties="spread", resolution=1.0)
    gaps = read.modes[0].gaps
    assert len(gaps) == 199
    assert gaps.times.max() < 2.0
    assert "labelled" in read.notes[0]


def test_chunks_do_not_matter(log, monkeypatch):
    rng = np.random.default_rng(1)
    stamps = np.cumsum(rng.integers(0, 3, 500))
    path = log("time\n" + "\n".join(map(str, stamps)) + "\n")
    whole = read_deliveries(path, stop_after=1.5, batch_within=0.5).modes[0]
    monkeypatch.setattr(logs, "_CHUNK", 7)
    monkeypatch.setattr(logs, "_SPILL", 20)
    parts = read_deliveries(path, stop_after=1.5, batch_within=0.5).modes[0]
    np.testing.assert_array_equal(whole.gaps.times, parts.gaps.times)
    np.testing.assert_array_equal(whole.gaps.sizes, parts.gaps.sizes)
    np.testing.assert_array_equal(whole.gaps.fresh, parts.gaps.fresh)
    assert whole.stops == parts.stops
    assert whole.joined == parts.joined


def test_sorting_and_skipping(log):
    path = log("time\n3\n1\noops\n2\n")
    with pytest.raises(InvalidModel, match=r"line 3, column time: 1 comes before the 3"):
        gaps_of(path)
    read = read_deliveries(path, sort=True, skip_bad=True)
    assert read.modes[0].gaps.times.tolist() == [1.0, 1.0]
    assert read.dropped == 1
    assert "1 lines" in read.notes[0]


def test_counts_are_spread(log):
    read = read_counts(log("count\n3\n0\n2\n"), interval=10.0)
    done = read.modes[0]
    assert done.deliveries == 5
    assert len(done.gaps) == 4
    assert done.gaps.times.sum() < 30.0
    assert "labelled" in read.notes[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("time\n", "0 deliveries"),
        ("time\n5\n", "1 deliveries"),
        ("time\n5\n5\n", "come at one time"),
        ("time\nnan\n5\n", r"line 2, column time: 'nan'"),
        ("time\ninf\n5\n", r"line 2, column time"),
        ("time\n1\nyesterday\n", r"line 3, column time: 'yesterday' is neither"),
        ("run,time\na,1\nb\n", r"line 3: 1 columns"),
    ],
)
def test_bad_logs(log, text, message):
    with pytest.raises(InvalidModel, match=message):
        read_deliveries(log(text))


def test_missing_columns_are_named(log):
    with pytest.raises(ConfigError, match="no column 'time'; its columns are when, size"):
        read_deliveries(log("when,size\n1,2\n"))


def test_not_text(tmp_path):
    path = tmp_path / "log.bin"
    path.write_bytes(bytes(range(256)))
    with pytest.raises((InvalidModel, ConfigError)):
        read_deliveries(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [("count\n-1\n", "is not a count"), ("count\n1.5\n", "is not a count"), ("count\n1\n", "no gap")],
)
def test_bad_counts(log, text, message):
    with pytest.raises(InvalidModel, match=message):
        read_counts(log(text), interval=1.0)
    with pytest.raises(ConfigError, match="interval"):
        read_counts(log(text), interval=0.0)


def test_times(log):
    values, marks, dropped = read_times(
        log("size,running\n5,0\n0,0\n7,1\n"), column="size", censored_column="running"
    )
    assert values.tolist() == [5.0, 7.0]
    assert marks.tolist() == [False, True]
    assert dropped == 1
    with pytest.raises(InvalidModel, match=r"line 2, column size: -3 is negative"):
        read_times(log("size\n-3\n"), column="size")
    assert read_times(log("size\n-3\n4\n"), column="size", skip_bad=True)[2] == 1
    with pytest.raises(InvalidModel, match="no positive number"):
        read_times(log("size\n0\n"), column="size")
