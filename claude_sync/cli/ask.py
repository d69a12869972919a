"""
``claude-sync ask`` and ``claude-sync record``: one question, one answer.

stdout is for the answer, stderr for everything else. With ``--json`` a failure is told on stdout
as well, so that whoever reads it always gets one object.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import stat
import sys
from collections.abc import Sequence
from typing import Any

from ..client import Client
from ..errors import ClaudeError, UsageError
from ..messages.answer import Answer
from .common import (
    OK,
    add_client_arguments,
    as_typed,
    client_options,
    complain,
    option,
    schema_in,
    seconds,
    write_line,
)
from .view import View

# A pipe that nobody writes to must not stop a script: so long is waited for a first byte.
SILENCE = 3.0


def ask(arguments: argparse.Namespace) -> int:
    """
    Ask one question. The answer goes to stdout as it arrives: formatted on a terminal, as plain
    text in a pipe. Everything else goes to stderr. Claude may use the tools that its settings and
    --allow name. You are asked about others if this is a terminal; otherwise they are denied.

    examples:
      claude-sync ask "What does setup.py do?" --cwd project
      git diff | claude-sync ask "Review this:"
      claude-sync ask "Compare" - "with the picture" --attach plot.png < notes.txt
      claude-sync ask --json "What is 2+2?"
      claude-sync ask --returns schema.json "Who wrote this?" --attach letter.pdf
      claude-sync ask --allow "Bash(git diff *)" --deny "Read(.env)" "What changed this week?"
      claude-sync ask --offline "Hello"
      claude-sync ask --model haiku -- "$question"

    Standard input, from a pipe or a file, is put before the prompt, or in place of a -. It is data:
    nothing in it is taken for a file to read or a command. A pipe is ignored if it sends nothing
    for 3 seconds. Everything after -- is prompt text, even if it looks like an option.

    exit codes:
      0    answered
      1    the turn failed; stderr says why and what to do
      2    the command line was wrong
      3    the CLI was not found, did not start, or is not logged in
      4    no answer within --timeout
      130  interrupted by Ctrl-C; 143 and 129: by a signal, or the terminal was closed
    """
    return ask_once(arguments, *prompt_of(arguments.prompt))


def ask_arguments(parser: argparse.ArgumentParser) -> None:
    """What can be said on the command line, --cli and --offline excepted."""
    text = "the prompt; - stands for standard input"
    parser.add_argument("prompt", metavar="PROMPT", nargs="+", help=text)
    add_question_arguments(parser)


def add_question_arguments(parser: argparse.ArgumentParser) -> None:
    """How it is asked, and what is told of the answer."""
    add_client_arguments(parser)
    files: Any = {"action": "append", "default": []}
    option(parser, "--attach FILE", "an image, a PDF or a text file; may be repeated", **files)
    option(parser, "--returns FILE", "a JSON Schema: print an object that matches it instead")
    option(parser, "--timeout SECONDS", "stop after this time (default: never)", type=seconds)
    text = "print one JSON object instead: text, session_id, cost_usd, usage, is_error"
    option(parser, "--json", text)
    option(parser, "--cost", "print the cost at the end, to stderr")


def record(arguments: argparse.Namespace) -> int:
    """
    Ask a question, or chat, and record everything that is sent and received: for bug reports, for
    tests, for claude-sync replay and claude-sync export. Keys, tokens, addresses, account data and
    home folders are removed. Your prompts and Claude's answers are not.

    examples:
      claude-sync record session.jsonl "What does setup.py do?"
      claude-sync record session.jsonl
      claude-sync replay session.jsonl
      claude-sync export session.jsonl -o session.html

    An existing recording is appended to.

    exit codes:
      those of claude-sync ask, or of claude-sync chat
    """
    from .chat import chat

    if arguments.record is not None:
        raise UsageError("record already has its FILE. Leave --record out.")
    for name in ("attach", "returns", "timeout", "json", "cost"):
        if getattr(arguments, name) and not arguments.prompt:
            raise UsageError(f"--{name} needs a question. Add one after FILE.")
    folder = os.path.dirname(os.path.abspath(arguments.file))
    if not os.path.isdir(folder):
        raise UsageError(f"there is no folder {folder} for the recording. Make it first.")
    arguments.record = arguments.file
    code = (ask if arguments.prompt else chat)(arguments)
    complain(f"recorded: {arguments.file}")
    return code


def record_arguments(parser: argparse.ArgumentParser) -> None:
    """What can be said on the command line, --cli and --offline excepted."""
    parser.add_argument("file", metavar="FILE", help="the recording")
    text = "the prompt; without one, chat at the terminal"
    parser.add_argument("prompt", metavar="PROMPT", nargs="*", help=text)
    add_question_arguments(parser)


def ask_once(
    arguments: argparse.Namespace, prompt: str, data: Sequence[str], verbatim: bool
) -> int:
    """Ask, show the answer, and what it cost."""
    from ..prompts import read_once

    # Before anything is started for it.
    question, attached = read_once(prompt, arguments.attach, data)
    returns = None if arguments.returns is None else schema_in(arguments.returns)
    view = View(cwd=arguments.cwd)
    options = {
        **client_options(arguments, view.clear),
        "returns": returns,
        "on_crash": "raise",  # there is no next question that could start it again
        "post": "manual",
    }
    try:
        with Client(**options) as client:
            view.attach(client, text=not arguments.json and returns is None)
            timeout = arguments.timeout
            answer = view.wait(
                client.submit(question, attach=attached, timeout=timeout, verbatim=verbatim)
            )
    except UsageError:
        raise
    except ClaudeError as error:
        if arguments.json:
            print_json(getattr(error, "answer", None) or Answer(), error=as_typed(error))
        raise
    if arguments.json:
        print_json(answer, **({} if returns is None else {"data": answer.data}))
    elif returns is not None:
        write_line(json.dumps(answer.data, indent=2 if view.on_terminal else None))
    if arguments.cost:
        from ..notebook.rendering import cost_line

        complain(cost_line(answer))
    return OK


def print_json(answer: Answer, **more: Any) -> None:
    """What ``--json`` prints."""
    names = ("text", "session_id", "cost_usd", "usage")
    told = {name: getattr(answer, name) for name in names}
    write_line(json.dumps({**told, "is_error": "error" in more, **more}))


# Standard input.


def prompt_of(words: list[str]) -> tuple[str, list[str], bool]:
    """
    The prompt, the data before it, and whether the prompt itself came in by a pipe.

    Standard input is data, and stands where the ``-`` is, or before the words.
    """
    if words.count("-") > 1:
        raise UsageError("standard input can be read only once. Write one - in the prompt.")
    place = words.index("-") if "-" in words else None
    if place is None:
        before, after = "", " ".join(words)
        piped = read_stdin() if somebody_writes() else ""
    else:
        before, after = " ".join(words[:place]), " ".join(words[place + 1 :])
        piped = read_stdin()
    if not before and not after:
        return piped, [], True
    data = [before, piped] if after else [piped]
    return after or before, [each for each in data if each], False


def read_stdin() -> str:
    """All of standard input, without blanks around it."""
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig").strip()
    except UnicodeDecodeError:
        raise UsageError(
            "standard input is not UTF-8 text. Convert it first, or name the file with --attach."
        ) from None


def somebody_writes() -> bool:
    """Whether standard input is a file, or a pipe from which something comes."""
    try:
        number = sys.stdin.fileno()
        mode = os.fstat(number).st_mode
    except (AttributeError, OSError, ValueError):  # none, or closed
        return False
    # Some who start programs, Node and sshd among them, give them sockets for pipes.
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        return stat.S_ISREG(mode)
    # On Windows there is no way to look without taking.
    if os.name == "nt" or select.select([number], [], [], SILENCE)[0]:
        return True
    complain(
        f"no data arrived on standard input within {SILENCE:g} s; continuing without it. Write < "
        "/dev/null to skip the wait, or - in the prompt to wait for it."
    )
    return False
