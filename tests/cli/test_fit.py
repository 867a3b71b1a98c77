"""The commands of `recrawl fit`: what they print, write and refuse."""

import csv
import json
import subprocess

import numpy as np
import pytest

from recrawl.laws.arrivals import Bmap
from recrawl.papers._threshold_data import TABLE5

LAGS = "0.622,0.574,0.555,0.537,0.523,0.507"
SIZES = "0.040445227,0.18404232,0.26405114,0.5057307,8.8163983e-4,7.7143486e-4,0.0018734847,0.00220405"
COSTS = "loss=200,obsolete=250,response=3,robot=20,starvation=600"


@pytest.fixture
def deliveries(tmp_path):
    process = Bmap([[[-4, 0.2], [0.05, -0.5]], [[3.0, 0.1], [0.05, 0.2]], [[0.7, 0.0], [0.0, 0.2]]])
    gaps, sizes = process.sample(np.random.default_rng(1), 4000)
    times = np.repeat(1e9 + np.cumsum(gaps), sizes)
    work = np.random.default_rng(2).gamma(0.5, 2000.0, times.size)
    path = tmp_path / "deliveries.csv"
    rows = "".join(f"{time:.6f},{size:.1f}\n" for time, size in zip(times, work, strict=True))
    path.write_text("time,bytes\n" + rows)
    return path


def test_arrivals_json(recrawl, deliveries, tmp_path):
    result = recrawl(
        "fit", "arrivals", deliveries, "--orders", "1,2", "--json", "--out", tmp_path / "a.json",
        "--plot", tmp_path / "a.png",
    )  # fmt: skip
    assert result.code == 0
    document = result.json
    assert document["order"] == 2
    assert len(document["D"]) == 3
    assert document["converged"]
    assert document["rate"] == pytest.approx(document["empirical"]["rate"], rel=0.01)
    assert document["batch_mean"] == pytest.approx(document["empirical"]["batch_mean"])
    for side in ("empirical", "fitted"):
        assert {"mean", "scv", "lag_correlations"} <= set(document[side])
    assert document["fitted"]["lag_correlations"][0] == pytest.approx(
        document["empirical"]["lag_correlations"][0], abs=0.03
    )
    assert document["aic"] < document["bic"]
    assert json.loads((tmp_path / "a.json").read_text()) == document
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_arrivals_table(recrawl, deliveries):
    result = recrawl("fit", "arrivals", deliveries, "--orders", "2", "--family", "mmpp")
    assert result.code == 0
    assert "correlation at lag 1" in result.out
    assert "EM, mmpp, order 2" in result.out


def test_two_state_and_modes(recrawl, tmp_path, deliveries):
    assert recrawl("fit", "arrivals", deliveries, "--family", "two-state", "--json").json["iterations"] == 0
    rng = np.random.default_rng(3)
    rows, now = [], 0.0
    for robots in (1, 2, 1, 2):
        for _ in range(300):
            now += rng.exponential(1.0 / robots)
            rows.append(f"{now},{robots}\n")
    log = tmp_path / "modes.csv"
    log.write_text("time,robots\n" + "".join(rows))
    arrivals = tmp_path / "modes.json"
    document = recrawl(
        "fit", "arrivals", log, "--mode-column", "robots", "--orders", "1", "--out", arrivals, "--json"
    ).json
    rates = {mode["robots"]: mode["rate"] for mode in document["modes"]}
    assert rates[2] == pytest.approx(2 * rates[1], rel=0.15)
    model = recrawl(
        "fit", "model", "--arrivals", arrivals, "--service", "exponential:0.3", "--capacity", "5",
        "--costs", COSTS, "--json",
    ).json  # fmt: skip
    assert model["arrival_rates"]["2"] == pytest.approx(rates[2])


