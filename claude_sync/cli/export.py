"""
``claude-sync export``: a conversation as a document.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

from ..errors import UsageError
from .common import OK, complain

__all__ = ["DESCRIPTION", "EPILOG", "add_arguments", "run"]

DESCRIPTION = """\
Write a conversation as Markdown, as a single HTML file, or as JSON. Saved sessions are exported
as they are, secrets included: look at what you give away. Recordings have their secrets removed.
"""

EPILOG = """\
examples:
  claude-sync export 1b4e28ba -o chat.html
  claude-sync export last -o chat.md
  claude-sync export recording.jsonl -o chat.html --title "How it went"
  claude-sync export last --format md | less

SESSION is an id, or the beginning of one; "last" for the newest of this folder; or the path
of a recording (claude-sync record) or of a session's own file.

exit codes:
  0    written
  2    the command line was wrong, there is no such session, or the file cannot be written
  130  interrupted by Ctrl-C
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What can be said on the command line, --offline excepted."""
    parser.add_argument("session", metavar="SESSION", help="an id, its beginning, last, or a file")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help=".md, .html or .json (default, and -: stdout)"
    )
    parser.add_argument(
        "--format",
        choices=("md", "html", "json"),
        help="if the file name does not say it (stdout: md)",
    )
    parser.add_argument("--title", help="use this title")
    parser.add_argument("--cwd", metavar="FOLDER", help="the folder of the conversation")


def run(arguments: argparse.Namespace) -> int:
    """Do what *arguments* say; the exit code."""
    from ..render.documents import export

    output = None if arguments.output == "-" else arguments.output
    format = arguments.format or ("md" if output is None else None)
    source = source_of(arguments.session, arguments.cwd)
    written = export(source, output, format=format, title=arguments.title)
    if output is None:
        sys.stdout.write(str(written))
    else:
        complain(f"written: {written}")
    return OK


def source_of(name: str, cwd: Any = None) -> Any:
    """The session or file that a word of the command line means."""
    if os.path.isfile(name):
        return name
    if os.sep in name or name.endswith((".jsonl", ".json")):
        raise UsageError(f"there is no file {name!r}. Check its name.")
    from .sessions import session_named

    return session_named(name, cwd)
