"""How many robots? The index queue, its cost, and the number of robots of least cost."""

from recrawl.fleet.conjectures import SearchReport, search_monotonicity, search_second_minimum
from recrawl.fleet.mg1k import IndexQueue, limit_cost, queue_length, solve
from recrawl.fleet.optimum import (
    OptimalLoad,
    RobotChoice,
    limit_robots,
    local_minima,
    optimal_load,
    optimal_robots,
    robot_curve,
)
from recrawl.fleet.robots import Allocation, RobotGroup, allocate
from recrawl.fleet.search import Costs
from recrawl.fleet.unbounded import (
    ObsolescentQueue,
    SmallestCapacity,
    smallest_capacity,
    solve_obsolescent,
    unbounded_obsolescent,
)
from recrawl.fleet.words import allocation_in_words, capacity_in_words, in_words

__all__ = [
    "Allocation",
    "Costs",
    "IndexQueue",
    "ObsolescentQueue",
    "OptimalLoad",
    "RobotChoice",
    "RobotGroup",
    "SearchReport",
    "SmallestCapacity",
    "allocate",
    "allocation_in_words",
    "capacity_in_words",
    "in_words",
    "limit_cost",
    "limit_robots",
    "local_minima",
    "optimal_load",
    "optimal_robots",
    "queue_length",
    "robot_curve",
    "search_monotonicity",
    "search_second_minimum",
    "smallest_capacity",
    "solve",
    "solve_obsolescent",
    "unbounded_obsolescent",
]
