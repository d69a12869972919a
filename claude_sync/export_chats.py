"""
A conversation as it is exported: what was said and done, in order, with nothing doubled.

::

    client, recording, saved session -> messages -> [steps] -> Markdown, HTML, JSON

Decisions taken here and nowhere else:

* A tool and its result are one step; what a subagent did is inside of the step that
  started it.
* What the CLI put into the user's mouth (reminders, the wrapping of commands) is no
  prompt: it is left out, or is a note.
* The diff of an edit is that of the CLI, which knew the file; else that of the two texts.
  The file of today is not looked at: it is another one by now.
"""

from __future__ import annotations

import binascii
import dataclasses
import difflib
import re
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Tuple

from .messages.base import Assistant, Result, System, User
from .messages.blocks import (
    DocumentBlock,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolResult,
    ToolUse,
)
from .protocol.outcomes import INTERRUPTED_TEXT, command_output
from .sessions.listing import COMMAND, NOT_TYPED

if TYPE_CHECKING:
    from .timeline import Timeline

__all__ = ["Chat", "Picture", "Step", "Writer"]

ARGUMENTS = re.compile(r"<command-args>(.*?)</command-args>", re.DOTALL)
# What browsers show as an image, and what cannot hold a script. SVG can.
SHOWN = ("image/png", "image/jpeg", "image/gif", "image/webp")
BASE64 = re.compile(r"[A-Za-z0-9+/=\s]+")
EDITING = ("Edit", "MultiEdit", "Write", "NotebookEdit")
# Comparing line by line takes time; what is longer is shown as one text for another.
MOST_COMPARED = 5000


@dataclasses.dataclass(frozen=True)
class Picture:
    """An image: base64 of a type that browsers show, or only the address of one."""

    media_type: str = ""
    data: str = dataclasses.field(default="", repr=False)
    url: Optional[str] = None

    @property
    def is_shown(self) -> bool:
        """Whether it can stand in a document, as an image that a browser shows."""
        if self.media_type not in SHOWN or BASE64.fullmatch(self.data) is None:
            return False
        try:
            return bool(binascii.a2b_base64(self.data))
        except ValueError:
            return False


@dataclasses.dataclass
class Step:
    """
    Something that was said or done.

    Attributes:
        kind: ``user``, ``claude``, ``thinking``, ``tool``, ``summary``, ``note`` or ``end``.
        text: What was said; of a tool, what it returned.
        seconds: When, since 1970 or since the recording began; None: not told.
        pictures: Images in it.
        tool, input: Of a tool, its name and arguments.
        state: Of a tool, ``done``, ``failed`` or ``unfinished``; of an end, ``done`` or ``failed``.
        decision: What was said to the question whether the tool may be used, if it was asked.
        diff: Of an edit, its lines.
        steps: What a subagent did.
        cost_usd: Of an end, what the turn cost.

    """

    kind: str
    text: str = ""
    seconds: Optional[float] = None
    pictures: Tuple[Picture, ...] = ()
    tool: str = ""
    input: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    state: str = ""
    decision: str = ""
    diff: Tuple[str, ...] = ()
    steps: List[Step] = dataclasses.field(default_factory=list)
    cost_usd: Optional[float] = None
    message_id: str = ""

    def as_json(self) -> Dict[str, Any]:
        """All of it that says something."""
        told: Dict[str, Any] = {"kind": self.kind}
        for name in ("text", "seconds", "tool", "input", "state", "decision", "diff", "cost_usd"):
            value = getattr(self, name)
            if value not in ("", None, {}, ()):
                told[name] = list(value) if isinstance(value, tuple) else value
        if self.pictures:
            told["pictures"] = [
                {name: value for name, value in dataclasses.asdict(picture).items() if value}
                for picture in self.pictures
            ]
        if self.steps:
            told["steps"] = [step.as_json() for step in self.steps]
        return told


