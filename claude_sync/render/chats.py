"""
What happened in a conversation, as data: what was said and done, in order, nothing doubled.

::

    client, turn, recording, saved session -> messages -> [Chat] -> HTML, Markdown, a screen

Notebooks, exports, the terminal and replay draw the same :class:`Chat`. Decisions taken here
and nowhere else:

* A tool and its result are one step; what a subagent did is inside of the step that
  started it. A permission that was asked is part of its tool's step.
* What streams in is a step that grows; the complete message takes its place.
* What the CLI put into the user's mouth (reminders, the wrapping of commands) is no
  prompt: it is left out, or is a note. So is the library's own demand for another form.
* The diff of an edit is that of the CLI, which knew the file; else that of the two texts.
  The file of today is not looked at: it is another one by now.
"""

from __future__ import annotations

import binascii
import dataclasses
import difflib
import json
import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..messages.base import Assistant, Result, System, User
from ..messages.blocks import (
    DocumentBlock,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolResult,
    ToolUse,
)
from ..messages.fields import mappings_of, text_of
from ..messages.stream_text import Text, Thinking
from ..protocol.outcomes import INTERRUPTED_TEXT, command_output
from ..sessions.listing import COMMAND, NOT_TYPED

if TYPE_CHECKING:
    from ..permissions.request import PermissionRequest
    from .timeline import Timeline

__all__ = ["Chat", "Picture", "Round", "Step"]

ARGUMENTS = re.compile(r"<command-args>(.*?)</command-args>", re.DOTALL)
# How the library asks once more for an answer of another form.
ASKED_AGAIN = re.compile(r"Your answer (?:does not have|did not come in) the required form")
# What browsers show as an image, and what cannot hold a script. SVG can.
SHOWN = ("image/png", "image/jpeg", "image/gif", "image/webp")
BASE64 = re.compile(r"[A-Za-z0-9+/=\s]+")
EDITING = ("Edit", "MultiEdit", "Write", "NotebookEdit")
# Comparing line by line takes time; what is longer is shown as one text for another.
MOST_COMPARED = 5000
# The argument that tells most about a call, by the usual names.
TELLING = ("command", "file_path", "notebook_path", "path", "pattern", "url", "query", "prompt")
LONGEST_SUMMARY = 120
LONGEST_TITLE = 72
# Marks of Markdown around words; an underscore inside of a name is none.
MARKS = re.compile(r"[`*]{1,3}(?=\S)|(?<=\S)[`*]{1,3}|(?<!\w)_{1,3}(?=\S)|(?<=\S)_{1,3}(?!\w)")


