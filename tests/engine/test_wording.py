"""Numbers in sentences."""

import pytest

from recrawl.engine.wording import significant


@pytest.mark.parametrize("value", [100.0, 99.96, 14_700.0, 1e-5, 123_456_789.0])
def test_no_exponents_where_people_can_do_without(value):
    text = significant(value, 2)
    assert "e" not in text
    assert float(text.replace(",", "")) == pytest.approx(value, rel=0.05)
