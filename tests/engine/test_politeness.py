import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl.engine.options import PolitenessOptions, SiteOptions
from recrawl.engine.politeness import Politeness
from recrawl.engine.records import Access, Outcome
from recrawl.errors import ConfigError


class HandClock:
    now = 1000.0

    def time(self):
        return self.now

    def monotonic(self):
        return self.now


def access(outcome, **more):
    return Access(url="http://a/", started=0.0, ended=0.0, outcome=outcome, **more)


@pytest.fixture
def clock():
    return HandClock()


def polite(clock, sites=None, **options):
    return Politeness(clock, PolitenessOptions(**options), sites or {}, Random(1))


def test_delay_between_starts(clock):
    politeness = polite(clock, min_delay_seconds=2, max_concurrency=5)
    assert politeness.ready_at("a") <= clock.now
    politeness.begin("a")
    assert politeness.ready_at("a") == clock.now + 2
    assert politeness.ready_at("b") <= clock.now


def test_concurrency(clock):
    politeness = polite(clock, min_delay_seconds=0, max_concurrency=2)
    politeness.begin("a")
    assert politeness.ready_at("a") <= clock.now
    politeness.begin("a")
    assert politeness.ready_at("a") == math.inf
    politeness.end("a", access(Outcome.CONTENT))
    assert politeness.ready_at("a") <= clock.now


def test_site_options_win_and_crawl_delay_only_lengthens(clock):
    sites = {"a": SiteOptions(min_delay_seconds=0.5, max_concurrency=3)}
    politeness = polite(clock, sites, min_delay_seconds=2, max_crawl_delay_seconds=30)
    assert (politeness.delay("a"), politeness.delay("b")) == (0.5, 2)
    politeness.ask_delay("a", 0.1)
    assert politeness.delay("a") == 0.5
    politeness.ask_delay("a", 10)
    assert politeness.delay("a") == 10
    politeness.ask_delay("a", 10_000)
    assert politeness.delay("a") == 30
    politeness.ask_delay("a", None)
    assert politeness.delay("a") == 0.5


def test_retry_after_closes_the_site(clock):
    politeness = polite(clock, backoff_seconds=10)
    politeness.begin("a")
    politeness.end("a", access(Outcome.BUSY, retry_after=100.0, status=429))
    assert politeness.ready_at("a") == clock.now + 100
    assert politeness.closed_until("b") == -math.inf


def test_busy_again_after_its_own_time_doubles_ours(clock):
    politeness = polite(clock, backoff_seconds=10)
    waits = []
    for _ in range(4):
        politeness.begin("a")
        politeness.end("a", access(Outcome.BUSY, retry_after=2.0, status=429))
        waits.append(politeness.ready_at("a") - clock.now)
        clock.now = politeness.ready_at("a")
    assert waits[0] == 2
    assert all(10 * 2**n <= wait <= 12 * 2**n for n, wait in enumerate(waits[1:], start=1))


@pytest.mark.parametrize("outcome", [Outcome.BUSY, Outcome.FAILED])
def test_accesses_that_ran_side_by_side_count_once(clock, outcome):
    politeness = polite(clock, min_delay_seconds=0, max_concurrency=50, site_failures=1, backoff_seconds=10)
    for _ in range(50):
        politeness.begin("a")
    for _ in range(50):
        politeness.end("a", access(outcome))
    assert politeness.ready_at("a") <= clock.now + 12


def test_busy_without_retry_after_doubles(clock):
    politeness = polite(clock, backoff_seconds=10)
    waits = []
    for _ in range(4):
        politeness.begin("a")
        politeness.end("a", access(Outcome.BUSY, status=503))
        waits.append(politeness.ready_at("a") - clock.now)
        clock.now = politeness.ready_at("a")
    assert all(10 * 2**n <= wait <= 12 * 2**n for n, wait in enumerate(waits))


def test_a_site_is_left_alone_after_failures_in_a_row_and_trusted_again(clock):
    politeness = polite(clock, min_delay_seconds=0, site_failures=3, backoff_seconds=10)
    for _ in range(2):
        politeness.begin("a")
        politeness.end("a", access(Outcome.FAILED))
    assert politeness.closed_until("a") == -math.inf
    politeness.begin("a")
    politeness.end("a", access(Outcome.FAILED))
    assert clock.now + 10 <= politeness.ready_at("a") <= clock.now + 12
    clock.now += 20
    politeness.begin("a")
    politeness.end("a", access(Outcome.NOT_MODIFIED))
    politeness.begin("a")
    politeness.end("a", access(Outcome.FAILED))
    assert politeness.ready_at("a") <= clock.now


def test_a_page_of_its_own_trouble_does_not_close_the_site(clock):
    politeness = polite(clock, min_delay_seconds=0, site_failures=1)
    for outcome, status in [
        (Outcome.FAILED, 403),
        (Outcome.REFUSED, None),
        (Outcome.EXCLUDED, None),
        (Outcome.GONE, 404),
    ]:
        politeness.begin("a")
        politeness.end("a", access(outcome, status=status))
    politeness.begin("a")
    politeness.end("a", None)
    assert politeness.ready_at("a") <= clock.now


@given(st.integers(0, 10_000), st.one_of(st.none(), st.floats(0, 1e12)))
def test_backoff_is_bounded(failures, retry_after):
    politeness = polite(HandClock(), backoff_seconds=5, max_backoff_seconds=1000)
    wait = politeness.backoff(failures, retry_after)
    assert 5 <= wait <= 1200
    if retry_after is not None:
        assert wait >= min(retry_after, 1200)


def test_pages_that_failed_together_come_back_apart(clock):
    politeness = polite(clock)
    assert len({politeness.backoff(3) for _ in range(50)}) == 50


@pytest.mark.parametrize(
    "values",
    [{"min_delay_seconds": -1}, {"max_concurrency": 0}, {"backoff_seconds": math.inf}, {"site_failures": 0}],
)
def test_impossible_options(values):
    with pytest.raises(ConfigError, match=next(iter(values))):
        PolitenessOptions(**values)
