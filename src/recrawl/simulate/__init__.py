"""Compiled event simulators, written from the words of the models, never from the formulas they check."""

from recrawl.simulate.control import Estimate, SimulatedQueue, simulate_queue
from recrawl.simulate.schedule import ScheduleSimulation, half_width, simulate_schedule

__all__ = [
    "Estimate",
    "ScheduleSimulation",
    "SimulatedQueue",
    "half_width",
    "simulate_queue",
    "simulate_schedule",
]
