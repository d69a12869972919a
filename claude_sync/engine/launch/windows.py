"""
What Windows wants differently when a process is started.

Numbers and functions only; nothing here needs Windows to be imported or tested.
"""

from __future__ import annotations

from typing import Sequence

# The names in subprocess exist on Windows only.
CREATE_NEW_PROCESS_GROUP = 0x00000200
CREATE_NO_WINDOW = 0x08000000

# CreateProcess takes 32,767 characters; what is missing to that is left for
# what the system and a Node shim add.
LONGEST_COMMAND_LINE = 30_000


def creation_flags(windows: bool) -> int:
    """
    The ``creationflags`` of Popen.

    No console window pops up for a program that has none, and a Ctrl-C in the
    console of the program does not reach the CLI. 0 elsewhere.
    """
    return CREATE_NO_WINDOW | CREATE_NEW_PROCESS_GROUP if windows else 0


def command_line_length(argv: Sequence[str]) -> int:
    """How many characters CreateProcess gets for *argv*, quotes included."""
    from subprocess import list2cmdline  # there on every platform; imported when needed

    return len(list2cmdline(argv))
