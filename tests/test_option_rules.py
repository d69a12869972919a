"""Names and combinations of settings; every one is in test_options.py."""

from __future__ import annotations

import dataclasses

import pytest

from claude_sync import Options, UsageError
from claude_sync.option_rules import KNOWN_ELSEWHERE, check_name

NAMES = [field.name for field in dataclasses.fields(Options)]


@pytest.mark.parametrize("name", NAMES)
def test_every_setting_is_known(name):
    """A name that exists is accepted, and is not listed as one of another library."""
    check_name(name, NAMES)
    assert name not in KNOWN_ELSEWHERE


@pytest.mark.parametrize("name", sorted(KNOWN_ELSEWHERE))
def test_names_of_other_libraries_are_explained(name):
    """Whoever comes from elsewhere is told what to write here."""
    with pytest.raises(UsageError, match=f"there is no option '{name}': "):
        check_name(name, NAMES)


@pytest.mark.parametrize("advice", sorted(set(KNOWN_ELSEWHERE.values())))
def test_the_advice_names_settings_that_exist(advice):
    """A hint "use x=" is about a setting of Options."""
    for word in advice.replace(",", " ").split():
        if word.endswith("=") and word != "=":
            assert word[:-1] in NAMES


def test_a_name_that_is_like_nothing_gets_the_manual():
    """Without a guess, the error says where all names are."""
    with pytest.raises(UsageError, match=r"help\(claude_sync\.Options\)"):
        check_name("zzzzzz", NAMES)
