"""Bracket sequences, the Whittle index, randomised accessing and the uniform round robin."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recrawl.errors import InvalidModel
from recrawl.laws._stable import exp_remainder
from recrawl.revisit.pages import checked_vector
from recrawl.revisit.sequences.base import IDLE, AccessSequence
from recrawl.revisit.sequences.due import spread_phases

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Bracket", "Randomised", "RoundRobin", "Template", "WhittleIndex"]


class Bracket(AccessSequence):
    """Regular binary sequences, nested [Hajek 1985; Arian and Levy 1992].

    Two pages can be interleaved as evenly as possible: one has slot n when ⌊(n+1)p⌋ > ⌊np⌋ (a bracket sequence).
    More pages are put into a binary tree; at each node a bracket sequence decides which side gets the access. The tree
    joins the two least frequent nodes again and again, so that pages of like frequency share a node.

    >>> Bracket([0.5, 0.25, 0.25]).take(8).tolist()
    [0, 1, 0, 2, 0, 1, 0, 2]
    """

    def _build(self) -> None:
        from recrawl.revisit.sequences import _kernels

        leaf = np.flatnonzero(self._alive).astype(np.int32)
        leaf = leaf[np.argsort(self._frequency[leaf], kind="stable")]
        self._single = leaf.size == 1
        self._only = int(leaf[0])
        nodes = max(leaf.size - 1, 1)
        self._left = np.zeros(nodes, dtype=np.int32)
        self._right = np.zeros(nodes, dtype=np.int32)
        self._share = np.zeros(nodes)
        self._phase = np.full(nodes, 0.5)
        if not self._single:
            weight = self._frequency[leaf]
            _kernels.merge_smallest(weight, leaf, self._alive.size, self._left, self._right, self._share)

    def start_anywhere(self, rng: np.random.Generator) -> None:
        self._phase = rng.random(self._phase.size)

    def _take(self, out: NDArray[np.int64]) -> None:
        from recrawl.revisit.sequences import _kernels

        if self._single:
            out[:] = self._only
            return
        _kernels.tree_take(out, self._left, self._right, self._share, self._phase, self._alive)


class WhittleIndex(AccessSequence):
    """Access the page whose index, relative to the price, is largest: near optimal, O(N) per access.

    The index of a page last accessed d slots ago is the price at which accessing it now or one slot later is the same:
    (c/μ)(1 − h^d(1 + d(1 − h))). At the optimal frequencies (c/μ)·a = price with a = 1 − (1+z)e^{−z}, z = L/f; so
    index/price = (1 − h^d(1 + d(1 − h)))/a, which also realises frequencies that a floor, a cap or a ceiling moved away
    from the plain optimum. `exponent` is L = −ln h of each page.
    """

    def __init__(self, frequency: ArrayLike, exponent: ArrayLike) -> None:
        self._exponent = checked_vector("exponent", exponent, zero=True)
        super().__init__(frequency)

    def replan(self, frequency: ArrayLike, exponent: ArrayLike | None = None) -> None:
        """Go on with new frequencies; `exponent` is needed when pages were added or their rates changed."""
        if exponent is not None:
            self._exponent = checked_vector("exponent", exponent, zero=True)
        super().replan(frequency)

    _offset = 0.0

    def start_anywhere(self, rng: np.random.Generator) -> None:
        self._offset = float(rng.random())
        self._build()

    def _build(self) -> None:
        phase = 1.0 - spread_phases(self._frequency, self._offset)
        self._age = np.floor(phase / np.where(self._alive, self._frequency, 1.0))
        self._weigh()

    def _replanned(self, before: NDArray[np.float64]) -> None:
        age = np.append(self._age[:-1], np.zeros(before.size - self._age.size + 1))
        self._age = np.where(before > 0, age, 0.0)
        self._weigh()

    def _weigh(self) -> None:
        if self._exponent.size != self._pages:
            raise InvalidModel(f"exponent has {self._exponent.size} entries for {self._pages} pages")
        from scipy.special import gammainc

        alive = self._alive > 0
        # Idle slots behave like a page of middling exponent: only their even spacing matters.
        idle = self._frequency[-1] if self._frequency[-1] > 0 else 1.0
        self._all_exponent = np.append(self._exponent, idle)
        z = self._all_exponent / np.where(alive, self._frequency, 1.0)
        target = gammainc(2.0, z)
        self._scale = np.where(target > 0, 1.0 / np.where(target > 0, target, 1.0), 0.0)
        self._step = np.exp(-self._all_exponent)
        self._excess = exp_remainder(self._all_exponent)
        self._decay = np.exp(-self._all_exponent * self._age)

    def _take(self, out: NDArray[np.int64]) -> None:
        from recrawl.revisit.sequences import _kernels

        _kernels.index_take(
            out,
            self._all_exponent,
            self._excess,
            self._step,
            self._scale,
            self._age,
            self._decay,
            self._alive,
        )


class Randomised(AccessSequence):
    """Each access picks a page with probability f, independently [Coffman 1999, Section 4]: the alias method.

    >>> Randomised([0.9, 0.1], 1).take(10).tolist()
    [0, 0, 0, 0, 0, 1, 0, 1, 0, 0]
    """

    memoryless = True

    def __init__(self, frequency: ArrayLike, rng: np.random.Generator | int | None = None) -> None:
        self._rng = np.random.default_rng(rng)
        super().__init__(frequency)

    def _build(self) -> None:
        from recrawl.revisit.sequences import _kernels

        weight = np.where(self._alive, self._frequency, 0.0)
        self._accept = np.empty(weight.size)
        self._other = np.empty(weight.size, dtype=np.int64)
        _kernels.alias_table(weight, self._accept, self._other)

    def start_anywhere(self, rng: np.random.Generator) -> None:
        """Every point of a memoryless order is alike; only the draws to come change."""
        self._rng = rng

    def _take(self, out: NDArray[np.int64]) -> None:
        from recrawl.revisit.sequences import _kernels

        done = 0
        while done < out.size:
            draws = self._rng.random(min(out.size - done, 1 << 16))
            done += _kernels.alias_take(out[done:], draws, self._accept, self._other, self._alive)


class RoundRobin(AccessSequence):
    """All pages in turn, for ever: the uniform policy.

    >>> RoundRobin([1 / 3, 1 / 3, 1 / 3]).take(5).tolist()
    [0, 1, 2, 0, 1]
    """

    def _build(self) -> None:
        frequency = self._frequency[self._alive > 0]
        if frequency.max() > frequency.min() * (1 + 1e-9):
            raise InvalidModel("a round robin gives all pages the same frequency")
        self._members = np.flatnonzero(self._alive)
        self._place = 0

    def start_anywhere(self, rng: np.random.Generator) -> None:
        self._place = int(rng.integers(self._members.size))

    def _take(self, out: NDArray[np.int64]) -> None:
        from recrawl.revisit.sequences import _kernels

        self._place = _kernels.round_robin_take(out, self._place, self._members, self._alive)


class Template(AccessSequence):
    """A list of pages, repeated for ever; −1 is a slot without access.

    >>> Template([1, 0, 1], pages=2).take(7).tolist()
    [1, 0, 1, 1, 0, 1, 1]
    """

    def __init__(self, template: ArrayLike, pages: int) -> None:
        order = np.asarray(template)
        if order.ndim != 1 or order.size == 0 or order.dtype.kind not in "iu":
            raise InvalidModel("a template must be a list of page numbers, at least one")
        if order.min() < IDLE or order.max() >= pages:
            raise InvalidModel(
                f"the template names pages from {order.min()} to {order.max()}, but there are {pages}"
            )
        self._members = np.where(order == IDLE, pages, order).astype(np.int64)
        super().__init__(np.bincount(self._members, minlength=pages + 1)[:pages] / order.size)

    def replan(self, frequency: ArrayLike) -> None:
        """Not possible: a template is its own plan."""
        raise InvalidModel(
            f"a template cannot take {np.size(frequency)} new frequencies; make a new template"
        )

    def _build(self) -> None:
        self._place = 0

    def start_anywhere(self, rng: np.random.Generator) -> None:
        self._place = int(rng.integers(self._members.size))

    def _take(self, out: NDArray[np.int64]) -> None:
        from recrawl.revisit.sequences import _kernels

        self._place = _kernels.round_robin_take(out, self._place, self._members, self._alive)
