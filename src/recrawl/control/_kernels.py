"""Compiled loops of the stationary solvers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from recrawl._compiled import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["eliminate", "inflow_from_above", "inflow_from_below", "marginals", "solve_level"]


@compiled
def eliminate(
    rows: NDArray[np.float64], first: NDArray[np.int64], reach: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Stationary vector by Grassmann-Taksar-Heyman elimination in a band; `rows` is overwritten.

    `rows[s, c]` is the rate from s to state first[s] + c; states from reach[s] on may lead to s. States are
    censored from the last to the first; a state's rate out is the sum of its rates to lower states.
    """
    size = rows.shape[0]
    for s in range(size - 1, 0, -1):
        start = first[s]
        width = s - start
        out = 0.0
        for c in range(width):
            out += rows[s, c]
        for i in range(reach[s], s):
            rate = rows[i, s - first[i]]
            if rate != 0.0:
                rate /= out
                rows[i, s - first[i]] = rate
                shift = start - first[i]
                for c in range(width):
                    rows[i, shift + c] += rate * rows[s, c]
    share = np.zeros(size)
    share[0] = 1.0
    total = 1.0
    for s in range(1, size):
        mass = 0.0
        for i in range(reach[s], s):
            mass += share[i] * rows[i, s - first[i]]
        share[s] = mass
        total += mass
        if total > 1e250:
            share[: s + 1] /= total
            total = 1.0
    return share / total


