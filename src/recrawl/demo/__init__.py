"""A web of known truth: local sites whose pages change at known rates, with troubles on demand."""

from recrawl.demo.ledger import Ledger
from recrawl.demo.options import DemoOptions
from recrawl.demo.troubles import TROUBLES
from recrawl.demo.truth import Directory, Truth, poisson_truth, replay_truth
from recrawl.demo.web import DemoWeb

__all__ = [
    "TROUBLES",
    "DemoOptions",
    "DemoWeb",
    "Directory",
    "Ledger",
    "Truth",
    "poisson_truth",
    "replay_truth",
]
