"""Deliveries become gaps: every choice does what it says, in one piece or in many."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl.errors import InvalidModel
from recrawl.estimate.preprocess import BatchBuilder, prepare


def by_hand(times, within):
    """Batches one delivery at a time: (time, size)."""
    batches = []
    last = None
    for time in times:
        if last is not None and time - last <= within:
            batches[-1][1] += 1
        else:
            batches.append([time, 1])
        last = time
    return batches


steps = st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0, 20.0, 200.0]), min_size=1, max_size=40)


@given(steps, st.sampled_from([0.0, 0.5, 2.0]), st.lists(st.integers(0, 40), max_size=4))
def test_pieces_do_not_matter(gaps, within, cuts):
    times = np.cumsum(gaps)
    builder = BatchBuilder(within)
    parts = [builder.feed(part) for part in np.split(times, sorted(cuts))]
    parts.append(builder.finish())
    batches = by_hand(times, within)
    assert np.concatenate([part[0] for part in parts]).tolist() == pytest.approx(
        np.diff([time for time, _size in batches]).tolist()
    )
    assert np.concatenate([part[1] for part in parts]).tolist() == [size for _time, size in batches[1:]]
    assert builder.deliveries == len(gaps)
    assert builder.joined == len(gaps) - len(batches)


@given(steps)
def test_stops_are_deleted_and_cut_the_run(gaps):
    times = np.cumsum([0.0, 1.0, *gaps])
    batches = by_hand(times, 0.0)
    expected, fresh, broken = [], [], True
    for before, after in pairwise(batches):
        gap = after[0] - before[0]
        if gap > 50.0:
            broken = True
            continue
        expected.append(gap)
        fresh.append(broken)
        broken = False
    done = prepare([times], stop_after=50.0)
    assert done.gaps.times.tolist() == pytest.approx(expected)
    assert done.gaps.fresh.tolist() == fresh
    assert done.stops == len(batches) - 1 - len(expected)
    assert done.gaps.times.sum() + done.stopped_time == pytest.approx(times[-1] - times[0])


def test_runs_are_apart():
    done = prepare([np.array([0.0, 1.0, 2.0]), np.array([50.0, 51.5])])
    assert done.gaps.times.tolist() == [1.0, 1.0, 1.5]
    assert done.gaps.fresh.tolist() == [True, False, True]
    assert done.runs == 2


def test_a_long_gap_is_pointed_out():
    done = prepare([np.concatenate((np.arange(200.0), [1e6]))])
    assert "longest gap" in done.warnings[0]


def test_rounded_times_are_pointed_out():
    times = np.cumsum(np.random.default_rng(1).integers(0, 3, 2000)).astype(float)
    assert any("rounded" in text for text in prepare([times]).warnings)


def test_bad_choices():
    with pytest.raises(InvalidModel, match="comes before"):
        prepare([np.array([1.0, 0.5])])
    with pytest.raises(InvalidModel, match="batch_within"):
        prepare([np.array([0.0, 1.0])], batch_within=-1.0)
    with pytest.raises(InvalidModel, match="stop_after"):
        prepare([np.array([0.0, 1.0])], batch_within=2.0, stop_after=1.0)
    with pytest.raises(InvalidModel, match="at least one gap"):
        prepare([np.array([0.0, 100.0])], stop_after=1.0)