@dataclasses.dataclass
class Chat:
    """
    A conversation.

    Attributes:
        steps: What was said and done.
        title: What it is about.
        session_id, model, cwd: As far as they are known.
        began: When, in seconds since 1970, or None.
        cost_usd: What it cost; None where nobody tells.
        usage: Tokens, by name.
        timeline: Where the time went, or None.
        source: Where it comes from: ``client``, ``recording``, ``session`` or ``messages``.

    """

    steps: List[Step] = dataclasses.field(default_factory=list)
    title: str = ""
    session_id: Optional[str] = None
    model: str = ""
    cwd: Optional[str] = None
    began: Optional[float] = None
    cost_usd: Optional[float] = None
    usage: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    timeline: Optional[Timeline] = None
    source: str = "messages"


class Writer:
    """Makes a :class:`Chat` of messages, which come one after the other."""

    def __init__(self, source: str = "messages") -> None:
        self.chat = Chat(source=source)
        self._uses: Dict[str, Step] = {}
        self._decisions: Dict[str, str] = {}

    def add(self, message: Any, seconds: Optional[float] = None) -> None:
        """The next message, and when it came."""
        if isinstance(message, Assistant):
            self._assistant(message, seconds)
        elif isinstance(message, User):
            self._user(message, seconds)
        elif isinstance(message, System):
            self._system(message, seconds)
        elif isinstance(message, Result):
            self.end(message, seconds, None)
        if not self.chat.session_id:
            self.chat.session_id = getattr(message, "session_id", None) or None

    def decided(self, tool_use_id: str, decision: str) -> None:
        """What was said to the question whether a tool may be used."""
        if tool_use_id in self._uses:
            self._uses[tool_use_id].decision = decision
        else:
            self._decisions[tool_use_id] = decision

    def end(self, result: Result, seconds: Optional[float], cost_usd: Optional[float]) -> None:
        """A turn ended."""
        failed = result.is_error or result.subtype.startswith("error")
        step = Step("end", seconds=seconds, state="failed" if failed else "done")
        step.cost_usd = cost_usd
        if failed:
            step.text = result.text or result.subtype
        elif result.result and not self._was_said(result.result):
            step.text = result.result  # commands of the CLI say nothing before it
        self.chat.steps.append(step)

    def _was_said(self, text: str) -> bool:
        for step in reversed(self.chat.steps):
            if step.kind in ("claude", "note"):
                return text.strip() in step.text or step.kind == "claude"
            if step.kind in ("user", "end"):
                return False
        return False

    # Messages.

    def _place(self, parent: Optional[str]) -> List[Step]:
        """Where it belongs: the conversation, or the step of a subagent."""
        step = self._uses.get(parent) if parent is not None else None
        return self.chat.steps if step is None else step.steps

    def _assistant(self, message: Assistant, seconds: Optional[float]) -> None:
        place = self._place(message.parent_tool_use_id)
        if message.model and message.model != "<synthetic>":
            self.chat.model = message.model
        for block in message.content:
            if isinstance(block, TextBlock):
                last = place[-1] if place else None
                if last and last.kind == "claude" and last.message_id == message.message_id:
                    last.text += block.text
                elif block.text.strip():
                    step = Step("claude", block.text, seconds, message_id=message.message_id)
                    place.append(step)
            elif isinstance(block, ThinkingBlock):
                if block.thinking.strip():
                    place.append(Step("thinking", block.thinking, seconds))
            elif isinstance(block, ToolUse):
                self._use(block, place, seconds)
            elif isinstance(block, ToolResult):  # of a tool of the service
                self._result(block, None)

    def _use(self, use: ToolUse, place: List[Step], seconds: Optional[float]) -> None:
        if use.id in self._uses:
            return
        step = Step("tool", seconds=seconds, tool=use.name, input=use.input, state="unfinished")
        step.diff = tuple(diff_of(use.name, use.input, None))
        step.decision = self._decisions.pop(use.id, "")
        self._uses[use.id] = step
        place.append(step)

    def _result(self, result: ToolResult, record: Any) -> None:
        step = self._uses.get(result.tool_use_id)
        if step is None:
            return
        step.text = result.text
        step.state = "failed" if result.is_error else "done"
        step.pictures = tuple(picture_of(image) for image in images_in(result.content))
        if not result.is_error:
            step.diff = tuple(diff_of(step.tool, step.input, record))

    def _user(self, message: User, seconds: Optional[float]) -> None:
        for result in message.tool_results:
            self._result(result, message.tool_use_result)
        place = self._place(message.parent_tool_use_id)
        if message.raw.get("isMeta") is True:
            return
        text, kind = said_by_user(message)
        pictures = tuple(picture_of(image) for image in images_in(message.content))
        if text or pictures:
            place.append(Step(kind, text, seconds, pictures))

    def _system(self, message: System, seconds: Optional[float]) -> None:
        raw = message.raw
        if message.subtype == "init":
            cwd, model = raw.get("cwd"), raw.get("model")
            self.chat.cwd = self.chat.cwd or (cwd if isinstance(cwd, str) else None)
            self.chat.model = self.chat.model or (model if isinstance(model, str) else "")
        elif message.subtype == "compact_boundary":
            self.chat.steps.append(Step("note", "The conversation was compacted here.", seconds))


