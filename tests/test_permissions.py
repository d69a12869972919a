"""What a request for permission is made of; what becomes of it is in faults/ and real/."""

import copy
import pickle

import pytest

from claude_sync import LATER, PermissionRequest, Questions, UsageError
from claude_sync.runtime.open_requests import OpenRequest


class Connection:
    """Takes the place of a connection: keeps what is answered."""

    def __init__(self):
        self.answered = []
        self.launch = type("Launch", (), {"cwd": "/somewhere"})

    def answer_request(self, request, data):
        """Keep it."""
        self.answered.append(data)


def asked(tool="Bash", input=None, **fields):
    """A request as the CLI makes it."""
    body = {"subtype": "can_use_tool", "tool_name": tool, "input": input or {}, **fields}
    message = {"type": "control_request", "request_id": "r", "request": body}
    slot = OpenRequest(Connection(), message, "r", "can_use_tool", body)
    return PermissionRequest(message, slot)


def test_fields_of_wrong_types_do_no_harm():
    """Whatever comes, the attributes have their types."""
    request = asked(5, permission_suggestions="x", blocked_path=[], mcp_server={"name": 7})
    request.raw["input"] = "junk"
    assert (request.input, request.suggestions, request.blocked_path) == ({}, (), None)
    assert request.mcp_server is None


@pytest.mark.parametrize(
    ("tool", "told", "server"),
    [
        ("mcp__files__read", None, "files"),
        ("mcp__files__read", {"name": "other"}, "other"),
        ("mcp__files__read", "named", "named"),
        ("Bash", None, None),
    ],
)
def test_the_server_of_a_tool(tool, told, server):
    """As the CLI tells it, or from the tool's name."""
    assert asked(tool, mcp_server=told).mcp_server == server


def test_the_folder_is_that_of_the_cli():
    """Not that of the program."""
    assert asked().cwd == "/somewhere"


def test_a_blank_message_says_something():
    """Claude should read a reason."""
    request = asked()
    assert b"said no" in (request.deny("  "), request._slot.connection.answered[0])[1]


@pytest.mark.parametrize("message", [None, 5, b"no"])
def test_a_message_is_a_text(message):
    """And nothing is answered otherwise."""
    request = asked()
    with pytest.raises(UsageError, match="a str"):
        request.deny(message)
    assert request._slot.connection.answered == []


def test_a_mode_that_does_not_exist_approves_nothing():
    """Old CLIs would take any word."""
    with pytest.raises(UsageError, match="acceptEdits"):
        asked("ExitPlanMode").approve_plan("everything")


def test_questions_show_the_request():
    """The same id, agent and fields."""
    request = asked("AskUserQuestion", {"questions": []}, tool_use_id="t", agent_id="a")
    questions = Questions(request)
    assert (questions.tool_use_id, questions.agent_id, questions.raw) == ("t", "a", request.raw)
    assert questions.questions == ()


def test_there_is_one_later():
    """Also after copying and pickling."""
    assert copy.deepcopy(LATER) is LATER
    assert pickle.loads(pickle.dumps(LATER)) is LATER
