import heapq
import math

import numpy as np
import pytest

from recrawl.errors import InvalidModel
from recrawl.laws import (
    Deterministic,
    Empirical,
    Erlang,
    Exponential,
    Gamma,
    Hyperexponential,
    Lognormal,
    PhaseType,
    Uniform,
)
from recrawl.revisit import (
    POLICIES,
    Pages,
    RoundRobin,
    Template,
    make_plan,
    obsolescence_of_template,
)
from recrawl.simulate import half_width, simulate_schedule

LAWS = [
    Deterministic(0.4),
    Exponential(0.4),
    Erlang(0.4, 3),
    Gamma(0.4, 2.0),
    Hyperexponential.balanced(0.4, 5.0),
    Lognormal(0.4, 2.0),
    Uniform(0.0, 0.8),
    Empirical([0.1, 0.2, 0.9]),
    PhaseType([0.4, 0.6], [[-3.0, 1.0], [2.0, -3.0]]),
]


def agree(found, cost, times=1.8):
    """Within 1.8 half-widths of 95 %: about one failure in a thousand for independent runs."""
    return abs(found.cost - cost) <= times * found.cost_half_width


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("policy", POLICIES)
def test_theory_and_simulation_agree(policy, law):
    rng = np.random.default_rng(4)
    pages = Pages(rng.lognormal(0, 1, 12) / 3, rng.lognormal(0, 0.7, 12))
    plan = make_plan(pages, law, policy=policy)
    found = simulate_schedule(pages, law, plan.sequence, accesses=40_000, replications=12, seed=1)
    assert agree(found, plan.cost)
    assert found.cost_half_width < 0.02 * plan.cost


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_every_page_of_a_template(law):
    pages = Pages([2.0, 0.5, 0.1, 0.0, 1.0])
    template = [0, 1, 0, 2, 0, 1, 3, -1, 0]
    exact = obsolescence_of_template(pages, law, template)
    found = simulate_schedule(
        pages, law, lambda _rng: Template(template, 5), accesses=60_000, replications=10
    )
    np.testing.assert_allclose(found.page_obsolescence, exact, atol=0.012)
    assert found.page_obsolescence[3] == 0.0
    assert found.page_obsolescence[4] == 1.0


def plain_simulation(pages, law, order, robots, rng):
    """The same model as a plain event loop: every change and every end of an access is an event."""
    events = []
    for page, rate in enumerate(pages.change_rate):
        heapq.heappush(events, (rng.exponential(1 / rate), 0, page, "change"))
    for robot in range(robots):
        heapq.heappush(events, (float(law.sample(rng, 1)[0]), 1 + robot, order[robot], "access"))
    taken, now, ended = robots, 0.0, 0
    fresh_until_now = np.zeros(len(pages))
    current = np.ones(len(pages), dtype=bool)
    while ended < len(order) - robots:
        time, tie, page, kind = heapq.heappop(events)
        fresh_until_now[current] += time - now
        now = time
        if kind == "change":
            current[page] = False
            heapq.heappush(events, (now + rng.exponential(1 / pages.change_rate[page]), 0, page, "change"))
        else:
            current[page] = True
            ended += 1
            heapq.heappush(events, (now + float(law.sample(rng, 1)[0]), tie, order[taken], "access"))
            taken += 1
    return 1 - fresh_until_now / now


@pytest.mark.parametrize("robots", [1, 3])
def test_against_a_plain_event_loop(robots):
    pages, law = Pages([1.0, 0.3, 0.1]), Exponential(0.5 * robots)
    order = [0, 1, 0, 2] * 5000
    runs = [
        plain_simulation(pages, law, order, robots, np.random.default_rng(seed)).sum() for seed in range(6)
    ]
    found = simulate_schedule(
        pages, law, lambda _rng: Template([0, 1, 0, 2], 3), robots=robots, accesses=40_000, replications=8
    )
    spread = math.hypot(half_width(np.array(runs)), found.cost_half_width)
    assert abs(found.cost - np.mean(runs)) < 1.5 * spread


def test_several_robots_approach_the_plan_as_pages_grow():
    """Overlapping accesses matter for few pages, and hardly for many."""
    drift = []
    for size in (16, 256):
        pages = Pages(np.full(size, 2.0 / size))
        plan = make_plan(pages, Exponential(8.0), robots=8, policy="uniform")
        found = simulate_schedule(
            pages, Exponential(8.0), plan.sequence, robots=8, accesses=100_000, replications=6, seed=3
        )
        drift.append(found.cost / plan.cost - 1)
    assert 0.03 < drift[0] < 0.4
    assert abs(drift[1]) < 0.02


def test_runs_can_be_repeated_and_differ():
    pages, law = Pages([1.0, 0.5]), Exponential(0.5)

    def run(seed):
        return simulate_schedule(
            pages, law, lambda _rng: RoundRobin([0.5, 0.5]), accesses=1000, replications=4, seed=seed
        )

    assert run(1).costs.tolist() == run(1).costs.tolist()
    assert run(1).costs.tolist() != run(2).costs.tolist()
    assert len(set(run(1).costs.tolist())) == 4


def test_progress_counts_every_access():
    done = []
    simulate_schedule(
        Pages([1.0]),
        Exponential(1.0),
        lambda _rng: RoundRobin([1.0]),
        accesses=1000,
        replications=3,
        progress=done.append,
    )
    assert sum(done) == 3000


@pytest.mark.parametrize("bad", [{"robots": 0}, {"replications": 0}, {"accesses": 1}, {"warm_up": 1.0}])
def test_bad_input(bad):
    with pytest.raises(InvalidModel):
        simulate_schedule(Pages([1.0]), Exponential(1.0), lambda _rng: RoundRobin([1.0]), **bad)


def test_half_width():
    assert half_width(np.array([1.0])) == math.inf
    # Student's t with 3 degrees of freedom at 97.5 % is 3.1824.
    assert half_width(np.array([1.0, 2.0, 3.0, 4.0])) == pytest.approx(
        3.18245 * math.sqrt(5 / 3) / 2, rel=1e-5
    )
