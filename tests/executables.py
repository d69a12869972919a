"""Programs that tests name by their path, as people name their ``claude``."""

from __future__ import annotations

import importlib.util
import os
import shlex
import sys
from pathlib import Path

import pytest

from claude_sync.testing import StandIn

ROOT = Path(__file__).resolve().parent.parent


def executable(folder, script=None, **settings):
    """An executable file in *folder* that is the stand-in CLI, playing *script*."""
    if os.name == "nt":
        pytest.skip("a script cannot be an executable on Windows")
    command = StandIn(script, **settings).command
    path = Path(folder, "claude")
    path.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n')
    path.chmod(0o755)
    return str(path)


def real_cli():
    """The path of a real CLI; skips the test where there is none."""
    given = os.environ.get("CLAUDE_SYNC_TEST_BUNDLED")
    if given:
        return given
    found = importlib.util.find_spec("claude_agent_sdk")
    if found is not None and found.origin is not None:
        name = "claude.exe" if sys.platform == "win32" else "claude"
        path = Path(found.origin).parent / "_bundled" / name
        if path.exists():
            return str(path)
    return pytest.skip("needs a real CLI: pip install claude-agent-sdk")


def clean_environment(home, **more):
    """An environment without any Claude, and without wishes about Python's buffers."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.upper().startswith(("CLAUDE", "ANTHROPIC", "PYTHON"))
    }
    return {**kept, "HOME": str(home), "PYTHONPATH": str(ROOT), "COLUMNS": "100", **more}
