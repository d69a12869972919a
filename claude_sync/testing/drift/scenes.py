"""
Small conversations with a real CLI and a model on 127.0.0.1, and what went over the wire.

::

    [scene] -> Client -> CLI -> LoopbackModel
                  |
               record= -> [messages, both directions]

A scene is a function of a :class:`Stage`. It waits for events, never for time, so that each
run is like the others; what the CLI does in its own time is marked optional in the baseline.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...client import Client
from ...errors import ControlError, UnsupportedByCli
from ...permissions import policies
from ..model import LoopbackModel, failure, text, thinking, tool_use

__all__ = ["SCENES", "Stage", "play"]

# Of whatever a scene waits for. A scene takes a second or two; the rest is for busy machines.
PATIENCE = 90.0


class Stage:
    """
    Where one scene is played: a model, and clients of the CLI that write one recording.

    Args:
        cli: The CLI; None for the one that a client finds.
        folder: An empty folder.
        model: What the CLI talks to.

    Attributes:
        work: The folder in which the CLI works.

    """

    def __init__(self, cli: str | Sequence[str] | None, folder: Path, model: LoopbackModel) -> None:
        self._cli = cli
        self.model = model
        self.home, self.work = folder / "home", folder / "work"
        self.home.mkdir()
        self.work.mkdir()
        self._recording = folder / "recording.jsonl"
        self._clients: list[Client] = []

    def client(self, **options: Any) -> Client:
        """A client of the CLI, which knows nothing of the caller's Claude."""
        foreign = [name for name in os.environ if name.upper().startswith(("CLAUDE", "ANTHROPIC"))]
        own = {**self.model.environment(self.home, retries=1), "TMPDIR": str(self.home)}
        client = Client(
            cli=self._cli,
            cwd=self.work,
            env={**dict.fromkeys(foreign), **own},
            record=self._recording,
            start_timeout=PATIENCE,
            control_timeout=PATIENCE,
            **options,
        )
        self._clients.append(client)
        return client

    def ask(self, client: Client, prompt: str, *replies: Any) -> None:
        """Ask; the model says *replies*, one a round, or echoes."""
        if replies:
            rule = self.model.when(prompt).reply(replies[0])
            for reply in replies[1:]:
                rule.then_reply(reply)
        client.ask(prompt, timeout=PATIENCE, raise_on_error=False)

    def begin(self, client: Client, prompt: str) -> tuple[Any, threading.Event]:
        """A turn that is in the middle of its answer, and what lets it go on."""
        begun, gate = threading.Event(), threading.Event()
        client.on_text(lambda _: begun.set())
        self.model.when(prompt).reply(text("a long story", gate=gate))
        turn = client.submit(prompt, timeout=PATIENCE, raise_on_error=False)
        begun.wait(PATIENCE)
        return turn, gate

    def close(self) -> None:
        """Close every client."""
        for client in self._clients:
            client.close()

    def messages(self) -> list[tuple[str, dict[str, Any]]]:
        """What was said, in its order, each with ``in`` (to the CLI) or ``out``."""
        lines = self._recording.read_text(encoding="utf-8").splitlines()
        return [
            (record["dir"], record.get("msg", {"type": "no JSON"}))
            for record in map(json.loads, lines)
            if record["dir"] in ("in", "out")
        ]


# Scenes of one question: the options of the client, and what the model says, round by round.

BASH = tool_use("Bash", {"command": "mkdir -p made", "description": "Make a folder"})
READ = tool_use("Read", {"file_path": "missing.txt"})
WRITE = tool_use("Write", {"file_path": "new.txt", "content": "new\n"})
OPTIONS = [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}]
COLOUR = {"question": "Which one?", "header": "Colour", "options": OPTIONS, "multiSelect": False}
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
HOOKS = (
    *("PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest"),
    *("UserPromptSubmit", "Stop", "SubagentStart", "SubagentStop", "Notification", "PreCompact"),
)
YES = {"permissions": policies.allow_all}
# The CLI decides alone: it would ask while it already ends the turn.
BY_RULE = {"allowed_tools": ["Bash"]}


def double(number: int) -> int:
    """Twice the number; a tool for Claude."""
    return 2 * number


QUESTIONS: Mapping[str, tuple[Any, ...]] = {
    "whole": ({"include_partial_messages": False}, "hello"),
    "thought": ({}, [thinking("let me see"), text("I see")]),
    "allowed": ({"on_permission": lambda _: True}, BASH, "done"),
    "denied": ({"on_permission": lambda _: False}, WRITE, "a pity"),
    "hooks": ({**YES, "hooks": {each: lambda _: None for each in HOOKS}}, BASH, READ, "done"),
    "own_tool": (
        {**YES, "tools": [double]},
        tool_use("mcp__claude_sync__double", {"number": 3}),
        "6",
    ),
    "question": (
        {"on_question": lambda questions: questions.answer({"Colour": "Red"})},
        *(tool_use("AskUserQuestion", {"questions": [COLOUR]}), "red it is"),
    ),
    "plan": ({**YES, "permission_mode": "plan"}, tool_use("ExitPlanMode", {"plan": "do"}), "done"),
    "overloaded": ({}, failure(529)),
    "refused": ({}, failure(401)),
    "max_turns": ({**BY_RULE, "max_turns": 1}, BASH, "done"),
    "max_budget": ({**BY_RULE, "max_budget_usd": 0.000001}, BASH, BASH, "done"),
    "returns": ({"returns": SCHEMA}, tool_use("StructuredOutput", {"n": 3}), "three"),
}


