import numpy as np
import pytest

from recrawl.errors import InvalidModel
from recrawl.estimate import ClockBelief


def names(count, groups=6):
    return [f"s/g{i % groups}/p{i}" for i in range(count)]


def lived(seed=0, pages=120, accesses=2000, boost=None):
    """A belief that has seen accesses in turn, one per unit of time; `boost(group, time)` scales the change rate."""
    rng = np.random.default_rng(seed)
    belief = ClockBelief(1.0)
    slots = belief.add(names(pages), last_access=np.zeros(pages))
    belief.maintain(0.0)
    times = np.arange(1.0, accesses + 1)
    places = np.arange(accesses) % pages
    likely = np.array([0.3 * (boost(p % 6, t) if boost else 1.0) for p, t in zip(places, times, strict=True)])
    belief.observe(slots[places], times, rng.random(accesses) < np.minimum(likely, 1.0))
    return belief, slots


def same(first, second):
    one, other = first.arrays(), second.arrays()
    return one.keys() == other.keys() and all(np.array_equal(one[k], other[k]) for k in one)


def test_rates_are_those_of_a_plain_belief_when_clocks_stand_still():
    ticking = ClockBelief(1.0, ticking=False)
    slots = ticking.add(names(30), last_access=np.zeros(30))
    ticking.observe(slots, np.full(30, 20.0), np.arange(30) % 2 == 0)
    plain = ticking.belief.__class__(ticking.belief.grid)
    plain.set_priors(ticking.belief.priors)
    rows = plain.add(30)
    plain.update(rows, np.full(30, 20.0), np.arange(30) % 2 == 0)
    assert ticking.mean_rate(slots) == pytest.approx(plain.mean_rate(rows), rel=1e-6)
    assert ticking.interval(slots) == pytest.approx(plain.interval(rows), rel=1e-6)
    assert ticking.probability_current(slots, 33.0) == pytest.approx(
        plain.current_probability(rows, 13.0), rel=1e-6
    )


def test_a_group_that_wakes_moves_its_pages_and_no_others():
    awake = lambda group, time: (3.0 if group == 2 else 0.5) if time > 1500 else 1.0  # noqa: E731
    belief, slots = lived(boost=awake)
    gone = (belief.clock(slots, 2000.0) - belief.clock(slots, 1600.0)).reshape(-1, 6).mean(axis=0)
    assert gone[2] > 1.5 * np.delete(gone, 2).max()
    now = 2000.0
    waits = belief.due(slots, 5.0, now=now) - now
    assert np.median(waits.reshape(-1, 6)[:, 2]) < np.median(np.delete(waits.reshape(-1, 6), 2, axis=1))


def test_due_time_is_where_the_value_reaches_the_price():
    belief, slots = lived()
    price, weight = 4.0, np.linspace(0.5, 3.0, slots.size)
    clock = belief.clock_due(slots, price, weight)
    wait = clock - belief.clock(slots, belief.state.pages.last[slots])
    inside = np.isfinite(wait)
    assert inside.sum() > 100
    worth = belief.belief.value(slots[inside], wait[inside], weight[inside])
    assert worth == pytest.approx(np.full(inside.sum(), price), rel=1e-6)
    assert belief.demand(slots, price, weight) == pytest.approx(
        (1 / belief.intervals(slots, price, weight)).sum()
    )


def test_pages_and_clocks_kept_apart_go_on_bit_for_bit():
    belief, slots = lived()
    rows, clocks = belief.pack(slots), belief.kept_clocks()
    again = ClockBelief.from_clocks(clocks)
    places = again.add(names(slots.size))
    again.unpack(places, rows)
    assert same(belief, again)
    for one in (belief, again):
        one.observe(slots, 2001.0 + np.arange(slots.size), np.arange(slots.size) % 3 == 0)
        one.maintain(2200.0)
    assert same(belief, again)
    assert same(belief, ClockBelief.restore(belief.arrays()))


def test_a_row_packed_on_another_grid_is_brought_here():
    belief, slots = lived()
    rows = belief.pack(slots)
    other = ClockBelief.from_clocks(belief.kept_clocks())
    places = other.add(names(slots.size))
    other.set_budget(10.0)
    other.maintain(2000.0)
    other.unpack(places, rows)
    assert other.belief.grid.low > 5 * belief.belief.grid.low
    rate = belief.belief.mean_rate(slots)
    inside = rate > 4 * other.belief.grid.low
    assert inside.sum() > 60
    assert other.belief.mean_rate(places)[inside] == pytest.approx(rate[inside], rel=0.1)


