"""What a real CLI said is said again by its recording, and no program can tell."""

from __future__ import annotations

import os
import threading

import pytest

import claude_sync
from claude_sync import CliExited
from claude_sync.permissions import policies
from claude_sync.testing import Recording, ReplayDifference
from claude_sync.testing.model import text, tool_use

PATIENCE = 90.0
# None of these is, or was, a key.
KEY = "sk-ant-api03-" + "Zx9" * 12


class Program:
    """
    A program with a bit of everything: a tool, a hook, permissions, requests, an interrupt.

    Args:
        sum_of: What its tool does.

    """

    def __init__(self, sum_of=sum):
        self._sum_of = sum_of
        self.noted = []
        self.begun = threading.Event()

    def add(self, first: int, second: int) -> int:
        """Add two numbers."""
        self.noted.append(("tool", first, second))
        return self._sum_of((first, second))

    def decide(self, request):
        """Let one command through."""
        self.noted.append(("permission", request.tool, request.input.get("command")))
        if request.input.get("command") == "echo yes > yes.txt":
            return request.allow()
        return request.deny("this is not for you")

    def hook(self, event):
        """Note what is about to happen."""
        self.noted.append(("hook", event.tool))

    def run(self, client, questions):
        """Ask; what there is to tell about the answers."""
        client.on_permission(self.decide)
        client.on_hook("PreToolUse", matcher="Bash")(self.hook)
        answers = [client.ask(question, timeout=PATIENCE) for question in questions]
        changed = client.set_permission_mode("plan")
        client.on_text(lambda piece: self.begun.set())
        turn = client.submit("a long story", raise_on_error=False)
        assert self.begun.wait(PATIENCE)
        client.interrupt()
        answers.append(turn.result(PATIENCE))
        told = [
            (str(each), each.cost_usd, dict(each.usage), each.session_id, len(each.messages))
            for each in answers
        ]
        results = [
            (use.name, dict(use.input), None if result is None else result.text)
            for each in answers
            for use, result in each.tool_uses
        ]
        return told, results, changed.raw, self.noted, client.cost_usd


QUESTIONS = ["add them", "say yes", "say no", f"remember {KEY}"]


@pytest.fixture
def rules(model):
    """What the model says to the program; the story never ends by itself."""
    gate = threading.Event()
    model.when("add them").reply(
        tool_use("mcp__claude_sync__add", {"first": 2, "second": 3})
    ).then_reply("five")
    for word in ("yes", "no"):
        command = f"echo {word} > {word}.txt"
        model.when(f"say {word}").reply(
            tool_use("Bash", {"command": command, "description": word})
        ).then_reply(f"said {word}")
    model.when("a long story").reply(text("once upon a time", gate=gate))
    yield
    gate.set()


def test_a_session_plays_back_the_same(rules, client_of, tmp_path):
    """Answers, costs, tool calls, hooks, permissions, requests and an interrupt; no CLI."""
    path = tmp_path / "wire.jsonl"
    program = Program()
    client = client_of(record=path, tools=[program.add])
    then = program.run(client, QUESTIONS)
    client.close()
    assert (tmp_path / "yes.txt").exists()
    assert not (tmp_path / "no.txt").exists()
    assert KEY not in path.read_text()
    assert {each[0] for each in program.noted} == {"tool", "permission", "hook"}

    recording = Recording(path)
    again = Program()
    with claude_sync.Client(transport=recording.replay, tools=[again.add]) as client:
        now = again.run(client, QUESTIONS)
    recording.assert_done()
    # The secret is not in the recording, so it is not in what is played from it.
    assert repr(now).replace("<secret-1>", KEY) == repr(then)

    recording = Recording(path)
    wrong = Program(lambda numbers: 0)
    client = claude_sync.Client(transport=recording.replay, tools=[wrong.add])
    with client, pytest.raises(CliExited, match=r"(?s)line \d+.*\b5\b.*\b0\b"):
        wrong.run(client, QUESTIONS)
    with pytest.raises(ReplayDifference, match=r"(?s)- .*\b5\b.*\n.*\+ .*\b0\b"):
        recording.assert_done()


@pytest.mark.everything
def test_a_crash_plays_back_as_one(client_of, model, tmp_path):
    """Killed in mid-turn and started again: two lives, played one after the other."""
    path = tmp_path / "wire.jsonl"
    gate = threading.Event()
    model.when("never ends").reply(text("well, well", gate=gate))

    def run(client, kill):
        begun = threading.Event()
        said = [str(client.ask("first", timeout=PATIENCE))]
        client.on_text(lambda piece: begun.set())
        turn = client.submit("never ends")
        assert begun.wait(PATIENCE)
        kill(client)
        error = turn.exception(PATIENCE)
        said += [type(error).__name__, error.exit_code]
        return [*said, str(client.ask("second", timeout=PATIENCE))]

    client = client_of(record=path)
    then = run(client, lambda client: os.kill(client.pid, 9))
    client.close()
    gate.set()
    recording = Recording(path)
    assert [life.exit_code for life in recording.lives] == [-9, 0]
    with claude_sync.Client(transport=recording.replay) as client:
        assert run(client, lambda client: None) == then
    recording.assert_done()


@pytest.mark.everything
def test_a_session_of_typed_answers_plays_back(client_of, model, tmp_path):
    """The client ends one process for the next on purpose, then as now."""
    path = tmp_path / "wire.jsonl"
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    model.when("a number").reply(tool_use("StructuredOutput", {"n": 7}))

    def run(client):
        said = [str(client.ask("plain", timeout=PATIENCE))]
        said.append(client.ask("a number", returns=schema, timeout=PATIENCE).data)
        return [*said, str(client.ask("plain again", timeout=PATIENCE))]

    client = client_of(record=path, permissions=policies.allow_all)
    then = run(client)
    client.close()
    assert then[1] == {"n": 7}
    recording = Recording(path)
    with claude_sync.Client(transport=recording.replay, permissions=policies.allow_all) as client:
        assert run(client) == then
    recording.assert_done()
