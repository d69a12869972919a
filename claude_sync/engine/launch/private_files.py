"""
Files for one run of the CLI that nobody else on the machine may read.

They hold what must not stand on a command line: keys of MCP servers, settings,
a very long prompt. One folder (mode 0700) for each run, made when it is needed.
"""

from __future__ import annotations

import contextlib
import os
from typing import Iterable, List, Optional

from ...errors import UsageError

__all__ = ["PrivateFiles", "remove_private_files"]


class PrivateFiles:
    """The private files of one run; ``paths`` lists them for their removal."""

    def __init__(self) -> None:
        self.paths: List[str] = []
        self._folder: Optional[str] = None

    def write(self, name: str, text: str) -> str:
        """Write *text* to a new file (mode 0600) and return its path."""
        try:
            content = text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise UsageError(
                f"{name}: {error.reason} (character {error.start}); remove it"
            ) from error
        if self._folder is None:
            import tempfile  # slow to import, and few programs need it

            self._folder = tempfile.mkdtemp(prefix="claude-sync-")
        path = os.path.join(self._folder, name)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
            self.paths.append(path)
            file.write(content)
        return path


def remove_private_files(paths: Iterable[str]) -> None:
    """Remove *paths* and their folders; what is gone already is no error."""
    folders = set()
    for path in paths:
        with contextlib.suppress(OSError):
            os.unlink(path)
        folders.add(os.path.dirname(path))
    for folder in folders:
        with contextlib.suppress(OSError):
            os.rmdir(folder)
