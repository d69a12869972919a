"""What handlers hear of a turn: every character once, every tool once, in order."""

from __future__ import annotations

import threading

import pytest

from claude_sync.testing.model import failure, text, thinking, tool_use


def test_streamed_text_comes_once_and_in_pieces(chat, model, listen):
    """on_text gets each character once while it is written, and knows what came before."""
    gate = threading.Event()
    words = "The quick brown fox jumps over the lazy dog."
    model.when("stream it").reply(text(words, pieces=6, gate=gate))
    pieces = listen(chat, "text")
    first = threading.Event()

    def heard(piece):
        first.set()

    chat.on_text(heard)
    turn = chat.submit("stream it", timeout=60)
    assert first.wait(60), "nothing arrived before the reply was complete"
    chat.off(heard)
    assert not turn.done()
    assert turn.text and words.startswith(turn.text) and turn.text != words
    gate.set()
    assert turn.result() == words
    assert "".join(pieces) == words
    assert len(pieces) > 1
    for number, piece in enumerate(pieces):
        assert piece.snapshot == "".join(pieces[: number + 1])
        assert piece.parent_tool_use_id is None
    assert {piece.message_id for piece in pieces} == {pieces[0].message_id}


def test_an_empty_thought_makes_no_other_come_twice(chat, model, listen):
    """Models think without words, too, which is a block with nothing in it."""
    model.when("think twice").reply([thinking(""), thinking("deep thought"), text("Hi")])
    thoughts, texts = listen(chat, "thinking"), listen(chat, "text")
    answer = chat.ask("think twice", timeout=60)
    assert ("".join(thoughts), "".join(texts)) == ("deep thought", "Hi")
    assert (answer.thinking, answer) == ("deep thought", "Hi")


def test_a_turn_of_many_parts_is_told_once_and_in_order(chat, model, listen):
    """Thinking, two texts, a tool between texts, text after it: all once, all in order."""
    model.when("many parts").reply(
        [
            thinking("first a thought"),
            text("One. "),
            text("Two. "),
            tool_use("Bash", {"command": "echo tool output", "description": "say it"}),
        ]
    ).then_reply([thinking("another thought"), "Three."])
    order = []
    handlers = {
        "thinking": lambda piece: order.append(("thinking", str(piece))),
        "text": lambda piece: order.append(("text", str(piece))),
        "tool_use": lambda use: order.append(("use", use.name, dict(use.input))),
        "tool_result": lambda result: order.append(("result", result.text)),
        "result": lambda result: order.append(("end", result.result)),
    }
    for kind, handler in handlers.items():
        getattr(chat, f"on_{kind}")(handler)
    try:
        answer = chat.ask("many parts", timeout=60)
    finally:
        for handler in handlers.values():
            chat.off(handler)
    merged = []
    for kind, *what in order:
        if merged and merged[-1][0] == kind and kind in ("text", "thinking"):
            merged[-1] = (kind, merged[-1][1] + what[0])
        else:
            merged.append((kind, *what))
    assert merged == [
        ("thinking", "first a thought"),
        ("text", "One. Two. "),
        ("use", "Bash", {"command": "echo tool output", "description": "say it"}),
        ("result", "tool output"),
        ("thinking", "another thought"),
        ("text", "Three."),
        ("end", "Three."),
    ]
    assert answer == "Three."
    assert answer.thinking == "first a thoughtanother thought"


def test_two_tools_at_once_are_told_once_each(chat, model, listen):
    """Two tools in one message: two uses, two results, paired by id."""
    model.when("two tools").reply(
        [
            tool_use("Bash", {"command": "echo alpha"}),
            tool_use("Bash", {"command": "echo beta"}),
        ]
    ).then_reply("both ran")
    uses, results = listen(chat, "tool_use"), listen(chat, "tool_result")
    answer = chat.ask("two tools", timeout=60)
    assert [use.input["command"] for use in uses] == ["echo alpha", "echo beta"]
    # By id alone: run at once, these shells of the old CLI may lose each other's output.
    assert sorted(result.tool_use_id for result in results) == sorted(use.id for use in uses)
    assert [use.id for use, _ in answer.tool_uses] == [use.id for use in uses]
    assert all(use.id == result.tool_use_id for use, result in answer.tool_uses)


