import numpy as np
import pytest

from recrawl.demo import DemoOptions
from recrawl.demo.rates import drawn_rates

WEB = {
    "sites": 4,
    "pages_per_site": 100,
    "pages_per_directory": 10,
    "log_sd": 2.0,
    "mean_rate_per_second": 0.5,
}


@pytest.mark.parametrize("seed", range(3))
def test_even_rates_are_lognormal_and_exact_in_the_mean(seed):
    rates, _ = drawn_rates(DemoOptions(**WEB, even=True, seed=seed))
    assert rates.mean() == pytest.approx(0.5)
    logs = np.log(rates)
    assert logs.std() == pytest.approx(2.0, abs=0.1)
    assert np.median(logs) == pytest.approx(logs.mean(), abs=0.05)


def test_independent_rates_are_lognormal():
    rates, directories = drawn_rates(DemoOptions(**{**WEB, "pages_per_site": 5000}, speed=10.0))
    assert not directories
    assert np.log(rates).std() == pytest.approx(2.0, abs=0.05)
    assert np.log(rates).mean() == pytest.approx(np.log(5.0) - 2.0, abs=0.05)


def test_directories_edited_as_a_whole():
    options = DemoOptions(**WEB, edited_share=0.25, edit_probability=0.6, even=True)
    rates, directories = drawn_rates(options)
    assert len(directories) == 10
    for directory in directories:
        assert len({page // 10 for page in directory.pages}) == 1
        assert rates[list(directory.pages)] == pytest.approx(directory.rate)
    assert not {0, 100, 200, 300} & {page for directory in directories for page in directory.pages}
    assert {d.pages for d in directories} != {
        d.pages for d in drawn_rates(DemoOptions(**WEB, edited_share=0.25, even=True, seed=2))[1]
    }
