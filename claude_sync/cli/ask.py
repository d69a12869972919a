"""
``claude-sync ask``: one question, one answer.

stdout is for the answer, stderr for everything else. With ``--json`` a failure is told on
stdout as well, so that whoever reads it always gets one object.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import stat
import sys
from typing import Any, Dict, List, Optional, Sequence, Tuple

from ..client import Client
from ..errors import ClaudeError, UsageError
from ..messages.answer import Answer
from .common import (
    EXIT_CODES,
    OK,
    add_client_arguments,
    as_typed,
    client_options,
    complain,
    schema_in,
    seconds,
)

__all__ = ["DESCRIPTION", "EPILOG", "add_arguments", "ask_once", "run"]

DESCRIPTION = """\
Ask one question. The answer goes to stdout as it arrives: formatted on a terminal, as plain
text in a pipe. Everything else goes to stderr. Claude may use the tools that its settings and
--allow name. You are asked about others if this is a terminal; otherwise they are denied.
"""

# A pipe that nobody writes to must not stop a script: so long is waited for a first byte.
SILENCE = 3.0

EPILOG = f"""\
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
for {SILENCE:g} seconds. Everything after -- is prompt text, even if it looks like an option.

{EXIT_CODES}"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What can be said on the command line, --cli and --offline excepted."""
    parser.add_argument(
        "prompt", metavar="PROMPT", nargs="+", help="the prompt; - stands for standard input"
    )
    add_question_arguments(parser)


def add_question_arguments(parser: argparse.ArgumentParser) -> None:
    """How it is asked, and what is told of the answer."""
    add_client_arguments(parser)
    parser.add_argument(
        "--attach",
        metavar="FILE",
        action="append",
        default=[],
        help="an image, a PDF or a text file; may be repeated",
    )
    parser.add_argument(
        "--returns", metavar="FILE", help="a JSON Schema: print an object that matches it instead"
    )
    parser.add_argument(
        "--timeout", metavar="SECONDS", type=seconds, help="stop after this time (default: never)"
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help="print one JSON object instead: text, session_id, cost_usd, usage, is_error",
    )
    parser.add_argument("--cost", action="store_true", help="print the cost at the end, to stderr")


def run(arguments: argparse.Namespace) -> int:
    """Do what *arguments* say; the exit code."""
    return ask_once(arguments, *prompt_of(arguments.prompt))


def ask_once(
    arguments: argparse.Namespace, prompt: str, data: Sequence[str] = (), verbatim: bool = False
) -> int:
    """Ask, show the answer, and what it cost."""
    from ..prompts import read_once
    from .screens import Screen

    asking: Dict[str, Any] = {"timeout": arguments.timeout, "verbatim": verbatim}
    # Before anything is started for it.
    question, asking["attach"] = read_once(prompt, arguments.attach, data)
    returns = None if arguments.returns is None else schema_in(arguments.returns)
    screen = Screen(cwd=arguments.cwd)
    options = {
        **client_options(arguments, screen.clear),
        "returns": returns,
        "on_crash": "raise",  # there is no next question that could start it again
        "post": "manual",
    }
    try:
        with Client(**options) as client:
            screen.attach(client, text=not arguments.json and returns is None)
            answer = screen.wait(client.submit(question, **asking))
            tell(answer, arguments, screen)
    except UsageError:
        raise
    except ClaudeError as error:
        if arguments.json:
            known = getattr(error, "answer", None)
            told = as_typed(error)
            print_line(as_json(Answer() if known is None else known, error=told))
        raise
    return OK


def tell(answer: Answer, arguments: argparse.Namespace, screen: Any) -> None:
    """What is printed when the answer is there, other than its text."""
    if arguments.json:
        print_line(as_json(answer, with_data=arguments.returns is not None))
    elif arguments.returns is not None:
        print_line(json.dumps(answer.data, indent=2 if screen.on_terminal else None))
    if arguments.cost:
        from ..notebook.rendering import cost_line

        complain(cost_line(answer))


def print_line(text: str) -> None:
    """A line on stdout."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def as_json(answer: Answer, with_data: bool = False, error: Optional[str] = None) -> str:
    """What ``--json`` prints."""
    told: Dict[str, Any] = {
        "text": answer.text,
        "session_id": answer.session_id,
        "cost_usd": answer.cost_usd,
        "usage": answer.usage,
        "is_error": error is not None,
    }
    if with_data:
        told["data"] = answer.data
    if error is not None:
        told["error"] = error
    return json.dumps(told)


# Standard input.


def prompt_of(words: List[str]) -> Tuple[str, List[str], bool]:
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
    if sys.stdin is None:
        return ""
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig").strip()
    except UnicodeDecodeError:
        raise UsageError(
            "standard input is not a text in UTF-8. Convert it first, or name the file with "
            "--attach."
        ) from None


def somebody_writes() -> bool:
    """Whether standard input is a file, or a pipe from which something comes."""
    try:
        number = sys.stdin.fileno()
        mode = os.fstat(number).st_mode
    except (AttributeError, OSError, ValueError):  # none, or closed
        return False
    if stat.S_ISREG(mode):
        return True
    # Some who start programs, Node and sshd among them, give them sockets for pipes.
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        return False
    if os.name == "nt":
        return True  # there is no way to look without taking
    if select.select([number], [], [], SILENCE)[0]:
        return True
    complain(
        f"nothing came on standard input within {SILENCE:g} s; going on without it. "
        "Write < /dev/null to skip the wait, or - in the prompt to wait for it."
    )
    return False
