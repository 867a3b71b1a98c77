"""Laws of random times (how long an access, an indexing or a wait takes) and of arrivals."""

from recrawl.laws.arrivals import Bmap, marked, repaired, superposed, thinned
from recrawl.laws.closed import Deterministic, Erlang, Exponential, Gamma, Uniform
from recrawl.laws.empirical import Empirical
from recrawl.laws.law import Law
from recrawl.laws.lognormal import Lognormal
from recrawl.laws.mixtures import Hyperexponential, TwoTask
from recrawl.laws.phase_type import PhaseType
from recrawl.laws.spelling import parse_law

__all__ = [
    "Bmap",
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
    "marked",
    "parse_law",
    "repaired",
    "superposed",
    "thinned",
]
