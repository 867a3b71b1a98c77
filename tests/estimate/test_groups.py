from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from recrawl.estimate.groups import group_sizes, nested_groups, prefixes

NAMES = st.lists(st.text("ab/1", min_size=1, max_size=6), min_size=1, max_size=60)


@given(NAMES)
def test_groups_are_the_longest_shared_prefixes(names):
    found, parents, group = nested_groups(names)
    counts = Counter(prefix for name in names for prefix in prefixes(name))
    for name, leaf in zip(names, group, strict=True):
        chain, number = [], leaf
        while number > 0:
            chain.append(found[number])
            number = parents[number]
        wanted = []
        for size in group_sizes(len(names)):
            longest = next((prefix for prefix in prefixes(name) if counts[prefix] >= size), b"")
            if longest not in (b"", *wanted[-1:]):
                wanted.append(longest)
        assert chain[::-1] == wanted


def test_parents_come_first():
    names = [f"a/{i % 7}/{i}" for i in range(500)]
    _, parents, group = nested_groups(names)
    assert all(parent < place for place, parent in enumerate(parents))
    assert group.max() < len(parents)
