"""
``claude-sync chat``: a conversation at the terminal.

::

    line -> [chat] -> a question, a command of the CLI (/), or of the shell (!)

Decisions taken here and nowhere else:

* Ctrl-C stops the turn that runs; at the prompt it takes back what was typed. Ctrl-D leaves.
* A turn that fails is told, and the conversation goes on. Without a CLI there is none.
* What ``!`` runs is for the person: Claude does not get to see it.
* prompt_toolkit reads the lines, and keeps them in ``claude-sync/history`` of the folder for such
  things (``XDG_STATE_HOME``, else ``~/.local/state``), readable for its owner only. Without it
  ``input()`` does, and nothing is kept. Replies to questions about tools are no part of it.
"""

from __future__ import annotations

import argparse
import contextlib
import inspect
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ..client import Client
from ..errors import ClaudeError, CliDidNotStart, CliNotFound, TurnInterrupted, UsageError
from ..log import logger
from ..render.documents import COUNTED
from ..support.checks import nearest
from .common import OK, add_client_arguments, as_typed, client_options, complain, on_terminal
from .view import View

OWN_COMMANDS = ("/cost", "/exit", "/help", "/quit")
LEAVE = ("/exit", "/quit")
# In seconds. SimpleQueue.get(timeout=0) may wait for ever on Python 3.10.
A_MOMENT = 0.01


def chat(arguments: argparse.Namespace) -> int:
    """
    Talk with Claude at the terminal. Text appears as it is written, tool calls are shown, and you
    are asked for permission with a preview of what would happen.

    what you can type:
      any text        a prompt. End a line with a backslash to continue on the next one, or press
                      Alt+Enter (needs prompt_toolkit). Pasted lines are one prompt
      /NAME ...       a command of the CLI, such as /compact; TAB completes it
      /cost           show what this chat has cost
      !COMMAND        run a shell command; Claude does not see it
      /help, /exit    show this list; leave
      Ctrl-C          stop the running turn
      Ctrl-D          leave

    examples:
      claude-sync chat --model sonnet
      claude-sync chat --continue
      claude-sync chat --allow "Bash(git diff *)" --deny "Read(.env)"
      claude-sync chat --offline

    The prompt shows what the conversation has cost. Your input is saved in
    ~/.local/state/claude-sync/history.

    exit codes:
      0    left by Ctrl-D or /exit
      2    the command line was wrong, or this is not a terminal
      3    the CLI was not found, or did not start
      130  interrupted by Ctrl-C while a turn was being stopped
    """
    if not on_terminal():
        raise UsageError(
            "chat needs a terminal on both sides. To ask from a script or a pipe, use "
            "claude-sync ask."
        )
    view = View(tools=True, cwd=arguments.cwd)
    with Client(**client_options(arguments, view.clear), post="manual") as client:
        view.attach(client)
        client.start()
        talk(client, view, arguments.cwd)
        if client.session_id and not arguments.offline:  # the stand-in forgets what was said
            view.say(f"Continue with: claude-sync chat --resume {client.session_id[:8]}", "faint")
    return OK


chat_arguments = add_client_arguments


def talk(client: Client, view: View, cwd: Any) -> None:
    """Read lines and do what they say, until the person leaves."""
    view.say("Ctrl-C stops a turn, Ctrl-D leaves, /help shows more.", "faint")
    if view.console is None:
        view.say("pip install rich prompt_toolkit for formatted answers and a history.", "faint")
    names = {*OWN_COMMANDS}
    for command in client.supported_commands():
        # As it stands on the terminal, it has to be one word that does nothing.
        names.update(f"/{name}" for name in (command.name, *command.aliases) if name.isprintable())
    read = line_reader(sorted(names))
    while True:
        # What happened while nobody waited: agents in the background.
        client.process_events(timeout=A_MOMENT)
        view.clear()
        cost = view.styles.paint("faint", f"${client.cost_usd:.4f}")
        try:
            line = read(f"{cost} {view.styles.paint('user', '>')} ")
        except KeyboardInterrupt:
            view.say("")
            continue
        except EOFError:
            view.say("")
            return
        if line in LEAVE:
            return
        if line == "/help":
            view.say((inspect.getdoc(chat) or "").partition("\n\n")[2].partition("\n\n")[0])
        elif line == "/cost":  # the CLI's own begins anew with each of its processes
            tokens = sum(int(client.usage.get(name, 0)) for name in COUNTED)
            view.say(f"${client.cost_usd:.4f} in this chat, {tokens:,} tokens")
        elif line.startswith("!"):
            run_in_shell(line[1:], view, cwd)
        elif line.startswith("/") and line not in names and (meant := nearest(line, names, 0.8)):
            # As a prompt it would cost something.
            view.say(f"There is no command {line}. Did you mean {meant}?", "faint")
        elif line:
            before = client.session_id
            ask(line, client, view)
            if before not in (None, client.session_id):  # /clear says nothing
                view.say("A new conversation begins.", "faint")
            view.rule()


