"""Laws of random times: how long an access, an indexing or a wait takes."""

from recrawl.laws.closed import Deterministic, Erlang, Exponential, Gamma, Uniform
from recrawl.laws.counts import ArrivalCounts, arrival_counts
from recrawl.laws.empirical import Empirical
from recrawl.laws.law import Law
from recrawl.laws.lognormal import Lognormal
from recrawl.laws.mixtures import Hyperexponential, TwoTask
from recrawl.laws.phase_type import PhaseType
from recrawl.laws.spelling import parse_law

__all__ = [
    "ArrivalCounts",
    "Deterministic",
    "Empirical",
    "Erlang",
    "Exponential",
    "Gamma",
    "Hyperexponential",
    "Law",
    "Lognormal",
    "PhaseType",
    "TwoTask",
    "Uniform",
    "arrival_counts",
    "parse_law",
]
