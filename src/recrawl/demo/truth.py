"""When each page changes, and what that makes of a set of copies.

Times are the clock's seconds. A page's changes are drawn as they are needed, each page from a random stream of its own:
they depend on the seed alone, not on who asks when. Pages of a directory that is edited as a whole share the stream of
their directory: each edit touches each of them with some probability.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recrawl.errors import InvalidModel

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

__all__ = ["Directory", "Truth", "poisson_truth", "replay_truth"]

_DRAWN_AT_ONCE = 32


def _more(drawn: int) -> int:
    """How many to draw after so many: a growing share, so that a long life costs no more per change."""
    return max(_DRAWN_AT_ONCE, drawn // 4)


class _Poisson:
    """Change times of one page: a Poisson process from `start` on."""

    def __init__(self, rate: float, start: float, seed: Sequence[int]) -> None:
        self._rate = rate
        self._last = start
        self._drawn = 0
        self._random = np.random.default_rng(seed) if rate > 0 else None
        self._times = np.empty(0)

    def until(self, time: float) -> Floats:
        """All change times up to `time`, and perhaps some later ones."""
        if self._random is None:
            return self._times
        pieces = [self._times]
        while self._last <= time:
            more = self._last + np.cumsum(self._random.exponential(1 / self._rate, _more(self._drawn)))
            self._last = float(more[-1])
            self._drawn += len(more)
            pieces.append(more)
        if len(pieces) > 1:
            self._times = np.concatenate(pieces)
        return self._times

    def after(self, time: float) -> float:
        """The first change after `time`; infinity when there is none."""
        return _first_after(self.until(time), time)


@dataclass(frozen=True)
class Directory:
    """Pages (by number) that are edited together: `edits_per_second`, each touching each page with `probability`."""

    pages: tuple[int, ...]
    edits_per_second: float
    probability: float

    def __post_init__(self) -> None:
        if not 0 < self.probability <= 1:
            raise InvalidModel(f"probability: {self.probability}; must be above 0 and at most 1")
        if not 0 <= self.edits_per_second < float("inf"):
            raise InvalidModel(f"edits_per_second: {self.edits_per_second}; must be 0 or more")

    @property
    def rate(self) -> float:
        """Changes per second of each page: edits that touch it are a Poisson process too."""
        return self.edits_per_second * self.probability


class _Edits:
    """Edits of a directory: when, and which of its pages each touches."""

    def __init__(self, directory: Directory, start: float, seed: Sequence[int]) -> None:
        self._directory = directory
        self._last = start
        self._drawn = 0
        self._random = np.random.default_rng(seed)
        self._times: list[list[Floats]] = [[] for _ in directory.pages]

    def until(self, place: int, time: float) -> list[Floats]:
        """Change times of a page of the directory up to `time` and perhaps later, in pieces."""
        directory = self._directory
        while self._last <= time and directory.edits_per_second > 0:
            count = _more(self._drawn)
            edits = self._last + np.cumsum(self._random.exponential(1 / directory.edits_per_second, count))
            touched = self._random.random((count, len(directory.pages))) < directory.probability
            for page, times in enumerate(self._times):
                times.append(edits[touched[:, page]])
            self._last = float(edits[-1])
            self._drawn += count
        return self._times[place]

    @property
    def ends(self) -> float:
        """Edits are drawn up to here; infinite: there are none at all."""
        return self._last if self._directory.edits_per_second > 0 else float("inf")


class _Edited:
    """Change times of one page of a directory that is edited as a whole."""

    def __init__(self, edits: _Edits, place: int) -> None:
        self._edits, self._place = edits, place
        self._times = np.empty(0)
        self._pieces = 0

    def until(self, time: float) -> Floats:
        pieces = self._edits.until(self._place, time)
        if len(pieces) > self._pieces:
            self._times = np.concatenate([self._times, *pieces[self._pieces :]])
            self._pieces = len(pieces)
        return self._times

    def after(self, time: float) -> float:
        """The first change after `time`: further edits are drawn until one touches the page."""
        while (found := _first_after(self.until(time), time)) == float("inf"):
            if self._edits.ends == float("inf"):
                break
            self.until(self._edits.ends)
        return found


class _Fixed:
    """Change times of one page, given."""

    def __init__(self, times: Floats) -> None:
        self._times = times

    def until(self, time: float) -> Floats:  # noqa: ARG002
        return self._times

    def after(self, time: float) -> float:
        """The first change after `time`; infinity when there is none."""
        return _first_after(self._times, time)


def _first_after(times: Floats, time: float) -> float:
    place = int(np.searchsorted(times, time, side="right"))
    return float(times[place]) if place < len(times) else float("inf")


_Process = _Poisson | _Edited | _Fixed


@dataclass
class Truth:
    """Knows every change of every page.

    `rates` are changes per second of the clock (after speed); for a replayed history its mean over the history.
    """

    pages: Sequence[_Process]
    rates: Floats
    start: float
    urls: list[str]
    directories: tuple[Directory, ...] = ()  # edited as a whole

    def __post_init__(self) -> None:
        self.number = {url: number for number, url in enumerate(self.urls)}

    def changes(self, page: int | str, since: float, until: float) -> Floats:
        """Change times in (since, until]."""
        times = self._process(page).until(until)
        first, last = np.searchsorted(times, [since, until], side="right")
        return times[first:last]

    def version(self, page: int | str, time: float) -> int:
        """How often a page has changed by then."""
        return int(np.searchsorted(self._process(page).until(time), time, side="right"))

    def last_change(self, page: int | str, time: float) -> float:
        """The time of the latest change; the start when there was none."""
        version = self.version(page, time)
        return float(self._process(page).until(time)[version - 1]) if version else self.start

    def next_change(self, page: int | str, time: float) -> float:
        """The time of the first change after `time`; infinity when there is none."""
        return self._process(page).after(time)

    def rate(self, url: str) -> float:
        """Changes per second of a page."""
        return float(self.rates[self.number[url]])

    def obsolescence(
        self,
        copies: Mapping[str, float | Sequence[float]],
        since: float,
        until: float,
        weights: Mapping[str, float] | None = None,
    ) -> float:
        """Fraction of [since, until] that the copies were out of date: the mean over all pages, exactly.

        Parameters
        ----------
        copies
            For each page the end of its last access, or of all its accesses. A copy is current from the end of its
            access until the page's next change; a page without a copy is obsolete.
        weights
            Of the pages, 1 where nothing is given.

        Examples
        --------
        >>> truth = replay_truth([(3.0, "a"), (8.0, "a")], ["a"])
        >>> truth.obsolescence({"a": [1.0, 5.0]}, since=1.0, until=11.0)
        0.5
        """
        if not until > since:
            raise InvalidModel(f"until: {until}; must be after since: {since}")
        stale = total = 0.0
        for number, url in enumerate(self.urls):
            weight = 1.0 if weights is None else weights.get(url, 1.0)
            total += weight
            stale += weight * self._stale(number, copies.get(url), since, until)
        return stale / total / (until - since)

    def _stale(
        self, number: int, copies: float | Sequence[float] | None, since: float, until: float
    ) -> float:
        if copies is None:
            return until - since
        ends = np.sort(np.atleast_1d(np.asarray(copies, dtype=float)))
        ends = ends[ends <= until]
        if not len(ends):
            return until - since
        times = self.pages[number].until(until)
        # The first change after each access; from then to the next access the copy is obsolete.
        padded = np.append(times, np.inf)
        changed = padded[np.searchsorted(times, ends, side="right")]
        following = np.append(ends[1:], until)
        spans = np.clip(following, since, until) - np.clip(np.maximum(changed, ends), since, until)
        before = min(max(float(ends[0]), since), until) - since
        return before + float(np.clip(spans, 0.0, None).sum())

    def _process(self, page: int | str) -> _Process:
        return self.pages[self.number[page] if isinstance(page, str) else page]


def poisson_truth(
    rates: Floats,
    urls: list[str],
    *,
    start: float = 0.0,
    seed: int = 1,
    directories: Sequence[Directory] = (),
) -> Truth:
    """Each page a Poisson process of its rate, from `start` on; pages of `directories` by the edits of theirs.

    >>> truth = poisson_truth([0.0, 0.0, 2.0], ["a", "b", "c"], directories=[Directory((0, 1), 4.0, 0.5)])
    >>> truth.rates.tolist()
    [2.0, 2.0, 2.0]
    """
    values = np.array(rates, dtype=float)
    if len(values) != len(urls) or not np.all(np.isfinite(values)) or np.any(values < 0):
        raise InvalidModel("rates: one for each page, finite and not negative")
    pages: list[_Process] = [
        _Poisson(float(rate), start, (seed, number)) for number, rate in enumerate(values)
    ]
    for place, directory in enumerate(directories):
        edits = _Edits(directory, start, (seed, place, 1))
        for member, number in enumerate(directory.pages):
            pages[number] = _Edited(edits, member)
            values[number] = directory.rate
    return Truth(pages, values, start, urls, tuple(directories))


def replay_truth(
    history: Iterable[tuple[float, str]], urls: list[str], *, start: float = 0.0, speed: float = 1.0
) -> Truth:
    """Changes as a history has them: (time, page) in seconds from its beginning, played from `start` at `speed`."""
    number = {url: n for n, url in enumerate(urls)}
    times: list[list[float]] = [[] for _ in urls]
    end = 0.0
    for time, url in history:
        if url not in number:
            raise InvalidModel(f"history: {url!r} is no page")
        if not 0 <= time < float("inf"):
            raise InvalidModel(f"history: time {time}; must be 0 or more")
        times[number[url]].append(start + time / speed)
        end = max(end, time / speed)
    pages = [_Fixed(np.sort(np.asarray(list_, dtype=float))) for list_ in times]
    rates = np.array([len(list_) / end if end > 0 else 0.0 for list_ in times])
    return Truth(pages, rates, start, urls)
