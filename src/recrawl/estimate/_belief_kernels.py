"""Compiled loops of the belief about change rates."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from recrawl._compiled import compiled, compiled_in_place, compiled_inline

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = [
    "add_access",
    "due",
    "grid_posterior",
    "learn",
    "mixed",
    "node_weights",
    "quantiles",
    "reach",
    "responsibilities",
    "summarise",
    "update",
    "worth",
]

_NEGLIGIBLE = 40.0  # log-likelihood this far below the best adds nothing that a double can hold


@compiled
def update(
    loglik: NDArray[np.float32],
    slots: NDArray[np.int64],
    elapsed: Floats,
    kinds: NDArray[np.int8],
    ages: Floats,
    rates: Floats,
    log_rates: Floats,
    forgetting: float,
) -> None:
    """Add one access after the other to the log-likelihoods; the largest of each page stays 0.

    Every row is first multiplied by e^{−forgetting·elapsed}.
    """
    for i in range(slots.size):
        tau = elapsed[i]
        kept = math.exp(-forgetting * tau) if forgetting > 0.0 and tau < math.inf else 1.0
        add_access(loglik[slots[i]], tau, kinds[i], ages[i], rates, log_rates, kept)


@compiled_in_place
def add_access(
    row: NDArray[np.float32], tau: float, kind: int, age: float, rates: Floats, log_rates: Floats, kept: float
) -> None:
    """Add one access to the log-likelihoods of a page, of which the share `kept` stays; the largest becomes 0."""
    log_tau = math.log(tau)
    best = -math.inf
    for k in range(rates.size):
        x = rates[k] * tau
        if kind == 0:
            gain = -x
        elif kind == 2:
            gain = log_rates[k] - rates[k] * age
        elif x < 1e-3:
            gain = log_rates[k] + log_tau - 0.5 * x + x * x / 24.0
        elif x > _NEGLIGIBLE:
            gain = 0.0
        else:
            gain = math.log(-math.expm1(-x))
        value = kept * row[k] + gain
        row[k] = value
        best = max(best, value)
    for k in range(rates.size):
        row[k] -= best


@compiled_in_place
def grid_posterior(row: NDArray[np.float32], prior: Floats, weights: Floats) -> None:
    """Probabilities of the grid's rates alone, nothing between them: coarser than `_posterior`, and quick.

    The prior is a density, as there: the two ends count half.
    """
    last = row.size - 1
    total = 0.0
    for k in range(row.size):
        weights[k] = prior[k] * math.exp(row[k]) if row[k] > -_NEGLIGIBLE else 0.0
        if k in (0, last):
            weights[k] *= 0.5
        total += weights[k]
    for k in range(row.size):
        weights[k] /= total


@compiled_inline
def _posterior(
    row: NDArray[np.float32], prior: Floats, stencil: Floats, parts: int, weights: Floats
) -> tuple[int, int]:
    """Weights of the posterior (sum 1) at the nodes between the grid points, and the range of nodes used.

    The log-likelihood between two grid points is the polynomial through the six nearest ones; the prior
    density is linear between the points at which it is given, the grid points or finer ones; nodes have equal
    weight (the two ends half), the trapezoidal rule.
    """
    points = row.size
    step = parts // ((prior.size - 1) // (points - 1))  # nodes between two points of the prior
    first = 0
    while first < points - 2 and row[first] < -_NEGLIGIBLE and row[first + 1] < -_NEGLIGIBLE:
        first += 1
    last = points - 1
    while last > first + 1 and row[last] < -_NEGLIGIBLE and row[last - 1] < -_NEGLIGIBLE:
        last -= 1
    best = -math.inf
    for k in range(first, last):
        base = min(max(k - 2, 0), points - 6)
        for j in range(parts):
            value = 0.0
            for s in range(6):
                value += stencil[k - base, j, s] * row[base + s]
            weights[k * parts + j] = value
            best = max(best, value)
    weights[last * parts] = row[last]
    best = max(best, row[last])
    total = 0.0
    for k in range(first, last + 1):
        for j in range(parts if k < last else 1):
            node = k * parts + j
            place = node // step
            t = (node - place * step) / step
            density = prior[place] if t == 0.0 else (1.0 - t) * prior[place] + t * prior[place + 1]
            if node in (0, (points - 1) * parts):
                density *= 0.5
            gap = weights[node] - best
            weights[node] = density * math.exp(gap) if gap > -_NEGLIGIBLE else 0.0
            total += weights[node]
    for node in range(first * parts, last * parts + 1):
        weights[node] /= total
    return first * parts, last * parts + 1


@compiled
def summarise(
    loglik: NDArray[np.float32],
    slots: NDArray[np.int64],
    groups: NDArray[np.int32],
    priors: Floats,
    stencil: Floats,
    nodes: Floats,
    parts: int,
    elapsed: Floats,
    what: int,
    weights: Floats,
    out: Floats,
) -> None:
    """Posterior means: 0 of λ, 1 of e^{−λτ}, 2 of (1 − (1+λτ)e^{−λτ})/λ, 3 of ln λ."""
    for i in range(slots.size):
        begin, end = _posterior(loglik[slots[i]], priors[groups[slots[i]]], stencil, parts, weights)
        total = 0.0
        for node in range(begin, end):
            rate = nodes[node]
            if what == 0:
                total += weights[node] * rate
            elif what == 1:
                total += weights[node] * math.exp(-rate * elapsed[i])
            elif what == 2:
                total += weights[node] * _regained(rate * elapsed[i]) / rate
            else:
                total += weights[node] * math.log(rate)
        out[i] = total


@compiled_inline
def _regained(x: float) -> float:
    """1 − (1+x)e^{−x} without cancellation."""
    if x < 0.05:
        return x * x * (0.5 - x * (1.0 / 3.0 - x * (0.125 - x * (1.0 / 30.0 - x / 144.0))))
    return 1.0 - (1.0 + x) * math.exp(-x)


@compiled
def due(
    loglik: NDArray[np.float32],
    slots: NDArray[np.int64],
    groups: NDArray[np.int32],
    priors: Floats,
    stencil: Floats,
    nodes: Floats,
    parts: int,
    levels: Floats,
    weights: Floats,
    out: Floats,
) -> None:
    """The elapsed time τ at which E[(1 − (1+λτ)e^{−λτ})/λ] reaches the level; infinite if it never does."""
    for i in range(slots.size):
        begin, end = _posterior(loglik[slots[i]], priors[groups[slots[i]]], stencil, parts, weights)
        most = 0.0
        mean = 0.0
        for node in range(begin, end):
            most += weights[node] / nodes[node]
            mean += weights[node] * nodes[node]
        level = levels[i]
        if level >= most:
            out[i] = math.inf
            continue
        low = 0.5 * math.log(2.0 * level / mean)
        out[i] = math.exp(reach(nodes, weights, begin, end, level, low, low, 1e-9)[0])


@compiled
def worth(nodes: Floats, weights: Floats, begin: int, end: int, tau: float) -> tuple[float, float]:
    """E[(1 − (1+λτ)e^{−λτ})/λ] and its slope in ln τ, E[λτ² e^{−λτ}]."""
    value = 0.0
    slope = 0.0
    for node in range(begin, end):
        if weights[node] > 0.0:
            x = nodes[node] * tau
            if x < 0.05:
                value += weights[node] * _regained(x) / nodes[node]
                slope += weights[node] * x * tau * (1.0 - x * (1.0 - x * (0.5 - x / 6.0)))
            else:
                e = math.exp(-x)
                value += weights[node] * (1.0 - (1.0 + x) * e) / nodes[node]
                slope += weights[node] * x * tau * e
    return value, slope


@compiled
def reach(
    nodes: Floats,
    weights: Floats,
    begin: int,
    end: int,
    level: float,
    low: float,
    start: float,
    within: float,
) -> tuple[float, float]:
    """ln of the time at which `worth` reaches a level that it does reach, and d ln worth / d ln time near there.

    Newton steps in ln τ inside a bracket, from `start`; the answer is above `low`: for small τ the value is about
    E[λ] τ²/2, and it never exceeds that.
    """
    high = math.inf
    y = max(low, start)
    lean = 1.0
    for _ in range(100):
        value, slope = worth(nodes, weights, begin, end, math.exp(y))
        if value < level:
            low = y
        else:
            high = y
        # In ln(1 − value/most) against τ the curve is nearly straight for large τ; Newton on the
        # logarithm of the value is nearly straight for small τ. The second is enough with a bracket.
        lean = max(slope, 1e-300) / value
        forward = y + min(max(math.log(level / value) / lean, -3.0), 3.0)
        if not low < forward < high:
            forward = 0.5 * (low + high) if high < math.inf else y + 1.0
        moved = abs(forward - y)
        y = forward
        if moved < within:
            break
    return y, lean


@compiled
def quantiles(
    loglik: NDArray[np.float32],
    slots: NDArray[np.int64],
    groups: NDArray[np.int32],
    priors: Floats,
    stencil: Floats,
    nodes: Floats,
    parts: int,
    probabilities: Floats,
    weights: Floats,
    out: Floats,
) -> None:
    """Quantiles of the posterior, probabilities rising; linear in ln λ inside the cell around each node."""
    half = 0.5 * math.log(nodes[1] / nodes[0])
    for i in range(slots.size):
        begin, end = _posterior(loglik[slots[i]], priors[groups[slots[i]]], stencil, parts, weights)
        below = 0.0
        node = begin
        for q in range(probabilities.size):
            while node < end - 1 and below + weights[node] < probabilities[q]:
                below += weights[node]
                node += 1
            share = (probabilities[q] - below) / weights[node] if weights[node] > 0.0 else 0.5
            low = 0.0 if node == 0 else -half
            high = 0.0 if node == nodes.size - 1 else half
            out[i, q] = nodes[node] * math.exp(low + min(max(share, 0.0), 1.0) * (high - low))


@compiled_inline
def _add_hats(
    weights: Floats, begin: int, end: int, prior: Floats, points: int, parts: int, sums: Floats
) -> None:
    """Add the posterior mass of each grid point: a node's weight is shared by the two hats that cover it.

    By the hats' own densities if they make up the prior (one step of EM), evenly if the prior is finer.
    """
    hats = prior.size == points
    for node in range(begin, end):
        k = node // parts
        t = (node - k * parts) / parts
        if t == 0.0:
            sums[k] += weights[node]
            continue
        left = (1.0 - t) * prior[k] if hats else 1.0 - t
        right = t * prior[k + 1] if hats else t
        sums[k] += weights[node] * left / (left + right)
        sums[k + 1] += weights[node] * right / (left + right)


@compiled
def responsibilities(
    loglik: NDArray[np.float32],
    slots: NDArray[np.int64],
    groups: NDArray[np.int32],
    priors: Floats,
    stencil: Floats,
    parts: int,
    weights: Floats,
    out: Floats,
) -> None:
    """Posterior mass of each grid point, a row for each slot."""
    for i in range(slots.size):
        row = loglik[slots[i]]
        prior = priors[groups[slots[i]]]
        begin, end = _posterior(row, prior, stencil, parts, weights)
        out[i, :] = 0.0
        _add_hats(weights, begin, end, prior, row.size, parts, out[i])


@compiled
def node_weights(
    loglik: NDArray[np.float32],
    slots: NDArray[np.int64],
    prior: Floats,
    stencil: Floats,
    parts: int,
    out: Floats,
) -> None:
    """Posterior mass of each node under one prior, a row for each slot."""
    for i in range(slots.size):
        out[i, :] = 0.0
        _posterior(loglik[slots[i]], prior, stencil, parts, out[i])


@compiled
def learn(
    loglik: NDArray[np.float32],
    alive: NDArray[np.bool_],
    groups: NDArray[np.int32],
    priors: Floats,
    stencil: Floats,
    parts: int,
    weights: Floats,
    sums: Floats,
    counts: Floats,
) -> None:
    """Sum the posterior masses of the grid points over the pages of each group (one step of EM)."""
    for page in range(alive.size):
        if not alive[page]:
            continue
        group = groups[page]
        row = loglik[page]
        begin, end = _posterior(row, priors[group], stencil, parts, weights)
        counts[group] += 1.0
        _add_hats(weights, begin, end, priors[group], row.size, parts, sums[group])


@compiled
def mixed(likelihoods: Floats, masses: Floats, slopes: Floats) -> float:
    """Log-likelihood of pages whose rates have these masses, and its slope at each of them."""
    total = 0.0
    slopes[:] = 0.0
    for page in range(likelihoods.shape[0]):
        chance = 0.0
        for node in range(masses.size):
            chance += likelihoods[page, node] * masses[node]
        chance = max(chance, 1e-300)
        total += math.log(chance)
        inverse = 1.0 / chance
        for node in range(masses.size):
            slopes[node] += inverse * likelihoods[page, node]
    return total
