"""The Markov chain of a crawl queue: its states by level, and its generator by blocks.

A state is (i, waiting room, arrival phase ν, service phase m); level i holds the states with i pages in the
system, the waiting room those of i − 1 waiting pages. Level 0 has only ν. [Avrachenkov, Lemma of Section 3]
"""

from __future__ import annotations

from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from recrawl.control.rooms import CountedRoom, OrderedRoom, PlainRoom, Room, compositions, minimal
from recrawl.errors import InvalidModel

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from recrawl.control.model import Model

__all__ = ["MAX_STATES", "Chain"]

# 8 bytes for each state, and about three vectors: half a gigabyte.
MAX_STATES = 20_000_000


class Chain:
    """A model made ready for numbers: phases reduced where that is exact, states counted, blocks at hand."""

    def __init__(self, model: Model, max_states: int = MAX_STATES) -> None:
        self.model = model
        self.capacity, self.top = model.capacity, model.top
        self.service = minimal(model.service)
        self.beta, self.S, self.ends = self.service.alpha, self.service.S, self.service.exits
        law = minimal(model.obsolescence) if model.obsolescence is not None else None
        self.gamma = law.alpha if law is not None else np.ones(1)
        self.Gamma = law.S if law is not None else np.zeros((1, 1))
        self.expiries = law.exits if law is not None else np.zeros(1)
        self.arrival_phases = model.modes[0].arrivals.order
        self.service_phases = self.service.order
        self.waiting_phases = int(self.gamma.size)
        # A single waiting page has no order, so counting is exact there too.
        self.ordered = model.order == "fifo" and self.waiting_phases > 1 and self.top > 2
        self.room: Room
        if self.waiting_phases == 1:
            self.room = PlainRoom(float(self.expiries[0]))
        else:
            kind = OrderedRoom if self.ordered else CountedRoom
            self.room = kind(self.gamma, self.Gamma, self.expiries)
        self.inner = self.arrival_phases * self.service_phases
        self.sizes = np.array(
            [self.arrival_phases, *(self.inner * self.room.size(i - 1) for i in range(1, self.top + 1))],
            dtype=object,
        )
        self.states = int(sum(self.sizes))
        self._check_size(max_states)
        self.sizes = self.sizes.astype(np.int64)
        self.starts = np.concatenate(([0], np.cumsum(self.sizes)))

    def _check_size(self, max_states: int) -> None:
        if self.states <= max_states:
            return
        W, M = self.arrival_phases, self.service_phases
        R, top = self.waiting_phases, self.top
        if self.ordered:
            counted = CountedRoom(self.gamma, self.Gamma, self.expiries)
            random = W + self.inner * sum(counted.size(i) for i in range(top))
            most = 1
            while W + self.inner * (R ** (most + 1) - 1) // (R - 1) <= max_states:
                most += 1
            advice = (
                f'capacity {most} would fit; order = "random" has {random:,} states; '
                f"exponential obsolescence has {W + self.inner * top:,}"
            )
        else:
            advice = "a smaller capacity or fewer phases would reduce them"
        raise InvalidModel(
            f"the chain has {self.states:,} states ({W} arrival, {M} service, {R} obsolescence phases, "
            f"up to {top} pages), more than the {max_states:,} that are allowed; {advice}"
        )

    @cached_property
    def D(self) -> NDArray[np.float64]:  # noqa: N802 (the paper's letter)
        """D[mode, k]: arrival matrices of all modes, batches padded with zeros."""
        W = self.arrival_phases
        matrices = np.zeros((len(self.model.modes), self.model.largest_batch + 1, W, W))
        for place, mode in enumerate(self.model.modes):
            matrices[place, : mode.arrivals.largest_batch + 1] = mode.arrivals.D
        return matrices

    def accepted(self, level: int, pages: int) -> int:
        """How many pages of a batch are let in when `level` pages are in the system."""
        if self.model.admission == "partial":
            return min(pages, self.capacity - level)
        if self.model.admission == "reject":
            return pages if level + pages <= self.capacity else 0
        return pages if level < self.capacity else 0

    @cached_property
    def jumps(self) -> NDArray[np.float64]:
        """jumps[mode, level, n]: phase moves that let in exactly n pages; n = 0 holds D₀ and refusals."""
        batches = self.D.shape[1]
        result = np.zeros((self.D.shape[0], self.top + 1, batches, *self.D.shape[2:]))
        for level in range(self.top + 1):
            for k in range(batches):
                result[:, level, self.accepted(level, k)] += self.D[:, k]
        return result

    def level_blocks(self, mode: int, level: int) -> dict[int, Any]:
        """Blocks Q_{level, j} of the generator, keyed by j."""
        blocks: dict[int, Any] = {}
        jumps = self.jumps[mode, level]
        if level == 0:
            for n in range(len(jumps)):
                if n == 0:
                    blocks[0] = jumps[0]
                elif n <= self.top and jumps[n].any():
                    blocks[n] = _kron(self.room.grow(0, n - 1), np.kron(jumps[n], self.beta[None, :]))
            return blocks
        W, M, waiting = self.arrival_phases, self.service_phases, level - 1
        here = np.ones((1, 1)) if self.room.size(waiting) == 1 else sparse.eye_array(self.room.size(waiting))
        inner = np.kron(jumps[0], np.eye(M)) + np.kron(np.eye(W), self.S)
        blocks[level] = _kron(here, inner) + _kron(self.room.move(waiting), np.eye(W * M))
        for n in range(1, len(jumps)):
            if level + n <= self.top and jumps[n].any():
                blocks[level + n] = _kron(self.room.grow(waiting, n), np.kron(jumps[n], np.eye(M)))
        if level == 1:
            blocks[0] = np.kron(np.eye(W), self.ends[:, None])
        else:
            served = _kron(self.room.pick(waiting), np.kron(np.eye(W), np.outer(self.ends, self.beta)))
            blocks[level - 1] = served + _kron(self.room.expire(waiting), np.eye(W * M))
        return blocks

    def generator(self, assignment: Sequence[int]) -> sparse.csr_array:
        """The whole generator as a sparse matrix, for chains that are not too large."""
        rows = []
        for level in range(self.top + 1):
            blocks = self.level_blocks(assignment[level], level)
            rows.append(
                [
                    sparse.csr_array(blocks[j])
                    if j in blocks
                    else sparse.csr_array((int(self.sizes[level]), int(self.sizes[j])))
                    for j in range(self.top + 1)
                ]
            )
        return sparse.csr_array(sparse.block_array(rows, format="csr"))

    def describe(self) -> Iterator[tuple[int, str, int, int | str]]:
        """Every state in words: pages, phases of the waiting pages, arrival phase, service phase.

        Waiting pages are listed in order ("0.1.1") or counted by phase ("1+2"), whichever the chain keeps.
        """
        W, M, R = self.arrival_phases, self.service_phases, self.waiting_phases
        for nu in range(W):
            yield 0, "", nu, ""
        for level in range(1, self.top + 1):
            names: Iterable[str]
            if self.ordered:
                names = (".".join(map(str, digits)) for digits in product(range(R), repeat=level - 1))
            else:
                names = ("+".join(map(str, counts)) for counts in compositions(level - 1, R))
            for name in names:
                for nu in range(W):
                    for m in range(M):
                        yield level, name, nu, m

    def split(self, vector: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        """A vector over all states as one array for each level: (ν,) for level 0, else (room, ν, m)."""
        levels = [vector[: self.arrival_phases]]
        for level in range(1, self.top + 1):
            part = vector[self.starts[level] : self.starts[level + 1]]
            levels.append(part.reshape(-1, self.arrival_phases, self.service_phases))
        return levels


def _kron(room: Any, inner: Any) -> Any:
    """Room ⊗ inner; plain arrays while the room has one state."""
    if room.shape == (1, 1):
        return np.asarray(float(room[0, 0]) * inner)
    return sparse.csr_array(sparse.kron(room, inner))
