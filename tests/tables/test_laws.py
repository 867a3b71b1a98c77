import pytest

from recrawl.errors import InvalidModel
from recrawl.laws import Empirical, Exponential, PhaseType
from recrawl.tables import read_law


def test_plain_spellings():
    assert read_law("exponential:2") == Exponential(2.0)


def test_sample(tmp_path):
    path = tmp_path / "times.csv"
    path.write_text("seconds,host\n0.5,a\n1.5,b\n\n")
    assert read_law(f"empirical:{path}") == Empirical([0.5, 1.5])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("law.toml", "alpha = [1, 0]\nS = [[-2, 2], [0, -2]]\n"),
        ("law.json", '{"alpha": [1, 0], "S": [[-2, 2], [0, -2]]}'),
    ],
)
def test_phases(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    assert read_law(f"phase-type:{tmp_path / name}") == PhaseType([1.0, 0.0], [[-2.0, 2.0], [0.0, -2.0]])


@pytest.mark.parametrize(
    ("spelling", "text", "message"),
    [
        ("empirical:", None, "should name a file"),
        ("empirical:{path}x", None, "there is no file"),
        ("empirical:{path}", "1\nx\n", "line 2 should be a number, not 'x'"),
        ("empirical:{path}", "", "needs a list of times"),
        ("empirical:{path}", "-1\n", "time 1 of the sample"),
        ("phase-type:{path}", "alpha = [1", "Unclosed array|Invalid|Expected"),
        ("phase-type:{path}", "alpha = [1]", "S is missing"),
        ("phase-type:{path}", "alpha = [1]\nS = [[1]]", "row 0 of S sums to 1"),
        ("phase-type:{path}", "alpha = ['x']\nS = [[-1]]", "could not convert"),
    ],
)
def test_bad_files(tmp_path, spelling, text, message):
    path = tmp_path / "law"
    path.write_text(text or "")
    with pytest.raises(InvalidModel, match=message):
        read_law(spelling.format(path=path))
