"""
Read a saved conversation back as messages.

Lines of the file name the line before them (``parentUuid``), so a file is a tree:
a conversation that was resumed at an earlier message has branches. What counts
is the branch of the line that was written last. Decided here:

* where that line hangs on nothing that somebody said, the last one that somebody said
  counts as well;
* a compaction begins a new root but names what it goes on from
  (``logicalParentUuid``), so that what was said before it is not lost;
* tools that ran at the same time make small branches, of which all are kept;
* where a line is damaged or missing, the one before it in the file takes its place;
* the order is that of the file, which is that of time;
* a line becomes the same message that handlers get when the CLI says it: its
  fields get the names of the wire, and keep those of the file too.

What a subagent said is saved in another file. A small file beside it names the tool call that
started it, else the result of the call does. Where neither is there (it was still at work when
the CLI ended), the prompt decides, which is the same. CLIs start some subagents for themselves,
to warm up or to write summaries; what no tool call started is left out of the conversation.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from ..log import logger
from ..messages.base import Message
from ..messages.parsing import parse
from ..protocol.codec import decode
from .files import (
    Line,
    SessionNotFound,
    agent_files,
    config_folder,
    find_session,
    read_lines,
    text_at,
)
from .listing import prompt_of

if TYPE_CHECKING:
    from .files import PathLike, Session

# Part of the tree, but not of what was said: reminders to the model, signs of progress.
BOOKKEEPING = ("attachment", "progress")
SAID = ("user", "assistant")


@dataclasses.dataclass(frozen=True)
class Subagent:
    """
    A subagent of a saved conversation, as :func:`claude_sync.sessions.list_subagents` finds it.

    Attributes:
        agent_id: Its id; None on the oldest CLIs.
        tool_use_id: The tool call that started it; None for those that the CLI started itself.
        kind: What kind of agent it is, or None.
        prompt: What it was asked.
        lines: What its file holds.

    """

    agent_id: str | None
    tool_use_id: str | None
    kind: str | None
    prompt: str
    lines: list[Line] = dataclasses.field(default_factory=list, repr=False, compare=False)


def read_session(
    session: Session,
    cwd: PathLike | None = None,
    *,
    subagents: bool = False,
    everything: bool = False,
    config_dir: PathLike | None = None,
) -> list[Message]:
    """
    The messages of a conversation, of the same classes that handlers get.

    What was said before a compaction is included, what was given up by going on from an
    earlier message is not.

    Args:
        session: The id of a conversation, an item of :func:`list_sessions`, or a
            ``pathlib.Path`` of a file. A str is never a path, so that an id from
            elsewhere cannot lead to another file.
        cwd: The folder it was held in.
        subagents: Also what subagents said, after the call that started them; their
            messages have a ``parent_tool_use_id``.
        everything: Each line of the file instead, in its order: other branches, and the CLI's
            own notes, as ``Unknown``.
        config_dir: Where the CLI keeps its files.

    Raises:
        SessionNotFound: There is no such conversation.
        UsageError: *session* is no id, or its file cannot be read.

    """
    if subagents and everything:
        raise UsageError(
            "subagents sorts messages in, and everything gives the lines of one file as they are: "
            "use one of them"
        )
    path = file_of(session, cwd, config_dir)
    if everything:
        return [message_of(line) for line in read_lines(path)]
    if not subagents:
        return read_conversation(path)
    main, agents = with_agents(path)
    waiting = {agent.tool_use_id: agent for agent in agents if agent.tool_use_id is not None}
    return list(interleaved(main, waiting, None))


def list_subagents(
    session: Session, cwd: PathLike | None = None, *, config_dir: PathLike | None = None
) -> list[Subagent]:
    """
    The subagents of a conversation; :func:`read_subagent` reads what one of them said.

    Raises:
        SessionNotFound: There is no such conversation.
        UsageError: *session* is no id, or its file cannot be read.

    """
    return with_agents(file_of(session, cwd, config_dir))[1]


def read_subagent(
    session: Session,
    agent: str | Subagent,
    cwd: PathLike | None = None,
    *,
    config_dir: PathLike | None = None,
) -> list[Message]:
    """
    What one subagent of a conversation was asked and said.

    Args:
        session: As for :func:`read_session`.
        agent: An item of :func:`list_subagents`, its ``agent_id``, or the id of the tool call
            that started it.
        cwd: The folder the conversation was held in.
        config_dir: Where the CLI keeps its files.

    Raises:
        SessionNotFound: There is no such conversation.
        UsageError: It has no such subagent, or a file cannot be read.

    """
    agents = with_agents(file_of(session, cwd, config_dir))[1]
    for each in agents:
        ids = {each.agent_id, each.tool_use_id} - {None}
        if each == agent or (isinstance(agent, str) and agent in ids):
            return [message_of(line, each) for line in each.lines]
    known = ", ".join(each.agent_id or each.tool_use_id or "?" for each in agents) or "none"
    raise UsageError(f"this conversation has no subagent {agent!r}. It has: {known}")


def file_of(session: Session, cwd: PathLike | None, config_dir: PathLike | None) -> Path:
    """The file of a conversation: a path, or that of an id or of an item of a list."""
    if not isinstance(session, os.PathLike):
        return find_session(session, cwd, config_folder(config_dir))
    path = Path(session)
    if not path.is_file():
        raise SessionNotFound(str(path), [str(path.parent)])
    return path


def read_conversation(path: Path) -> list[Message]:
    """The messages of the main conversation."""
    return [message_of(line) for line in spoken(main_lines(tree_lines(path)))]


# The tree.


def tree_lines(path: Path) -> list[Line]:
    """The lines that are part of the tree, subagents included; of repeated ones the last."""
    found: dict[str, Line] = {}
    for line in read_lines(path, containing=b'"uuid"'):
        uuid = text_at(line, "uuid")
        # Most lines without one are notes, some of which are very long.
        if uuid is not None:
            found[uuid] = line
    return list(found.values())


def spoken(lines: list[Line]) -> Iterator[Line]:
    """Those that somebody said."""
    return (line for line in lines if line.get("type") not in BOOKKEEPING)


def main_lines(lines: list[Line]) -> list[Line]:
    """The lines of the newest branch of the main conversation, in the order of the file."""
    main = [line for line in lines if line.get("isSidechain") is not True]
    kept = newest_branch(main)
    keep_parallel_tools(main, kept)
    return [line for line in main if line["uuid"] in kept]


def newest_branch(lines: list[Line]) -> set[str]:
    """The ids of the last line and of everything it goes on from."""
    places = {line["uuid"]: place for place, line in enumerate(lines)}
    kept = branch_of(len(lines) - 1, lines, places)
    if not any(lines[places[uuid]].get("type") in SAID for uuid in kept):
        said = (place for place, line in enumerate(lines) if line.get("type") in SAID)
        kept |= branch_of(max(said, default=-1), lines, places)
    return kept


def branch_of(place: int, lines: list[Line], places: Mapping[str, int]) -> set[str]:
    """The ids of the line in a *place* and of everything it goes on from."""
    kept: set[str] = set()
    while place >= 0 and lines[place]["uuid"] not in kept:
        line = lines[place]
        kept.add(line["uuid"])
        parent = text_at(line, "parentUuid") or text_at(line, "logicalParentUuid")
        if parent is None:
            break
        place = places.get(parent, place - 1)
    return kept


def keep_parallel_tools(lines: list[Line], kept: set[str]) -> None:
    """
    Add to *kept* the tool calls that ran beside others that are kept, and their results.

    They are those of the same reply; but only if one of its results is kept. Otherwise
    the conversation went on from the middle of the reply, and the rest of it was given up.
    """
    branch = [line for line in lines if line["uuid"] in kept]
    answered = {each for line in branch for each in ids_of(line, "tool_result", "tool_use_id")}
    replies = {reply_of(line) for line in branch if answered.intersection(calls_of(line))} - {None}
    called: set[str] = set()
    for line in lines:
        if reply_of(line) in replies:
            kept.add(line["uuid"])
            called.update(calls_of(line))
    for line in lines:
        results = set(ids_of(line, "tool_result", "tool_use_id"))
        # Not by the difference of the two, which would be made anew for each line.
        if results and results <= called and answered.isdisjoint(results):
            kept.add(line["uuid"])
            answered |= results


def reply_of(line: Mapping[str, Any]) -> str | None:
    """The id of Claude's reply that a line is a part of; None if it is none."""
    message = line.get("message")
    if line.get("type") != "assistant" or not isinstance(message, dict):
        return None
    return text_at(message, "id")


