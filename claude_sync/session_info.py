"""
What is known about a saved conversation without reading it.

A list of a thousand conversations must be there at once, so of each file only the
beginning is read (who asked what, where, when) and the end (titles). Decided here:

* the title is the one a person gave (``/rename``), else the one the CLI made, else the
  first prompt. A title is written at the end of the file, the last one counts, and CLIs
  write it anew now and then, so that it stays there; the newest ones keep a copy beside.
  Oldest CLIs write a ``summary`` into whatever file they have open: it belongs to
  the conversation that has the message it names.
* what holds no message of the main conversation is none: empty files, files of summaries
  alone, and those a CLI wrote while it warmed up.
"""

from __future__ import annotations

import dataclasses
import functools
import os
import re
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Set

from .errors import UsageError
from .log import logger
from .protocol.codec import decode
from .session_files import LONGEST_NAME, project_name, session_entries
from .session_lines import (
    Line,
    last_bytes,
    last_line_of_type,
    opening_lines,
    text_at,
    time_at,
    whole_letters,
)

__all__ = ["SessionInfo"]

# Where to look for titles: this far from the end, as CLIs do.
ENDING = 64 * 1024
LONGEST_TITLE = 200
LONGEST_PROMPT = 2000
CWD = re.compile(rb'"cwd":\s?"((?:[^"\\\n]|\\.)+)"')
MESSAGE_ID = re.compile(rb'"uuid":\s?"([^"\\]+)"')
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

    """

    session_id: str
    title: str
    first_prompt: Optional[str]
    cwd: Optional[str]
    created: datetime
    modified: datetime
    size: int
    path: Path
    git_branch: Optional[str] = None

    @functools.cached_property
    def message_count(self) -> int:
        """
        How many messages of the user, tool results included, and of Claude it has.

        Reads the file, the first time. 0 if it cannot be read any more.
        """
        from .messages import Assistant, User
        from .session_reading import read_conversation

        try:
            messages = read_conversation(self.path)
        except UsageError as exc:
            logger.warning("! %s", exc)
            return 0
        return sum(isinstance(message, (Assistant, User)) for message in messages)


@dataclasses.dataclass
class Opening:
    """What the first lines of a file tell."""

    has_message: bool = False
    prompt: Optional[str] = None
    command: Optional[str] = None
    cwd: Optional[str] = None
    created: Optional[datetime] = None
    git_branch: Optional[str] = None
    summaries: Dict[str, str] = dataclasses.field(default_factory=dict)

    def add(self, line: Line) -> None:
        """Take from one more line what was not known yet."""
        kind = line.get("type")
        if kind == "summary":
            leaf, summary = text_at(line, "leafUuid"), text_at(line, "summary")
            if leaf and summary:
                self.summaries[leaf] = summary
            return
        self.created = self.created or time_at(line)
        self.cwd = self.cwd or text_at(line, "cwd")
        branch = text_at(line, "gitBranch")
        if branch != "HEAD":  # what git says where there is none
            self.git_branch = self.git_branch or branch
        if kind not in ("user", "assistant") or line.get("isSidechain") is True:
            return
        self.has_message = True
        if kind == "user" and not line.get("isMeta") and not line.get("isCompactSummary"):
            text = prompt_of(line.get("message"))
            if NOT_TYPED.match(text):
                command = COMMAND.search(text)
                self.command = self.command or (command.group(1) if command else None)
            else:
                self.prompt = text or None


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


class Listing:
    """
    The conversations of one folder, described.

    Attributes:
        summaries: Titles that old CLIs made, by the id of a message of the conversation.

    """

    def __init__(self, folder: Path) -> None:
        self.summaries: Dict[str, str] = {}
        self._untitled: Set[str] = set()
        found = [self._describe(entry) for entry in session_entries(folder)]
        self._infos = [info for info in found if info is not None]

    def infos(self) -> List[SessionInfo]:
        """All of them."""
        return [self._with_summary(info) for info in self._infos]

    def _describe(self, entry: os.DirEntry[str]) -> Optional[SessionInfo]:
        try:
            return self._read(entry)
        except FileNotFoundError:
            return None  # it was deleted while we looked
        except OSError as exc:
            logger.warning("! %s cannot be read and is not listed: %s", entry.path, exc)
            return None

    def _read(self, entry: os.DirEntry[str]) -> Optional[SessionInfo]:
        if not entry.is_file():
            return None
        opening = Opening()
        with open(entry.path, "rb") as file:
            status = os.fstat(file.fileno())
            for line in opening_lines(file):
                opening.add(line)
                if opening.prompt is not None:
                    break
            self.summaries.update(opening.summaries)
            # Looked through to its end, and nobody said anything.
            if not opening.has_message and file.tell() >= status.st_size:
                return None
            ending = last_bytes(file, status.st_size, ENDING)
        modified = datetime.fromtimestamp(status.st_mtime, timezone.utc)
        path = Path(entry.path)
        title = given_title(path, ending)
        if title is None:
            self._untitled.add(path.stem)
        prompt = opening.prompt or opening.command
        return SessionInfo(
            path.stem,
            one_line(title or prompt or last_prompt(ending) or path.stem),
            None if prompt is None else whole_letters(prompt[:LONGEST_PROMPT]),
            cwd_of(path.parent.name, opening.cwd, ending),
            opening.created or modified,
            modified,
            status.st_size,
            path,
            opening.git_branch,
        )

    def _with_summary(self, info: SessionInfo) -> SessionInfo:
        """The same with the newest summary that is about one of its messages as its title."""
        if not self.summaries or info.session_id not in self._untitled:
            return info
        try:
            with info.path.open("rb") as file:
                ending = last_bytes(file, info.size, ENDING)
        except OSError:
            return info
        for found in reversed(MESSAGE_ID.findall(ending)):
            summary = self.summaries.get(found.decode("utf-8", "replace"))
            if summary is not None:
                return dataclasses.replace(info, title=one_line(summary))
        return info


def cwd_of(folder: str, first: Optional[str], ending: bytes) -> Optional[str]:
    """
    The folder a conversation belongs to: of those it names, the one that *folder* is named after.

    That is the *first*, except in a copy that was made from another folder.
    """
    if first is None or is_named_after(folder, first):
        return first
    for found in reversed(CWD.findall(ending)):
        line = decode(b'{"cwd":"%b"}' % found)
        cwd = text_at(line, "cwd") if line is not None else None
        if cwd is not None and is_named_after(folder, cwd):
            return cwd
    return first


def is_named_after(folder: str, cwd: str) -> bool:
    """Whether conversations held in *cwd* are kept in a folder of this name."""
    return project_name(cwd)[:LONGEST_NAME] == folder[:LONGEST_NAME]


def given_title(path: Path, ending: bytes) -> Optional[str]:
    """The title a person gave, or else the one the CLI made; None if there is neither."""
    line = last_line_of_type(ending, "custom-title")
    title = text_at(line, "customTitle") if line is not None else title_beside(path)
    if title is None:
        line = last_line_of_type(ending, "ai-title")
        title = text_at(line, "aiTitle") if line is not None else None
    return title


def title_file(path: Path) -> Path:
    """Where the newest CLIs keep a copy of the title."""
    return path.with_suffix("") / "custom-title.json"


def title_beside(path: Path) -> Optional[str]:
    """The title in the copy beside the conversation, if there is one."""
    try:
        found = decode(title_file(path).read_bytes())
    except OSError:
        return None
    return text_at(found, "customTitle") if found is not None else None


def last_prompt(ending: bytes) -> Optional[str]:
    """The prompt that new CLIs note at the end of the file."""
    line = last_line_of_type(ending, "last-prompt")
    return text_at(line, "lastPrompt") if line is not None else None


def one_line(text: str) -> str:
    """*text* as a title."""
    line = whole_letters(" ".join(text.split()))
    return line if len(line) <= LONGEST_TITLE else line[: LONGEST_TITLE - 4] + " ..."
