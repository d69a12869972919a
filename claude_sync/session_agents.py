"""
Put the subagents of a saved conversation back in their place.

What a subagent said is saved elsewhere: in files of its own, or, by old CLIs,
between the lines of the conversation. Which tool call started it is told by a
small file beside it, else by the result of the call; and where neither is there
(it was still at work when the CLI ended), by the prompt, which is the same.

A subagent that no tool call of the conversation started is left out: CLIs
start some for themselves, to warm up or to write summaries.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Dict, Iterator, List, Optional

from .errors import UsageError
from .log import logger
from .messages.base import Message
from .protocol.codec import decode
from .session_files import agent_files
from .session_info import prompt_of
from .session_lines import Line, text_at
from .session_reading import blocks_of, calls_of, ids_of, main_lines, message_of, spoken, tree_lines


@dataclasses.dataclass
class Agent:
    """
    What one subagent said.

    Attributes:
        lines: In order.
        agent_id: Its id; None on the oldest CLIs.
        tool_use_id: The call that started it; None while that is not known.
        kind: What kind of agent it is, or None.

    """

    lines: List[Line]
    agent_id: Optional[str] = None
    tool_use_id: Optional[str] = None
    kind: Optional[str] = None


def read_with_agents(path: Path) -> List[Message]:
    """The messages of the conversation; those of a subagent follow the call that started it."""
    lines = tree_lines(path)
    main = list(spoken(main_lines(lines)))
    agents = [*agents_between(lines), *agents_beside(path)]
    connect(main, agents)
    waiting = {agent.tool_use_id: agent for agent in agents if agent.tool_use_id is not None}
    return list(interleaved(main, waiting, None))


def interleaved(
    lines: List[Line], waiting: Dict[str, Agent], agent: Optional[Agent]
) -> Iterator[Message]:
    """Messages of *lines*, which *agent* said, with those of further agents among them."""
    parent = agent.tool_use_id if agent is not None else None
    kind = agent.kind if agent is not None else None
    for line in lines:
        yield message_of(line, parent, kind)
        for tool_use_id in calls_of(line):
            started = waiting.pop(tool_use_id, None)
            if started is not None:
                yield from interleaved(started.lines, waiting, started)


def agents_between(lines: List[Line]) -> List[Agent]:
    """The subagents in the file of the conversation itself."""
    found: Dict[str, Agent] = {}
    for line in spoken([line for line in lines if line.get("isSidechain") is True]):
        agent = found.get(text_at(line, "parentUuid") or "")
        if agent is None:
            agent = Agent([], text_at(line, "agentId"))
        agent.lines.append(line)
        found[line["uuid"]] = agent
    return list({id(agent): agent for agent in found.values()}.values())


def agents_beside(path: Path) -> List[Agent]:
    """The subagents in files of their own."""
    found = []
    for file in agent_files(path):
        try:
            # Each file is a tree of its own, all of which is said to the side.
            lines = main_lines([{**line, "isSidechain": False} for line in tree_lines(file)])
        except UsageError as exc:
            logger.warning("%s", exc)
            continue
        lines = [{**line, "isSidechain": True} for line in spoken(lines)]
        notes = notes_beside(file)
        found.append(
            Agent(
                lines,
                file.stem[len("agent-") :],
                text_at(notes, "toolUseId"),
                text_at(notes, "agentType"),
            )
        )
    return found


def notes_beside(file: Path) -> Line:
    """What the newest CLIs note about a subagent; nothing if they did not."""
    try:
        return decode(file.with_suffix(".meta.json").read_bytes()) or {}
    except OSError:
        return {}


def connect(main: List[Line], agents: List[Agent]) -> None:
    """Find the tool call that started each of the *agents*, where that is not known yet."""
    lines = [*main, *(line for agent in agents for line in agent.lines)]
    by_result = calls_by_agent(lines)
    calls = {block["id"]: block for line in lines for block in agent_calls(line)}
    for agent in agents:
        if agent.tool_use_id is None and agent.agent_id is not None:
            agent.tool_use_id = by_result.get(agent.agent_id)
    taken = {agent.tool_use_id for agent in agents}
    for agent in agents:
        if agent.tool_use_id is None and agent.lines:
            prompt = prompt_of(agent.lines[0].get("message"))
            for tool_use_id, block in calls.items():
                if tool_use_id not in taken and block["input"]["prompt"].strip() == prompt:
                    agent.tool_use_id = tool_use_id
                    taken.add(tool_use_id)
                    break
        if agent.kind is None and agent.tool_use_id in calls:
            agent.kind = text_at(calls[agent.tool_use_id]["input"], "subagent_type")


def calls_by_agent(lines: List[Line]) -> Dict[str, str]:
    """The tool call that started an agent, by the agent's id, as results of calls tell it."""
    found = {}
    for line in lines:
        record = line.get("toolUseResult")
        agent_id = text_at(record, "agentId") if isinstance(record, dict) else None
        for tool_use_id in ids_of(line, "tool_result", "tool_use_id"):
            if agent_id is not None:
                found[agent_id] = tool_use_id
    return found


def agent_calls(line: Line) -> Iterator[Line]:
    """The tool calls in a line that have what a call for an agent has."""
    for block in blocks_of(line):
        if block.get("type") == "tool_use" and text_at(block, "id"):
            given = block.get("input")
            if isinstance(given, dict) and text_at(given, "prompt"):
                yield block
