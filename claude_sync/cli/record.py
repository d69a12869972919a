"""
``claude-sync record``: ask or chat, and write down what is said on the wire.
"""

from __future__ import annotations

import argparse
import os

from ..errors import UsageError
from .common import EXIT_CODES, complain

__all__ = ["DESCRIPTION", "EPILOG", "add_arguments", "run"]

DESCRIPTION = """\
Ask a question, or chat, and record everything that is sent and received: for bug reports, for
tests, for claude-sync replay and claude-sync export. Keys, tokens, addresses, account data and
home folders are removed. Your prompts and Claude's answers are not.
"""

EPILOG = f"""\
examples:
  claude-sync record session.jsonl "What does setup.py do?"
  claude-sync record session.jsonl
  claude-sync replay session.jsonl
  claude-sync export session.jsonl -o session.html

An existing recording is appended to.

{EXIT_CODES}"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What can be said on the command line, --cli and --offline excepted."""
    from .ask import add_question_arguments

    parser.add_argument("file", metavar="FILE", help="the recording")
    parser.add_argument(
        "prompt", metavar="PROMPT", nargs="*", help="the prompt; without one, chat at the terminal"
    )
    add_question_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Do what *arguments* say; the exit code."""
    if arguments.record is not None:
        raise UsageError("record has its FILE already. Leave --record out.")
    if not arguments.prompt:
        refuse_what_only_a_question_has(arguments)
    folder = os.path.dirname(os.path.abspath(arguments.file))
    if not os.path.isdir(folder):
        raise UsageError(f"there is no folder {folder} for the recording. Make it first.")
    arguments.record = arguments.file
    if arguments.prompt:
        from .ask import run as run_command
    else:
        from .chat import run as run_command
    code = run_command(arguments)
    complain(f"recorded: {arguments.file}")
    return code


def refuse_what_only_a_question_has(arguments: argparse.Namespace) -> None:
    """Rather than to leave it out in silence."""
    for name in ("attach", "returns", "timeout", "json", "cost"):
        if getattr(arguments, name):
            raise UsageError(f"--{name} is for a question, and there is none. Add one after FILE.")
