"""
Which CLI knows what, and which one runs.

CLIs before 2.1.40 never answer a request they do not know. So that nobody waits for such
an answer, this is the table of what was measured on them; later ones say themselves what
they do not know. 1.0.128 is the oldest that was tried.

Old CLIs do not tell their version when they are greeted, and 1.0.128 never does. It is
found out by running ``claude --version``, once for each life of the CLI, and only where a
process is run.
"""

from __future__ import annotations

import os
import re
import subprocess
from typing import TYPE_CHECKING, Callable, Dict, List, Optional, Sequence, Tuple

from .process import ProcessTransport
from .waiting import Deadline
from .windows import creation_flags

if TYPE_CHECKING:
    from .connection import Connection

__all__ = ["ask_version", "first_with", "numbers_of"]

Version = Tuple[int, ...]

# From here on, what is not known is answered with an error.
FIRST_THAT_REFUSES: Version = (2, 1, 40)

# The first version that answers, of what earlier ones answer.
FIRST_WITH_REQUEST: Dict[str, Version] = {
    "set_model": (),
    "set_permission_mode": (),
    "mcp_status": (),
    "set_max_thinking_tokens": (2, 0, 22),
    "rewind_files": (2, 0, 64),
    "mcp_set_servers": (2, 0, 70),
    "mcp_reconnect": (2, 1, 15),
    "mcp_toggle": (2, 1, 15),
}

# Old CLIs take any word for a mode, and cannot be started again with one they do not know.
FIRST_WITH_MODE: Dict[str, Version] = {"dontAsk": (2, 0, 44), "auto": (2, 1, 71)}

# How long a CLI may take to print its version: Node starts slowly on a slow disk.
VERSION_PATIENCE = 10.0
LONGEST_OUTPUT = 1000


def first_with(subtype: str, mode: Optional[str] = None) -> Version:
    """The first version to send a request to, for that permission mode; () is any."""
    needed = FIRST_WITH_REQUEST.get(subtype, FIRST_THAT_REFUSES)
    return max(needed, FIRST_WITH_MODE.get(mode or "", ()))


def numbers_of(version: Optional[str]) -> Version:
    """The three numbers of a version, wherever in the text they are; () where there are none."""
    found = re.search(r"\d+\.\d+\.\d+", version or "")
    return tuple(int(part) for part in found.group().split(".")) if found else ()


def ask_version(connection: Connection, stop: Callable[[], bool]) -> Optional[str]:
    """
    Run the CLI of *connection* with ``--version``; None where that gives none in time.

    It is ended early if *stop* says so.
    """
    if not isinstance(connection.transport, ProcessTransport):
        return None
    launch = connection.launch
    try:
        process = subprocess.Popen(
            [*program_of(launch.argv, connection.dialect.flags[0]), "--version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=launch.cwd,
            env=launch.environment,
            creationflags=creation_flags(os.name == "nt"),
        )
    except OSError:
        return None
    try:
        said = output_of(process, Deadline(VERSION_PATIENCE), stop)
    finally:
        # Also after Ctrl-C. Killing one that has ended is harmless.
        process.kill()
        assert process.stdout is not None
        process.stdout.close()
        process.wait()
    version = numbers_of(said)
    return ".".join(map(str, version)) if version else None


def output_of(
    process: subprocess.Popen[bytes], deadline: Deadline, stop: Callable[[], bool]
) -> Optional[str]:
    """What *process* prints until it ends; None if that takes too long, or *stop* says so."""
    while not stop():
        try:
            said, _ = process.communicate(timeout=deadline.slice())
        except subprocess.TimeoutExpired:
            if deadline.is_over():
                return None
        else:
            return said[:LONGEST_OUTPUT].decode("utf-8", "replace")
    return None


def program_of(argv: Sequence[str], first_flag: str) -> List[str]:
    """The words of a command line before the flags that this library adds."""
    return list(argv[: list(argv).index(first_flag)])
