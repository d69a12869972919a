"""
Take a saved conversation away, with everything that belongs to it, or bring it back.

What is taken away is moved to ``CONFIG/claude-sync-trash/TIME-SESSION/``, where
everything has the place it had below ``CONFIG``. Nothing there is ever deleted by
this library.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import UsageError
from ..log import logger
from .files import (
    SESSION_ID,
    SUFFIX,
    SessionNotFound,
    children,
    config_folder,
    config_of,
    find_session,
    side_files,
)

if TYPE_CHECKING:
    from .files import PathLike, Session

TRASH = "claude-sync-trash"
# Of a folder in it; with a number, if the same was deleted several times in a second.
NAME = re.compile(rf"\d{{8}}-\d{{6}}-({SESSION_ID.pattern})(?:-\d+)?")


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
    if not isinstance(deleted, (str, os.PathLike)):
        raise UsageError(f"restore_session() takes what delete_session() returned, not {deleted!r}")
    return restore(Path(deleted))


def move_to_trash(path: Path) -> Path:
    """Move a conversation and what belongs to it to the trash; the folder it is in then."""
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
    return folder


def new_folder(trash: Path, session_id: str) -> Path:
    """A folder of its own for a conversation that is deleted now."""
    time = datetime.now(timezone.utc).strftime("%Y%m%d-%H%M%S")
    number = 1
    while True:
        folder = trash / (f"{time}-{session_id}" + (f"-{number}" if number > 1 else ""))
        try:
            folder.mkdir(mode=0o700, parents=True)
        except FileExistsError:
            number += 1
        except OSError as exc:
            raise UsageError(
                f"the trash {trash} cannot be used: {exc}. Check its permissions, or delete for "
                "good with trash=False. Nothing was moved."
            ) from exc
        else:
            return folder


def move(source: Path, target: Path, session_id: str, advice: str = "") -> None:
    """Move a file or a folder; an error names the conversation it is about, and gives *advice*."""
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        shutil.move(os.fspath(source), os.fspath(target))
    except OSError as exc:
        raise UsageError(
            f"{source} of the session {session_id} cannot be moved to {target}: {exc}. "
            f"Check the permissions of both folders. {advice}".rstrip()
        ) from exc


def delete_for_good(path: Path) -> None:
    """Delete a conversation and what belongs to it."""
    beside = side_files(path)
    try:
        path.unlink()
    except FileNotFoundError as exc:
        raise SessionNotFound(path.stem, [str(path.parent)]) from exc
    except OSError as exc:
        raise UsageError(
            f"the session file {path} cannot be deleted: {exc}. Check its permissions."
        ) from exc
    for each in beside:
        try:
            if is_real_folder(each):
                shutil.rmtree(each)
            else:
                each.unlink()
        except OSError as exc:
            logger.warning("%s of a deleted session cannot be deleted: %s", each, exc)


def restore(folder: Path) -> Path:
    """
    Move everything in a folder of the trash back to its place; the conversation's file.

    What did not come from there, but was put into the trash by somebody, stays.
    """
    main = conversation_in(folder)
    if folder.parent.name != TRASH or main is None:
        raise UsageError(
            f"{folder} holds no deleted session. Pass the place that the deletion named, a folder "
            f"in {TRASH} of the CLI's own folder."
        )
    config = folder.parent.parent
    moves = [
        pair
        for each in moved_in(folder)
        for pair in moves_between(each, config / each.relative_to(folder))
    ]
    check_free([target for _, target in moves])
    # The conversation itself last: as long as it is here, what fails can be done again.
    for source, target in sorted(moves, key=lambda pair: pair[0] == main):
        move(source, target, main.stem, "Then call restore_session() once more.")
    for each, _, _ in os.walk(folder, topdown=False):
        with contextlib.suppress(OSError):  # there is something in it
            os.rmdir(each)
    return config / main.relative_to(folder)


def conversation_in(folder: Path) -> Path | None:
    """The file of the conversation that a folder of the trash is named after."""
    name = NAME.fullmatch(folder.name)
    if name is None:
        return None
    files = [each / (name.group(1) + SUFFIX) for each in children(folder / "projects")]
    found = [each for each in files if os.path.lexists(each)]
    return found[0] if len(found) == 1 else None


def moved_in(folder: Path) -> Iterator[Path]:
    """What :func:`move_to_trash` has put into a folder of the trash, piece by piece."""
    for kind in filter(is_real_folder, children(folder)):
        for each in children(kind):
            if kind.name != "projects":
                yield each
            elif is_real_folder(each):
                yield from children(each)


def moves_between(source: Path, target: Path) -> Iterator[tuple[Path, Path]]:
    """What is to be moved where: the whole, or into a folder that is there already its content."""
    if is_real_folder(source) and is_real_folder(target):
        for each in children(source):
            yield from moves_between(each, target / each.name)
    else:
        yield source, target


def is_real_folder(path: Path) -> bool:
    """Whether it is a folder and no link to one."""
    return path.is_dir() and not path.is_symlink()


def check_free(targets: list[Path]) -> None:
    """Raise UsageError if something is where a file would be moved to."""
    for target in targets:
        if os.path.lexists(target):
            raise UsageError(
                f"{target} exists, so the deleted session cannot come back to its place. "
                "Move that file away first. Nothing was moved."
            )