@dataclasses.dataclass(frozen=True)
class Picture:
    """An image: base64 of a type that browsers show, or only the address of one."""

    media_type: str = ""
    data: str = dataclasses.field(default="", repr=False)
    url: str | None = None

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
        kind: ``user``, ``claude``, ``thinking``, ``tool``, ``summary``, ``note``, ``error`` or
            ``end``.
        text: What was said; of a tool, what it returned.
        seconds: When, since 1970 or since the recording began; None: not told.
        pictures: Images in it.
        tool, input: Of a tool, its name and arguments.
        state: Of a tool, ``done``, ``failed`` or ``unfinished``; of an end, ``done`` or ``failed``.
        decision: What was decided about a tool that had to be asked for: ``asked``,
            ``allowed``, ``denied`` or ``withdrawn``; empty if nobody was asked.
        diff: Of an edit, its lines.
        steps: What a subagent did.
        cost_usd: Of an end, what the turn cost.
        message_id: Of a text, the id of Claude's message.
        tool_use_id: Of a tool, the id of its use.

    """

    kind: str
    text: str = ""
    seconds: float | None = None
    pictures: tuple[Picture, ...] = ()
    tool: str = ""
    input: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    state: str = ""
    decision: str = ""
    diff: tuple[str, ...] = ()
    steps: list[Step] = dataclasses.field(default_factory=list)
    cost_usd: float | None = None
    message_id: str = ""
    tool_use_id: str = ""
    streamed: bool = dataclasses.field(default=False, repr=False)

    def summary(self, folder: str = "") -> tuple[str, str]:
        """The name of a tool as people know it, and what its call is about, in a line."""
        return summary_of(self.tool, self.input, folder)

    def input_text(self) -> str:
        """What a tool was called with, readable: texts as they are, the rest as JSON."""
        command = self.input.get("command")
        if self.tool == "Bash" and isinstance(command, str):
            return f"$ {command}"
        return "\n".join(f"{key}: {brief(value)}" for key, value in self.input.items())

    def as_json(self) -> dict[str, Any]:
        """All of it that says something."""
        told: dict[str, Any] = {"kind": self.kind}
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
class Round:
    """
    What belongs to one prompt: the prompt itself, and everything up to the next one.

    Attributes:
        prompt: What the person said; None before the first prompt.
        steps: What came of it.

    """

    prompt: Step | None
    steps: list[Step] = dataclasses.field(default_factory=list)

    @property
    def title(self) -> str:
        """The prompt as one short line."""
        return title_of(self.prompt.text) if self.prompt is not None else ""

    @property
    def cost_usd(self) -> float | None:
        """What it cost; None where nobody tells."""
        costs = [step.cost_usd for step in self.steps if step.cost_usd is not None]
        return sum(costs) if costs else None

    @property
    def seconds(self) -> float | None:
        """How long it took; None where no times are told."""
        steps = [*([self.prompt] if self.prompt is not None else []), *self.steps]
        times = [step.seconds for step in steps if step.seconds is not None]
        return times[-1] - times[0] if len(times) > 1 and times[-1] > times[0] else None


@dataclasses.dataclass
class Chat:
    """
    A conversation.

    :meth:`add` takes any message or piece of text that a handler gets. One thread at a time may
    change it.

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

    steps: list[Step] = dataclasses.field(default_factory=list)
    title: str = ""
    session_id: str | None = None
    model: str = ""
    cwd: str | None = None
    began: float | None = None
    cost_usd: float | None = None
    usage: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    timeline: Timeline | None = None
    source: str = "messages"

    def __post_init__(self) -> None:
        self._uses: dict[str, Step] = {}
        self._decisions: dict[str, str] = {}
        # Of the last message whose texts did not stream in: its id, and these texts. Handlers
        # get them a second time, as pieces.
        self._whole: tuple[str, set[tuple[str, str]]] = ("", set())

    @property
    def rounds(self) -> list[Round]:
        """The steps, by the prompts that they belong to."""
        found: list[Round] = []
        for step in self.steps:
            if step.kind == "user":
                found.append(Round(step))
            else:
                if not found:
                    found.append(Round(None))
                found[-1].steps.append(step)
        return found

    # Where it comes from.

    def add(self, message: Any, seconds: float | None = None) -> None:
        """Take in the next message, or a piece of one, and when it came."""
        if isinstance(message, Text):
            self._piece("claude", message, seconds)
        elif isinstance(message, Thinking):
            self._piece("thinking", message, seconds)
        elif isinstance(message, Assistant):
            self._assistant(message, seconds)
        elif isinstance(message, User):
            self._user(message, seconds)
        elif isinstance(message, System):
            self._system(message, seconds)
        elif isinstance(message, Result):
            self.end(message, seconds)
        if not self.session_id:
            self.session_id = getattr(message, "session_id", None) or None

    def asked(self, request: PermissionRequest) -> None:
        """Somebody was asked whether a tool may be used."""
        if request.tool_use_id and request.tool_use_id not in self._uses:
            # The message that says so comes later.
            use = ToolUse(id=request.tool_use_id, name=request.tool, input=request.raw_input)
            self._new_use(use, self.steps, None)
        self.decided(request.tool_use_id or "", "asked")
        request.on_cancel(lambda *_: self.decided(request.tool_use_id or "", "withdrawn"))

    def decided(self, tool_use_id: str, decision: str) -> None:
        """What was decided about the use of a tool: ``allowed``, ``denied``, ..."""
        step = self._uses.get(tool_use_id)
        if step is not None:
            step.decision = decision
        else:
            self._decisions[tool_use_id] = decision

    def end(
        self, result: Result, seconds: float | None = None, cost_usd: float | None = None
    ) -> None:
        """A turn ended."""
        failed = result.is_error or result.subtype.startswith("error")
        step = Step("end", seconds=seconds, state="failed" if failed else "done")
        step.cost_usd = cost_usd
        if failed:
            step.text = result.text or result.subtype
        elif result.result and not self._was_said(result.result):
            step.text = result.result  # commands of the CLI say nothing before it
        self.steps.append(step)

    def _was_said(self, text: str) -> bool:
        for step in reversed(self.steps):
            if step.kind in ("claude", "note"):
                return text.strip() in step.text or step.kind == "claude"
            if step.kind in ("user", "end"):
                return False
        return False

    # Messages.

    def _place(self, parent: str | None) -> list[Step]:
        """Where it belongs: the conversation, or the step of a subagent."""
        step = self._uses.get(parent) if parent is not None else None
        return self.steps if step is None else step.steps

    def _piece(self, kind: str, piece: Any, seconds: float | None) -> None:
        """A piece of a message that streams in."""
        place = self._place(piece.parent_tool_use_id)
        last = place[-1] if place else None
        message_id = piece.message_id or ""
        if self._whole[0] == message_id and (kind, str(piece)) in self._whole[1]:
            return
        if last and last.streamed and (last.kind, last.message_id) == (kind, message_id):
            last.text += str(piece)
        else:
            place.append(Step(kind, str(piece), seconds, message_id=message_id, streamed=True))

    def _assistant(self, message: Assistant, seconds: float | None) -> None:
        place = self._place(message.parent_tool_use_id)
        if message.model and message.model != "<synthetic>":
            self.model = message.model
        for block in message.content:
            if isinstance(block, TextBlock):
                self._complete("claude", block.text, message.message_id, place, seconds)
            elif isinstance(block, ThinkingBlock):
                self._complete("thinking", block.thinking, message.message_id, place, seconds)
            elif isinstance(block, ToolUse):
                self._new_use(block, place, seconds)
            elif isinstance(block, ToolResult):  # of a tool of the service
                self._result(block, None)

    def _complete(
        self, kind: str, text: str, message_id: str | None, place: list[Step], seconds: float | None
    ) -> None:
        """A block is complete; what streamed in of it is replaced, blocks of a message join."""
        for step in reversed(place):
            if step.streamed and (step.kind, step.message_id) == (kind, message_id or ""):
                step.text, step.streamed = text, False
                return
            if step.kind not in ("claude", "thinking"):
                break
        if self._whole[0] != (message_id or ""):
            self._whole = (message_id or "", set())
        self._whole[1].add((kind, text))
        last = place[-1] if place else None
        if kind == "claude" and last and last.kind == kind and last.message_id == message_id:
            last.text += text
        elif text.strip():
            place.append(Step(kind, text, seconds, message_id=message_id or ""))

    def _new_use(self, use: ToolUse, place: list[Step], seconds: float | None) -> Step:
        step = self._uses.get(use.id)
        if step is None:
            step = Step("tool", seconds=seconds, tool=use.name, input=use.input, tool_use_id=use.id)
            step.state = "unfinished"
            step.diff = tuple(diff_of(use.name, use.input, None))
            step.decision = self._decisions.pop(use.id, "")
            self._uses[use.id] = step
            place.append(step)
        return step

    def _result(self, result: ToolResult, record: Any) -> None:
        step = self._uses.get(result.tool_use_id)
        if step is None:
            return
        step.text = result.text
        step.state = "failed" if result.is_error else "done"
        step.pictures = pictures_in(result.content)
        if step.decision == "asked" and not result.is_error:
            step.decision = "allowed"
        if not result.is_error:
            step.diff = tuple(diff_of(step.tool, step.input, record))

    def _user(self, message: User, seconds: float | None) -> None:
        for result in message.tool_results:
            self._result(result, message.tool_use_result)
        if message.raw.get("isMeta") is True:
            return
        text, kind = said_by_user(message)
        pictures = pictures_in(message.content)
        if text or pictures:
            self._place(message.parent_tool_use_id).append(Step(kind, text, seconds, pictures))

    def _system(self, message: System, seconds: float | None) -> None:
        raw = message.raw
        if message.subtype == "init":
            cwd, model = raw.get("cwd"), raw.get("model")
            self.cwd = self.cwd or (cwd if isinstance(cwd, str) else None)
            self.model = self.model or (model if isinstance(model, str) else "")
        elif message.subtype == "compact_boundary":
            self.steps.append(Step("note", "The conversation was compacted here.", seconds))


