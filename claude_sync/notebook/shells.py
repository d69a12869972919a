"""The IPython shell of this process, if there is one, and what it writes to."""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["current_shell", "is_kernel", "write_out"]


def current_shell() -> Any:
    """The IPython shell of this process, or None; IPython is not loaded for it."""
    ipython = sys.modules.get("IPython")
    return None if ipython is None else ipython.get_ipython()


def is_kernel(shell: Any) -> bool:
    """Whether a shell's front end is another program: a notebook, most probably."""
    return getattr(shell, "kernel", None) is not None


def write_out(text: str) -> None:
    """Write to standard output what it is able to show, at once."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
    sys.stdout.flush()
