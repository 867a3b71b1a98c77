"""Reads logs of deliveries and of service times, as a stream: memory does not grow with the file."""

from __future__ import annotations

import math
import tempfile
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Literal

import numpy as np

from recrawl.errors import ConfigError, InvalidModel
from recrawl.estimate import Gaps, Preparation
from recrawl.estimate.preprocess import BatchBuilder, finished
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

    def __init__(self, kind: type[np.generic]) -> None:
        self._kind = np.dtype(kind)
        self._parts: list[NDArray[np.generic]] = []
        self._held = 0
        self._file: IO[bytes] | None = None
        self.size = 0

    def append(self, values: NDArray[np.generic]) -> None:
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

    def array(self) -> NDArray[np.generic]:
        """All values: in memory, or mapped from the temporary file."""
        if self._file is None:
            return np.concatenate(self._parts) if self._parts else np.zeros(0, self._kind)
        self._spill()
        self._file.flush()
        return np.asarray(np.memmap(self._file, dtype=self._kind, mode="r", shape=(self.size,)))


@dataclass
class _Run:
    """One run of one mode, as it is read."""

    builder: BatchBuilder
    times: _Spool = field(default_factory=lambda: _Spool(np.float64))
    sizes: _Spool = field(default_factory=lambda: _Spool(np.int32))
    pending: list[float] = field(default_factory=list)
    last: float = -math.inf
    starts: list[int] = field(default_factory=lambda: [0])

    def take(self, gaps: tuple[NDArray[np.float64], NDArray[np.int32]]) -> None:
        self.times.append(gaps[0])
        self.sizes.append(gaps[1])

    def flush(self) -> None:
        self.take(self.builder.feed(np.array(self.pending)))
        self.pending.clear()

    def close(self) -> None:
        """End a stretch: what comes next does not follow what was."""
        self.flush()
        self.take(self.builder.finish())
        done = self.builder
        self.builder = BatchBuilder(done.batch_within, done.deliveries, done.joined)
        if self.starts[-1] != self.times.size:
            self.starts.append(self.times.size)


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


def _spread(times: list[float], resolution: float, rng: np.random.Generator) -> list[float]:
    """Deliveries that carry one rounded time lie anywhere in it: independent uniform, sorted."""
    values = np.array(times)
    moved = values + rng.random(values.size) * resolution
    return [float(value) for value in np.sort(moved)]


@dataclass
class _Reader:
    path: Path
    batch_within: float
    ties: Ties
    resolution: float
    rng: np.random.Generator
    runs: dict[tuple[str, int], _Run] = field(default_factory=dict)
    lines: int = 0
    first: float = math.inf
    last: float = -math.inf

    def add(self, time: float, run: str, mode: int, line: int, column: str) -> None:
        self.lines += 1
        self.first, self.last = min(self.first, time), max(self.last, time)
        key = (run, mode)
        found = self.runs.get(key)
        if found is None:
            found = self.runs[key] = _Run(BatchBuilder(self.batch_within))
        if time < found.last:
            raise InvalidModel(
                f"{self.path}, line {line}, column {column}: {time:.10g} comes before the {found.last:.10g} "
                "above it; sort the log, or let it be sorted (--sort)"
            )
        found.last = time
        found.pending.append(time)
        if len(found.pending) >= _CHUNK and (self.ties == "batch" or found.pending[0] != time):
            self._flush(found, keep_ties=True)

    def _flush(self, run: _Run, keep_ties: bool) -> None:
        if self.ties == "spread":
            rest: list[float] = []
            if keep_ties:  # those at the last time may not be complete
                while run.pending and run.pending[-1] == run.last:
                    rest.append(run.pending.pop())
            run.pending[:] = _spread(run.pending, self.resolution, self.rng)
            run.flush()
            run.pending.extend(rest)
        else:
            run.flush()

    def finish_run(self, run: _Run) -> None:
        self._flush(run, keep_ties=False)
        run.close()


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
    reader = _Reader(path, batch_within, ties, resolution, np.random.default_rng(seed))
    dropped = 0
    current: dict[str, int] = {}
    with open_rows(path, [time_column, *[name for name in (split, mode_column) if name]]) as cells:
        rows = _parsed(cells, path, time_column, split, mode_column, skip_bad)
        if sort:
            rows = iter(sorted(rows, key=lambda row: math.inf if row is None else row[0]))
        for row in rows:
            if row is None:
                dropped += 1
                continue
            time, run, mode, line = row
            if mode_column and current.get(run, mode) != mode:
                reader.finish_run(reader.runs[(run, current[run])])
            current[run] = mode
            reader.add(time, run, mode, line, time_column)
    return _log(reader, dropped, stop_after)


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


def _log(reader: _Reader, dropped: int, stop_after: float) -> DeliveryLog:
    if reader.lines < 2:
        raise InvalidModel(f"{reader.path} has {reader.lines} deliveries; a gap needs at least two")
    for run in reader.runs.values():
        reader.finish_run(run)
    modes = {}
    for mode in sorted({key[1] for key in reader.runs}):
        runs = [run for key, run in reader.runs.items() if key[1] == mode]
        if sum(run.times.size for run in runs):
            modes[mode] = _prepared(runs, reader, stop_after)
    if not modes:
        raise InvalidModel(f"{reader.path}: all deliveries of a run come at one time; there is no gap to fit")
    notes = []
    if dropped:
        notes.append(f"{dropped} lines without a readable time were dropped")
    if reader.ties == "spread":
        notes.append(
            f"equal times were spread uniformly over {reader.resolution:g}: labelled data, not measured"
        )
    return DeliveryLog(modes, reader.lines, reader.first, reader.last, reader.ties, dropped, tuple(notes))


def _prepared(runs: list[_Run], reader: _Reader, stop_after: float) -> Preparation:
    if len(runs) == 1:
        times, sizes = runs[0].times.array(), runs[0].sizes.array()
    else:
        joined, counts = _Spool(np.float64), _Spool(np.int32)
        for run in runs:
            joined.append(run.times.array())
            counts.append(run.sizes.array())
        times, sizes = joined.array(), counts.array()
    fresh = np.zeros(times.size, dtype=np.bool_)
    offset = 0
    for run in runs:
        marks = np.array(run.starts, dtype=np.int64) + offset
        fresh[marks[marks < offset + run.times.size]] = True
        offset += run.times.size
    gaps = Gaps.of(times, sizes, fresh)
    deliveries = sum(run.builder.deliveries for run in runs)
    joined_count = sum(run.builder.joined for run in runs)
    stretches = int(fresh.sum())
    return finished(gaps, deliveries, stretches, reader.batch_within, joined_count, stop_after)


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
    run = _Run(BatchBuilder(batch_within))
    lines = deliveries = 0
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
                run.take(run.builder.feed(_placed(counts, lines, interval, rng)))
                lines, counts = lines + len(counts), []
        run.take(run.builder.feed(_placed(counts, lines, interval, rng)))
        lines += len(counts)
    run.close()
    deliveries = run.builder.deliveries
    if deliveries < 2:
        raise InvalidModel(f"{path} counts {deliveries} deliveries; a gap needs at least two")
    reader = _Reader(path, batch_within, "spread", interval, rng)
    note = f"the deliveries of each interval of {interval:g} were spread over it: labelled data, not measured"
    return DeliveryLog(
        {0: _prepared([run], reader, stop_after)}, lines, 0.0, lines * interval, "spread", 0, (note,)
    )


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
