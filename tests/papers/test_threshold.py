"""Every printed number of the threshold paper."""

import pytest

from recrawl.papers.threshold import _WRONG, figures, rows


@pytest.fixture(scope="module")
def judged():
    return {row.item: row for row in rows()}


def test_only_what_is_explained_disagrees(judged):
    wrong = {item for item, row in judged.items() if row.verdict != "agrees" and item.startswith("Table")}
    others = {
        "Table 2: K > 30 is about the same as K = 30",
        "Table 5: lag correlations 1 ... 6",
        "Table 5: row sums of D_0 + A",
    }
    assert wrong == set(_WRONG) | others
    assert not any(row.note == "unexplained" for row in judged.values())


def test_all_cells_are_there(judged):
    """15 sets, 12 + 15 + 22 rows of seven or eight numbers, 15 sets again."""
    for table, count in (("Table 1,", 30), ("Table 2,", 96), ("Table 3,", 120), ("Table 4,", 198)):
        assert sum(item.startswith(table) for item in judged) == count
    assert sum(item.startswith("Table 5,") and "thresholds" in item for item in judged) == 15


def test_all_thresholds_of_table_5_agree(judged):
    table = [row for item, row in judged.items() if item.startswith("Table 5,")]
    assert all(row.verdict == "agrees" for row in table)


def test_false_claims_are_shown(judged):
    assert judged["Figure 3, α_1 = 9: best set of modes"].verdict == "false claim"
    assert judged["Figure 3, α_1 = 9: best two modes"].verdict == "agrees"
    assert judged["Section 3: states for K = 10, W = M = R = 2"].computed == "4094"


def test_command(recrawl, tmp_path):
    pytest.importorskip("matplotlib")
    result = recrawl("papers", "threshold", "--json", "--plots", tmp_path)
    found = result.json
    assert {"paper", "item", "printed", "computed", "verdict", "note"} == set(found[0])
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f"threshold_figure{n}.png" for n in (1, 2, 3, 4)
    ]


def test_figures_have_their_minima():
    curves = figures()
    assert curves["figure1"]["3 or 1 robots"].argmin() == 2
    assert [int(curve.argmin()) for curve in curves["figure4"].values()] == [2, 2, 1, 1, 0]
