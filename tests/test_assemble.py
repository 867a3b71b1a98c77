"""From settings to a wired engine: what belongs to a run."""

import pytest

from recrawl.assemble import RunScope, _weights
from recrawl.engine.urls import Scope, TrapOptions, Traps
from recrawl.errors import ConfigError
from recrawl.settings import Settings

SEED = "http://a.example/"


def scope(known=()):
    traps = Traps(TrapOptions(max_dated_pages=20))
    return RunScope(Scope.of([SEED]), 1000, lambda: dict.fromkeys(known), traps=traps)


def months(first, last):
    return [f"{SEED}calendar?month={month}" for month in range(first, last)]


def test_bounds_against_traps_go_on_after_a_restart():
    first = scope()
    admitted = [url for url in months(0, 50) if first.admits(url, 1)]
    assert len(admitted) == 20
    again = scope(known=admitted)
    again.restore(first.kept())
    assert not any(again.admits(url, 1) for url in months(50, 70))
    assert again.admits(admitted[3], 1)  # pages that are known stay


def test_pages_of_earlier_runs_are_counted_even_if_nothing_was_kept():
    known = months(0, 15)
    again = scope(known)
    again.restore(scope().kept())
    for url in known:
        again.note(url)
    again.noted()
    assert sum(again.admits(url, 1) for url in months(15, 50)) == 5


def test_counts_that_were_kept_and_made_anew_are_not_added_up():
    first = scope()
    known = [url for url in months(0, 12) if first.admits(url, 1)]
    again = scope(known)
    again.restore(first.kept())
    for url in known:
        again.note(url)
    again.noted()
    assert sum(again.admits(url, 1) for url in months(12, 50)) == 8


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("url,weight\na,1\n", "needs the columns page and weight"),
        ("page,weight\nhttp://a.example/,heavy\n", "'heavy'"),
        ("page,weight\nhttp://a.example/,-1\n", "must be 0 or more"),
        ("page,weight\nhttp://a.example/\n", "line 2: there is no weight"),
    ],
)
def test_weights_that_make_no_sense(tmp_path, text, message):
    path = tmp_path / "weights.csv"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message):
        _weights(Settings(seeds=(SEED,), weights_file=str(path)))


def test_weights_are_those_of_canonical_pages(tmp_path):
    path = tmp_path / "weights.csv"
    path.write_text("page,weight\nHTTP://A.example:80/x#part,3\n")
    assert _weights(Settings(seeds=(SEED,), weights_file=str(path))) == {"http://a.example/x": 3.0}
