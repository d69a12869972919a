"""
What the commands share: exit codes, words on stderr, and the settings of a client.

Decisions taken here and nowhere else:

* Each kind of failure has its own exit code, the same for all commands.
* ``--deny`` comes before ``--allow``, and both before ``--yes`` and the person. What is denied is
  denied to the CLI as well, which would not ask about what its settings allow.
* The person at the terminal is asked only where both ends are one: a question would otherwise end
  up in the pipe that the answer goes to.
* The advice of the library's errors is for programmers. A command prints its own.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import errors
from ..errors import ClaudeError, UsageError, error_text
from ..options import SETTINGS
from ..options.fields import PERMISSION_MODES
from ..support.checks import LONGEST, check_seconds
from ..support.styles import is_terminal, safe

if TYPE_CHECKING:
    from ..permissions.request import Decision, PermissionRequest

    Policy = Callable[[PermissionRequest], Decision | None]

OK, FAILED, USAGE, NO_CLI, TIMEOUT, INTERRUPTED = 0, 1, 2, 3, 4, 130

OFFLINE = "offline: the built-in stand-in echoes your prompt; no model is involved"

# What to type, in place of the advice that errors have for programmers.
ADVICE: dict[type[ClaudeError], str] = {
    errors.CliNotFound: (
        f"Install it ({errors.INSTALL}), or name its path with --cli or the environment variable "
        "CLAUDE_CODE_PATH."
    ),
    errors.CliExited: "Ask again; --continue resumes the conversation, chat does so automatically.",
    errors.BudgetExceeded: "Raise --budget.",
    errors.PromptTooLong: "Ask '/compact' to shorten it, send less, or begin a new conversation.",
    errors.ReturnsError: "Describe the form in the prompt as well, or make fields optional.",
    errors.ExecutionError: "Ask again; --continue resumes the conversation.",
    errors.WireError: "Record it with 'claude-sync record', and report that with 'doctor's output.",
}
RESUME_ADVICE = (
    "Check --resume: 'claude-sync sessions list' shows the conversations of a folder, and "
    "they can be resumed in that folder (--cwd)."
)

# Options of a client that are typed, beside those that declare it; of which type; and their help.
TYPED = {
    "system_prompt": "--system-prompt TEXT",
    "permission_mode": "--permission-mode MODE",
    "budget_usd": "--budget USD",
    "retries": "--retries N",
    "max_turns": "--max-turns N",
    **{name: setting.typed for name, setting in SETTINGS.items() if setting.typed},
}
NUMBERS: dict[str, type] = {"budget_usd": float, "retries": int, "max_turns": int}
HELP = {
    "resume": "continue this conversation: its id, the beginning of its id, or last",
    "system_prompt": "use this in place of the CLI's own system prompt",
    "permission_mode": ", ".join(PERMISSION_MODES),
}
# An id of this length is complete.
LONG_ID = 36


# What is said.


def exit_code_of(error: ClaudeError) -> int:
    """The exit code that tells what kind of failure it was."""
    if isinstance(error, (errors.CliNotFound, errors.CliDidNotStart, errors.NotLoggedIn)):
        return NO_CLI
    if isinstance(error, UsageError):
        return USAGE
    return TIMEOUT if isinstance(error, errors.AskTimeout) else FAILED


# Called before something is written on stderr: a view ends the line that it is writing.
ROOM_MAKERS: list[Callable[[], object]] = []


def complain(text: str) -> None:
    """Say something on stderr, with control characters spelled out."""
    with contextlib.suppress(OSError):  # nobody can be told that
        for make_room in ROOM_MAKERS:
            make_room()
        sys.stderr.write(f"claude-sync: {safe(text)}\n")
        sys.stderr.flush()


def write_line(text: str) -> None:
    """Write a line to stdout."""
    sys.stdout.write(text + "\n")


def as_typed(error: BaseException) -> str:
    """The text of an error, with advice for the person who typed a command."""
    return error_text(error, advice_of(error)) if isinstance(error, ClaudeError) else str(error)


def advice_of(error: ClaudeError) -> str:
    """What the person who typed a command can do about an error."""
    if isinstance(error, errors.CliFailed) and error.option == "resume":
        return RESUME_ADVICE
    if isinstance(error, errors.AskTimeout):
        more = "ask again" if error.sent else "check the CLI with 'claude-sync doctor'"
        return f"Raise --timeout, or {more}."
    if isinstance(error, errors.ApiError) and error.status == 404:
        return "Check the model's name: --model."
    return ADVICE.get(type(error), error.advice)


def fill_streams() -> None:
    """
    Put something in the place of each standard stream that was closed at the start.

    Otherwise the next file that is opened gets its number, and what is written there. What is
    read is at its end, what is said on stderr is lost, and writing to stdout is an error.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:  # the number that is free is the lowest, as those before it are taken
            os.open(os.devnull, os.O_WRONLY if name == "stderr" else os.O_RDONLY)
        if getattr(sys, name) is None:
            mode = "r" if name == "stdin" else "w"
            stream = open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115  (it stays)
            setattr(sys, name, stream)


