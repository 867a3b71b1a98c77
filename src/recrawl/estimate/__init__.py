"""What do the logs say? Observations become change rates, logs become models."""

from recrawl.estimate.belief import Belief
from recrawl.estimate.changes_mle import ChangeRates, change_rates, log_likelihood
from recrawl.estimate.clock_belief import ClockBelief
from recrawl.estimate.clocks import GroupClocks
from recrawl.estimate.fit import ArrivalFit, fit_arrivals
from recrawl.estimate.moment_fits import from_three_moments, from_two_moments
from recrawl.estimate.observations import Observations
from recrawl.estimate.phase_fits import PhaseTypeFit, fit_phase_type
from recrawl.estimate.preprocess import Preparation, prepare
from recrawl.estimate.rate_grid import RateGrid
from recrawl.estimate.rate_laws import RateLaw, fit_priors, fit_rate_law
from recrawl.estimate.samples import Sample
from recrawl.estimate.scheduler import Scheduler
from recrawl.estimate.sequences import Gaps
from recrawl.estimate.statistics import ArrivalStatistics
from recrawl.estimate.two_state_map import TwoStateFit, two_state_map

__all__ = [
    "ArrivalFit",
    "ArrivalStatistics",
    "Belief",
    "ChangeRates",
    "ClockBelief",
    "Gaps",
    "GroupClocks",
    "Observations",
    "PhaseTypeFit",
    "Preparation",
    "RateGrid",
    "RateLaw",
    "Sample",
    "Scheduler",
    "TwoStateFit",
    "change_rates",
    "fit_arrivals",
    "fit_phase_type",
    "fit_priors",
    "fit_rate_law",
    "from_three_moments",
    "from_two_moments",
    "log_likelihood",
    "prepare",
    "two_state_map",
]
