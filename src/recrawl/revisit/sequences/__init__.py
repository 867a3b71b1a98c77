"""Endless orders of accesses that realise given frequencies."""

from recrawl.revisit.sequences.base import IDLE, AccessSequence
from recrawl.revisit.sequences.due import DueTimes, Windows
from recrawl.revisit.sequences.others import Bracket, Randomised, RoundRobin, Template, WhittleIndex
from recrawl.revisit.sequences.partition import (
    GoldenRatio,
    PowerOfTwo,
    fibonacci,
    golden_counts,
    golden_gap_counts,
    golden_template,
    power_of_two_frequencies,
)

__all__ = [
    "IDLE",
    "AccessSequence",
    "Bracket",
    "DueTimes",
    "GoldenRatio",
    "PowerOfTwo",
    "Randomised",
    "RoundRobin",
    "Template",
    "WhittleIndex",
    "Windows",
    "fibonacci",
    "golden_counts",
    "golden_gap_counts",
    "golden_template",
    "power_of_two_frequencies",
]