def blocks_of(line: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The content blocks of a line."""
    message = line.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return (
        [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    )


def calls_of(line: Mapping[str, Any]) -> list[str]:
    """The ids of the tool calls in a line."""
    return ids_of(line, "tool_use", "id")


def ids_of(line: Mapping[str, Any], kind: str, key: str) -> list[str]:
    """The ids that blocks of one kind have."""
    found = (text_at(block, key) for block in blocks_of(line) if block.get("type") == kind)
    return [each for each in found if each is not None]


# Subagents.


def with_agents(path: Path) -> tuple[list[Line], list[Subagent]]:
    """What was said in the main conversation, and its subagents."""
    main = list(spoken(main_lines(tree_lines(path))))
    return main, connected(main, agents_beside(path))


def interleaved(
    lines: list[Line], waiting: dict[str, Subagent], agent: Subagent | None
) -> Iterator[Message]:
    """Messages of *lines*, which *agent* said, with those of further agents among them."""
    for line in lines:
        yield message_of(line, agent)
        for tool_use_id in calls_of(line):
            started = waiting.pop(tool_use_id, None)
            if started is not None:
                yield from interleaved(started.lines, waiting, started)


def agents_beside(path: Path) -> list[Subagent]:
    """The subagents, as far as their own files tell of them."""
    found = []
    for file in agent_files(path):
        try:
            # Each file is a tree of its own, all of which is said to the side.
            lines = main_lines([{**line, "isSidechain": False} for line in tree_lines(file)])
        except UsageError as exc:
            logger.warning("%s", exc)
            continue
        lines = [{**line, "isSidechain": True} for line in spoken(lines)]
        try:
            notes = decode(file.with_suffix(".meta.json").read_bytes()) or {}
        except OSError:
            notes = {}
        prompt = prompt_of(lines[0].get("message")) if lines else ""
        call, kind = text_at(notes, "toolUseId"), text_at(notes, "agentType")
        found.append(Subagent(file.stem.removeprefix("agent-"), call, kind, prompt, lines))
    return found


def connected(main: list[Line], agents: list[Subagent]) -> list[Subagent]:
    """The *agents* with the tool call that started each, where that can be found out."""
    calls: dict[str, Line] = {}
    by_result: dict[str | None, str] = {}
    for line in [*main, *(line for agent in agents for line in agent.lines)]:
        for block in blocks_of(line):
            given, tool_use_id = block.get("input"), text_at(block, "id")
            if block.get("type") == "tool_use" and tool_use_id and isinstance(given, dict):
                calls[tool_use_id] = given
        record = line.get("toolUseResult")
        agent_id = text_at(record, "agentId") if isinstance(record, dict) else None
        for tool_use_id in ids_of(line, "tool_result", "tool_use_id") if agent_id else ():
            by_result[agent_id] = tool_use_id
    known = [agent.tool_use_id or by_result.get(agent.agent_id) for agent in agents]
    taken, found = {*known}, []
    for agent, call in zip(agents, known):
        if call is None and agent.prompt:
            same = (
                tool_use_id
                for tool_use_id, given in calls.items()
                if tool_use_id not in taken
                and (text_at(given, "prompt") or "").strip() == agent.prompt
            )
            call = next(same, None)
            taken.add(call)
        kind = agent.kind or text_at(calls.get(call or "", {}), "subagent_type")
        found.append(dataclasses.replace(agent, tool_use_id=call, kind=kind))
    return found


# From the file to the wire.

WIRE_NAMES = {
    "session_id": "sessionId",
    "tool_use_result": "toolUseResult",
    "agent_id": "agentId",
}
COMPACT_NAMES = {"pre_tokens": "preTokens", "post_tokens": "postTokens"}


def message_of(line: Line, agent: Subagent | None = None) -> Message:
    """The message that *line* is; of a subagent, with the call that started it, and its kind."""
    raw = dict(line)
    add_names(raw, WIRE_NAMES)
    if raw.get("isCompactSummary") or raw.get("isVisibleInTranscriptOnly"):
        raw.setdefault("isSynthetic", True)
    metadata = raw.get("compactMetadata")
    if isinstance(metadata, dict):
        raw.setdefault("compact_metadata", add_names(dict(metadata), COMPACT_NAMES))
    if agent is not None and agent.tool_use_id is not None:
        raw["parent_tool_use_id"] = agent.tool_use_id
    if agent is not None and agent.kind is not None:
        raw.setdefault("subagent_type", agent.kind)
    return parse(raw)


def add_names(raw: dict[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """*raw* with the values it has under other names, too."""
    for name, other in names.items():
        if other in raw:
            raw.setdefault(name, raw[other])
    return raw
