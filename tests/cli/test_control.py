"""`recrawl control` and `recrawl simulate control`."""

import csv
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
TABLE1 = EXAMPLES / "control_table1.toml"


def test_best_thresholds_as_json(recrawl):
    found = recrawl("control", TABLE1, "--json").json
    assert [entry["robots"] for entry in found["fixed"]] == [1, 2, 3, 4]
    assert found["fixed"][2]["cost"] == pytest.approx(89.405, abs=1e-3)
    assert len(found["combinations"]) == 15
    assert {"modes", "thresholds", "cost"} == set(found["combinations"][0])
    assert found["best"]["modes"] == [3, 1]
    assert found["best"]["thresholds"] == [2]
    assert found["best"]["measures"]["starvation"] == pytest.approx(0.0648, abs=1e-4)
    assert found["profit_percent"] == pytest.approx(28.93, abs=0.01)
    assert found["bounds"]["queue_length"] == pytest.approx(63.5425, abs=1e-4)
    assert found["bounds"]["full_state"] == pytest.approx(53.9179, abs=1e-4)
    assert found["bounds"]["reason"] is None
    assert found["states"] == 22
    assert found["method"] == "elimination"
    assert found["residual"] < 1e-12


def test_one_policy_as_json(recrawl):
    found = recrawl(
        "control", TABLE1, "--modes", "3,1", "--thresholds", "2", "--json", "--within", "1,5"
    ).json
    wanted = (
        "cost arrival_rate loss obsolete success starvation active_robots response_time obsolete_time "
        "sojourn_time level_probability residual states method"
    )
    assert set(wanted.split()) <= set(found)
    assert found["cost"] == pytest.approx(63.5425, abs=1e-4)
    assert found["sojourn_time"] == pytest.approx(
        found["success"] * found["response_time"] + found["obsolete"] * found["obsolete_time"]
    )
    assert len(found["level_probability"]) == 6
    assert found["stays"][0]["served"] == pytest.approx(0.30085, abs=1e-4)
    assert found["stays"][1]["all"] > 0.99


def test_nothing_obsolete_is_null(recrawl, tmp_path):
    text = TABLE1.read_text(encoding="utf-8")
    start, end = text.index("[obsolescence]"), text.index("[costs]")
    path = tmp_path / "m.toml"
    path.write_text(text[:start] + text[end:], encoding="utf-8")
    found = recrawl("control", path, "--modes", "2", "--json", "--within", "1").json
    assert found["obsolete_time"] is None
    assert found["obsolete"] == 0
    assert found["stays"][0]["obsolete"] is None
    assert recrawl("control", path, "--modes", "2", "--within", "1").code == 0


def test_tables_for_people(recrawl):
    shown = recrawl("control", TABLE1)
    assert shown.code == 0
    assert "3 robots up to 2 pages, then 1: cost 63.5425, 28.9 % below always 3 robots" in shown.out
    assert "No policy that sees only the queue length is cheaper." in shown.out
    assert "53.9179 (15.1 % less)" in shown.out
    assert shown.err == ""
    one = recrawl("control", TABLE1, "--modes", "4,3,1", "--thresholds", "0,2")
    assert "4 robots up to 0 pages, 3 robots up to 2 pages, then 1" in " ".join(one.out.split())


def test_bounds_may_be_skipped_or_impossible(recrawl):
    skipped = recrawl("control", TABLE1, "--no-bounds", "--json").json["bounds"]
    assert skipped == {"queue_length": None, "full_state": None, "reason": "skipped by --no-bounds"}
    large = recrawl("control", EXAMPLES / "control_table2.toml", "--json").json["bounds"]
    assert large["queue_length"] is None
    assert "too many to try all" in large["reason"]
    assert large["full_state"] > 0


def test_limits(recrawl):
    found = recrawl("control", TABLE1, "--max-loss", 0.15, "--json").json
    assert found["feasible"] is True
    assert found["thresholds"] == [1]
    assert found["multipliers"]["loss"] > 0
    assert "implied cost coefficient" in recrawl("control", TABLE1, "--max-loss", 0.15).out
    shown = recrawl(
        "control", TABLE1, "--max-starvation", 0.001, "--max-robots-mean", 3, "--max-response", 10
    )
    assert "No threshold policy is within the limits." in shown.out


