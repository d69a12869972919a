"""
The CLI's saved conversations: list, read, rename and delete them.

::

    from claude_sync import sessions

    newest = sessions.list_sessions(".")[0]
    print(newest.title, newest.modified)
    for message in sessions.read_session(newest):
        ...
    with claude_sync.Client(resume=newest.session_id, cwd=newest.cwd) as client:
        ...

These functions work on the files of the CLI, without starting one. A conversation is
named by its id, or by an item of :func:`list_sessions`. Where an id is unknown they
raise :exc:`SessionNotFound`.

Everywhere, ``cwd`` says which folder the conversation was held in (None: any), and
``config_dir`` where the CLI keeps its files (None: ``CLAUDE_CONFIG_DIR``, or ``~/.claude``).
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, List, Optional

from .errors import UsageError
from .log import logger
from .protocol.codec import encode
from .session_files import (
    SessionNotFound,
    config_folder,
    find_session,
    project_folders,
    real_path,
)
from .session_info import Listing, SessionInfo, title_file
from .session_lines import whole_letters

if TYPE_CHECKING:
    from .messages.base import Message
    from .session_files import PathLike, Session

__all__ = [
    "SessionInfo",
    "SessionNotFound",
    "delete_session",
    "list_sessions",
    "read_session",
    "rename_session",
    "restore_session",
]

# In ns. A file that got a title is this much newer: enough for CLIs that keep an index of
# titles to look into it again, too little to come before another in a list.
JUST_LATER = 1_000_000


def list_sessions(
    cwd: Optional[PathLike] = None,
    *,
    everything: bool = False,
    config_dir: Optional[PathLike] = None,
) -> List[SessionInfo]:
    """
    The saved conversations, the newest first.

    Args:
        cwd: Only those held in this folder; None for all of this user.
        everything: Also those in which nothing was asked: ``/clear`` begins a conversation of
            its own, and may be all there is in it. By its id each can be read and resumed.
        config_dir: Where the CLI keeps its files.

    Files that are damaged or cannot be read are left out, with a line in the log.

    """
    found = []
    for folder in project_folders(config_folder(config_dir), cwd):
        found.extend(Listing(folder, everything=everything).infos())
    if cwd is not None:
        # Different folders may share one name: a-b and a_b.
        path = real_path(cwd)
        found = [info for info in found if info.cwd in (None, path) or real_path(info.cwd) == path]
    return sorted(found, key=lambda info: info.modified, reverse=True)


def read_session(
    session: Session,
    cwd: Optional[PathLike] = None,
    *,
    subagents: bool = False,
    everything: bool = False,
    config_dir: Optional[PathLike] = None,
) -> List[Message]:
    """
    The messages of a conversation, of the same classes that handlers get.

    What was said before a compaction is included, what was given up by going on from an
    earlier message is not.

    Args:
        session: The id of a conversation, an item of :func:`list_sessions`, or a
            ``pathlib.Path`` of a file. A str is never a path, so that an id from
            elsewhere cannot lead to another file.
        cwd: The folder it was held in.
        subagents: Also what subagents said, after the call that started them; their
            messages have a ``parent_tool_use_id``.
        everything: Each line of the file instead, in its order: other branches, and the CLI's
            own notes, as ``Unknown``.
        config_dir: Where the CLI keeps its files.

    Raises:
        SessionNotFound: There is no such conversation.
        UsageError: *session* is no id, or its file cannot be read.

    """
    if subagents and everything:
        raise UsageError(
            "subagents sorts messages in, and everything gives the lines of one file as they are: "
            "use one of them"
        )
    path = path_given(session) or find_session(session, cwd, config_folder(config_dir))
    if everything:
        from .session_reading import read_everything

        return read_everything(path)
    if subagents:
        from .session_agents import read_with_agents

        return read_with_agents(path)
    from .session_reading import read_conversation

    return read_conversation(path)


def path_given(session: Session) -> Optional[Path]:
    """The file, if *session* is a path of one; None for an id and for an item of a list."""
    if not isinstance(session, os.PathLike):
        return None
    path = Path(session)
    if not path.is_file():
        raise SessionNotFound(str(path), [str(path.parent)])
    return path


def rename_session(
    session: Session,
    title: str,
    cwd: Optional[PathLike] = None,
    *,
    config_dir: Optional[PathLike] = None,
) -> None:
    """
    Give a conversation a title, in the way the CLI itself does.

    CLIs that know titles show it in their lists; the newest find it with
    ``claude --resume TITLE``. The conversation keeps its place in the list, and the one that
    ``continue_conversation=`` goes on with stays the same.

    Raises:
        SessionNotFound: There is no such conversation.
        UsageError: *title* is blank, or the file cannot be written.

    """
    if not isinstance(title, str) or not title.strip():
        raise UsageError(f"the title of a session is a str that is not blank, not {title!r}")
    title = whole_letters(" ".join(title.split()))
    path = find_session(session, cwd, config_folder(config_dir))
    lines = [
        {"type": "custom-title", "customTitle": title, "sessionId": path.stem},
        # Some CLIs show this one first, so that it must not stay as it was.
        {"type": "agent-name", "agentName": title, "sessionId": path.stem},
    ]
    try:
        append(path, b"".join(map(encode, lines)))
    except FileNotFoundError as exc:
        raise SessionNotFound(path.stem, [str(path.parent)]) from exc
    except OSError as exc:
        raise UsageError(
            f"the session file {path} cannot be written: {exc}. Check its permissions."
        ) from exc
    try:
        write_copy(title_file(path), encode({"customTitle": title}))
    except OSError as exc:
        logger.warning(
            "the title of session %s is written, but not its copy %s: %s",
            path.stem,
            title_file(path),
            exc,
        )


def append(path: Path, lines: bytes) -> None:
    """
    Add *lines* to a file that exists, in one piece: a CLI may be writing to it as well.

    The file does not become the newest by that, unless somebody else has written, too.
    """
    with open(
        os.open(path, os.O_RDWR | os.O_APPEND | getattr(os, "O_BINARY", 0)), "r+b", 0
    ) as file:
        before = os.fstat(file.fileno())
        if file.seek(0, os.SEEK_END):
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":  # a line that was cut off stays one by itself
                lines = b"\n" + lines
        file.write(lines)
    if path.stat().st_size == before.st_size + len(lines):
        with contextlib.suppress(OSError):  # only its owner may set the times of a file
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + JUST_LATER))


def write_copy(path: Path, data: bytes) -> None:
    """Write *data* to a file; whoever reads it sees the old or the new content."""
    import shutil
    import tempfile

    path.parent.mkdir(mode=0o700, exist_ok=True)
    # Of such a name that a CLI clears it away, should we be killed right now.
    handle, new = tempfile.mkstemp(prefix=f"{path.name}.tmp.", dir=path.parent)
    try:
        with open(handle, "wb") as file:
            file.write(data)
        with contextlib.suppress(FileNotFoundError):
            shutil.copymode(path, new)
        os.replace(new, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(new)
        raise


def delete_session(
    session: Session,
    cwd: Optional[PathLike] = None,
    *,
    trash: bool = True,
    config_dir: Optional[PathLike] = None,
) -> Optional[Path]:
    """
    Take a conversation away, with its subagents, file checkpoints and lists of things to do.

    It is moved to ``claude-sync-trash`` in the CLI's own folder; the result is the folder
    it is in then, from which :func:`restore_session` brings it back. With ``trash=False`` it
    is deleted for good, and the result is None. Close a client of the conversation first:
    a CLI that is still in it would write a new file.

    Raises:
        SessionNotFound: There is no such conversation.
        UsageError: *session* is no id, or its file cannot be moved or deleted.

    """
    from .session_trash import delete_for_good, move_to_trash

    path = find_session(session, cwd, config_folder(config_dir))
    if trash:
        return move_to_trash(path)
    delete_for_good(path)
    return None


def restore_session(deleted: PathLike) -> Path:
    """
    Bring a conversation back that was deleted; the result is its file.

    Args:
        deleted: What :func:`delete_session` returned.

    Raises:
        UsageError: There is nothing of that kind, or something is in its place.

    """
    from .session_trash import restore

    if not isinstance(deleted, (str, os.PathLike)):
        raise UsageError(f"restore_session() takes what delete_session() returned, not {deleted!r}")
    return restore(Path(deleted))
