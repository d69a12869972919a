"""What the tests of commands share."""

from __future__ import annotations

import subprocess
import sys

import pytest
from executables import clean_environment
from patience import PATIENCE


@pytest.fixture
def config(tmp_path):
    """Where the CLI keeps its conversations."""
    folder = tmp_path / "config"
    folder.mkdir()
    return folder


@pytest.fixture
def environment(tmp_path, config):
    """Of the commands under test; there is no CLI in it."""
    return clean_environment(
        tmp_path, CLAUDE_CONFIG_DIR=str(config), XDG_STATE_HOME=str(tmp_path / "state")
    )


@pytest.fixture
def run(tmp_path, environment):
    """Run ``python -m claude_sync``; its exit code, stdout and stderr."""

    def run(*words, stdin=b"", **more):
        done = subprocess.run(
            [sys.executable, "-W", "error", "-m", "claude_sync", *words],
            input=stdin,
            capture_output=True,
            cwd=tmp_path,
            env={**environment, **more},
            timeout=PATIENCE,
        )
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    return run
