"""
Give saved conversations a title or a tag, copy them, take them away, or bring them back.

What is deleted is moved to ``CONFIG/claude-sync-trash/TIME-SESSION/``, where everything has the
place it had below ``CONFIG``. Nothing there is ever deleted by this library.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import shutil
import tempfile
import uuid
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import UsageError
from ..log import logger
from ..protocol.codec import encode
from .files import (
    SESSION_ID,
    SUFFIX,
    Line,
    SessionNotFound,
    children,
    config_folder,
    config_of,
    find_session,
    side_files,
    text_at,
    whole_letters,
)
from .listing import describe, one_line, session_info, title_file
from .reading import main_lines, tree_lines

if TYPE_CHECKING:
    from .files import PathLike, Session
    from .listing import SessionInfo

# In ns. A file that got a title is this much newer: enough for CLIs that keep an index of
# titles to look into it again, too little to come before another in a list.
JUST_LATER = 1_000_000

TRASH = "claude-sync-trash"
# Of a folder in it; with a number, if the same was deleted several times in a second.
NAME = re.compile(rf"\d{{8}}-\d{{6}}-({SESSION_ID.pattern})(?:-\d+)?")


def rename_session(
    session: Session,
    title: str,
    cwd: PathLike | None = None,
    *,
    config_dir: PathLike | None = None,
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
    title = checked_words("the title of a session", title)
    path = find_session(session, cwd, config_folder(config_dir))
    note(path, title_lines(title, path.stem))
    try:
        write_copy(title_file(path), encode({"customTitle": title}))
    except OSError as exc:
        logger.warning(
            "the title of session %s is written, but not its copy %s: %s",
            path.stem,
            title_file(path),
            exc,
        )


def tag_session(
    session: Session,
    tag: str | None,
    cwd: PathLike | None = None,
    *,
    config_dir: PathLike | None = None,
) -> None:
    """
    Mark a conversation with a word, which :class:`SessionInfo` has as ``tag``; None removes it.

    Raises:
        SessionNotFound: There is no such conversation.
        UsageError: *tag* is blank, or the file cannot be written.

    """
    word = "" if tag is None else checked_words("the tag of a session", tag)
    path = find_session(session, cwd, config_folder(config_dir))
    note(path, [{"type": "tag", "tag": word, "sessionId": path.stem}])


def fork_session(
    session: Session,
    cwd: PathLike | None = None,
    *,
    up_to: str | None = None,
    title: str | None = None,
    config_dir: PathLike | None = None,
) -> SessionInfo:
    """
    Copy a conversation, so that both can be gone on with; the result is the copy.

    The copy has the newest branch of the conversation, without its subagents and its file
    checkpoints. No CLI is started; ``Client(resume=..., fork_session=True)`` does the same
    with one.

    Args:
        session: The id of a conversation, or an item of :func:`list_sessions`.
        cwd: The folder it was held in.
        up_to: The ``uuid`` of the last message to copy; None for all.
        title: The title of the copy; without one it is called as the original, "(fork)".
        config_dir: Where the CLI keeps its files.

    Raises:
        SessionNotFound: There is no such conversation.
        UsageError: It has no such message, or the copy cannot be written.

    """
    if title is not None:
        title = checked_words("the title of a session", title)
    path = find_session(session, cwd, config_folder(config_dir))
    lines = [line for line in main_lines(tree_lines(path)) if line.get("type") != "progress"]
    if up_to is not None:
        places = [place for place, line in enumerate(lines) if line["uuid"] == up_to]
        if not places:
            raise UsageError(
                f"the session {path.stem} has no message {up_to!r}. up_to= takes the uuid of a "
                "message of read_session()."
            )
        lines = lines[: places[0] + 1]
    if not lines:
        raise UsageError(f"the session {path.stem} has no messages, so there is nothing to copy.")
    new = path.with_name(str(uuid.uuid4()) + SUFFIX)
    title = title or one_line(f"{describe(path)[0].title} (fork)")
    copies = [*forked(lines, path.stem, new.stem), *title_lines(title, new.stem)]
    try:
        handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(handle, "wb") as file:
            file.write(b"".join(map(encode, copies)))
    except OSError as exc:
        raise UsageError(f"the copy {new} cannot be written: {exc}.") from exc
    return session_info(new.stem, cwd, config_dir=config_dir)


def forked(lines: list[Line], old: str, new: str) -> list[Line]:
    """These lines as those of another conversation: each gets an id of its own."""
    ids = {line["uuid"]: str(uuid.uuid4()) for line in lines}
    found: list[Line] = []
    before = None
    for line in lines:
        copy = {**line, "uuid": ids[line["uuid"]], "sessionId": new}
        for name in ("parentUuid", "logicalParentUuid", "sourceToolAssistantUUID"):
            known = text_at(line, name)
            if known is not None:
                # What it names may be damaged, or a sign of progress, which is left out.
                copy[name] = ids.get(known, before)
        copy["forkedFrom"] = {"sessionId": old, "messageUuid": line["uuid"]}
        found.append(copy)
        before = copy["uuid"]
    return found


def title_lines(title: str, session_id: str) -> list[Line]:
    """What a CLI writes into the file of a conversation that gets a title."""
    return [
        {"type": "custom-title", "customTitle": title, "sessionId": session_id},
        # Some CLIs show this one first, so that it must not stay as it was.
        {"type": "agent-name", "agentName": title, "sessionId": session_id},
    ]


def checked_words(what: str, text: object) -> str:
    """A text as one line; UsageError for what is none, or blank."""
    if not isinstance(text, str) or not text.strip():
        raise UsageError(f"{what} is a str that is not blank, not {text!r}")
    return whole_letters(" ".join(text.split()))


def note(path: Path, lines: list[Line]) -> None:
    """Add lines to the file of a conversation."""
    try:
        append(path, b"".join(map(encode, lines)))
    except FileNotFoundError as exc:
        raise SessionNotFound(path.stem, [str(path.parent)]) from exc
    except OSError as exc:
        raise UsageError(
            f"the session file {path} cannot be written: {exc}. Check its permissions."
        ) from exc


def append(path: Path, lines: bytes) -> None:
    """Add *lines* in one piece to a file that exists, without making it the newest of its list."""
    flags = os.O_RDWR | os.O_APPEND | getattr(os, "O_BINARY", 0)
    with open(os.open(path, flags), "r+b", 0) as file:
        before = os.fstat(file.fileno())
        if before.st_size:
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":  # a line that was cut off stays one by itself
                lines = b"\n" + lines
        file.write(lines)
    with contextlib.suppress(OSError):  # only its owner may set the times of a file
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + JUST_LATER))


def write_copy(path: Path, data: bytes) -> None:
    """Write *data* to a file; a reader sees the old or the new content."""
    path.parent.mkdir(mode=0o700, exist_ok=True)
    # Of such a name that a CLI clears it away, should we be killed right now.
    handle, new = tempfile.mkstemp(prefix=f"{path.name}.tmp.", dir=path.parent)
    try:
        with open(handle, "wb") as file:
            file.write(data)
        os.replace(new, path)
    except OSError:
        os.unlink(new)
        raise


# To the trash and back.


def delete_session(
    session: Session,
    cwd: PathLike | None = None,
    *,
    trash: bool = True,
    config_dir: PathLike | None = None,
) -> Path | None:
    """
    Delete a conversation, with its subagents, file checkpoints and lists of things to do.

    It is moved to ``claude-sync-trash`` in the CLI's own folder; the result is the folder
    it is in then, from which :func:`restore_session` brings it back. With ``trash=False`` it
    is deleted for good, and the result is None. Close a client of the conversation first:
    a CLI that is still in it would write a new file.

    Raises:
        SessionNotFound: There is no such conversation.
        UsageError: *session* is no id, or its file cannot be moved or deleted.

    """
    path = find_session(session, cwd, config_folder(config_dir))
    config = config_of(path)
    folder = new_folder(config / TRASH, path.stem)
    beside = side_files(path)
    # The conversation itself first: with it away, the rest can do no harm where it is.
    move(path, folder / path.relative_to(config), path.stem)
    for each in beside:
        try:
            move(each, folder / each.relative_to(config), path.stem)
        except UsageError as exc:
            logger.warning("%s", exc)
    if trash:
        return folder
    try:
        shutil.rmtree(folder)
    except OSError as exc:
        raise UsageError(f"{folder} cannot be deleted: {exc}. Check its permissions.") from exc
    with contextlib.suppress(OSError):  # there are others in it
        folder.parent.rmdir()
    return None


def new_folder(trash: Path, session_id: str) -> Path:
    """A folder for a conversation that is deleted now."""
    time = datetime.now(timezone.utc).strftime("%Y%m%d-%H%M%S")
    for number in itertools.count(1):
        folder = trash / (f"{time}-{session_id}" + (f"-{number}" if number > 1 else ""))
        try:
            folder.mkdir(mode=0o700, parents=True)
        except FileExistsError:
            continue
        except OSError as exc:
            raise UsageError(
                f"the trash {trash} cannot be used: {exc}. Check its permissions. Nothing was "
                "moved."
            ) from exc
        break
    return folder


def move(source: Path, target: Path, session_id: str) -> None:
    """Move a file or a folder; an error names the conversation it is about."""
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        shutil.move(os.fspath(source), os.fspath(target))
    except FileNotFoundError as exc:
        raise SessionNotFound(session_id, [str(source.parent)]) from exc
    except OSError as exc:
        raise UsageError(
            f"{source} of the session {session_id} cannot be moved to {target}: {exc}. "
            "Check the permissions of both folders, and try again."
        ) from exc


def restore_session(deleted: PathLike) -> Path:
    """
    Bring a conversation back that was deleted; the result is its file.

    Args:
        deleted: What :func:`delete_session` returned.

    Raises:
        UsageError: There is nothing of that kind, or something is in its place.

    """
    if not isinstance(deleted, (str, os.PathLike)):
        raise UsageError(f"restore_session() takes what delete_session() returned, not {deleted!r}")
    folder = Path(deleted)
    name = NAME.fullmatch(folder.name)
    main = list(folder.glob(f"projects/*/{name.group(1)}{SUFFIX}")) if name else []
    if folder.parent.name != TRASH or len(main) != 1:
        raise UsageError(
            f"{folder} holds no deleted session. Pass the place that the deletion named, a folder "
            f"in {TRASH} of the CLI's own folder."
        )
    config = folder.parent.parent
    folders = [Path(each) for each, _, _ in os.walk(folder)]
    # Links to folders are moved as what they are. What is not of a conversation was put there by
    # somebody, and stays.
    not_ours = (folder, folder / "projects")
    found = [path for each in folders if each not in not_ours for path in children(each)]
    moved = [path for path in found if path not in folders]
    for path in moved:
        target = config / path.relative_to(folder)
        if os.path.lexists(target):
            raise UsageError(
                f"{target} exists, so the deleted session cannot come back to its place. "
                "Move that file away first. Nothing was moved."
            )
    # The conversation itself last: as long as it is here, what fails can be done again.
    for path in sorted(moved, key=main.__contains__):
        move(path, config / path.relative_to(folder), main[0].stem)
    for each in reversed(folders):
        with contextlib.suppress(OSError):  # there is something in it
            each.rmdir()
            (config / each.relative_to(folder)).mkdir(mode=0o700, parents=True)
    return config / main[0].relative_to(folder)
