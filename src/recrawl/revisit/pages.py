"""A set of pages as the theory sees it: change rates, weights, and the site of each page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recrawl.errors import InvalidModel

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from recrawl.laws import Law

__all__ = ["Pages", "checked_vector"]


def checked_vector(
    name: str, values: ArrayLike, size: int | None = None, *, zero: bool, infinite: bool = False
) -> NDArray[np.float64]:
    """A vector of rates or weights, or an error that names the first bad entry.

    >>> checked_vector("weight", [1.0, 0.0], zero=False)
    Traceback (most recent call last):
    ...
    recrawl.errors.InvalidModel: weight[1] must be a positive number, not 0.0
    """
    try:
        vector = np.ascontiguousarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidModel(f"{name} must hold numbers: {error}") from None
    if vector.ndim != 1:
        raise InvalidModel(f"{name} must be a list, not an array of shape {vector.shape}")
    if size is not None and vector.size != size:
        raise InvalidModel(f"{name} has {vector.size} entries for {size} pages")
    # Extremes first: they need no temporary array, and almost every vector is good.
    if vector.size and not (
        vector.min() >= 0 and (vector.min() > 0 or zero) and (infinite or vector.max() < np.inf)
    ):
        good = (vector >= 0) if zero else (vector > 0)
        if not infinite:
            good &= vector < np.inf
        place = int(np.flatnonzero(~good)[0])
        kind = "a number not below zero" if zero else "a positive number"
        raise InvalidModel(f"{name}[{place}] must be {kind}, not {vector[place]}")
    return vector


class Pages:
    """Pages that change as independent Poisson processes.

    `change_rate` is μ, the mean number of changes per unit time (0: never changes); `weight` is c, what a stale
    copy costs per unit time (default 1); `site` numbers the site of each page from 0 (default: one site).

    >>> Pages([1.0, 0.5, 0.0]).total_change_rate
    1.5
    """

    change_rate: NDArray[np.float64]
    weight: NDArray[np.float64]
    site: NDArray[np.int64] | None

    def __init__(
        self, change_rate: ArrayLike, weight: ArrayLike | None = None, site: ArrayLike | None = None
    ) -> None:
        self.change_rate = checked_vector("change_rate", change_rate, zero=True)
        size = self.change_rate.size
        if size == 0:
            raise InvalidModel("there are no pages")
        self.weight = np.ones(size) if weight is None else checked_vector("weight", weight, size, zero=False)
        self.site = None if site is None else _checked_site(site, size)

    def __repr__(self) -> str:
        return f"Pages({len(self)} pages, total change rate {self.total_change_rate:g}, {self.sites} sites)"

    def __len__(self) -> int:
        return int(self.change_rate.size)

    @property
    def total_change_rate(self) -> float:
        """Σ μ."""
        return float(self.change_rate.sum())

    @property
    def total_weight(self) -> float:
        """Σ c."""
        return float(self.weight.sum())

    @property
    def sites(self) -> int:
        """Number of sites."""
        return 1 if self.site is None else int(self.site.max()) + 1

    def exponents(self, access: Law) -> NDArray[np.float64]:
        """−ln E[e^{−μX}] for every page [Coffman 1999, before Lemma 3.1]."""
        return access.exponent(self.change_rate)

    def subset(self, places: NDArray[np.int64]) -> Pages:
        """The pages at these places, in this order."""
        site = None if self.site is None else self.site[places]
        return Pages(self.change_rate[places], self.weight[places], site)


def _checked_site(site: ArrayLike, size: int) -> NDArray[np.int64]:
    codes = np.asarray(site)
    if codes.shape != (size,) or codes.dtype.kind not in "iu":
        raise InvalidModel(
            f"site must number the site of each of {size} pages, not {codes.dtype} of shape {codes.shape}"
        )
    if codes.min() < 0:
        raise InvalidModel(f"site[{int(codes.argmin())}] must not be negative, not {codes.min()}")
    return codes.astype(np.int64)
