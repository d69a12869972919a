"""
``claude-sync``: the library on the command line.

::

    argv -> [parser] -> command -> exit code

Each command has a module here. Decisions taken here and nowhere else:

* stdout is for answers, stderr for everything else; errors are texts with advice,
  never tracebacks.
* Each kind of failure has an exit code of its own, listed in ``--help``.
* Every command takes ``--offline``; those that start no CLI have nothing to do for it.
* Who ends the process, or closes its terminal, ends the turn as well. A CLI whose client is
  gone would go on with it, tools and all.
* What follows ``--`` is words. A script passes on there what it does not know, and nothing of
  that may be an option: it could be ``--yes``.
"""

from __future__ import annotations

import argparse
import importlib
import logging
import os
import signal
import sys
import threading
from typing import Any, Dict, List, NoReturn, Optional, Sequence, Tuple

from .._version import __version__
from ..errors import ClaudeError, TurnInterrupted
from ..support.checks import did_you_mean
from .common import (
    FAILED,
    INTERRUPTED,
    OFFLINE,
    OK,
    USAGE,
    as_typed,
    cli_of,
    complain,
    exit_code_of,
    fill_streams,
    harmless,
    make_room,
)

__all__ = ["OFFLINE", "main"]

PROGRAM = "claude-sync"

DESCRIPTION = "Claude Code on the command line, by way of the Python library claude_sync."

EXAMPLES = """\
examples:
  claude-sync ask "What does setup.py do?"
  git diff | claude-sync ask "Review this:"
  claude-sync chat --continue
  claude-sync sessions list
  claude-sync export 1b4e28ba -o chat.html
  claude-sync ask --offline "Hello"
  claude-sync doctor

claude-sync COMMAND --help explains each, with examples and exit codes.
"""

# The commands, with the module that has their arguments and what they do.
COMMANDS: Dict[str, Tuple[str, str]] = {
    "ask": (".ask", "ask one question"),
    "chat": (".chat", "talk with Claude at the terminal"),
    "batch": ("..batch.command", "ask every prompt of a file"),
    "sessions": (".sessions", "list, show, rename and delete conversations"),
    "export": (".export", "write a conversation as Markdown, HTML or JSON"),
    "record": (".record", "ask or chat, and record what is sent and received"),
    "replay": (".replay", "show a recording again"),
    "bridge": ("..bridge.command", "serve sessions to a program in any language"),
    "doctor": (".doctor", "check the installation"),
    "completion": (".completion", "print a script for your shell's TAB completion"),
}
# Stands before a word that would look like an option; no argument of a process can hold it.
WORD = "\0"
# They read files, and start nothing.
WITHOUT_CLI = ("sessions", "export", "replay", "completion")
# They have commands of their own.
WITH_ACTIONS = ("sessions",)


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Run the command in *argv*, by default that of the process; its exit code."""
    fill_streams()
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        # A terminal of another encoding must not end the conversation.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="surrogateescape" if stream is sys.stdin else "replace")
    tell_warnings()
    try:
        arguments = parsed(list(sys.argv[1:] if argv is None else argv))
        end_at_signals(arguments.command)
        code = run(arguments)
        sys.stdout.flush()
        return code
    except TurnInterrupted:  # by Ctrl-C at a question: whoever pressed it knows
        return INTERRUPTED
    except ClaudeError as error:
        complain(as_typed(error))
        return exit_code_of(error)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # whoever read the answer has left
        return FAILED
    except OSError as error:
        where = error.filename or "the output could not be written"
        complain(f"{where}: {error.strerror or error}. Check where it is to go to.")
        return FAILED
    finally:
        give_up_full_streams()


def tell_warnings() -> None:
    """What the library logs goes to stderr; what is the CLI's in it is nothing to be obeyed."""
    handler = Apart()
    handler.setFormatter(Harmless("claude-sync: %(message)s"))
    logging.basicConfig(handlers=[handler], level=logging.WARNING)


class Apart(logging.StreamHandler):  # type: ignore[type-arg]
    """Begins each record on a line of its own, whatever is being written."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write *record*."""
        make_room()
        super().emit(record)


class Harmless(logging.Formatter):
    """Lines that a terminal only shows."""

    def format(self, record: logging.LogRecord) -> str:
        """The lines of *record*."""
        return harmless(super().format(record))


