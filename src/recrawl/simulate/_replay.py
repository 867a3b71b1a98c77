"""Compiled loops of the replay: the world of a history, and the policies that need no belief.

Accesses happen at start + 1/B, start + 2/B, ...; an event at the very time of an access comes before it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recrawl._compiled import compiled
from recrawl.revisit.sequences._kernels import heap_drop, heap_push

__all__ = ["World", "access", "advance", "clairvoyant_steps", "due_steps", "finish"]

_CHANGED, _APPEARED, _GONE = 0, 1, 2

# Places in World.clock and World.cursor.
NOW, SINCE, LIVE, FRESH, AREA = 0, 1, 2, 3, 4
EVENT, HEAD, TAIL, ACCESSES, FAILED = 0, 1, 2, 3, 4

# What an access finds.
UNCHANGED, NEWS, NOTHING = 0, 1, 2


class World(NamedTuple):
    """A history being played: events, pages, and the state of the clock."""

    time: NDArray[np.float64]
    page: NDArray[np.int32]
    kind: NDArray[np.int8]
    weight: NDArray[np.float64]
    living: NDArray[np.bool_]
    current: NDArray[np.bool_]  # the copy is that of the present version
    since: NDArray[np.float64]  # when the present version appeared
    waiting: NDArray[np.int32]  # pages that appeared, to be accessed next
    clock: NDArray[
        np.float64
    ]  # now, start of the measurement, weight living, weight current, ∫ share current
    cursor: NDArray[
        np.int64
    ]  # next event, head and tail of `waiting`, accesses, accesses of pages that were gone


@compiled
def _pass_time(world: World, until: float) -> None:
    """Let time pass without an event; add up the share of living pages whose copy is current."""
    clock = world.clock
    begin = max(clock[NOW], clock[SINCE])
    if until > begin and clock[LIVE] > 0.0:
        clock[AREA] += (until - begin) * min(1.0, max(0.0, clock[FRESH] / clock[LIVE]))
    clock[NOW] = until


@compiled
def _happen(world: World, event: int) -> None:
    clock, cursor = world.clock, world.cursor
    page = world.page[event]
    weight = world.weight[page]
    kind = world.kind[event]
    if world.current[page]:
        clock[FRESH] -= weight
        world.current[page] = False
    world.since[page] = world.time[event]
    if kind == _APPEARED and not world.living[page]:
        world.living[page] = True
        clock[LIVE] += weight
        world.waiting[cursor[TAIL]] = page
        cursor[TAIL] += 1
    elif kind == _GONE and world.living[page]:
        world.living[page] = False
        clock[LIVE] -= weight


@compiled
def advance(world: World, until: float) -> None:
    """Play all events up to a time, that time included."""
    event = world.cursor[EVENT]
    while event < world.time.size and world.time[event] <= until:
        _pass_time(world, world.time[event])
        _happen(world, event)
        event += 1
    world.cursor[EVENT] = event
    _pass_time(world, until)


@compiled
def access(world: World, page: int) -> int:
    """Access a page now: was it unchanged, changed, or is there nothing any more?"""
    world.cursor[ACCESSES] += 1
    if not world.living[page]:
        world.cursor[FAILED] += 1
        return NOTHING
    if world.current[page]:
        return UNCHANGED
    world.current[page] = True
    world.clock[FRESH] += world.weight[page]
    return NEWS


@compiled
def next_arrival(world: World) -> int:
    """The page that appeared first among those not accessed since; −1 if there is none."""
    cursor = world.cursor
    while cursor[HEAD] < cursor[TAIL]:
        page = world.waiting[cursor[HEAD]]
        cursor[HEAD] += 1
        if world.living[page] and not world.current[page]:
            return int(page)
    return -1


@compiled
def finish(world: World, end: float) -> float:
    """Play the rest of the history; return freshness, the mean share of living pages whose copy is current."""
    advance(world, end)
    return float(world.clock[AREA] / (end - world.clock[SINCE]))


class DueList(NamedTuple):
    """Pages by due time, in a heap, and what the interval rules remember."""

    key: NDArray[np.float64]
    item: NDArray[np.int32]
    size: NDArray[np.int64]
    known: NDArray[np.bool_]
    interval: NDArray[np.float64]
    last_change: NDArray[np.float64]


@compiled
def _nutch(pages: DueList, page: int, now: float, changed: bool, unit: float) -> float:
    """Interval × 0.8 after a change, × 1.4 without, between the time since the last change and 90 days.

    The next access comes 0.3 of that time earlier.
    """
    if changed:
        pages.last_change[page] = now
    since = now - pages.last_change[page]
    interval = max(pages.interval[page] * (0.8 if changed else 1.4), since)
    interval = min(max(interval, 60.0 * unit), 90 * 86400.0 * unit)
    pages.interval[page] = interval
    return float(now + interval - 0.3 * min(since, interval))


@compiled
def _storm(pages: DueList, page: int, now: float, changed: bool, unit: float) -> float:
    """Interval halved towards one hour after a change, × 1.5 up to two weeks without."""
    interval = pages.interval[page]
    interval = 0.5 * interval + 0.5 * 3600.0 * unit if changed else min(1.5 * interval, 14 * 86400.0 * unit)
    pages.interval[page] = interval
    return float(now + interval)


@compiled
def due_steps(
    world: World, pages: DueList, rule: int, unit: float, start: float, gap: float, steps: int
) -> None:
    """Most overdue first. Rule 0: oldest access first; 1: the Nutch rule; 2: the StormCrawler rule.

    `unit` is the length of a second in the history's unit of time.
    """
    for _ in range(steps):
        now = start + (world.cursor[ACCESSES] + 1) * gap
        advance(world, now)
        page = next_arrival(world)
        arrived = page >= 0 and not pages.known[page]
        if not arrived:
            if pages.size[0] == 0:
                world.cursor[ACCESSES] += 1
                continue
            page = pages.item[0]
            heap_drop(pages.key, pages.item, pages.size[0])
            pages.size[0] -= 1
        found = access(world, page)
        if found == NOTHING:
            pages.known[page] = False
            continue
        if arrived:
            pages.known[page] = True
            pages.interval[page] = (30 * 86400.0 if rule == 1 else 86400.0) * unit
            pages.last_change[page] = now
            due = now + (0.0 if rule == 0 else pages.interval[page])
        elif rule == 0:
            due = now
        elif rule == 1:
            due = _nutch(pages, page, now, found == NEWS, unit)
        else:
            due = _storm(pages, page, now, found == NEWS, unit)
        heap_push(pages.key, pages.item, pages.size[0], due, page)
        pages.size[0] += 1


@compiled
def ends_of_versions(
    time: NDArray[np.float64], page: NDArray[np.int32], pages: int, end: float
) -> NDArray[np.float64]:
    """When the version that each event brings ends: at the page's next event, or at the end."""
    ends = np.empty(time.size)
    following = np.full(pages, end)
    for event in range(time.size - 1, -1, -1):
        ends[event] = following[page[event]]
        following[page[event]] = time[event]
    return ends


@compiled
def clairvoyant_steps(
    world: World,
    ends: NDArray[np.float64],
    key: NDArray[np.float64],
    item: NDArray[np.int32],
    size: NDArray[np.int64],
    start: float,
    gap: float,
    steps: int,
) -> None:
    """Among stale pages access the one whose present version lives longest (times its weight: a bound only if equal).

    The heap holds events (versions) by falling end; versions that are no more, or already accessed, are passed over.
    """
    for _ in range(steps):
        now = start + (world.cursor[ACCESSES] + 1) * gap
        first = world.cursor[EVENT]
        advance(world, now)
        for event in range(first, world.cursor[EVENT]):
            if world.kind[event] != _GONE and ends[event] > now:
                heap_push(key, item, size[0], -ends[event], event)
                size[0] += 1
        page = -1
        while size[0] > 0 and page < 0:
            event = item[0]
            heap_drop(key, item, size[0])
            size[0] -= 1
            other = world.page[event]
            if ends[event] > now and world.living[other] and not world.current[other]:
                page = other
        if page < 0:
            world.cursor[ACCESSES] += 1
        else:
            access(world, page)
