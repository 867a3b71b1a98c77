"""Model files: what they say, and what is wrong with them."""

from pathlib import Path

import numpy as np
import pytest

from recrawl.control import Policy, measure
from recrawl.errors import InvalidModel
from recrawl.tables.models import parse_model, read_model, write_model

EXAMPLES = Path(__file__).parents[2] / "examples"
BASE = """
capacity = 3
[service]
alpha = [1]
S = [[-1]]
[costs]
loss = 1
obsolete = 1
response = 1
robot = 1
starvation = 1
"""
POISSON = """
[[mode]]
robots = 1
D = [[[-1]], [[1]]]
"""


def read(tmp_path, text, **options):
    path = tmp_path / "model.toml"
    path.write_text(text, encoding="utf-8")
    return read_model(path, **options)


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("control_*.toml")), ids=lambda p: p.stem)
def test_examples_survive_a_round_trip(tmp_path, path):
    model = read_model(path)
    assert read(tmp_path, write_model(model)) == model


def test_defaults(tmp_path):
    model = read(tmp_path, BASE + POISSON)
    assert model.admission == "partial"
    assert model.order == "fifo"
    assert model.obsolescence is None
    assert measure(model, Policy((1,))).starvation == pytest.approx(0.25)


def test_service_by_the_name_of_its_law(tmp_path):
    text = (BASE + POISSON).replace("alpha = [1]\nS = [[-1]]", 'law = "two-task:2,10,0.35"')
    assert read(tmp_path, text).service.mean == pytest.approx(5.5)
    with pytest.raises(InvalidModel, match=r"service: gamma:2,0.3 is not phase-type.*recrawl fit service"):
        read(tmp_path, text.replace("two-task:2,10,0.35", "gamma:2,0.3"))


def test_scaled_arrivals(tmp_path):
    model = read(tmp_path, BASE + '[arrivals]\nkind = "scaled"\nD = [[[-1]], [[1]]]\nrobots = [2, 5]\n')
    assert [(m.robots, m.arrivals.rate) for m in model.modes] == [(2, 2.0), (5, 5.0)]


def test_thinned_arrivals(tmp_path):
    model = read(tmp_path, BASE + '[arrivals]\nkind = "thinned"\nD = [[[-4]], [[4]]]\naccept = [0.25, 1]\n')
    assert [(m.robots, m.arrivals.rate) for m in model.modes] == [(1, 1.0), (2, 4.0)]


def test_superposed_arrivals(tmp_path):
    text = (
        BASE
        + '[arrivals]\nkind = "superposed"\n'
        + "".join(f"[[robot]]\nD = [[[-{r}]], [[{r}]]]\n" for r in (1, 2))
    )
    assert [m.arrivals.rate for m in read(tmp_path, text).modes] == [1.0, 3.0]


def test_marked_arrivals(tmp_path):
    text = (
        BASE
        + '[arrivals]\nkind = "marked"\nD0 = [[-3]]\n'
        + "".join(f"[[robot]]\nD = [[[{r}]]]\n" for r in (1, 2))
    )
    assert [m.arrivals.rate for m in read(tmp_path, text).modes] == [1.0, 3.0]
    notes = []
    repaired = read(tmp_path, text.replace("[[-3]]", "[[-3.1]]"), repair=True, tell=notes.append)
    assert repaired.modes[1].arrivals.rate == pytest.approx(3.0)
    assert "arrivals.D0 summed to -0.1" in notes[0]


