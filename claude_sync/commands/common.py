"""
What the commands share: exit codes, words on stderr, and the settings of a client.

Decisions taken here and nowhere else:

* Each kind of failure has an exit code of its own, the same for all commands.
* ``--deny`` comes before ``--allow``, and both before ``--yes`` and the person. What is
  denied is denied to the CLI as well, which would not ask about what its settings allow.
* The person at the terminal is asked only where both ends are one: a question would
  otherwise end up in the pipe that the answer goes to.
* Errors of the library advise programs. Whoever typed a command is told what to type.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import threading
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional

from ..errors import (
    AskTimeout,
    ClaudeError,
    CliDidNotStart,
    CliNotFound,
    NotLoggedIn,
    TurnError,
    UsageError,
)

if TYPE_CHECKING:
    from ..permissions import Decision, PermissionRequest

__all__ = [
    "EXIT_CODES",
    "FAILED",
    "INTERRUPTED",
    "NO_CLI",
    "OFFLINE",
    "OK",
    "TIMEOUT",
    "USAGE",
    "add_client_arguments",
    "add_permission_arguments",
    "as_typed",
    "cli_of",
    "client_options",
    "complain",
    "exit_code_of",
    "fill_streams",
    "harmless",
    "here",
    "on_terminal",
    "permission_options",
    "schema_in",
    "seconds",
]

OK, FAILED, USAGE, NO_CLI, TIMEOUT, INTERRUPTED = 0, 1, 2, 3, 4, 130

OFFLINE = "offline: no model is involved, the built-in stand-in echoes what it is asked"

EXIT_CODES = """\
exit codes:
  0    answered
  1    the turn failed; stderr tells why and what to do
  2    the command line was wrong
  3    the CLI was not found, did not start, or is not logged in
  4    no answer within --timeout
  130  interrupted by Ctrl-C; 143 and 129 by a signal, or the end of the terminal
"""

# What the library says to programs, and what is said for it to whoever types a command.
TYPED = (
    ("say where it is with cli=...", "say where it is with --cli"),
    (
        "Check resume=...: conversations belong to the folder (cwd=...)",
        "Check --resume: conversations belong to the folder (--cwd)",
    ),
    (
        "resume=... takes the id of a conversation: answer.session_id, or client.session_id.",
        "--resume takes the id of a conversation: claude-sync sessions list shows them.",
    ),
    (
        "Raise timeout, or ask again: the session stays usable, and .answer holds what there was.",
        "Raise --timeout, or ask again.",
    ),
    ("Raise timeout, or", "Raise --timeout, or"),
    (
        "The next question starts it again and resumes the conversation, unless the client was "
        "made with on_crash='raise'.",
        "Ask again; --continue goes on with the conversation, and chat does so by itself.",
    ),
    (
        "The session stays usable; see .answer for what there was.",
        "Ask again; the conversation can be gone on with.",
    ),
    ("in the environment or in env={...}.", "in the environment."),
    ("resets (on_rate_limit tells when), or use another model.", "resets, or try another --model."),
    (
        "Check the model's name, model=...; client.info.models lists some.",
        "Check the model's name: --model.",
    ),
    ("and budget_usd=", "and --budget is "),
    ("Raise max_budget_usd or budget_usd, or open a new client.", "Raise --budget."),
    ("send less, or open a new client.", "send less, or begin a new conversation."),
    (
        "See .answer for what came; describe the wanted form in the prompt as well, make fields "
        "optional that may be missing, or raise returns_retries.",
        "Describe the wanted form in the prompt as well, or make fields optional that may be "
        "missing.",
    ),
    ("returns= got a dict that is no JSON Schema", "--returns is no JSON Schema"),
    ("with Client(record='wire.jsonl')", "with claude-sync record"),
    (": record=...", ": --record"),
    ("the working folder cwd=", "the working folder --cwd "),
    ("not at cwd=...)", "not at --cwd)"),
    ("policies.allow_all and deny_all are for everything", "--yes is for everything"),
    (
        "or let Claude look into it: Client(add_dirs=[...]).",
        "or let Claude look into it: --cwd.",
    ),
    (
        "Record something with Client(record=...) first.",
        "Record something with claude-sync record first.",
    ),
    ("Pass what delete_session() returned", "Name what claude-sync sessions delete has told"),
    (
        "Add a handler with client.on_permission, pass permissions=policy, or allow it from the "
        "start with allowed_tools=[...]",
        "Allow it with --allow, or everything with --yes",
    ),
)

# Of the characters of an id, all of them.
LONG_ID = 36

Policy = Callable[["PermissionRequest"], "Optional[Decision]"]


def exit_code_of(error: ClaudeError) -> int:
    """The exit code that tells what kind of failure it was."""
    if isinstance(error, (CliNotFound, CliDidNotStart, NotLoggedIn)):
        return NO_CLI
    if isinstance(error, TurnError):
        return FAILED
    if isinstance(error, UsageError):
        return USAGE
    return TIMEOUT if isinstance(error, AskTimeout) else FAILED


def complain(text: str) -> None:
    """Say something on stderr; what is the CLI's in it is nothing that a terminal would obey."""
    with contextlib.suppress(OSError):  # nobody can be told that
        sys.stderr.write(f"claude-sync: {harmless(text)}\n")
        sys.stderr.flush()


def as_typed(text: str) -> str:
    """What an error or a warning of the library says, in the words of the command line."""
    for said, typed in TYPED:
        text = text.replace(said, typed)
    return text


def harmless(text: str) -> str:
    """A text whose control characters are spelled out; line ends stay."""
    if text.isprintable():
        return text
    from .painting import safe

    return safe(text)


