"""Saved conversations: what real CLIs write, and what they make of what is written here."""

from __future__ import annotations

import os
import uuid

import pytest

from claude_sync import Assistant, CliDidNotStart, CompactBoundary, SessionNotFound, User, sessions
from claude_sync.testing.model import text, tool_use


@pytest.fixture
def config(home):
    """Where the CLI of this file keeps everything."""
    return home / ".claude"


def held(client_of, *words, **options):
    """Hold a conversation; its id, and the answers."""
    client = client_of(**options)
    answers = [client.ask(word, timeout=90) for word in words]
    session = client.session_id
    client.close()
    return session, answers


def prompts(messages):
    """What somebody typed, as far as it is text."""
    found = [m for m in messages if isinstance(m, User) and not m.is_synthetic]
    return [m.text for m in found if m.text and not m.text.startswith("<")]


def test_a_conversation_is_listed_and_read(client_of, model, config, tmp_path):
    """Title, times and messages; two tools at once, a subagent, and what a compaction hides."""
    model.when("run two").reply(
        [
            text("I run two."),
            tool_use("Bash", {"command": "echo first"}),
            tool_use("Bash", {"command": "echo second"}),
        ]
    ).then_reply("both run")
    model.when("use an agent").reply(
        tool_use(
            "Task",
            {
                "description": "look",
                "prompt": "the question for the agent",
                "subagent_type": "general-purpose",
            },
        )
    ).then_reply("agent done")
    model.when("the question for the agent").reply(
        tool_use("Bash", {"command": "echo inner"})
    ).then_reply("inner answer")
    client = client_of(allowed_tools=["Bash", "Task", "Agent"])
    heard = []
    client.on_message(heard.append)
    client.ask("the first question", timeout=90)
    client.ask("run two", timeout=90)
    client.ask("use an agent", timeout=90)
    client.wait_idle(timeout=90)
    client.ask("/compact", timeout=90)
    client.ask("the last question", timeout=90)
    session = client.session_id
    client.close()

    (info,) = sessions.list_sessions(tmp_path, config_dir=config)
    assert (info.session_id, info.title) == (session, "the first question")
    assert info.first_prompt == "the first question"
    assert info.cwd == os.path.realpath(tmp_path)
    assert info.created <= info.modified and info.created.tzinfo is not None
    assert info.size == info.path.stat().st_size
    assert info.git_branch is None

    messages = sessions.read_session(session, config_dir=config)
    assert prompts(messages)[:3] == ["the first question", "run two", "use an agent"]
    assert prompts(messages)[-1] == "the last question"
    assert {m.session_id for m in messages} == {session}
    assert [m.trigger for m in messages if isinstance(m, CompactBoundary)] == ["manual"]
    calls = [use for m in messages if isinstance(m, Assistant) for use in m.tool_uses]
    results = {r.tool_use_id: r for m in messages if isinstance(m, User) for r in m.tool_results}
    assert [use.name for use in calls] == ["Bash", "Bash", "Task"]
    assert [results[use.id].text for use in calls][:2] == ["first", "second"]
    assert info.message_count == sum(isinstance(m, (Assistant, User)) for m in messages)

    # Every assistant message that a handler got is there, in that order, and the same.
    live = [m for m in heard if isinstance(m, Assistant) and m.parent_tool_use_id is None]
    saved = {m.uuid: m for m in messages if isinstance(m, Assistant)}
    assert [saved[m.uuid].content for m in live if m.uuid in saved] == [
        m.content for m in live if m.model != "<synthetic>"
    ]

    both = sessions.read_session(session, subagents=True, config_dir=config)
    inner = [m for m in both if m.parent_tool_use_id is not None]
    assert [m for m in both if m.parent_tool_use_id is None] == messages
    assert {m.parent_tool_use_id for m in inner} == {calls[2].id}
    assert {m.agent for m in inner} == {"general-purpose"}
    assert (inner[0].text, inner[-1].text) == ("the question for the agent", "inner answer")
    assert [r.text for m in inner if isinstance(m, User) for r in m.tool_results] == ["inner"]
    place = both.index(inner[0])
    assert both[place - 1].tool_uses[0].id == calls[2].id
    assert len(sessions.read_session(session, everything=True, config_dir=config)) >= len(messages)


