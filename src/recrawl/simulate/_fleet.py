"""Compiled loop of `simulate/fleet.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recrawl._compiled import compiled, compiled_inline

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["IDLE", "play"]

# The state between batches: clock, end of the service (IDLE: none), first and number of waiting pages.
IDLE = -1.0


@compiled_inline
def _keep(
    now: float,
    first: int,
    waiting: int,
    arrived: NDArray[np.float64],
    expires: NDArray[np.float64],
    lengths: NDArray[np.float64],
) -> int:
    """Close the ranks of the pages that have not expired; their number."""
    places = arrived.size
    kept = 0
    for i in range(waiting):
        page = (first + i) % places
        if expires[page] > now:
            target = (first + kept) % places
            arrived[target] = arrived[page]
            expires[target] = expires[page]
            lengths[target] = lengths[page]
            kept += 1
    return kept


@compiled
def play(
    gaps: NDArray[np.float64],
    services: NDArray[np.float64],
    patience: NDArray[np.float64],
    arrived: NDArray[np.float64],
    expires: NDArray[np.float64],
    lengths: NDArray[np.float64],
    state: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Let pages arrive one by one; count what happens.

    `arrived`, `expires` and `lengths` are the buffer of waiting pages, a ring. Returns time, idle time, lost pages,
    obsolete pages, indexed pages and their total response time.
    """
    places = arrived.size  # waiting places
    clock, service_end = state[0], state[1]
    first, waiting = int(state[2]), int(state[3])
    began = clock
    idle, lost, obsolete, indexed, response = 0.0, 0.0, 0.0, 0.0, 0.0
    for n in range(gaps.size):
        now = clock + gaps[n]
        # The indexer works until the next page arrives.
        free_since = clock
        while service_end >= 0.0 and service_end <= now:
            free_since = service_end
            service_end = -1.0
            while waiting > 0:
                page = first
                first = (first + 1) % places
                waiting -= 1
                if expires[page] > free_since:
                    service_end = free_since + lengths[page]
                    indexed += 1.0
                    response += service_end - arrived[page]
                    break
                obsolete += 1.0
        if service_end < 0.0:
            idle += now - free_since
        # Pages whose time has run out leave the buffer.
        if waiting > 0 and patience.size > 0:
            kept = _keep(now, first, waiting, arrived, expires, lengths)
            obsolete += waiting - kept
            waiting = kept
        clock = now
        if service_end < 0.0:
            service_end = now + services[n]
            indexed += 1.0
            response += services[n]
        elif waiting < places:
            page = (first + waiting) % places
            arrived[page] = now
            lengths[page] = services[n]
            expires[page] = now + patience[n] if patience.size > 0 else np.inf
            waiting += 1
        else:
            lost += 1.0
    state[0], state[1], state[2], state[3] = clock, service_end, first, waiting
    return np.array([clock - began, idle, lost, obsolete, indexed, response])
