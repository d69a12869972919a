"""
The command line of the backend: ``python -m claude_sync.bridge``, ``claude-sync bridge``.

Nothing but the protocol reaches stdout, whatever some library prints: the descriptor is
moved away, and what is written to its old number goes to stderr.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
from pathlib import Path
from typing import Any

from ..cli.common import seconds
from .settings import DEFAULT_CALLBACK_TIMEOUT, DEFAULT_MAX_SESSIONS, OPTIONS

__all__ = ["DESCRIPTION", "EPILOG", "add_arguments", "run", "schema"]

DESCRIPTION = """\
Serve many Claude sessions to a front end in any language: one JSON message per line on stdin and
stdout. When stdin ends, the bridge and its CLIs end.
"""

EPILOG = """\
examples:
  claude-sync bridge --allow-cwd ~/projects
  claude-sync bridge --schema > bridge.schema.json

The front end answers requests for permission itself. What it may let Claude do is limited
by who runs this process, and where; --allow-cwd limits the folders that sessions begin in.

exit codes:
  0    the front end left, or a signal ended the bridge
  2    the command line was wrong
"""

LEVELS = ("debug", "info", "warning", "error")
LOG_HELP = "what to log to stderr: debug (every message), info, warning (default), error"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What can be said on the command line, --cli and --offline excepted."""
    parser.add_argument(
        "--allow-cwd",
        metavar="DIR",
        action="append",
        default=[],
        help="sessions may only work in this folder; may be repeated",
    )
    parser.add_argument(
        "--max-sessions",
        metavar="N",
        type=positive,
        default=DEFAULT_MAX_SESSIONS,
        help="sessions at the same time (default: %(default)s)",
    )
    parser.add_argument(
        "--trust-client",
        action="store_true",
        help="let the front end choose CLI, variables and flags, and bypass permissions",
    )
    parser.add_argument(
        "--callback-timeout",
        metavar="SECONDS",
        type=seconds,
        default=DEFAULT_CALLBACK_TIMEOUT,
        help="seconds until a permission or hook must be answered (default: %(default)g); raw "
        "sessions wait as long as the front end does",
    )
    parser.add_argument("--log", metavar="LEVEL", default="warning", choices=LEVELS, help=LOG_HELP)
    parser.add_argument("--schema", action="store_true", help="print a JSON Schema of all messages")


def run(arguments: argparse.Namespace, cli: Any = None) -> int:
    """Do what *arguments* say; the exit code."""
    if arguments.schema:
        sys.stdout.write(json.dumps(schema(), indent=2) + "\n")
        return 0
    from .server import serve  # loads much that the rest of the command line has no use for

    logging.getLogger("claude_sync").setLevel(arguments.log.upper())
    source, sink = take_descriptors()
    serve(
        source,
        sink,
        cli=cli,
        allow_cwd=arguments.allow_cwd,
        max_sessions=arguments.max_sessions,
        trust_client=arguments.trust_client,
        callback_timeout=arguments.callback_timeout,
        handle_signals=True,
    )
    return 0


def schema() -> dict[str, Any]:
    """
    A JSON Schema of all messages, for front ends in other languages; JSON Schema 2020-12.

    Each message has a definition of its own, named by its type; ``from_front_end`` and
    ``from_backend`` are all of one direction.
    """
    text = Path(__file__).with_name("schema.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    # Settings of this library, which check themselves; the file has those of the document.
    for name in OPTIONS:
        found["$defs"]["options"]["properties"].setdefault(name, {})
    return found


def take_descriptors() -> tuple[int, int]:
    """
    Descriptors of our own for stdin and stdout, which nobody else has.

    Whoever reads the old ones gets nothing; whoever writes to them writes to stderr.
    """
    sys.stdout.flush()
    source, sink = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return source, sink


def positive(word: str) -> int:
    """A number above zero."""
    if not word.isdigit() or int(word) < 1:
        raise argparse.ArgumentTypeError(f"{word!r} is not a number above 0")
    return int(word)
