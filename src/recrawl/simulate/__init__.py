"""Compiled event simulators, written from the words of the models, never from the formulas they check."""

from recrawl.simulate.schedule import ScheduleSimulation, half_width, simulate_schedule

__all__ = ["ScheduleSimulation", "half_width", "simulate_schedule"]
