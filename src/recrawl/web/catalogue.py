"""All pages as arrays, for sorting, filtering and adding up; made from the store now and then, off the event loop."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recrawl.engine.records import State

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from recrawl.engine.insight import Insight, InsightArrays
    from recrawl.engine.protocols import Store
    from recrawl.engine.records import PageColumns
    from recrawl.web.requests import PagesQuery

__all__ = ["Catalogue", "SiteSums", "read_catalogue"]

STATES = tuple(state.value for state in State)
_KNOWN = STATES.index(State.KNOWN.value)


@dataclass(frozen=True)
class SiteSums:
    """What the pages of one site add up to."""

    site: str
    pages: int
    searchable: int
    failing: int
    access_rate: float
    change_rate: float
    obsolescence: float
    last_seen: float
    states: dict[str, int]


@dataclass(frozen=True)
class Catalogue:
    """One entry for each page; NaN where something is not known."""

    as_of: float
    url: list[str]
    sites: list[str]
    site: NDArray[np.int64]
    state: NDArray[np.int8]
    numbers: dict[str, NDArray[np.float64]]

    def __len__(self) -> int:
        return len(self.url)

    def choose(self, query: PagesQuery) -> tuple[int, list[str]]:
        """How many pages match, and those that are asked for, in order."""
        chosen = np.ones(len(self), dtype=np.bool_)
        if query.site is not None:
            place = self.sites.index(query.site) if query.site in self.sites else -1
            chosen &= self.site == place
        if query.state is not None:
            chosen &= self.state == STATES.index(query.state)
        places = np.flatnonzero(chosen)
        if query.matching:
            part = query.matching.lower()
            places = np.array(
                [place for place in places.tolist() if part in self.url[place].lower()], dtype=np.int64
            )
        order = self._order(places, query)
        return int(places.size), [
            self.url[place] for place in order[query.offset : query.offset + query.limit]
        ]

    def _order(self, places: NDArray[np.int64], query: PagesQuery) -> list[int]:
        if query.sort == "url":
            return sorted(places.tolist(), key=self.url.__getitem__, reverse=query.descending)
        values = self.numbers[query.sort][places]
        key = -values if query.descending else values
        order = np.lexsort((places, key))  # NaN comes last either way
        return [int(place) for place in places[order]]

    def site_sums(self) -> list[SiteSums]:
        """Every site with its sums."""
        size = len(self.sites)

        def total(values: NDArray[np.float64]) -> NDArray[np.float64]:
            return np.asarray(np.bincount(self.site, weights=values, minlength=size), dtype=np.float64)

        numbers = self.numbers
        known = self.state == _KNOWN
        seen = ~np.isnan(numbers["seen"])
        counted = known & seen & ~np.isnan(numbers["current"])
        weight = np.where(counted, numbers["weight"], 0.0)
        stale = total(weight * np.where(counted, 1.0 - numbers["current"], 0.0))
        whole = total(weight)
        rates = total(np.where(known, np.nan_to_num(numbers["rate"]), 0.0))
        accesses = total(
            np.where(np.isnan(numbers["interval"]), 0.0, 1.0 / np.maximum(numbers["interval"], 1e-9))
        )
        failing = total((known & (numbers["failures"] > 0)).astype(np.float64))
        searchable = total((known & seen).astype(np.float64))
        last = np.full(size, np.nan)
        np.fmax.at(last, self.site, numbers["seen"])
        states = [total((self.state == place).astype(np.float64)) for place in range(len(STATES))]
        return [
            SiteSums(
                site=name,
                pages=int(sum(column[place] for column in states)),
                searchable=int(searchable[place]),
                failing=int(failing[place]),
                access_rate=float(accesses[place]),
                change_rate=float(rates[place]),
                obsolescence=float(stale[place] / whole[place]) if whole[place] > 0 else float("nan"),
                last_seen=float(last[place]),
                states={state: int(column[place]) for state, column in zip(STATES, states, strict=True)},
            )
            for place, name in enumerate(self.sites)
        ]


async def read_catalogue(store: Store, insight: Insight, now: float) -> Catalogue:
    """Read all pages, a few thousand at a time, and what is believed of them."""
    urls: list[str] = []
    numbers: dict[str, int] = {}
    parts: list[tuple[NDArray[np.int64], NDArray[np.int8], dict[str, NDArray[np.float64]]]] = []
    async for columns in store.scan():
        arrays = await asyncio.to_thread(insight.arrays, columns, now, None)
        urls.extend(columns.url)
        parts.append((_numbered(columns.site, numbers), _states(columns.state), _numbers(columns, arrays)))
    if not parts:
        empty: dict[str, NDArray[np.float64]] = {name: np.zeros(0) for name in _NAMES}
        return Catalogue(now, [], [], np.zeros(0, np.int64), np.zeros(0, np.int8), empty)
    return Catalogue(
        now,
        urls,
        list(numbers),
        np.concatenate([part[0] for part in parts]),
        np.concatenate([part[1] for part in parts]),
        {name: np.concatenate([part[2][name] for part in parts]) for name in _NAMES},
    )


_NAMES = (
    "due", "rate", "typical", "interval", "current", "weight", "seen", "changed", "links", "accesses", "changes",
    "failures",
)  # fmt: skip


def _numbered(names: Sequence[str], numbers: dict[str, int]) -> NDArray[np.int64]:
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.int64)


def _states(states: Sequence[str]) -> NDArray[np.int8]:
    place = {state: number for number, state in enumerate(STATES)}
    return np.array([place[str(state)] for state in states], dtype=np.int8)


def _numbers(columns: PageColumns, arrays: InsightArrays) -> dict[str, NDArray[np.float64]]:
    return {
        "due": arrays.due,
        "rate": arrays.rate,
        "typical": arrays.typical_rate,
        "interval": arrays.interval,
        "current": np.where(np.isnan(arrays.last), np.nan, arrays.current),
        "weight": arrays.weight,
        "seen": arrays.last,
        "changed": np.array(columns.last_change, dtype=np.float64),
        "links": np.array(columns.in_links, dtype=np.float64),
        "accesses": np.array(columns.accesses, dtype=np.float64),
        "changes": np.array(columns.changes, dtype=np.float64),
        "failures": np.array(columns.failures, dtype=np.float64),
    }
