"""What the fitted queue says, and that it survives the store."""

import json
import math
import random

import pytest

from recrawl.engine import prospects
from recrawl.engine.automatic import fit_queue, modes_up_to, propose
from recrawl.engine.fitted import Conditions, CostSettings, FittedQueue
from recrawl.engine.queue_log import Log
from recrawl.errors import InvalidModel
from recrawl.fleet import mm1k


def log_of(access=0.2, service=1.0, count=4000, seed=1, drift=1.0):
    """One robot at work all the time."""
    chance, log = random.Random(seed), Log()
    for place in range(count):
        log.accessed(chance.expovariate(1.0 / access), 1, True)
        log.served(chance.expovariate(1.0 / service) * (drift if place > count / 2 else 1.0))
    return log


def fitted_of(capacity=4, robots=3, **conditions):
    return fit_queue(log_of(), Conditions(capacity, robots, **conditions), (1,) * (capacity + 1), 0.0)


def test_rates_are_found():
    fitted = fitted_of()
    assert fitted.robot_rate == pytest.approx(5.0, rel=0.05)
    assert fitted.service.mean == pytest.approx(1.0, rel=0.05)
    assert fitted.access_share == pytest.approx(0.2, rel=0.1)
    assert not fitted.doubts


def test_it_survives_the_store():
    for after in (math.inf, 2.0):
        fitted = fitted_of(obsolete_after=after)
        again = FittedQueue.from_bytes(fitted.to_bytes())
        assert again == fitted
        assert again.predict().cost == fitted.predict().cost
    for kept in (b"{}", b"nonsense", b'{"version": 99}'):
        with pytest.raises(InvalidModel, match="fitted queue"):
            FittedQueue.from_bytes(kept)


def test_a_log_that_drifts_is_refused():
    fitted = fit_queue(log_of(drift=3.0), Conditions(4, 2), (1,) * 5, 0.0)
    assert any("service times are not steady" in doubt for doubt in fitted.doubts)
    assert propose(fitted).policy is None


def test_robots_that_bring_nothing_more_are_refused():
    log = log_of()
    log.by_robots[4] = (1000.0, 1000 * 4 * 0.2)  # four bring as much as one
    fitted = fit_queue(log, Conditions(4, 4), (1,) * 5, 0.0)
    assert any("do not grow with the number of robots" in doubt for doubt in fitted.doubts)


def test_occupancy_is_the_closed_form():
    fitted = fitted_of()
    rows = prospects.occupancy(None, fitted, (1,) * 5)
    load = fitted.robot_rate * fitted.service.mean
    law = mm1k.queue_length(load, 4)
    assert fitted.access.order == fitted.service.order == 1
    assert [row["predicted"] for row in rows] == pytest.approx(list(law), rel=1e-6)
    assert sum(row["predicted"] for row in rows) == pytest.approx(1.0)
    assert all(row["measured"] is None for row in rows)


def test_many_levels_are_grouped():
    measured = [
        {"level": level, "share": 0.001, "half_width": None, "by_robots": {"2": 0.001}}
        for level in range(1000)
    ]
    rows = prospects.occupancy(measured, None)
    assert len(rows) <= 257
    assert sum(row["measured"] for row in rows) == pytest.approx(1.0)
    assert rows[0]["high"] == 3
    assert rows[-1]["high"] == 999


def test_densities_and_histograms_have_mass_one():
    for law in prospects.laws(fitted_of()):
        points = law["density"]
        step = points[1][0] - points[0][0]
        mass = sum(value for _, value in points) * step - 0.5 * step * (points[0][1] + points[-1][1])
        assert mass == pytest.approx(0.99, abs=0.02)  # up to the 99 % quantile
        assert sum(bar["density"] * (bar["high"] - bar["low"]) for bar in law["histogram"]) == pytest.approx(
            0.99, abs=0.01
        )


def test_fleet_curves():
    costs = CostSettings(loss_per_page=0.05, obsolete_per_page=0.05)
    found = prospects.fleet(fitted_of(capacity=2, fewest=1, costs=costs))
    costs_at_most = [row["cost"] for row in found["at_most"]]
    assert costs_at_most == sorted(costs_at_most, reverse=True)
    assert costs_at_most[-1] <= min(row["cost"] for row in found["fixed"])
    assert 1 <= found["worth_robots"] <= 3
    assert str(found["worth_robots"]) in found["in_words"]


def test_what_if_indexing_took_twice_as_long():
    fitted = fitted_of()
    same = prospects.what_if(fitted)
    assert same["same"] == same["now"]
    slower = prospects.what_if(fitted, service_factor=2.0)
    assert slower["same"]["measures"]["starvation"] < slower["now"]["measures"]["starvation"]
    assert slower["best"]["measures"]["cost"] <= slower["same"]["measures"]["cost"] * (1 + 1e-9)
    # Everything twice as slow is another unit of time: shares stay, rates are halved.
    unit = prospects.what_if(fitted, service_factor=2.0, access_factor=2.0)
    for name in ("loss", "starvation"):
        assert unit["same"]["measures"][name] == pytest.approx(unit["now"]["measures"][name], rel=1e-9)
    larger = prospects.what_if(fitted, capacity=8)
    assert larger["same"]["measures"]["loss"] < larger["now"]["measures"]["loss"]
    json.dumps(slower, allow_nan=False)


@pytest.mark.parametrize("name", ["service_factor", "access_factor", "obsolete_factor"])
def test_bad_what_if(name):
    with pytest.raises(InvalidModel, match=f"{name} must be above 0"):
        prospects.what_if(fitted_of(), **{name: 0.0})


def test_everything_at_once_and_nothing():
    assert prospects.prospects(None, None)["reason"]
    found = prospects.prospects(fitted_of(), None, service_factor=2.0)
    assert found["what_if"]["service_factor"] == 2.0
    json.dumps(found, allow_nan=False)


def test_no_robots_while_the_queue_is_long():
    """With lost pages dear, all robots are switched off before the buffer is full."""
    free = propose(fitted_of(fewest=0))
    papers = propose(fitted_of(fewest=1))
    assert free.policy.modes[-1] == 0
    assert papers.policy.modes[-1] >= 1
    assert free.cost < papers.cost


def test_modes():
    assert modes_up_to(1) == (1,)
    assert modes_up_to(2, fewest=2) == (2,)


def test_what_follows_from_a_fitted_queue_is_found_once(monkeypatch):
    fitted, asked = fitted_of(capacity=5), []
    monkeypatch.setattr(prospects, "propose", lambda model: asked.append(model) or propose(model))
    first = prospects.prospects(fitted, None, 2.0)
    again = prospects.prospects(FittedQueue.from_bytes(fitted.to_bytes()), None, 2.0)
    assert first == again
    assert len(asked) == 2  # for the fleet, and in the other world
    prospects.prospects(fitted, None, 3.0)
    assert len(asked) == 3
    prospects.prospects(fitted_of(capacity=6), None, 2.0)
    assert len(asked) == 5
