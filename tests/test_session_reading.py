"""Saved conversations read back: which lines, in which order, as which messages."""

from __future__ import annotations

import logging
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st
from saved_sessions import Saved, texts

from claude_sync import Assistant, CompactBoundary, System, Unknown, User, session_reading
from claude_sync.session_reading import main_lines, message_of, read_conversation, read_everything


@pytest.fixture
def saved(tmp_path):
    """A conversation in the making."""
    return Saved(tmp_path / "config")


def read(saved):
    """What is read back."""
    return texts(read_conversation(saved.save().path))


def test_a_conversation_comes_back_as_messages(saved):
    """The classes, and the fields, that handlers would have got."""
    saved.note("queue-operation", operation="enqueue")
    prompt = saved.user("look")
    saved.calls("t1", given={"command": "ls"}, uuid=str(uuid.uuid4()))
    saved.result("t1", "a\nb", toolUseResult={"stdout": "a\nb"})
    saved.says("two files")
    user, call, result, answer = read_conversation(saved.save().path)
    assert isinstance(user, User) and isinstance(answer, Assistant)
    assert (user.text, user.uuid, user.session_id) == ("look", prompt, saved.session_id)
    assert not user.is_synthetic and user.parent_tool_use_id is None
    assert call.tool_uses[0].input == {"command": "ls"}
    assert result.tool_results[0].text == "a\nb"
    assert result.tool_use_result == {"stdout": "a\nb"}
    assert (answer.text, answer.model, answer.message_id) == ("two files", "claude-x", "msg")
    assert answer.raw["gitBranch"] == "main"


def test_the_branch_that_was_given_up_is_left_out(saved):
    """Going on from an earlier message leaves what came after it behind."""
    saved.user("one")
    first = saved.says("to one", reply="m1")
    saved.user("two")
    saved.says("to two", reply="m2")
    saved.user("three", parent=first)
    saved.says("to three", reply="m3")
    assert read(saved) == ["one", "to one", "three", "to three"]


def test_the_cli_s_notes_in_between_are_left_out(saved):
    """Reminders and signs of progress hold the tree together but were not said."""
    saved.user("one")
    saved.line("attachment", attachment={"type": "date"})
    saved.note("api-request", of={"uuid": "x"})
    saved.line("progress", data={})
    saved.says("to one")
    saved.line("attachment", attachment={"type": "prompt_snapshot"})
    assert read(saved) == ["one", "to one"]


def test_what_was_said_before_a_compaction_is_there(saved):
    """The boundary is a message with its figures; the summary was typed by nobody."""
    saved.user("one")
    last = saved.says("to one")
    metadata = {"trigger": "manual", "preTokens": 15, "postTokens": 5, "other": 1}
    saved.line(
        "system",
        parent=None,
        logicalParentUuid=last,
        subtype="compact_boundary",
        compactMetadata=metadata,
    )
    saved.user("The summary below", isCompactSummary=True, isVisibleInTranscriptOnly=True)
    saved.user("two")
    messages = read_conversation(saved.save().path)
    assert texts(messages) == ["one", "to one", "CompactBoundary", "The summary below", "two"]
    boundary, summary, typed = messages[2:]
    assert isinstance(boundary, CompactBoundary)
    assert (boundary.trigger, boundary.pre_tokens, boundary.post_tokens) == ("manual", 15, 5)
    assert boundary.compact_metadata["other"] == 1
    assert (summary.is_synthetic, typed.is_synthetic) == (True, False)


def test_tools_that_ran_at_once_are_all_there(saved):
    """Each result hangs on its own call, and only one of them on the way to the end."""
    saved.user("run two")
    first = saved.calls("t1", reply="m1")
    second = saved.calls("t2", reply="m1")
    saved.result("t1", "r1", parent=first)
    saved.result("t2", "r2", parent=second)
    saved.says("both run", reply="m2")
    messages = read_conversation(saved.save().path)
    assert texts(messages) == ["run two", "Assistant", "Assistant", "User", "User", "both run"]
    assert [m.tool_results[0].text for m in messages[3:5]] == ["r1", "r2"]


