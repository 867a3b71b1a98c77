"""A web of known truth: local sites whose pages change at known rates, with troubles on demand."""

from recrawl.demo.options import DemoOptions
from recrawl.demo.troubles import TROUBLES
from recrawl.demo.truth import Truth, poisson_truth, replay_truth
from recrawl.demo.web import DemoWeb

__all__ = ["TROUBLES", "DemoOptions", "DemoWeb", "Truth", "poisson_truth", "replay_truth"]
