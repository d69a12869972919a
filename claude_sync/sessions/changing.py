"""Give saved conversations a title or a tag, or make a copy to go on from."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import UsageError
from ..log import logger
from ..protocol.codec import encode
from .files import (
    SUFFIX,
    Line,
    SessionNotFound,
    config_folder,
    find_session,
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
    """
    Add *lines* to a file that exists, in one piece: a CLI may be writing to it as well.

    The file does not become the newest by that, unless another program has written, too.
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
    """Write *data* to a file; a reader sees the old or the new content."""
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
