"""
The command that starts the stand-in CLI with a script.

::

    [stand_in] -> process -> lines -> messages -> dispatch -> handlers -> turn

A script is a function at the top level of any Python file; the process loads that
file by its path and calls the function::

    def dies_in_mid_turn(cli):
        cli.accept()
        cli.begin_turn(cli.expect("user"))
        cli.kill_itself()

    Client(cli=StandIn(dies_in_mid_turn).command)

The process runs the whole file, so scripts are best kept in one that imports little. What
starts a stand-in must stand in a function, or under ``if __name__ == "__main__":``; a file that
does so while it is loaded would start itself without end, and is stopped.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any

from ..errors import UsageError
from .program_cli import SETTINGS_FLAG

__all__ = ["StandIn"]

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, "program.py")
HOME = os.path.dirname(os.path.dirname(HERE))


class StandIn:
    """
    An executable CLI that plays *script*; without one it echoes.

    Args:
        script: A function at the top level of a Python file. It gets a ``ProgramCli``.
        settings: ``style="old"`` for a CLI that tells less; ``version``, ``session_id``,
            ``patience`` (of ``expect``), ``lifetime`` (of a process nobody ends); for the
            echo ``pace`` (seconds between two pieces of text) and ``cost`` (dollars that
            each turn claims). Others are for the script, in ``cli.settings``.

    Attributes:
        command: The words that start it, for ``Client(cli=...)``; good in any folder.

    """

    def __init__(self, script: Callable[[Any], object] | None = None, **settings: Any) -> None:
        refuse_where_it_repeats()
        if settings.get("style", "new") not in ("new", "old"):
            raise UsageError(f"style is 'new' or 'old', not {settings['style']!r}")
        if script is not None:
            settings = {**settings, **where_to_find(script)}
        try:
            words = json.dumps(settings)
        except TypeError as error:
            raise UsageError(f"a setting cannot be sent to a process: {error}") from None
        # Isolated and without site: a start takes half as long. A script gets our path.
        python = [sys.executable, "-I", "-S"]
        self.command: list[str] = [*python, PROGRAM, f"{SETTINGS_FLAG}{words}"]

    def __repr__(self) -> str:
        return f"StandIn({self.command[-1]})"


def refuse_where_it_repeats() -> None:
    """UsageError in programs whose ``sys.executable`` is themselves: they would start again."""
    is_child = any(word.startswith(SETTINGS_FLAG) for word in sys.argv)
    is_stand_in = "claude_sync_stand_in" in sys.modules
    if getattr(sys, "frozen", False) or (is_child and not is_stand_in):
        raise UsageError(
            "StandIn needs a Python interpreter, and this program is packed into one file that "
            "would only start itself again. Use ScriptedCli, which needs no process."
        )


def where_to_find(script: Callable[[Any], object]) -> dict[str, Any]:
    """The settings from which a process finds *script*."""
    name = getattr(script, "__qualname__", "")
    if not isinstance(script, FunctionType) or "<" in name:
        raise UsageError(
            f"a script must be a function at the top level of a file, because the "
            f"process has to find it there; got {script!r}"
        )
    file = os.path.abspath(script.__code__.co_filename)
    if not os.path.exists(file):
        raise UsageError(f"the process cannot find the script {name}: there is no file {file}")
    # The package itself may be found by other means than a path: an editable install.
    path = [*(each for each in sys.path if each), HOME]
    return {"script": name, "file": file, "path": path}
