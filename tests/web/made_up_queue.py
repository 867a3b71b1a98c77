"""Made-up documents about robots."""

import math

from recrawl.web import documents as d


def no_robots(now):
    return d.RobotsView(
        time=now,
        control="guarded",
        decision="",
        decisions=[],
        warnings=[],
        robots_active=0,
        robots_accessing=0,
        robots_most=0,
        buffer=d.BufferView(level=0, capacity=0),
        queue=[],
        thresholds=[],
        occupancy=[],
        laws=[],
        fleet=[],
        at_most=[],
        controls=[],
        reason="The engine has not run here.",
    )


def robots(now, text, service_factor, buffer, queue):
    fleet = [
        d.FleetPoint(robots=n, cost=0.4 + (n - 6) ** 2 / 30, starvation=0.5**n, loss=1 - 0.98**n)
        for n in range(1, 17)
    ]
    at_most = [d.FleetPoint(robots=n, cost=0.3 + max(0, 6 - n) ** 2 / 30) for n in range(1, 17)]
    rows = [(8, 0, 20), (4, 21, 40), (1, 41, 64)]
    thresholds = [d.ThresholdRow(robots=robots, low=low, high=high) for robots, low, high in rows]
    case = d.QueueCase(
        thresholds=thresholds, measures={"cost": 0.4, "loss": 0.01 * service_factor, "response_time": 0.4}
    )
    shares = [math.exp(-((n - 24) ** 2) / 180) for n in range(65)]
    levels = [
        d.LevelShare(
            level=n, high=n, measured=share / sum(shares), predicted=share / sum(shares), half_width=0.01
        )
        for n, share in enumerate(shares)
    ]
    points = [(0.02 * n, 5 * math.exp(-0.1 * n)) for n in range(60)]
    bins = [d.DensityBin(low=0.1 * n, high=0.1 * (n + 1), density=5 * math.exp(-0.5 * n)) for n in range(12)]
    laws = [
        d.FittedLaw(
            name=name,
            family="hyper-Erlang",
            mean=0.2,
            scv=1.4,
            samples=18_201,
            density=points,
            histogram=bins,
            detail=text,
        )
        for name in ("Gaps between deliveries", "Service times")
    ]
    return d.RobotsView(
        time=now,
        control="thresholds",
        decision=text,
        decisions=[d.Decision(time=now - 60, text=text)],
        warnings=[text],
        robots_active=8,
        robots_accessing=5,
        robots_most=16,
        buffer=buffer,
        queue=queue,
        fleet=fleet,
        at_most=at_most,
        fleet_words=text,
        best_fixed_robots=6,
        service_factor=service_factor,
        what_if=d.WhatIf(service_factor=service_factor, now=case, same=case, best=case, in_words=text),
        thresholds=thresholds,
        occupancy=levels,
        laws=laws,
        controls=["guarded", "fixed", "thresholds"],
    )
