"""What is believed about the change rates of many pages, cheap to update at every access.

For each page the log-likelihood of its accesses is kept at a few rates λ_k, equally spaced in ln λ; a prior
shared by the pages of a group and learnt from them turns it into a posterior. One access adds
ln(1 − e^{−λ_k τ}) if the page had changed in the elapsed time τ, −λ_k τ if not, and ln λ_k − λ_k s if a date
says that its last change lay s before the access. The elapsed time may be that of any clock on which the page
changes as a Poisson process: wall time, or the clock of a group of pages.

Between grid points the log-likelihood is smooth, so it is interpolated (six-point polynomial) whenever the
belief is asked; the answers are far finer than the grid. The prior is a density that is linear in ln λ
between grid points, a mixture of hats, so one step of learning is one exact step of EM for their weights; or
finer, a law that `recrawl.estimate.rate_laws` has fitted.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from recrawl.errors import InvalidModel
from recrawl.estimate.priors import Priors, check_learning
from recrawl.estimate.rate_grid import RateGrid, interpolation, shifted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from recrawl.estimate.observations import Observations

__all__ = ["Belief"]

_PARTS = 4  # nodes in a step of the grid for means
_FINE_PARTS = 16  # and for quantiles
_MOST_STEPS = 400
_SETTLED = 1e-5  # of a prior probability


class Belief:
    """Posteriors over the change rates of many pages, in arrays.

    A page is a slot: a number that `add` gives and `remove` takes back. All methods take many slots at once.

    Parameters
    ----------
    grid
        The rates at which log-likelihoods are kept.
    groups
        Number of groups of pages that share a prior.
    half_life
        Elapsed time in which old evidence loses half its weight; infinite: rates do not drift.

    >>> belief = Belief(RateGrid.around(1.0))
    >>> page = belief.add(1)
    >>> belief.update(page, [1.0], [True])
    >>> belief.update(page, [1.0], [False])
    >>> low, high = belief.interval(page, 0.9)[0]
    >>> bool(low < belief.mean_rate(page)[0] < high)
    True
    """

    def __init__(self, grid: RateGrid, *, groups: int = 1, half_life: float = math.inf) -> None:
        if groups < 1:
            raise InvalidModel(f"groups must be at least 1, not {groups}")
        if not half_life > 0:
            raise InvalidModel(f"half_life must be positive, not {half_life}")
        self.grid = grid
        self.half_life = float(half_life)
        self._loglik = np.zeros((0, grid.points), dtype=np.float32)
        self._group = np.zeros(0, dtype=np.int32)
        self._alive = np.zeros(0, dtype=np.bool_)
        self._free: list[int] = []
        self._used = 0
        self._priors = Priors(groups, grid.points)
        self._rates, self._log_rates = grid.rates, np.log(grid.rates)
        self._tables = {parts: (interpolation(parts), grid.nodes(parts)) for parts in (_PARTS, _FINE_PARTS)}

    # Pages come and go.

    def add(self, count: int, group: int = 0) -> NDArray[np.int64]:
        """Slots for `count` new pages of a group, about which only the group's prior is known."""
        self._check_group(group)
        again = [self._free.pop() for _ in range(min(count, len(self._free)))]
        slots = np.concatenate(
            (np.array(again, dtype=np.int64), np.arange(self._used, self._used + count - len(again)))
        )
        self._used += count - len(again)
        if self._used > self._alive.size:
            self._grow(max(self._used, self._alive.size + self._alive.size // 4))
        self._loglik[slots] = 0.0
        self._group[slots] = group
        self._alive[slots] = True
        return slots

    def _grow(self, size: int) -> None:
        """Make room for `size` slots; a quarter more than needed at most, so that one by one is cheap too."""
        more = size - self._alive.size
        self._loglik = np.concatenate((self._loglik, np.zeros((more, self.grid.points), dtype=np.float32)))
        self._group = np.concatenate((self._group, np.zeros(more, dtype=np.int32)))
        self._alive = np.concatenate((self._alive, np.zeros(more, dtype=np.bool_)))

    def remove(self, slots: ArrayLike) -> None:
        """Forget pages; their slots will be given to new ones."""
        places = self._places(slots)
        if np.unique(places).size != places.size:
            raise InvalidModel("a page cannot be removed twice")
        self._alive[places] = False
        self._free.extend(int(place) for place in places)

    def move(self, slots: ArrayLike, group: int) -> None:
        """Put pages into another group."""
        self._check_group(group)
        self._group[self._places(slots)] = group

    @property
    def pages(self) -> int:
        """Number of pages."""
        return int(self._alive.sum())

    def group_of(self, slots: ArrayLike) -> NDArray[np.int32]:
        """The group of each slot."""
        return self._group[self._places(slots)]

    def sample(self, most_pages: int) -> NDArray[np.int64]:
        """Slots of at most so many pages (every n-th), group after group."""
        slots = np.flatnonzero(self._alive)
        slots = slots[:: -(-slots.size // most_pages) or 1]
        return slots[np.argsort(self._group[slots], kind="stable")]

    @property
    def bytes_per_page(self) -> int:
        """Memory of one slot."""
        return int(self._loglik.itemsize * self.grid.points + self._group.itemsize + self._alive.itemsize)

    # What accesses tell.

    def update(
        self, slots: ArrayLike, elapsed: ArrayLike, changed: ArrayLike, ages: ArrayLike | None = None
    ) -> None:
        """One access of each slot (a slot may occur again: in the order given).

        `ages` is the time since the last change where a date is known, NaN elsewhere. A date on a page's
        first access has an infinite `elapsed`.
        """
        from recrawl.estimate.observations import Observations

        places = self._places(slots)
        seen = Observations.of(
            np.arange(places.size), elapsed, changed, ages, number_of_pages=places.size
        )  # checks every row
        self._learn_from(places, seen)

    def observe(self, observations: Observations, slots: ArrayLike) -> None:
        """All accesses of `observations`, whose page p is `slots[p]`."""
        places = self._places(slots)
        if places.size != observations.pages:
            raise InvalidModel(f"{places.size} slots for {observations.pages} pages")
        self._learn_from(np.repeat(places, observations.counts), observations)

    def _learn_from(self, places: NDArray[np.int64], seen: Observations) -> None:
        from recrawl.estimate._belief_kernels import update

        forgetting = math.log(2.0) / self.half_life
        update(
            self._loglik, places, seen.intervals, seen.kinds, seen.ages, self._rates, self._log_rates,
            forgetting,
        )  # fmt: skip

    def evidence(self, slots: ArrayLike) -> NDArray[np.float32]:
        """Log-likelihoods at the grid's rates, a row for each slot: all that a page's accesses have told."""
        return self._loglik[self._places(slots)]

    def set_evidence(self, slots: ArrayLike, rows: ArrayLike) -> None:
        """Go on from log-likelihoods that `evidence` gave."""
        self._loglik[self._places(slots)] = np.asarray(rows, dtype=np.float32)

    @property
    def rows(self) -> NDArray[np.float32]:
        """The log-likelihoods themselves, a row for each slot: for loops that go on from them in place."""
        return self._loglik

    @property
    def densities(self) -> NDArray[np.float64]:
        """The priors themselves, as densities in ln λ, a row for each group, at the rates of `priors`."""
        return self._priors.density

    def shift(self, steps: int) -> None:
        """Move the grid down by whole steps of itself; beyond its old ends evidence goes straight on."""
        grid = self.grid
        ratio = (grid.high / grid.low) ** (steps / (grid.points - 1))
        self.grid = RateGrid(grid.low / ratio, grid.high / ratio, grid.points)
        self._loglik[:] = shifted(self._loglik, steps)
        self._priors.shift(steps)
        self._rates, self._log_rates = self.grid.rates, np.log(self.grid.rates)
        self._tables = {parts: (interpolation(parts), self.grid.nodes(parts)) for parts in self._tables}

    # What is believed.

    def mean_rate(self, slots: ArrayLike) -> NDArray[np.float64]:
        """Posterior mean of the change rate."""
        return self._mean(slots, 0.0, 0)

    def typical_rate(self, slots: ArrayLike) -> NDArray[np.float64]:
        """The rate whose logarithm is the posterior mean of ln λ: less moved by a long upper tail."""
        return np.exp(self._mean(slots, 0.0, 3))

    def current_probability(self, slots: ArrayLike, elapsed: ArrayLike) -> NDArray[np.float64]:
        """Probability that the page has not changed in the time elapsed since its last access."""
        return self._mean(slots, elapsed, 1)

    def value(self, slots: ArrayLike, elapsed: ArrayLike, weight: ArrayLike = 1.0) -> NDArray[np.float64]:
        """Freshness that an access now is expected to regain: weight · E[(1 − (1+λτ)e^{−λτ})/λ]."""
        return np.asarray(weight, dtype=np.float64) * self._mean(slots, elapsed, 2)

    def time_to_price(
        self, slots: ArrayLike, price: ArrayLike, weight: ArrayLike = 1.0
    ) -> NDArray[np.float64]:
        """Elapsed time at which the value of an access reaches the price; infinite if it never does."""
        from recrawl.estimate._belief_kernels import due

        places = self._places(slots)
        prices = np.broadcast_to(np.asarray(price, dtype=np.float64), places.shape)
        if not ((prices > 0) & np.isfinite(prices)).all():
            raise InvalidModel(f"price must be positive and finite, not {prices.min()}")
        weights = np.broadcast_to(np.asarray(weight, dtype=np.float64), places.shape)
        if not (weights >= 0).all():
            raise InvalidModel(f"weights must not be negative, not {weights.min()}")
        with np.errstate(divide="ignore"):
            levels = prices / weights
        return self._ask(due, places, levels, parts=_PARTS)

    def quantiles(self, slots: ArrayLike, probabilities: ArrayLike) -> NDArray[np.float64]:
        """Quantiles of the posterior: one row for each slot, one column for each (rising) probability."""
        from recrawl.estimate._belief_kernels import quantiles

        wanted = np.atleast_1d(np.asarray(probabilities, dtype=np.float64))
        if not ((wanted >= 0) & (wanted <= 1)).all() or (np.diff(wanted) < 0).any():
            raise InvalidModel(f"probabilities must rise from 0 to 1, not {wanted.tolist()}")
        places = self._places(slots)
        out = np.empty((places.size, wanted.size))
        return self._ask(quantiles, places, wanted, parts=_FINE_PARTS, out=out)

    def interval(self, slots: ArrayLike, level: float = 0.9) -> NDArray[np.float64]:
        """Credible interval with equal tails: columns low and high."""
        if not 0 < level < 1:
            raise InvalidModel(f"the level of an interval must lie between 0 and 1, not {level}")
        return self.quantiles(slots, [0.5 - 0.5 * level, 0.5 + 0.5 * level])

    def posterior(self, slots: ArrayLike) -> NDArray[np.float64]:
        """Probabilities of the grid's rates, a row for each slot."""
        from recrawl.estimate._belief_kernels import responsibilities

        places = self._places(slots)
        out = np.empty((places.size, self.grid.points))
        stencil, nodes = self._tables[_PARTS]
        responsibilities(
            self._loglik,
            places,
            self._group,
            self._priors.density,
            stencil,
            _PARTS,
            np.empty(nodes.size),
            out,
        )
        return out

    def likelihoods(self, slots: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """What the accesses of each slot say of rates finer than the grid's: those rates, and a row of weights.

        A row sums to 1; its two ends count half, so that its product with a density is an integral.
        """
        from recrawl.estimate._belief_kernels import node_weights

        places = self._places(slots)
        stencil, nodes = self._tables[_PARTS]
        out = np.empty((places.size, nodes.size))
        node_weights(self._loglik, places, np.ones(self.grid.points), stencil, _PARTS, out)
        return nodes, out

    def _mean(self, slots: ArrayLike, elapsed: ArrayLike, what: int) -> NDArray[np.float64]:
        from recrawl.estimate._belief_kernels import summarise

        places = self._places(slots)
        times = np.ascontiguousarray(np.broadcast_to(np.asarray(elapsed, dtype=np.float64), places.shape))
        if not (times >= 0).all():
            raise InvalidModel(f"elapsed times must not be negative, not {times.min()}")
        stencil, nodes = self._tables[_PARTS]
        out = np.empty(places.size)
        scratch = np.empty(nodes.size)
        summarise(
            self._loglik, places, self._group, self._priors.density, stencil, nodes, _PARTS, times, what,
            scratch, out,
        )  # fmt: skip
        return out

    def _ask(
        self,
        kernel: object,
        places: NDArray[np.int64],
        argument: NDArray[np.float64],
        parts: int,
        out: NDArray[np.float64] | None = None,
    ) -> NDArray[np.float64]:
        stencil, nodes = self._tables[parts]
        answer = np.empty(places.size) if out is None else out
        kernel(  # type: ignore[operator]
            self._loglik, places, self._group, self._priors.density, stencil, nodes, parts,
            np.ascontiguousarray(argument), np.empty(nodes.size), answer,
        )  # fmt: skip
        return answer

    # The priors.

    @property
    def priors(self) -> NDArray[np.float64]:
        """Prior probabilities, a row for each group: of the grid's rates, after `fit_priors` of finer ones."""
        return self._priors.probabilities

    def set_priors(self, priors: ArrayLike) -> None:
        """Go on from priors that the property `priors` gave."""
        self._priors.set(priors, _PARTS)

    def learn_priors(self, *, strength: float = 10.0, floor: float = 0.02) -> float:
        """Learn every group's prior from the posteriors of its pages, one step of EM; the largest change.

        A group's prior is the mean posterior of its pages, as if `strength` further pages had the mean
        posterior of all pages (and 20 pages of unknown rate); then a share `floor` of it is spread evenly
        over the grid, so that no rate is ever ruled out.
        """
        from recrawl.estimate._belief_kernels import learn

        check_learning(strength, floor)
        if not self._alive.any():
            return 0.0
        self._priors.coarsen()
        stencil, nodes = self._tables[_PARTS]
        sums = np.zeros_like(self._priors.density)
        counts = np.zeros(self._priors.groups)
        learn(
            self._loglik, self._alive, self._group, self._priors.density, stencil, _PARTS,
            np.empty(nodes.size), sums, counts,
        )  # fmt: skip
        return self._priors.blend(sums, counts, strength, floor)

    def settle_priors(
        self,
        *,
        steps: int | None = None,
        strength: float = 10.0,
        floor: float = 0.002,
        most_pages: int = 65536,
    ) -> int:
        """Repeat the step of `learn_priors`; returns the number of steps.

        Steps end when the priors hardly move, or after 1 + pages/20 of them, at most 400: a few pages driven
        to the end would make a prior of spikes and intervals that are too narrow; stopping early keeps it
        broad. What a page says about the grid is computed once, for at most `most_pages` pages (every n-th),
        so that hundreds of steps are cheap.
        """
        check_learning(strength, floor)
        pages = self.sample(most_pages)
        if not pages.size:
            return 0
        limit = min(_MOST_STEPS, 1 + self.pages // 20) if steps is None else steps
        self._priors.coarsen()
        learnt, self._priors = self._priors, Priors(self._priors.groups, self.grid.points)
        hats = self.posterior(pages)  # under a flat prior: the likelihood of each hat
        self._priors = learnt
        groups = self._group[pages]
        counts = np.bincount(groups, minlength=learnt.groups).astype(np.float64)
        present = np.flatnonzero(counts)
        edges = np.searchsorted(groups, present)
        done = 0
        while done < limit:
            done += 1
            masses = hats * self._priors.density[groups]
            masses /= masses.sum(axis=1, keepdims=True)
            sums = np.zeros_like(self._priors.density)
            sums[present] = np.add.reduceat(masses, edges, axis=0)
            if self._priors.blend(sums, counts, strength, floor) < _SETTLED:
                break
        return done

    # Keeping it.

    def state(self) -> dict[str, NDArray[np.generic]]:
        """Everything, as arrays: what `restore` needs to go on exactly."""
        return {
            "grid": np.array([self.grid.low, self.grid.high, self.grid.points, self.half_life]),
            "loglik": self._loglik[: self._used].copy(),
            "group": self._group[: self._used].copy(),
            "alive": self._alive[: self._used].copy(),
            "free": np.array(self._free, dtype=np.int64),
            "priors": self._priors.density.copy(),
        }

    @classmethod
    def restore(cls, state: Mapping[str, NDArray[np.generic]]) -> Belief:
        """The belief that `state` was taken from."""
        low, high, points, half_life = (float(value) for value in state["grid"])
        belief = cls(RateGrid(low, high, int(points)), groups=len(state["priors"]), half_life=half_life)
        belief._loglik = np.array(state["loglik"], dtype=np.float32)
        belief._group = np.array(state["group"], dtype=np.int32)
        belief._alive = np.array(state["alive"], dtype=np.bool_)
        belief._used = belief._alive.size
        belief._free = [int(slot) for slot in state["free"]]
        belief._priors.density = np.array(state["priors"], dtype=np.float64)
        return belief

    def _places(self, slots: ArrayLike) -> NDArray[np.int64]:
        places = np.atleast_1d(np.asarray(slots, dtype=np.int64))
        inside = (places >= 0) & (places < self._alive.size)
        if not inside.all() or not self._alive[places].all():
            known = inside & self._alive[np.where(inside, places, 0)] if self._alive.size else inside
            raise InvalidModel(f"slot {places[~known][0]} holds no page")
        return places

    def _check_group(self, group: int) -> None:
        if not 0 <= group < self._priors.groups:
            raise InvalidModel(f"group must lie from 0 to {self._priors.groups - 1}, not {group}")
