"""When to switch robots on and off: a crawl queue with batch arrivals, obsolescence and thresholds.

[Avrachenkov, Dudin, Klimenok, Nain, Semenova: Optimal Threshold Control by the Robots of Web Search Engines
with Obsolescence of Documents]
"""

from recrawl.control.bounds import (
    FullState,
    QueueLength,
    best_full_state,
    best_queue_length,
    near_queue_length,
)
from recrawl.control.constrained import Constrained, Limits, Tradeoff, best_within, pareto_front
from recrawl.control.evaluate import Evaluator
from recrawl.control.finishing import finishing_phases, finishing_robots, switched_at_once
from recrawl.control.measures import Measures, Solved, measure
from recrawl.control.model import Costs, Mode, Model, Policy, modes_of, phase_type_of
from recrawl.control.policies import Combination, Optimum, best_thresholds, cost_curve

__all__ = [
    "Combination",
    "Constrained",
    "Costs",
    "Evaluator",
    "FullState",
    "Limits",
    "Measures",
    "Mode",
    "Model",
    "Optimum",
    "Policy",
    "QueueLength",
    "Solved",
    "Tradeoff",
    "best_full_state",
    "best_queue_length",
    "best_thresholds",
    "best_within",
    "cost_curve",
    "finishing_phases",
    "finishing_robots",
    "measure",
    "modes_of",
    "near_queue_length",
    "pareto_front",
    "phase_type_of",
    "switched_at_once",
]
