"""The tables of the tests: every row runs, and every failure is told."""

from __future__ import annotations

import pytest
from tables import each


def test_every_row_runs_and_every_failure_is_told():
    """A row that fails does not hide those after it; rows may fail in any way."""
    seen = []

    @each(("number", "wanted"), [(1, 1), (2, 3), (3, 3), (4, 0), (5, 0)])
    def check(number, wanted):
        seen.append(number)
        if number == 4:
            raise ValueError("four")
        if number == 5:
            with pytest.raises(KeyError):
                pass
        else:
            assert number == wanted

    with pytest.raises(pytest.fail.Exception) as caught:
        check()
    assert seen == [1, 2, 3, 4, 5]
    assert "3 of 5 rows failed" in str(caught.value)
    assert "(2, 3): AssertionError" in str(caught.value)
    assert "(4, 0): ValueError: four" in str(caught.value)
    assert "(5, 0): Failed: DID NOT RAISE" in str(caught.value)


def test_an_empty_table_fails():
    """It would check nothing."""
    with pytest.raises(AssertionError):
        each("row", [])(lambda row: None)()


@each("row", ["a", "b"])
def test_fixtures_are_given(row, tmp_path):
    """Next to the columns."""
    (tmp_path / row).touch(exist_ok=False)
    assert (tmp_path / "a").exists()
