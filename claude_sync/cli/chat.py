"""
``claude-sync chat``: a conversation at the terminal.

::

    line -> [chat] -> a question, a command of the CLI (/), or of the shell (!)

Decisions taken here and nowhere else:

* Ctrl-C stops the turn that runs; at the prompt it takes back what was typed. Ctrl-D leaves.
* A turn that fails is told, and the conversation goes on. Without a CLI there is none.
* What ``!`` runs is for the person: Claude does not get to see it.
"""

from __future__ import annotations

import argparse
import subprocess
from typing import Any, List, Sequence

from ..client import Client
from ..errors import ClaudeError, CliDidNotStart, CliNotFound, TurnInterrupted, UsageError
from ..render.documents import COUNTED
from .common import OK, add_client_arguments, as_typed, client_options, complain, on_terminal
from .painting import rich_is_there
from .screens import Screen
from .typed import Typing

__all__ = ["DESCRIPTION", "EPILOG", "add_arguments", "run", "talk"]

DESCRIPTION = """\
Talk with Claude at the terminal. Text appears as it is written, tool calls are shown, and you
are asked for permission with a preview of what would happen.
"""

EPILOG = """\
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

The prompt shows what the conversation has cost. What you type is kept in
~/.local/state/claude-sync/history.

exit codes:
  0    left by Ctrl-D or /exit
  2    the command line was wrong, or this is not a terminal
  3    the CLI was not found, or did not start
  130  interrupted by Ctrl-C while a turn was being stopped
"""

HELP = EPILOG.partition("\n\n")[0]
OWN_COMMANDS = ("/cost", "/exit", "/help", "/quit")
LEAVE = ("/exit", "/quit")
# In seconds. SimpleQueue.get(timeout=0) may wait for ever on Python 3.9 and 3.10.
A_MOMENT = 0.01


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What can be said on the command line, --cli and --offline excepted."""
    add_client_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Do what *arguments* say; the exit code."""
    if not on_terminal():
        raise UsageError(
            "chat needs a terminal on both sides. To ask from a script or a pipe, use "
            "claude-sync ask."
        )
    screen = Screen(tools=True, cwd=arguments.cwd)
    options = client_options(arguments, screen.clear)
    with Client(**options, post="manual") as client:
        screen.attach(client)
        client.start()
        # The stand-in forgets what was said.
        return talk(client, screen, arguments.cwd, can_go_on=not arguments.offline)


def talk(client: Client, screen: Screen, cwd: Any = None, *, can_go_on: bool = True) -> int:
    """Read lines and do what they say, until the person leaves; then tell how to go on."""
    names = names_of(client)

    def complete(text: str) -> Sequence[str]:
        return [f"{name} " for name in names if name.startswith(text)] if text else []

    screen.say("Ctrl-C stops a turn, Ctrl-D leaves, /help shows more.", "faint")
    if screen.styles and not rich_is_there():
        screen.say("Answers are shown as they are written; pip install rich formats them.", "faint")
    with Typing(complete) as typing:
        while True:
            # What happened while nobody waited: agents in the background.
            client.process_events(timeout=A_MOMENT)
            screen.clear()
            try:
                line = typing.read(prompt_for(client, screen))
            except KeyboardInterrupt:
                screen.say("")
                continue
            except EOFError:
                screen.say("")
                break
            if line in LEAVE:
                break
            if line:
                obey(line, client, screen, cwd)
    if can_go_on and client.session_id:
        name = client.session_id[:8]
        screen.say(f"Go on with: claude-sync chat --resume {name}", "faint")
    return OK


def obey(line: str, client: Client, screen: Screen, cwd: Any) -> None:
    """One line of the person's."""
    if line == "/help":
        screen.say(HELP)
    elif line == "/cost":
        screen.say(cost_of(client))
    elif line.startswith("!"):
        run_in_shell(line[1:], screen, cwd)
    else:
        ask(line, client, screen)
        screen.rule()


def cost_of(client: Client) -> str:
    """What the prompt shows, and the tokens; the CLI's own /cost begins anew with each process."""
    tokens = sum(int(client.usage.get(name, 0)) for name in COUNTED)
    return f"${client.cost_usd:.4f} in this chat, {tokens:,} tokens"


def ask(prompt: str, client: Client, screen: Screen) -> None:
    """A question; whatever becomes of it, the conversation goes on, unless there is no CLI."""
    try:
        screen.wait(client.submit(prompt))
    except (KeyboardInterrupt, TurnInterrupted):
        screen.say("stopped", "wrong")
    except (CliNotFound, CliDidNotStart):
        raise
    except ClaudeError as error:
        screen.clear()
        complain(as_typed(error))


def run_in_shell(command: str, screen: Screen, cwd: Any) -> None:
    """What follows ``!``."""
    if not command.strip():
        screen.say("! runs what follows it in the shell: !ls", "faint")
        return
    try:
        code = subprocess.run(command, shell=True, cwd=cwd).returncode
    except KeyboardInterrupt:
        screen.say("")
        return
    except OSError as error:
        complain(f"the shell could not be started: {error}")
        return
    if code:
        screen.say(f"exit code {code}", "wrong")


def prompt_for(client: Client, screen: Screen) -> str:
    """What stands before the line that is typed."""
    cost = screen.styles.paint("faint", f"${client.cost_usd:.4f}")
    return f"{cost} {screen.styles.paint('user', '>')} "


def names_of(client: Client) -> List[str]:
    """The commands that can be completed."""
    names = set(OWN_COMMANDS)
    for command in client.supported_commands():
        # As it stands on the terminal, it has to be one word that does nothing.
        names.update(f"/{name}" for name in (command.name, *command.aliases) if name.isprintable())
    return sorted(names)
