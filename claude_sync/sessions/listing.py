"""
List saved conversations, and describe each without reading it.

A list of a thousand conversations must be there at once, so of each file only the
beginning is read (who asked what, where, when) and the end (titles). Decided here:

* the title is the one a person gave (``/rename``), else the one the CLI made, else the
  first prompt. A title is written at the end of the file, the last one counts, and CLIs
  write it anew now and then, so that it stays there; the newest ones keep a copy beside.
* a file without a message of the main conversation is not listed: empty files, and those
  a CLI wrote while it warmed up.
* where there is nothing but commands that the CLI carries out itself, nothing was asked:
  ``/clear`` begins such a conversation. It is listed with ``everything=True``. A title
  does not make it a question, because ``/clear`` hands it on. What somebody typed does, and so
  does whatever Claude said.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from ..log import logger
from ..protocol.codec import decode
from .files import (
    LONGEST_NAME,
    Line,
    config_folder,
    find_session,
    opening_lines,
    project_folders,
    project_name,
    real_path,
    session_entries,
    text_at,
    time_at,
    whole_letters,
    worktrees_of,
)

if TYPE_CHECKING:
    from .files import PathLike, Session

# Where to look for titles: this far from the end, as CLIs do.
ENDING = 64 * 1024
LONGEST_TITLE = 200
LONGEST_PROMPT = 2000
NOTE = re.compile(rb'"(?:custom-title|ai-title|tag)"')
CWD = re.compile(rb'"cwd":\s?"((?:[^"\\\n]|\\.)+)"')
COMMAND = re.compile(r"<command-name>\s*(/?[^<]+?)\s*</command-name>")
# What CLIs and editors put into the user's mouth.
NOT_TYPED = re.compile(
    r"\s*(?:<(?:command-|local-command|system-reminder|task-notification|ide_|bash-)"
    r"|\[Request interrupted by user)"
)


@dataclasses.dataclass(frozen=True)
class SessionInfo:
    """
    A saved conversation, as :func:`claude_sync.sessions.list_sessions` finds it.

    Attributes:
        session_id: Its id, for ``Client(resume=...)`` and the functions of ``sessions``.
        title: One line that says what it is about: the title it was given, else the one the
            CLI made, else the first prompt, else the id.
        first_prompt: What was asked first, shortened if it is very long; None if that is
            not known.
        cwd: The folder it was held in. Older CLIs resume it only there.
        created: When it began.
        modified: When something was last written to it.
        size: Of its file, in bytes.
        path: Its file.
        git_branch: The branch that was checked out, or None.
        tag: The word it was marked with by :func:`claude_sync.sessions.tag_session`, or None.

    """

    session_id: str
    title: str
    first_prompt: str | None
    cwd: str | None
    created: datetime
    modified: datetime
    size: int
    path: Path
    git_branch: str | None = None
    tag: str | None = None

    @functools.cached_property
    def message_count(self) -> int:
        """
        How many messages of the user, tool results included, and of Claude it has.

        Reads the file, the first time. 0 if it cannot be read any more.
        """
        from ..messages.base import Assistant, User
        from .reading import read_conversation

        try:
            messages = read_conversation(self.path)
        except UsageError as exc:
            logger.warning("%s", exc)
            return 0
        return sum(isinstance(message, (Assistant, User)) for message in messages)


def list_sessions(
    cwd: PathLike | None = None,
    *,
    limit: int | None = None,
    offset: int = 0,
    worktrees: bool = False,
    everything: bool = False,
    config_dir: PathLike | None = None,
) -> list[SessionInfo]:
    """
    The saved conversations, the newest first.

    Args:
        cwd: Only those held in this folder; None for all of this user.
        limit: At most so many; None for all. Only the files of these are read.
        offset: Leave out so many of the newest.
        worktrees: Also those held in other worktrees of the git repository of *cwd*.
        everything: Also those in which nothing was asked: ``/clear`` begins a conversation of
            its own, and may be all there is in it. By its id each can be read and resumed.
        config_dir: Where the CLI keeps its files.

    Files that are damaged or cannot be read are left out, with a line in the log.

    """
    for name, number in (("limit", 0 if limit is None else limit), ("offset", offset)):
        if not isinstance(number, int) or number < 0:
            raise UsageError(f"{name} is a number of sessions, 0 or more; not {number!r}")
    if worktrees and cwd is None:
        raise UsageError("worktrees=True is about a folder: pass cwd=, too")
    places = [cwd] if not worktrees or cwd is None else worktrees_of(cwd)
    wanted = None if cwd is None else {real_path(each) for each in places if each is not None}
    config = config_folder(config_dir)
    folders = {each: None for place in places for each in project_folders(config, place)}
    entries = [entry for folder in folders for entry in session_entries(folder)]
    entries.sort(key=written_at, reverse=True)
    found = (
        info
        for info in described(entries, everything=everything)
        # Different folders may share one name: a-b and a_b.
        if wanted is None or info.cwd is None or real_path(info.cwd) in wanted
    )
    return list(itertools.islice(found, offset, None if limit is None else offset + limit))


def session_info(
    session: Session, cwd: PathLike | None = None, *, config_dir: PathLike | None = None
) -> SessionInfo:
    """
    What is known about one conversation, given by its id.

    Raises:
        SessionNotFound: There is no such conversation.
        UsageError: *session* is no id, or its file cannot be read.

    """
    path = find_session(session, cwd, config_folder(config_dir))
    try:
        return describe(path)[0]
    except OSError as exc:
        raise UsageError(
            f"the session file {path} cannot be read: {exc}. Check its permissions."
        ) from exc


def written_at(entry: os.DirEntry[str]) -> float:
    """When a file was last written to; before all others if it was deleted meanwhile."""
    try:
        return entry.stat().st_mtime
    except OSError:
        return 0.0


def described(entries: Iterable[os.DirEntry[str]], *, everything: bool) -> Iterator[SessionInfo]:
    """What is known about each of these files, without those that are not to be listed."""
    for entry in entries:
        try:
            if not entry.is_file():
                continue
            info, opening = describe(Path(entry.path))
        except FileNotFoundError:
            continue  # it was deleted while we looked
        except OSError as exc:
            logger.warning("%s cannot be read and is not listed: %s", entry.path, exc)
            continue
        if opening.was_asked or (everything and opening.has_message):
            yield info


def describe(path: Path) -> tuple[SessionInfo, Opening]:
    """What the beginning and the end of a file tell."""
    opening = Opening()
    with path.open("rb") as file:
        status = os.fstat(file.fileno())
        for line in opening_lines(file):
            opening.add(line)
            if opening.prompt is not None:
                break
        if not opening.was_asked:
            # What was not read might be a question.
            opening.was_asked = file.tell() < status.st_size
        file.seek(max(0, status.st_size - ENDING))
        ending = file.read(ENDING)
    modified = datetime.fromtimestamp(status.st_mtime, timezone.utc)
    prompt = opening.prompt or opening.command
    notes = notes_in(ending)

    def noted(kind: str, key: str) -> str | None:
        return text_at(notes.get(kind, {}), key)

    given = noted("custom-title", "customTitle") if "custom-title" in notes else title_beside(path)
    title = given or noted("ai-title", "aiTitle") or prompt
    info = SessionInfo(
        path.stem,
        one_line(title or path.stem),
        None if prompt is None else whole_letters(prompt[:LONGEST_PROMPT]),
        cwd_of(path.parent.name, opening.cwd, ending),
        opening.created or modified,
        modified,
        status.st_size,
        path,
        opening.git_branch,
        noted("tag", "tag"),
    )
    return info, opening


@dataclasses.dataclass
class Opening:
    """
    What the first lines of a file tell.

    Attributes:
        has_message: Somebody said something, if only to the CLI.
        was_asked: There is more than commands that the CLI carries out itself.

    """

    has_message: bool = False
    was_asked: bool = False
    prompt: str | None = None
    command: str | None = None
    cwd: str | None = None
    created: datetime | None = None
    git_branch: str | None = None

    def add(self, line: Line) -> None:
        """Take from one more line what was not known yet."""
        kind = line.get("type")
        self.created = self.created or time_at(line)
        self.cwd = self.cwd or text_at(line, "cwd")
        branch = text_at(line, "gitBranch")
        if branch != "HEAD":  # what git says where there is none
            self.git_branch = self.git_branch or branch
        if kind not in ("user", "assistant") or line.get("isSidechain") is True:
            return
        self.has_message = True
        if kind == "assistant" or line.get("isCompactSummary"):
            self.was_asked = True
        elif not line.get("isMeta"):
            text = prompt_of(line.get("message"))
            if NOT_TYPED.match(text):
                command = COMMAND.search(text)
                self.command = self.command or (command.group(1) if command else None)
            else:  # an image alone is a question, too
                self.prompt, self.was_asked = text or None, True


def prompt_of(message: Any) -> str:
    """The text that a person typed, of a user message; "" for tool results and the like."""
    content = message.get("content") if isinstance(message, Mapping) else message
    if isinstance(content, str):
        return content.strip()
    texts = []
    for block in content if isinstance(content, list) else ():
        text = text_at(block, "text") if isinstance(block, Mapping) else None
        if text is not None:
            texts.append(text.strip())
    typed = [text for text in texts if not NOT_TYPED.match(text)]
    return "\n".join(typed or texts)


def cwd_of(folder: str, first: str | None, ending: bytes) -> str | None:
    """
    The folder a conversation belongs to: of those it names, the one that *folder* is named after.

    That is the *first*, except in a copy that was made from another folder.
    """
    if first is None or is_named_after(folder, first):
        return first
    for found in reversed(CWD.findall(ending)):
        cwd = text_at(decode(b'{"cwd":"%b"}' % found) or {}, "cwd")
        if cwd is not None and is_named_after(folder, cwd):
            return cwd
    return first


def is_named_after(folder: str, cwd: str) -> bool:
    """Whether conversations held in *cwd* are kept in a folder of this name."""
    return project_name(cwd)[:LONGEST_NAME] == folder[:LONGEST_NAME]


def notes_in(ending: bytes) -> dict[Any, Line]:
    """What a CLI noted at the end of a file: of each kind the last."""
    found = (decode(line) for line in ending.split(b"\n") if NOTE.search(line))
    return {line.get("type"): line for line in found if line is not None}


def title_file(path: Path) -> Path:
    """Where the newest CLIs keep a copy of the title."""
    return path.with_suffix("") / "custom-title.json"


def title_beside(path: Path) -> str | None:
    """The title in the copy beside the conversation, if there is one."""
    try:
        return text_at(decode(title_file(path).read_bytes()) or {}, "customTitle")
    except OSError:
        return None


def one_line(text: str) -> str:
    """*text* as a title."""
    line = whole_letters(" ".join(text.split()))
    return line if len(line) <= LONGEST_TITLE else line[: LONGEST_TITLE - 4] + " ..."