def test_from_the_printed_numbers_to_thresholds(recrawl, tmp_path):
    """[Avrachenkov, Section 7 and Table 5]: three commands from moments to the printed optimum."""
    arrivals, service, model = (tmp_path / name for name in ("a.json", "s.json", "model.toml"))
    printed = recrawl(
        "fit", "arrivals", "--mean", "212.03", "--variance", "51352.38", "--correlations", LAGS,
        "--batch-sizes", SIZES, "--out", arrivals, "--json",
    )  # fmt: skip
    assert printed.json["rate"] == pytest.approx(0.0153, abs=1e-4)
    assert "0.622 at lag 1 is impossible" in printed.err
    law = recrawl(
        "fit", "service", "--moments", "49207.0356,2.0527e11,2.5773e18", "--work-rate", "6053",
        "--out", service, "--json",
    )  # fmt: skip
    assert law.json["alpha"] == pytest.approx([0.0057, 0.9943], abs=1e-4)
    written = recrawl(
        "fit", "model", "--arrivals", arrivals, "--service", service, "--capacity", "20",
        "--robots", "1,2,3,4",         "--obsolescence", "exponential:2000", "--costs", COSTS, "--out", model,
    )  # fmt: skip
    assert written.code == 0
    result = recrawl("control", model, "--no-bounds", "--json")
    assert result.code == 0
    found = {tuple(row["modes"]): (row["thresholds"], row["cost"]) for row in result.json["combinations"]}
    found |= {(row["robots"],): ([], row["cost"]) for row in result.json["fixed"]}
    printed_rows = [line.split("|") for line in TABLE5.split("\n") if line]
    assert len(printed_rows) == 15
    for modes, thresholds, cost in printed_rows:
        key = tuple(int(mode) for mode in modes.split())
        assert found[key][0] == [int(j) for j in thresholds.split() if j != "-"]
        assert found[key][1] == pytest.approx(float(cost), rel=4e-4)
    assert result.json["best"]["modes"] == [4, 1]


def test_service_from_a_log(recrawl, deliveries, tmp_path):
    result = recrawl(
        "fit", "service", deliveries, "--column", "bytes", "--work-rate", "1000", "--orders", "1,2", "--json",
        "--plot", tmp_path / "s.svg",
    )  # fmt: skip
    assert result.code == 0
    assert result.json["mean"] == pytest.approx(1.0, rel=0.1)
    assert "<svg" in (tmp_path / "s.svg").read_text()
    shown = recrawl("fit", "service", deliveries, "--column", "bytes", "--method", "moments-3")
    assert "Phase-type law of order" in shown.out


@pytest.fixture
def observations(tmp_path):
    rng = np.random.default_rng(4)
    path = tmp_path / "observations.csv"
    with path.open("w") as file:
        file.write("page,time,changed\n")
        for page in range(30):
            rate = 0.1 if page < 15 else 2.0
            for day in range(20):
                changed = int(rng.random() < -np.expm1(-rate))
                file.write(f"https://a.org/{'slow' if page < 15 else 'fast'}/{page},{day},{changed}\n")
    return path


def test_changes(recrawl, observations, tmp_path):
    out = tmp_path / "pages.csv"
    result = recrawl(
        "fit", "changes", observations, "--group", "directory", "--price", "0.1", "--json", "--out", out
    )
    assert result.code == 0
    pages = {row["page"]: row for row in result.json["pages"]}
    slow, fast = pages["https://a.org/slow/0"], pages["https://a.org/fast/20"]
    assert slow["low"] < slow["change_rate"] < slow["high"] < fast["change_rate"]
    assert slow["due_after"] > fast["due_after"]
    assert 0.0 < fast["current_probability"] <= 1.0
    rows = list(csv.DictReader(out.read_text().splitlines()))
    assert float(rows[0]["change_rate"]) == pages[rows[0]["page"]]["change_rate"]
    shown = recrawl("fit", "changes", observations, "--now", "25", "--half-life", "10")
    assert "30 pages, 570 telling accesses" in shown.out
    assert "10 more pages" in shown.out


