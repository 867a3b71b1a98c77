"""Compiled event simulators, written from the words of the models."""

from recrawl.simulate.control import Estimate, SimulatedQueue, simulate_queue

__all__ = ["Estimate", "SimulatedQueue", "simulate_queue"]
