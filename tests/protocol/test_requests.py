"""Who answers a request, when its answer goes out, and what else waits for it."""

import threading

import pytest
from patience import PATIENCE

from claude_sync import AlreadyAnswered
from claude_sync.protocol.requests import Request

YES = {"behavior": "allow"}
NO = {"behavior": "deny"}


ASKED = {
    "type": "control_request",
    "request_id": "r1",
    "request": {"subtype": "can_use_tool", "tool_name": "Bash"},
}


class Desk:
    """Takes the place of a connection: keeps what is written."""

    def __init__(self):
        self.written = []
        self.folder = None
        self.called = []

    def send_answer(self, request, data):
        """Keep it."""
        self.written.append(data)

    def call_cancelled(self, function, arguments):
        """Call at once."""
        self.called.append(arguments)
        function(*arguments)


@pytest.fixture
def desk():
    """See :class:`Desk`."""
    return Desk()


@pytest.fixture
def request_(desk):
    """A request that is open."""
    return Request(ASKED, desk)


def test_an_answer_goes_out_once(desk, request_):
    """The first answer is written, the second refused."""
    request_.answer(YES)
    with pytest.raises(AlreadyAnswered):
        request_.answer(NO)
    assert len(desk.written) == 1
    assert request_.state == "answered"
    assert request_.is_decided()


def test_what_cannot_be_sent_is_no_answer(desk, request_):
    """The request stays open for a better one."""
    with pytest.raises(Exception, match="cannot be sent"):
        request_.answer({"behavior": object()})
    assert not request_.is_decided()
    request_.answer(NO)
    assert len(desk.written) == 1


def test_the_answer_of_a_handler_is_kept_until_it_returns(desk, request_):
    """Kept on its own thread, and replaced if it fails."""
    request_.begin_handling()
    request_.answer(YES)
    assert desk.written == []
    request_.end_handling(instead=NO)
    assert desk.written == [b'{"behavior":"deny"}\n']


def test_another_thread_does_not_wait_for_the_handler(desk, request_):
    """A button that is pressed while the handler still runs answers at once."""
    request_.begin_handling()
    thread = threading.Thread(target=request_.answer, args=(YES,))
    thread.start()
    thread.join(PATIENCE)
    assert len(desk.written) == 1
    request_.end_handling(instead=NO)
    assert len(desk.written) == 1


def test_withdrawn_before_the_handler_returns(desk, request_):
    """Nothing is written, and the event says so, also to those who look later."""
    request_.begin_handling()
    request_.answer(YES)
    request_.withdraw()
    request_.end_handling()
    assert desk.written == []
    assert request_.cancelled.is_set()


def test_expired(desk, request_):
    """The answer of the timer is written, and whoever thinks about it is told."""
    told = []
    request_.on_cancel(told.append, "subject")
    request_.on_cancel(lambda: told.append("nothing"), "subject")
    request_.expire(NO, "too long")
    request_.expire(NO, "too long")
    assert len(desk.written) == 1
    assert (told, desk.called) == (["subject", "nothing"], [("subject",), ()])
    request_.answer(YES)
    assert len(desk.written) == 1


def test_answered_is_never_withdrawn(desk, request_):
    """Neither event nor call, not even for those who come later."""
    request_.answer(YES)
    request_.withdraw()
    request_.on_cancel(pytest.fail, None)
    assert not request_.cancelled.is_set()


def test_what_is_told_when_it_is_settled(desk, request_):
    """Whatever settles it, its timer is stopped and the timeline learns of the end; once."""
    stopped, settled = [], []
    request_.timer = type("Timer", (), {"cancel": lambda self: stopped.append(1)})()
    request_.on_settled = lambda: settled.append(1)
    request_.answer(YES)
    request_.withdraw()
    request_.expire(NO)
    assert (stopped, settled) == ([1], [1])


def test_a_handler_that_answered_nothing_settles_nothing(desk, request_):
    """Somebody else may still answer: LATER."""
    request_.begin_handling()
    request_.end_handling()
    assert desk.written == []
    assert not request_.is_decided()


def test_what_a_handler_answered_goes_out_when_it_returns(desk, request_):
    """As it was answered."""
    request_.begin_handling()
    request_.answer(YES)
    request_.end_handling()
    assert desk.written == [b'{"behavior":"allow"}\n']
    request_.end_handling(instead=NO)
    assert len(desk.written) == 1


def test_whoever_asks_late_learns_that_it_was_withdrawn(desk, request_):
    """By the event that is made then, by a call at once, and in the state."""
    event = request_.cancelled
    request_.withdraw()
    assert event.is_set()
    assert event is request_.cancelled
    told = []
    request_.on_cancel(told.append, "subject")
    assert told == ["subject"]
    assert request_.state == "withdrawn"


def test_a_function_that_does_not_tell_what_it_takes(desk, request_):
    """It is called with nothing."""
    told = []

    class Odd:
        __signature__ = "none"

        def __call__(self):
            told.append(1)

    request_.on_cancel(Odd(), "subject")
    request_.withdraw()
    assert told == [1]


def test_an_answer_that_comes_too_late_is_logged(desk, request_, caplog):
    """And dropped."""
    caplog.set_level("INFO", "claude_sync")
    request_.withdraw()
    request_.answer(YES)
    assert desk.written == []
    assert "can_use_tool Bash: the answer comes too late" in caplog.text


def hook_call(event, desk):
    """A call of a hook about the use of a tool."""
    about = {"hook_event_name": event, "tool_name": "Bash", "tool_input": {"command": "ls"}}
    body = {"subtype": "hook_callback", "callback_id": "hook_0", "input": about}
    return Request({"type": "control_request", "request_id": "r2", "request": body}, desk)


def test_a_permission_and_its_hook_are_about_the_same(desk, request_):
    """By which a yes finds the hook that may still refuse."""
    asked = {**ASKED["request"], "input": {"command": "ls"}}
    permission = Request({**ASKED, "request": asked}, desk)
    hook = hook_call("PermissionRequest", desk)
    assert hook.subject == permission.subject == ("Bash", {"command": "ls"})
    assert hook.is_permission_hook
    assert not permission.is_permission_hook
    assert not hook_call("PreToolUse", desk).is_permission_hook
    assert repr(hook) == "<hook_callback hook_0 r2 open>"


@pytest.mark.parametrize(
    ("decision", "refusal"),
    [
        ({"behavior": "deny", "message": "no"}, "no"),
        ({"behavior": "deny"}, "refused by a hook"),
        ({"behavior": "allow"}, None),
        ("deny", None),
    ],
)
def test_why_a_hook_refused(desk, decision, refusal):
    """None if it did not."""
    hook = hook_call("PermissionRequest", desk)
    assert hook.refusal is None
    output = {"hookSpecificOutput": {"decision": decision}}
    hook.answer({"type": "control_response", "response": {"response": output}})
    assert hook.refusal == refusal


def test_what_was_decided(desk, request_):
    """A decision says whether it allows, and whether the turn is to be stopped as well."""
    decision = type("Decision", (), {"behavior": "allow", "interrupts": True})
    assert not request_.allows
    request_.answer(YES, decision)
    assert request_.allows
    assert request_.interrupts
    desk.folder = "/somewhere"
    assert request_.folder == "/somewhere"


def test_what_expires_without_a_reason_is_not_logged(desk, request_, caplog):
    """The CLI itself has cancelled it."""
    request_.expire(NO)
    assert len(desk.written) == 1
    assert caplog.text == ""
