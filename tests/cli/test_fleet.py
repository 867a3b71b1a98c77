"""`recrawl fleet` and `recrawl papers fleet`."""

import csv

import pytest

from recrawl.fleet import Costs, optimal_robots, solve
from recrawl.laws import Empirical, TwoTask

COMMON = ("fleet", "--service", "two-task:2,10,0.35", "--capacity", "15", "--starvation-weight", "2")


def test_json_carries_the_answer(recrawl):
    result = recrawl(*COMMON, "--robot-rate", "0.03", "--max-robots", "12", "--json")
    assert result.code == 0
    document = result.json
    law = TwoTask(2.0, 10.0, 0.35)
    exact = optimal_robots(law, 0.03, Costs(2.0), 15)
    queue = solve(law, exact.robots * 0.03 * law.mean, 15)
    assert document["robots"] == exact.robots == 7
    for name in ("load", "starvation", "loss", "response_time"):
        assert document[name] == pytest.approx(getattr(queue, name))
    assert document["cost"] == pytest.approx(2 * queue.starvation + queue.loss)
    assert document["optimal_cost"] <= document["cost"]
    assert document["optimal_cost_bound"] <= document["optimal_cost"]
    assert [point["robots"] for point in document["curve"]] == list(range(1, 13))
    assert document["curve"][6]["cost"] == document["cost"] == min(p["cost"] for p in document["curve"])
    assert set(document["curve"][0]) == {"robots", "load", "cost", "starvation", "loss"}
    assert document["answer"].startswith(
        "7 robots: the indexer idles 3.8 % of the time, 16.7 % of pages are lost."
    )


def test_words_and_table(recrawl):
    result = recrawl(*COMMON, "--robot-rate", "0.03")
    assert result.out.startswith("7 robots: ")
    assert "7 *" in result.out
    assert "Best load 1.1165, cost 0.23989." in result.out


def test_a_long_curve_is_thinned(recrawl):
    document = recrawl(*COMMON, "--robot-rate", "0.0001", "--json").json
    assert len(document["curve"]) < 510
    assert document["robots"] in [point["robots"] for point in document["curve"]]


def test_groups(recrawl):
    groups = ("--group", "news:0.1,2,1,0.01", "--group", "archive:0.03,4")
    document = recrawl(*COMMON, *groups, "--json").json
    assert document["groups"] == {"news": 1, "archive": 3}
    assert (document["robots"], document["exact"]) == (4, True)
    assert "for news" in document["answer"]
    assert document["lower_bound"] == pytest.approx(document["cost"])


def test_prices_change_the_answer(recrawl):
    free = recrawl(*COMMON, "--robot-rate", "0.03", "--json").json
    priced = recrawl(*COMMON, "--robot-rate", "0.03", "--robot-price", "0.05", "--json").json
    hasty = recrawl(*COMMON, "--robot-rate", "0.03", "--response-weight", "0.01", "--json").json
    assert priced["robots"] < free["robots"]
    assert hasty["robots"] < free["robots"]
    assert priced["cost"] == pytest.approx(
        2 * priced["starvation"] + priced["loss"] + 0.05 * priced["robots"]
    )


def test_smallest_capacity(recrawl):
    plain = recrawl(*COMMON, "--robot-rate", "0.03", "--tolerance", "0.02", "--json").json
    obsolete = recrawl(
        *COMMON, "--robot-rate", "0.03", "--tolerance", "0.02", "--obsolete-after", "60", "--json"
    ).json
    assert plain["smallest_capacity_cost"] <= plain["unbounded_cost"] + 0.02
    assert obsolete["smallest_capacity"] < plain["smallest_capacity"]
    assert "when waiting pages grow obsolete" in obsolete["answer"]


def test_laws_from_files_and_plot(recrawl, tmp_path):
    pytest.importorskip("matplotlib")
    (tmp_path / "times.csv").write_text("1\n2\n2\n7\n")
    picture = tmp_path / "cost.png"
    result = recrawl(
        "fleet", "--service", f"empirical:{tmp_path / 'times.csv'}", "--capacity", "5", "--starvation-weight", "1",
        "--robot-rate", "0.05", "--plot", picture, "--json",
    )  # fmt: skip
    assert result.json["robots"] == optimal_robots(Empirical([1, 2, 2, 7]), 0.05, Costs(1.0), 5).robots
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_no_optimal_load_is_said_not_guessed(recrawl):
    result = recrawl(
        "fleet", "--service", "exponential:1", "--capacity", "1", "--starvation-weight", "2", "--robot-rate", "0.5",
        "--max-robots", "4", "--json",
    )  # fmt: skip
    assert result.json["robots"] == 4
    assert result.json["optimal_load"] is None
    assert "no optimal load" in result.err
    assert "More robots than allowed would be cheaper." in result.json["answer"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--robot-rate", "0.03", "--capacity", "0"), "capacity must be a whole number from 1, not 0"),
        (("--robot-rate", "0.03", "--capacity", "1"), "capacity 1 has no optimal load"),
        (("--robot-rate", "-1"), "robot rate must be a positive number, not -1.0"),
        (("--robot-rate", "0.03", "--service", "weibull:2"), "unknown law 'weibull'"),
        (("--robot-rate", "0.03", "--starvation-weight", "0"), "starvation weight must be a positive number"),
        (("--robot-rate", "0.03", "--max-robots", "0"), "max robots must be at least 1, not 0"),
        (("--robot-rate", "0.03", "--tolerance", "-1"), "tolerance must be a positive number"),
        (("--robot-rate", "0.03", "--obsolete-after", "5"), "--obsolete-after needs --tolerance"),
        (("--robot-rate", "0.03", "--group", "x:1,2"), "either --robot-rate or --group"),
        ((), "either --robot-rate or --group"),
        (("--group", "x"), "should read NAME:RATE,MOST"),
        (("--group", "x:1,2,3,4,5"), "should read NAME:RATE,MOST"),
        (("--group", "x:0,2"), "rate of x must be a positive number"),
    ],
)
def test_bad_input(recrawl, arguments, message):
    result = recrawl(*COMMON, *arguments)
    assert result.code == 2
    assert message in result.err
    assert result.out == ""


def test_papers_fleet(recrawl, tmp_path):
    pytest.importorskip("matplotlib")
    result = recrawl("papers", "fleet", "--json", "--plots", tmp_path)
    assert {row["verdict"] for row in result.json} == {"agrees", "misprint", "false claim"}
    numbers = ["2", "3", "4a", "4b", "5", "6", "7", "8"]
    assert sorted(path.name for path in tmp_path.glob("*.png")) == [f"figure-{n}.png" for n in numbers]
    with (tmp_path / "figure-4b.csv").open(encoding="utf-8") as stream:
        table = list(csv.reader(stream))
    assert table[0] == ["K", "γ = 0.5", "γ = 2"]
    assert ["16.0", "6.0", "6.0"] in table
