"""Hooks in real CLIs: what each event can change, and what a hook that fails lets through."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from patience import PATIENCE

import claude_sync
from claude_sync import LATER, hooks
from claude_sync.testing.model import text, tool_use

EVENTS = (
    *("PreToolUse", "PermissionRequest", "PostToolUse", "PostToolUseFailure"),
    *("UserPromptSubmit", "Stop", "SubagentStart", "SubagentStop", "PreCompact", "Notification"),
)


class Board:
    """A hook for every event that does what the test at hand has said; nothing otherwise."""

    def __init__(self):
        self._lock = threading.Lock()
        self.clear()

    def clear(self):
        """Forget what an earlier test said, and what happened."""
        self.calls = []
        self.functions = {}

    def on(self, event, function):
        """Call *function* from now on."""
        self.functions[event] = function

    def __call__(self, event):
        with self._lock:
            self.calls.append(event)
        return self.functions.get(event.event, lambda event: None)(event)

    def of(self, event):
        """The calls for one event so far."""
        with self._lock:
            return [call for call in self.calls if call.event == event]


# The board of all tests of this file.
BOARD = Board()


@pytest.fixture(scope="module")
def chat_options():
    """A client with a hook for every event, given as an option."""
    return {"hooks": dict.fromkeys(EVENTS, BOARD)}


@pytest.fixture
def board():
    """The board, empty."""
    BOARD.clear()
    yield BOARD
    BOARD.clear()


@pytest.fixture
def asked(chat):
    """What ``chat`` asks permission for, until the test ends; everything is allowed."""
    requests = []

    def decide(request):
        requests.append(request)
        return request.allow()

    chat.on_permission(decide)
    yield requests
    chat.off(decide)


def folder_of(client):
    """The folder in which its CLI works."""
    return Path(client._options.cwd)


def bash(command):
    """A use of Bash."""
    return tool_use("Bash", {"command": command, "description": "make something"})


def fifo(name):
    """A use of Bash that every version asks permission for."""
    return bash(f"mkfifo {name}")


def write(client, name):
    """A use of Write."""
    return tool_use("Write", {"file_path": str(folder_of(client) / name), "content": "hello\n"})


def start(client, model, words, *uses):
    """Ask something to which Claude answers by using tools; the turn."""
    model.when(words).reply(list(uses)).then_reply(f"after {words}")
    return client.submit(words, timeout=100)


def run(client, model, words, *uses):
    """As start(); the answer."""
    answer = start(client, model, words, *uses).result()
    assert answer == f"after {words}"
    return answer


def result_of(answer):
    """What its only tool returned."""
    ((_, result),) = answer.tool_uses
    return result


def newest(model):
    """All that the model was told in the newest request of a conversation."""
    return str(model.conversation[-1].messages)


# Before a tool.


def test_a_hook_blocks_a_tool(chat, board, asked, model):
    """block(): the tool does not run, nobody is asked, and Claude reads the reason."""
    board.on("PreToolUse", lambda event: hooks.block("no pipes in this house"))
    answer = run(chat, model, "make a pipe", fifo("blocked"))
    assert not (folder_of(chat) / "blocked").exists()
    assert asked == []
    assert result_of(answer).is_error
    (told,) = model.conversation[-1].tool_results
    assert "no pipes in this house" in told.text
    (event,) = board.of("PreToolUse")
    ((use, _),) = answer.tool_uses
    assert (event.tool, event.tool_input["command"]) == ("Bash", "mkfifo blocked")
    assert event.tool_use_id == use.id
    assert event.session_id == chat.session_id
    assert Path(event.cwd).resolve() == folder_of(chat).resolve()


def test_a_hook_allows_a_tool(chat, board, asked, model):
    """allow(): the tool runs and nobody is asked; None leaves it to whoever is asked."""
    board.on("PreToolUse", lambda event: hooks.allow())
    run(chat, model, "make it allowed", fifo("allowed"))
    assert (folder_of(chat) / "allowed").exists()
    assert asked == []
    board.on("PreToolUse", lambda event: None)
    run(chat, model, "make it asked", fifo("asked"))
    assert (folder_of(chat) / "asked").exists()
    assert [request.input["command"] for request in asked] == ["mkfifo asked"]


def test_a_hook_wants_somebody_to_be_asked(chat, cli, board, asked, model):
    """ask(): the newest asks even about what needs no permission; the old one where it would."""
    board.on("PreToolUse", lambda event: hooks.ask("I am not sure"))
    run(chat, model, "show it", bash("pwd"))
    run(chat, model, "make it unsurely", fifo("unsure"))
    commands = [request.input["command"] for request in asked]
    assert commands == (["pwd"] if cli.is_new else []) + ["mkfifo unsure"]


def test_a_hook_changes_the_input(chat, board, asked, model):
    """update_input(): alone, and the new one is asked about; with allow(), and nobody is asked."""
    board.on("PreToolUse", lambda event: hooks.update_input(event, command="mkfifo new"))
    run(chat, model, "make old", fifo("old"))
    assert (folder_of(chat) / "new").exists()
    assert not (folder_of(chat) / "old").exists()
    assert [request.input["command"] for request in asked] == ["mkfifo new"]
    board.on(
        "PreToolUse",
        lambda event: hooks.allow() | hooks.update_input(event, command="mkfifo newer"),
    )
    run(chat, model, "make older", fifo("older"))
    assert (folder_of(chat) / "newer").exists()
    assert not (folder_of(chat) / "older").exists()
    assert len(asked) == 1


def test_a_hook_stops_before_a_tool(chat, cli, board, model):
    """stop(): the tool does not run; the newest ends the turn, the old one tells Claude why."""
    board.on("PreToolUse", lambda event: hooks.stop("closing time"))
    turn = start(chat, model, "make it too late", fifo("late"))
    assert turn.result() == ("" if cli.is_new else "after make it too late")
    assert not (folder_of(chat) / "late").exists()
    assert "closing time" in result_of(turn.result()).text


# After a tool.


def test_a_hook_adds_to_what_a_tool_returned(chat, board, asked, model):
    """PostToolUse: add_context() and block() reach the model, and stop() ends the turn."""
    board.on("PostToolUse", lambda event: hooks.add_context("the pipe is cold"))
    run(chat, model, "make a cold one", fifo("cold"))
    assert "the pipe is cold" in newest(model)
    (event,) = board.of("PostToolUse")
    assert event.tool == "Bash"
    assert event.tool_response["stderr"] == ""
    board.on("PostToolUse", lambda event: hooks.block("the pipe is warm"))
    run(chat, model, "make a warm one", fifo("warm"))
    assert (folder_of(chat) / "warm").exists()
    assert "the pipe is warm" in newest(model)
    board.on("PostToolUse", lambda event: hooks.stop("that will do"))
    assert start(chat, model, "make a last one", fifo("last")).result() == ""
    assert (folder_of(chat) / "last").exists()
    model.when("and after the last?").reply("nothing")
    assert chat.ask("and after the last?", timeout=PATIENCE) == "nothing"


def test_a_hook_hears_of_a_failure(chat, board, asked, model):
    """PostToolUseFailure: what went wrong; and its context reaches the model."""
    board.on("PostToolUseFailure", lambda event: hooks.add_context("it never works on Mondays"))
    answer = run(chat, model, "try it", bash("false"))
    assert result_of(answer).is_error
    assert board.of("PostToolUse") == []
    (event,) = board.of("PostToolUseFailure")
    assert (event.tool, event.error) == ("Bash", "Exit code 1")
    assert "it never works on Mondays" in newest(model)


# Questions and turns.


def test_a_hook_sees_every_question(chat, cli, board, model):
    """UserPromptSubmit: add_context() goes with the question; block() keeps it from Claude."""
    board.on("UserPromptSubmit", lambda event: hooks.add_context("the user is in a hurry"))
    answer = chat.ask("what time is it?", timeout=PATIENCE)
    assert answer.startswith("echo: what time is it?")
    assert "the user is in a hurry" in newest(model)
    (event,) = board.of("UserPromptSubmit")
    assert event.prompt == "what time is it?"
    board.on("UserPromptSubmit", lambda event: hooks.block("not a word about money"))
    before = len(model.conversation)
    answer = chat.ask("what does it cost?", timeout=PATIENCE)
    assert len(model.conversation) == before
    if cli.is_new:
        assert "not a word about money" in answer
    else:
        assert answer == ""
    board.clear()
    assert chat.ask("may I ask?", timeout=PATIENCE) == "echo: may I ask?"
    assert "what does it cost?" not in newest(model)


def test_a_hook_makes_claude_go_on(chat, board, model):
    """Stop: blocked once, Claude goes on with the reason in the same turn."""
    board.on("Stop", lambda event: None if event.stop_hook_active else hooks.block("say it louder"))
    model.when("say it").reply("yes")
    model.when("say it louder").reply("YES")
    assert chat.ask("say it", timeout=PATIENCE) == "YES"
    assert [event.stop_hook_active for event in board.of("Stop")] == [False, True]
    board.clear()
    assert chat.ask("and now?", timeout=PATIENCE) == "echo: and now?"


def test_hooks_of_agents(chat, board, model):
    """SubagentStart, SubagentStop: which agent; blocked once, it goes on."""
    board.on("SubagentStart", lambda event: hooks.add_context("the agent is in a cellar"))
    board.on(
        "SubagentStop", lambda event: None if event.stop_hook_active else hooks.block("dig deeper")
    )
    model.when("dig in the garden").reply("dug")
    model.when("dig deeper").reply("dug deep")
    task = {"description": "dig", "prompt": "dig in the garden", "subagent_type": "general-purpose"}
    run(chat, model, "send somebody", tool_use("Task", task))
    chat.wait_idle(PATIENCE)
    stops = [event.stop_hook_active for event in board.of("SubagentStop")]
    assert stops == [False, True]
    deeper = model.wait_for_request("dig deeper")
    assert "dig in the garden" in str(deeper.messages)
    (begin,) = board.of("SubagentStart")
    assert begin.agent_type == "general-purpose"
    assert {event.agent_id for event in board.of("SubagentStop")} == {begin.agent_id}
    assert "the agent is in a cellar" in str(model.wait_for_request("dig in the garden").messages)


def test_a_hook_before_the_conversation_is_shortened(chat, cli, board, model):
    """PreCompact: told why and how; only the newest lets it be blocked."""
    chat.ask("something to be shortened", timeout=PATIENCE)
    board.on("PreCompact", lambda event: hooks.block("keep every word"))
    before = len([request for request in model.requests if request.kind == "compact"])
    chat.ask("/compact keep the numbers", timeout=PATIENCE)
    compacted = len([request for request in model.requests if request.kind == "compact"]) - before
    (event,) = board.of("PreCompact")
    assert (event.trigger, event.custom_instructions) == ("manual", "keep the numbers")
    assert compacted == (0 if cli.is_new else 1)


# Permissions and notifications.


def test_a_hook_decides_about_a_permission(chat, board, model):
    """PermissionRequest: it decides and no person has to; failing, it denies."""
    handler = chat.on_permission(lambda request: LATER)
    try:
        board.on("PermissionRequest", lambda event: hooks.allow())
        run(chat, model, "make it by hook", fifo("by_hook"))
        assert (folder_of(chat) / "by_hook").exists()
        (event,) = board.of("PermissionRequest")
        assert (event.tool, event.tool_input["command"]) == ("Bash", "mkfifo by_hook")
        board.on("PermissionRequest", lambda event: hooks.block("the hook says no"))
        answer = run(chat, model, "make it in vain", fifo("in_vain"))
        assert "the hook says no" in result_of(answer).text
        board.on("PermissionRequest", lambda event: 1 / 0)
        answer = run(chat, model, "make it and break", fifo("broken"))
        assert "ZeroDivisionError" in result_of(answer).text
        assert not (folder_of(chat) / "in_vain").exists()
        assert not (folder_of(chat) / "broken").exists()
    finally:
        chat.off(handler)


def test_a_quick_yes_does_not_overtake_the_no_of_a_hook(chat, cli, board, model):
    """PermissionRequest: the handler has said yes while the hook was still thinking."""
    decided = threading.Event()
    handler = chat.on_permission(lambda request: request.allow() and decided.set())

    def think(event):
        if cli.is_new:  # the old one asks the hook first, and nobody else if it refuses
            assert decided.wait(PATIENCE)
        return hooks.block("on second thoughts, no")

    board.on("PermissionRequest", think)
    try:
        answer = run(chat, model, "make it too quickly", fifo("too_quick"))
        assert "on second thoughts" in result_of(answer).text
        assert not (folder_of(chat) / "too_quick").exists()
        assert board.of("PermissionRequest")
    finally:
        chat.off(handler)


@pytest.mark.everything
def test_a_notification_that_somebody_is_waited_for(chat, new_cli, board, model):
    """Notification: the newest CLI tells after some seconds that a permission is pending."""
    told, requests = threading.Event(), []
    board.on("Notification", lambda event: told.set())
    handler = chat.on_permission(lambda request: requests.append(request) or LATER)
    try:
        turn = start(chat, model, "make them wait", fifo("waited"))
        assert told.wait(PATIENCE)
        assert not turn.done()
        requests[0].allow()
        assert turn.result() == "after make them wait"
    finally:
        chat.off(handler)
    (event,) = board.of("Notification")
    assert event.notification_type == "permission_prompt"
    assert "Bash" in event.message


# Hooks that fail.


@pytest.mark.parametrize(
    "fail",
    [
        lambda event: 1 / 0,
        lambda event: "yes",
        lambda event: {"permission_decision": "deny"},
        lambda event: {"decision": "maybe"},
    ],
    ids=["raises", "text", "misspelled", "unknown"],
)
def test_a_hook_that_fails_blocks(chat, board, asked, model, listen, fail):
    """A PreToolUse hook that raises or returns nonsense lets nothing through, and is told of."""
    errors = listen(chat, "error")
    board.on("PreToolUse", fail)
    answer = run(chat, model, "make it carelessly", fifo("careless"))
    assert not (folder_of(chat) / "careless").exists()
    assert result_of(answer).is_error
    assert "failed: " in result_of(answer).text
    assert asked == []
    assert len(errors) == 1


def test_other_hooks_that_fail_stop_nothing(chat, board, asked, model, listen):
    """Hooks after the fact, of questions and of the end may raise: the turn is as without them."""
    errors = listen(chat, "error")
    for event in ("UserPromptSubmit", "PostToolUse", "Stop"):
        board.on(event, lambda event: 1 / 0)
    run(chat, model, "make it anyway", fifo("anyway"))
    assert (folder_of(chat) / "anyway").exists()
    assert [error.event.event for error in errors] == ["UserPromptSubmit", "PostToolUse", "Stop"]


def test_a_hook_has_its_time(client_of, new_cli, model):
    """Not done within timeout=1, a hook blocks; with on_failure="continue" nothing is blocked."""
    leave, asked, late, left = threading.Event(), [], [], threading.Semaphore(0)

    def slow(event):
        leave.wait(PATIENCE)
        late.append(event.cancelled.is_set())
        left.release()

    def broken(event):
        raise RuntimeError("no idea")

    def decide(request):
        asked.append(request.tool)
        return request.allow()

    client = client_of(on_permission=decide)
    client.on_hook("PreToolUse", matcher="Bash", timeout=1)(slow)
    client.on_hook("PreToolUse", matcher="Write", timeout=1, on_failure="continue")(slow)
    client.on_hook("PreToolUse", matcher="Write", on_failure="continue")(broken)
    try:
        answer = run(client, model, "make it slowly", fifo("slow"))
        assert not (folder_of(client) / "slow").exists()
        assert "within 1 s" in result_of(answer).text
        assert asked == []
        run(client, model, "write it anyway", write(client, "anyway.txt"))
        assert (folder_of(client) / "anyway.txt").exists()
        assert asked == ["Write"]
    finally:
        leave.set()
    assert left.acquire(timeout=PATIENCE) and left.acquire(timeout=PATIENCE)
    assert late == [True, True]


# Which hooks run, where and when.


def test_hooks_run_while_another_handler_is_busy(chat, board, asked, model):
    """A handler of text that takes its time does not hold up a hook."""
    ran, seen = threading.Event(), []

    def busy(piece):
        seen.append(ran.wait(PATIENCE))

    board.on("PreToolUse", lambda event: ran.set())
    chat.on_text(busy)
    try:
        run(chat, model, "talk and act", text("first I say something"), fifo("acted"))
    finally:
        chat.off(busy)
    assert seen and all(seen)
    assert (folder_of(chat) / "acted").exists()


def test_a_hook_comes_too_late(chat, model):
    """After the first question a hook is a UsageError, and none of it is called."""
    with pytest.raises(claude_sync.UsageError):
        chat.on_hook("PreToolUse")(lambda event: hooks.block("never"))
    assert chat.ask("all well?", timeout=PATIENCE) == "echo: all well?"


def test_hooks_on_the_asking_thread(client_of, new_cli, model):
    """Under post="caller" hooks run where ask() is; both of an event run, each for its tools."""
    calls = []
    client = client_of(post="caller", allowed_tools=["Bash"])

    @client.on_hook("PreToolUse", matcher="Bash")
    def first(event):
        calls.append(("first", event.tool, threading.current_thread()))

    @client.on_hook("PreToolUse", matcher="Bash|Read")
    def second(event):
        calls.append(("second", event.tool, threading.current_thread()))
        return hooks.block("not from here") if "forbidden" in str(event.tool_input) else None

    @client.on_hook("PreToolUse", matcher="Write")
    def third(event):
        calls.append(("third", event.tool, threading.current_thread()))

    (folder_of(client) / "notes.txt").write_text("read me")
    read = tool_use("Read", {"file_path": str(folder_of(client) / "notes.txt")})
    me = threading.current_thread()
    model.when("make, then read").reply(fifo("made")).then_reply(read).then_reply("made and read")
    assert client.ask("make, then read", timeout=100) == "made and read"
    assert (folder_of(client) / "made").exists()
    assert sorted(calls[:2], key=str) == [("first", "Bash", me), ("second", "Bash", me)]
    assert calls[2:] == [("second", "Read", me)]
    model.when("make the other").reply(fifo("forbidden")).then_reply("tried")
    assert client.ask("make the other", timeout=100) == "tried"
    assert not (folder_of(client) / "forbidden").exists()
