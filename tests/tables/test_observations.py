"""Tables of accesses: times or intervals, dates, and what is wrong with them."""

import numpy as np
import pytest

from recrawl.errors import ConfigError, InvalidModel
from recrawl.tables.observations import read_observations


@pytest.fixture
def table(tmp_path):
    def write(text):
        path = tmp_path / "observations.csv"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_times(table):
    found = read_observations(table("page,time,changed\na,0,\nb,5,\na,10,1\nb,20,no\na,10,0\na,11,false\n"))
    assert found.pages == ["a", "b"]
    assert found.observations.intervals.tolist() == [10.0, 1.0, 15.0]
    assert found.observations.kinds.tolist() == [1, 0, 0]
    assert (found.first_accesses, found.same_time) == (2, 1)
    assert found.last_access.tolist() == [11.0, 20.0]


def test_intervals_and_ages(table):
    found = read_observations(table("page,interval,changed,age\na,2,yes,0.5\na,3,0,\n"))
    assert found.observations.kinds.tolist() == [2, 0]
    assert found.observations.ages[0] == 0.5
    assert np.isnan(found.last_access).all()


def test_dates(table):
    text = "page,time,changed,last_modified\na,100,,40\na,200,1,150\na,300,1,120\na,400,0,120\n"
    found = read_observations(table(text)).observations
    # The first access is dated; the third has a date before the last access, so only its change counts.
    assert found.kinds.tolist() == [2, 2, 1, 0]
    assert found.ages[:2].tolist() == [60.0, 50.0]
    assert np.isinf(found.intervals[0])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("page,time,changed\na,1,\n", "no page was accessed twice"),
        ("page,time,changed\na,2,\na,1,0\n", "line 3, column time"),
        ("page,time,changed\na,1,\na,2,maybe\n", "line 3, column changed: 'maybe'"),
        ("page,interval,changed\na,0,1\n", "line 2, column interval: 0 is not"),
        ("page,interval,changed\na,-2,1\n", "line 2, column interval: -2 is not"),
        ("page,interval,changed\na,nan,1\n", "line 2, column interval"),
        ("page,interval,changed,age\na,1,1,-1\n", "line 2, column age"),
        ("page,time,changed,last_modified\na,1,,5\n", "line 2, column last_modified: 5 is after"),
    ],
)
def test_bad_tables(table, text, message):
    with pytest.raises(InvalidModel, match=message):
        read_observations(table(text))


def test_columns(table):
    with pytest.raises(ConfigError, match="one of the columns time and interval"):
        read_observations(table("page,changed\na,1\n"))
    with pytest.raises(ConfigError, match="no column 'page'"):
        read_observations(table("url,changed\na,1\n"))
