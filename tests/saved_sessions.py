"""Saved conversations, as CLIs write them, for tests that need no CLI."""

from __future__ import annotations

import json
import os
import uuid

from claude_sync.sessions.files import project_name

START = 1_700_000_000


class Saved:
    """
    One conversation in the making; each method adds a line and gives its id.

    Lines go on from the line before, unless ``parent`` names another.
    """

    def __init__(self, config, cwd="/srv/shop", session_id=None, folder=None):
        self.config = config
        self.cwd = cwd
        self.session_id = session_id or str(uuid.uuid4())
        self.folder = config / "projects" / (folder or project_name(cwd))
        self.path = self.folder / f"{self.session_id}.jsonl"
        self.lines = []
        self.last = None

    def note(self, kind, **fields):
        """A line that is no part of the conversation."""
        self.lines.append({"type": kind, **fields})

    def line(self, kind, parent="last", **fields):
        """A line of the tree."""
        name = fields.pop("uuid", str(uuid.uuid4()))
        self.lines.append(
            {
                "parentUuid": self.last if parent == "last" else parent,
                "isSidechain": False,
                "cwd": self.cwd,
                "sessionId": self.session_id,
                "gitBranch": "main",
                "type": kind,
                "uuid": name,
                "timestamp": f"2026-03-01T10:00:{len(self.lines) % 60:02}.000Z",
                **fields,
            }
        )
        self.last = name
        return name

    def user(self, content, **fields):
        """A prompt, or whatever else is said to Claude."""
        return self.line("user", message={"role": "user", "content": content}, **fields)

    def says(self, text, **fields):
        """Claude says something."""
        return self.reply([{"type": "text", "text": text}], **fields)

    def reply(self, content, reply="msg", **fields):
        """Claude says or does something."""
        message = {"role": "assistant", "id": reply, "model": "claude-x", "content": content}
        return self.line("assistant", message=message, **fields)

    def calls(self, tool_use_id, name="Bash", given=None, **fields):
        """Claude calls a tool."""
        block = {"type": "tool_use", "id": tool_use_id, "name": name, "input": given or {}}
        return self.reply([block], **fields)

    def result(self, tool_use_id, text="done", **fields):
        """A tool has run."""
        block = {"type": "tool_result", "tool_use_id": tool_use_id, "content": text}
        return self.user([block], **fields)

    def save(self, age=0, ending=b""):
        """Write the file, so that it was last changed *age* seconds before all others."""
        self.folder.mkdir(parents=True, exist_ok=True)
        lines = (json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in self.lines)
        self.path.write_bytes(b"".join(lines) + ending)
        os.utime(self.path, (START - age, START - age))
        return self


def conversation(config, *words, age=0, **settings):
    """A saved conversation in which Claude echoes."""
    saved = Saved(config, **settings)
    for word in words or ("hello",):
        saved.user(word)
        saved.says(f"echo: {word}")
    return saved.save(age)


def texts(messages):
    """What was said, in order; of other messages their class."""
    return [getattr(message, "text", "") or type(message).__name__ for message in messages]
