"""
``claude-sync``: the library on the command line.

::

    argv -> [parser] -> command -> exit code

Each command is a function, and its docstring is what ``--help`` prints. Decisions taken here and
nowhere else:

* stdout is for answers, stderr for everything else. Errors are texts with advice, never tracebacks.
* Each kind of failure has its own exit code, listed in ``--help``.
* A signal that ends the process, or a terminal that is closed, ends the turn as well. Without its
  client the CLI would go on with the turn, tools and all.
* What follows ``--`` is words. A script passes on there what it does not know, and none of it may
  become an option: it could be ``--yes``.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import logging
import os
import signal
import sys
import threading
from collections.abc import Sequence
from typing import Any, NoReturn

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
    option,
)

__all__ = ["OFFLINE", "main"]

PROGRAM = "claude-sync"

# The commands, with the module of each.
COMMANDS = {
    "ask": (".ask", "ask one question"),
    "chat": (".chat", "talk with Claude at the terminal"),
    "batch": ("..batch.command", "ask every prompt of a file"),
    "sessions": (".sessions", "list, show, rename and delete conversations"),
    "export": (".sessions", "write a conversation as Markdown, HTML or JSON"),
    "record": (".ask", "ask or chat, and record what is sent and received"),
    "replay": (".replay", "show a recording again"),
    "bridge": ("..bridge.command", "serve sessions to a program in any language"),
    "doctor": (".doctor", "check the installation"),
    "completion": (".completion", "print a script for your shell's TAB completion"),
}
WITHOUT_CLI = ("sessions", "export", "replay", "completion")
# Their modules have the interface (arguments, cli).
OF_OTHER_PACKAGES = ("batch", "bridge")
# Marks a word that follows "--". No argument of a process can hold this character.
MARK = "\0"


def main(argv: Sequence[str] | None = None) -> int:
    """
    Claude Code on the command line, by way of the Python library claude_sync.

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
    fill_streams()
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        # A terminal of another encoding must not end the conversation.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="surrogateescape" if stream is sys.stdin else "replace")
    logging.basicConfig(handlers=[Warnings()], level=logging.WARNING)
    try:
        arguments = parsed(sys.argv[1:] if argv is None else argv)
        end_at_signals(arguments.command)
        code = run(arguments)
        sys.stdout.flush()
        return code
    except (TurnInterrupted, KeyboardInterrupt):  # a turn, by Ctrl-C at a question
        return INTERRUPTED
    except ClaudeError as error:
        complain(as_typed(error))
        return exit_code_of(error)
    except BrokenPipeError:  # the reader of the answer has left
        return FAILED
    except OSError as error:
        where = error.filename or "the output could not be written"
        complain(f"{where}: {error.strerror or error}. Check where it is to go to.")
        return FAILED
    finally:
        give_up_full_streams()


class Warnings(logging.Handler):
    """Shows what the library logs as the command's own complaints."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write *record* to stderr."""
        complain(self.format(record))


def end_at_signals(command: str) -> None:
    """Leave the command as after an error where a signal, or a closed terminal, ends it."""
    if command == "bridge" or threading.current_thread() is not threading.main_thread():
        return  # the bridge has its own; and only the main thread may
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        # nohup ignores one of them, and that stays so.
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, lambda number, _: sys.exit(128 + number))


def give_up_full_streams() -> None:
    """Keep Python from complaining at its end about what could not be written."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, stream.fileno())
            os.close(nothing)


def run(arguments: argparse.Namespace) -> int:
    """Do what the command line says; the exit code."""
    command: Any = load(arguments.command)
    if arguments.command not in OF_OTHER_PACKAGES:
        return int(getattr(command, arguments.command)(arguments))
    if arguments.command == "batch" and arguments.offline:
        complain(OFFLINE)
    return int(command.run(arguments, cli_of(arguments)))


def load(command: str) -> Any:
    """The module of a command; the others need not be loaded."""
    return importlib.import_module(COMMANDS[command][0], __name__)


# Arguments.


def parsed(words: Sequence[str]) -> argparse.Namespace:
    """What the command line says; --help and mistakes end the process."""
    if not words:
        make_parser().print_help()
        raise SystemExit(OK)
    if words[0] not in COMMANDS:
        make_parser().parse_args(words)  # --help, --version, or wrong
    parser = command_parser(words[0])
    end = list(words).index("--") + 1 if "--" in words else len(words)
    # argparse looks at words twice, and the second time it has forgotten where "--" was.
    given = [*words[1:end], *(MARK + word for word in words[end:])]
    # Options may stand between the words of a prompt; commands of a command do not allow that.
    parse = parser.parse_args if words[0] == "sessions" else parser.parse_intermixed_args
    arguments = parse(given)
    for name, value in vars(arguments).items():
        if isinstance(value, str):
            setattr(arguments, name, value.removeprefix(MARK))
        elif isinstance(value, list):
            setattr(arguments, name, [each.removeprefix(MARK) for each in value])
    return arguments


class Parser(argparse.ArgumentParser):
    """Suggests what was probably meant."""

    def __init__(self, prog: str, help_text: str | None) -> None:
        description, _, epilog = (help_text or "").partition("\n\n")
        super().__init__(
            prog,
            description=description,
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )

    def error(self, message: str) -> NoReturn:
        """End the process with *message*."""
        message = message.replace(MARK, "").replace(repr(MARK)[1:-1], "")
        unknown = message.partition("unrecognized arguments: ")[2].split()
        flags = [flag for action in self._actions for flag in action.option_strings]
        meant = did_you_mean(unknown[0].partition("=")[0], flags) if unknown else ""
        self.exit(USAGE, f"{self.prog}: {message}.{meant} See {self.prog} --help.\n")


def make_parser() -> Parser:
    """The parser that knows the names of the commands."""
    parser = Parser(PROGRAM, inspect.getdoc(main))
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    commands = parser.add_subparsers(
        metavar="COMMAND", dest="command", required=True, parser_class=argparse.ArgumentParser
    )
    for name, (_, summary) in COMMANDS.items():
        commands.add_parser(name, help=summary)
    return parser


def command_parser(name: str) -> Parser:
    """The parser of one command."""
    module = load(name)
    if name in OF_OTHER_PACKAGES:
        parser = Parser(f"{PROGRAM} {name}", f"{module.DESCRIPTION}\n{module.EPILOG}")
        add_arguments = module.add_arguments
    else:
        parser = Parser(f"{PROGRAM} {name}", inspect.getdoc(getattr(module, name)))
        add_arguments = getattr(module, f"{name}_arguments")
    parser.set_defaults(command=name)
    if name in WITHOUT_CLI:
        option(parser, "--offline", "has no effect: this command starts no CLI")
    else:
        which = parser.add_mutually_exclusive_group()
        option(which, "--cli PATH", "the claude executable to use")
        option(which, "--offline", "use the built-in stand-in, which echoes the prompt")
    add_arguments(parser)
    return parser
