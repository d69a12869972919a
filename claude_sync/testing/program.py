"""
The executable stand-in of the CLI: a real process that plays a script.

Started by :class:`~claude_sync.testing.StandIn`, or by hand::

    python -m claude_sync.testing.program

Without a script it is the offline CLI, which echoes. With one it does what the
script says, in the vocabulary of :class:`~claude_sync.testing.cli_side.CliSide` and
a few words more that only a process can mean.

It is run by its path, so that a start takes milliseconds: the library it stands in
for is not imported, and of the standard library only a few modules are.
"""

from __future__ import annotations

import os
import sys

if not __package__:
    # Run by path: the files beside this one become a package of their own.
    __package__ = "claude_sync_stand_in"
    package = type(sys)(__package__)
    package.__path__ = [os.path.dirname(os.path.abspath(__file__))]
    sys.modules[__package__] = package

from .program_cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
