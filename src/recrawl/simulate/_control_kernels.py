"""The compiled event loop of the crawl queue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from recrawl._compiled import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["COUNTERS", "run_queue"]

# What a segment of the run counts; level times follow behind.
COUNTERS = ("arrived", "lost", "obsolete", "served", "stay", "stay2", "kept", "kept2")
ARRIVED, LOST, OBSOLETE, SERVED, STAY, STAY2, KEPT, KEPT2 = range(8)


@compiled
def _phase_type(rng: Any, start: Any, holding: Any, jumps: Any) -> float:
    """One whole phase-type time: walk through the phases until the end."""
    order = holding.size
    if order == 1:
        return float(rng.standard_exponential() * holding[0])
    u = rng.random()
    phase = 0
    while u >= start[phase]:
        phase += 1
    time = 0.0
    while phase < order:
        time += rng.standard_exponential() * holding[phase]
        u = rng.random()
        following = 0
        while u >= jumps[phase, following]:
            following += 1
        phase = following
    return time


@compiled
def run_queue(
    rng: Any,
    capacity: int,
    admission: int,
    random_order: bool,
    mode_of_level: NDArray[np.int64],
    rates: NDArray[np.float64],
    moves: NDArray[np.float64],
    phases: int,
    service: tuple[Any, Any, Any],
    patience: tuple[Any, Any, Any],
    patient: bool,
    warm_up: int,
    per_segment: int,
    segments: int,
) -> NDArray[np.float64]:
    """Follow the queue event by event; one row of counters and level times for each segment.

    `rates[mode, ν]` is the rate at which the arrival phase ν ends, `moves[mode, ν]` cumulates over (batch size,
    next phase). `admission`: 0 partial, 1 reject, 2 admit. A segment ends after `per_segment` arrived pages.
    """
    top = mode_of_level.size - 1
    result = np.zeros((segments, 8 + top + 1))
    scratch = np.zeros(8 + top + 1)
    came = np.empty(top + 1)  # when the waiting pages came, in the order of arrival
    dies = np.empty(top + 1)  # when they become obsolete
    waiting, busy, served_came = 0, 0, 0.0
    now, phase, first_death, service_end = 0.0, 0, np.inf, np.inf
    mode = mode_of_level[0]
    next_move = rng.standard_exponential() / rates[mode, phase]
    row, left, segment = scratch, warm_up, -1
    while True:
        level = waiting + busy
        if next_move <= service_end and next_move <= first_death:
            row[8 + level] += next_move - now
            now = next_move
            u = rng.random()
            move = 0
            while u >= moves[mode, phase, move]:
                move += 1
            batch = move // phases
            phase = move % phases
            if batch > 0:
                room = capacity - level
                if admission == 0:
                    let_in = min(batch, room)
                elif admission == 1:
                    let_in = batch if batch <= room else 0
                else:
                    let_in = batch if room > 0 else 0
                row[ARRIVED] += batch
                row[LOST] += batch - let_in
                left -= batch
                if let_in > 0 and busy == 0:
                    busy, served_came = 1, now
                    service_end = now + _phase_type(rng, service[0], service[1], service[2])
                    let_in -= 1
                for _ in range(let_in):
                    came[waiting] = now
                    dies[waiting] = np.inf
                    if not patient:
                        dies[waiting] = now + _phase_type(rng, patience[0], patience[1], patience[2])
                        first_death = min(first_death, dies[waiting])
                    waiting += 1
            next_move = -1.0
        elif service_end <= first_death:
            row[8 + level] += service_end - now
            now = service_end
            stay = now - served_came
            row[SERVED] += 1.0
            row[STAY] += stay
            row[STAY2] += stay * stay
            if waiting > 0:
                taken = int(rng.random() * waiting) if random_order else 0
                served_came = came[taken]
                first_death = _remove(came, dies, taken, waiting, first_death)
                waiting -= 1
                service_end = now + _phase_type(rng, service[0], service[1], service[2])
            else:
                busy, service_end = 0, np.inf
        else:
            row[8 + level] += first_death - now
            now = first_death
            dead = 0
            while dies[dead] != first_death:
                dead += 1
            stay = now - came[dead]
            row[OBSOLETE] += 1.0
            row[KEPT] += stay
            row[KEPT2] += stay * stay
            first_death = _remove(came, dies, dead, waiting, first_death)
            waiting -= 1
        wanted = mode_of_level[waiting + busy]
        # Exponential phases forget their age, so a new mode may draw anew.
        if wanted != mode or next_move < 0.0:
            mode = wanted
            next_move = now + rng.standard_exponential() / rates[mode, phase]
        if left <= 0:
            segment += 1
            if segment == segments:
                return result
            row, left = result[segment], per_segment


@compiled
def _remove(came: Any, dies: Any, place: int, waiting: int, first_death: float) -> float:
    """Close the gap that a page leaves; the next death among the rest."""
    gone = dies[place]
    for k in range(place, waiting - 1):
        came[k] = came[k + 1]
        dies[k] = dies[k + 1]
    if gone > first_death:
        return first_death
    earliest = np.inf
    for k in range(waiting - 1):
        earliest = min(earliest, dies[k])
    return earliest
