"""The paper's claims: which agree, and exactly which do not."""

import pytest

from recrawl.fleet import mm1k
from recrawl.papers.fleet import rows
from recrawl.papers.fleet_figures import figures, robots_mm1k


@pytest.fixture(scope="module")
def found():
    return rows()


def test_exactly_the_known_errors_are_flagged(found):
    flagged = {row.item: row.verdict for row in found if row.verdict != "agrees"}
    assert flagged == {
        "Figure 4(b), γ = 2": "misprint",
        "(19)": "misprint",
        "(26), Remark 2": "misprint",
        "(29)": "misprint",
        "Lemma 5, degree of f (q = 2, K = 4)": "misprint",
        "Proposition 5, ρ = 1": "false claim",
        "Section 4.4, initial conditions": "misprint",
        "Section 4.4, α_12(0.8)": "misprint",
    }
    assert len(found) > 30
    assert all(row.note for row in found if row.verdict != "agrees")


def test_figure_4b_by_brute_force():
    """N(γ,K) from (2) alone, over all numbers of robots."""

    def best(weight, capacity):
        return min(range(1, 60), key=lambda n: mm1k.cost(n / 6, weight, capacity))

    for capacity in range(2, 60):
        for weight in (0.5, 2.0):
            assert robots_mm1k(6.0, weight, capacity) == best(weight, capacity)
    assert [best(2.0, k) for k in (15, 16, 17, 18)] == [7, 6, 6, 6]
    assert [best(0.5, k) for k in (12, 13)] == [5, 6]


def test_figures_are_whole():
    drawn = figures()
    assert [figure.number for figure in drawn] == ["2", "3", "4a", "4b", "5", "6", "7", "8"]
    for figure in drawn:
        assert all(len(curve) == len(figure.x) for curve in figure.curves.values())
    by_number = {figure.number: figure for figure in drawn}
    for curve in by_number["2"].curves.values():
        assert list(curve) == sorted(curve)
    cost = by_number["6"].curves["cost"]
    lowest = cost.index(min(cost))
    assert by_number["6"].x[lowest] == pytest.approx(1.0667, abs=0.011)
    assert list(cost[:lowest]) == sorted(cost[:lowest], reverse=True)
    assert list(cost[lowest:]) == sorted(cost[lowest:])