@compiled
def assemble(
    bands: NDArray[np.float64], modes: NDArray[np.int64], levels: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Rows of the generator under a policy: `bands[mode, s]` for the mode of the level of s."""
    rows = np.empty((bands.shape[1], bands.shape[2]))
    for s in range(rows.shape[0]):
        rows[s] = bands[modes[levels[s]], s]
    return rows


@compiled
def reward_rates(
    share: NDArray[np.float64],
    rewards: NDArray[np.float64],
    modes: NDArray[np.int64],
    levels: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Long-run rates of several rewards; `rewards[mode, s, which]`."""
    total = np.zeros(rewards.shape[2])
    for s in range(share.size):
        mode = modes[levels[s]]
        for which in range(total.size):
            total[which] += share[s] * rewards[mode, s, which]
    return total


@compiled
def evaluate_policies(
    bands: NDArray[np.float64],
    rewards: NDArray[np.float64],
    assignments: NDArray[np.int64],
    levels: NDArray[np.int64],
    first: NDArray[np.int64],
    reach: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Reward rates of many policies, one row for each."""
    result = np.empty((assignments.shape[0], rewards.shape[2]))
    for k in range(assignments.shape[0]):
        share = eliminate(assemble(bands, assignments[k], levels), first, reach)
        result[k] = reward_rates(share, rewards, assignments[k], levels)
    return result


# The kernels below treat one level with n waiting pages as a matrix (R^n, W·M) whose rows are numbered by the
# phases of the waiting pages, the first page being the most significant digit. Scalars may be complex.


@compiled
def inflow_from_below(
    x: Any,
    starts: NDArray[np.int64],
    level: int,
    ups: NDArray[np.float64],
    beta: NDArray[np.float64],
    gamma: Any,
    out: Any,
) -> None:
    """Add to `out` what batches bring from lower levels: Σ_k (x_{level−k} D_k) ⊗ γ^{⊗k}, by Horner's rule.

    `ups[i, k]` moves the arrival phase when k pages are let in at level i.
    """
    phases, inner = gamma.size, out.shape[1]
    M = beta.size
    W = inner // M
    most = min(ups.shape[1] - 1, level)
    carried = np.zeros((1, inner), dtype=x.dtype)
    for k in range(most, 0, -1):
        source = level - k
        if source == 0:
            for a in range(W):
                for b in range(W):
                    flow = x[a] * ups[0, k, a, b]
                    for m in range(M):
                        carried[0, b * M + m] += flow * beta[m]
            if k == 1:  # the first page of a batch goes straight into service: no digit for it
                out += carried
            continue
        rows = (starts[source + 1] - starts[source]) // inner
        block = x[starts[source] : starts[source + 1]].reshape(rows, inner)
        grown = np.zeros((rows, inner), dtype=x.dtype)
        if carried.shape[0] == rows:
            grown[:] = carried
        _add_moved(block, ups[source, k], M, grown)
        if k > 1:
            carried = _appended(grown, gamma)
            continue
        for row in range(rows):
            for r in range(phases):
                for c in range(inner):
                    out[row * phases + r, c] += grown[row, c] * gamma[r]


@compiled
def _add_moved(block: Any, matrix: NDArray[np.float64], M: int, out: Any) -> None:
    """Add block (matrix ⊗ I_M) to `out`: a move of the arrival phase."""
    W = matrix.shape[0]
    for row in range(block.shape[0]):
        for a in range(W):
            for b in range(W):
                rate = matrix[a, b]
                if rate != 0.0:
                    for m in range(M):
                        out[row, b * M + m] += block[row, a * M + m] * rate


@compiled
def _appended(rows: Any, gamma: Any) -> Any:
    """One more page at the end of the queue."""
    phases = gamma.size
    result = np.empty((rows.shape[0] * phases, rows.shape[1]), dtype=rows.dtype)
    for row in range(rows.shape[0]):
        for r in range(phases):
            result[row * phases + r] = rows[row] * gamma[r]
    return result


@compiled
def inflow_from_above(
    above: Any,
    waiting: int,
    ends: NDArray[np.float64],
    beta: NDArray[np.float64],
    ones: Any,
    expiries: Any,
    out: Any,
) -> None:
    """Add to `out` what leaves the level above, with `waiting` pages: service ends or a page expires.

    `ones` and `expiries` are the vectors 1 and Γ₀ in the basis of the phases.
    """
    phases, M = ones.size, beta.size
    inner = out.shape[1]
    W = inner // M
    rows = out.shape[0]
    for r in range(phases):
        if ones[r] == 0.0:
            continue
        for row in range(rows):
            for a in range(W):
                flow = above[r * rows + row, a * M] * ends[0]
                for m in range(1, M):
                    flow += above[r * rows + row, a * M + m] * ends[m]
                flow *= ones[r]
                for m in range(M):
                    out[row, a * M + m] += flow * beta[m]
    _expire(above.ravel(), waiting, inner, expiries, out.ravel())


@compiled
def _expire(above: Any, waiting: int, inner: int, expiries: Any, out: Any) -> None:
    """Sum over the places of the page that expires: its digit is contracted with Γ₀."""
    phases = expiries.size
    low = inner
    for _ in range(waiting):
        high = out.size // low
        for h in range(high):
            for r in range(phases):
                rate = expiries[r]
                source = (h * phases + r) * low
                target = h * low
                for c in range(low):
                    out[target + c] += rate * above[source + c]
        low *= phases


@compiled
def solve_level(rhs: Any, waiting: int, T: Any, keys: NDArray[np.int64], inverses: Any, out: Any) -> None:
    """Solve x (−(A ⊕ T ⊕ … ⊕ T)) = rhs for an upper triangular T, row by row in the order of the digits.

    `inverses[keys[row]]` is (−A − Σ_j T[r_j, r_j] I)⁻¹ for the row's digits; `rhs` is overwritten.
    """
    phases, inner = T.shape[0], rhs.shape[1]
    diagonal = True
    for s in range(phases):
        for r in range(s + 1, phases):
            if T[s, r] != 0.0:
                diagonal = False
    for row in range(rhs.shape[0]):
        if not diagonal:
            place = 1
            for _ in range(waiting):
                r = (row // place) % phases
                for s in range(r):
                    rate = T[s, r]
                    if rate != 0.0:
                        other = row - (r - s) * place
                        for c in range(inner):
                            rhs[row, c] += rate * out[other, c]
                place *= phases
        inverse = inverses[keys[row]]
        for c in range(inner):
            value = rhs[row, 0] * inverse[0, c]
            for b in range(1, inner):
                value += rhs[row, b] * inverse[b, c]
            out[row, c] = value


@compiled
def marginals(block: Any, waiting: int, ones: Any, expiries: Any) -> tuple[Any, Any]:
    """Mass of a level by (ν, m), and its mass times the total rate of obsolescence."""
    phases, inner = ones.size, block.shape[1]
    mass = block
    expiring = np.zeros((1, inner), dtype=block.dtype)
    for step in range(waiting):
        rows = mass.shape[0] // phases
        less = np.zeros((rows, inner), dtype=block.dtype)
        more = np.zeros((rows, inner), dtype=block.dtype)
        for row in range(rows):
            for r in range(phases):
                for c in range(inner):
                    value = mass[row * phases + r, c]
                    less[row, c] += ones[r] * value
                    more[row, c] += expiries[r] * value
                    if step > 0:
                        more[row, c] += ones[r] * expiring[row * phases + r, c]
        mass, expiring = less, more
    return mass[0].copy(), expiring[0].copy()


@compiled
def change_basis(vector: Any, digits: int, inner: int, matrix: Any) -> None:
    """Multiply every digit of a level by `matrix`, in place: x (M ⊗ … ⊗ M ⊗ I)."""
    phases = matrix.shape[0]
    held = np.empty(phases, dtype=vector.dtype)
    low = inner
    for _ in range(digits):
        high = vector.size // (low * phases)
        for h in range(high):
            for c in range(low):
                base = h * phases * low + c
                for r in range(phases):
                    held[r] = vector[base + r * low]
                for r in range(phases):
                    value = held[0] * matrix[0, r]
                    for s in range(1, phases):
                        value += held[s] * matrix[s, r]
                    vector[base + r * low] = value
        low *= phases


@compiled
def add_moves(block: Any, waiting: int, inner: int, S: Any, out: Any) -> None:
    """Add x (S ⊕ … ⊕ S) ⊗ I to `out`: all moves of the phases of waiting pages."""
    phases = S.shape[0]
    low = inner
    for _ in range(waiting):
        high = block.size // (low * phases)
        for h in range(high):
            for s in range(phases):
                for r in range(phases):
                    rate = S[s, r]
                    if rate != 0.0:
                        source = (h * phases + s) * low
                        target = (h * phases + r) * low
                        for c in range(low):
                            out[target + c] += rate * block[source + c]
        low *= phases
