"""The lognormal law; its transform has no closed form."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from recrawl.laws._stable import exp_remainder
from recrawl.laws.law import Law, positive

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

__all__ = ["Lognormal"]

# Rates per block of the quadrature: a block of rates times nodes stays within the cache.
_BLOCK = 2048


@dataclass(frozen=True)
class Lognormal(Law):
    """X = e^{location + sigma·Z} with Z standard normal, by its mean and squared coefficient of variation.

    The transform is the trapezoidal rule over z, which for such integrands converges geometrically
    [Trefethen and Weideman 2014]: the integrand is analytic for |Im z| < π/(2 sigma), so a step of
    0.25/max(1, sigma) leaves an error below e^{-39}. The nodes reach as far as a normal density can be told
    from zero in double precision. Relative accuracy: 1e-12 while the transform is above 1e-290;
    beyond that its logarithm is given by Laplace's method.

    >>> Lognormal(mean=1.0, scv=2.0).transform(1.0).round(6).item()
    0.523484
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
    def second_moment(self) -> float:
        return self.mean_time**2 * (1.0 + self.squared_variation)

    @property
    def sigma(self) -> float:
        """Standard deviation of ln X."""
        return math.sqrt(math.log1p(self.squared_variation))

    @property
    def location(self) -> float:
        """Mean of ln X."""
        return math.log(self.mean_time) - 0.5 * self.sigma**2

    @cached_property
    def _nodes(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Times and their weights. The second moment moves the mass of the integrand right by 2 sigma."""
        step = 0.25 / max(1.0, self.sigma)
        z = np.arange(math.floor(-38.0 / step), math.ceil((10.0 + 2.0 * self.sigma) / step) + 1) * step
        weights = np.exp(-0.5 * z * z) * (step / math.sqrt(2.0 * math.pi))
        return np.exp(self.location + self.sigma * z), weights

    def _expect(
        self, function: Callable[[NDArray[np.float64]], NDArray[np.float64]], s: ArrayLike
    ) -> NDArray[np.float64]:
        """E[function(sX)] for every s, block by block."""
        s = np.asarray(s, dtype=np.float64)
        x, weights = self._nodes
        flat = s.ravel()
        result = np.empty_like(flat)
        for start in range(0, flat.size, _BLOCK):
            block = flat[start : start + _BLOCK]
            result[start : start + _BLOCK] = function(block[:, None] * x) @ weights
        return result.reshape(s.shape)

    def transform(self, s: ArrayLike) -> NDArray[np.float64]:
        return self._expect(lambda y: np.exp(-y), s)

    def _log_transform(self, s: NDArray[np.float64]) -> NDArray[np.float64]:
        transform = self.transform(s)
        small = transform < 1e-290
        with np.errstate(divide="ignore"):
            exact = np.log(transform)
        if not small.any():
            return np.asarray(exact)
        # Laplace's method about the peak of the integrand [Asmussen, Jensen, Rojas-Nandayapa 2016]: the exponent,
        # above 667 there, is right to about 1e-5.
        from scipy.special import lambertw

        variance = self.sigma**2
        w = lambertw(s * (np.exp(self.location) * variance)).real
        peak = -(w * w + 2.0 * w) / (2.0 * variance) - 0.5 * np.log1p(w)
        return np.where(small, peak, exact)

    def transform_remainder(self, s: ArrayLike) -> NDArray[np.float64]:
        return self._expect(exp_remainder, s)

    def distribution(self, t: ArrayLike) -> NDArray[np.float64]:
        from scipy.special import ndtr

        t = np.asarray(t, dtype=np.float64)
        safe = np.where(t > 0, t, 1.0)
        return np.where(t > 0, ndtr((np.log(safe) - self.location) / self.sigma), 0.0)

    def density(self, t: ArrayLike) -> NDArray[np.float64]:
        t = np.asarray(t, dtype=np.float64)
        safe = np.where(t > 0, t, 1.0)
        z = (np.log(safe) - self.location) / self.sigma
        return np.where(t > 0, np.exp(-0.5 * z * z) / (safe * self.sigma * math.sqrt(2.0 * math.pi)), 0.0)

    def sample(self, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        return rng.lognormal(self.location, self.sigma, size)

    def scaled(self, mean: float) -> Lognormal:
        return Lognormal(mean, self.squared_variation)

    def __repr__(self) -> str:
        return f"Lognormal(mean={self.mean_time:g}, scv={self.squared_variation:g})"

    def __str__(self) -> str:
        return f"lognormal:{self.mean_time:g},{self.squared_variation:g}"
