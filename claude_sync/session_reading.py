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
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping, Optional, Set

from .messages.base import Message
from .messages.parsing import parse
from .session_lines import Line, read_lines, text_at

# Part of the tree, but not of what was said: reminders to the model, signs of progress.
BOOKKEEPING = ("attachment", "progress")
SAID = ("user", "assistant")


def read_conversation(path: Path) -> List[Message]:
    """The messages of the main conversation."""
    return [message_of(line) for line in spoken(main_lines(tree_lines(path)))]


def read_everything(path: Path) -> List[Message]:
    """A message for each line of the file, other branches and the CLI's own notes included."""
    return [message_of(line) for line in read_lines(path)]


def tree_lines(path: Path) -> List[Line]:
    """The lines that are part of the tree, subagents included; of repeated ones the last."""
    found: Dict[str, Line] = {}
    for line in read_lines(path, containing=b'"uuid"'):
        uuid = text_at(line, "uuid")
        # Most lines without one are notes, some of which are very long.
        if uuid is not None:
            found[uuid] = line
    return list(found.values())


def spoken(lines: List[Line]) -> Iterator[Line]:
    """Those that somebody said."""
    return (line for line in lines if line.get("type") not in BOOKKEEPING)


def main_lines(lines: List[Line]) -> List[Line]:
    """The lines of the newest branch of the main conversation, in the order of the file."""
    main = [line for line in lines if line.get("isSidechain") is not True]
    kept = newest_branch(main)
    keep_parallel_tools(main, kept)
    return [line for line in main if line["uuid"] in kept]


def newest_branch(lines: List[Line]) -> Set[str]:
    """The ids of the last line and of everything it goes on from."""
    places = {line["uuid"]: place for place, line in enumerate(lines)}
    kept = branch_of(len(lines) - 1, lines, places)
    if not any(lines[places[uuid]].get("type") in SAID for uuid in kept):
        said = (place for place, line in enumerate(lines) if line.get("type") in SAID)
        kept |= branch_of(max(said, default=-1), lines, places)
    return kept


def branch_of(place: int, lines: List[Line], places: Mapping[str, int]) -> Set[str]:
    """The ids of the line in a *place* and of everything it goes on from."""
    kept: Set[str] = set()
    while place >= 0 and lines[place]["uuid"] not in kept:
        line = lines[place]
        kept.add(line["uuid"])
        parent = text_at(line, "parentUuid") or text_at(line, "logicalParentUuid")
        if parent is None:
            break
        place = places.get(parent, place - 1)
    return kept


def keep_parallel_tools(lines: List[Line], kept: Set[str]) -> None:
    """
    Add to *kept* the tool calls that ran beside others that are kept, and their results.

    They are those of the same reply; but only if one of its results is kept. Otherwise
    the conversation went on from the middle of the reply, and the rest of it was given up.
    """
    branch = [line for line in lines if line["uuid"] in kept]
    answered = {each for line in branch for each in ids_of(line, "tool_result", "tool_use_id")}
    replies = {reply_of(line) for line in branch if answered.intersection(calls_of(line))} - {None}
    called: Set[str] = set()
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


def reply_of(line: Mapping[str, Any]) -> Optional[str]:
    """The id of Claude's reply that a line is a part of; None if it is none."""
    message = line.get("message")
    if line.get("type") != "assistant" or not isinstance(message, dict):
        return None
    return text_at(message, "id")


def blocks_of(line: Mapping[str, Any]) -> List[Dict[str, Any]]:
    """The content blocks of a line."""
    message = line.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return (
        [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    )


def calls_of(line: Mapping[str, Any]) -> List[str]:
    """The ids of the tool calls in a line."""
    return ids_of(line, "tool_use", "id")


def ids_of(line: Mapping[str, Any], kind: str, key: str) -> List[str]:
    """The ids that blocks of one kind have."""
    found = (text_at(block, key) for block in blocks_of(line) if block.get("type") == kind)
    return [each for each in found if each is not None]


# From the file to the wire.

WIRE_NAMES = {
    "session_id": "sessionId",
    "tool_use_result": "toolUseResult",
    "agent_id": "agentId",
}
COMPACT_NAMES = {"pre_tokens": "preTokens", "post_tokens": "postTokens"}


def message_of(
    line: Line, parent_tool_use_id: Optional[str] = None, agent: Optional[str] = None
) -> Message:
    """The message that *line* is; of a subagent, with the call that started it, and its kind."""
    raw = dict(line)
    add_names(raw, WIRE_NAMES)
    if raw.get("isCompactSummary") or raw.get("isVisibleInTranscriptOnly"):
        raw.setdefault("isSynthetic", True)
    metadata = raw.get("compactMetadata")
    if isinstance(metadata, dict):
        raw.setdefault("compact_metadata", add_names(dict(metadata), COMPACT_NAMES))
    if parent_tool_use_id is not None:
        raw["parent_tool_use_id"] = parent_tool_use_id
    if agent is not None:
        raw.setdefault("subagent_type", agent)
    return parse(raw)


def add_names(raw: Dict[str, Any], names: Mapping[str, str]) -> Dict[str, Any]:
    """*raw* with the values it has under other names, too."""
    for name, other in names.items():
        if other in raw:
            raw.setdefault(name, raw[other])
    return raw
