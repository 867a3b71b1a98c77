"""Documents about the index queue and its robots; and what all documents are made of."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

__all__ = [
    "Amount",
    "BufferView",
    "Control",
    "Count",
    "Decision",
    "DensityBin",
    "Document",
    "FittedLaw",
    "FleetPoint",
    "LevelShare",
    "Measured",
    "PolicyWord",
    "Probability",
    "QueueCase",
    "RobotsView",
    "State",
    "ThresholdRow",
    "WhatIf",
]

Probability = Annotated[float, Meta(ge=0.0, le=1.0)]
Amount = Annotated[float, Meta(ge=0.0)]
Count = Annotated[int, Meta(ge=0)]
State = Literal["known", "gone", "excluded", "duplicate"]
PolicyWord = Literal["optimal", "uniform", "proportional", "randomised"]
Control = Literal["guarded", "fixed", "thresholds", "auto"]


class Document(Struct, frozen=True, kw_only=True):
    """Base of all documents: written once, read by name."""


class Measured(Document, frozen=True, kw_only=True):
    """A measure of the index queue beside what the fitted model predicts."""

    name: Literal[
        "loss", "obsolete", "starvation", "spare", "response_time", "service_time", "active_robots", "mean_pages",
        "arrival_rate",
    ]  # fmt: skip
    label: str
    unit: Literal["share", "seconds", "robots", "pages", "per second"]
    measured: float | None = None
    half_width: float | None = None  # of the 95 % confidence interval
    predicted: float | None = None


class BufferView(Document, frozen=True, kw_only=True):
    """The finite buffer between robots and indexer; capacity counts the page being indexed."""

    level: Count
    capacity: Count
    table: list[Count] | None = None  # active robots for 0, 1, ..., capacity pages; None: too long to show
    thresholds: list[Count] = []  # levels beyond which fewer robots work


class FleetPoint(Document, frozen=True, kw_only=True):
    """A number of robots, and what it costs per second by the fitted queue."""

    robots: Count
    cost: Amount
    starvation: Probability | None = None
    loss: Probability | None = None
    obsolete: Probability | None = None
    response_time: Amount | None = None


class DensityBin(Document, frozen=True, kw_only=True):
    """How often a value from `low` to `high` was measured, per unit."""

    low: Amount
    high: Amount
    density: Amount


class FittedLaw(Document, frozen=True, kw_only=True):
    """A law fitted to what was measured."""

    name: str
    family: str
    mean: Amount
    scv: Amount | None = None  # squared coefficient of variation
    samples: Count
    detail: str = ""
    density: list[tuple[float, float]] = []  # points of the fitted density
    histogram: list[DensityBin] = []


class ThresholdRow(Document, frozen=True, kw_only=True):
    """So many robots work while the level is from `low` to `high`."""

    robots: Count
    low: Count
    high: Count


class LevelShare(Document, frozen=True, kw_only=True):
    """Share of time with `level` to `high` pages in buffer and indexer."""

    level: Count
    high: Count
    measured: Probability | None = None
    half_width: Amount | None = None
    predicted: Probability | None = None


class QueueCase(Document, frozen=True, kw_only=True):
    """The fitted queue under a table of robots: loss, obsolete, starvation, response_time, active_robots, cost, ..."""

    thresholds: list[ThresholdRow]
    measures: dict[str, float | None]


class WhatIf(Document, frozen=True, kw_only=True):
    """The fitted queue if indexing took `service_factor` times as long."""

    service_factor: Amount
    now: QueueCase  # as it is
    same: QueueCase  # changed, robots switched as now
    best: QueueCase | None = None  # changed, with the best thresholds
    best_fixed_robots: Count | None = None
    in_words: str


class Decision(Document, frozen=True, kw_only=True):
    """What the controller decided, and when."""

    time: float
    text: str


class RobotsView(Document, frozen=True, kw_only=True):
    """How many robots, and when to switch them."""

    time: float
    control: Control
    decision: str
    decisions: list[Decision]
    warnings: list[str]
    budget_per_second: Amount | None = None
    robots_active: Count
    robots_accessing: Count
    robots_most: Count
    buffer: BufferView
    queue: list[Measured]
    thresholds: list[ThresholdRow]
    occupancy: list[LevelShare]
    laws: list[FittedLaw]
    fleet: list[FleetPoint]  # always the same number
    at_most: list[FleetPoint]  # the best thresholds with at most so many
    fleet_words: str = ""
    best_fixed_robots: Count | None = None
    worth_robots: Count | None = None
    service_factor: Amount = 1.0
    what_if: WhatIf | None = None
    controls: list[Control]  # that can be switched to
    reason: str = ""  # why something is missing