def test_tools_that_ran_at_once_the_other_way(saved):
    """The answer goes on from the first call: the second and its result are there all the same."""
    saved.user("run two")
    first = saved.calls("t1", reply="m1")
    one = saved.result("t1", "r1", parent=first)
    second = saved.calls("t2", reply="m1", parent=first)
    saved.result("t2", "r2", parent=second)
    saved.says("both run", reply="m2", parent=one)
    assert read(saved) == ["run two", "Assistant", "User", "Assistant", "User", "both run"]


def test_the_rest_of_a_reply_that_was_given_up_stays_away(saved):
    """Who goes on from the middle of a reply gave up the tools after it."""
    saved.user("run")
    half = saved.says("I will", reply="m1")
    saved.calls("t1", reply="m1")
    saved.result("t1")
    saved.says("done", reply="m2")
    saved.user("rather not", parent=half)
    assert read(saved) == ["run", "I will", "rather not"]


def test_a_result_is_there_once(saved):
    """Where a tool call was answered again on the new branch, the old result stays away."""
    saved.user("run")
    call = saved.calls("t1", reply="m1")
    saved.result("t1", "old")
    saved.result("t1", "new", parent=call)
    saved.says("done", reply="m2")
    messages = read_conversation(saved.save().path)
    assert [r.text for m in messages if isinstance(m, User) for r in m.tool_results] == ["new"]


def test_a_line_that_is_lost_breaks_nothing(saved, caplog):
    """Its place is taken by the line before it; the log tells of the damage."""
    saved.user("one")
    saved.says("to one", reply="m1")
    saved.user("lost")
    saved.says("to the lost", reply="m2")
    saved.save()
    lines = saved.path.read_bytes().splitlines(True)
    lines[2] = lines[2][:50] + b"\n"
    saved.path.write_bytes(b"".join(lines))
    assert texts(read_conversation(saved.path)) == ["one", "to one", "to the lost"]
    lines[2] = b'"uuid" \0\n'
    saved.path.write_bytes(b"".join(lines))
    with caplog.at_level(logging.WARNING, "claude_sync"):
        assert texts(read_conversation(saved.path)) == ["one", "to one", "to the lost"]
    assert "1 damaged lines were left out" in caplog.text


@pytest.mark.parametrize("kind", ["system", "progress", "attachment"])
def test_a_last_line_that_hangs_on_nothing_hides_nothing(saved, kind):
    """Which branch counts is decided by what somebody said."""
    saved.user("one")
    saved.says("to one")
    saved.line(kind, parent=None, subtype="informational", content="Note")
    said = ["one", "to one"]
    note = ["System"] if kind == "system" else []
    assert read(saved) == [*said, *note]
    saved.line("progress")
    assert read(saved) == [*said, *note]


def test_notes_alone_are_read(saved):
    """Where nobody has said anything."""
    saved.line("system", subtype="informational", content="Note")
    assert read(saved) == ["System"]


def test_a_note_on_an_earlier_message_counts(saved):
    """It says where the conversation went on from."""
    saved.user("one")
    first = saved.says("to one", reply="m1")
    saved.user("two")
    saved.says("to two", reply="m2")
    saved.line("system", parent=first, subtype="informational", content="Note")
    assert read(saved) == ["one", "to one", "System"]


def test_a_line_that_was_not_finished_is_left_out(saved):
    """A CLI may be writing it right now, or was killed while it did."""
    saved.user("one")
    saved.save(ending=b'{"parentUuid":null,"uuid":"x","type":"us')
    assert texts(read_conversation(saved.path)) == ["one"]


def test_lines_that_name_each_other_come_to_an_end(saved):
    """A circle is walked round once."""
    one, two = str(uuid.uuid4()), str(uuid.uuid4())
    saved.user("one", uuid=one, parent=two)
    saved.user("two", uuid=two, parent=one)
    assert read(saved) == ["one", "two"]


