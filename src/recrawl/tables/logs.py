"""Reads logs of deliveries and of service times, as a stream: memory does not grow with the file."""

from __future__ import annotations

import math
import tempfile
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any, Literal

import numpy as np

from recrawl.errors import ConfigError, InvalidModel
from recrawl.estimate import Gaps, Preparation
from recrawl.estimate.preprocess import StretchCollector
from recrawl.tables._text import cell_number, cell_time, open_rows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["DeliveryLog", "read_counts", "read_deliveries", "read_times"]

_CHUNK = 1 << 16  # rows turned into arrays at once
_SPILL = 1 << 20  # numbers kept in memory before they go to a temporary file

Ties = Literal["batch", "spread"]


class _Spool:
    """A growing array that moves to a temporary file when it is long."""

    def __init__(self, kind: Any) -> None:
        self._kind = np.dtype(kind)
        self._parts: list[NDArray[Any]] = []
        self._held = 0
        self._file: IO[bytes] | None = None
        self.size = 0

    def append(self, values: NDArray[Any]) -> None:
        if not values.size:
            return
        self._parts.append(np.ascontiguousarray(values, dtype=self._kind))
        self._held += values.size
        self.size += values.size
        if self._held > _SPILL:
            self._spill()

    def _spill(self) -> None:
        if self._file is None:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 (lives as long as the array that maps it)
        for part in self._parts:
            part.tofile(self._file)
        self._parts, self._held = [], 0

    def array(self) -> NDArray[Any]:
        """All values: in memory, or mapped from the temporary file."""
        if self._file is None:
            return np.concatenate(self._parts) if self._parts else np.zeros(0, self._kind)
        self._spill()
        self._file.flush()
        mapped = np.asarray(np.memmap(self._file, dtype=self._kind, mode="r", shape=(self.size,)))
        self._file.close()  # the map keeps what it needs
        return mapped

    def __del__(self) -> None:
        if self._file is not None:
            self._file.close()


class _Collector(StretchCollector):
    """Keeps its gaps in spools."""

    def __init__(self, batch_within: float, stop_after: float) -> None:
        super().__init__(batch_within, stop_after)
        self.times, self.sizes, self.fresh = _Spool(np.float64), _Spool(np.int32), _Spool(np.bool_)

    def keep(self, times: NDArray[np.float64], sizes: NDArray[np.int32], fresh: NDArray[np.bool_]) -> None:
        self.times.append(times)
        self.sizes.append(sizes)
        self.fresh.append(fresh)

    def gaps(self) -> Gaps:
        """All gaps; they were checked on their way."""
        return Gaps(self.times.array(), self.sizes.array(), self.fresh.array())


@dataclass(frozen=True)
class DeliveryLog:
    """A log, ready for fits: for each number of active robots (0 where the log does not say) its gaps."""

    modes: dict[int, Preparation]
    lines: int
    first: float
    last: float
    ties: str
    dropped: int
    notes: tuple[str, ...]


@dataclass
class _Run:
    """Deliveries of one run that wait to become an array."""

    pending: list[float] = field(default_factory=list)
    last: float = -math.inf
    mode: int = 0


@dataclass
class _Reader:
    path: Path
    batch_within: float
    stop_after: float
    ties: Ties
    resolution: float
    rng: np.random.Generator
    collectors: dict[tuple[str, int], _Collector] = field(default_factory=dict)
    runs: dict[str, _Run] = field(default_factory=dict)
    lines: int = 0
    first: float = math.inf
    last: float = -math.inf

    def add(self, time: float, name: str, mode: int, line: int, column: str) -> None:
        self.lines += 1
        self.first, self.last = min(self.first, time), max(self.last, time)
        run = self.runs.get(name)
        if run is None:
            run = self.runs[name] = _Run(mode=mode)
        if time < run.last:
            raise InvalidModel(
                f"{self.path}, line {line}, column {column}: {time:.10g} comes before the {run.last:.10g} "
                "above it; sort the log, or let it be sorted (--sort)"
            )
        if mode != run.mode:
            # A gap during which the number of robots changed belongs to neither.
            self.close(name)
            run.mode = mode
        elif len(run.pending) >= _CHUNK and time > run.last:  # equal times stay together
            self._flush(name)
        run.last = time
        run.pending.append(time)

    def _collector(self, name: str) -> _Collector:
        key = (name, self.runs[name].mode)
        if key not in self.collectors:
            self.collectors[key] = _Collector(self.batch_within, self.stop_after)
        return self.collectors[key]

    def _flush(self, name: str) -> None:
        times = np.array(self.runs[name].pending)
        if self.ties == "spread":
            # Deliveries that carry one rounded time lie anywhere in it: independent uniform.
            times = np.sort(times + self.rng.random(times.size) * self.resolution)
        self._collector(name).feed(times)
        self.runs[name].pending.clear()

    def close(self, name: str) -> None:
        self._flush(name)
        self._collector(name).close()