def test_rounded_rows_are_repaired_only_when_asked(tmp_path):
    text = BASE + '[arrivals]\nkind = "scaled"\nrobots = [1]\nD = [[[-1.01]], [[1]]]\n'
    with pytest.raises(InvalidModel, match=r"row 0 sums to -0.01.*\(--repair\)"):
        read(tmp_path, text)
    notes = []
    model = read(tmp_path, text, repair=True, tell=notes.append)
    assert model.modes[0].arrivals.D[0, 0, 0] == -1.0
    assert notes == ["row 0 of arrivals.D summed to -0.01; its diagonal was repaired"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("capacity = 3", "", "the model has no capacity"),
        ("capacity = 3", "capacity = 0", "capacity must be a whole number from 1, not 0"),
        ("capacity = 3", 'capacity = "3"', "capacity must be a whole number, not '3'"),
        ("capacity = 3", "capacity = 3\nspeed = 9", "unknown key 'speed'"),
        ("capacity = 3", "capacity = ", "not a TOML file"),
        ("response = 1\n", "", r"\[costs\] has no response; write response = 0"),
        ("response = 1", "response = true", "costs.response must be a number, not True"),
        ("response = 1", "response = -2", "costs.response must be a number not below zero, not -2"),
        ("loss = 1", "loss = 1\nlost = 2", "unknown key 'lost'"),
        ("alpha = [1]", "alpha = [0.5]", "service: alpha must sum to 1, not 0.5"),
        ("alpha = [1]", "alpha = [-1, 2]", r"service: alpha\[0\] must be a probability"),
        ("alpha = [1]", 'alpha = ["a"]', "service: alpha must hold numbers"),
        ("S = [[-1]]", "S = [[-1, 0]]", "service: S must be a square matrix"),
        ("S = [[-1]]", "S = [[1]]", "service: row 0 of S sums to 1, above zero"),
        ("S = [[-1]]", "S = [[-1, 1], [0]]", "service: S must hold numbers, in rows of equal length"),
        ("S = [[-1]]", "", r"\[service\] has no S"),
        ("[service]", "[servant]", "unknown key 'servant'"),
        ("robots = 1", "robots = 1.5", "mode.robots must be a whole number from 1, not 1.5"),
        ("[[mode]]", "[mode]", r"mode must be a list of tables \[\[mode\]\]"),
        ("D = [[[-1]], [[1]]]", "", r"\[\[mode\]\] has no D"),
        ("D = [[[-1]], [[1]]]", "D = [[[-1]], [[2]]]", "row 0 sums to 1"),
        ("D = [[[-1]], [[1]]]", "D = [[[-1, 0], [0, -1]], [[1, 0], [0, 1]]]", "reducible"),
        ("[[mode]]", "[arrivals]\nkind = 'scaled'\n[[mode]]", r"either \[\[mode\]\] or \[arrivals\]"),
    ],
)
def test_bad_files(tmp_path, old, new, message):
    text = BASE + POISSON
    assert old in text
    with pytest.raises(InvalidModel, match=message) as caught:
        read(tmp_path, text.replace(old, new))
    assert "model.toml" in str(caught.value)


def test_bad_arrivals(tmp_path):
    with pytest.raises(InvalidModel, match=r"arrivals.kind must be one of .* not 'odd'"):
        read(tmp_path, BASE + '[arrivals]\nkind = "odd"\n')
    with pytest.raises(InvalidModel, match=r"arrivals.robots must be a list"):
        read(tmp_path, BASE + '[arrivals]\nkind = "scaled"\nD = [[[-1]], [[1]]]\nrobots = 3\n')
    with pytest.raises(InvalidModel, match=r"accept\[0\]"):
        read(tmp_path, BASE + '[arrivals]\nkind = "thinned"\nD = [[[-1]], [[1]]]\naccept = [2]\n')


def test_a_binary_file_is_no_model(tmp_path):
    path = tmp_path / "model.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidModel, match="not a text file"):
        read_model(path)


def test_numbers_are_written_in_full():
    model = parse_model(
        {
            "capacity": 1,
            "service": {"alpha": [1 / 3, 2 / 3], "S": [[-0.1, 0.0], [0.0, -np.pi]]},
            "costs": dict.fromkeys(("loss", "obsolete", "response", "robot", "starvation"), 0.1),
            "mode": [{"robots": 1, "D": [[[-1]], [[1]]]}],
        }
    )
    assert repr(1 / 3) in write_model(model)
