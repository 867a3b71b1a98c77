"""What do the logs say? Observations become change rates, logs become models."""

from recrawl.estimate.belief import Belief, RateGrid
from recrawl.estimate.changes_mle import ChangeRates, change_rates, log_likelihood
from recrawl.estimate.observations import Observations

__all__ = ["Belief", "ChangeRates", "Observations", "RateGrid", "change_rates", "log_likelihood"]
