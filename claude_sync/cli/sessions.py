"""
``claude-sync sessions`` and ``claude-sync export``: the conversations that the CLI has saved.

What is deleted goes to the trash, from which ``restore`` brings it back.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
from dataclasses import replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from ..support.styles import columns, is_terminal, palette, safe
from .common import FAILED, OK, complain, here, on_terminal, option, write_line
from .view import View

if TYPE_CHECKING:
    from ..render.chats import Step
    from ..sessions import SessionInfo

LAST = "last"
SHORTEST = 4
# Of an id in a list; all of it is in --json.
SHOWN = 8
IN_JSON = ("session_id", "title", "modified", "created", "cwd", "git_branch", "size")
BEGINNING = re.compile(rf"[0-9a-f][0-9a-f-]{{{SHORTEST - 1},}}", re.IGNORECASE)
# So many are named where a word means several.
MOST_NAMED = 5
# What is older than so many days is listed with its date.
MOST_DAYS = 7


def sessions(arguments: argparse.Namespace) -> int:
    """
    List, show, rename, delete and restore the conversations that the CLI has saved. This starts no
    CLI.

    examples:
      claude-sync sessions list
      claude-sync sessions list --all --json
      claude-sync sessions show last
      claude-sync sessions rename 1b4e28ba "The parser"
      claude-sync sessions delete 1b4e28ba
      claude-sync chat --resume 1b4e28ba

    ID is an id, or the beginning of one, or "last" for the newest of this folder.

    exit codes:
      0    done
      1    you were asked, and answered no
      2    the command line was wrong, or there is no such session
      130  interrupted by Ctrl-C
    """
    from .. import sessions as library

    action = arguments.action
    if action == "list":
        list_them(arguments)
    elif action == "show":
        show(session_named(arguments.session, arguments.cwd))
    elif action == "rename":
        info = session_named(arguments.session, arguments.cwd)
        library.rename_session(info, arguments.title)
        complain(f"{info.session_id} is called {arguments.title!r} now")
    elif action == "restore":
        complain(f"restored: {library.restore_session(arguments.folder).stem}")
    else:
        return delete(arguments)
    return OK


def sessions_arguments(parser: argparse.ArgumentParser) -> None:
    """What can be said on the command line, --offline excepted."""
    actions = parser.add_subparsers(
        metavar="ACTION", dest="action", required=True, parser_class=argparse.ArgumentParser
    )
    for name, help_text, *words in (
        ("list", "newest first"),
        ("show", "what was said", "session"),
        ("rename", "give it a title", "session", "title"),
        ("delete", "move it to the trash", "sessions"),
        ("restore", "bring it back", "folder"),
    ):
        action = actions.add_parser(name, help=help_text, allow_abbrev=False)
        for word in words:
            metavar = "ID" if word.startswith("session") else word.upper()
            action.add_argument(word, metavar=metavar, nargs="+" if word == "sessions" else None)
        option(action, "--offline", argparse.SUPPRESS)
        if name == "list":
            option(action, "--all", "list the conversations of all folders")
            option(action, "--json", "one JSON object per line")
        elif name == "delete":
            option(action, "--for-good", "delete instead of moving to the trash")
            option(action, "--yes", "do not ask")
        if name != "restore":
            text = "the folder of the conversation (default: the current one; with an id: any)"
            option(action, "--cwd FOLDER", text)


def list_them(arguments: argparse.Namespace) -> None:
    """``list``."""
    from ..sessions import list_sessions

    if arguments.all and arguments.cwd:
        raise UsageError("--all means every folder, and --cwd one folder. Use only one of them.")
    found = list_sessions(None if arguments.all else arguments.cwd or here())
    if arguments.json:
        for info in found:
            times = {name: getattr(info, name).isoformat() for name in ("modified", "created")}
            told = {name: getattr(info, name) for name in IN_JSON}
            write_line(json.dumps({**told, **times, "path": str(info.path)}))
    elif found:
        print_table(found, with_folder=arguments.all)
    else:
        complain("no saved conversations" + ("" if arguments.all else " of this folder; try --all"))


def print_table(found: list[SessionInfo], with_folder: bool) -> None:
    """A line for each; on a terminal not longer than it is wide."""
    room = shutil.get_terminal_size().columns
    styles = palette()
    for info in found:
        head = f"{info.session_id[:SHOWN]}  {age_of(info.modified):>12}  "
        text = safe(info.title).replace("\n", " ")
        if with_folder and info.cwd:
            text += f"  ({safe(info.cwd)})"
        if is_terminal(sys.stdout) and columns(head + text) > room:
            while columns(head + text) >= room:
                text = text[:-1]
            text += "…"
        write_line(styles.paint("faint", head) + text)


def age_of(time: datetime) -> str:
    """How long ago that was; of what is older than a week, the day."""
    seconds = (datetime.now(timezone.utc) - time).total_seconds()
    if seconds >= (MOST_DAYS + 1) * 86_400:
        return f"{time.astimezone():%Y-%m-%d}"
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit} ago"
    return "just now"


def show(info: SessionInfo) -> None:
    """``show``: painted on a terminal, Markdown into a pipe."""
    from ..render.documents import written
    from ..render.sources import chat_of

    chat = chat_of(info)
    view = View()
    if view.on_terminal:
        leave_pictures_out(chat.steps)
    view.feed(written(chat, "md"))


def leave_pictures_out(steps: list[Step]) -> None:
    """Pictures are told of: on a terminal they would be pages of letters."""
    for step in steps:
        step.pictures = tuple(replace(picture, data="") for picture in step.pictures)
        leave_pictures_out(step.steps)


def delete(arguments: argparse.Namespace) -> int:
    """``delete``."""
    from ..sessions import delete_session

    named = [session_named(name, arguments.cwd) for name in arguments.sessions]
    found = list({info.path: info for info in named}.values())  # one may be named twice
    if arguments.for_good and not arguments.yes:
        if not on_terminal():
            raise UsageError(
                "--for-good asks first, and this is not a terminal. Add --yes to delete without "
                "being asked."
            )
        print_table(found, with_folder=True)
        if input("Delete for good? [y/N] ").strip().lower() not in ("y", "yes"):
            return FAILED
    for info in found:
        place = delete_session(info, trash=not arguments.for_good)
        if place is None:
            complain(f"deleted for good: {info.session_id}")
        else:
            complain(f"in the trash: {info.session_id}. Bring it back with:")
            complain(f"  claude-sync sessions restore {place}")
    return OK


def session_named(name: str, cwd: str | None = None) -> SessionInfo:
    """The one that an id, the beginning of one, or ``last`` means."""
    from ..sessions import list_sessions

    if name == LAST:
        newest = list_sessions(cwd or here(), limit=1)
        if not newest:
            raise UsageError(
                "this folder has no saved conversation. claude-sync sessions list --all shows "
                "those of others."
            )
        return newest[0]
    everything = list_sessions(cwd, everything=True)
    found = [info for info in everything if info.session_id.startswith(name.lower())]
    if len(name) < SHORTEST or not found:
        raise UsageError(
            f"there is no session {name!r}. Give its id, or at least {SHORTEST} letters of its "
            "beginning; claude-sync sessions list --all shows them."
        )
    ids = list(dict.fromkeys(info.session_id for info in found))
    if len(ids) > 1:
        names = ", ".join(ids[:MOST_NAMED])
        raise UsageError(f"{name!r} is the beginning of several: {names}. Give more of it.")
    return found[0]


def export(arguments: argparse.Namespace) -> int:
    """
    Write a conversation as Markdown, as a single HTML file, or as JSON. Saved sessions are exported
    as they are, secrets included: look at what you give away. Recordings have theirs removed.

    examples:
      claude-sync export 1b4e28ba -o chat.html
      claude-sync export last -o chat.md
      claude-sync export recording.jsonl -o chat.html --title "How it went"
      claude-sync export last --format md | less

    SESSION is an id, or the beginning of one; "last" for the newest of this folder; or the path
    of a recording (claude-sync record) or of a session's own file.

    exit codes:
      0    written
      2    the command line was wrong, there is no such session, or the file cannot be written
      130  interrupted by Ctrl-C
    """
    from ..render.documents import export as export_source

    name, output = arguments.session, arguments.output
    if os.path.isfile(name):
        source = name
    elif os.sep in name or name.endswith((".jsonl", ".json")):
        raise UsageError(f"there is no file {name!r}. Check its name.")
    else:
        source = session_named(name, arguments.cwd)
    output = None if output == "-" else output
    format = arguments.format or ("md" if output is None else None)
    written = export_source(source, output, format=format, title=arguments.title)
    if output is None:
        # A terminal would obey what tools have printed.
        sys.stdout.write(safe(str(written)) if is_terminal(sys.stdout) else str(written))
    else:
        complain(f"written: {written}")
    return OK


def export_arguments(parser: argparse.ArgumentParser) -> None:
    """What can be said on the command line, --offline excepted."""
    text = "an id, the beginning of one, last, or a file"
    parser.add_argument("session", metavar="SESSION", help=text)
    option(parser, "-o --output FILE", ".md, .html or .json (default, and -: stdout)")
    choices: Any = {"choices": ("md", "html", "json")}
    option(
        parser, "--format", "the format, if the file name does not imply it (stdout: md)", **choices
    )
    option(parser, "--title TITLE", "use this title")
    option(parser, "--cwd FOLDER", "the folder of the conversation")
