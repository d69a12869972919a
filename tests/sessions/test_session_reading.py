"""Saved conversations come back as messages, whatever state their files are in."""

from __future__ import annotations

import json
import logging
import pickle
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st
from saved_sessions import Saved, conversation, texts

from claude_sync import (
    Assistant,
    ClaudeError,
    CompactBoundary,
    SessionNotFound,
    UsageError,
    User,
)
from claude_sync.sessions import (
    Subagent,
    list_sessions,
    list_subagents,
    read_session,
    read_subagent,
)

ID = UNKNOWN = "0d402564-7374-4fb1-8177-edc40afd195b"


@pytest.fixture
def config(tmp_path, monkeypatch):
    """The CLI's folder, as the environment names it."""
    folder = tmp_path / "config"
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(folder))
    return folder


@pytest.fixture
def saved(tmp_path):
    """A conversation in the making."""
    return Saved(tmp_path / "config")


def read(saved, **settings):
    """The messages that are read back."""
    return read_session(saved.save().path, **settings)


def read_texts(saved):
    """What was said, as it is read back."""
    return texts(read(saved))


def test_reading_by_id_item_and_path(config, tmp_path):
    """All name the same conversation; a path is no str, and may lead anywhere."""
    saved = conversation(config, "hello", cwd="/one")
    wanted = ["hello", "echo: hello"]
    (info,) = list_sessions()
    elsewhere = tmp_path / "copy.jsonl"
    elsewhere.write_bytes(saved.path.read_bytes())
    for session in (saved.session_id, info, saved.path, elsewhere):
        assert texts(read_session(session)) == wanted
    assert texts(read_session(saved.session_id, "/one")) == wanted
    assert texts(read_session(saved.session_id, cwd="/one", config_dir=config)) == wanted


def test_reading_what_is_not_there(config, tmp_path):
    """An id in another folder, a path without a file, an item that was deleted."""
    saved = conversation(config, "hello", cwd="/one")
    conversation(config, "other", cwd="/two")
    (info,) = list_sessions("/one")
    saved.path.unlink()
    for session in (UNKNOWN, info, tmp_path / "no.jsonl", tmp_path):
        with pytest.raises(SessionNotFound):
            read_session(session)
    with pytest.raises(UsageError, match="is not the id of a session"):
        read_session("yesterday")
    with pytest.raises(UsageError, match="is not the id of a session"):
        read_session(None)


def test_an_unknown_session_names_where_it_was_looked_for(config):
    """A UsageError and a LookupError that can be pickled."""
    saved = conversation(config, cwd="/one")
    with pytest.raises(SessionNotFound) as caught:
        read_session(ID, config_dir=config)
    assert caught.value.session_id == ID
    assert caught.value.searched == (str(config / "projects"),)
    assert str(config / "projects") in str(caught.value) and "list_sessions()" in str(caught.value)
    assert isinstance(caught.value, (UsageError, LookupError, ClaudeError))
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (str(copy), copy.searched) == (str(caught.value), caught.value.searched)
    with pytest.raises(SessionNotFound) as caught:
        read_session(ID, "/one", config_dir=config)
    assert caught.value.searched == (str(saved.folder),)


def test_one_id_in_two_folders(config):
    """Which one is meant must be said."""
    one = conversation(config, cwd="/one")
    two = conversation(config, cwd="/two", session_id=one.session_id)
    with pytest.raises(UsageError, match="there several times") as caught:
        read_session(one.session_id)
    assert str(one.path) in str(caught.value) and "cwd=" in str(caught.value)
    assert len(read_session(two.session_id, "/two")) == 2


def test_a_conversation_comes_back_as_messages(saved):
    """The classes, and the fields, that handlers would have got."""
    saved.note("queue-operation", operation="enqueue")
    prompt = saved.user("look")
    saved.calls("t1", given={"command": "ls"}, uuid=str(uuid.uuid4()))
    saved.result("t1", "a\nb", toolUseResult={"stdout": "a\nb"})
    saved.says("two files")
    user, call, result, answer = read(saved)
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
    assert read_texts(saved) == ["one", "to one", "three", "to three"]


