"""Hyperexponential and two-task laws: mixtures and sums of exponential times."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recrawl.errors import InvalidModel
from recrawl.laws._stable import mean_decay
from recrawl.laws.law import Law, positive

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Hyperexponential", "TwoTask"]


@dataclass(frozen=True)
class Hyperexponential(Law):
    """With probability `probabilities[j]`, an exponential time of mean `means[j]`.

    >>> round(Hyperexponential.balanced(mean=1.0, scv=4.0).scv, 12)
    4.0
    """

    probabilities: tuple[float, ...]
    means: tuple[float, ...]

    def __post_init__(self) -> None:
        probabilities = tuple(positive("probability", p, zero=True) for p in self.probabilities)
        means = tuple(positive("mean", m) for m in self.means)
        if len(probabilities) != len(means) or not means:
            raise InvalidModel(f"{len(probabilities)} probabilities for {len(means)} means")
        if abs(math.fsum(probabilities) - 1.0) > 1e-9:
            raise InvalidModel(f"probabilities must sum to 1, not {math.fsum(probabilities)}")
        total = math.fsum(probabilities)
        object.__setattr__(self, "probabilities", tuple(p / total for p in probabilities))
        object.__setattr__(self, "means", means)

    @classmethod
    def balanced(cls, mean: float, scv: float = 4.0) -> Hyperexponential:
        """Two phases that contribute equally to the mean (p1·m1 = p2·m2); scv from 1."""
        mean, scv = positive("mean", mean), positive("scv", scv)
        if scv < 1.0:
            raise InvalidModel(f"the scv of a hyperexponential law is at least 1, not {scv}")
        root = math.sqrt((scv - 1.0) / (scv + 1.0))
        rare = 1.0 / (scv + 1.0) / (1.0 + root)  # (1 − root)/2 without cancellation
        return cls((1.0 - rare, rare), (mean / (2.0 * (1.0 - rare)), mean / (2.0 * rare)))

    def _phases(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return np.array(self.probabilities), np.array(self.means)

    @property
    def mean(self) -> float:
        return math.fsum(p * m for p, m in zip(self.probabilities, self.means, strict=True))

    @property
    def second_moment(self) -> float:
        return math.fsum(2.0 * p * m * m for p, m in zip(self.probabilities, self.means, strict=True))

    def transform(self, s: ArrayLike) -> NDArray[np.float64]:
        p, m = self._phases()
        return np.asarray((1.0 / (1.0 + np.asarray(s, dtype=np.float64)[..., None] * m)) @ p)

    def transform_remainder(self, s: ArrayLike) -> NDArray[np.float64]:
        p, m = self._phases()
        load = np.asarray(s, dtype=np.float64)[..., None] * m
        return np.asarray((load * load / (1.0 + load)) @ p)

    def distribution(self, t: ArrayLike) -> NDArray[np.float64]:
        p, m = self._phases()
        return np.asarray(-np.expm1(-np.maximum(np.asarray(t, dtype=np.float64), 0.0)[..., None] / m) @ p)

    def density(self, t: ArrayLike) -> NDArray[np.float64]:
        p, m = self._phases()
        t = np.asarray(t, dtype=np.float64)
        return np.where(t >= 0, np.exp(-np.maximum(t, 0.0)[..., None] / m) @ (p / m), 0.0)

    def sample(self, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        p, m = self._phases()
        return np.asarray(rng.standard_exponential(size) * rng.choice(m, size, p=p))

    def scaled(self, mean: float) -> Hyperexponential:
        factor = positive("mean", mean) / self.mean
        return Hyperexponential(self.probabilities, tuple(m * factor for m in self.means))

    def __str__(self) -> str:
        return f"hyperexponential:{self.mean:g},{self.scv:g}"


@dataclass(frozen=True)
class TwoTask(Law):
    """An indexer's service: check the page, then with probability `update_probability` update the index.

    Both tasks take exponential times. [Talim 2001, Section 4.4]

    >>> TwoTask(check_mean=2.0, update_mean=10.0, update_probability=0.35).mean
    5.5
    """

    check_mean: float
    update_mean: float
    update_probability: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "check_mean", positive("check mean", self.check_mean))
        object.__setattr__(self, "update_mean", positive("update mean", self.update_mean))
        object.__setattr__(
            self, "update_probability", positive("update probability", self.update_probability, zero=True)
        )
        if self.update_probability > 1.0:
            raise InvalidModel(f"update probability must be at most 1, not {self.update_probability}")

    @property
    def mean(self) -> float:
        return self.check_mean + self.update_probability * self.update_mean

    @property
    def second_moment(self) -> float:
        check, update, p = self.check_mean, self.update_mean, self.update_probability
        return 2.0 * check**2 + 2.0 * p * update * (check + update)

    def transform(self, s: ArrayLike) -> NDArray[np.float64]:
        s = np.asarray(s, dtype=np.float64)
        checked = 1.0 / (1.0 + s * self.check_mean)
        return checked * (
            1.0 - self.update_probability * (s * self.update_mean / (1.0 + s * self.update_mean))
        )

    def transform_remainder(self, s: ArrayLike) -> NDArray[np.float64]:
        # h(s) − 1 + s·E[X] over the common denominator: only positive terms are left (a = s·m1, b = s·m2).
        s = np.asarray(s, dtype=np.float64)
        a, b, p = s * self.check_mean, s * self.update_mean, self.update_probability
        return (a * a + p * b * (a + b + a * b) / (1.0 + b)) / (1.0 + a)

    def _updated_survival(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        """P(check + update > t)."""
        r1, r2 = 1.0 / self.check_mean, 1.0 / self.update_mean
        slow, fast = min(r1, r2), max(r1, r2)
        # (fast e^{-slow t} − slow e^{-fast t}) / (fast − slow), written so that equal rates are no exception.
        return np.exp(-fast * t) + fast * t * np.exp(-slow * t) * mean_decay((fast - slow) * t)

    def distribution(self, t: ArrayLike) -> NDArray[np.float64]:
        t = np.maximum(np.asarray(t, dtype=np.float64), 0.0)
        p = self.update_probability
        return -(1.0 - p) * np.expm1(-t / self.check_mean) + p * (1.0 - self._updated_survival(t))

    def density(self, t: ArrayLike) -> NDArray[np.float64]:
        t = np.asarray(t, dtype=np.float64)
        inside = np.maximum(t, 0.0)
        r1, r2 = 1.0 / self.check_mean, 1.0 / self.update_mean
        slow, gap = min(r1, r2), abs(r1 - r2)
        both = r1 * r2 * inside * np.exp(-slow * inside) * mean_decay(gap * inside)
        p = self.update_probability
        return np.where(t >= 0, (1.0 - p) * r1 * np.exp(-r1 * inside) + p * both, 0.0)

    def sample(self, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        check = rng.exponential(self.check_mean, size)
        update = rng.exponential(self.update_mean, size)
        return check + np.where(rng.random(size) < self.update_probability, update, 0.0)

    def scaled(self, mean: float) -> TwoTask:
        factor = positive("mean", mean) / self.mean
        return TwoTask(self.check_mean * factor, self.update_mean * factor, self.update_probability)

    def __str__(self) -> str:
        return f"two-task:{self.check_mean:g},{self.update_mean:g},{self.update_probability:g}"