def said_by_user(message: User) -> tuple[str, str]:
    """What a person said, or what the CLI noted in their name; and which of the two."""
    texts: list[str] = []
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
        if ASKED_AGAIN.match(text):
            return "The answer did not have the form that was asked for; asked again.", "note"
        if NOT_TYPED.match(text):
            if command is not None:
                given = ARGUMENTS.search(text)
                texts.append(f"{command.group(1)} {given.group(1) if given else ''}".strip())
        elif text:
            texts.append(text)
    return "\n\n".join(texts), "summary" if message.is_synthetic else "user"


def pictures_in(content: Any) -> tuple[Picture, ...]:
    """The images among blocks; of one that cannot be read, only that it was there."""
    if not content or isinstance(content, str):
        return ()
    return tuple(
        Picture(block.image.media_type or "", block.data if block.bytes else "", block.image.url)
        for block in content
        if isinstance(block, ImageBlock)
    )


# Texts.


def summary_of(name: str, given: Mapping[str, Any], folder: str = "") -> tuple[str, str]:
    """The name of a tool as people know it, and what a call of it is about, in a line."""
    if name.startswith("mcp__"):
        name = name.rpartition("__")[2] or name
    if name == "AskUserQuestion":
        asked = [text_of(each.get("question")) for each in mappings_of(given.get("questions"))]
        return "Question", one_line(" ".join(asked))
    told = [given[key] for key in TELLING if isinstance(given.get(key), str)]
    about = told[0] if told else ", ".join(f"{key}={brief(given[key])}" for key in given)
    if folder and about.startswith(folder + os.sep):
        about = about[len(folder) + 1 :]
    return name, one_line(about)


