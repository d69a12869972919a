"""
Where the CLI keeps its conversations, and which file is which.

::

    CONFIG/projects/FOLDER/SESSION.jsonl          one conversation
    CONFIG/projects/FOLDER/SESSION/subagents/     its subagents; also its title, and more
    CONFIG/projects/FOLDER/agent-ID.jsonl         a subagent, as some older CLIs have it
    CONFIG/file-history/SESSION/ and others       what else belongs to it

``CONFIG`` is ``CLAUDE_CONFIG_DIR`` or ``~/.claude``, ``SESSION`` is a UUID, and ``FOLDER``
is the real path of the folder the conversation was held in, with a dash for
everything that is not an ASCII letter or digit (in JavaScript's way of counting, so two
for an emoji). The newest CLIs cut that name after 200 characters and add a checksum
of the path; older ones cannot save conversations in folders with such names.

Nothing here changes a file.
"""

from __future__ import annotations

import itertools
import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Dict, Iterator, List, Optional, Sequence, Union

from .errors import UsageError
from .log import logger
from .session_lines import opening_lines, text_at

if TYPE_CHECKING:
    from .session_info import SessionInfo

    PathLike = Union[str, os.PathLike[str]]
    Session = Union[str, os.PathLike[str], SessionInfo]

__all__ = ["SessionNotFound"]

SUFFIX = ".jsonl"
SESSION_ID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
NOT_IN_NAMES = re.compile("[^a-zA-Z0-9]")
LONGEST_NAME = 200
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


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
        super().__init__(session_id, tuple(searched), option="session_id", value=session_id)
        self.session_id = session_id
        self.searched = tuple(searched)

    @property
    def problem(self) -> str:
        """Which session is missing, and the folders looked at."""
        places = "\n".join(f"  - {place}" for place in self.searched)
        return f"there is no saved session {self.session_id}. Looked at:\n{places}"


# Places.


def config_folder(given: Optional[PathLike] = None) -> Path:
    """The folder where the CLI keeps everything: *given*, or where it would look itself."""
    if given is None:
        found = os.environ.get("CLAUDE_CONFIG_DIR")
        return Path(found) if found else Path.home() / ".claude"
    return Path(path_text("config_dir", given))


def path_text(name: str, value: PathLike) -> str:
    """A path as a str; UsageError for what is none."""
    if not isinstance(value, (str, os.PathLike)) or not os.fspath(value):
        raise UsageError(f"{name} must be the path of a folder, not {value!r}")
    return os.fspath(value)


def project_name(path: str) -> str:
    """The name of the folder for conversations held in *path*, however long it gets."""
    # JavaScript counts UTF-16 units: what is outside the basic plane counts twice.
    units = "".join("--" if ord(sign) > 0xFFFF else sign for sign in path)
    return NOT_IN_NAMES.sub("-", units)


def shortened_name(path: str) -> str:
    """The same, as the newest CLIs shorten it: its beginning, and a checksum of *path*."""
    data = path.encode("utf-16-le", "surrogatepass")
    checksum = 0
    for low, high in zip(data[::2], data[1::2]):
        checksum = (checksum * 31 + (low | high << 8)) & 0xFFFFFFFF
    number = abs(checksum - (1 << 32) if checksum >> 31 else checksum)
    digits = ""
    while number or not digits:
        number, digit = divmod(number, 36)
        digits = DIGITS[digit] + digits
    return f"{project_name(path)[:LONGEST_NAME]}-{digits}"


def real_path(cwd: PathLike) -> str:
    """*cwd* as the CLI sees it: absolute, symbolic links resolved."""
    return os.path.realpath(path_text("cwd", cwd))


def project_folders(config: Path, cwd: Optional[PathLike] = None) -> List[Path]:
    """The folders with conversations held in *cwd*, or all of them; such as exist."""
    projects = config / "projects"
    if cwd is None:
        return [Path(entry.path) for entry in entries_of(projects) if is_folder(entry)]
    path = real_path(cwd)
    names = [project_name(path)]
    if len(names[0]) > LONGEST_NAME:
        names.insert(0, shortened_name(path))
    return [projects / name for name in names if is_existing_folder(projects / name)]


def is_existing_folder(path: Path) -> bool:
    """Whether it is one; a name that is too long for the system is none."""
    try:
        return path.is_dir()
    except OSError:
        return False


def entries_of(folder: Union[str, Path]) -> List[os.DirEntry[str]]:
    """What is in a folder, sorted by name; nothing if it is missing or closed to us."""
    try:
        with os.scandir(folder) as found:
            return sorted(found, key=lambda entry: entry.name)
    except FileNotFoundError:
        return []
    except OSError as exc:
        logger.warning("%s cannot be looked into and is left out: %s", folder, exc)
        return []


def is_folder(entry: os.DirEntry[str]) -> bool:
    """Whether it is a folder, or a link to one."""
    try:
        return entry.is_dir()
    except OSError:
        return False


# Sessions.


def session_entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    """The files of conversations in a folder of them; subagents and indexes are none."""
    for entry in entries_of(folder):
        stem, suffix = os.path.splitext(entry.name)
        if suffix == SUFFIX and SESSION_ID.fullmatch(stem):
            yield entry


def checked_id(session: object) -> str:
    """*session* if it is an id; anything else, such as a path, is a UsageError."""
    if isinstance(session, str) and SESSION_ID.fullmatch(session):
        return session
    raise UsageError(
        f"{session!r} is not the id of a session: that is a UUID, as list_sessions() shows it in "
        ".session_id, and as client.session_id and answer.session_id have it. read_session() "
        "takes a file as well, as a pathlib.Path."
    )


def find_session(session: Session, cwd: Optional[PathLike], config: Path) -> Path:
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
    session_id = checked_id(session)
    folders = project_folders(config, cwd)
    found = [path for path in (each / (session_id + SUFFIX) for each in folders) if has_data(path)]
    if not found:
        searched = [str(each) for each in folders] if cwd is not None else []
        raise SessionNotFound(session_id, searched or [str(config / "projects")])
    if len(found) > 1:
        places = "\n".join(f"  - {path}" for path in found)
        raise UsageError(
            f"the session {session_id} is there several times:\n{places}\n"
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


def agent_files(path: Path) -> List[Path]:
    """The files of a conversation's subagents, those of older CLIs included."""
    found = sorted(path.with_suffix("").glob("subagents/**/agent-*" + SUFFIX))
    for entry in entries_of(path.parent):
        if entry.name.startswith("agent-") and entry.name.endswith(SUFFIX):
            beside = Path(entry.path)
            if session_of(beside) == path.stem:
                found.append(beside)
    return found


def session_of(path: Path) -> Optional[str]:
    """The id of the conversation that the first lines of a file name."""
    try:
        with path.open("rb") as file:
            lines: Iterator[Dict[str, object]] = itertools.islice(opening_lines(file), 5)
            return next(filter(None, (text_at(line, "sessionId") for line in lines)), None)
    except OSError as exc:
        logger.warning("%s cannot be read and is left out: %s", path, exc)
        return None


def side_files(path: Path) -> List[Path]:
    """Files and folders, other than its own, that belong to this conversation alone."""
    session_id, config = path.stem, config_of(path)
    found = [path.with_suffix("")]
    found.extend(each for each in agent_files(path) if each.parent == path.parent)
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