def test_the_cli_s_notes_in_between_are_left_out(saved):
    """Reminders and signs of progress hold the tree together but were not said."""
    saved.user("one")
    saved.line("attachment", attachment={"type": "date"})
    saved.note("api-request", of={"uuid": "x"})
    saved.line("progress", data={})
    saved.says("to one")
    saved.line("attachment", attachment={"type": "prompt_snapshot"})
    assert read_texts(saved) == ["one", "to one"]


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
    messages = read(saved)
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
    messages = read(saved)
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
    assert read_texts(saved) == ["run two", "Assistant", "User", "Assistant", "User", "both run"]


def test_the_rest_of_a_reply_that_was_given_up_stays_away(saved):
    """Who goes on from the middle of a reply gave up the tools after it."""
    saved.user("run")
    half = saved.says("I will", reply="m1")
    saved.calls("t1", reply="m1")
    saved.result("t1")
    saved.says("done", reply="m2")
    saved.user("rather not", parent=half)
    assert read_texts(saved) == ["run", "I will", "rather not"]


def test_a_result_is_there_once(saved):
    """Where a tool call was answered again on the new branch, the old result stays away."""
    saved.user("run")
    call = saved.calls("t1", reply="m1")
    saved.result("t1", "old")
    saved.result("t1", "new", parent=call)
    saved.says("done", reply="m2")
    messages = read(saved)
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
    assert texts(read_session(saved.path)) == ["one", "to one", "to the lost"]
    lines[2] = b'"uuid" \0\n'
    saved.path.write_bytes(b"".join(lines))
    with caplog.at_level(logging.WARNING, "claude_sync"):
        assert texts(read_session(saved.path)) == ["one", "to one", "to the lost"]
    assert "1 damaged lines were left out" in caplog.text


@pytest.mark.parametrize("kind", ["system", "progress", "attachment"])
def test_a_last_line_that_hangs_on_nothing_hides_nothing(saved, kind):
    """Which branch counts is decided by what somebody said."""
    saved.user("one")
    saved.says("to one")
    saved.line(kind, parent=None, subtype="informational", content="Note")
    said = ["one", "to one"]
    note = ["System"] if kind == "system" else []
    assert read_texts(saved) == [*said, *note]
    saved.line("progress")
    assert read_texts(saved) == [*said, *note]


def test_everything_is_every_line(saved):
    """Other branches, subagents, and notes, in the order of the file."""
    saved.note("summary", summary="x")
    first = saved.user("one")
    saved.user("given up")
    saved.user("inner", isSidechain=True)
    saved.says("to one", parent=first)
    saved.note("custom-title", customTitle="x")
    messages = read(saved, everything=True)
    assert texts(messages) == ["Unknown", "one", "given up", "inner", "to one", "Unknown"]
    assert [message.type for message in messages][::5] == ["summary", "custom-title"]


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
def test_any_tree_is_read(tmp_path_factory, lines):
    """Whatever lines name each other, it ends and keeps the order and the last line."""
    path = tmp_path_factory.mktemp("tree") / "any.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = [message.raw["uuid"] for message in read_session(path)]
    notes = ("attachment", "progress")
    main = [line for line in lines if line.get("isSidechain") is not True]
    said = [line["uuid"] for line in main if line.get("type") not in notes]
    assert [uuid for uuid in said if uuid in found] == found
    if main and main[-1].get("type") not in notes:
        assert found[-1] == main[-1]["uuid"]
    read_session(path, subagents=True)


LOOK = {"prompt": "look around", "subagent_type": "Explore"}


@pytest.fixture
def started(tmp_path):
    """A conversation in which a subagent was started."""
    saved = Saved(tmp_path / "config")
    saved.user("use an agent")
    saved.calls("t1", "Task", dict(LOOK), reply="m1")
    return saved


def agent_of(saved, name="a1", prompt="look around"):
    """A subagent, in a file in the session's folder."""
    agent = Saved(saved.config, session_id=saved.session_id)
    agent.user(prompt, isSidechain=True, agentId=name)
    agent.says("looked", isSidechain=True, agentId=name)
    agent.folder = saved.path.with_suffix("") / "subagents"
    agent.path = agent.folder / f"agent-{name}.jsonl"
    return agent


def ended(saved, **fields):
    """The rest of the conversation."""
    saved.result("t1", "it looked", **fields)
    saved.says("agent done", reply="m2")
    return saved.save()


