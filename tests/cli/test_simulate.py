import pytest


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "pages.csv"
    path.write_text("page,change_rate,weight\na,2,1\nb,1,2\nc,0.5,1\nd,0.1,1\n")
    return path


def test_json(recrawl, table):
    result = recrawl(
        "simulate",
        "schedule",
        table,
        "--access",
        "exponential:0.3",
        "--accesses",
        "20000",
        "--replications",
        "6",
        "--json",
    )
    assert result.code == 0, result.err
    document = result.json
    assert [row["policy"] for row in document["policies"]] == [
        "windows",
        "golden",
        "randomised",
        "uniform",
        "proportional",
    ]
    for row in document["policies"]:
        assert abs(row["cost"] - row["simulated_cost"]) < 2 * row["simulated_cost_half_width"]
        assert row["cost"] >= row["lower_bound"] * (1 - 1e-9)


def test_table_and_plot(recrawl, table, tmp_path):
    path = tmp_path / "policies.svg"
    result = recrawl(
        "simulate",
        "schedule",
        table,
        "--budget",
        "3",
        "--policies",
        "windows,uniform",
        "--accesses",
        "2000",
        "--plot",
        path,
    )
    assert result.code == 0
    assert "±" in result.out
    assert "<svg" in path.read_text()


def test_several_robots(recrawl, table):
    arguments = (
        "simulate",
        "schedule",
        table,
        "--access",
        "exponential:0.3",
        "--robots",
        "2",
        "--policies",
        "uniform",
    )
    result = recrawl(*arguments, "--accesses", "2000")
    assert "overlap" in result.out
    document = recrawl(*arguments, "--accesses", "2000", "--json").json
    assert document["robots"] == 2


def test_bad_input(recrawl, table):
    result = recrawl("simulate", "schedule", table, "--budget", "3", "--policies", "windows,best")
    assert (result.code, result.out) == (2, "")
    assert "unknown policy 'best'" in result.err
    result = recrawl("simulate", "schedule", table, "--budget", "3", "--policies", ",")
    assert (result.code, result.out) == (2, "")