def read_deliveries(
    path: Path,
    *,
    time_column: str = "time",
    split: str | None = None,
    mode_column: str | None = None,
    ties: Ties = "batch",
    resolution: float = 1.0,
    batch_within: float = 0.0,
    stop_after: float = math.inf,
    sort: bool = False,
    skip_bad: bool = False,
    seed: int = 1,
) -> DeliveryLog:
    """Read a log with one line per delivery.

    Parameters
    ----------
    split
        Column that names the run of a line; runs are independent of each other.
    mode_column
        Column with the number of active robots: gaps during which it stays the same are kept apart by it.
    ties
        Deliveries at one time are a batch (`batch`), or lie anywhere in `resolution` from it (`spread`).
    sort
        Sort the times first, in memory.
    skip_bad
        Drop (and count) lines whose time is not readable instead of refusing the log.
    """
    reader = _Reader(path, batch_within, stop_after, ties, resolution, np.random.default_rng(seed))
    dropped = 0
    with open_rows(path, [time_column, *[name for name in (split, mode_column) if name]]) as cells:
        rows = _parsed(cells, path, time_column, split, mode_column, skip_bad)
        if sort:
            rows = iter(sorted(rows, key=lambda row: math.inf if row is None else row[0]))
        for row in rows:
            if row is None:
                dropped += 1
                continue
            time, run, mode, line = row
            reader.add(time, run, mode, line, time_column)
    return _log(reader, dropped)


_Row = tuple[float, str, int, int]


def _parsed(
    cells: object, path: Path, time_column: str, split: str | None, mode_column: str | None, skip_bad: bool
) -> Iterator[_Row | None]:
    for line, row in cells:  # type: ignore[attr-defined]
        try:
            time = cell_time(row[0], path, line, time_column)
            mode = 0
            if mode_column:
                number = cell_number(row[-1], path, line, mode_column)
                if number != int(number) or number < 0:
                    raise InvalidModel(
                        f"{path}, line {line}, column {mode_column}: {row[-1]!r} is not a number of robots"
                    )
                mode = int(number)
        except InvalidModel:
            if not skip_bad:
                raise
            yield None
            continue
        yield time, row[1] if split else "", mode, line


def _log(reader: _Reader, dropped: int) -> DeliveryLog:
    if reader.lines < 2:
        raise InvalidModel(f"{reader.path} has {reader.lines} deliveries; a gap needs at least two")
    for name in reader.runs:
        reader.close(name)
    modes = {}
    for mode in sorted({key[1] for key in reader.collectors}):
        parts = [part for key, part in reader.collectors.items() if key[1] == mode]
        whole = _together(parts)
        if whole.kept:
            modes[mode] = whole.preparation(whole.gaps())
    if not modes:
        stops = sum(part.stops for part in reader.collectors.values())
        why = f"all {stops} gaps are longer than stop_after" if stops else "all deliveries come at one time"
        raise InvalidModel(f"{reader.path}: {why}; there is no gap to fit")
    notes = []
    if dropped:
        notes.append(f"{dropped} lines without a readable time were dropped")
    if reader.ties == "spread":
        notes.append(f"equal times were spread over {reader.resolution:g}: labelled data, not measured")
    return DeliveryLog(modes, reader.lines, reader.first, reader.last, reader.ties, dropped, tuple(notes))


