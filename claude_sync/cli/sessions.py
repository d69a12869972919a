"""
``claude-sync sessions``: the conversations that the CLI has saved.

What is deleted goes to the trash, from which ``restore`` brings it back.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
from dataclasses import replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, List, Optional

from ..errors import UsageError
from ..support.styles import columns, is_terminal, palette, safe
from .common import OK, complain, here, on_terminal
from .painting import painter_for

if TYPE_CHECKING:
    from ..render.chats import Step
    from ..sessions import SessionInfo

__all__ = ["DESCRIPTION", "EPILOG", "add_arguments", "is_beginning", "run", "session_named"]

DESCRIPTION = """\
List, show, rename, delete and restore the conversations that the CLI has saved. This starts no
CLI.
"""

EPILOG = """\
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
  1    you were asked, and said no
  2    the command line was wrong, or there is no such session
  130  interrupted by Ctrl-C
"""

LAST = "last"
SHORTEST = 4
# Of an id in a list; all of it is in --json.
SHOWN = 8
BEGINNING = re.compile(rf"[0-9a-f][0-9a-f-]{{{SHORTEST - 1},}}", re.IGNORECASE)
# So many are named where a word means several.
MOST_NAMED = 5
NO = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What can be said on the command line, --offline excepted."""
    actions = parser.add_subparsers(metavar="ACTION", dest="action", required=True)
    listing = actions.add_parser("list", help="newest first", allow_abbrev=False)
    listing.add_argument("--all", action="store_true", help="of all folders, not only this one")
    listing.add_argument("--json", action="store_true", help="one JSON object per line")
    add_folder(listing)
    showing = actions.add_parser("show", help="what was said", allow_abbrev=False)
    showing.add_argument("session", metavar="ID")
    add_folder(showing)
    renaming = actions.add_parser("rename", help="give it a title", allow_abbrev=False)
    renaming.add_argument("session", metavar="ID")
    renaming.add_argument("title", metavar="TITLE")
    add_folder(renaming)
    deleting = actions.add_parser("delete", help="move it to the trash", allow_abbrev=False)
    deleting.add_argument("sessions", metavar="ID", nargs="+")
    deleting.add_argument(
        "--for-good", action="store_true", help="delete instead of moving to the trash"
    )
    deleting.add_argument("--yes", action="store_true", help="do not ask")
    add_folder(deleting)
    restoring = actions.add_parser("restore", help="bring it back", allow_abbrev=False)
    restoring.add_argument("folder", metavar="FOLDER", help="the folder that delete printed")
    for action in (listing, showing, renaming, deleting, restoring):
        action.add_argument("--offline", action="store_true", help=argparse.SUPPRESS)


