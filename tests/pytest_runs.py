"""Runs of pytest with the plugin, on a file that a test writes."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import textwrap

import pytest

PLUGIN = "claude_sync.testing.plugin"
# No file of ours has this name: pytest may know that one already.
NAME = "test_of_a_program"
# In a process that has a pytest already, and the plugin. What cannot be raised is told to the outer
# one; the inner one would collect garbage many times at its end, for nothing.
HERE = ("--capture=no", "-p", "no:unraisableexception")
REWRITTEN = ("-W", "ignore::pytest.PytestAssertRewriteWarning")


def words_for(folder, code, *words):
    """What a pytest is told that runs *code* as a test file, which is written."""
    file = folder / f"{NAME}.py"
    file.write_text(textwrap.dedent(code), encoding="utf-8")
    return [
        *("-c", os.devnull, "--rootdir", str(folder), "-p", "no:cacheprovider"),
        *("-W", "error", "-q", "-p", PLUGIN, *words, str(file)),
    ]


def run_here(monkeypatch, folder, code, *words):
    """Run pytest in this process, where no CLI is found; what it printed, and its exit code."""
    printed = io.StringIO()
    with monkeypatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("HOME", str(folder))
        patch.setenv("PATH", "/nowhere")
        patch.setattr(sys, "path", list(sys.path))
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            code = pytest.main([*HERE, *words_for(folder, code, *words), *REWRITTEN])
    sys.modules.pop(NAME, None)
    return printed.getvalue(), code