def here() -> str:
    """The folder this runs in."""
    try:
        return os.getcwd()
    except OSError:
        raise UsageError(
            "the current folder no longer exists. Change to another one, and try again."
        ) from None


def on_terminal() -> bool:
    """Whether a person reads what is printed, and can reply."""
    return is_terminal(sys.stdin) and is_terminal(sys.stdout)


# Arguments.


def option(parser: Any, typed: str, help: str, **more: Any) -> None:
    """Add an option as it is typed: ``--cwd FOLDER``, or ``--yes`` alone."""
    words = typed.split()
    flags = [word for word in words if word.startswith("-")]
    if len(flags) < len(words):
        more["metavar"] = words[-1]
    elif "choices" not in more:
        more["action"] = "store_true"
    parser.add_argument(*flags, help=help, **more)


def add_client_arguments(parser: argparse.ArgumentParser) -> None:
    """The settings of a client that every command has which asks something."""
    which = parser.add_mutually_exclusive_group()
    for name in filter(TYPED.__contains__, SETTINGS):
        setting = SETTINGS[name]
        group = which if setting.scope == "conversation" else parser
        text = HELP.get(name, setting.doc.replace("``", ""))
        more = {"type": NUMBERS[name]} if name in NUMBERS else {}
        takes_value = setting.default is not False and " " not in TYPED[name]
        option(group, TYPED[name] + " NAME" * takes_value, text, dest=name, **more)
    add_permission_arguments(parser)


def add_permission_arguments(parser: argparse.ArgumentParser) -> None:
    """What Claude may do."""
    several: Any = {"action": "append", "default": []}
    rules = 'what needs no permission: Read, "Bash(ls *)", "Edit(src/**)"; may be repeated'
    option(parser, "--allow RULE", rules, **several)
    rules = "what Claude may not do; overrides --allow; may be repeated"
    option(parser, "--deny RULE", rules, **several)
    option(parser, "--yes", "allow everything that is not denied")


def client_options(
    arguments: argparse.Namespace, clear: Callable[[], None] = lambda: None
) -> dict[str, Any]:
    """
    The options of a client, as the command line has them; also says that it is offline.

    *clear* is called before the person is asked something: it ends the line that is written.
    """
    if arguments.offline:
        complain(OFFLINE)
    typed = {name: getattr(arguments, name) for name in TYPED}
    # What was not typed has the library's own default.
    options = {name: value for name, value in typed.items() if value is not None}
    options.update(cli=cli_of(arguments), resume=resumed(arguments.resume, arguments.cwd))
    person = None
    if on_terminal():
        from .view import asks_person

        person = asks_person(clear)
    return {**options, **permission_options(arguments, person)}


def permission_options(
    arguments: argparse.Namespace, person: Policy | None = None
) -> dict[str, Any]:
    """Of the options of a client, those about permissions; without a *person* nobody is asked."""
    from ..permissions import policies

    chosen: list[Any] = []
    if arguments.deny:
        chosen.append(policies.deny_tools(*arguments.deny))
    if arguments.allow:
        chosen.append(policies.allow_tools(*arguments.allow))
    if arguments.yes:
        chosen.append(policies.allow_all)
    options: dict[str, Any] = {"permissions": policies.first_of(*chosen, person or nobody())}
    if arguments.deny:
        options["disallowed_tools"] = list(arguments.deny)
    return options


def nobody() -> Policy:
    """A policy that denies everything, and says once how to allow it."""
    told = threading.Lock()  # taken once and for all: several clients may have the same policy

    def deny(request: PermissionRequest) -> Decision | None:
        if told.acquire(blocking=False):
            advice = f'Allow it with --allow "{request.tool}", or everything with --yes'
            if request.tool == "AskUserQuestion":
                advice = "Run the command in a terminal to be asked"
            complain(f"Claude asked to use {request.tool} and was denied. {advice}.")
        return request.deny(
            f"Permission denied: no one is available to allow {request.tool}. Continue without "
            "it, and say at the end what you would have done."
        )

    return deny


def resumed(name: str | None, cwd: str | None) -> str | None:
    """The id of the conversation that is gone on with; the CLI decides about other words."""
    if name is None or len(name) == LONG_ID:
        return name
    from .sessions import BEGINNING, LAST, session_named

    if name != LAST and not BEGINNING.fullmatch(name):
        return name  # new CLIs know titles
    return session_named(name, cwd).session_id


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


def schema_in(path: str) -> dict[str, Any]:
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
