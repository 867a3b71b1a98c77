import numpy as np
import pytest

from recrawl import Scheduler
from recrawl.errors import InvalidModel
from recrawl.estimate._clock_kernels import CAP, GROUPS
from recrawl.estimate.clocks import GroupClocks


def play(schedule, rng, start, accesses, rates, step=1.0):
    """Access pages in turn; each changes as a Poisson process. The names in the order of access."""
    order = []
    last = play.__dict__.setdefault("last", {})
    for k in range(accesses):
        now = start + (k + 1) * step
        page = schedule.next(now)
        order.append(page)
        elapsed = now - last.get(page, 0.0)
        last[page] = now
        schedule.observe(page, now, bool(rng.random() < -np.expm1(-rates[page] * elapsed)))
    return order


def names(count, groups=4):
    return [f"s/g{i % groups}/p{i}" for i in range(count)]


def test_new_pages_come_first_each_once():
    schedule = Scheduler(1.0)
    for name in names(20):
        schedule.add(name)
    assert sorted(
        play(schedule, np.random.default_rng(0), 0.0, 20, dict.fromkeys(names(20), 0.01))
    ) == sorted(names(20))


def test_save_and_load_in_mid_run_go_on_bit_for_bit(tmp_path):
    pages = names(80)
    rates = {page: 0.001 * (1 + i % 9) for i, page in enumerate(pages)}
    schedule = Scheduler(1.0)
    for page in pages:
        schedule.add(page)
    play.last = {}
    play(schedule, np.random.default_rng(1), 0.0, 600, rates)
    schedule.remove(pages[3])
    schedule.save(tmp_path / "here")
    before = dict(play.last)
    first = play(schedule, np.random.default_rng(2), 600.0, 700, rates)
    play.last = before
    again = Scheduler.load(tmp_path / "here")
    assert play(again, np.random.default_rng(2), 600.0, 700, rates) == first
    for name, array in schedule._clocks.arrays().items():
        assert np.array_equal(array, again._clocks.arrays()[name]), name


def test_slow_pages_are_accessed_less():
    pages = names(60)
    rates = {page: 1e-6 if i < 30 else 1 / 60 for i, page in enumerate(pages)}
    schedule = Scheduler(1.0)
    for page in pages:
        schedule.add(page)
    play.last = {}
    order = play(schedule, np.random.default_rng(3), 0.0, 3000, rates)[1500:]
    slow = sum(rates[page] < 1e-3 for page in order)
    assert slow < 0.35 * len(order)


@pytest.mark.parametrize("policy", ["optimal", "poisson", "proportional"])
def test_one_page(policy):
    schedule = Scheduler(1.0, policy=policy)
    schedule.add("only")
    play.last = {}
    assert play(schedule, np.random.default_rng(0), 0.0, 50, {"only": 0.0}) == ["only"] * 50


def test_no_change_ever_seen_accesses_all_pages():
    schedule = Scheduler(1.0)
    for page in names(40):
        schedule.add(page)
    play.last = {}
    order = play(schedule, np.random.default_rng(0), 0.0, 1000, dict.fromkeys(names(40), 0.0))
    assert set(order[-200:]) == set(names(40))


def test_thousands_of_groups_and_bytes_per_page():
    clocks = GroupClocks(1000.0)
    pages = [f"d{i % 2000}/p{i}" for i in range(20000)]
    clocks.add(pages, 0.0, seen=np.zeros(20000))
    assert clocks.take(0.001) >= 0
    assert clocks.belief.state.counters[GROUPS] > 2000
    assert clocks.bytes_per_page <= 300


def test_budget_changed_at_run_time_and_pages_that_come_and_go():
    rng = np.random.default_rng(4)
    schedule = Scheduler(10.0)
    now, living = 0.0, []
    for k in range(4000):
        if k % 3 == 0 and len(living) < 400:
            living.append(f"g{k % 5}/{k}")
            schedule.add(living[-1], last_access=now if k % 2 else None)
        if k % 11 == 0 and len(living) > 50:
            schedule.remove(living.pop(int(rng.integers(len(living)))))
        if k == 2000:
            schedule.budget = 500.0
        now += 1.0 / schedule.budget
        page = schedule.next(now)
        if page is not None:
            schedule.observe(page, now, bool(rng.random() < 0.2), last_modified=now if k % 5 == 0 else None)
    speed = schedule._clocks.belief.state.groups.speed
    assert np.isfinite(speed).all()
    assert speed.max() <= schedule._clocks.belief.state.numbers[CAP]
    assert len(schedule) == len(living)


