"""
Where the CLI keeps its conversations, and how to read the files, whatever state they are in.

::

    CONFIG/projects/FOLDER/SESSION.jsonl          one conversation
    CONFIG/projects/FOLDER/SESSION/subagents/     its subagents; also its title, and more
    CONFIG/file-history/SESSION/ and others       what else belongs to it

``CONFIG`` is ``CLAUDE_CONFIG_DIR`` or ``~/.claude``, ``SESSION`` is a UUID, and ``FOLDER``
is the real path of the folder the conversation was held in, with a dash for
everything that is not an ASCII letter or digit (in JavaScript's way of counting, so two
for an emoji). The newest CLIs cut that name after 200 characters and add a checksum
of the path; older ones cannot save conversations in folders with such names.

Each line of a file is a JSON object. A CLI may be writing the file right now, or was killed
while it did, so lines that hold no JSON object are left out. A line can be very long: one
picture makes megabytes.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Dict, Union

from ..errors import UsageError
from ..log import logger
from ..protocol.codec import decode
from ..support.checks import check_path

if TYPE_CHECKING:
    from .listing import SessionInfo

    PathLike = Union[str, os.PathLike[str]]
    Session = Union[str, os.PathLike[str], SessionInfo]

__all__ = ["SessionNotFound"]

Line = Dict[str, Any]

SUFFIX = ".jsonl"
SESSION_ID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
NOT_IN_NAMES = re.compile("[^a-zA-Z0-9]")
LONGEST_NAME = 200

# Where to look for how a conversation began: so far, but a line that was begun is finished.
OPENING = 512 * 1024
# No prompt is that long; a file without line ends might be.
LONGEST_OPENING_LINE = 16 * 1024 * 1024


class SessionNotFound(UsageError, LookupError):
    """
    There is no saved conversation of that id.

    Attributes:
        session_id: The id, or the path.
        searched: The folders looked at.

    """

    _advice = (
        "list_sessions() has those that exist. They belong to the folder they were held in "
        "(cwd=...), and to the CLI's own folder: CLAUDE_CONFIG_DIR, or config_dir=..."
    )
    _user_message = "This conversation no longer exists."

    def __init__(self, session_id: str, searched: Sequence[str]) -> None:
        super().__init__(session_id, option="session_id", value=session_id)
        self.session_id = session_id
        self.searched = tuple(searched)

    @property
    def problem(self) -> str:
        """Which session is missing, and the folders looked at."""
        places = "\n".join(f"  - {place}" for place in self.searched)
        return f"there is no saved session {self.session_id}. Looked at:\n{places}"


# Places.


def config_folder(given: PathLike | None = None) -> Path:
    """The folder where the CLI keeps everything: *given*, or where it would look itself."""
    if given is not None:
        return Path(check_path("config_dir", given))
    found = os.environ.get("CLAUDE_CONFIG_DIR")
    return Path(found) if found else Path.home() / ".claude"


def project_name(path: str) -> str:
    """The name of the folder for conversations held in *path*, however long it gets."""
    # JavaScript counts UTF-16 units: what is outside the basic plane counts twice.
    units = "".join("--" if ord(sign) > 0xFFFF else sign for sign in path)
    return NOT_IN_NAMES.sub("-", units)


def real_path(cwd: PathLike) -> str:
    """*cwd* as the CLI sees it: absolute, symbolic links resolved."""
    check_path("cwd", cwd)
    return os.path.realpath(cwd)


def project_folders(config: Path, cwd: PathLike | None = None) -> list[Path]:
    """The folders with conversations held in *cwd*, or all of them; such as exist."""
    folders = children(config / "projects")
    if cwd is not None:
        name = project_name(real_path(cwd))
        # The checksum at the end of a name that was cut is not looked at: what is listed says
        # itself where it was held.
        folders = [
            path
            for path in folders
            if path.name == name
            or (len(name) > LONGEST_NAME and path.name.startswith(name[:LONGEST_NAME]))
        ]
    return [path for path in folders if is_folder(path)]


def is_folder(path: Path) -> bool:
    """Whether it is one, or a link to one; a name that is too long for the system is none."""
    try:
        return path.is_dir()
    except OSError:
        return False


def entries_of(folder: Path) -> list[os.DirEntry[str]]:
    """What is in a folder, sorted by name; nothing if it is missing or closed to us."""
    try:
        with os.scandir(folder) as found:
            return sorted(found, key=lambda entry: entry.name)
    except FileNotFoundError:
        return []
    except OSError as exc:
        logger.warning("%s cannot be read and is left out: %s", folder, exc)
        return []


def children(folder: Path) -> list[Path]:
    """The same, as paths."""
    return [Path(entry.path) for entry in entries_of(folder)]


def worktrees_of(cwd: PathLike) -> list[str]:
    """The folder *cwd*, and those of all worktrees of its git repository. Git is not run."""
    path = Path(real_path(cwd))
    found = [str(path)]
    top = next((each for each in (path, *path.parents) if (each / ".git").exists()), None)
    if top is None:
        return found
    common: Path | None = top / ".git"
    if (top / ".git").is_file():
        private = pointed_at(top / ".git", "gitdir:")
        common = pointed_at(private / "commondir") if private is not None else None
    if common is None:
        return found
    if common.name == ".git":
        found.append(str(common.parent))
    for each in children(common / "worktrees"):
        file = pointed_at(each / "gitdir")
        if file is not None and file.exists():
            found.append(str(file.parent))
    return list(dict.fromkeys(map(real_path, found)))


def pointed_at(file: Path, prefix: str = "") -> Path | None:
    """The path that a file of git's holds, which may be relative to its folder."""
    try:
        text = file.read_text(encoding="utf-8", errors="surrogateescape").strip()
    except OSError:
        return None
    text = text.removeprefix(prefix).strip()
    return Path(os.path.normpath(file.parent / text)) if text else None


