import numpy as np
import pytest
from scipy.optimize import brentq

from recrawl.estimate._grid_kernels import POINTS, STEP, grid_reach


@pytest.mark.parametrize("seed", range(6))
def test_time_to_reach_a_level_against_brent(seed):
    rng = np.random.default_rng(seed)
    rates = 0.02 * STEP ** np.arange(POINTS)
    for spread in (0.5, 3.0):
        centre = rng.uniform(2, POINTS - 3)
        chances = np.exp(-0.5 * ((np.arange(POINTS) - centre) / spread) ** 2)
        shares = chances / chances.sum() / rates

        def worth(y, shares=shares):
            x = rates * np.exp(y)
            return float(shares @ (1 - (1 + x) * np.exp(-x)))

        for part in (0.001, 0.05, 0.5, 0.95, 0.99):
            level = part * shares.sum()
            low = 0.5 * np.log(2 * level / (shares @ rates**2))
            exact = brentq(lambda y, f=worth, level=level: f(y) - level, low - 1e-6, 40.0)
            for start in (low, 0.0, exact + 2.0):
                found, lean = grid_reach(shares, np.log(rates[0]), level, low, start)
                assert found == pytest.approx(exact, abs=0.01 if part <= 0.5 else 0.05)
                slope = (np.log(worth(exact + 1e-4)) - np.log(worth(exact - 1e-4))) / 2e-4
                assert lean == pytest.approx(slope, rel=0.25, abs=0.03)
