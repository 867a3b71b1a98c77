"""Settings: where they come from, and what is refused."""

from pathlib import Path

import pytest

from recrawl.errors import ConfigError
from recrawl.settings import Settings, describe, load_settings, parse_budget, parse_flags


def test_later_wins(tmp_path):
    file = tmp_path / "recrawl.toml"
    file.write_text('robots = 2\ncapacity = 10\nseeds = ["https://a.example/"]\n')
    found = load_settings(
        {"robots": 4, "data": None}, file, {"RECRAWL_ROBOTS": "3", "RECRAWL_CAPACITY": "20"}
    )
    assert (found.robots, found.capacity, found.seeds) == (4, 20, ("https://a.example/",))
    assert found.data == "recrawl-data"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("robts = 3", "robts is no setting; did you mean robots?"),
        ("robots = 0", "robots: 0 must lie from 1 to 10000"),
        ('robots = "many"', "robots: 'many' must be a whole number"),
        ("sitemaps = 1", "sitemaps: 1 must be true or false"),
        ('policy = "best"', "policy: 'best' must be one of optimal"),
        ('budget = "5"', "budget: '5' must be a number with a unit"),
        ('budget = "5/s"\ncontrol = "auto"', "control: 'auto' needs a run without a budget"),
        ('control = "thresholds"', "thresholds: [] with modes []"),
        ('control = "auto"\nbatch_pages = 4', "batch_pages: 4 must be 1"),
        ("modes = [20, 1]\nthresholds = [3]", "modes: [20, 1] must not exceed robots = 16"),
        ("shortest_interval_seconds = 1e9", "longest_interval_seconds"),
        ('[site."a.example"]\nbeerer = "x"', "site.a.example.beerer: unknown"),
        ("= 3", "recrawl.toml"),
    ],
)
def test_bad_settings_are_named(tmp_path, text, words):
    file = tmp_path / "recrawl.toml"
    file.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_settings({}, file, {})
    assert words in str(caught.value)


def test_environment_is_checked():
    with pytest.raises(ConfigError, match="RECRAWL_CAPACITY: 'x' must be a whole number"):
        load_settings({}, None, {"RECRAWL_CAPACITY": "x"})


def test_flags_by_name():
    assert parse_flags(["sitemaps=no", "thresholds=1,2"]) == {"sitemaps": False, "thresholds": (1, 2)}
    with pytest.raises(ConfigError, match="did you mean capacity"):
        parse_flags(["capcity=3"])


@pytest.mark.parametrize("text", ["0/s", "-1/h", "x/s", "5/week", "inf/s"])
def test_bad_budgets(text):
    with pytest.raises(ConfigError, match="budget"):
        parse_budget(text)


def test_every_setting_is_described_and_names_its_unit():
    rows = describe()
    assert len({name for name, *_ in rows}) == len(rows)
    assert all(about for *_, about in rows)
    for name in ("lease", "replan", "grace", "backoff"):
        assert any(row[0] == f"{name}_seconds" for row in rows)
    assert Settings().budget_per_second is None


def test_the_documentation_lists_every_setting_as_it_is():
    text = (Path(__file__).parent.parent / "docs" / "run.md").read_text(encoding="utf-8")
    for name, default, allowed, about in describe():
        cells = [f"`{name}`", default, allowed, about]
        row = "|" + "|".join(f" {cell} " if cell else " " for cell in cells) + "|"
        assert row in text.splitlines(), row