def add_folder(parser: argparse.ArgumentParser) -> None:
    """Which folder's sessions are meant."""
    parser.add_argument(
        "--cwd",
        metavar="FOLDER",
        help="the folder of the conversation (default: this one; for an id, any)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Do what *arguments* say; the exit code."""
    return ACTIONS[arguments.action](arguments)


def run_list(arguments: argparse.Namespace) -> int:
    """``list``."""
    from ..sessions import list_sessions

    if arguments.all and arguments.cwd:
        raise UsageError("--all is every folder, and --cwd is one. Use one of them.")
    folder = None if arguments.all else arguments.cwd or here()
    found = list_sessions(folder)
    if arguments.json:
        for info in found:
            write_line(json.dumps(as_json(info)))
    elif found:
        for line in table(found, with_folder=arguments.all):
            write_line(line)
    else:
        complain("no saved conversations" + ("" if arguments.all else " of this folder; try --all"))
    return OK


def as_json(info: SessionInfo) -> Any:
    """A line of ``list --json``."""
    return {
        "session_id": info.session_id,
        "title": info.title,
        "modified": info.modified.isoformat(),
        "created": info.created.isoformat(),
        "cwd": info.cwd,
        "git_branch": info.git_branch,
        "size": info.size,
        "path": str(info.path),
    }


def table(found: List[SessionInfo], with_folder: bool) -> List[str]:
    """The lines of ``list``: on a terminal not longer than it is wide."""
    room = shutil.get_terminal_size().columns if is_terminal(sys.stdout) else None
    styles = palette()
    lines = []
    for info in found:
        head = f"{info.session_id[:SHOWN]}  {when(info.modified):>12}  "
        text = safe(info.title).replace("\n", " ")
        if with_folder and info.cwd:
            text += f"  ({safe(info.cwd)})"
        if room is not None:
            text = cut(text, room - len(head))
        lines.append(styles.paint("faint", head) + text)
    return lines


def when(time: datetime) -> str:
    """How long ago that was; of what is older than a week, the day."""
    seconds = (datetime.now(timezone.utc) - time).total_seconds()
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            many = int(seconds // size)
            return (
                f"{time.astimezone():%Y-%m-%d}"
                if many > 7 and unit == "d"
                else f"{many} {unit} ago"
            )
    return "just now"


def cut(text: str, room: int) -> str:
    """A text that fits."""
    room = max(room, 10)
    if columns(text) <= room:
        return text
    while columns(text) > room - 1:
        text = text[: min(len(text) - 1, room)]
    return text + "…"


def run_show(arguments: argparse.Namespace) -> int:
    """``show``: painted on a terminal, Markdown into a pipe."""
    from ..render.documents import written
    from ..render.sources import chat_of

    chat = chat_of(session_named(arguments.session, arguments.cwd))
    if is_terminal(sys.stdout):
        leave_pictures_out(chat.steps)
        painter = painter_for(sys.stdout.write, on_terminal=True)
        painter.feed(written(chat, "md"))
        painter.end()
    else:
        sys.stdout.write(written(chat, "md"))
    return OK


def leave_pictures_out(steps: List[Step]) -> None:
    """Pictures are told of: on a terminal they would be pages of letters."""
    for step in steps:
        step.pictures = tuple(replace(picture, data="") for picture in step.pictures)
        leave_pictures_out(step.steps)


def run_rename(arguments: argparse.Namespace) -> int:
    """``rename``."""
    from ..sessions import rename_session

    info = session_named(arguments.session, arguments.cwd)
    rename_session(info, arguments.title)
    complain(f"{info.session_id} is called {arguments.title!r} now")
    return OK


def run_delete(arguments: argparse.Namespace) -> int:
    """``delete``."""
    from ..sessions import delete_session

    named = [session_named(name, arguments.cwd) for name in arguments.sessions]
    found = list({info.path: info for info in named}.values())  # one may be named twice
    if arguments.for_good and not arguments.yes and not confirmed(found):
        return NO
    for info in found:
        place = delete_session(info, trash=not arguments.for_good)
        if place is None:
            complain(f"deleted for good: {info.session_id}")
        else:
            complain(f"in the trash: {info.session_id}. Bring it back with:")
            complain(f"  claude-sync sessions restore {place}")
    return OK


def confirmed(found: List[SessionInfo]) -> bool:
    """Whether the person means it."""
    if not on_terminal():
        raise UsageError("--for-good asks, and this is no terminal. Say --yes if you mean it.")
    for line in table(found, with_folder=True):
        write_line(line)
    try:
        return input("Delete for good? [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        return False


def run_restore(arguments: argparse.Namespace) -> int:
    """``restore``."""
    from ..sessions import restore_session

    complain(f"restored: {restore_session(arguments.folder).stem}")
    return OK


ACTIONS = {
    "list": run_list,
    "show": run_show,
    "rename": run_rename,
    "delete": run_delete,
    "restore": run_restore,
}


def session_named(name: str, cwd: Optional[str] = None) -> SessionInfo:
    """The one that an id, the beginning of one, or ``last`` means."""
    from ..sessions import list_sessions

    if name == LAST:
        of_folder = list_sessions(cwd or here())
        if not of_folder:
            raise UsageError(
                "this folder has no saved conversation. claude-sync sessions list --all shows "
                "those of others."
            )
        return of_folder[0]
    everything = list_sessions(cwd, everything=True)
    found = [info for info in everything if info.session_id.startswith(name.lower())]
    if len(name) < SHORTEST or not found:
        raise UsageError(
            f"there is no session {name!r}. Give its id, or at least {SHORTEST} letters of its "
            "beginning; claude-sync sessions list --all shows them."
        )
    if len(found) > 1 and len({info.session_id for info in found}) > 1:
        names = ", ".join(info.session_id for info in found[:MOST_NAMED])
        raise UsageError(f"{name!r} is the beginning of several: {names}. Give more of it.")
    return found[0]


def is_beginning(word: str) -> bool:
    """Whether a word can be the beginning of an id."""
    return BEGINNING.fullmatch(word) is not None


def write_line(text: str) -> None:
    """A line on stdout."""
    sys.stdout.write(text + "\n")
