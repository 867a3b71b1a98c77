"""Keeping the group clocks: page by page, group by group, or all at once; always exactly."""

from __future__ import annotations

import io
import math
from typing import TYPE_CHECKING, cast

import numpy as np

from recrawl.estimate import _clock_kernels as kernel
from recrawl.estimate.belief import Belief
from recrawl.estimate.clock_belief import ClockBelief
from recrawl.estimate.rate_grid import RateGrid, shifted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Arrays = dict[str, NDArray[np.generic]]

__all__ = [
    "all_arrays",
    "believe_rows",
    "clock_arrays",
    "from_arrays",
    "from_bytes",
    "pack_texts",
    "packed_rows",
]
__all__ += ["to_bytes", "unpack_texts", "without_pages"]


def _row_type(points: int) -> np.dtype[np.void]:
    return np.dtype([("low", "<f8"), ("last", "<f8"), ("state", "u1"), ("loglik", "<f4", (points,))])


def packed_rows(belief: ClockBelief, slots: NDArray[np.int64]) -> list[bytes]:
    """A row of bytes for each page."""
    rows = np.zeros(slots.size, dtype=_row_type(belief.belief.grid.points))
    rows["low"] = belief.belief.grid.low
    rows["last"] = belief.state.pages.last[slots]
    rows["state"] = belief.state.pages.state[slots]
    rows["loglik"] = belief.belief.rows[slots]
    return [row.tobytes() for row in rows]


def believe_rows(belief: ClockBelief, slots: NDArray[np.int64], packed: Sequence[bytes]) -> None:
    """Take over rows of bytes; a grid that was elsewhere then is brought to where it is now."""
    grid = belief.belief.grid
    kind = _row_type(grid.points)
    kept = np.array([len(row) == kind.itemsize for row in packed], dtype=np.bool_)
    rows = np.frombuffer(b"".join(row for row in packed if len(row) == kind.itemsize), dtype=kind)
    places = slots[kept]
    belief.state.pages.last[places] = rows["last"]
    belief.state.pages.state[places] = rows["state"]
    step = math.log(grid.high / grid.low) / (grid.points - 1)
    steps = np.rint(np.log(rows["low"] / grid.low) / step).astype(np.int64)
    for number in np.unique(steps).tolist():
        here = steps == number
        evidence = rows["loglik"][here]
        belief.belief.rows[places[here]] = shifted(evidence, number) if number else evidence


def clock_arrays(belief: ClockBelief) -> Arrays:
    """Groups, clocks and prior, and the number of pages they were made for."""
    state, grid = belief.state, belief.belief.grid
    found: Arrays = {f"groups.{name}": array.copy() for name, array in state.groups._asdict().items()}
    scalars = [belief.budget, belief._round, belief._grouped, belief._unsettled]
    return found | {
        "numbers": state.numbers.copy(),
        "counters": state.counters.copy(),
        "scalars": np.array(scalars, dtype=np.float64),
        "grid": np.array([grid.low, grid.high, grid.points]),
        "density": belief.belief.densities.copy(),
        **pack_texts("prefixes", list(belief.group_of)),
    }


def _with_clocks(arrays: Mapping[str, NDArray[np.generic]]) -> ClockBelief:
    """A belief with groups and clocks, and no page yet."""
    budget, round_time, grouped, unsettled = (float(value) for value in arrays["scalars"])
    found = ClockBelief(budget)
    found._round, found._grouped, found._unsettled = round_time, int(grouped), int(unsettled)
    low, high, points = (float(value) for value in arrays["grid"])
    found.belief = Belief(RateGrid(low, high, int(points)))
    found.belief.densities[:] = arrays["density"]
    found.group_of = {prefix: number for number, prefix in enumerate(unpack_texts("prefixes", arrays))}
    rates = found.belief.grid.rates
    found.state = found.state._replace(
        groups=kernel.Groups(**{name: np.array(arrays[f"groups.{name}"]) for name in kernel.Groups._fields}),
        rates=rates,
        log_rates=np.log(rates),
        prior=found.belief.densities[0],
        numbers=_with_scores(np.array(arrays["numbers"], dtype=np.float64)),
        counters=np.array(arrays["counters"]),
    )
    return found


def _with_scores(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """What was kept before shrinkages were scored has none."""
    from recrawl.estimate._clock_state import first_scores

    return np.append(numbers, first_scores()) if numbers.size == kernel.SCORES else numbers


def without_pages(arrays: Mapping[str, NDArray[np.generic]]) -> ClockBelief:
    """The clocks alone, for pages that will be added."""
    found = _with_clocks(arrays)
    found._unsettled -= int(found.state.counters[kernel.PAGES])  # the pages come again, and are no news
    found.state.counters[kernel.PAGES] = 0
    return found


def all_arrays(belief: ClockBelief) -> Arrays:
    """Everything."""
    rows: Arrays = {f"belief.{name}": array for name, array in belief.belief.state().items()}
    used = rows["belief.alive"].size
    pages: Arrays = {
        f"pages.{name}": getattr(belief.state.pages, name)[:used].copy()
        for name in ("last", "group", "state")
    }
    names = [name.encode("utf-8", "surrogateescape") for name in belief.names[:used]]
    return clock_arrays(belief) | pages | rows | pack_texts("names", names)


def from_arrays(arrays: Mapping[str, NDArray[np.generic]]) -> ClockBelief:
    """The belief that they were taken from."""
    from recrawl.estimate._clock_state import grown

    found = _with_clocks(arrays)
    rows = {name: arrays[f"belief.{name}"] for name in ("grid", "loglik", "group", "alive", "free", "priors")}
    found.belief = Belief.restore(rows)
    found.names = [name.decode("utf-8", "surrogateescape") for name in unpack_texts("names", arrays)]
    found.state = grown(found.state._replace(prior=found.belief.densities[0]), found.belief)
    for name in ("last", "group", "state"):
        getattr(found.state.pages, name)[:] = arrays[f"pages.{name}"]
    return found


def pack_texts(name: str, parts: list[bytes]) -> Arrays:
    """A list of bytes as two arrays."""
    lengths = np.array([len(part) for part in parts], dtype=np.int64)
    return {f"{name}.text": np.frombuffer(b"".join(parts), dtype=np.uint8), f"{name}.lengths": lengths}


def unpack_texts(name: str, arrays: Mapping[str, NDArray[np.generic]]) -> list[bytes]:
    """The list that `pack_texts` took."""
    text = arrays[f"{name}.text"].tobytes()
    lengths = cast("NDArray[np.int64]", arrays[f"{name}.lengths"])
    ends = np.cumsum(lengths)
    return [text[end - size : end] for end, size in zip(ends, lengths, strict=True)]


def to_bytes(arrays: Arrays) -> bytes:
    """Arrays as one string of bytes (numpy's .npz)."""
    stream = io.BytesIO()
    np.savez(stream, **arrays)  # type: ignore[arg-type]
    return stream.getvalue()


def from_bytes(kept: bytes) -> Arrays:
    """What `to_bytes` took."""
    with np.load(io.BytesIO(kept), allow_pickle=False) as arrays:
        return dict(arrays)
