"""The compiled windows and due-time orders against plain loops written from their words."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

from recrawl.revisit import DueTimes, Windows
from recrawl.revisit.sequences import _kernels as kernels

GOLDEN = (5**0.5 - 1) / 2


def plain_windows(frequency, count, early=0.8, late=1.4):
    ranks = np.argsort(np.argsort(-frequency, kind="stable"), kind="stable")
    # The number of slots before the deadline at which pages are accessed, so that the mean lag is one period.
    slots = brentq(lambda s: np.maximum(early, late - s * frequency).mean() - 1, 0, 1 / frequency.min())
    base = (np.modf(ranks * GOLDEN)[0] - np.maximum(early, late - slots * frequency)) / frequency
    order = []
    for now in range(count):
        release, deadline = base + early / frequency, base + late / frequency
        released = np.flatnonzero(release <= now)
        page = released[np.argmin(deadline[released])] if released.size else int(np.argmin(release))
        order.append(int(page))
        base[page] += 1 / frequency[page]
    return order


def plain_due(frequency, count):
    ranks = np.argsort(np.argsort(-frequency, kind="stable"), kind="stable")
    due = (np.modf(ranks * GOLDEN)[0] - 1) / frequency + 1 / frequency
    order = []
    for _ in range(count):
        page = int(np.argmin(due))
        order.append(page)
        due[page] += 1 / frequency[page]
    return order


@pytest.mark.parametrize(("maker", "plain"), [(Windows, plain_windows), (DueTimes, plain_due)])
@given(st.integers(0, 10**6), st.integers(1, 40))
def test_against_the_plain_loop(maker, plain, seed, size):
    frequency = np.random.default_rng(seed).lognormal(0, 1.5, size)
    frequency /= frequency.sum()
    assert maker(frequency).take(300).tolist() == plain(frequency, 300)


@given(st.lists(st.floats(-100, 100), min_size=1, max_size=60))
def test_the_heap_sorts(keys):
    key, item = np.empty(len(keys)), np.empty(len(keys), dtype=np.int32)
    for size, value in enumerate(keys):
        kernels.heap_push(key, item, size, value, size)
    popped = []
    for size in range(len(keys), 0, -1):
        popped.append(key[0])
        kernels.heap_drop(key, item, size)
    assert popped == sorted(keys)
    key, item = np.array(keys), np.arange(len(keys), dtype=np.int32)
    kernels.heapify(key, item, len(keys))
    assert key[0] == min(keys)
    assert keys[item[0]] == min(keys)
