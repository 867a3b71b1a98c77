"""How fresh copies are by each policy, in a time of its own."""

import asyncio

import numpy as np
import pytest
from tests.engine.virtual import Run, directory_changes, poisson_changes

from recrawl.engine.scheduler import Ticket

BUDGET, PAGES, ROUNDS = 100.0, 300, 12
SECONDS = 2 * ROUNDS * PAGES / BUDGET


@pytest.mark.slow
def test_directories_that_are_edited_together():
    rng = np.random.default_rng(3)
    urls = [f"http://a.example/{folder}/{i}" for folder in range(PAGES // 20) for i in range(20)]
    changes = directory_changes(PAGES // 20, 20, BUDGET / PAGES, SECONDS, rng)
    found = {name: Run(name, urls, changes, BUDGET, SECONDS).run() for name in ("optimal", "poisson")}
    assert found["optimal"].measured < 0.85 * found["poisson"].measured


@pytest.mark.slow
def test_pages_that_change_on_their_own():
    rng = np.random.default_rng(3)
    rates = np.exp(rng.normal(0.0, 2.0, PAGES))
    rates *= BUDGET / rates.sum()
    urls = [f"http://a.example/p/{i // 10}/{i}" for i in range(PAGES)]
    changes = poisson_changes(rates, SECONDS, rng)
    found = {
        name: Run(name, urls, changes, BUDGET, SECONDS).run() for name in ("optimal", "poisson", "uniform")
    }
    assert found["poisson"].measured < found["uniform"].measured
    assert found["optimal"].measured < 1.1 * found["poisson"].measured
    for one in found.values():
        assert one.expected == pytest.approx(one.measured, rel=0.06)


def test_pages_that_are_out_do_not_raise_the_price():
    # Their copies look old until the accesses are recorded; they are not what the next accesses will be spent on.
    rng = np.random.default_rng(4)
    urls = [f"http://a.example/{i}" for i in range(60)]
    changes = poisson_changes(np.exp(rng.normal(0.0, 1.0, 60)), 10.0, rng)
    run = Run("optimal", urls, changes, 30.0, 10.0)
    run.run()
    before = asyncio.run(run.scheduler.replan(30.0)).price
    assert sum(isinstance(run.scheduler.try_next(), Ticket) for _ in range(20)) == 20
    assert asyncio.run(run.scheduler.replan(30.0)).price < 0.9 * before