def test_a_conversation_belongs_to_its_folder(client_of, cli, config, tmp_path):
    """Found by a link, and by a name far from ASCII; the old CLI resumes it nowhere else."""
    real = tmp_path / "ünï cödé_日本.\U0001f600"
    real.mkdir()
    (tmp_path / "link").symlink_to(real)
    session, _ = held(client_of, "in a strange place", cwd=tmp_path / "link")
    for cwd in (real, tmp_path / "link"):
        (info,) = sessions.list_sessions(cwd, config_dir=config)
        assert (info.session_id, info.cwd) == (session, os.path.realpath(real))
    assert sessions.list_sessions(tmp_path, config_dir=config) == []
    elsewhere = client_of(resume=session)
    if cli.is_new:
        elsewhere.ask("and elsewhere", timeout=90)
        assert elsewhere.session_id == session
        elsewhere.close()
        (info,) = sessions.list_sessions(real, config_dir=config)
        assert (info.session_id, info.cwd) == (session, os.path.realpath(real))
    else:
        with pytest.raises(CliDidNotStart, match="No conversation found"):
            elsewhere.start()


def test_a_long_name_of_a_folder_is_found(client_of, new_cli, config, tmp_path):
    """The newest CLI can save a conversation in a folder of such a name."""
    folder = tmp_path / ("x" * 120) / ("é" * 100)
    folder.mkdir(parents=True)
    session, _ = held(client_of, "far down", cwd=folder)
    assert [i.session_id for i in sessions.list_sessions(folder, config_dir=config)] == [session]
    assert prompts(sessions.read_session(session, folder, config_dir=config)) == ["far down"]


def test_a_title_is_one_for_the_cli_too(client_of, cli, model, config, tmp_path):
    """A renamed conversation can be resumed; the newest CLI knows it by its title."""
    session, _ = held(client_of, "the word is plum")
    sessions.rename_session(session, "About plums", config_dir=config)
    assert [i.title for i in sessions.list_sessions(tmp_path, config_dir=config)] == ["About plums"]
    client = client_of(resume="About plums" if cli.is_new else session)
    assert client.ask("which fruit?", timeout=90) == "echo: which fruit?"
    assert client.session_id == session
    assert "the word is plum" in str(model.wait_for_request("which fruit?").messages)
    if cli.is_new:
        client.control("rename_session", title="Named by the CLI")
    client.close()
    (info,) = sessions.list_sessions(tmp_path, config_dir=config)
    assert info.title == ("Named by the CLI" if cli.is_new else "About plums")
    assert prompts(sessions.read_session(info)) == ["the word is plum", "which fruit?"]
    if cli.is_new:
        # Once more, over what the CLI itself has written.
        sessions.rename_session(info, "About pears")
        client = client_of(resume=session)
        told = client.control("generate_session_title", description="x", persist=True)
        assert told["title"] == "About pears"
        client.close()
        (info,) = sessions.list_sessions(tmp_path, config_dir=config)
        assert info.title == "About pears"


def test_a_deleted_conversation_is_gone_until_it_is_restored(
    client_of, new_cli, model, config, tmp_path
):
    """The CLI does not find it any more; brought back, it goes on."""
    session, _ = held(client_of, "the word is fig")
    belongs = [path for path in config.rglob("*") if session in path.name]
    deleted = sessions.delete_session(session, config_dir=config)
    assert not any(path.exists() for path in belongs)
    assert sessions.list_sessions(tmp_path, config_dir=config) == []
    with pytest.raises(SessionNotFound):
        sessions.read_session(session, config_dir=config)
    with pytest.raises(CliDidNotStart, match="No conversation found"):
        client_of(resume=session).start()
    sessions.restore_session(deleted)
    assert all(path.exists() for path in belongs)
    resumed = client_of(resume=session)
    assert resumed.ask("which word was it?", timeout=90) == "echo: which word was it?"
    assert "the word is fig" in str(model.wait_for_request("which word was it?").messages)


@pytest.mark.everything
def test_the_last_one_is_the_first_in_the_list(client_of, new_cli, config, tmp_path):
    """continue_conversation= takes the conversation that list_sessions() has first."""
    older, _ = held(client_of, "an older one")
    newer, _ = held(client_of, "a newer one")
    found = sessions.list_sessions(tmp_path, config_dir=config)
    assert [info.session_id for info in found] == [newer, older]
    sessions.rename_session(older, "A title is no news", config_dir=config)
    found = sessions.list_sessions(tmp_path, config_dir=config)
    assert [info.session_id for info in found] == [newer, older]
    session, _ = held(client_of, "going on", continue_conversation=True)
    assert session == newer