def brief(value: Any) -> str:
    """A value inside a line."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def one_line(text: str, longest: int = LONGEST_SUMMARY) -> str:
    """A text without line ends, and not too long."""
    line = " ".join(text.split())
    return line if len(line) <= longest else line[: longest - 1] + "…"


def title_of(prompt: str) -> str:
    """A prompt as a title: its first line that says something, without marks of Markdown."""
    lines = (MARKS.sub("", line) for line in prompt.split("\n"))
    line = next((found for each in lines if (found := each.strip(" \t#>-=~`"))), "")
    line = " ".join(line.split())
    if len(line) <= LONGEST_TITLE:
        return line
    return line[:LONGEST_TITLE].rpartition(" ")[0].rstrip(",;:") + "…"


# Diffs.


def diff_of(tool: str, given: Mapping[str, Any], record: Any) -> list[str]:
    """The lines of a diff of what a tool did to a file; none of tools that do not."""
    if tool not in EDITING:
        return []
    patch = record.get("structuredPatch") if isinstance(record, dict) else None
    lines = lines_of_patch(patch) if isinstance(patch, list) else []
    if lines:
        return lines
    if tool == "MultiEdit":
        edits = given.get("edits")
        listed = edits if isinstance(edits, list) else []
        pairs = [edit for edit in listed if isinstance(edit, dict)]
        return [line for edit in pairs for line in compared(edit, "old_string", "new_string")]
    new = {"Write": "content", "NotebookEdit": "new_source"}.get(tool, "new_string")
    return compared(given, "old_string", new)


def lines_of_patch(patch: list[Any]) -> list[str]:
    """The hunks of the CLI's own record."""
    lines: list[str] = []
    for hunk in patch:
        if isinstance(hunk, dict) and isinstance(hunk.get("lines"), list):
            lines.append("@@ line {} @@".format(hunk.get("newStart", "?")))
            lines += [line for line in hunk["lines"] if isinstance(line, str)]
    return lines


def compared(given: Mapping[str, Any], old: str, new: str) -> list[str]:
    """One text against the other."""
    before, after = (
        value.splitlines() if isinstance(value, str) else []
        for value in (given.get(old), given.get(new))
    )
    if len(before) + len(after) > MOST_COMPARED or not before:
        return [*(f"-{line}" for line in before), *(f"+{line}" for line in after)]
    return [line.rstrip("\n") for line in difflib.unified_diff(before, after, lineterm="")][2:]
