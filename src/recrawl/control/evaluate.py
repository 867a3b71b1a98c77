"""Many policies of one queue: what they have in common is computed once.

On chains that fit a band, a policy costs one elimination in compiled code (tens of microseconds for tens of
states); on larger ones, one stationary solution.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recrawl.control.chain import MAX_STATES, Chain
from recrawl.control.measures import Solved, cost_of
from recrawl.control.rewards import REWARDS, reward_rates, reward_table
from recrawl.control.sojourn import page_fates
from recrawl.control.solve import solve
from recrawl.control.solve_direct import Bands, band_cells, bands_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from recrawl.control.model import Model

__all__ = ["Evaluator"]

_BAND_CELLS = 1 << 23
_BAND_STATES = 300  # ordered chains beyond are solved by sweeps instead
_CHUNK = 256


class Evaluator:
    """Reward rates of policies, remembered."""

    def __init__(self, model: Model, max_states: int = MAX_STATES) -> None:
        self.model = model
        self.chain = Chain(model, max_states)
        # Without obsolescence Little's law gives the response time in any order of service.
        self.patient = not self.chain.expiries.any()
        self.linear = model.order == "fifo" or self.patient
        self.banded = self.linear and band_cells(self.chain, len(model.modes)) <= _BAND_CELLS
        if self.chain.ordered and self.chain.states > _BAND_STATES:
            self.banded = False
        self.fates = page_fates(self.chain, "served", moments=1)[1] if model.order == "fifo" else None
        self._bands: Bands | None = None
        self._table: NDArray[np.float64] | None = None
        self._known: dict[tuple[int, ...], NDArray[np.float64]] = {}

    @property
    def bands(self) -> Bands:
        """Rows of the generator in every mode."""
        if self._bands is None:
            self._bands = bands_of(self.chain)
        return self._bands

    @property
    def table(self) -> NDArray[np.float64]:
        """Rewards of every state in every mode."""
        if self._table is None:
            self._table = reward_table(self.chain, self.fates)
            if self.fates is None:
                self._table[:, :, REWARDS.index("response")] = self._table[:, :, REWARDS.index("pages")]
        return self._table

    @property
    def work(self) -> float:
        """Operations that one policy costs, roughly."""
        chain = self.chain
        if self.banded:
            widest = float(chain.sizes.max())
            return chain.states * 2.0 * widest * widest * (chain.model.largest_batch + 1) + 1e3
        if chain.ordered:
            return chain.states * 70.0 * 1.5 * (chain.top + chain.inner) + 1e7
        return chain.states * 1e4 + 1e7

    def rates(
        self, assignments: Sequence[tuple[int, ...]], tell: Callable[[int], None] | None = None
    ) -> NDArray[np.float64]:
        """Reward rates, one row for each assignment of modes to levels."""
        fresh = [a for a in dict.fromkeys(assignments) if a not in self._known]
        step = _CHUNK if self.banded else 1
        for start in range(0, len(fresh), step):
            part = fresh[start : start + step]
            if self.banded:
                self._evaluate_banded(part)
            else:
                self._known[part[0]] = self._evaluate_one(part[0])
            if tell is not None:
                tell(len(part))
        return np.array([self._known[a] for a in assignments])

    def _evaluate_banded(self, assignments: list[tuple[int, ...]]) -> None:
        from recrawl.control._kernels import evaluate_policies

        bands = self.bands
        places = np.array(assignments, dtype=np.int64)
        found = evaluate_policies(bands.rows, self.table, places, bands.levels, bands.first, bands.reach)
        self._known.update(zip(assignments, found, strict=True))

    def _evaluate_one(self, assignment: tuple[int, ...]) -> NDArray[np.float64]:
        if self.linear:
            share = solve(self.chain, assignment).share
            rates = reward_rates(self.chain, assignment, share, self.fates)
            if self.fates is None:
                rates["response"] = rates["pages"]
        else:
            robots = [self.model.numbers[place] for place in assignment]
            solved = Solved(self.model, robots, chain=self.chain)
            rates = {**solved.rates, "response": solved.stays["served"][1]}
        return np.array([rates[name] for name in REWARDS])

    @property
    def evaluated(self) -> int:
        """Number of different policies evaluated so far."""
        return len(self._known)

    def costs(
        self, assignments: Sequence[tuple[int, ...]], tell: Callable[[int], None] | None = None
    ) -> NDArray[np.float64]:
        """Cost (2) of each assignment; `tell` is called with the number of policies newly evaluated."""
        found = self.rates(assignments, tell)
        named = {name: found[:, place] for place, name in enumerate(REWARDS)}
        return np.asarray(cost_of(self.model.costs, named, named["response"] / named["served"]))  # type: ignore[arg-type]
