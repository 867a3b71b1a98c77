"""Laws with closed forms: deterministic, exponential, Erlang, gamma, uniform."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recrawl.errors import InvalidModel
from recrawl.laws._stable import exp_remainder, exp_remainder3, log_remainder, mean_decay
from recrawl.laws.law import Law, positive

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Deterministic", "Erlang", "Exponential", "Gamma", "Uniform"]


@dataclass(frozen=True)
class Deterministic(Law):
    """A constant time.

    >>> Deterministic(0.5).transform(2.0).round(6).item()
    0.367879
    """

    value: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", positive("mean", self.value))

    @property
    def mean(self) -> float:
        return self.value

    @property
    def second_moment(self) -> float:
        return self.value**2

    @property
    def scv(self) -> float:
        return 0.0

    def transform(self, s: ArrayLike) -> NDArray[np.float64]:
        return np.exp(-np.asarray(s, dtype=np.float64) * self.value)

    def transform_remainder(self, s: ArrayLike) -> NDArray[np.float64]:
        return exp_remainder(np.asarray(s, dtype=np.float64) * self.value)

    def exponent(self, s: ArrayLike) -> NDArray[np.float64]:
        return np.asarray(s, dtype=np.float64) * self.value

    def exponent_deficit(self, s: ArrayLike) -> NDArray[np.float64]:
        return np.zeros_like(np.asarray(s, dtype=np.float64))

    def distribution(self, t: ArrayLike) -> NDArray[np.float64]:
        return (np.asarray(t, dtype=np.float64) >= self.value).astype(np.float64)

    def sample(self, rng: np.random.Generator, size: int) -> NDArray[np.float64]:  # noqa: ARG002 (nothing random)
        return np.full(size, self.value)

    def scaled(self, mean: float) -> Deterministic:
        return Deterministic(mean)

    def __str__(self) -> str:
        return f"deterministic:{self.value:g}"


@dataclass(frozen=True)
class Gamma(Law):
    """A gamma law with a given mean and squared coefficient of variation (scv); shape 1/scv.

    >>> Gamma(mean=2.0, scv=0.5).second_moment
    6.0
    """

    mean_time: float
    squared_variation: float

    def __init__(self, mean: float, scv: float = 1.0) -> None:
        object.__setattr__(self, "mean_time", positive("mean", mean))
        object.__setattr__(self, "squared_variation", positive("scv", scv))

    @property
    def mean(self) -> float:
        return self.mean_time

    @property
    def scv(self) -> float:
        return self.squared_variation

    @property
    def shape(self) -> float:
        """1/scv."""
        return 1.0 / self.squared_variation

    @property
    def second_moment(self) -> float:
        return self.mean_time**2 * (1.0 + self.squared_variation)

    def _load(self, s: ArrayLike) -> NDArray[np.float64]:
        return np.asarray(s, dtype=np.float64) * (self.mean_time * self.squared_variation)

    def transform(self, s: ArrayLike) -> NDArray[np.float64]:
        return np.exp(-self.exponent(s))

    def transform_remainder(self, s: ArrayLike) -> NDArray[np.float64]:
        return exp_remainder(self.exponent(s)) + self.shape * log_remainder(self._load(s))

    def exponent(self, s: ArrayLike) -> NDArray[np.float64]:
        return self.shape * np.log1p(self._load(s))

    def exponent_deficit(self, s: ArrayLike) -> NDArray[np.float64]:
        load = self._load(s)
        return np.where(load > 0, log_remainder(load) / np.where(load > 0, load, 1.0), 0.0)

    def distribution(self, t: ArrayLike) -> NDArray[np.float64]:
        from scipy.special import gammainc

        t = np.maximum(np.asarray(t, dtype=np.float64), 0.0)
        return np.asarray(gammainc(self.shape, t * self.shape / self.mean_time))

    def density(self, t: ArrayLike) -> NDArray[np.float64]:
        from scipy.special import gammaln, xlogy

        t = np.asarray(t, dtype=np.float64)
        rate = self.shape / self.mean_time
        inside = np.maximum(t, 0.0)
        with np.errstate(over="ignore"):
            log = xlogy(self.shape - 1.0, inside * rate) - inside * rate - gammaln(self.shape) + np.log(rate)
            return np.where(t >= 0, np.exp(log), 0.0)

    def sample(self, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        return rng.gamma(self.shape, self.mean_time * self.squared_variation, size)

    def scaled(self, mean: float) -> Gamma:
        return Gamma(mean, self.squared_variation)

    def __repr__(self) -> str:
        return f"Gamma(mean={self.mean_time:g}, scv={self.squared_variation:g})"

    def __str__(self) -> str:
        return f"gamma:{self.mean_time:g},{self.squared_variation:g}"


class Exponential(Gamma):
    """An exponential law.

    >>> Exponential(0.5).transform(2.0).item()
    0.5
    """

    def __init__(self, mean: float) -> None:
        super().__init__(mean, 1.0)

    def transform(self, s: ArrayLike) -> NDArray[np.float64]:
        return 1.0 / (1.0 + self._load(s))

    def transform_remainder(self, s: ArrayLike) -> NDArray[np.float64]:
        load = self._load(s)
        return load * load / (1.0 + load)

    def distribution(self, t: ArrayLike) -> NDArray[np.float64]:
        return -np.expm1(-np.maximum(np.asarray(t, dtype=np.float64), 0.0) / self.mean_time)

    def sample(self, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        return rng.exponential(self.mean_time, size)

    def scaled(self, mean: float) -> Exponential:
        return Exponential(mean)

    def __repr__(self) -> str:
        return f"Exponential(mean={self.mean_time:g})"

    def __str__(self) -> str:
        return f"exponential:{self.mean_time:g}"


class Erlang(Gamma):
    """The sum of `stages` exponential times of equal mean; scv = 1/stages.

    >>> Erlang(mean=3.0, stages=2).scv
    0.5
    """

    def __init__(self, mean: float, stages: int = 2) -> None:
        if int(stages) != stages or stages < 1:
            raise InvalidModel(f"stages must be a whole number from 1, not {stages}")
        super().__init__(mean, 1.0 / int(stages))

    @property
    def stages(self) -> int:
        """Number of exponential stages."""
        return round(self.shape)

    def scaled(self, mean: float) -> Erlang:
        return Erlang(mean, self.stages)

    def __repr__(self) -> str:
        return f"Erlang(mean={self.mean_time:g}, stages={self.stages})"

    def __str__(self) -> str:
        return f"erlang:{self.mean_time:g},{self.squared_variation:g}"


# A 32-point rule integrates e^{-y} over a width of up to 8 to full double accuracy.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(32)
_QUADRATURE_WIDTH = 8.0


@dataclass(frozen=True)
class Uniform(Law):
    """Uniform between `low` and `high`.

    >>> Uniform(0.0, 2.0).scv
    0.3333333333333333
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", positive("low", self.low, zero=True))
        object.__setattr__(self, "high", positive("high", self.high))
        if not self.low < self.high:
            raise InvalidModel(f"low must be below high, not {self.low} and {self.high}")

    @classmethod
    def with_scv(cls, mean: float, scv: float = 1.0 / 3.0) -> Uniform:
        """Symmetric about its mean; scv at most 1/3 (from 0 to twice the mean)."""
        mean = positive("mean", mean)
        scv = positive("scv", scv)
        if scv > (1.0 + 1e-12) / 3.0:
            raise InvalidModel(f"the scv of a uniform law is at most 1/3, not {scv}")
        half = min(1.0, float(np.sqrt(3.0 * scv)))
        return cls(mean * (1.0 - half), mean * (1.0 + half))

    @property
    def mean(self) -> float:
        return 0.5 * (self.low + self.high)

    @property
    def second_moment(self) -> float:
        return (self.low**2 + self.low * self.high + self.high**2) / 3.0

    @property
    def scv(self) -> float:
        return (self.high - self.low) ** 2 / (12.0 * self.mean**2)

    def _average(self, s: NDArray[np.float64], remainder: bool) -> NDArray[np.float64]:
        """Gauss-Legendre average of e^{-sx}, or of its remainder: exact to rounding for small widths."""
        x = self.mean + 0.5 * (self.high - self.low) * _NODES
        y = s[..., None] * x
        return np.asarray((exp_remainder(y) if remainder else np.exp(-y)) @ (0.5 * _WEIGHTS))

    def transform(self, s: ArrayLike) -> NDArray[np.float64]:
        s = np.asarray(s, dtype=np.float64)
        width = s * (self.high - self.low)
        narrow = width < _QUADRATURE_WIDTH
        wide = np.exp(-s * self.low) * -np.expm1(-width) / np.where(narrow, 1.0, width)
        return np.where(narrow, self._average(np.where(narrow, s, 0.0), remainder=False), wide)

    def _log_transform(self, s: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(np.log(mean_decay(s * (self.high - self.low))) - s * self.low)

    def transform_remainder(self, s: ArrayLike) -> NDArray[np.float64]:
        s = np.asarray(s, dtype=np.float64)
        width = s * (self.high - self.low)
        narrow = width < _QUADRATURE_WIDTH
        difference = exp_remainder3(s * self.high) - exp_remainder3(s * self.low)
        wide = difference / np.where(narrow, 1.0, width)
        return np.where(narrow, self._average(np.where(narrow, s, 0.0), remainder=True), wide)

    def distribution(self, t: ArrayLike) -> NDArray[np.float64]:
        return np.clip((np.asarray(t, dtype=np.float64) - self.low) / (self.high - self.low), 0.0, 1.0)

    def density(self, t: ArrayLike) -> NDArray[np.float64]:
        t = np.asarray(t, dtype=np.float64)
        return np.where((t >= self.low) & (t <= self.high), 1.0 / (self.high - self.low), 0.0)

    def sample(self, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        return rng.uniform(self.low, self.high, size)

    def scaled(self, mean: float) -> Uniform:
        factor = positive("mean", mean) / self.mean
        return Uniform(self.low * factor, self.high * factor)

    def __str__(self) -> str:
        return f"uniform:{self.mean:g},{self.scv:g}"
