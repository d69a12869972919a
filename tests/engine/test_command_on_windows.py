"""What Windows wants differently, tested everywhere."""

from __future__ import annotations

import subprocess
import sys

import pytest

from claude_sync.engine.launch import command


def test_other_systems_need_no_flags():
    """0 is what Popen takes everywhere."""
    assert command.creation_flags(False) == 0


def test_the_numbers_are_those_of_windows():
    """No window, a group of its own."""
    assert command.creation_flags(True) == 0x08000200
    if sys.platform == "win32":
        assert command.CREATE_NO_WINDOW == subprocess.CREATE_NO_WINDOW
        assert command.CREATE_NEW_PROCESS_GROUP == subprocess.CREATE_NEW_PROCESS_GROUP


@pytest.mark.parametrize(
    ("argv", "length"), [(["a"], 1), (["a", "b"], 3), (["a b"], 5), (['a"b'], 4), ([""], 2)]
)
def test_the_length_counts_quotes(argv, length):
    """What CreateProcess gets is longer than the words."""
    assert command.command_line_length(argv) == length
