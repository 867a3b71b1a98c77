import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from recrawl.errors import InvalidModel
from recrawl.simulate import REPLAY_POLICIES, SiteHistory, replay, synthetic_history, unit_budget
from recrawl.simulate.histories import APPEARED, CHANGED, GONE, SYNTHETIC


def random_history(rng, pages=4, events=9, end=10.0):
    times = np.sort(rng.uniform(0.0, end, events))
    return SiteHistory.of(
        "small",
        [f"p{i}" for i in range(pages)],
        times,
        rng.integers(0, pages, events),
        np.full(events, CHANGED),
        start=0.0,
        end=end,
    )


def best_freshness(history, budget):
    """The best assignment of access times to versions; a version is current from its access to its end."""
    slots = np.arange(1, int((history.end - history.start) * budget) + 1) / budget
    ends, gain = [], 0.0
    for page in range(len(history.names)):
        mine = history.times[history.pages == page]
        gain += (mine[0] if mine.size else history.end) - history.start
        ends += list(zip(mine, [*mine[1:], history.end], strict=False))
    worth = np.array(
        [[max(end - slot, 0.0) if slot >= begin else 0.0 for begin, end in ends] for slot in slots]
    )
    rows, columns = linear_sum_assignment(worth, maximize=True)
    span = (history.end - history.start) * len(history.names)
    return (gain + worth[rows, columns].sum()) / span


@pytest.mark.parametrize("seed", range(12))
def test_clairvoyant_is_the_optimal_assignment(seed):
    rng = np.random.default_rng(seed)
    history = random_history(rng)
    budget = rng.uniform(0.3, 1.0)
    found = replay(history, budget, "clairvoyant", warm_up=0.0)
    assert found.freshness == pytest.approx(best_freshness(history, budget), abs=1e-12)


def test_freshness_by_hand():
    # Page a changes at 1 and is accessed at 2 (oldest first), b never changes, c appears at 4.5, is accessed at 6.
    history = SiteHistory.of(
        "s", ["a", "b", "c"], [1.0, 4.5, 7.0], [0, 2, 1], [CHANGED, APPEARED, GONE], start=0.0, end=8.0
    )
    found = replay(history, 0.5, "uniform", warm_up=0.0, seed=0)
    shares = [(1.0, 1.0), (2.0, 0.5), (4.5, 1.0), (6.0, 2 / 3), (8.0, 1.0)]
    late = [(1.0, 1.0), (4.0, 0.5), (4.5, 1.0), (6.0, 2 / 3), (8.0, 1.0)]  # b was listed before a
    wanted = []
    for course in (shares, late):
        begin, total = 0.0, 0.0
        for end, share in course:
            total += (end - begin) * share
            begin = end
        wanted.append(total / 8.0)
    assert any(found.freshness == pytest.approx(value) for value in wanted)
    assert found.accesses == 4


@pytest.mark.parametrize("policy", REPLAY_POLICIES)
def test_every_policy_spends_the_same_and_stays_below_the_bound(policy):
    history = synthetic_history("bursts", pages=60, groups=4, duration=12.0, seed=3)
    bound = replay(history, 60.0, "clairvoyant")
    found = replay(history, 60.0, policy, second=1 / 86400)
    assert found.accesses == bound.accesses == 720
    assert 0.0 < found.freshness <= bound.freshness + 1e-12


def gains(kind, seeds):
    """Freshness of group clocks less that of pages on their own, at the shipped constants."""
    found = []
    for seed in seeds:
        site = synthetic_history(kind, pages=600, groups=12, duration=30.0, seed=seed)
        budget = unit_budget(site)
        found.append(replay(site, budget, "optimal").freshness - replay(site, budget, "poisson").freshness)
    return np.array(found)


def test_shared_clocks_lose_nothing_on_independent_pages():
    found = gains("poisson", range(6))
    assert found.mean() > -0.004  # the noise of the mean is about .001
    assert found.min() > -0.012


def test_shared_clocks_win_on_shocks():
    found = gains("shocks", range(4))
    assert found.min() > 0.01
    assert found.mean() > 0.025


def test_shared_clocks_win_on_bursts():
    assert gains("bursts", range(3)).mean() > 0.005


def test_pages_that_never_change_stay_fresh_whatever_is_done():
    history = SiteHistory.of("calm", ["a", "b"], [0.0, 9.0], [0, 1], [CHANGED, GONE], start=0.0, end=10.0)
    for policy in ("uniform", "optimal", "poisson-known"):
        assert replay(history, 1.0, policy).freshness == pytest.approx(1.0)


def test_weights_move_freshness_to_what_matters():
    base = synthetic_history("poisson", pages=200, groups=4, duration=30.0, seed=5)
    heavy = np.where(np.arange(200) < 20, 20.0, 1.0)
    site = SiteHistory.of(
        "w", base.names, base.times, base.pages, base.kinds, start=0.0, end=30.0, weights=heavy
    )
    plain = replay(site, 100.0, "uniform").freshness
    assert replay(site, 100.0, "optimal").freshness > plain + 0.02


def test_dates_help():
    site = synthetic_history("shocks", pages=400, groups=8, duration=30.0, seed=2)
    budget = 2 * unit_budget(site)
    assert (
        replay(site, budget, "optimal", dated=True).freshness
        > replay(site, budget, "optimal").freshness - 0.005
    )


@pytest.mark.parametrize("kind", SYNTHETIC)
def test_synthetic_sites_change_once_per_unit_of_time(kind):
    site = synthetic_history(kind, pages=1500, groups=60, duration=30.0)
    assert site.change_rate / 1500 == pytest.approx(1.0, rel=0.15)
    assert (np.diff(site.times) >= 0).all()


def test_bad_input():
    site = synthetic_history("poisson", pages=10, groups=2, duration=2.0)
    with pytest.raises(InvalidModel, match="policy"):
        replay(site, 1.0, "best")
    with pytest.raises(InvalidModel, match="budget"):
        replay(site, 0.0, "uniform")
    with pytest.raises(InvalidModel, match="window"):
        SiteHistory.of("s", ["a"], [1.0], [0], [CHANGED])
    with pytest.raises(InvalidModel, match="kind of history"):
        synthetic_history("waves")
