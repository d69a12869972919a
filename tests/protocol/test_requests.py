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