def end_at_signals(command: str) -> None:
    """Leave the command as after an error where a signal, or a closed terminal, ends it."""
    if command == "bridge" or threading.current_thread() is not threading.main_thread():
        return  # the bridge has its own; and only the main thread may
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        # Not where somebody wants it to be ignored: nohup.
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, leave)


def leave(number: int, _frame: object) -> None:
    """A signal came: everything that is open is closed on the way out."""
    raise SystemExit(128 + number)


def give_up_full_streams() -> None:
    """What cannot be written was complained about; Python would do it again at its end."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, stream.fileno())
            os.close(nothing)


def parsed(words: Sequence[str]) -> argparse.Namespace:
    """What the command line says; an answer to --help, or a complaint, ends the process."""
    if not words:
        make_parser().print_help()
        raise SystemExit(OK)
    if words[0] not in COMMANDS:
        make_parser().parse_args(words)  # --help, --version, or wrong
    parser = command_parser(words[0])
    given = with_marks(words[1:])
    if words[0] in WITH_ACTIONS:
        arguments = parser.parse_args(given)
    else:
        # Options may stand between the words of a prompt.
        arguments = parser.parse_intermixed_args(given)
    for name, value in list(vars(arguments).items()):
        setattr(arguments, name, without_marks(value))
    return arguments


def with_marks(words: Sequence[str]) -> List[str]:
    """
    *words* with a mark before each that follows ``--`` and begins with a dash.

    argparse looks at words twice where options may stand between them, or where a command has
    commands of its own, and the second time it has forgotten where ``--`` was.
    """
    if "--" not in words:
        return list(words)
    end = list(words).index("--") + 1
    rest = (WORD + word if word.startswith("-") and word != "-" else word for word in words[end:])
    return [*words[:end], *rest]


def without_marks(value: Any) -> Any:
    """What was typed."""
    if isinstance(value, list):
        return [without_marks(each) for each in value]
    return value[len(WORD) :] if isinstance(value, str) and value.startswith(WORD) else value


class Parser(argparse.ArgumentParser):
    """Complains in the words that were typed."""

    def error(self, message: str) -> NoReturn:
        """End the process with *message*, and with what was probably meant."""
        message = message.replace(WORD, "").replace(repr(WORD)[1:-1], "")
        unknown = message.partition("unrecognized arguments: ")[2].split()
        flags = [flag for action in self._actions for flag in action.option_strings]
        meant = did_you_mean(unknown[0].partition("=")[0], flags) if unknown else ""
        self.exit(USAGE, f"{self.prog}: {message}.{meant} See {self.prog} --help.\n")


def make_parser() -> argparse.ArgumentParser:
    """The parser that knows which commands there are, and nothing else of them."""
    parser = Parser(
        prog=PROGRAM,
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", dest="command", required=True)
    for name, (_, summary) in COMMANDS.items():
        commands.add_parser(name, help=summary)
    return parser


def command_parser(name: str) -> argparse.ArgumentParser:
    """The parser of one command; the others need not be loaded."""
    module = load(COMMANDS[name][0])
    parser = Parser(
        prog=f"{PROGRAM} {name}",
        description=module.DESCRIPTION,
        epilog=module.EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(command=name)
    add_cli_arguments(parser, name)
    module.add_arguments(parser)
    return parser


def add_cli_arguments(parser: argparse.ArgumentParser, command: str) -> None:
    """Which CLI is used."""
    if command in WITHOUT_CLI:
        parser.add_argument(
            "--offline", action="store_true", help="has no effect: this command starts no CLI"
        )
        return
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--cli", metavar="PATH", help="the claude executable to use")
    which.add_argument(
        "--offline", action="store_true", help="use the built-in stand-in, which echoes the prompt"
    )


def load(module: str) -> Any:
    """The module of a command."""
    return importlib.import_module(module, __name__)


def run(arguments: argparse.Namespace) -> int:
    """Do what the command line says; the exit code."""
    command = load(COMMANDS[arguments.command][0])
    if arguments.command == "batch" and arguments.offline:
        complain(OFFLINE)
    if arguments.command in ("batch", "bridge"):
        code: int = command.run(arguments, cli_of(arguments))
    else:
        code = command.run(arguments)
    return code
