from recrawl.papers import Row
from recrawl.papers.schedule import rows

WRONG = {
    "Theorem 3.1: a smaller": "false claim",
    "Section 2 and (7)": "false claim",
    "after Lemma 4.1: difference for small f": "misprint",
    "after Lemma 4.1: difference for f near 1": "misprint",
    "Section 5, worked example by the words": "misprint",
    "Section 5, worked example: k": "misprint",
    "Section 5: j =": "misprint",
    "Theorem 5.1": "false claim",
    "Corollary 5.1": "false claim",
    "Sections 1 and 3: within 5 %": "false claim",
    "golden ratio cost / bound, average": "false claim",
    "proof of Corollary 5.1": "false claim",
    "end of Section 3": "misprint",
}


def test_exactly_the_known_errors_are_flagged():
    found = rows()
    assert len({row.item for row in found}) == len(found)
    for row in found:
        verdict = next((verdict for start, verdict in WRONG.items() if row.item.startswith(start)), "agrees")
        assert row.verdict == verdict, row
    for start in WRONG:
        assert any(row.item.startswith(start) for row in found), start


def test_the_numbers_of_the_errata():
    by_item = {row.item: row for row in rows()}
    supremum = by_item["Corollary 5.1, (19): golden ratio cost / lower bound, supremum"]
    assert supremum.computed == "1.10902"
    assert by_item["Section 5, worked example: access sequence"].computed == "4 2 4 1 3 4 2 4 1 3 4 2 3"
    assert "above 1.07" in by_item["Sections 1 and 3: within 5 % of the bound"].computed
    average = by_item["golden ratio cost / bound, average over frequencies, change rate x E[X] towards 0"]
    assert average.computed == "1.08810"


def test_a_verdict_is_one_of_three():
    import pytest

    with pytest.raises(ValueError, match="verdict must be one of"):
        Row("p", "i", "1", "2", "maybe", "n")  # type: ignore[arg-type]
