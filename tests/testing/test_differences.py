"""Two messages are compared by what they say, and a difference is shown as a diff."""

import pytest

from claude_sync.testing.differences import Difference, is_compared, kind_of, reply_id, same_form

QUESTION = {
    "type": "user",
    "uuid": "u1",
    "session_id": "s1",
    "message": {"role": "user", "content": "hi"},
}
REQUEST = {"type": "control_request", "request_id": "r1", "request": {"subtype": "set_model"}}


def reply(body, request_id="r1"):
    """An answer to a request of the CLI."""
    response = {"subtype": "success", "request_id": request_id, "response": body}
    return {"type": "control_response", "response": response}


def test_the_sort_of_a_message():
    """Requests are told apart by what they ask."""
    assert kind_of(QUESTION) == ("user", "None")
    assert kind_of(REQUEST) == ("control_request", "set_model")


@pytest.mark.parametrize(
    "message, expected",
    [
        (QUESTION, None),
        (REQUEST, None),
        (reply({}), "r1"),
        ({"type": "control_response"}, ""),
        ({"type": "callback.response", "callbackId": "c7"}, "c7"),
    ],
)
def test_which_request_is_answered(message, expected):
    """By the CLI's own id; a message that answers nothing has none."""
    assert reply_id(message) == expected


@pytest.mark.parametrize(
    "message, expected",
    [
        (QUESTION, True),
        (REQUEST, True),
        ({**REQUEST, "request": {"subtype": "initialize"}}, False),
        (reply({"behavior": "allow"}), True),
        (reply({"mcp_response": {"result": {"tools": []}}}), False),
        (reply({"mcp_response": {"result": {"content": []}}}), True),
        (reply({"mcp_response": {"error": {"code": 1}}}), True),
    ],
)
def test_what_is_compared(message, expected):
    """Not what differs from release to release: the greeting, and what tools look like."""
    assert is_compared(message) is expected


def test_own_ids_are_left_out():
    """They name the message; nothing is said with them."""
    assert same_form({**QUESTION, "parent_tool_use_id": None}, {}) == {
        "type": "user",
        "message": {"role": "user", "content": "hi"},
    }
    assert same_form(reply({"id": "x"}), {}) == {
        "type": "control_response",
        "response": {"subtype": "success", "response": {"id": "x"}},
    }


def test_ids_of_others_and_numbers_of_hidings_are_made_alike():
    """What refers to another message refers to the same one; the second secret is a secret."""
    message = {"request": {"ids": ["now", 1, None]}, "text": "<secret-12> of <email-3>, <b-1>"}
    assert same_form(message, {"now": "then"}) == {
        "request": {"ids": ["then", 1, None]},
        "text": "<secret> of <email>, <b-1>",
    }


def test_a_difference_is_a_diff():
    """Then and now, where, and what to do; what else is different comes after it."""
    then = {"type": "user", "content": "What is 2+2?"}
    now = {"type": "user", "content": "What is 2+3?"}
    difference = Difference("x.jsonl, line 3", then, now, "because", ["+ started now with --x"])
    assert str(difference).splitlines() == [
        "x.jsonl, line 3: the program does not do what was recorded (because)",
        "- asked then, + asked now:",
        " {",
        '  "type": "user",',
        '- "content": "What is 2+2?"',
        '+ "content": "What is 2+3?"',
        " }",
        "+ started now with --x",
        "Record it again if that is meant.",
    ]
    assert difference.short() == [
        "x.jsonl, line 3: the program does not do what was recorded (because)",
        "- asked then, + asked now:",
        '- "content": "What is 2+2?"',
        '+ "content": "What is 2+3?"',
    ]


def test_nothing_is_shown_as_such():
    """What was not said then, or is not said now, is a line, too."""
    said = {"text": "one\ntwo"}
    lines = ["{", ' "text": "one', '    two"', "}"]
    assert Difference("x", None, said).diff()[1:] == ["-(nothing)", *(f"+{line}" for line in lines)]
    assert Difference("x", said, None).diff()[1:] == [*(f"-{line}" for line in lines), "+(nothing)"]


def test_a_long_difference_has_a_short_form():
    """An error about a CLI shows twelve lines of its stderr; this fits into them."""
    then = {"content": "\n".join(f"line {number}" for number in range(50))}
    difference = Difference("x" * 1000, then, {"content": "y" * 1000})
    lines = difference.short()
    assert len(lines) <= 12
    assert max(map(len, lines)) <= 300
    assert "assert_done()" in lines[-1]
    assert "line 49" in str(difference)