def ask_once(stage: Stage, options: Mapping[str, Any], replies: Sequence[Any]) -> None:
    """One question, asked of a client with these options."""
    stage.ask(stage.client(**options), "a question", *replies)


# The others.


def ask_all(stage: Stage, prompts: Sequence[str]) -> None:
    """Several questions, one after the other."""
    client = stage.client()
    for prompt in prompts:
        stage.ask(client, prompt)


PROMPTS = {
    "answer": ("hello", "hello again"),
    "compact": ("hello", "/compact", "after it"),
    "clear": ("hello", "/clear", "after it"),
}


def interrupt(stage: Stage) -> None:
    """An answer that is cut short, and the next one."""
    client = stage.client()
    turn, gate = stage.begin(client, "a story")
    client.interrupt(PATIENCE)
    turn.result(PATIENCE)
    gate.set()
    stage.ask(client, "after it")


def steer(stage: Stage) -> None:
    """A message that comes while the answer to another is being written."""
    client = stage.client()
    turn, gate = stage.begin(client, "a story")
    client.steer("make it short")
    # Once this is answered, the CLI has read what was written before.
    client.set_permission_mode("default")
    gate.set()
    turn.result(PATIENCE)
    stage.model.wait_for_request("make it short", PATIENCE)
    client.wait_idle(PATIENCE)
    stage.ask(client, "after it")


def agent(stage: Stage) -> None:
    """An agent, which new CLIs run in the background; its result comes unasked."""
    client, gate = stage.client(), threading.Event()
    task = {"description": "sum", "prompt": "subwork", "subagent_type": "general-purpose"}
    stage.model.when("subwork").reply("four", gate=gate)
    stage.ask(client, "hello")
    if client.info.capabilities is None:
        gate.set()  # an old one: the turn waits for the agent
    stage.ask(client, "delegate", tool_use("Task", task), "delegated")
    gate.set()
    client.wait_idle(PATIENCE)
    stage.ask(client, "after it")


def background(stage: Stage) -> None:
    """A command that runs in the background until it is stopped."""
    tasks: list[Any] = []
    client = stage.client(**BY_RULE, on_task=tasks.append)
    # Old CLIs leave it behind; it ends with the folder of the scene.
    (stage.work / "go").touch()
    command = {"command": "while [ -e go ]; do sleep 0.2; done", "run_in_background": True}
    stage.ask(client, "work", tool_use("Bash", command), "it works")
    for task in tasks[:1]:
        attempt(client.stop_task, task.task_id)
    stage.ask(client, "after it")


def resume(stage: Stage) -> None:
    """A conversation of an earlier process."""
    first = stage.client()
    stage.ask(first, "hello")
    first.close()
    stage.ask(stage.client(resume=first.session_id), "hello again")


def files(stage: Stage) -> None:
    """Files that are read, changed and written, and put back."""
    (stage.work / "old.txt").write_text("as it was\n")
    client = stage.client(enable_file_checkpointing=True, permission_mode="acceptEdits")
    change = {"file_path": "old.txt", "old_string": "as it was", "new_string": "other"}
    read = tool_use("Read", {"file_path": "old.txt"})
    stage.model.when("work").reply(read).then_reply(tool_use("Edit", change)).then_reply(WRITE)
    changed = client.ask("work", timeout=PATIENCE).user_message_id
    for dry_run in (True, False):
        attempt(client.rewind_files, changed, dry_run)


def controls(stage: Stage) -> None:
    """The requests that a client has methods for, where nothing else is needed for them."""
    client = stage.client(tools=[double])
    stage.ask(client, "hello")
    for method, *arguments in CONTROLS:
        attempt(getattr(client, method), *arguments)
    stage.ask(client, "after it")


def attempt(function: Callable[..., Any], *arguments: Any) -> None:
    """Call a control method; the CLI may refuse, and an old one may not know it."""
    with contextlib.suppress(ControlError, UnsupportedByCli):
        function(*arguments)


CONTROLS: tuple[tuple[Any, ...], ...] = (
    ("interrupt", PATIENCE),
    ("set_model", "haiku"),
    ("set_model", None),
    ("set_permission_mode", "acceptEdits"),
    ("set_permission_mode", "bypassPermissions"),
    ("set_max_thinking_tokens", 2000),
    ("apply_settings", {"effortLevel": "high"}),
    ("apply_settings", {"permissions": "nonsense"}),
    ("get_settings",),
    ("mcp_status",),
    ("mcp_reconnect", "nowhere"),
    ("mcp_toggle", "nowhere", False),
    ("set_mcp_servers", {"broken": {"command": "/nonexistent", "args": []}}),
    ("context_usage",),
    ("usage_report",),
    ("rewind_files", "00000000-0000-4000-a000-000000000000"),
    ("stop_task", "b1234567"),
    ("background_tasks",),
    ("side_question", "why?"),
    ("rename", "a title"),
    ("add_context", "the sky is green"),
)

Scene = Callable[[Stage], None]
LONGER = (interrupt, steer, agent, background, resume, files, controls)
SCENES: dict[str, Scene] = {
    **{name: functools.partial(ask_all, prompts=prompts) for name, prompts in PROMPTS.items()},
    **{scene.__name__: scene for scene in LONGER},
    **{
        name: functools.partial(ask_once, options=options, replies=replies)
        for name, (options, *replies) in QUESTIONS.items()
    },
}


def play(scene: Scene, cli: str | Sequence[str] | None) -> list[tuple[str, dict[str, Any]]]:
    """Play a scene; what was said: see :meth:`Stage.messages`."""
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        LoopbackModel() as model,
    ):
        stage = Stage(cli, Path(folder), model)
        try:
            scene(stage)
        finally:
            stage.close()
        return stage.messages()
