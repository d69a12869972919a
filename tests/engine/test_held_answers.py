"""A yes waits for a hook that may still say no."""

import threading

import pytest
from patience import PATIENCE

from claude_sync import Client, hooks
from claude_sync.engine.requests import serving as requests
from claude_sync.testing import ScriptedCli

COMMAND = {"command": "rm -rf build"}
ABOUT = {"tool_name": "Bash", "tool_input": COMMAND}


class Session:
    """A turn of a client with a PermissionRequest hook, which answers when it is let go."""

    def __init__(self, client, cli, settings):
        self.cli = cli
        self.entered, self.leave = threading.Event(), threading.Event()
        self.decision = hooks.block("not like this")
        self.changes = {}

        @client.on_hook("PermissionRequest", **settings)
        def think(event):
            self.entered.set()
            assert self.leave.wait(PATIENCE)
            event.tool_input.update(self.changes)
            return self.decision

        self.decided = threading.Event()
        self.verb = "allow"
        client.on_permission(lambda request: getattr(request, self.verb)() and self.decided.set())
        starting = threading.Thread(target=client.start)
        starting.start()
        cli.accept()
        starting.join(PATIENCE)
        self.turn = client.submit("hi")
        self.user = cli.expect("user")
        cli.begin_turn(self.user)

    def ask(self, input=COMMAND):
        """Ask for permission, and wait until the handler has given it."""
        self.decided.clear()
        request = self.cli.ask_permission("Bash", input)
        assert self.decided.wait(PATIENCE)
        return request["request_id"]

    def call_hook(self):
        """Call the hook, and wait until it thinks."""
        self.entered.clear()
        request = self.cli.call_hook("hook_0", "PermissionRequest", ABOUT)
        assert self.entered.wait(PATIENCE)
        return request

    def answers(self, count):
        """The next answers: the request and, of a permission, what was decided."""
        found = []
        for _ in range(count):
            response = self.cli.expect("control_response")["response"]
            found.append((response["request_id"], response["response"].get("behavior")))
        return found


@pytest.fixture
def session(monkeypatch):
    """Open one; the settings are those of its hook."""
    monkeypatch.setattr(requests, "GRACE", 3600)  # a test that needs it waits for it
    opened = []

    def open_session(version="2.1.300", **settings):
        cli = ScriptedCli(patience=PATIENCE, version=version)
        client = Client(transport=cli)
        client.__enter__()
        opened.append((client, Session(client, cli, settings)))
        return opened[0][1]

    yield open_session
    for client, session in opened:
        session.leave.set()
        session.cli.end_turn(session.user, "done")
        client.close()


@pytest.mark.parametrize("hook_first", [True, False])
def test_a_hook_that_refuses_turns_the_yes_into_a_no(session, hook_first):
    """Whichever the CLI asks first: the yes would count whatever the hook says."""
    running = session()
    if hook_first:
        hook = running.call_hook()
        request = running.ask()
    else:
        request = running.ask()
        hook = running.call_hook()
    running.leave.set()
    assert running.answers(2) == [(hook["request_id"], None), (request, "deny")]


def test_a_hook_that_does_not_refuse_lets_the_yes_go(session):
    """After it, because it might have."""
    running = session()
    running.decision = None
    hook, request = running.call_hook(), running.ask()
    running.leave.set()
    assert running.answers(2) == [(hook["request_id"], None), (request, "allow")]


def test_a_hook_that_changes_its_event_changes_nothing_else(session):
    """The yes still waits for it, and no longer."""
    running = session()
    running.decision, running.changes = None, {"command": "ls"}
    hook, request = running.call_hook(), running.ask()
    running.leave.set()
    assert running.answers(2) == [(hook["request_id"], None), (request, "allow")]


@pytest.mark.parametrize(("refuses", "behavior"), [(True, "deny"), (False, "allow")])
def test_a_hook_that_answered_before_is_remembered(session, refuses, behavior):
    """Nobody waits for it once more, and what it said counts, once."""
    running = session()
    running.leave.set()
    running.decision = hooks.block("no") if refuses else None
    hook = running.call_hook()
    assert running.answers(1) == [(hook["request_id"], None)]
    assert running.cli.expect_reply({"request_id": running.ask()})["behavior"] == behavior


def test_other_uses_of_the_tool_do_not_wait(session, monkeypatch):
    """A yes to something else goes out when its own hook did not come."""
    running = session()
    running.call_hook()
    running.ask()
    monkeypatch.setattr(requests, "GRACE", 0.01)
    other = running.ask({"command": "ls"})
    assert running.answers(1) == [(other, "allow")]


def test_a_no_does_not_wait(session):
    """A denial is safe whatever the hook says."""
    running = session()
    running.call_hook()
    running.verb = "deny"
    request = running.ask()
    assert running.answers(1) == [(request, "deny")]


def test_a_hook_that_is_withdrawn_lets_the_yes_go(session):
    """Nobody waits for a hook whose answer is not wanted."""
    running = session()
    hook = running.call_hook()
    request = running.ask()
    running.cli.cancel(hook)
    assert running.answers(1) == [(request, "allow")]


@pytest.mark.parametrize("settings", [{"matcher": "Write"}, {"version": "2.0.30"}])
def test_nothing_waits_for_a_hook_that_will_not_be_called(session, settings):
    """Its matcher excludes the tool, or the CLI does not call such hooks."""
    running = session(**settings)
    request = running.ask()
    assert running.answers(1) == [(request, "allow")]


@pytest.mark.parametrize(
    ("matcher", "found"),
    [(None, True), ("", True), ("*", True), ("Ba", True), ("(", True), ("Edit|Write", False)],
)
def test_may_match(matcher, found):
    """A matcher that cannot be read may match."""
    assert requests.may_match(matcher, "Bash") is found


def test_of_two_hooks_one_that_refuses_is_enough():
    """Also if the other one, which does not, answers after it."""
    cli = ScriptedCli(patience=PATIENCE, version="2.1.300")
    with Client(transport=cli, on_permission=lambda request: request.allow()) as client:
        client.on_hook("PermissionRequest", lambda event: hooks.block("no"))
        client.on_hook("PermissionRequest", lambda event: None)
        turn = client.submit("hi")
        cli.accept()
        user = cli.expect("user")
        cli.begin_turn(user)
        for number in range(2):
            cli.expect_reply(cli.call_hook(f"hook_{number}", "PermissionRequest", ABOUT))
        permission = cli.ask_permission("Bash", COMMAND)
        assert cli.expect_reply(permission)["behavior"] == "deny"
        cli.end_turn(user, "done")
        turn.result(PATIENCE)


def test_what_a_hook_said_counts_for_one_use_of_the_tool(session):
    """The next time the same is asked, a yes waits for the hook again."""
    running = session()
    running.leave.set()
    running.decision, running.verb = None, "deny"
    hook = running.call_hook()
    assert running.answers(1) == [(hook["request_id"], None)]
    denied = running.ask()
    assert running.answers(1) == [(denied, "deny")]
    running.decision, running.verb = hooks.block("not any more"), "allow"
    request = running.ask()
    hook = running.call_hook()
    assert running.answers(2) == [(hook["request_id"], None), (request, "deny")]