def test_history_and_compare(recrawl, tmp_path):
    site = tmp_path / "site"
    site.mkdir()
    (site / "a.md").write_text("one")
    options = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "first"]):
        subprocess.run(["git", *options, *command], cwd=site, check=True)
    result = recrawl(
        "fit", "history", "--git", site, "--path", "*.md", "--out", tmp_path / "h", "--plain", "--json"
    )
    assert result.json["pages"] == 1
    assert len(result.json["files"]) == 2
    empty = recrawl("fit", "history", "--git", site, "--path", "*.html")
    assert empty.code == 2
    assert "ever matched" in empty.err
    kept = tmp_path / "scores.json"
    judged = recrawl("fit", "compare", "--accesses", "5", "--pages", "100", "--out", kept, "--json").json
    assert json.loads(kept.read_text()) == judged
    assert {row["estimator"] for row in judged} >= {"naive", "belief"}
    assert "coverage" in recrawl("fit", "compare", "--accesses", "5", "--pages", "50").out


def test_compare_on_histories(recrawl, tmp_path):
    rng = np.random.default_rng(5)
    pages = "".join(f"{k},p{k},0,,20\n" for k in range(50))
    events = sorted((int(t), k) for k in range(50) for t in rng.uniform(0, 10_000, 20))
    (tmp_path / "s.pages.csv").write_text("page_id,path,first_seen,last_seen,n_changes\n" + pages)
    (tmp_path / "s.events.csv").write_text(
        "page_id,unix_time,kind,flags\n" + "".join(f"{k},{t},M,0\n" for t, k in events)
    )
    scores = recrawl("fit", "compare", "--histories", tmp_path, "--json").json["s"]
    assert 0.8 < next(s for s in scores if s["estimator"] == "belief")["predicted"] < 1.2
    kept = tmp_path / "exams.json"
    assert "twin" in recrawl("fit", "compare", "--histories", tmp_path, "--dated", "--out", kept).out
    assert list(json.loads(kept.read_text())) == ["s"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["arrivals"], "give a LOG.csv, or --mean"),
        (["arrivals", "LOG", "--family", "arma"], "--family must be one of map"),
        (["arrivals", "LOG", "--orders", "0"], "--orders must be whole numbers"),
        (["arrivals", "LOG", "--stop-after", "soon"], "--stop-after must be a time"),
        (["arrivals", "LOG", "--time-column", "when"], "no column 'when'"),
        (["arrivals", "LOG", "--mean", "1"], "stand instead of a log"),
        (["service", "LOG", "--column", "bytes", "--method", "magic"], "--method must be one of"),
        (["service"], "either a LOG.csv or --moments"),
        (["service", "--moments", "1"], "two or three raw moments"),
        (["service", "--moments", "1,0.5"], "scv"),
        (["changes", "LOG"], "no column 'page'"),
        (["compare", "--per-change", "0"], "--per-change"),
        (
            ["model", "--arrivals", "LOG", "--service", "exponential:1", "--capacity", "2", "--costs", COSTS],
            "not a JSON",
        ),
        (
            [
                "model",
                "--arrivals",
                "LOG",
                "--service",
                "exponential:1",
                "--capacity",
                "2",
                "--costs",
                "loss=1",
            ],
            "not a JSON",
        ),
    ],
)
def test_bad_input(recrawl, deliveries, arguments, message):
    result = recrawl("fit", *[deliveries if argument == "LOG" else argument for argument in arguments])
    assert result.code == 2
    assert message in result.err
    assert not result.out


@pytest.mark.parametrize("costs", ["loss=1", "loss=1,loss=2", "gold=1", "loss=many"])
def test_bad_costs(recrawl, tmp_path, costs):
    path = tmp_path / "a.json"
    path.write_text('{"D": [[[-1.0]], [[1.0]]]}')
    result = recrawl(
        "fit", "model", "--arrivals", path, "--service", "exponential:1", "--capacity", "2", "--costs", costs
    )
    assert result.code == 2
    assert "--costs" in result.err


def test_missing_file(recrawl):
    assert recrawl("fit", "arrivals", "nowhere.csv").code == 1