def fill_streams() -> None:
    """
    Put something in the place of each standard stream that was closed at the start.

    Otherwise the next file that is opened gets its number, and what is written there. What is
    read is at its end, what is said on stderr is lost, and who writes to stdout gets an error.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            flags = os.O_WRONLY if name == "stderr" else os.O_RDONLY
            opened = os.open(os.devnull, flags)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
        if getattr(sys, name) is None:
            mode = "r" if name == "stdin" else "w"
            stream = open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115  (it stays)
            setattr(sys, name, stream)


def here() -> str:
    """The folder this runs in."""
    try:
        return os.getcwd()
    except OSError:
        raise UsageError("this folder is gone. Go to another one, and try again.") from None


def on_terminal() -> bool:
    """Whether a person reads what is printed, and can reply."""
    try:
        return sys.stdin.isatty() and sys.stdout.isatty()
    except (AttributeError, OSError, ValueError):  # none at all, or closed
        return False


# Arguments.


def add_client_arguments(parser: argparse.ArgumentParser) -> None:
    """The settings of a client that every command has which asks something."""
    parser.add_argument("--model", help="alias (sonnet) or full name of the model")
    parser.add_argument("--cwd", metavar="FOLDER", help="the folder Claude works in")
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--resume", metavar="ID", help="go on with this conversation: its id or its beginning; last"
    )
    which.add_argument(
        "--continue",
        dest="go_on",
        action="store_true",
        help="go on with the last conversation of the folder",
    )
    add_permission_arguments(parser)
    parser.add_argument(
        "--record", metavar="FILE", help="write both directions of the wire to a file, no secrets"
    )


def add_permission_arguments(parser: argparse.ArgumentParser) -> None:
    """What Claude may do."""
    parser.add_argument(
        "--allow",
        metavar="RULE",
        action="append",
        default=[],
        help='what Claude may do unasked: Read, "Bash(git *)", "Edit(src/**)"; may be repeated',
    )
    parser.add_argument(
        "--deny", metavar="RULE", action="append", default=[], help="what it may not; comes first"
    )
    parser.add_argument("--yes", action="store_true", help="allow everything that is not denied")


def client_options(
    arguments: argparse.Namespace, clear: Callable[[], None] = lambda: None
) -> Dict[str, Any]:
    """
    The options of a client, as the command line has them; also says that it is offline.

    *clear* is called before the person is asked something: it ends the line that is written.
    """
    if arguments.offline:
        complain(OFFLINE)
    options: Dict[str, Any] = {
        "cli": cli_of(arguments),
        "cwd": arguments.cwd,
        "model": arguments.model,
        "resume": resumed(arguments.resume, arguments.cwd),
        "continue_conversation": arguments.go_on,
        "record": arguments.record,
    }
    if on_terminal():
        from .asking import person

        return {**options, **permission_options(arguments, person(clear))}
    return {**options, **permission_options(arguments)}


def permission_options(
    arguments: argparse.Namespace, person: Optional[Policy] = None
) -> Dict[str, Any]:
    """Of the options of a client, those about permissions; without a *person* nobody is asked."""
    options: Dict[str, Any] = {"permissions": policy_of(arguments, person or Nobody())}
    if arguments.deny:
        options["disallowed_tools"] = list(arguments.deny)
    return options


def resumed(name: Optional[str], cwd: Optional[str]) -> Optional[str]:
    """The id of the conversation that is gone on with; the CLI decides about other words."""
    if name is None or len(name) == LONG_ID:
        return name
    from .sessions import LAST, is_beginning, session_named

    if name != LAST and not is_beginning(name):
        return name  # new CLIs know titles
    return session_named(name, cwd).session_id


def policy_of(arguments: argparse.Namespace, last: Policy) -> Policy:
    """Who decides about a use of a tool: the rules, and *last* about what they leave open."""
    from .. import policies

    chosen: List[Policy] = []
    if arguments.deny:
        chosen.append(policies.deny_tools(*arguments.deny))
    if arguments.allow:
        chosen.append(policies.allow_tools(*arguments.allow))
    if arguments.yes:
        chosen.append(policies.allow_all)
    return policies.first_of(*chosen, last)


class Nobody:
    """Denies what nobody is there to be asked about, and tells once how to allow it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # several clients may have the same
        self.told = False

    def __call__(self, request: PermissionRequest) -> Optional[Decision]:
        """Deny *request*."""
        with self._lock:
            told, self.told = self.told, True
        if not told:
            advice = f'Allow it with --allow "{request.tool}", or everything with --yes'
            if request.tool == "AskUserQuestion":
                advice = "Run the command in a terminal to be asked"
            complain(f"! Claude asked to use {request.tool} and was denied. {advice}.")
        return request.deny(
            f"Nobody is there to allow {request.tool}. Go on without it, and say at the end "
            "what you would have done."
        )


def cli_of(arguments: argparse.Namespace) -> Any:
    """The ``cli`` option: what was named, the stand-in, or None to look for one."""
    if arguments.offline:
        from ..testing import StandIn

        return StandIn().command
    return getattr(arguments, "cli", None)


def seconds(word: str) -> float:
    """A number of seconds above zero."""
    try:
        value = float(word)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{word!r} is no number of seconds above 0")
    return value


def schema_in(path: str) -> Dict[str, Any]:
    """The JSON Schema in a file."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            schema = json.load(file)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}. Check its name.") from None
    except RecursionError:
        raise UsageError(f"{path} is nested too deeply. Write a JSON Schema.") from None
    except ValueError as error:
        raise UsageError(f"{path} is no JSON: {error}. Write a JSON Schema.") from None
    if not isinstance(schema, dict):
        raise UsageError(f"{path} is no JSON Schema, which is an object.")
    return schema
