import csv
import json

import numpy as np
import pytest

from recrawl.revisit import POLICIES


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "pages.csv"
    path.write_text("page,change_rate,weight,site\na,2,1,s\nb,1,2,s\nc,0.5,1,t\nd,0.1,1,t\ne,90,1,t\n")
    return path


@pytest.fixture
def example(tmp_path):
    path = tmp_path / "example.csv"
    path.write_text("page,change_rate,weight\n1,2,2\n2,3,3\n3,3,3\n4,5,5\n")
    return path


KEYS = {
    "pages",
    "access_mean",
    "total_change_rate",
    "budget",
    "price",
    "lower_bound",
    "cost",
    "obsolescence",
    "obsolescence_bound",
    "policy",
    "never_visited",
    "frequency",
}


@pytest.mark.parametrize("policy", POLICIES)
def test_json_of_every_policy(recrawl, table, policy):
    result = recrawl("plan", table, "--access", "exponential:0.5", "--policy", policy, "--json")
    assert result.code == 0, result.err
    document = result.json
    assert set(document) >= KEYS
    assert document["policy"] == policy
    assert document["budget"] == 2.0
    assert document["cost"] >= document["lower_bound"] * (1 - 1e-9)
    assert sum(document["frequency"].values()) == pytest.approx(1.0)
    assert document["never_visited"] == len(document["never_visited_pages"])
    assert document["cost_basis"].startswith(
        "exact" if document["measured_accesses"] == 0 else "measured over"
    )


def test_worked_example_of_the_paper(recrawl, example):
    result = recrawl(
        "plan", example, "--access", "deterministic:0.1", "--policy", "golden", "--accesses", "13"
    )
    assert result.out.split() == ["4", "2", "4", "1", "3", "4", "2", "4", "1", "3", "4", "2", "3"]
    assert len(result.out.splitlines()) == 13


def test_units_of_the_budget(recrawl, table):
    alone = recrawl("plan", table, "--budget", "4", "--json").json
    assert (alone["budget"], alone["access"]) == (4.0, "deterministic:0.25")
    both = recrawl("plan", table, "--budget", "4", "--access", "exponential:9", "--json").json
    assert (both["budget"], both["access"]) == (4.0, "exponential:0.25")
    fleet = recrawl("plan", table, "--access", "exponential:1", "--robots", "4", "--json").json
    assert (fleet["budget"], fleet["robots"]) == (4.0, 4)
    assert both["lower_bound"] == pytest.approx(fleet["lower_bound"])


def test_target(recrawl, table):
    document = recrawl("plan", table, "--target-obsolescence", "0.3", "--json").json
    assert document["obsolescence_bound"] == pytest.approx(0.3, rel=1e-6)
    assert document["target_obsolescence"] == 0.3


def test_limits(recrawl, table):
    document = recrawl(
        "plan",
        table,
        "--budget",
        "4",
        "--max-interval",
        "10",
        "--site-rate",
        "3",
        "--site-rate",
        "s=1",
        "--json",
    ).json
    rate = {page: 4 * share for page, share in document["frequency"].items()}
    assert min(rate.values()) >= 0.1 - 1e-9
    assert rate["a"] + rate["b"] <= 1 + 1e-9
    assert document["unused_budget"] == pytest.approx(0.0, abs=1e-9)
    assert set(document["site_price"]) == {"s"} or set(document["site_price"]) == {"s", "t"}
    assert document["never_visited"] == 0


def test_unused_budget_is_said(recrawl, table):
    result = recrawl("plan", table, "--budget", "4", "--min-interval", "5")
    assert result.code == 0
    assert "unused budget" in result.out
    assert "limits allow no more accesses" in result.out


def test_table_for_people(recrawl, table):
    result = recrawl("plan", table, "--access", "exponential:0.5")
    assert result.code == 0
    for words in ("obsolescence", "lower bound", "price", "never visited", "twice", "most accessed"):
        assert words in result.out
    assert result.err == ""


@pytest.mark.parametrize("name", ["plan.csv", "plan.parquet"])
def test_out(recrawl, table, tmp_path, name):
    path = tmp_path / name
    assert recrawl("plan", table, "--budget", "4", "--out", path).code == 0
    if name.endswith("csv"):
        with path.open() as stream:
            rows = list(csv.DictReader(stream))
        assert [row["page"] for row in rows] == list("abcde")
        assert sum(float(row["frequency"]) for row in rows) == pytest.approx(1.0)
        assert float(rows[0]["interval"]) == pytest.approx(1 / float(rows[0]["access_rate"]))
        # The plan can be planned again: it is a table of pages.
        assert recrawl("plan", path, "--budget", "4", "--json").code == 0
    else:
        assert recrawl("plan", path, "--budget", "4", "--json").json["pages"] == 5


