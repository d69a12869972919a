"""The package itself: what is public, and what an import does not load."""

from __future__ import annotations

import pydoc
import re
import subprocess
import sys
from pathlib import Path

import pytest

import claude_sync
from claude_sync.testing import StandIn

LATER = ("base", "blocks", "system", "tasks", "replies", "agents")
LOADED_LATER = {f"claude_sync.messages.{name}" for name in LATER}


def test_every_public_name_exists_and_is_listed():
    """All of ``__all__`` can be had, once each, and dir() shows it."""
    assert len(set(claude_sync.__all__)) == len(claude_sync.__all__)
    for name in claude_sync.__all__:
        assert getattr(claude_sync, name) is not None
        assert name in dir(claude_sync)


def test_dir_shows_public_names_only():
    """Completion offers what programs use, and no module that happens to be loaded."""
    shown = set(dir(claude_sync))
    assert shown == {*claude_sync.__all__, "__doc__", "errors", "map"}


def test_help_is_a_page():
    """``help(claude_sync)`` says where to find what, and lists no methods."""
    lines = pydoc.plain(pydoc.render_doc(claude_sync)).splitlines()
    assert len(lines) < 120
    assert "    * Ask: ``ask``, ``Client``, ``Turn``, ``Answer``, ``Options``, ``Image``" in lines


def test_an_unknown_name_is_an_attribute_error():
    """A typing error is not mistaken for a name that is loaded later."""
    with pytest.raises(AttributeError, match="Asistant"):
        claude_sync.Asistant  # noqa: B018


PACKAGE = Path(claude_sync.__file__).parent

# What is optional, and what a question needs nothing of. Everything of these counts as well.
NOT_NEEDED = {
    *("asyncio", "socket", "ssl", "http", "urllib", "email", "xmlrpc", "socketserver"),
    *("multiprocessing", "sqlite3", "ctypes", "pickle", "tempfile", "shutil", "zipfile"),
    *("argparse", "difflib", "html", "importlib.metadata", "unittest", "pydoc", "doctest"),
    *("tkinter", "_tkinter", "PySide6", "PyQt5", "PyQt6", "shiboken6", "curses", "readline"),
    *("IPython", "ipywidgets", "ipykernel", "traitlets", "nbformat", "matplotlib"),
    *("pandas", "numpy", "dask", "distributed", "loky", "tqdm", "PIL", "pydantic", "jsonschema"),
    *("pytest", "_pytest", "hypothesis", "mcp", "claude_agent_sdk", "anyio", "setuptools"),
    *("claude_sync.testing", "claude_sync.gui", "claude_sync.notebook"),
    *(
        "claude_sync.bridge",
        "claude_sync.cli",
        "claude_sync.batch",
        "claude_sync.client.keywords",
    ),
    "claude_sync.options.keywords",
}
# Without what the files of an environment import at the start of each program; those of an
# editable install would also tell where the library is.
AS_INSTALLED = f"import sys; sys.path[:] = {[*sys.path, str(PACKAGE.parent)]!r}\n"
IMPORTED = re.compile(r"^import time: +\d+ \| +\d+ \| +(\S+)$", re.MULTILINE)
WHOLE_QUESTION = """
import sys, claude_sync
with claude_sync.Client(cli=sys.argv[1:]) as client:
    print(client.ask("Hello"))
"""


def imported_by(code, *words):
    """What Python imports for a program, from its own report; and what the program printed."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-I", "-S", "-c", AS_INSTALLED + code, *words],
        capture_output=True,
        text=True,
        check=True,
        timeout=100,
    )
    return set(IMPORTED.findall(done.stderr)), done.stdout


def not_needed(imported):
    """Those of the imported modules that nothing has asked for."""
    return {
        name
        for name in imported
        if any(name == each or name.startswith(f"{each}.") for each in NOT_NEEDED)
    }


def test_an_import_loads_nothing_optional():
    """
    Python's own report of ``import claude_sync`` has nothing that few programs need.

    The classes of messages take longer to load than all the rest, so they wait as well.
    """
    imported, _ = imported_by("import claude_sync; claude_sync.Client()")
    assert {"claude_sync.client", "ujson"} <= imported
    assert not not_needed(imported)
    assert not LOADED_LATER & imported


def test_a_whole_question_loads_nothing_optional():
    """Nor has that of a program that starts a CLI, asks, and prints the answer."""
    imported, printed = imported_by(WHOLE_QUESTION, *StandIn().command)
    assert printed.startswith("echo: Hello")
    assert "subprocess" in imported
    assert not not_needed(imported)


def test_it_works_without_docstrings():
    """``python -OO`` leaves them out."""
    words = [sys.executable, "-OO", "-I", "-S", "-c", AS_INSTALLED + WHOLE_QUESTION]
    done = subprocess.run([*words, *StandIn().command], capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stdout) == (0, "echo: Hello\n"), done.stderr
