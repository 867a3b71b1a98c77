"""Compiled event simulators, written from the words of the models, never from the formulas they check."""

from recrawl.simulate.control import SimulatedQueue, simulate_queue
from recrawl.simulate.fleet import Estimate, FleetSimulation, simulate_fleet
from recrawl.simulate.histories import SiteHistory, synthetic_history
from recrawl.simulate.replay import REPLAY_POLICIES, Replayed, replay, unit_budget
from recrawl.simulate.schedule import ScheduleSimulation, half_width, simulate_schedule

__all__ = [
    "REPLAY_POLICIES",
    "Estimate",
    "FleetSimulation",
    "Replayed",
    "ScheduleSimulation",
    "SimulatedQueue",
    "SiteHistory",
    "half_width",
    "replay",
    "simulate_fleet",
    "simulate_queue",
    "simulate_schedule",
    "synthetic_history",
    "unit_budget",
]
