"""What every law of a random time can do.

A law describes a time X >= 0: how long an access, an indexing or a wait takes. The revisit theory needs
its transform h(s) = E[e^{-sX}] at change rates that may be tiny, where 1 − h(s) and s·E[X] + ln h(s) lose all
their digits if they are computed as differences. So each law gives the *remainder*

    E[e^{-sX} − 1 + sX] >= 0,

which is a sum of positive terms, and everything else follows from it without cancellation.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Self

import numpy as np

from recrawl.errors import InvalidModel
from recrawl.laws._stable import log_remainder

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Law", "positive"]


def positive(name: str, value: float, *, zero: bool = False) -> float:
    """The value as a float, or an error that names the field.

    >>> positive("mean", -1)
    Traceback (most recent call last):
    ...
    recrawl.errors.InvalidModel: mean must be a positive number, not -1
    """
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InvalidModel(f"{name} must be a number, not {value!r}") from None
    if not math.isfinite(number) or number < 0 or (number == 0 and not zero):
        kind = "a number not below zero" if zero else "a positive number"
        raise InvalidModel(f"{name} must be {kind}, not {value}")
    return number


class Law(ABC):
    """The law of a random time.

    Subclasses give `mean`, `second_moment`, `transform`, `transform_remainder`, `distribution`, `sample` and
    `scaled`; those that have one give `density`.
    """

    @property
    @abstractmethod
    def mean(self) -> float:
        """E[X]."""

    @property
    @abstractmethod
    def second_moment(self) -> float:
        """E[X²]."""

    @property
    def variance(self) -> float:
        """Var X."""
        return self.scv * self.mean**2

    @property
    def scv(self) -> float:
        """Squared coefficient of variation, Var X / E[X]²."""
        return max(0.0, self.second_moment / self.mean**2 - 1.0)

    @abstractmethod
    def transform(self, s: ArrayLike) -> NDArray[np.float64]:
        """E[e^{-sX}] for s >= 0, elementwise."""

    @abstractmethod
    def transform_remainder(self, s: ArrayLike) -> NDArray[np.float64]:
        """E[e^{-sX} − 1 + sX] for s >= 0, elementwise, with full relative accuracy for small s."""

    def exponent(self, s: ArrayLike) -> NDArray[np.float64]:
        """−ln E[e^{-sX}], elementwise, with full relative accuracy for small and for large s."""
        s = np.asarray(s, dtype=np.float64)
        changed = s * self.mean - self.transform_remainder(s)  # 1 − h(s)
        near_one = changed < 0.5
        far = -self._log_transform(np.where(near_one, 0.0, s))
        return np.where(near_one, -np.log1p(-np.where(near_one, changed, 0.0)), far)

    def _log_transform(self, s: NDArray[np.float64]) -> NDArray[np.float64]:
        """ln E[e^{-sX}] for large s; overridden by laws whose transform underflows."""
        return np.asarray(np.log(self.transform(s)))

    def exponent_deficit(self, s: ArrayLike) -> NDArray[np.float64]:
        """1 − exponent(s) / (s·E[X]), in [0, 1): what the randomness of X takes from the exponent.

        It is 0 for a deterministic time, and about scv·s·E[X]/2 for small s.
        """
        s = np.asarray(s, dtype=np.float64)
        load = s * self.mean
        safe = np.where(load > 0, load, 1.0)
        remainder = self.transform_remainder(s)
        changed = load - remainder
        small = changed < 0.5
        # s·m − exponent = remainder − (−ln(1−w) − w) with w = 1 − h(s): two small positive terms.
        gap = np.where(
            small, remainder - log_remainder(np.where(small, -changed, 0.0)), load - self.exponent(s)
        )
        return np.where(load > 0, np.maximum(gap, 0.0) / safe, 0.0)

    @abstractmethod
    def distribution(self, t: ArrayLike) -> NDArray[np.float64]:
        """P(X <= t), elementwise."""

    def density(self, t: ArrayLike) -> NDArray[np.float64]:
        """The density at t, elementwise; an error for laws that have none."""
        raise InvalidModel(f"{self!r} has no density, not even at {t!r}")

    @abstractmethod
    def sample(self, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        """Draw `size` independent times."""

    @abstractmethod
    def scaled(self, mean: float) -> Self:
        """The law of c·X with c chosen so that its mean is `mean`; the scv stays."""
