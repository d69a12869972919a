"""Messages: what a program can ask them."""

import dataclasses
import pickle

import pytest

from claude_sync import messages
from claude_sync.blocks import TextBlock, ThinkingBlock, ToolResult, ToolUse
from claude_sync.messages import (
    Assistant,
    CommandLifecycle,
    KeepAlive,
    Message,
    Result,
    StreamEvent,
    System,
    Unknown,
    User,
)


def test_every_message_tells_whose_it_is():
    """Type, id, conversation and subagent are read from the object."""
    raw = {"type": "keep_alive", "uuid": "u1", "session_id": "s1", "parent_tool_use_id": "t1"}
    message = KeepAlive(raw)
    assert message.type == "keep_alive"
    assert message.uuid == "u1"
    assert message.session_id == "s1"
    assert message.parent_tool_use_id == "t1"


def test_a_message_that_does_not_tell_gives_none():
    """What the CLI left out, or sent as nonsense, is None."""
    for raw in ({}, {"uuid": None, "session_id": [], "parent_tool_use_id": {}}):
        message = KeepAlive(raw)
        assert message.type == ""
        assert (message.uuid, message.session_id, message.parent_tool_use_id) == (None, None, None)


def message_classes():
    """Every class of message in the module."""
    return [
        value
        for value in vars(messages).values()
        if isinstance(value, type) and issubclass(value, Message) and value is not Message
    ]


@pytest.mark.parametrize("message_class", message_classes(), ids=lambda c: c.__name__)
def test_messages_are_frozen_and_keep_their_object(message_class):
    """Each class is a frozen dataclass whose raw object stays out of repr() and ==."""
    raw_fields = [field for field in dataclasses.fields(message_class) if field.name == "raw"]
    assert [(field.repr, field.compare) for field in raw_fields] == [(False, False)]
    assert message_class.__dataclass_params__.frozen
    assert message_class.__name__ in messages.__all__


def test_messages_cannot_be_changed():
    """A handler cannot alter what the next handler sees."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        Result("success").subtype = "error"


def test_messages_pickle_with_their_object():
    """A message survives a trip to another process whole."""
    message = Assistant("m1", "model", (TextBlock("a"),), raw={"type": "assistant", "uuid": "u1"})
    copy = pickle.loads(pickle.dumps(message))
    assert copy == message
    assert copy.uuid == "u1"


def test_the_text_of_an_assistant_message_is_its_texts_in_a_row():
    """Text blocks are pieces of one text; thinking is none of it."""
    content = (TextBlock("one "), ThinkingBlock("hm"), TextBlock("two"))
    assert Assistant(content=content).text == "one two"
    assert Assistant().text == ""


def test_an_assistant_message_tells_its_tool_calls():
    """Tool calls are found among the blocks."""
    call = ToolUse("t1", "Bash", {"command": "ls"})
    assert Assistant(content=(TextBlock("a"), call)).tool_uses == (call,)


def test_the_text_of_a_user_message_is_its_texts_line_by_line():
    """Texts side by side in a prompt are lines of it."""
    assert User((TextBlock("one"), ToolResult("t1", "x"), TextBlock("two"))).text == "one\ntwo"


def test_a_user_message_tells_its_tool_results():
    """Tool results are found among the blocks."""
    result = ToolResult("t1", "x")
    assert User((TextBlock("a"), result)).tool_results == (result,)


def test_the_text_of_a_result_is_the_answer_or_what_went_wrong():
    """Errors stand in only where there is no final text; an empty one is a text."""
    assert Result(result="done", errors=("e",)).text == "done"
    assert Result(result="", errors=("e",)).text == ""
    assert Result(errors=("e", "f")).text == "e\nf"
    assert Result().text == ""


def test_a_result_tells_who_began_the_turn():
    """The kind of origin is given, None where there is no origin."""
    assert Result(origin={"kind": "task-notification"}).origin_kind == "task-notification"
    assert Result(origin={"kind": 5.5}).origin_kind == "5.5"
    assert Result(origin={}).origin_kind is None
    assert Result().origin_kind is None


def test_a_stream_event_tells_its_type():
    """The type is that of the event; an old form has it beside the event."""
    assert StreamEvent({"type": "message_stop"}).event_type == "message_stop"
    assert StreamEvent({}, {"event_type": "message_stop"}).event_type == "message_stop"
    assert StreamEvent({"type": ["x"]}).event_type == ""
    assert StreamEvent({}).event_type == ""


def test_what_is_not_known_shows_its_type():
    """Messages of unknown types can be told apart in a log."""
    assert repr(Unknown("hologram", {"type": "hologram"})) == "Unknown(type='hologram')"
    assert Unknown("hologram").type == "hologram"
    assert repr(System("dream")) == "System(subtype='dream')"


def test_messages_can_be_made_by_hand():
    """Tests of programs build messages without any JSON."""
    assert CommandLifecycle("u1", "queued") == CommandLifecycle(command_uuid="u1", state="queued")