WITH_AGENT = ["use an agent", "Assistant", "look around", "looked", "User", "agent done"]


def check(saved, kind="Explore"):
    """The subagent is in its place, and its messages say whose they are."""
    messages = read_session(saved.path, subagents=True)
    assert texts(messages) == WITH_AGENT
    assert [m.parent_tool_use_id for m in messages] == [None, None, "t1", "t1", None, None]
    assert [m.agent for m in messages] == [None, None, kind, kind, None, None]


def test_notes_beside_it_tell_where_it_belongs(started):
    """As new CLIs write them."""
    agent = agent_of(started).save()
    notes = {"toolUseId": "t1", "agentType": "general-purpose"}
    agent.path.with_suffix(".meta.json").write_text(json.dumps(notes))
    started.lines[1]["message"]["content"][0]["input"]["prompt"] = "changed by a hook"
    check(ended(started), "general-purpose")


def test_the_result_tells_where_it_belongs(started):
    """As CLIs do that write no notes; the prompt may be another."""
    agent_of(started).save()
    agent_of(started, "warm", "Warmup").save()
    started.lines[1]["message"]["content"][0]["input"]["prompt"] = "changed by a hook"
    check(ended(started, toolUseResult={"agentId": "a1"}))
    with pytest.raises(UsageError, match="use one of them"):
        read_session(started.path, subagents=True, everything=True)


def test_the_prompt_tells_where_it_belongs(started):
    """Where it never ended, its prompt is that of the call; each call has one agent."""
    agent_of(started).save()
    agent_of(started, "a2").save()
    started.save()
    messages = read_session(started.path, subagents=True)
    assert texts(messages) == WITH_AGENT[:4]
    assert messages[-1].raw["agentId"] == "a1"


def test_a_subagent_of_a_subagent(started):
    """It follows the call in the middle of the other one."""
    outer = agent_of(started)
    outer.lines.pop()
    outer.last = outer.lines[0]["uuid"]
    outer.calls("t2", "Task", {"prompt": "look deeper"}, reply="m5", isSidechain=True)
    outer.says("looked", reply="m6", isSidechain=True)
    outer.save()
    agent_of(started, "a2", prompt="look deeper").save()
    messages = read_session(ended(started).path, subagents=True)
    assert texts(messages) == [
        *("use an agent", "Assistant", "look around", "Assistant"),
        *("look deeper", "looked", "looked", "User", "agent done"),
    ]
    assert [m.parent_tool_use_id for m in messages][2:7] == ["t1", "t1", "t2", "t2", "t1"]


def test_damage_costs_one_subagent_at_most(started, caplog, monkeypatch):
    """Files that cannot be read, broken notes and calls of other forms are passed over."""
    agent = agent_of(started)
    agent.save(ending=b"\0\n")
    agent.path.with_suffix(".meta.json").write_text("broken")
    (agent.folder / "agent-closed.jsonl").mkdir()
    (agent.folder / "agent-empty.jsonl").touch()
    started.reply([{"type": "tool_use", "id": 7, "input": 7}, 7], reply="m3")
    started.calls("t3", "Task", {"prompt": 7}, reply="m4")
    started.result("t3", toolUseResult="text")
    started.save()
    with caplog.at_level(logging.WARNING, "claude_sync"):
        assert texts(read_session(started.path, subagents=True))[:4] == WITH_AGENT[:4]
    assert "agent-closed.jsonl cannot be read" in caplog.text


def test_subagents_are_listed_and_read_one_by_one(started):
    """With what started them; one that the CLI started for itself is there, too."""
    agent_of(started).save()
    agent_of(started, "warm", prompt="Warmup").save()
    ended(started, toolUseResult={"agentId": "a1"})
    found = list_subagents(started.path)
    assert found == [
        Subagent("a1", "t1", "Explore", "look around"),
        Subagent("warm", None, None, "Warmup"),
    ]
    for agent in (found[0], "a1", "t1"):
        messages = read_subagent(started.path, agent)
        assert texts(messages) == ["look around", "looked"]
        assert {message.parent_tool_use_id for message in messages} == {"t1"}
    assert texts(read_subagent(started.path, "warm")) == ["Warmup", "looked"]
    for unknown in ("a9", None):
        with pytest.raises(UsageError, match="a1, warm"):
            read_subagent(started.path, unknown)
