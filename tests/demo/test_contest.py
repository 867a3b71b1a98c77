from types import SimpleNamespace

import numpy as np
import pytest

from recrawl.demo import DemoWeb, poisson_truth
from recrawl.demo.contest import Contender, bound_of, contest_settings, contest_web
from recrawl.engine.records import Access, Outcome


def fake_engine(told):
    return SimpleNamespace(indexer=SimpleNamespace(on_access=told.append), expected_freshness=0.75)


def access(url, ended, outcome=Outcome.CONTENT):
    return Access(url, ended - 0.1, ended, outcome)


@pytest.fixture
def truth():
    return poisson_truth(np.array([0.5, 2.0, 0.0]), ["a", "b", "c"], start=100.0, seed=3)


def test_what_the_engine_records_is_scored(truth):
    told = []
    engine = fake_engine(told)
    contender = Contender(engine, truth, since=110.0)
    ends = {"a": [101.0, 112.5, 118.0], "b": [102.0, 103.0, 111.0, 115.0], "c": [104.0]}
    for ended, url in sorted((time, url) for url, times in ends.items() for time in times):
        engine.indexer.on_access(access(url, ended))
    engine.indexer.on_access(access("b", 117.0, Outcome.FAILED))
    assert len(told) == 9  # the engine's own listener hears everything
    assert contender.score(110.0) is None
    score = contender.score(120.0)
    assert score.obsolescence == pytest.approx(truth.obsolescence(ends, 110.0, 120.0))
    assert score.accesses == 4
    assert score.access_rate == pytest.approx(0.4)


def test_the_last_ten_seconds_and_beliefs(truth):
    engine = fake_engine([])
    contender = Contender(engine, truth, since=105.0)
    ends = {"a": [], "b": [], "c": []}
    for second in range(1, 31):
        url = "abc"[second % 3]
        ends[url].append(100.0 + second - 0.5)
        engine.indexer.on_access(access(url, ends[url][-1]))
        contender.tick(100.0 + second)
    assert contender.recent[-1] == pytest.approx(truth.obsolescence(ends, 120.0, 130.0))
    assert contender.recent[3] == pytest.approx(
        truth.obsolescence({url: [t for t in times if t < 104] for url, times in ends.items()}, 100.0, 104.0)
    )
    assert contender.score(130.0).believed == pytest.approx(0.25)


def test_the_bound_is_below_every_split_of_the_budget(truth):
    """Pages accessed at even intervals, each at its share of the budget; a page never accessed is obsolete."""
    budget = 1.5
    best = 1.0
    for share in np.linspace(0.0, 1.0, 201):
        cost = 0.0
        for rate, part in ((0.5, share), (2.0, 1.0 - share)):
            x = rate / (part * budget) if part > 0 else np.inf
            cost += 1.0 - (1.0 - np.exp(-x)) / x if x < np.inf else 1.0
        best = min(best, cost / 3)  # the third page never changes
    assert bound_of(truth, budget) == pytest.approx(best, abs=1e-4)
    assert bound_of(truth, budget) <= best + 1e-12
    assert bound_of(truth, 0.0) == 1.0


async def test_the_web_and_the_engines_are_as_told(tmp_path):
    options = contest_web(240, 160.0, seed=5)
    async with DemoWeb(options) as web:
        assert len(web.truth.urls) == 240
        assert web.truth.rates.sum() == pytest.approx(80.0)
        assert len(web.truth.directories) == 6
        settings = [contest_settings(web, policy, 160.0, tmp_path) for policy in ("optimal", "uniform")]
        assert [one.policy for one in settings] == ["optimal", "uniform"]
        assert all(one.budget_per_second == 160.0 and one.weights == "equal" for one in settings)
