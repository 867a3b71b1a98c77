"""The queue in words: policies and bad input."""

import pytest

from recrawl.control import Costs, Mode, Model, Policy, modes_of, phase_type_of
from recrawl.errors import InvalidModel
from recrawl.laws import Bmap, Erlang, Exponential, Gamma, Hyperexponential, PhaseType, TwoTask

COSTS = Costs(1, 1, 1, 1, 1)
EXPONENTIAL = PhaseType([1.0], [[-1.0]])


def queue(**changes):
    given = {
        "capacity": 3,
        "service": EXPONENTIAL,
        "modes": modes_of([Bmap.poisson(1.0), Bmap.poisson(2.0)]),
        "costs": COSTS,
    }
    return Model(**{**given, **changes})


def test_first_and_last_mode_are_always_used():
    assert Policy((3, 2, 1), (0, 0)).robots(2) == (3, 1, 1)
    assert Policy((3, 2, 1), (0, 1)).robots(2) == (3, 2, 1)
    assert Policy((3, 2, 1), (1, 1)).robots(2) == (3, 3, 1)
    assert Policy((4,)).robots(3) == (4, 4, 4, 4)


@pytest.mark.parametrize(
    ("modes", "thresholds", "message"),
    [
        ((1, 3), (2,), "from most to fewest"),
        ((3, 3), (2,), "from most to fewest"),
        ((), (), "from most to fewest"),
        ((3, 1), (), "need 1 thresholds, not 0"),
        ((3, 2, 1), (2, 1), r"must not decrease, but are \[2, 1\]"),
        ((3, 1), (-1,), "at least 0, not -1"),
    ],
)
def test_bad_policies(modes, thresholds, message):
    with pytest.raises(InvalidModel, match=message):
        Policy(modes, thresholds)


def test_thresholds_beyond_the_capacity():
    with pytest.raises(InvalidModel, match="at most capacity - 1 = 2, not 3"):
        queue().assignment(Policy((2, 1), (3,)))


def test_unknown_mode():
    with pytest.raises(InvalidModel, match=r"no mode has 3 robots; the modes have \[1, 2\]"):
        queue().assignment(Policy((3, 1), (1,)))
    with pytest.raises(InvalidModel, match="4 numbers of robots are needed, not 2"):
        queue().assignment((1, 1))


def test_complete_admission_may_exceed_the_capacity():
    batches = Bmap([[[-1.0]], [[0.5]], [[0.0]], [[0.5]]])
    model = queue(modes=modes_of([batches, batches.scaled(2.0)]), admission="admit")
    assert model.top == 5
    assert model.assignment(Policy((2, 1), (2,))) == (1, 1, 1, 0, 0, 0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"capacity": 0}, "capacity must be a whole number from 1, not 0"),
        ({"capacity": 2.5}, "capacity must be a whole number"),
        ({"admission": "some"}, "admission must be one of partial, reject, admit, not 'some'"),
        ({"order": "lifo"}, "order must be one of fifo, random, not 'lifo'"),
        ({"modes": ()}, "at least one mode"),
        ({"modes": (Mode(1, Bmap.poisson(1)), Mode(1, Bmap.poisson(2)))}, "same number of robots"),
    ],
)
def test_bad_models(changes, message):
    with pytest.raises(InvalidModel, match=message):
        queue(**changes)


def test_modes_must_share_their_phases():
    two = Bmap([[[-2.0, 1.0], [1.0, -2.0]], [[1.0, 0.0], [0.0, 1.0]]])
    with pytest.raises(InvalidModel, match=r"have \[1, 2\] phases"):
        queue(modes=modes_of([Bmap.poisson(1.0), two]))


def test_bad_costs_and_modes():
    with pytest.raises(InvalidModel, match=r"costs.loss must be a number not below zero, not -1"):
        Costs(-1, 0, 0, 0, 0)
    with pytest.raises(InvalidModel, match=r"costs.robot .* nan"):
        Costs(0, 0, 0, float("nan"), 0)
    with pytest.raises(InvalidModel, match=r"mode.robots must be a whole number from 0, not -1"):
        Mode(-1, Bmap.poisson(1.0))
    with pytest.raises(InvalidModel, match="3 numbers of robots for 1"):
        modes_of([Bmap.poisson(1.0)], [1, 2, 3])


@pytest.mark.parametrize(
    "law",
    [
        Exponential(2.0),
        Erlang(3.0, 4),
        Hyperexponential.balanced(1.0, 5.0),
        TwoTask(2.0, 10.0, 0.35),
        TwoTask(1.0, 1.0, 1.0),
    ],
    ids=str,
)
def test_phase_type_laws_keep_their_transform(law):
    found = phase_type_of(law)
    for s in (0.0, 0.3, 2.0, 50.0):
        assert float(found.transform(s)) == pytest.approx(float(law.transform(s)), abs=1e-13)


def test_other_laws_are_refused():
    with pytest.raises(InvalidModel, match="recrawl fit service"):
        phase_type_of(Gamma(1.0, 0.3))