# Sessions.


def session_entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    """The files of conversations in a folder of them; subagents and indexes are none."""
    for entry in entries_of(folder):
        stem, suffix = os.path.splitext(entry.name)
        if suffix == SUFFIX and SESSION_ID.fullmatch(stem):
            yield entry


def find_session(session: Session, cwd: PathLike | None, config: Path) -> Path:
    """
    The file of a conversation, given by its id or as a SessionInfo.

    Raises:
        SessionNotFound: There is none.
        UsageError: *session* is no id, or there are several (one id in two folders).

    """
    given = getattr(session, "path", None)
    if isinstance(given, Path):
        if not given.is_file():
            raise SessionNotFound(given.stem, [str(given.parent)])
        return given
    if not isinstance(session, str) or not SESSION_ID.fullmatch(session):
        raise UsageError(
            f"{session!r} is not the id of a session: that is a UUID, as list_sessions() shows it "
            "in .session_id, and as client.session_id and answer.session_id have it. "
            "read_session() takes a file as well, as a pathlib.Path."
        )
    folders = project_folders(config, cwd)
    found = [path for path in (each / (session + SUFFIX) for each in folders) if has_data(path)]
    if not found:
        searched = [str(each) for each in folders] if cwd is not None else []
        raise SessionNotFound(session, searched or [str(config / "projects")])
    if len(found) > 1:
        places = "\n".join(f"  - {path}" for path in found)
        raise UsageError(
            f"the session {session} is there several times:\n{places}\n"
            "Say which one with cwd=..., or pass an item of list_sessions()."
        )
    return found[0]


def has_data(path: Path) -> bool:
    """Whether it is a file that is not empty: some CLIs leave empty ones behind."""
    try:
        status = path.stat()
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and status.st_size > 0


def config_of(path: Path) -> Path:
    """The CLI's folder that the file of a conversation is in."""
    return path.parents[2]


def agent_files(path: Path) -> list[Path]:
    """The files of a conversation's subagents."""
    return sorted(path.with_suffix("").glob("subagents/**/agent-*" + SUFFIX))


def side_files(path: Path) -> list[Path]:
    """Files and folders, other than its own, that belong to this conversation alone."""
    session_id, config = path.stem, config_of(path)
    found = [path.with_suffix("")]
    if not has_copy(path):
        kinds = ("file-history", "tasks", "session-env")
        found.extend(config / kind / session_id for kind in kinds)
        found.append(config / "debug" / f"{session_id}.txt")
        found.extend(sorted((config / "todos").glob(f"{session_id}-agent-*.json")))
    return [each for each in found if os.path.lexists(each)]


def has_copy(path: Path) -> bool:
    """Whether a conversation of the same id is in another folder; they share what is elsewhere."""
    here = os.path.realpath(path.parent)
    return any(
        has_data(folder / path.name)
        for folder in project_folders(config_of(path))
        if os.path.realpath(folder) != here
    )


# Lines.


def opening_lines(file: BinaryIO) -> Iterator[Line]:
    """The JSON objects at the beginning of a file."""
    taken = 0
    while taken < OPENING:
        line = file.readline(LONGEST_OPENING_LINE)
        if not line:
            return
        taken += len(line)
        found = decode(line)
        if found is not None:
            yield found


def read_lines(path: Path, containing: bytes = b"") -> Iterator[Line]:
    """
    The JSON objects of a file, in order; those without the bytes *containing* are passed over.

    Raises:
        UsageError: The file cannot be read; the text says why.

    """
    damaged = 0
    try:
        with path.open("rb") as file:
            for line in file:
                if containing not in line:
                    continue
                found = decode(line)
                if found is not None:
                    yield found
                elif line.endswith(b"\n") and line.strip():
                    damaged += 1
    except OSError as exc:
        raise UsageError(
            f"the session file {path} cannot be read: {exc}. "
            "Check that it exists and that this user may read it."
        ) from exc
    if damaged:
        logger.warning("%s: %d damaged lines were left out", path, damaged)


def text_at(line: Mapping[str, Any], key: str) -> str | None:
    """A text of a line, or None."""
    value = line.get(key)
    return value if isinstance(value, str) and value else None


def whole_letters(text: str) -> str:
    """*text* with a replacement for halves of letters, which cannot be printed or sent."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def time_at(line: Mapping[str, Any], key: str = "timestamp") -> datetime | None:
    """A time of a line, or None."""
    text = text_at(line, key)
    if text is None:
        return None
    try:
        # Before 3.11 the letter for UTC is not understood.
        found = datetime.fromisoformat(text[:-1] + "+00:00" if text.endswith("Z") else text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=timezone.utc)