def test_a_line_that_was_written_twice_is_there_once(saved):
    """In its first place, with its last content."""
    one = saved.user("first version")
    saved.says("to one")
    saved.user("last version", uuid=one, parent=None)
    saved.says("again", parent=saved.lines[1]["uuid"], reply="m2")
    assert read(saved) == ["last version", "to one", "again"]


def test_what_is_not_known_is_kept(saved):
    """A type of a later CLI is Unknown, a subtype a plain System message."""
    saved.user("one")
    saved.line("hologram", shape="cube")
    saved.line("system", subtype="local_command", content="<local-command-stdout>x")
    _, hologram, system = read_conversation(saved.save().path)
    assert isinstance(hologram, Unknown) and hologram.raw["shape"] == "cube"
    assert type(system) is System and system.subtype == "local_command"


def test_everything_is_every_line(saved):
    """Other branches, subagents, and notes, in the order of the file."""
    saved.note("summary", summary="x")
    first = saved.user("one")
    saved.user("given up")
    saved.user("inner", isSidechain=True)
    saved.says("to one", parent=first)
    saved.note("custom-title", customTitle="x")
    messages = read_everything(saved.save().path)
    assert texts(messages) == ["Unknown", "one", "given up", "inner", "to one", "Unknown"]
    assert [message.type for message in messages][::5] == ["summary", "custom-title"]


def test_an_empty_file_has_no_messages(saved):
    """No line, no message."""
    assert read(saved) == []
    assert read_everything(saved.path) == []


def test_names_of_the_wire_do_not_replace_any(saved):
    """What a line already has stays as it is, and the line itself is not changed."""
    line = {"type": "user", "sessionId": "a", "session_id": "b", "message": {"content": "x"}}
    before = dict(line)
    message = message_of(line, "t1", "Explore")
    assert message.session_id == "b"
    assert (message.parent_tool_use_id, message.agent) == ("t1", "Explore")
    assert line == before


class Name(str):
    """An id that counts how often it is compared with an equal one."""

    compared = 0

    def __eq__(self, other):
        Name.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def test_a_long_conversation_is_read_in_a_straight_line(saved, monkeypatch):
    """The work grows with the length of the file, not with its square."""
    saved.user("go")
    for number in range(500):
        first = saved.calls(Name(f"t{number}"), reply=f"m{number}")
        second = saved.calls(Name(f"u{number}"), reply=f"m{number}")
        saved.result(Name(f"t{number}"), parent=first)
        saved.result(Name(f"u{number}"), parent=second)
    calls = []
    original = session_reading.ids_of
    monkeypatch.setattr(
        session_reading, "ids_of", lambda *given: calls.append(None) or original(*given)
    )
    monkeypatch.setattr(Name, "compared", 0)
    assert len(main_lines(saved.lines)) == 2001
    assert len(calls) <= 4 * 2001
    assert Name.compared <= 8 * 2001


NAMES = st.sampled_from(["a", "b", "c", "d", None, 7])
BLOCK = st.fixed_dictionaries(
    {"type": st.sampled_from(["tool_use", "tool_result", "text"])},
    optional={"id": NAMES, "tool_use_id": NAMES, "text": st.text()},
)
LINE = st.fixed_dictionaries(
    {"uuid": st.sampled_from("abcdef")},
    optional={
        "type": st.sampled_from(["user", "assistant", "system", "attachment", 7]),
        "parentUuid": NAMES,
        "logicalParentUuid": NAMES,
        "isSidechain": st.booleans(),
        "message": st.one_of(
            st.text(),
            st.fixed_dictionaries(
                {}, optional={"id": NAMES, "content": st.one_of(st.text(), st.lists(BLOCK))}
            ),
        ),
    },
)


@given(st.lists(LINE, unique_by=lambda line: line["uuid"]))
def test_any_tree_is_read(lines):
    """Whatever lines name each other, it ends, keeps the order and the last line, and parses."""
    found = main_lines(lines)
    main = [line for line in lines if line.get("isSidechain") is not True]
    assert [line for line in main if line in found] == found
    assert found[-1:] == main[-1:]
    assert all(message_of(line).raw["uuid"] == line["uuid"] for line in found)