def ask(prompt: str, client: Client, view: View) -> None:
    """A question; whatever becomes of it, the conversation goes on, unless there is no CLI."""
    try:
        view.wait(client.submit(prompt))
    except (KeyboardInterrupt, TurnInterrupted):
        view.say("stopped", "wrong")
    except (CliNotFound, CliDidNotStart):
        raise
    except ClaudeError as error:
        complain(as_typed(error))


def run_in_shell(command: str, view: View, cwd: Any) -> None:
    """What follows ``!``."""
    if not command.strip():
        view.say("! runs what follows it in the shell: !ls", "faint")
        return
    try:
        code = subprocess.run(command, shell=True, cwd=cwd).returncode
    except KeyboardInterrupt:
        view.say("")
    except OSError as error:
        complain(f"the shell could not be started: {error}")
    else:
        if code:
            view.say(f"exit code {code}", "wrong")


# What a person types.


def line_reader(names: list[str]) -> Callable[[str], str]:
    """
    What reads a line, or several that belong together; TAB completes one of the *names*.

    It raises EOFError at the end of input, and KeyboardInterrupt at Ctrl-C, as ``input()`` does.
    """
    try:
        read = edited_lines(names)
    except ImportError:
        with contextlib.suppress(ImportError):
            import readline  # noqa: F401  (with it, input() can edit)
        read = plain_lines
    # A terminal of another encoding leaves pieces that the wire could not carry.
    return lambda prompt: read(prompt).encode("utf-8", "replace").decode("utf-8").strip()


def plain_lines(prompt: str) -> str:
    """By ``input()``; a line that ends with a backslash goes on."""
    lines = [input(prompt)]
    while lines[-1].endswith("\\"):
        lines[-1] = lines[-1][:-1]
        lines.append(input("... "))
    return "\n".join(lines)


def edited_lines(names: list[str]) -> Callable[[str], str]:
    """By prompt_toolkit; ImportError where it is not installed."""
    from prompt_toolkit import ANSI, PromptSession
    from prompt_toolkit.completion import Completer, Completion
    from prompt_toolkit.history import FileHistory, InMemoryHistory
    from prompt_toolkit.key_binding import KeyBindings

    class Commands(Completer):
        """Completes the first word."""

        def get_completions(self, document: Any, _: object) -> Iterator[Completion]:
            text = document.text_before_cursor
            for name in names if text else ():
                if name.startswith(text):
                    yield Completion(f"{name} ", start_position=-len(text))

    bindings = KeyBindings()

    @bindings.add("escape", "enter")
    def _(event: Any) -> None:
        event.current_buffer.insert_text("\n")

    @bindings.add("enter")
    def _(event: Any) -> None:
        buffer = event.current_buffer
        if buffer.document.current_line_before_cursor.endswith("\\"):
            buffer.delete_before_cursor()
            buffer.insert_text("\n")
        else:
            buffer.validate_and_handle()

    path = history_file()
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
        history: Any = FileHistory(path)
    except OSError as error:
        logger.warning("the history of what was typed is not kept: %s", error)
        history = InMemoryHistory()
    session: Any = PromptSession(
        history=history,
        completer=Commands(),
        complete_while_typing=False,
        key_bindings=bindings,
        prompt_continuation="... ",
    )
    return lambda prompt: str(session.prompt(ANSI(prompt)))


def history_file() -> Path:
    """Where the lines are kept."""
    state = os.environ.get("XDG_STATE_HOME")
    folder = Path(state) if state and os.path.isabs(state) else Path.home() / ".local" / "state"
    return folder / "claude-sync" / "history"
