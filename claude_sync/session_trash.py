"""
Take a saved conversation away, with everything that belongs to it, or bring it back.

What is taken away is moved to ``CONFIG/claude-sync-trash/TIME-SESSION/``, where
everything has the place it had below ``CONFIG``. Nothing there is ever deleted by
this library.
"""

from __future__ import annotations

import os
import shutil
from datetime import datetime, timezone
from pathlib import Path
from typing import List

from .errors import UsageError
from .log import logger
from .session_files import SUFFIX, SessionNotFound, config_of, side_files

TRASH = "claude-sync-trash"


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
            logger.warning("! %s", exc)
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


def move(source: Path, target: Path, session_id: str) -> None:
    """Move a file or a folder; an error names the conversation it is about."""
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        shutil.move(os.fspath(source), os.fspath(target))
    except OSError as exc:
        raise UsageError(
            f"{source} of the session {session_id} cannot be moved to {target}: {exc}. "
            "Check the permissions of both folders."
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
            if each.is_dir() and not each.is_symlink():
                shutil.rmtree(each)
            else:
                each.unlink()
        except OSError as exc:
            logger.warning("! %s of a deleted session cannot be deleted: %s", each, exc)


def restore(folder: Path) -> Path:
    """Move everything in a folder of the trash back to its place; the conversation's file."""
    config = folder.parent.parent
    files = [path for path in sorted(folder.rglob("*")) if not path.is_dir()]
    sessions = [each for each in files if each.relative_to(folder).parts[0] == "projects"]
    main = [each for each in sessions if each.stem in folder.name and each.suffix == SUFFIX]
    if folder.parent.name != TRASH or len(main) != 1:
        raise UsageError(
            f"{folder} holds no deleted session. Pass what delete_session() returned, a folder "
            f"in {TRASH} of the CLI's own folder."
        )
    check_free([config / each.relative_to(folder) for each in files])
    for each in files:
        move(each, config / each.relative_to(folder), main[0].stem)
    shutil.rmtree(folder, ignore_errors=True)
    return config / main[0].relative_to(folder)


def check_free(targets: List[Path]) -> None:
    """Raise UsageError if something is where a file would be moved to."""
    for target in targets:
        if target.exists():
            raise UsageError(
                f"{target} exists, so the deleted session cannot come back to its place. "
                "Move that file away first. Nothing was moved."
            )
