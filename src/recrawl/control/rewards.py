"""What happens at which rate in which state: the linear functionals behind all measures.

Every measure of Theorems 1-3 is Σ_s p_s r(s), or a ratio of two; with first-come-first-served the response
time is one too, because a page's fate does not depend on those behind it. A reward of level i is a sum of
products f(ν) g(room, m), which is cheap to evaluate on millions of states.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recrawl.control.chain import Chain
    from recrawl.control.sojourn import Fates

    Terms = list[tuple["NDArray[np.float64]", "NDArray[np.float64]"]]

__all__ = ["REWARDS", "level_rewards", "reward_rates", "reward_table"]

REWARDS = ("arrived", "lost", "obsolete", "served", "robots", "starving", "pages", "response")


def level_rewards(chain: Chain, mode: int, level: int, fates: Fates | None) -> dict[str, Terms]:
    """Rewards per unit of time, each as terms (f over ν, g over (room, m) or a scalar array)."""
    one = np.ones(1)
    nu = np.ones(chain.arrival_phases)
    batches = np.arange(chain.D.shape[1])
    comes = chain.D[mode].sum(axis=2)  # [k, ν]
    accepted = np.array([chain.accepted(level, int(k)) for k in batches])
    rewards: dict[str, Terms] = {
        "arrived": [(batches @ comes, one)],
        "lost": [((batches - accepted) @ comes, one)],
        "robots": [(nu * chain.model.modes[mode].robots, one)],
        "starving": [(nu, one)] if level == 0 else [],
        "pages": [(nu * level, one)],
        "served": [(nu, chain.ends[None, :])] if level else [],
        "obsolete": [(nu, chain.room.expire_rates(level - 1)[:, None])] if level > 1 else [],
        "response": [],
    }
    if fates is not None:
        for count in range(1, int(accepted.max(initial=0)) + 1):
            rate = comes[accepted == count].sum(axis=0)
            if rate.any():
                rewards["response"].append((rate, fates.cumulated(level, count)))
    return rewards


def reward_table(chain: Chain, fates: Fates | None) -> NDArray[np.float64]:
    """All rewards of all states in all modes: [mode, state, which]."""
    table = np.zeros((len(chain.model.modes), chain.states, len(REWARDS)))
    shape = (chain.arrival_phases, chain.service_phases)
    for mode in range(table.shape[0]):
        for level in range(chain.top + 1):
            here = slice(chain.starts[level], chain.starts[level + 1])
            for name, terms in level_rewards(chain, mode, level, fates).items():
                for f, g in terms:
                    if level == 0:
                        values = f * float(g.ravel()[0])
                    else:
                        values = np.broadcast_to(
                            f[None, :, None] * (g[:, None, :] if g.ndim == 2 else g),
                            (chain.room.size(level - 1), *shape),
                        ).ravel()
                    table[mode, here, REWARDS.index(name)] += values
    return table


def reward_rates(
    chain: Chain, assignment: tuple[int, ...], share: NDArray[np.float64], fates: Fates | None
) -> dict[str, float]:
    """Long-run rate of every reward, level by level."""
    totals = dict.fromkeys(REWARDS, 0.0)
    for level, part in enumerate(chain.split(share)):
        for name, terms in level_rewards(chain, assignment[level], level, fates).items():
            for f, g in terms:
                if level == 0:
                    totals[name] += float(f @ part) * float(g.ravel()[0])
                else:
                    seen = np.tensordot(part, f, axes=(1, 0))  # over (room, m)
                    totals[name] += float((seen * g).sum())
    return totals