def test_front(recrawl, tmp_path):
    pytest.importorskip("matplotlib")
    path = tmp_path / "front.png"
    found = recrawl("control", TABLE1, "--pareto", "loss,starvation", "--plot", path, "--json").json
    assert [point["thresholds"] for point in found] == [[0], [1], [2], [3], [4]]
    assert path.stat().st_size > 5000
    assert (
        "Not beaten in loss and starvation" in recrawl("control", TABLE1, "--pareto", "loss,starvation").out
    )


def test_plots(recrawl, tmp_path):
    pytest.importorskip("matplotlib")
    curves, levels = tmp_path / "curves.svg", tmp_path / "levels.png"
    assert recrawl("control", TABLE1, "--no-bounds", "--plot", curves, "--json").code == 0
    assert "4 or 3 robots" in curves.read_text(encoding="utf-8") or curves.stat().st_size > 10_000
    assert recrawl("control", TABLE1, "--modes", "3,1", "--thresholds", "2", "--plot", levels).code == 0
    assert levels.stat().st_size > 5000


def test_policy_that_sees_phases_is_a_table(recrawl, tmp_path):
    path = tmp_path / "policy.csv"
    assert recrawl("control", TABLE1, "--policy-table", path, "--json").code == 0
    with path.open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 22
    assert rows[0] == {"pages": "0", "waiting": "", "arrival_phase": "0", "service_phase": "", "robots": "1"}
    assert {row["robots"] for row in rows} == {"1", "3"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--modes", "3,1"], "2 modes need 1 thresholds, not 0"),
        (["--thresholds", "2"], "--thresholds needs --modes"),
        (["--modes", "1,3", "--thresholds", "2"], "from most to fewest"),
        (["--modes", "3,1", "--thresholds", "5"], "at most capacity - 1 = 4, not 5"),
        (["--modes", "3,2,1", "--thresholds", "3,1"], "must not decrease"),
        (["--modes", "7"], "no mode has 7 robots"),
        (["--modes", "a"], "--modes must be whole numbers"),
        (["--modes", "3", "--within", "soon"], "--within must be numbers"),
        (["--within", "1"], "--within needs a policy"),
        (["--max-loss", "-1"], "limit on loss"),
        (["--modes", "3", "--max-loss", "0.1"], "leave --modes out"),
        (["--pareto", "loss"], "two different measures"),
        (["--pareto", "loss,starvation", "--max-loss", "0.1"], "ask for one of"),
    ],
)
def test_bad_options(recrawl, arguments, message):
    result = recrawl("control", TABLE1, *arguments)
    assert result.code == 2
    assert message in result.err
    assert result.out == ""


def test_bad_files(recrawl, tmp_path):
    assert recrawl("control", tmp_path / "none.toml").code == 1
    path = tmp_path / "bad.toml"
    path.write_text("capacity = 3\n", encoding="utf-8")
    result = recrawl("control", path)
    assert result.code == 2
    assert "the model has no service" in result.err


def test_too_many_states(recrawl, tmp_path):
    path = tmp_path / "large.toml"
    text = (EXAMPLES / "control_figure4.toml").read_text(encoding="utf-8")
    path.write_text(text.replace("capacity = 5", "capacity = 50"), encoding="utf-8")
    result = recrawl("control", path, "--modes", "1")
    assert result.code == 2
    assert "states" in result.err
    assert "capacity 22 would fit" in result.err


def test_repair_is_told(recrawl, tmp_path):
    path = tmp_path / "rounded.toml"
    text = TABLE1.read_text(encoding="utf-8")
    path.write_text(text.replace("[[-10, 2]", "[[-10.01, 2]"), encoding="utf-8")
    refused = recrawl("control", path, "--modes", "1")
    assert refused.code == 2
    assert "row 0 sums to -0.01" in refused.err
    assert "--repair" in refused.err
    repaired = recrawl("control", path, "--modes", "1", "--repair", "--json")
    assert repaired.json["cost"] == pytest.approx(149.911, abs=1e-3)
    assert "its diagonal was repaired" in repaired.err


def test_simulation_beside_the_exact_numbers(recrawl):
    found = recrawl("simulate", "control", TABLE1, "--arrivals", 200_000, "--json").json
    assert found["modes"] == [3, 1]
    assert found["thresholds"] == [2]
    loss = found["measures"]["loss"]
    assert loss["simulated"] == pytest.approx(loss["exact"], abs=3 * loss["half_width"])
    assert len(found["level_probability"]) == 6
    shown = recrawl("simulate", "control", TABLE1, "--modes", "2", "--arrivals", 100_000, "--seed", 3)
    assert "always 2 robots" in shown.out
    assert recrawl("simulate", "control", TABLE1, "--arrivals", 3).code == 2