def test_a_signal_makes_a_page_due_and_is_not_counted_twice():
    belief, slots = lived()
    page, now = slots[:1], 2010.0
    before = belief.belief.evidence(page).copy()
    belief.signal(page, [now], last_modified=[1.0])
    assert np.array_equal(before, belief.belief.evidence(page))  # an old date says nothing
    belief.signal(page, [now])
    assert belief.probability_current(page, now)[0] == 0.0
    assert belief.due(page, 1.0, now=now)[0] == pytest.approx(now)
    assert belief.value(page, now)[0] == pytest.approx(belief.value(page, 1e9)[0], rel=1e-6)
    told = belief.belief.evidence(page).copy()
    assert not np.array_equal(before, told)
    belief.observe(page, [now + 5.0], [True])
    assert np.array_equal(told, belief.belief.evidence(page))
    assert belief.probability_current(page, now + 5.0)[0] == pytest.approx(1.0)


def test_a_calm_signal_is_an_access():
    belief, slots = lived()
    again = ClockBelief.restore(belief.arrays())
    belief.signal(slots[:4], 2005.0, changed=False)
    again.observe(slots[:4], 2005.0, False)
    assert same(belief, again)


def test_pages_that_never_were_accessed():
    belief = ClockBelief(1.0)
    slots = belief.add(["a/1", "a/2"])
    assert belief.due(slots, 1.0, now=3.0).tolist() == [-np.inf, -np.inf]
    assert belief.probability_current(slots, 3.0).tolist() == [0.0, 0.0]
    belief.observe(slots[:1], [3.0], [True], last_modified=[1.0])
    assert belief.due(slots, 1.0, now=3.0)[0] > 3.0
    assert belief.probability_current(slots, 3.0) == pytest.approx([1.0, 0.0])


def test_bad_input():
    belief = ClockBelief(1.0)
    slots = belief.add(["a"])
    with pytest.raises(InvalidModel, match="slot 7"):
        belief.observe([7], [1.0], [True])
    with pytest.raises(InvalidModel, match="finite"):
        belief.observe(slots, [np.nan], [True])
    belief.remove(slots)
    with pytest.raises(InvalidModel, match="slot 0"):
        belief.mean_rate(slots)
    with pytest.raises(InvalidModel, match="price"):
        belief.wait(belief.add(["b"]), 0.0)


def test_the_clock_that_a_shrinkage_foretells_is_the_clock_that_goes_with_it():
    from recrawl.estimate import _clock_kernels as kernel

    belief, slots = lived(boost=lambda group, time: 3.0 if (group + int(time / 300)) % 4 == 0 else 0.5)
    state, now = belief.state, 2000.0
    state.pages.last[slots] = np.linspace(1200.0, 1999.0, slots.size)
    path, excess = np.zeros(8, dtype=np.int64), np.zeros(8)
    for j, shrink in enumerate(kernel.SHRINKS):
        state.numbers[kernel.SCORES :] = np.where(np.arange(len(kernel.SHRINKS)) == j, 0.0, -1e4)
        kernel.speeds(state)
        found = [kernel.foretell(state, slot, now, shrink, path, excess) for slot in slots]
        assert found == pytest.approx(belief.elapsed(slots, now), rel=0.02)  # what came before is cut off


@pytest.mark.parametrize("together", [False, True])
def test_pages_that_share_nothing_are_left_on_their_own(together):
    from recrawl.estimate._clock_kernels import SHRINK

    wave = lambda group, time: 3.0 if (group + int(time / 60)) % 6 == 0 else 0.2  # noqa: E731
    belief, _ = lived(accesses=20000, boost=wave if together else None)
    shrink = belief.state.numbers[SHRINK]
    assert shrink < 0.6 if together else shrink > 8.0


def test_what_was_kept_without_scores_is_taken_over():
    from recrawl.estimate import _clock_kernels as kernel

    belief, slots = lived()
    arrays = belief.arrays()
    arrays["numbers"] = arrays["numbers"][: kernel.SCORES]
    again = ClockBelief.restore(arrays)
    again.observe(slots, np.full(slots.size, 2001.0), True)
    assert np.isfinite(again.mean_rate(slots)).all()
