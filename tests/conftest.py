"""What all tests share."""

import json
import os

import pytest
from hypothesis import HealthCheck, settings

# Examples are deterministic, so that a failure can be repeated and CI does not flicker.
# A busy machine is no failure either: no deadlines, no health check on speed.
settings.register_profile(
    "recrawl", deadline=None, derandomize=True, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("thorough", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("RECRAWL_HYPOTHESIS", "recrawl"))


class Result:
    """What a command printed, and how it ended."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture
def recrawl(capsys):
    """Run a command line in this process: `recrawl("plan", path, "--json").json`."""
    from recrawl.cli import _run

    def run(*arguments):
        capsys.readouterr()
        code = _run([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Result(code, captured.out, captured.err)

    return run
