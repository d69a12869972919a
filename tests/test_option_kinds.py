"""The kinds of values settings have; every setting is in test_options.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from claude_sync import UsageError, option_kinds


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (option_kinds.flag, [True, False], [None, 1, "yes"]),
        (option_kinds.text, [None, "", "a"], [1, b"a"]),
        (option_kinds.word, [None, "a"], ["", " ", 1]),
        (option_kinds.choice("a", "b"), [None, "a"], ["c", 1]),
        (option_kinds.choice("a", optional=False), ["a"], [None]),
        (option_kinds.count(1), [None, 1, 99], [0, -1, 1.0, True, "1"]),
        (option_kinds.count(0, optional=False), [0], [None, -1]),
        (option_kinds.amount, [None, 1, 0.5], [0, -1, True, "1", float("inf"), float("nan")]),
        (option_kinds.path, [None, "a", Path("a")], ["", " ", 1, b"a"]),
        (option_kinds.function, [None, print], [1, "print"]),
        (option_kinds.uuid, [None, "6F1C1C0E-5D0E-4B5E-9A51-0A3A2C2F6C11"], ["abc", "", 1]),
    ],
)
def test_a_kind_takes_what_it_should(check, good, bad):
    """Good values are returned, bad ones are refused by the setting's name."""
    for value in good:
        assert check("setting", value) == value
    for value in bad:
        with pytest.raises(UsageError, match=r"^setting must be"):
            check("setting", value)


def test_lists_become_tuples():
    """A list is kept as a tuple; a str is not a list of its letters."""
    check = option_kinds.list_of(option_kinds.word, "['a']")
    assert check("setting", ["a", "b"]) == ("a", "b")
    for wrong in ("ab", {"a"}, None, [None], [" "]):
        with pytest.raises(UsageError, match="setting"):
            check("setting", wrong)
    assert option_kinds.list_of(option_kinds.word, "['a']", optional=True)("setting", None) is None


def test_mappings_become_dicts_of_their_own():
    """Later changes to what was given have no effect."""
    given = {"a": 1}
    kept = option_kinds.mapping("setting", given)
    given["b"] = 2
    assert kept == {"a": 1}
    for wrong in ([], {1: 2}, {" ": 1}):
        with pytest.raises(UsageError, match="setting"):
            option_kinds.mapping("setting", wrong)


@pytest.mark.parametrize(
    ("word", "meant"), [("Modle", "model"), ("cmd", None), ("MAX_TURN", "max_turns")]
)
def test_the_nearest_word(word, meant):
    """Case does not count; what is far from everything was not meant."""
    assert option_kinds.nearest(word, ["model", "max_turns", "cwd_x_y_z"]) == meant


def test_a_wrong_choice_is_told_the_right_one():
    """The text names what was probably meant, and all there is."""
    with pytest.raises(UsageError, match=r"one of 'low', 'high' \(did you mean 'high'\?\)"):
        option_kinds.choice("low", "high")("effort", "hihg")


def test_a_long_value_is_cut_in_the_text():
    """An error is read by a person."""
    assert len(str(option_kinds.refuse("setting", "x" * 10_000, "short"))) < 200
