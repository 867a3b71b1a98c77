"""The priors of groups of pages: densities of ln λ on a grid of rates, and how they are blended."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recrawl.errors import InvalidModel
from recrawl.estimate.rate_grid import shifted
from recrawl.laws.law import positive

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

__all__ = ["Priors", "check_learning", "joined"]

_FLAT_PAGES = 20.0  # pages of entirely unknown rate that the prior of all pages starts from


def check_learning(strength: float, floor: float) -> None:
    """Refuse a strength or a floor that no prior can have."""
    positive("strength", strength, zero=True)
    if not 0 < floor <= 1:
        raise InvalidModel(f"floor must lie in (0, 1], not {floor}")


class Priors:
    """One density for each group, linear in ln λ between the points at which it is kept.

    The points are those of the grid, or also `parts` − 1 between each two of them: shared by all pages of a
    group, they cost no page anything.
    """

    def __init__(self, groups: int, points: int) -> None:
        self.points = points
        self.density = np.full((groups, points), 1.0 / (points - 1))

    @property
    def groups(self) -> int:
        """Number of groups."""
        return len(self.density)

    @property
    def ends(self) -> Floats:
        """Widths of the hats around the points: those at the two ends are half as wide."""
        return _ends(self.density.shape[1])

    @property
    def probabilities(self) -> Floats:
        """Probabilities of the points, a row for each group."""
        return self.density * self.ends

    def set(self, probabilities: ArrayLike, parts: int) -> None:
        """Take over probabilities, at the grid's points or with `parts` − 1 between each two of them."""
        given = np.array(probabilities, dtype=np.float64)
        sizes = (self.points, (self.points - 1) * parts + 1)
        if (
            given.ndim != 2
            or len(given) != self.groups
            or given.shape[1] not in sizes
            or not (given > 0).all()
        ):
            expected = (self.groups, self.points)
            raise InvalidModel(f"priors must be positive, of shape {expected}, not {given.shape}")
        self._keep(given / given.sum(axis=1, keepdims=True) / _ends(given.shape[1]))

    def _keep(self, density: Floats) -> None:
        """Write over the densities where they are: loops may hold on to them."""
        if density.shape == self.density.shape:
            self.density[:] = density
        else:
            self.density = density

    def shift(self, steps: int) -> None:
        """Move the densities to a grid that lies `steps` of its points lower."""
        finer = (self.density.shape[1] - 1) // (self.points - 1)
        moved = np.exp(shifted(np.log(self.density), steps * finer))
        self._keep(moved / (moved * self.ends).sum(axis=1, keepdims=True))

    def coarsen(self) -> None:
        """Keep the grid's points only, as steps of EM need it."""
        size = self.density.shape[1]
        if size > self.points:
            masses = self.density[:, :: (size - 1) // (self.points - 1)] * _ends(self.points)
            self.density = masses / masses.sum(axis=1, keepdims=True) / _ends(self.points)

    def blend(self, sums: Floats, counts: Floats, strength: float, floor: float) -> float:
        """Priors from summed posteriors at the grid's points; the largest change of a probability."""
        even = self.ends / self.ends.sum()
        # A few pages must not seem to know the whole law of rates: flat pseudo-pages join them.
        everywhere = (sums.sum(axis=0) + _FLAT_PAGES * even) / (counts.sum() + _FLAT_PAGES)
        masses = joined(sums, counts, everywhere, strength)
        masses = (1.0 - floor) * masses + floor * even
        moved = float(np.abs(masses - self.probabilities).max())
        self._keep(masses / self.ends)
        return moved


def joined(sums: Floats, counts: Floats, everywhere: Floats, strength: float) -> Floats:
    """Means of groups, as if `strength` further pages of each had the mean of all pages."""
    # A group without pages takes the mean of all, whatever the strength.
    share = np.where(counts + strength > 0, counts + strength, 1.0)[:, None]
    means: Floats = np.where(counts[:, None] > 0, (sums + strength * everywhere) / share, everywhere)
    return means


def _ends(size: int) -> Floats:
    ends = np.ones(size)
    ends[[0, -1]] = 0.5
    return ends
