import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from recrawl.revisit._pairing import build, entries, insert, pop, take_out


@given(st.lists(st.tuples(st.sampled_from("iiipt"), st.integers(0, 1000)), max_size=80))
def test_as_a_sorted_list_would(steps):
    pool, root, inside, unused = entries(100), -1, {}, list(range(100))
    for step, number in steps:
        if step == "i":
            entry = unused.pop()
            inside[entry] = float(number)
            root = insert(pool, root, entry, float(number))
        elif inside and step == "p":
            assert pool.key[root] == min(inside.values())
            del inside[root]
            root = pop(pool, root)
        elif inside:
            entry = sorted(inside)[number % len(inside)]
            del inside[entry]
            root = take_out(pool, root, entry)
    found = []
    while root >= 0:
        found.append(pool.key[root])
        root = pop(pool, root)
    assert np.array_equal(found, sorted(inside.values()))


@given(st.lists(st.integers(0, 50), max_size=60))
def test_built_at_once(keys):
    pool = entries(60)
    pool.key[: len(keys)] = keys
    root = build(pool, np.arange(60, dtype=np.int32), len(keys))
    found = []
    while root >= 0:
        found.append(pool.key[root])
        root = pop(pool, root)
    assert found == sorted(keys)
