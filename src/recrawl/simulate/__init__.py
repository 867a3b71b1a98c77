"""Compiled event simulators, written from the words of the models, never from the formulas they check."""

from recrawl.simulate.control import SimulatedQueue, simulate_queue
from recrawl.simulate.fleet import Estimate, FleetSimulation, simulate_fleet
from recrawl.simulate.schedule import ScheduleSimulation, half_width, simulate_schedule

__all__ = [
    "Estimate",
    "FleetSimulation",
    "ScheduleSimulation",
    "SimulatedQueue",
    "half_width",
    "simulate_fleet",
    "simulate_queue",
    "simulate_schedule",
]