def test_raw_events_tell_the_same_text(chat, model, listen):
    """on_stream_event sees every delta, and on_text still gets each character once."""
    events, pieces = listen(chat, "stream_event"), listen(chat, "text")
    model.when("raw events").reply(text("one two three four", pieces=4))
    assert chat.ask("raw events", timeout=60) == "one two three four"
    deltas = [
        event.event["delta"]["text"]
        for event in events
        if event.event.get("type") == "content_block_delta" and "text" in event.event["delta"]
    ]
    assert "".join(deltas) == "one two three four"
    assert len(deltas) == 4
    assert [str(piece) for piece in pieces] == deltas
    kinds = [event.event["type"] for event in events]
    assert kinds[0] == "message_start" and kinds[-1] == "message_stop"


def test_messages_and_systems_are_heard(chat, listen):
    """on_message sees the whole turn; on_system the init that begins it."""
    messages, systems, results = (listen(chat, kind) for kind in ("message", "system", "result"))
    chat.ask("who hears", timeout=60)
    types = [message.type for message in messages]
    assert "assistant" in types and types.count("result") == 1
    assert [message.subtype for message in systems].count("init") == 1
    assert [result.result for result in results] == ["echo: who hears"]


def test_the_text_of_a_failure_is_not_claudes(chat, model, listen):
    """It is in the answer and in on_message; on_text hears what Claude writes."""
    model.when("fail please").reply(failure(400, "the words of the failure"))
    pieces, messages = listen(chat, "text"), listen(chat, "message")
    answer = chat.ask("fail please", timeout=60, raise_on_error=False)
    assert answer.is_error
    assert "the words of the failure" in answer
    assert pieces == []
    assert any("the words of the failure" in str(message.raw) for message in messages)


def test_text_that_is_not_streamed_comes_once(client_of, model, listen):
    """Without partial messages on_text gets whole blocks, once each."""
    client = client_of(include_partial_messages=False, allowed_tools=["Bash"])
    model.when("not streamed").reply(
        [thinking("hm"), text("Before. "), tool_use("Bash", {"command": "echo x"})]
    ).then_reply([text("After one. "), text("After two.")])
    pieces, thoughts = listen(client, "text"), listen(client, "thinking")
    events, uses = listen(client, "stream_event"), listen(client, "tool_use")
    client.ask("not streamed", timeout=60)
    assert [str(piece) for piece in pieces] == ["Before. ", "After one. ", "After two."]
    assert [str(piece) for piece in thoughts] == ["hm"]
    assert [piece.snapshot for piece in pieces] == [str(piece) for piece in pieces]
    assert len(uses) == 1
    assert events == []


def test_text_of_a_subagent_is_kept_apart(chat, model, listen, cli):
    """on_text hears the main conversation only; the agent's tools are heard with its name."""
    model.when("delegate it").reply(
        tool_use(
            "Task",
            {
                "description": "count",
                "prompt": "count the sheep",
                "subagent_type": "general-purpose",
                "run_in_background": False,
            },
        )
    ).then_reply("The agent is done.")
    model.when("count the sheep").reply(tool_use("Bash", {"command": "echo 7"})).then_reply(
        "seven sheep"
    )
    pieces, uses = listen(chat, "text"), listen(chat, "tool_use")
    answer = chat.ask("delegate it", timeout=60)
    chat.wait_idle(60)
    assert answer == "The agent is done."
    heard = "".join(pieces)
    assert "seven sheep" not in heard
    assert heard.startswith("The agent is done.")
    assert uses[0].name in ("Task", "Agent")
    assert [use.input.get("command") for use in uses[1:]] == ["echo 7"]
    assert uses[1].parent_tool_use_id == uses[0].id
    # What the old CLI tells is the call that began the agent, not its kind.
    assert uses[1].agent == ("general-purpose" if cli.is_new else None)


@pytest.mark.parametrize("kind", ["text", "result"])
def test_a_handler_that_fails_stops_nobody(chat, listen, kind, caplog):
    """Its exception goes to on_error and the log; the answer is not touched."""
    errors = listen(chat, "error")

    def broken(event):
        raise ZeroDivisionError("in a handler")

    getattr(chat, f"on_{kind}")(broken)
    try:
        assert chat.ask("despite the handler", timeout=60) == "echo: despite the handler"
    finally:
        chat.off(broken)
    assert errors and all(isinstance(e.exception, ZeroDivisionError) for e in errors)
    assert "in a handler" in caplog.text