def test_plot(recrawl, table, tmp_path):
    path = tmp_path / "deep" / "plan.png"
    assert recrawl("plan", table, "--budget", "4", "--plot", path, "--json").code == 0
    assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    bad = recrawl("plan", table, "--budget", "4", "--plot", tmp_path / "plan.xyz")
    assert bad.code == 2
    assert "must end in one of" in bad.err


def test_long_lists_are_left_out(recrawl, tmp_path):
    path = tmp_path / "many.csv"
    rates = np.random.default_rng(0).lognormal(0, 1, 10_001)
    path.write_text("page,change_rate\n" + "".join(f"p{i},{rate}\n" for i, rate in enumerate(rates)))
    arguments = ("plan", path, "--budget", "1000", "--policy", "golden", "--json")
    assert "frequency" not in recrawl(*arguments).json
    assert len(recrawl(*arguments, "--all-pages").json["frequency"]) == 10_001


def test_accesses_in_json(recrawl, table):
    document = recrawl("plan", table, "--budget", "4", "--accesses", "7", "--json").json
    assert len(document["accesses"]) == 7
    idle = recrawl("plan", table, "--budget", "4", "--min-interval", "5", "--accesses", "20").out.split()
    assert len(idle) == 20


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "how fast can pages be accessed"),
        (["--access", "weibull:1"], "unknown law 'weibull'"),
        (["--access", "exponential:-1"], "mean must be a positive number"),
        (["--budget", "0"], "budget must be a positive number"),
        (["--budget", "4", "--policy", "best"], "unknown policy 'best'"),
        (["--budget", "4", "--target-obsolescence", "0.5"], "leave --budget out"),
        (["--target-obsolescence", "2"], "must be between 0 and 1"),
        (["--budget", "4", "--max-interval", "0.1"], "max_interval needs 50 accesses per unit time"),
        (["--budget", "4", "--site-rate", "x=1"], "the table has no site 'x'"),
        (["--budget", "4", "--site-rate", "fast"], "should read RATE or SITE=RATE"),
        (["--budget", "4", "--site-rate", "-1"], "must not be negative"),
        (["--budget", "4", "--out", "plan.doc"], "must end in .csv"),
        (["--budget", "4", "--site-rate", "s=0.01", "--max-interval", "100"], "the floors of site 0 need"),
        (["--colour"], "No such option"),
        (["--budget", "many"], "Invalid value"),
    ],
)
def test_bad_input(recrawl, table, arguments, message):
    result = recrawl("plan", table, *arguments)
    assert result.code == 2
    assert message in result.err
    assert "Traceback" not in result.err
    assert result.out == ""


def test_missing_file(recrawl, tmp_path):
    result = recrawl("plan", tmp_path / "none.csv", "--budget", "4")
    assert result.code == 1
    assert "none.csv: No such file or directory" in result.err


def test_no_infinity_in_json(recrawl, tmp_path):
    path = tmp_path / "still.csv"
    path.write_text("page,change_rate\na,0\nb,0\n")
    result = recrawl("plan", path, "--budget", "1", "--policy", "golden", "--json")
    assert "nothing to access" in result.err
    document = recrawl("plan", path, "--budget", "1", "--policy", "uniform", "--json").json
    assert document["cost"] == 0.0
    assert json.dumps(document, allow_nan=False)


def test_own_pages_for_each_robot(recrawl, table, tmp_path):
    path = tmp_path / "plan.csv"
    arguments = ("plan", table, "--access", "exponential:0.5", "--robots", "2", "--split")
    document = recrawl(*arguments, "--out", path, "--json").json
    assert sum(document["pages_of_robot"]) == 5
    assert document["split_penalty"] > 0
    assert document["lower_bound"] == pytest.approx(
        document["shared_lower_bound"] * (1 + document["split_penalty"])
    )
    with path.open() as stream:
        rows = list(csv.DictReader(stream))
    assert {row["robot"] for row in rows} == {"0", "1"}
    assert sum(float(row["access_rate"]) for row in rows) == pytest.approx(4.0)
    assert "splitting raises the lower bound by" in recrawl(*arguments).out
    wrong = recrawl(*arguments, "--max-interval", "3")
    assert wrong.code == 2
    assert "--split goes with" in wrong.err


def test_curve(recrawl, table):
    points = recrawl("plan", table, "--budget", "4", "--curve", "--json").json["curve"]
    assert [point["budget"] for point in points] == pytest.approx([4 * 2.0**k for k in range(-4, 5)])
    costs = [point["cost"] for point in points]
    assert costs == sorted(costs, reverse=True)
    assert "What another budget would give" in recrawl("plan", table, "--budget", "4", "--curve").out
    floors = recrawl("plan", table, "--budget", "4", "--max-interval", "2", "--curve", "--json").json["curve"]
    assert min(point["budget"] for point in floors) >= 2.5
