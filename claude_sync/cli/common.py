"""
What the commands share: exit codes, words on stderr, and the settings of a client.

Decisions taken here and nowhere else:

* Each kind of failure has an exit code of its own, the same for all commands.
* ``--deny`` comes before ``--allow``, and both before ``--yes`` and the person. What is
  denied is denied to the CLI as well, which would not ask about what its settings allow.
* The person at the terminal is asked only where both ends are one: a question would
  otherwise end up in the pipe that the answer goes to.
* The advice of the library's errors is for programmers. A command prints its own.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import threading
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Type

from ..errors import (
    INSTALL,
    ApiError,
    AskTimeout,
    BudgetExceeded,
    ClaudeError,
    CliDidNotStart,
    CliExited,
    CliFailed,
    CliNotFound,
    ExecutionError,
    NotLoggedIn,
    PromptTooLong,
    ReturnsError,
    TurnError,
    UsageError,
    WireError,
    error_text,
)
from ..options import SETTINGS
from ..support.checks import LONGEST, check_seconds

if TYPE_CHECKING:
    from ..permissions.request import Decision, PermissionRequest

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
    "advice_of",
    "as_typed",
    "cli_of",
    "client_options",
    "complain",
    "exit_code_of",
    "fill_streams",
    "harmless",
    "here",
    "make_room",
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
  1    the turn failed; stderr says why and what to do
  2    the command line was wrong
  3    the CLI was not found, did not start, or is not logged in
  4    no answer within --timeout
  130  interrupted by Ctrl-C; 143 and 129: by a signal, or the terminal was closed
"""

# What to type, in place of the advice that errors have for programmers.
ADVICE: Dict[Type[ClaudeError], str] = {
    CliNotFound: (
        f"Install it ({INSTALL}), or name its path with --cli or the environment variable "
        "CLAUDE_CODE_PATH."
    ),
    CliExited: "Ask again; --continue resumes the conversation, and chat does so by itself.",
    BudgetExceeded: "Raise --budget.",
    PromptTooLong: "Ask '/compact' to shorten it, send less, or begin a new conversation.",
    ReturnsError: (
        "Describe the form in the prompt as well, or make fields optional that may be missing."
    ),
    ExecutionError: "Ask again; --continue resumes the conversation.",
    WireError: (
        "Make a recording with 'claude-sync record' and report it together with the output of "
        "'claude-sync doctor'."
    ),
}
# The same for an option that the CLI refused.
OPTION_ADVICE = {
    "resume": (
        "Check --resume: 'claude-sync sessions list' shows the conversations of a folder, and "
        "they can be resumed in that folder (--cwd)."
    ),
}

# What an option takes on the command line alone.
HELP = {"resume": "go on with this conversation: its id or its beginning; last"}
# Options that are typed in a conversation or a question, beside those that declare it.
FLAGS = {
    "system_prompt": "--system-prompt TEXT",
    "permission_mode": "--permission-mode MODE",
    "budget_usd": "--budget USD",
    "retries": "--retries N",
    "max_turns": "--max-turns N",
}
NUMBERS: dict[str, type] = {"budget_usd": float, "retries": int, "max_turns": int}
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


# Called before something is written on stderr: a screen ends the line that it is writing.
ROOM_MAKERS: List[Callable[[], object]] = []


def make_room() -> None:
    """End the line that is being written."""
    for function in ROOM_MAKERS:
        function()


def complain(text: str) -> None:
    """Say something on stderr; what is the CLI's in it is nothing that a terminal would obey."""
    with contextlib.suppress(OSError):  # nobody can be told that
        make_room()
        sys.stderr.write(f"claude-sync: {harmless(text)}\n")
        sys.stderr.flush()


def as_typed(error: BaseException) -> str:
    """The text of an error, with advice for the person who typed a command."""
    if not isinstance(error, ClaudeError):
        return str(error)
    return error_text(error.problem, advice_of(error))


def advice_of(error: ClaudeError) -> str:
    """What the person who typed a command can do about an error."""
    if isinstance(error, CliFailed) and error.option in OPTION_ADVICE:
        return OPTION_ADVICE[error.option]
    if isinstance(error, AskTimeout):
        more = "ask again" if error.sent else "check the CLI with 'claude-sync doctor'"
        return f"Raise --timeout, or {more}."
    if isinstance(error, ApiError) and error.status == 404:
        return "Check the model's name: --model."
    return ADVICE.get(type(error), error.advice)


def harmless(text: str) -> str:
    """A text whose control characters are spelled out; line ends stay."""
    if text.isprintable():
        return text
    from ..support.styles import safe

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
    which = parser.add_mutually_exclusive_group()
    for name, setting in SETTINGS.items():
        typed = setting.typed or FLAGS.get(name)
        if typed is None:
            continue
        flag, _, metavar = typed.partition(" ")
        given: Dict[str, Any] = {
            "dest": name,
            "help": HELP.get(name, setting.doc.replace("``", "")),
        }
        if setting.default is False:
            given["action"] = "store_true"
        elif metavar:
            given.update(metavar=metavar, type=NUMBERS.get(name, str))
        (which if setting.scope == "conversation" else parser).add_argument(flag, **given)
    add_permission_arguments(parser)


def add_permission_arguments(parser: argparse.ArgumentParser) -> None:
    """What Claude may do."""
    parser.add_argument(
        "--allow",
        metavar="RULE",
        action="append",
        default=[],
        help='what needs no permission: Read, "Bash(ls *)", "Edit(src/**)"; may be repeated',
    )
    parser.add_argument(
        "--deny",
        metavar="RULE",
        action="append",
        default=[],
        help="what Claude may not do; overrides --allow; may be repeated",
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
    typed = [name for name, setting in SETTINGS.items() if setting.typed or name in FLAGS]
    options: Dict[str, Any] = {name: getattr(arguments, name) for name in typed}
    # What was not typed has the library's own default.
    options = {
        name: value for name, value in options.items() if value is not None or name not in FLAGS
    }
    options.update(cli=cli_of(arguments), resume=resumed(arguments.resume, arguments.cwd))
    if on_terminal():
        from .screens import person

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
    from ..permissions import policies

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
            complain(f"Claude asked to use {request.tool} and was denied. {advice}.")
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
        value = check_seconds("it", float(word))
    except (ValueError, UsageError):
        value = LONGEST
    if value == LONGEST:  # no limit is the default, and has no word
        raise argparse.ArgumentTypeError(f"{word!r} is not a number of seconds above 0")
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
        raise UsageError(f"{path} is not JSON: {error}. Write a JSON Schema.") from None
    if not isinstance(schema, dict):
        raise UsageError(f"{path} is not a JSON Schema, which is an object.")
    return schema
