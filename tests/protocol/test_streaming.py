"""Every character exactly once, however it arrives."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_sync.messages.stream_text import Text, Thinking
from claude_sync.protocol.streaming import AGENTS_REMEMBERED, MESSAGES_REMEMBERED, Assembler


def event(parent=None, **fields):
    """A stream event."""
    return {"type": "stream_event", "event": fields, "parent_tool_use_id": parent}


def start(message_id="m", parent=None):
    return event(parent, type="message_start", message={"id": message_id, "content": []})


def block(index=0, kind="text", parent=None, **content):
    return event(
        parent, type="content_block_start", index=index, content_block={"type": kind, **content}
    )


def delta(text, index=0, parent=None):
    return event(
        parent,
        type="content_block_delta",
        index=index,
        delta={"type": "text_delta", "text": text},
    )


def thought(text, index=0):
    return event(
        type="content_block_delta",
        index=index,
        delta={"type": "thinking_delta", "thinking": text},
    )


def stop(index=0, parent=None):
    return event(parent, type="content_block_stop", index=index)


def whole(*texts, message_id="m", parent=None, **fields):
    """A complete assistant message."""
    content = [{"type": "text", "text": text} for text in texts]
    return {
        "type": "assistant",
        "message": {"id": message_id, "content": content},
        "parent_tool_use_id": parent,
        **fields,
    }


def feed(assembler, *messages):
    """All pieces that these messages bring."""
    pieces = []
    for message in messages:
        if message["type"] == "stream_event":
            piece = assembler.stream_event(message)
            pieces += [] if piece is None else [piece]
        else:
            pieces += assembler.complete(message)
    return pieces


def test_streamed_then_complete_is_delivered_once():
    """The complete line of a streamed block brings nothing new."""
    pieces = feed(Assembler(), start(), block(), delta("Hel"), delta("lo"), whole("Hello"), stop())
    assert pieces == ["Hel", "lo"]


def test_never_streamed_is_delivered_whole():
    """Messages the CLI makes up itself come complete only."""
    pieces = feed(Assembler(), whole("Not logged in", message_id="synthetic"))
    assert pieces == ["Not logged in"]
    assert pieces[0].message_id == "synthetic"


def test_the_rest_of_a_broken_stream_is_delivered():
    """What the stream did not bring comes from the complete line."""
    pieces = feed(Assembler(), start(), block(), delta("Hel"), whole("Hello"))
    assert pieces == ["Hel", "lo"]
    assert pieces[-1].snapshot == "Hello"


def test_complete_before_any_delta():
    """A block that has begun and brought nothing is delivered from the complete line."""
    assert feed(Assembler(), start(), block(), whole("Hello"), stop()) == ["Hello"]


@pytest.mark.parametrize("complete", ["Hello", "Hello wor", "Hello world"])
def test_a_cut_or_trimmed_complete_line_brings_nothing(complete):
    """The CLI may trim what it streamed, or cut it when interrupted."""
    streamed = [start(), block(), delta(" Hello world "[1:])]
    assert "".join(feed(Assembler(), *streamed, whole(complete))) == "Hello world "


def test_leading_white_space_that_is_trimmed_brings_nothing():
    """Trimming at the front is recognised too."""
    assert feed(Assembler(), start(), block(), delta("\n\nHi"), whole("Hi")) == ["\n\nHi"]


def test_two_blocks_of_one_message_are_told_apart():
    """Complete lines come one block each, without an index."""
    pieces = feed(
        Assembler(),
        start(),
        block(0),
        delta("one"),
        whole("one"),
        stop(0),
        block(1),
        delta("two", 1),
        whole("two"),
        stop(1),
    )
    assert pieces == ["one", "two"]


def test_two_equal_blocks_are_both_delivered():
    """Equal texts are matched one by one, not all by the first."""
    pieces = feed(
        Assembler(), start(), block(0), delta("x"), stop(), whole("x"), whole("x"), whole("x")
    )
    assert pieces == ["x", "x", "x"]


def test_a_block_of_another_text_is_not_mistaken_for_it():
    """A complete block that does not continue a streamed one is delivered as well."""
    pieces = feed(Assembler(), start(), block(0), delta("one"), whole("two"), whole("one"))
    assert pieces == ["one", "two"]


def thoughts(*texts):
    """A complete assistant message with thinking in it."""
    content = [{"type": "thinking", "thinking": text} for text in texts]
    return {"type": "assistant", "message": {"id": "m", "content": content}}


def test_an_empty_block_takes_nothing_from_the_next():
    """It begins like every text, and is still not the one that the complete line is about."""
    pieces = feed(
        Assembler(),
        start(),
        block(0),
        stop(0),
        block(1),
        delta("Hello", 1),
        stop(1),
        whole("Hello"),
    )
    assert pieces == ["Hello"]
    pieces = feed(
        Assembler(),
        start(),
        block(0, "thinking", thinking=""),
        stop(0),
        block(1, "thinking", thinking=""),
        thought("deep", 1),
        thoughts(""),
        thoughts("deep"),
    )
    assert pieces == ["deep"]


@pytest.mark.parametrize(
    ("streamed", "complete", "rest"),
    [
        (["A", "AB"], ["AB", "A"], []),
        (["", "Hel"], ["Hello"], ["lo"]),
        (["H", "Hel"], ["Hello", "Hi"], ["lo", "i"]),
        (["H", "Hello "], ["Hello"], []),
        (["", "Hello world"], ["Hello"], []),
        (["H", "Hello world"], ["Hello wor"], ["ello wor"]),
        (["Hello", "", "Hello"], ["Hello", "Hello", "more"], ["more"]),
        (["", "other"], ["\n"], ["\n"]),
    ],
)
def test_a_complete_block_is_the_one_that_is_most_like_it(streamed, complete, rest):
    """The same, then trimmed, then the longest beginning, then cut off, then an empty one."""
    assembler = Assembler()
    feed(assembler, start())
    for index, text in enumerate(streamed):
        feed(assembler, block(index), delta(text, index), stop(index))
    assert feed(assembler, *map(whole, complete)) == rest


def test_what_message_start_carries_is_ignored():
    """Old CLIs put the first delta there as well."""
    early = start()
    early["event"]["message"]["content"] = [{"type": "text", "text": "Hel"}]
    assert feed(Assembler(), early, block(), delta("Hel"), delta("lo")) == ["Hel", "lo"]


def test_a_block_may_start_with_text():
    """Text in content_block_start counts."""
    pieces = feed(Assembler(), start(), block(text="Hel"), delta("lo"), whole("Hello"))
    assert pieces == ["Hel", "lo"]


def test_thinking_is_of_its_own_class():
    """Thinking and text of one message do not mix."""
    message = whole("answer")
    message["message"]["content"].insert(0, {"type": "thinking", "thinking": "hm"})
    pieces = feed(
        Assembler(),
        start(),
        block(0, "thinking"),
        thought("hm"),
        block(1),
        delta("ans", 1),
        message,
    )
    assert [(type(piece), piece) for piece in pieces] == [
        (Thinking, "hm"),
        (Text, "ans"),
        (Text, "wer"),
    ]


def test_a_thinking_block_may_start_with_thinking():
    """As text may."""
    assert feed(Assembler(), start(), block(0, "thinking", thinking="hm")) == ["hm"]


def test_subagents_stream_at_the_same_time():
    """Blocks are collected by subagent and index, and pieces say whose they are."""
    assembler = Assembler()
    assembler.name_agent("tool", "explorer")
    pieces = feed(
        assembler,
        start("m"),
        start("n", "tool"),
        block(0),
        block(0, parent="tool"),
        delta("ma"),
        delta("su", parent="tool"),
        delta("in"),
        delta("b", parent="tool"),
    )
    assert pieces == ["ma", "su", "in", "b"]
    assert [piece.snapshot for piece in pieces] == ["ma", "su", "main", "sub"]
    assert [piece.agent for piece in pieces] == [None, "explorer", None, "explorer"]
    assert [piece.message_id for piece in pieces] == ["m", "n", "m", "n"]
    assert [piece.parent_tool_use_id for piece in pieces] == [None, "tool", None, "tool"]


def test_a_complete_message_names_its_agent():
    """The type of a subagent may come with its messages."""
    (piece,) = feed(Assembler(), whole("hi", parent="tool", subagent_type="mathy"))
    assert piece.agent == "mathy"


def test_a_second_message_with_the_same_index_begins_anew():
    """Indexes restart with every message."""
    pieces = feed(
        Assembler(), start("m"), block(), delta("a"), start("n"), block(), delta("b"), whole("a")
    )
    assert pieces == ["a", "b"]
    assert pieces[1].snapshot == "b"
    assert pieces[1].message_id == "n"


def test_deltas_without_a_start_are_delivered():
    """A stream joined in the middle loses nothing."""
    assert feed(Assembler(), delta("a"), delta("b")) == ["a", "b"]


@pytest.mark.parametrize("index", [None, [1], {"a": [1]}, 1.5, "x", True])
def test_an_index_of_any_shape_loses_no_text(index):
    """Nor is any text delivered twice; a subagent that is no text is the main conversation."""
    events = (
        start(),
        block(index, parent=[1]),
        delta("Hel", index),
        delta("lo", index, parent={"a": 1}),
        stop(index),
        whole("Hello"),
    )
    assert "".join(feed(Assembler(), *events)) == "Hello"
    merged = Assembler().delta(None, index, "text_delta", "Hello")
    assert merged == "Hello"


@pytest.mark.parametrize("message_id", [{"id": "m"}, ["m"], 5])
def test_a_message_id_of_any_shape_loses_no_text(message_id):
    """It counts as none."""
    heard = feed(Assembler(), start(message_id), delta("a"), delta("b"), stop())
    assert heard == ["a", "b"]


@pytest.mark.parametrize(
    "junk",
    [
        {"type": "stream_event"},
        {"type": "stream_event", "event": None},
        {"type": "stream_event", "event": {"type": "content_block_delta"}},
        event(type="content_block_delta", delta=None),
        event(type="content_block_delta", index=0, delta={"type": "text_delta"}),
        event(type="content_block_delta", index=0, delta={"type": "text_delta", "text": 3}),
        event(type="content_block_delta", index=0, delta={"type": "text_delta", "text": ""}),
        event(type="content_block_delta", index=0, delta={"type": "input_json_delta"}),
        event(type="content_block_start", index=0),
        event(type="content_block_start", index=0, content_block={"type": "tool_use"}),
        event(type="message_start", message=None),
        event(type="message_stop"),
        event(type="ping"),
    ],
)
def test_shapes_of_no_use_bring_nothing(junk):
    """Events without text, and events of a wrong shape, are no error."""
    assembler = Assembler()
    assert feed(assembler, junk) == []
    assert feed(assembler, start(), block(), delta("still works")) == ["still works"]


@pytest.mark.parametrize(
    ("message", "pieces"),
    [
        ({"type": "assistant"}, []),
        ({"type": "assistant", "message": {"content": "plain"}}, ["plain"]),
        ({"type": "assistant", "content": [{"type": "text", "text": "flat"}]}, ["flat"]),
        ({"type": "assistant", "message": {"content": [None, {"type": "tool_use"}]}}, []),
        ({"type": "assistant", "message": {"content": [{"type": "text", "text": 3}]}}, []),
    ],
)
def test_complete_messages_of_any_shape(message, pieces):
    """Content may be a text, a list, or missing."""
    assert feed(Assembler(), message) == pieces


def test_only_so_many_messages_are_remembered():
    """A long session does not keep what it streamed."""
    assembler = Assembler()
    for number in range(3 * MESSAGES_REMEMBERED):
        feed(
            assembler, start(f"m{number}"), block(), delta("x"), whole("x", message_id=f"m{number}")
        )
    assert len(assembler._streamed) <= MESSAGES_REMEMBERED + 1


@given(st.lists(st.sampled_from(["", "a", "ab", "aba", " ", "a "]), min_size=1), st.data())
def test_blocks_that_look_alike_come_once(texts, data):
    """Whatever blocks a message has, and in whatever order their complete lines come."""
    assembler = Assembler()
    messages = [start()]
    for index, text in enumerate(texts):
        messages += [block(index), delta(text, index), stop(index)]
    assert "".join(feed(assembler, *messages)) == "".join(texts)
    assert feed(assembler, *map(whole, data.draw(st.permutations(texts)))) == []


@given(st.lists(st.text(min_size=1), min_size=1), st.booleans(), st.integers(0, 10))
def test_whatever_is_streamed_every_character_comes_once(texts, complete, lost):
    """For any text, any cutting, and any number of deltas that were lost at the end."""
    streamed = texts[: max(0, len(texts) - lost)] if complete else texts
    messages = [start(), block(), *(delta(text) for text in streamed)]
    if complete:
        messages.append(whole("".join(texts)))
    assert "".join(feed(Assembler(), *messages)) == "".join(texts)


class TestNamelessStreams:
    """Deltas without any message_start or block around them."""

    def test_nothing_comes_twice(self):
        """The complete message that follows is theirs, whatever it is called."""
        assembler = Assembler()
        pieces = feed(assembler, delta("Hel"), delta("lo"), whole("Hello!", message_id="m1"))
        assert [str(piece) for piece in pieces] == ["Hel", "lo", "!"]

    def test_the_next_message_begins_anew(self):
        """Its first delta does not continue the block of the message before."""
        assembler = Assembler()
        feed(assembler, delta("One"), whole("One", message_id="m1"))
        pieces = feed(assembler, delta("Two"), whole("Two", message_id="m2"))
        assert [(str(piece), piece.snapshot) for piece in pieces] == [("Two", "Two")]

    def test_a_block_whose_message_is_still_to_come_goes_on(self):
        """One line may complete one block of several."""
        assembler = Assembler()
        feed(assembler, thought("Hm", 0), delta("Well", 1))
        thinking = {"content": [{"type": "thinking", "thinking": "Hm"}], "id": "m1"}
        assert feed(assembler, {"type": "assistant", "message": thinking}) == []
        pieces = feed(assembler, delta(", yes", 1), whole("Well, yes", message_id="m1"))
        assert [piece.snapshot for piece in pieces] == ["Well, yes"]


class TestManyAgents:
    """What is kept of subagents has a limit; the main conversation is not forgotten."""

    def test_only_the_last_agents_are_remembered(self):
        """Their names, the messages they were at, and blocks that they never ended."""
        assembler = Assembler()
        feed(assembler, start("main"), block(), delta("Hel"))
        for number in range(3 * AGENTS_REMEMBERED):
            parent = f"tool {number}"
            assembler.name_agent(parent, f"agent {number}")
            feed(assembler, start(f"m{number}", parent), delta("x", 0, parent))
        assert len(assembler._agents) == AGENTS_REMEMBERED
        assert len(assembler._message_ids) == AGENTS_REMEMBERED
        assert len(assembler._open) <= AGENTS_REMEMBERED
        assert len(assembler._streamed) <= MESSAGES_REMEMBERED
        (piece,) = feed(assembler, delta("lo"))
        assert piece.message_id == "main"
        (piece,) = feed(assembler, delta("y", 1, parent))
        assert (piece.agent, piece.message_id) == (f"agent {number}", f"m{number}")

    def test_an_agent_that_is_mentioned_again_stays(self):
        """Those that were mentioned last are the last to be forgotten."""
        assembler = Assembler()
        for number in range(3 * AGENTS_REMEMBERED):
            assembler.name_agent("tool", "the first")
            assembler.name_agent(f"tool {number}", "another")
        (piece,) = feed(assembler, delta("x", 0, "tool"))
        assert piece.agent == "the first"

    def test_blocks_without_a_message_have_a_limit(self):
        """However many somebody begins who never says what they belong to."""
        assembler = Assembler()
        for number in range(3 * AGENTS_REMEMBERED):
            feed(assembler, delta("x", 0, f"tool {number}"))
        assert len(assembler._open) == AGENTS_REMEMBERED
        assert len(assembler._streamed) == MESSAGES_REMEMBERED
