"""
``claude-sync``: the library on the command line.

::

    argv -> [parser] -> command -> exit code

Decisions taken here and nowhere else:

* stdout is for answers, stderr for everything else; errors are texts with advice,
  never tracebacks.
* Each kind of failure has an exit code of its own, listed in ``--help``.
* What the CLI says *about* a failed turn ("Not logged in") is an error message, not
  an answer: it goes to stderr, although it arrives as text.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
from typing import Any, Dict, List, Optional, Sequence, Set

from ._version import __version__
from .answers import Answer, Turn
from .bridge.command import DESCRIPTION as BRIDGE
from .bridge.command import EPILOG as BRIDGE_EPILOG
from .bridge.command import add_arguments as add_bridge_arguments
from .client import Client
from .errors import AskTimeout, ClaudeError, CliDidNotStart, CliNotFound, TurnError, UsageError
from .messages import Assistant
from .pieces import Text

__all__ = ["main"]

OK, FAILED, USAGE, NO_CLI, TIMEOUT, INTERRUPTED = 0, 1, 2, 3, 4, 130

OFFLINE = "offline: no model is involved, the built-in stand-in echoes what it is asked"

DESCRIPTION = "Claude Code on the command line, by way of the Python library claude_sync."

EXAMPLES = """\
examples:
  claude-sync ask "What does setup.py do?"
  git diff | claude-sync ask "Review this:" -
  claude-sync ask --offline "Hello"
  claude-sync doctor
"""

ASK = """\
Ask one question. The answer goes to stdout as it arrives, everything else to stderr.
Claude may use the tools that the settings of its CLI allow, and no others.
"""

ASK_EPILOG = """\
examples:
  claude-sync ask "What does setup.py do?" --cwd project
  git diff | claude-sync ask "Review this:" -
  claude-sync ask --json "What is 2+2?"
  claude-sync ask --offline "Hello"

exit codes:
  0    answered
  1    the turn failed; stderr tells why and what to do
  2    the command line was wrong
  3    the CLI was not found, or did not start
  4    no answer within --timeout
  130  interrupted by Ctrl-C
"""

DOCTOR = """\
Look at everything claude_sync needs, tell what is wrong and what helps. The output can
be pasted into a bug report: it holds no keys and no addresses. The CLI is started but
asked nothing, so this costs nothing.
"""

DOCTOR_EPILOG = """\
exit codes:
  0    all is well
  1    something is not; the last lines tell what helps
  2    the command line was wrong
  130  interrupted by Ctrl-C
