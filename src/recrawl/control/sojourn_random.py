"""How long a page stays when the next page is taken at random.

Later arrivals may overtake a page, so its fate depends on the arrivals and on the policy. The tagged page is
followed explicitly: its states are (number and phases of the other waiting pages, own phase, ν, m), and its
time in the queue is phase-type over them. Not in the paper, which serves in the order of arrival.
"""

from __future__ import annotations

from math import factorial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from recrawl.control.chain import Chain

__all__ = ["TaggedPage"]


class TaggedPage:
    """The waiting time of a page in a queue served in random order, under a policy."""

    def __init__(self, chain: Chain, assignment: Sequence[int], share: NDArray[np.float64]) -> None:
        self.chain, self.assignment = chain, assignment
        W, M, R = chain.arrival_phases, chain.service_phases, chain.waiting_phases
        # Others waiting: 0 ... top − 2; level = others + 2 (one in service, the tagged page itself).
        self.sizes = [chain.room.size(n) * R * W * M for n in range(chain.top - 1)]
        self.starts = np.concatenate(([0], np.cumsum(self.sizes))).astype(int)
        self.entries, self.straight = self._entries(chain.split(share))
        if self.sizes:
            self.A = self._moves()
            rooms = [
                np.kron(np.ones(chain.room.size(n) * R * W), chain.ends) / (n + 1)
                for n in range(chain.top - 1)
            ]
            self.taken = np.concatenate(rooms)
            self.expiring = np.concatenate(
                [
                    np.kron(np.ones(chain.room.size(n)), np.kron(chain.expiries, np.ones(W * M)))
                    for n in range(chain.top - 1)
                ]
            )

    def _moves(self) -> Any:
        """Rates among the tagged page's states."""
        chain = self.chain
        W, M, R, top = chain.arrival_phases, chain.service_phases, chain.waiting_phases, chain.top
        eye_r, eye_w, eye_m = sparse.eye_array(R), sparse.eye_array(W), sparse.eye_array(M)
        blocks: list[list[Any]] = [[None] * (top - 1) for _ in range(top - 1)]
        for n in range(top - 1):
            jumps = chain.jumps[self.assignment[n + 2], n + 2]
            room = sparse.eye_array(chain.room.size(n))
            own = sparse.kron(room, sparse.kron(sparse.csr_array(chain.Gamma), sparse.eye_array(W * M)))
            inner = np.kron(jumps[0], np.eye(M)) + np.kron(np.eye(W), chain.S)
            others = sparse.kron(chain.room.move(n), sparse.eye_array(R * W * M))
            blocks[n][n] = own + others + sparse.kron(sparse.kron(room, eye_r), inner)
            for k in range(1, min(len(jumps) - 1, top - 2 - n) + 1):
                if jumps[k].any():
                    grown = sparse.kron(chain.room.grow(n, k), eye_r)
                    blocks[n][n + k] = sparse.kron(grown, sparse.kron(sparse.csr_array(jumps[k]), eye_m))
            if n:
                served = sparse.kron(eye_w, sparse.csr_array(np.outer(chain.ends, chain.beta)))
                picked = sparse.kron(sparse.kron(chain.room.pick(n), eye_r), served) * (n / (n + 1))
                blocks[n][n - 1] = picked + sparse.kron(chain.room.expire(n), sparse.eye_array(R * W * M))
        return sparse.csc_array(sparse.block_array(blocks))

    def _entries(self, levels: list[NDArray[np.float64]]) -> tuple[NDArray[np.float64], float]:
        """Rate at which tagged pages enter each state, and rate of pages that go straight into service."""
        chain = self.chain
        entries = np.zeros(self.starts[-1])
        straight = 0.0
        for level, part in enumerate(levels):
            for k, jump in enumerate(chain.jumps[self.assignment[level], level]):
                if k == 0 or not jump.any():
                    continue
                flow = np.tensordot(part, jump, axes=(0 if level == 0 else 1, 0))
                waiting = k - 1 if level == 0 else k
                if level == 0:
                    straight += float(flow.sum())
                    flow = flow[None, :, None] * chain.beta[None, None, :]
                else:
                    flow = flow.transpose(0, 2, 1)  # (room, ν', m)
                if waiting == 0:
                    continue
                before = max(level - 1, 0)
                n = before + waiting - 1
                rooms = chain.room.grow(before, waiting - 1).T @ flow.reshape(flow.shape[0], -1)
                tagged = waiting * rooms[:, None, :] * chain.gamma[None, :, None]
                entries[self.starts[n] : self.starts[n + 1]] += tagged.ravel()
        return entries, straight

    def waiting_moments(self, order: int) -> dict[str, list[float]]:
        """Rates times E[wait^d; fate], d = 0 ... `order`, of pages served or obsolete in the end."""
        served = [self.straight] + [0.0] * order
        obsolete = [0.0] * (order + 1)
        if self.sizes:
            from scipy.sparse.linalg import splu

            factors = splu(-self.A)
            occupied = self.entries
            for d in range(order + 1):
                occupied = factors.solve(occupied, trans="T")
                served[d] += factorial(d) * float(occupied @ self.taken)
                obsolete[d] += factorial(d) * float(occupied @ self.expiring)
        return {"served": served, "obsolete": obsolete}

    def waiting_transform(self, u: complex) -> dict[str, complex]:
        """Rates times E[e^{−u wait}; fate]."""
        if not self.sizes:
            return {"served": self.straight, "obsolete": 0.0}
        from scipy.sparse.linalg import splu

        eye = sparse.eye_array(self.A.shape[0], format="csc")
        occupied = splu(sparse.csc_array(u * eye - self.A)).solve(self.entries.astype(complex), trans="T")
        return {
            "served": self.straight + complex(occupied @ self.taken),
            "obsolete": complex(occupied @ self.expiring),
        }