def _together(parts: list[_Collector]) -> _Collector:
    """Runs one after the other."""
    whole = parts[0]
    for part in parts[1:]:
        whole.times.append(part.times.array())
        whole.sizes.append(part.sizes.array())
        whole.fresh.append(part.fresh.array())
        for name in ("deliveries", "joined", "stops", "runs", "stopped_time", "kept"):
            setattr(whole, name, getattr(whole, name) + getattr(part, name))
        whole.longest = max(whole.longest, part.longest)
    return whole


def read_counts(
    path: Path,
    *,
    interval: float,
    count_column: str | None = None,
    batch_within: float = 0.0,
    stop_after: float = math.inf,
    seed: int = 1,
) -> DeliveryLog:
    """Read a log with one line per interval: how many deliveries it had.

    The deliveries of an interval are spread uniformly at random over it; the log says so.
    """
    if not interval > 0:
        raise ConfigError(f"interval must be a positive time, not {interval}")
    rng = np.random.default_rng(seed)
    collector = _Collector(batch_within, stop_after)
    lines = 0
    with open_rows(path, [count_column] if count_column else []) as cells:
        if not count_column:
            cells.columns, cells.names = [0], [cells.header[0]]
        counts: list[int] = []
        for line, (text,) in cells:
            number = cell_number(text, path, line, cells.names[0])
            if number != int(number) or number < 0:
                raise InvalidModel(f"{path}, line {line}, column {cells.names[0]}: {text!r} is not a count")
            counts.append(int(number))
            if len(counts) == _CHUNK:
                collector.feed(_placed(counts, lines, interval, rng))
                lines, counts = lines + len(counts), []
        collector.feed(_placed(counts, lines, interval, rng))
        lines += len(counts)
    collector.close()
    if not collector.kept:
        raise InvalidModel(f"{path} counts {collector.deliveries} deliveries; there is no gap to fit")
    note = f"the deliveries of each interval of {interval:g} were spread over it: labelled data, not measured"
    done = collector.preparation(collector.gaps())
    return DeliveryLog({0: done}, lines, 0.0, lines * interval, "spread", 0, (note,))


def _placed(counts: list[int], before: int, interval: float, rng: np.random.Generator) -> NDArray[np.float64]:
    places = np.repeat(np.arange(before, before + len(counts)), counts)
    return np.sort(places + rng.random(places.size)) * interval


def read_times(
    path: Path, *, column: str, censored_column: str | None = None, skip_bad: bool = False
) -> tuple[NDArray[np.float64], NDArray[np.bool_] | None, int]:
    """Positive numbers of a column (sizes, durations), marks of censoring, and how many lines were dropped.

    Zeros carry no work and are dropped and counted; negative numbers are refused unless `skip_bad`.
    """
    values, marks = _Spool(np.float64), _Spool(np.bool_)
    chunk: list[float] = []
    flags: list[bool] = []
    dropped = 0
    with open_rows(path, [column, *([censored_column] if censored_column else [])]) as cells:
        for line, row in cells:
            try:
                value = cell_number(row[0], path, line, column)
                if value < 0:
                    raise InvalidModel(f"{path}, line {line}, column {column}: {row[0]} is negative")
            except InvalidModel:
                if not skip_bad:
                    raise
                value = 0.0
            if value == 0:
                dropped += 1
                continue
            chunk.append(value)
            flags.append(len(row) > 1 and row[1].strip().lower() in ("1", "true", "yes"))
            if len(chunk) == _CHUNK:
                values.append(np.array(chunk))
                marks.append(np.array(flags))
                chunk, flags = [], []
    values.append(np.array(chunk))
    marks.append(np.array(flags))
    if values.size == 0:
        raise InvalidModel(f"{path}: column {column} holds no positive number")
    sample = np.asarray(values.array(), dtype=np.float64)
    return sample, np.asarray(marks.array(), dtype=np.bool_) if censored_column else None, dropped
