"""
Clean environments to measure in: each side has nothing beside itself and what it requires.

What else is installed makes a difference. With JupyterLab, for example, comes a package that
``jsonschema`` imports when it finds it; the official SDK's import is then four times as long.
"""

from __future__ import annotations

import configparser
import functools
import hashlib
import os
import platform
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CACHE = Path.home() / ".cache" / "claude-sync" / "benchmarks"
# What we are installed from. It is copied first: setuptools leaves a folder ``build`` behind,
# and would install from there what has since been deleted here.
SOURCES = ["claude_sync", "setup.py", "setup.cfg", "README.rst"]
# Seconds. Longer than anything takes; what hangs is ended.
PATIENCE = 300


class Failed(Exception):
    """A program did not do its work; one line says why."""


def run(words, **settings):
    """What a program prints. One that hangs is ended, with all that it started."""
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(words, text=True, start_new_session=True, **pipes, **settings) as process:
        try:
            printed, complaints = process.communicate(timeout=PATIENCE)
        except BaseException as error:
            os.killpg(process.pid, signal.SIGKILL)
            if isinstance(error, subprocess.TimeoutExpired):
                raise Failed(f"not done after {PATIENCE} s") from None
            raise
    if process.returncode:
        # Some programs, xvfb-run for one, complain on stdout.
        lines = (complaints.strip() or printed.strip()).splitlines()
        lines = [line for line in lines if "error" in line.lower()] or lines
        raise Failed(lines[-1].strip() if lines else f"ended with code {process.returncode}")
    return printed


def variables():
    """Our environment variables, without what concerns Claude or this Python."""
    unwanted = ("CLAUDE", "ANTHROPIC", "PYTHON", "VIRTUAL_ENV")
    return {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}


def requirement(name):
    """What is installed in the environment *name*: words for pip."""
    if name == "theirs":
        extras = configparser.ConfigParser()
        extras.read(ROOT / "setup.cfg")
        needed = extras["options.extras_require"]["dev"].splitlines()
        return next(line for line in needed if line.startswith("claude-agent-sdk"))
    return {"ours": str(ROOT), "qt": f"{ROOT}[qt]", "floor": "ujson"}[name]


def interpreter(name):
    """The Python of the environment *name*."""
    found = prepare(name)
    if isinstance(found, Failed):
        raise found
    return found


@functools.cache
def prepare(name):
    """Make an environment, or bring it up to date: its Python, or why there is none."""
    wanted = requirement(name)
    key = hashlib.sha256(f"{sys.base_prefix} {wanted}".encode()).hexdigest()[:8]
    folder = CACHE / f"{name}-{platform.python_version()}-{key}"
    python, stamp = folder / "bin" / "python", folder / "installed.txt"
    files = sources() if wanted.startswith(str(ROOT)) else {}
    state = hashlib.sha256(repr((wanted, files)).encode()).hexdigest()
    if python.exists() and stamp.exists() and stamp.read_text() == state:
        return str(python)
    print(f"installing {wanted} in {folder} ...", file=sys.stderr, flush=True)
    stamp.unlink(missing_ok=True)
    try:
        if not python.exists():
            run([sys.executable, "-m", "venv", "--clear", "--without-pip", str(folder)])
        with tempfile.TemporaryDirectory(prefix="claude-sync-benchmark-") as copy:
            for path, content in files.items():
                Path(copy, path).parent.mkdir(parents=True, exist_ok=True)
                Path(copy, path).write_bytes(content)
            pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
            run([*pip, wanted.replace(str(ROOT), copy)], env=variables(), cwd=copy)
    except Failed as error:
        return Failed(f"cannot install {wanted}: {error}")
    stamp.write_text(state)
    return str(python)


def sources():
    """What an installation of ours is made from: contents by path."""
    found = [path for name in SOURCES for path in [ROOT / name, *(ROOT / name).rglob("*")]]
    return {
        path.relative_to(ROOT): path.read_bytes()
        for path in sorted(found)
        if path.is_file() and "__pycache__" not in path.parts
    }
