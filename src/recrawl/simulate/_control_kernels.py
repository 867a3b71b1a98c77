"""The compiled event loop of the crawl queue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from recrawl._compiled import compiled, compiled_inline

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


# Times of the state: now, end of the service, first obsolescence, arrival of the page in service.
NOW, END, DEATH, CAME = range(4)
# Counts of the state: waiting pages, 1 if the server is busy, arrival phase.
WAITING, BUSY, PHASE = range(3)


@compiled_inline
def _let_in(admission: int, batch: int, room: int) -> int:
    """Pages of a batch that find a place; `admission`: 0 partial, 1 reject, 2 admit."""
    if admission == 0:
        return min(batch, room)
    if admission == 1:
        return batch if batch <= room else 0
    return batch if room > 0 else 0


@compiled_inline
def _arrive(
    rng: Any,
    times: Any,
    counts: Any,
    came: Any,
    dies: Any,
    pages: int,
    service: Any,
    patience: Any,
    patient: bool,
) -> None:
    """Admitted pages: the first may go straight into service, the others wait, each with its own patience."""
    now = times[NOW]
    if pages > 0 and counts[BUSY] == 0:
        counts[BUSY] = 1
        times[CAME] = now
        times[END] = now + _phase_type(rng, service[0], service[1], service[2])
        pages -= 1
    for _ in range(pages):
        place = counts[WAITING]
        came[place] = now
        dies[place] = np.inf
        if not patient:
            dies[place] = now + _phase_type(rng, patience[0], patience[1], patience[2])
            times[DEATH] = min(times[DEATH], dies[place])
        counts[WAITING] += 1


@compiled_inline
def _finish(
    rng: Any, times: Any, counts: Any, came: Any, dies: Any, row: Any, service: Any, random_order: bool
) -> None:
    """A service ends; the next page, first or random, follows."""
    stay = times[NOW] - times[CAME]
    row[SERVED] += 1.0
    row[STAY] += stay
    row[STAY2] += stay * stay
    waiting = counts[WAITING]
    if waiting > 0:
        taken = int(rng.random() * waiting) if random_order else 0
        times[CAME] = came[taken]
        times[DEATH] = _remove(came, dies, taken, waiting, times[DEATH])
        counts[WAITING] -= 1
        times[END] = times[NOW] + _phase_type(rng, service[0], service[1], service[2])
    else:
        counts[BUSY] = 0
        times[END] = np.inf


@compiled_inline
def _expire(times: Any, counts: Any, came: Any, dies: Any, row: Any) -> None:
    """The page whose time has come leaves the queue."""
    dead = 0
    while dies[dead] != times[DEATH]:
        dead += 1
    stay = times[NOW] - came[dead]
    row[OBSOLETE] += 1.0
    row[KEPT] += stay
    row[KEPT2] += stay * stay
    times[DEATH] = _remove(came, dies, dead, counts[WAITING], times[DEATH])
    counts[WAITING] -= 1


@compiled
def run_queue(
    rng: Any,
    capacity: int,
    admission: int,
    random_order: bool,
    mode_of_level: NDArray[np.int64],
    rates: NDArray[np.float64],
    moves: NDArray[np.float64],
    service: tuple[Any, Any, Any],
    patience: tuple[Any, Any, Any],
    patient: bool,
    warm_up: int,
    per_segment: int,
    segments: int,
) -> NDArray[np.float64]:
    """Follow the queue event by event; one row of counters and level times for each segment.

    `rates[mode, ν]` is the rate at which the arrival phase ν ends, `moves[mode, ν]` cumulates over (batch
    size, next phase). A segment ends after `per_segment` arrived pages.
    """
    top, phases = mode_of_level.size - 1, rates.shape[1]
    result = np.zeros((segments + 1, 8 + top + 1))  # the first row takes the warm-up
    came, dies = np.empty(top + 1), np.empty(top + 1)  # of the waiting pages, in the order of arrival
    times = np.array([0.0, np.inf, np.inf, 0.0])
    counts = np.zeros(3, dtype=np.int64)
    mode = mode_of_level[0]
    next_move = rng.standard_exponential() / rates[mode, 0]
    segment, left = 0, warm_up
    row = result[segment]
    while True:
        level = counts[WAITING] + counts[BUSY]
        event = min(next_move, times[END], times[DEATH])
        row[8 + level] += event - times[NOW]
        times[NOW] = event
        moved = event == next_move
        if moved:
            u = rng.random()
            move = 0
            while u >= moves[mode, counts[PHASE], move]:
                move += 1
            counts[PHASE] = move % phases
            batch = move // phases
            pages = _let_in(admission, batch, capacity - level)
            row[ARRIVED] += batch
            row[LOST] += batch - pages
            left -= batch
            _arrive(rng, times, counts, came, dies, pages, service, patience, patient)
        elif event == times[END]:
            _finish(rng, times, counts, came, dies, row, service, random_order)
        else:
            _expire(times, counts, came, dies, row)
        wanted = mode_of_level[counts[WAITING] + counts[BUSY]]
        # Exponential phases forget their age, so a new mode may draw anew.
        if moved or wanted != mode:
            mode = wanted
            next_move = event + rng.standard_exponential() / rates[mode, counts[PHASE]]
        if left <= 0:
            segment += 1
            left = per_segment
            if segment > segments:
                return result[1:]
            row = result[segment]


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