"""


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Run the command in *argv*, by default that of the process; its exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character must not end the answer.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    logging.basicConfig(format="claude-sync: %(message)s", level=logging.WARNING)
    parser = make_parser()
    arguments = parser.parse_args(argv)
    try:
        code: int = arguments.run(arguments)
        sys.stdout.flush()
        return code
    except ClaudeError as error:
        complain(str(error))
        return exit_code_of(error)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read the answer has left. Python would complain when it flushes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED


def make_parser() -> argparse.ArgumentParser:
    """Everything the command line can say."""
    parser = argparse.ArgumentParser(
        prog="claude-sync",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"claude-sync {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", dest="command", required=True)

    def command(name: str, summary: str, description: str, epilog: str) -> argparse.ArgumentParser:
        made = commands.add_parser(
            name,
            help=summary,
            description=description,
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        which = made.add_mutually_exclusive_group()
        which.add_argument("--cli", metavar="PATH", help="the claude executable to use")
        which.add_argument(
            "--offline", action="store_true", help="use the built-in stand-in, which echoes"
        )
        return made

    ask = command("ask", "ask one question", ASK, ASK_EPILOG)
    ask.add_argument(
        "prompt", metavar="PROMPT", nargs="+", help="the question; - stands for standard input"
    )
    ask.add_argument("--model", help="alias (sonnet) or full name of the model")
    ask.add_argument("--cwd", metavar="FOLDER", help="the folder Claude works in")
    ask.add_argument("--resume", metavar="ID", help="go on with this conversation")
    ask.add_argument(
        "--timeout", metavar="SECONDS", type=seconds, help="give up after so long (default: never)"
    )
    ask.add_argument(
        "--json",
        action="store_true",
        help="print one JSON object instead: text, session_id, cost_usd, usage, is_error",
    )
    ask.set_defaults(run=run_ask)
    doctor = command("doctor", "check the installation", DOCTOR, DOCTOR_EPILOG)
    doctor.set_defaults(run=run_doctor)
    bridge = command("bridge", "serve sessions to a front end", BRIDGE, BRIDGE_EPILOG)
    add_bridge_arguments(bridge)
    bridge.set_defaults(run=run_bridge)
    return parser


def run_ask(arguments: argparse.Namespace) -> int:
    """``claude-sync ask``."""
    prompt = prompt_of(arguments.prompt)
    if arguments.offline:
        complain(OFFLINE)
    options = {
        "cli": cli_of(arguments),
        "cwd": arguments.cwd,
        "model": arguments.model,
        "resume": arguments.resume,
        "on_crash": "raise",  # there is no next question that could start it again
    }
    if arguments.json:
        return ask_for_json(prompt, options, arguments.timeout)
    with Client(**options) as client, client.stream(prompt, timeout=arguments.timeout) as turn:
        print_as_it_arrives(turn)
    return OK


def run_doctor(arguments: argparse.Namespace) -> int:
    """``claude-sync doctor``."""
    from .doctor import examine

    report = examine(cli_of(arguments), offline=arguments.offline)
    print(report.text())
    return FAILED if report.problems else OK


def run_bridge(arguments: argparse.Namespace) -> int:
    """``claude-sync bridge``."""
    from .bridge.command import run

    return run(arguments, cli_of(arguments))


def print_as_it_arrives(turn: Turn) -> None:
    """The text of *turn* on stdout, each message of Claude on lines of its own."""
    written = ""
    message_id = None
    complaints: Set[Optional[str]] = set()
    try:
        for event in turn.events():
            if isinstance(event, Assistant) and event.error:
                complaints.add(event.message_id)
            if not isinstance(event, Text) or event.parent_tool_use_id is not None:
                continue
            if event.message_id in complaints:
                continue
            if written and event.message_id != message_id:
                end_line(written)
            message_id, written = event.message_id, event
            print(event, end="", flush=True)
        if not written:  # commands of the CLI answer without saying anything
            written = turn.result()
            print(written, end="")
    finally:
        end_line(written)


def end_line(written: str) -> None:
    """End the line, if *written* has not done so."""
    if written and not written.endswith("\n"):
        print(flush=True)


def ask_for_json(prompt: str, options: Dict[str, Any], timeout: Optional[float]) -> int:
    """Print the answer, or the failure, as one JSON object."""
    try:
        with Client(**options) as client:
            print(as_json(client.ask(prompt, timeout=timeout)))
    except UsageError:
        raise
    except ClaudeError as error:
        answer = getattr(error, "answer", None)
        print(as_json(answer if answer is not None else Answer(), str(error)), flush=True)
        raise
    return OK


def as_json(answer: Answer, error: Optional[str] = None) -> str:
    """What ``--json`` prints."""
    told = {
        "text": answer.text,
        "session_id": answer.session_id,
        "cost_usd": answer.cost_usd,
        "usage": answer.usage,
        "is_error": error is not None,
    }
    if error is not None:
        told["error"] = error
    return json.dumps(told)


def prompt_of(words: List[str]) -> str:
    """The prompt: the words as they are, with standard input in place of ``-``."""
    if "-" not in words:
        return " ".join(words)
    if words.count("-") > 1:
        raise UsageError("standard input can be read only once. Write one - in the prompt.")
    place = words.index("-")
    try:
        read = sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError("standard input is not a text in UTF-8. Convert it first.") from None
    parts = (" ".join(words[:place]), read.strip(), " ".join(words[place + 1 :]))
    return "\n\n".join(filter(None, parts))


def cli_of(arguments: argparse.Namespace) -> Any:
    """The ``cli`` option: what was named, the stand-in, or None to look for one."""
    if arguments.offline:
        from .testing import StandIn

        return StandIn().command
    return arguments.cli


def seconds(word: str) -> float:
    """A number of seconds above zero."""
    try:
        value = float(word)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{word!r} is no number of seconds above 0")
    return value


def exit_code_of(error: ClaudeError) -> int:
    """The exit code that tells what kind of failure it was."""
    if isinstance(error, TurnError):
        return FAILED
    if isinstance(error, UsageError):
        return USAGE
    if isinstance(error, (CliNotFound, CliDidNotStart)):
        return NO_CLI
    return TIMEOUT if isinstance(error, AskTimeout) else FAILED


def complain(text: str) -> None:
    """Say something on stderr."""
    print(f"claude-sync: {text}", file=sys.stderr, flush=True)
