"""Which page next? Obsolescence of schedules, optimal frequencies, and orders that realise them."""

from recrawl.revisit.frequencies import (
    Frequencies,
    access_value,
    kkt_residual,
    optimal_frequencies,
    proportional_frequencies,
    randomised_proportional_frequencies,
)
from recrawl.revisit.obsolescence import (
    cost_of,
    integer_gap_bound,
    lower_bound,
    obsolescence_of_gaps,
    obsolescence_of_template,
    proportional_bound,
    randomised_obsolescence,
)
from recrawl.revisit.pages import Pages

__all__ = [
    "Frequencies",
    "Pages",
    "access_value",
    "cost_of",
    "integer_gap_bound",
    "kkt_residual",
    "lower_bound",
    "obsolescence_of_gaps",
    "obsolescence_of_template",
    "optimal_frequencies",
    "proportional_bound",
    "proportional_frequencies",
    "randomised_obsolescence",
    "randomised_proportional_frequencies",
]