def test_a_clock_that_runs_away_is_capped():
    clocks = GroupClocks(100.0)
    slots = clocks.add(names(100), 0.0, seen=np.zeros(100))
    clocks.maintain(0.0)
    for k in range(1, 3000):
        slot = clocks.take(k / 100.0)
        clocks.observe(slot, k / 100.0, True, last_modified=k / 100.0)
    assert clocks.belief.state.groups.speed.max() <= 64.0
    assert slots


def test_page_given_back_comes_again():
    schedule = Scheduler(1.0)
    schedule.add("a")
    assert schedule.next(1.0) == "a"
    assert schedule.next(2.0) is None
    schedule.give_back("a", 2.0)
    assert schedule.next(3.0) == "a"


def test_bad_input():
    schedule = Scheduler(1.0)
    schedule.add("a")
    with pytest.raises(InvalidModel, match="already"):
        schedule.add("a")
    with pytest.raises(InvalidModel, match="not there"):
        schedule.observe("b", 1.0, True)
    schedule.next(5.0)
    with pytest.raises(InvalidModel, match="must not fall"):
        schedule.next(4.0)
    with pytest.raises(InvalidModel, match="rule"):
        Scheduler(1.0, policy="best")


def test_a_signalled_page_comes_next():
    schedule = Scheduler(1.0)
    for page in names(40):
        schedule.add(page)
    play.last = {}
    play(schedule, np.random.default_rng(0), 0.0, 400, dict.fromkeys(names(40), 1 / 60))
    page = next(
        name for name in names(40) if play.last[name] > 395.0
    )  # accessed a moment ago, so far from due
    schedule.signal(page, 400.5, last_modified=300.0)  # an old date
    assert schedule._clocks.belief.probability_current(schedule._slots[page], 400.5)[0] > 0
    schedule.signal(page, 400.5)
    assert page in [schedule.next(401.0 + k) for k in range(5)]
    schedule.observe(page, 406.0, True)
    assert schedule._clocks.belief.probability_current(schedule._slots[page], 406.0)[0] == pytest.approx(1.0)


def test_a_signal_of_calm_is_an_observation():
    schedule = Scheduler(1.0)
    schedule.add("a", last_access=0.0)
    schedule.signal("a", 5.0, changed=False)
    assert schedule._clocks.belief.state.pages.last[schedule._slots["a"]] == 5.0


def test_one_group_only():
    clocks = GroupClocks(10.0)
    clocks.add([f"p{i}x" for i in range(50)], 0.0, seen=np.zeros(50))
    order = []
    for k in range(1, 500):
        order.append(clocks.take(k / 10.0))
        clocks.observe(order[-1], k / 10.0, k % 3 == 0)
    assert set(order) == set(range(50))


def test_pages_move_to_finer_groups_when_more_arrive_and_clocks_stay():
    from recrawl.estimate._clock_kernels import speeds

    clocks = GroupClocks(40.0)
    clocks.add([f"a/{i}" for i in range(40)], 0.0, seen=np.zeros(40))
    now = 0.0
    for _ in range(400):
        now += 1 / 40
        slot = clocks.take(now)
        clocks.observe(slot, now, slot % 2 == 0)
    belief = clocks.belief
    speeds(belief.state)  # new groups are a reason to estimate anew; so that nothing else is left to do then
    before, elapsed = belief.group_of, belief.elapsed(belief.slots(), now)
    clocks.add([f"a/b/{i}" for i in range(40)] + [f"c/{i}" for i in range(40)], now, seen=np.full(80, now))
    clocks.maintain(now)
    assert b"a/b/" not in before
    assert b"a/b/" in belief.group_of
    # Three times the pages: bins are wider too, and what they have seen is spread over them.
    assert belief.elapsed(np.arange(40), now) == pytest.approx(elapsed, rel=0.02)
    first = {belief.names[slot][:2] for slot in range(40)}
    assert first == {"a/"}
    for _ in range(400):
        now += 1 / 40
        clocks.observe(clocks.take(now), now, False)
    assert np.isfinite(belief.mean_rate(belief.slots())).all()


def test_heaps_are_built_anew_for_a_part_of_the_groups_only():
    from recrawl.estimate._clock_order import REBUILT, REKEYED

    clocks = GroupClocks(400.0)
    pages = names(2000, groups=50)
    clocks.add(pages, 0.0, seen=-np.random.default_rng(0).random(2000))
    rng = np.random.default_rng(1)
    for k in range(1, 6001):
        clocks.observe(clocks.take(k / 400.0), k / 400.0, bool(rng.random() < 0.4))
    counters = clocks.order.counters
    assert counters[REBUILT] > 0
    assert counters[REKEYED] / 6000 < 30.0  # pages put in order anew for each access, however many there are