@pytest.mark.everything
def test_where_nothing_was_asked_is_not_listed(client_of, new_cli, config, tmp_path):
    """Commands of the CLI itself, such as /clear begins with; one that asks something is listed."""
    (tmp_path / ".claude" / "commands").mkdir(parents=True)
    (tmp_path / ".claude" / "commands" / "mine.md").write_text("Say it: $ARGUMENTS")
    asked, answers = held(client_of, "/mine please")
    assert answers == ["echo: Say it: please"]
    cost, _ = held(client_of, "/cost", "/context")
    client = client_of()
    client.ask("this is asked", timeout=90)
    listed = [client.session_id, asked]
    client.rename("a title")
    client.ask("/clear", timeout=90)
    empty = [client.session_id, cost]
    client.close()
    found = sessions.list_sessions(tmp_path, config_dir=config)
    assert [info.session_id for info in found] == listed
    found = sessions.list_sessions(tmp_path, everything=True, config_dir=config)
    assert {info.session_id for info in found} == {*listed, *empty}
    for session in empty:
        assert sessions.read_session(session, config_dir=config)
    # Gone on with, it is a conversation like any other.
    session, _ = held(client_of, "now something is asked", resume=cost)
    (info, *_) = sessions.list_sessions(tmp_path, config_dir=config)
    assert (info.session_id, info.first_prompt) == (session, "now something is asked")


def test_going_on_from_an_earlier_message(client_of, model, config):
    """resume_at= leaves out what came after it, for the model and in what is read back."""
    session, answers = held(client_of, "alpha one", "beta two")
    first = [m for m in answers[0].messages if isinstance(m, Assistant)][-1]
    client = client_of(resume=session, resume_at=first.uuid)
    assert client.ask("gamma three", timeout=90) == "echo: gamma three"
    resumed = client.session_id
    client.close()
    seen = str(model.wait_for_request("gamma three").messages)
    assert "alpha one" in seen and "beta two" not in seen
    assert resumed == session
    messages = sessions.read_session(session, config_dir=config)
    assert prompts(messages) == ["alpha one", "gamma three"]
    everything = sessions.read_session(session, everything=True, config_dir=config)
    assert "beta two" in prompts(everything)
    # A copy from there has an id of its own.
    fork, _ = held(client_of, "delta four", resume=session, resume_at=first.uuid, fork_session=True)
    assert fork not in (None, session)
    seen = str(model.wait_for_request("delta four").messages)
    assert "alpha one" in seen and "beta two" not in seen and "gamma three" not in seen
    copied = sessions.read_session(fork, config_dir=config)
    assert prompts(copied) == ["alpha one", "delta four"]


@pytest.mark.everything
def test_a_turn_can_be_dropped(client_of, new_cli, model, config):
    """resume_drops_turn= says which turn may be left out; another one is refused."""
    session, _ = held(client_of, "alpha 1", "beta 2", "gamma 3")
    messages = sessions.read_session(session, config_dir=config)
    asked = {m.text: m.uuid for m in messages if isinstance(m, User)}
    said = {m.text: m.uuid for m in messages if isinstance(m, Assistant)}
    with pytest.raises(CliDidNotStart, match="resume-drops-turn"):
        client_of(
            resume=session, resume_at=said["echo: alpha 1"], resume_drops_turn=asked["gamma 3"]
        ).start()
    client = client_of(
        resume=session, resume_at=said["echo: beta 2"], resume_drops_turn=asked["gamma 3"]
    )
    assert client.ask("delta 4", timeout=90) == "echo: delta 4"
    client.close()
    seen = str(model.wait_for_request("delta 4").messages)
    assert "beta 2" in seen and "gamma 3" not in seen
    assert prompts(sessions.read_session(session, config_dir=config)) == [
        *("alpha 1", "beta 2", "delta 4")
    ]


@pytest.mark.everything
def test_an_id_of_our_own(client_of, new_cli, config):
    """session_id= names a new conversation, once; and a copy."""
    own, copy = str(uuid.uuid4()), str(uuid.uuid4())
    session, _ = held(client_of, "mine by name", session_id=own)
    assert session == own
    with pytest.raises(CliDidNotStart, match="already in use"):
        client_of(session_id=own).start()
    session, _ = held(client_of, "in it", resume=own, fork_session=True, session_id=copy)
    assert session == copy
    copied = sessions.read_session(copy, config_dir=config)
    assert prompts(copied) == ["mine by name", "in it"]
    assert prompts(sessions.read_session(own, config_dir=config)) == ["mine by name"]