def said_by_user(message: User) -> Tuple[str, str]:
    """What a person said, or what the CLI noted in their name; and which of the two."""
    texts: List[str] = []
    kind = "user"
    for block in message.content:
        if isinstance(block, DocumentBlock):
            texts.append(f"[document: {block.title or block.media_type or 'untitled'}]")
        if not isinstance(block, TextBlock):
            continue
        text = block.text.strip()
        command, output = COMMAND.search(text), command_output(text)
        if text.startswith(INTERRUPTED_TEXT):
            return text.strip("[]"), "note"
        if output is not None:
            return output, "note"
        if NOT_TYPED.match(text):
            if command is not None:
                given = ARGUMENTS.search(text)
                texts.append(f"{command.group(1)} {given.group(1) if given else ''}".strip())
        elif text:
            texts.append(text)
    if message.is_synthetic:
        kind = "summary"
    return "\n\n".join(texts), kind


def images_in(content: Any) -> List[ImageBlock]:
    """The images among blocks."""
    if not content or isinstance(content, str):
        return []
    return [block for block in content if isinstance(block, ImageBlock)]


def picture_of(block: ImageBlock) -> Picture:
    """An image as it is exported; of what is none, only that it was there."""
    image = block.image
    return Picture(image.media_type or "", block.data if block.bytes else "", image.url)


# Diffs.


def diff_of(tool: str, given: Mapping[str, Any], record: Any) -> List[str]:
    """The lines of a diff of what a tool did to a file; none of tools that do not."""
    if tool not in EDITING:
        return []
    patch = record.get("structuredPatch") if isinstance(record, dict) else None
    if isinstance(patch, list) and patch:
        lines = lines_of_patch(patch)
        if lines:
            return lines
    if tool == "MultiEdit":
        edits = given.get("edits")
        listed = edits if isinstance(edits, list) else []
        pairs = [edit for edit in listed if isinstance(edit, dict)]
        return [line for edit in pairs for line in compared(edit, "old_string", "new_string")]
    new = {"Write": "content", "NotebookEdit": "new_source"}.get(tool, "new_string")
    return compared(given, "old_string", new)


def lines_of_patch(patch: List[Any]) -> List[str]:
    """The hunks of the CLI's own record."""
    lines: List[str] = []
    for hunk in patch:
        if not isinstance(hunk, dict) or not isinstance(hunk.get("lines"), list):
            continue
        lines.append("@@ line {} @@".format(hunk.get("newStart", "?")))
        lines += [line for line in hunk["lines"] if isinstance(line, str)]
    return lines


def compared(given: Mapping[str, Any], old: str, new: str) -> List[str]:
    """One text against the other."""
    before, after = (
        value.splitlines() if isinstance(value, str) else []
        for value in (given.get(old), given.get(new))
    )
    if len(before) + len(after) > MOST_COMPARED or not before:
        return [*(f"-{line}" for line in before), *(f"+{line}" for line in after)]
    return [line.rstrip("\n") for line in difflib.unified_diff(before, after, lineterm="")][2:]
