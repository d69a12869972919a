"""Who answers a request, when its answer goes out, and what else waits for it."""

import threading

import pytest
from conftest import PATIENCE

from claude_sync import LATER, AlreadyAnswered, Client, hooks
from claude_sync.runtime.open_requests import OpenRequest
from claude_sync.testing import ScriptedCli

COMMAND = {"command": "rm -rf build"}
YES = {"behavior": "allow"}
NO = {"behavior": "deny"}


class Connection:
    """Takes the place of a connection: keeps what is written."""

    def __init__(self):
        self.written = []
        self.serving = self
        self.called = []

    def answer_request(self, request, data):
        """Keep it."""
        self.written.append(data)

    def call_cancelled(self, function, subject):
        """Call at once."""
        self.called.append(subject)
        function()


@pytest.fixture
def connection():
    """See :class:`Connection`."""
    return Connection()


@pytest.fixture
def request_(connection):
    """A request that is open."""
    return OpenRequest(connection, {}, "r1", "can_use_tool", {"tool_name": "Bash"})


def test_an_answer_goes_out_once(connection, request_):
    """The first answer is written, the second refused."""
    request_.answer(YES)
    with pytest.raises(AlreadyAnswered):
        request_.answer(NO)
    assert len(connection.written) == 1
    assert request_.state == "answered"
    assert request_.is_decided()


def test_what_cannot_be_sent_is_no_answer(connection, request_):
    """The request stays open for a better one."""
    with pytest.raises(Exception, match="cannot be sent"):
        request_.answer({"behavior": object()})
    assert not request_.is_decided()
    request_.answer(NO)
    assert len(connection.written) == 1


def test_the_answer_of_a_handler_is_kept_until_it_returns(connection, request_):
    """Kept on its own thread, and replaced if it fails."""
    request_.begin_handling()
    request_.answer(YES)
    assert connection.written == []
    request_.end_handling(instead=NO)
    assert connection.written == [b'{"behavior":"deny"}\n']


def test_another_thread_does_not_wait_for_the_handler(connection, request_):
    """A button that is pressed while the handler still runs answers at once."""
    request_.begin_handling()
    thread = threading.Thread(target=request_.answer, args=(YES,))
    thread.start()
    thread.join(PATIENCE)
    assert len(connection.written) == 1
    request_.end_handling(instead=NO)
    assert len(connection.written) == 1


def test_withdrawn_before_the_handler_returns(connection, request_):
    """Nothing is written, and the event says so, also to those who look later."""
    request_.begin_handling()
    request_.answer(YES)
    request_.withdraw()
    request_.end_handling()
    assert connection.written == []
    assert request_.cancelled.is_set()


def test_expired(connection, request_):
    """The answer of the timer is written, and whoever thinks about it is told."""
    told = []
    request_.on_cancel(lambda: told.append(1), "subject")
    request_.expire(NO, "too long")
    request_.expire(NO, "too long")
    assert len(connection.written) == 1
    assert (told, connection.called) == ([1], ["subject"])
    request_.answer(YES)
    assert len(connection.written) == 1


def test_answered_is_never_withdrawn(connection, request_):
    """Neither event nor call, not even for those who come later."""
    request_.answer(YES)
    request_.withdraw()
    request_.on_cancel(pytest.fail, None)
    assert not request_.cancelled.is_set()


# A yes waits for a hook that may still say no.


@pytest.fixture
def asked_twice():
    """A turn in which the CLI asks a hook and a handler about the same thing."""
    cli, entered, leave = ScriptedCli(patience=PATIENCE), threading.Event(), threading.Event()
    with Client(transport=cli) as client:

        @client.on_hook("PermissionRequest")
        def think(event):
            entered.set()
            assert leave.wait(PATIENCE)
            return hooks.block("no")

        starting = threading.Thread(target=client.start)
        starting.start()
        cli.accept()
        starting.join(PATIENCE)
        turn = client.submit("hi")
        user = cli.expect("user")
        cli.begin_turn(user)
        about = {"tool_name": "Bash", "tool_input": COMMAND}
        hook = cli.call_hook("hook_0", "PermissionRequest", about)
        assert entered.wait(PATIENCE)
        yield client, cli, hook, leave
        leave.set()
        cli.end_turn(user, "done")
        assert turn.result(PATIENCE) == "done"


def test_a_yes_waits_for_the_hook(asked_twice):
    """The CLI takes what comes first: the hook's answer is written before the yes."""
    client, cli, hook, leave = asked_twice
    decided = threading.Event()
    client.on_permission(lambda request: request.allow() and decided.set())
    request = cli.ask_permission("Bash", COMMAND)
    assert decided.wait(PATIENCE)
    other = cli.ask_permission("Bash", {"command": "ls"})
    assert cli.expect("control_response")["response"]["request_id"] == other["request_id"]
    leave.set()
    first = cli.expect("control_response")["response"]
    second = cli.expect("control_response")["response"]
    assert [first["request_id"], second["request_id"]] == [
        hook["request_id"],
        request["request_id"],
    ]


def test_a_no_does_not_wait(asked_twice):
    """A denial is safe whatever the hook says."""
    client, cli, _, leave = asked_twice
    client.on_permission(lambda request: request.deny())
    assert cli.expect_reply(cli.ask_permission("Bash", COMMAND))["behavior"] == "deny"
    leave.set()
    cli.expect("control_response")


def test_a_hook_that_is_withdrawn_lets_the_yes_go(asked_twice):
    """Nobody waits for a hook whose answer is not wanted."""
    client, cli, hook, _ = asked_twice
    requests = []
    came = threading.Event()
    client.on_permission(lambda request: (requests.append(request), came.set())[0] or LATER)
    request = cli.ask_permission("Bash", COMMAND)
    assert came.wait(PATIENCE)
    requests[0].allow()
    cli.cancel(hook)
    assert cli.expect_reply(request)["behavior"] == "allow"
