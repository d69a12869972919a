"""Where exports come from: saved sessions, recordings, answers, messages, clients."""

from __future__ import annotations

import json

import pytest
from executables import executable
from saved_sessions import Saved, conversation

import claude_sync
from claude_sync import Client, UsageError
from claude_sync.render import chats
from claude_sync.render.sources import chat_of
from claude_sync.sessions import list_sessions, read_session
from claude_sync.testing import Recording, ScriptedCli, StandIn, builders

ID = "11111111-aaaa-4111-8111-111111111111"
SECRET = "sk-ant-api03-verysecretverysecretverysecret"


@pytest.fixture
def config(tmp_path):
    """Where the CLI keeps its conversations."""
    return tmp_path


def kinds_of(chat):
    """What sorts of steps there are."""
    return [step.kind for step in chat.steps]


def texts_of(chat):
    """What was said."""
    return [(step.kind, step.text) for step in chat.steps]


# Saved sessions.


def test_a_session_has_its_title_its_folder_and_its_times(config):
    """As the list tells them."""
    saved = Saved(config, session_id=ID)
    saved.user("hello")
    saved.says("hi there")
    saved.note("custom-title", customTitle="The parser", sessionId=ID)
    saved.save()
    for source in (ID, list_sessions(config_dir=config)[0]):
        chat = chat_of(source, config_dir=config)
        assert (chat.title, chat.cwd, chat.source) == ("The parser", "/srv/shop", "session")
        assert chat.began == 1772359200.0
        assert chat.timeline.seconds == 1.0
        assert chat.cost_usd is None  # nobody has written it down


def test_what_the_cli_put_into_the_users_mouth_is_no_prompt(config):
    """Reminders are left out, commands and their output told, an interrupt is a note."""
    saved = Saved(config, session_id=ID)
    saved.user("<system-reminder>be good</system-reminder>")
    saved.user("real words", isMeta=True)
    saved.user(
        "<command-name>/compact</command-name><command-message>compact</command-message>"
        "<command-args>keep names</command-args>"
    )
    saved.user("<local-command-stdout>Compacted</local-command-stdout>")
    saved.user([{"type": "text", "text": "[Request interrupted by user]"}])
    saved.line("system", subtype="compact_boundary", content="")
    saved.user("a summary", isCompactSummary=True)
    saved.save()
    assert texts_of(chat_of(ID, config_dir=config)) == [
        ("user", "/compact keep names"),
        ("note", "Compacted"),
        ("note", "Request interrupted by user"),
        ("note", "The conversation was compacted here."),
        ("summary", "a summary"),
    ]


def test_tokens_are_those_of_each_reply_once(config):
    """The lines of a reply repeat its usage; the last one is right."""
    saved = Saved(config, session_id=ID)
    saved.user("hello")
    for reply, tokens in (("m1", 1), ("m1", 7), ("m2", 5)):
        message = {"role": "assistant", "id": reply, "model": "claude-x"}
        content = [{"type": "text", "text": "x"}]
        usage = {"output_tokens": tokens}
        saved.line("assistant", message={**message, "content": content, "usage": usage})
    saved.save()
    assert chat_of(ID, config_dir=config).usage == {"output_tokens": 12}


@pytest.mark.parametrize(
    ("tool", "given", "diff"),
    [
        ("Write", {"content": "a\nb\n"}, ("+a", "+b")),
        (
            "Edit",
            {"old_string": "a\nb", "new_string": "a\nc"},
            ("@@ -1,2 +1,2 @@", " a", "-b", "+c"),
        ),
        ("MultiEdit", {"edits": [{"old_string": "", "new_string": "c"}, "odd"]}, ("+c",)),
        ("MultiEdit", {"edits": "odd"}, ()),
        ("NotebookEdit", {"new_source": "x = 1"}, ("+x = 1",)),
        ("Edit", {"old_string": 3}, ()),
        ("Bash", {"command": "ls"}, ()),
    ],
)
def test_without_a_record_of_the_cli_the_texts_are_compared(config, tool, given, diff):
    """The file of today is not looked at."""
    saved = Saved(config, session_id=ID)
    saved.calls("t1", tool, {"file_path": "/etc/hostname", **given})
    saved.result("t1")
    saved.save()
    (step,) = chat_of(ID, config_dir=config).steps
    assert step.diff == diff


def test_what_a_subagent_did_is_inside_of_its_step():
    """Not between the words of the conversation."""
    use = builders.assistant([builders.tool_use("Task", {"prompt": "look"}, id="t1")])
    inner = builders.assistant("found it", parent_tool_use_id="t1")
    result = builders.user([builders.tool_result("t1", "it is there")])
    messages = [claude_sync.messages.parsing.parse(wire) for wire in (use, inner, result)]
    (step,) = chat_of(messages).steps
    assert (step.kind, step.text, step.state) == ("tool", "it is there", "done")
    assert [(each.kind, each.text) for each in step.steps] == [("claude", "found it")]


# Recordings.


def recorded(tmp_path, *prompts, script=None, **options):
    """A recording of the stand-in; its path."""
    path = tmp_path / "x.jsonl"
    cli = executable(tmp_path, script, cost=0.25)
    with Client(
        cli=cli, record=path, permissions=claude_sync.policies.allow_all, **options
    ) as client:
        for prompt in prompts:
            client.ask(prompt, timeout=60)
    return path


def test_a_recording_has_costs_decisions_and_times(tmp_path):
    """Each turn its own; nothing is said twice, though the wire says it."""
    path = recorded(tmp_path, "one", 'two [[tool Bash {"command": "ls"}]]')
    for source in (path, str(path), Recording(path)):
        chat = chat_of(source)
        assert kinds_of(chat) == ["user", "claude", "end", "user", "tool", "claude", "end"]
        assert [step.cost_usd for step in chat.steps if step.kind == "end"] == [0.25, 0.25]
        assert chat.steps[4].decision == "allowed"
        assert (chat.cost_usd, chat.source, chat.title) == (0.5, "recording", "one")
        assert len(chat.timeline.turns) == 2
        assert chat.timeline.of("permission")


def test_a_recording_that_somebody_made_is_cleaned_once_more(tmp_path):
    """The recorder hides secrets; a file from elsewhere may have some."""
    lines = [
        {"dir": "in", "msg": builders.user(f"my key is {SECRET}")},
        {"dir": "out", "msg": builders.assistant(f"so it is {SECRET}")},
        {"dir": "out", "msg": builders.result("done")},
    ]
    path = tmp_path / "x.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    for format in ("md", "html", "json"):
        text = claude_sync.export(path, format=format)
        assert "so it is" in text
        assert "verysecret" not in text


def test_a_saved_session_is_exported_as_it_is(config):
    """Nobody but the person knows what in it is private: that is documented, and so."""
    saved = conversation(config, f"my key is {SECRET}")
    assert SECRET in claude_sync.export(saved.path, format="md")
    assert "are exported as they are" in " ".join(claude_sync.export.__doc__.split())


def test_what_was_said_in_other_dialects_is_understood(tmp_path):
    """Recordings of any CLI."""
    lines = [
        {"dir": "in", "msg": {"type": "user_message", "content": "hi"}},
        {"dir": "out", "msg": builders.assistant("hello")},
        {"dir": "out", "raw": "noise"},
        {"dir": "out", "msg": builders.result("hello")},
    ]
    path = tmp_path / "x.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert ("claude", "hello") in texts_of(chat_of(path))


def test_a_command_that_only_gives_a_result_is_not_lost(tmp_path):
    """Its output is there; an error is, too."""
    lines = [
        {"dir": "in", "msg": builders.user("/cost")},
        {"dir": "out", "msg": builders.result("Total cost: nothing")},
        {"dir": "in", "msg": builders.user("go")},
        {"dir": "out", "msg": builders.result("it broke", is_error=True)},
    ]
    path = tmp_path / "x.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    ends = [(step.text, step.state) for step in chat_of(path).steps if step.kind == "end"]
    assert ends == [("Total cost: nothing", "done"), ("it broke", "failed")]


# Programs.


def test_an_answer_is_exported_with_its_timeline():
    """One turn."""
    with Client(cli=StandIn(cost=0.25).command) as client:
        answer = client.ask("hello", timeout=60)
    chat = chat_of(answer)
    assert ("claude", "echo: hello") in texts_of(chat)
    assert (chat.cost_usd, chat.session_id) == (0.25, answer.session_id)
    assert chat.timeline.turns


def test_a_title_keeps_names_whole():
    """Marks of Markdown go, underscores inside of a name stay."""
    title = "Run my_tool now, then file_path"
    assert chats.title_of("## Run `my_tool` **now**, then _file_path_\nand more") == title


@pytest.mark.parametrize("streams", [True, False])
def test_a_text_is_there_once(streams):
    """Streamed or not: handlers get the message and its text."""
    chat = chats.Chat()

    def script(cli):
        cli.accept()
        for user in cli.questions():
            cli.begin_turn(user)
            if streams:
                cli.speak("I look.")
            else:
                texts = [builders.text("I look."), builders.tool_use("Bash", {}, "t1")]
                cli.say(builders.assistant(texts, "m1"))
                cli.say(builders.assistant(builders.text("All is well."), "m1"))
            cli.end_turn(user, "I look.")

    with Client(transport=ScriptedCli(script), on_message=chat.add, on_text=chat.add) as client:
        client.ask("look")
    texts = ["I look."] if streams else ["I look.", "All is well."]
    assert [step.text for step in chat.steps if step.kind == "claude"] == texts


def test_messages_are_exported(config):
    """As read_session gives them."""
    saved = conversation(config, "hello")
    chat = chat_of(read_session(saved.path))
    assert texts_of(chat) == [("user", "hello"), ("claude", "echo: hello")]


def test_a_client_is_exported_from_what_its_cli_has_saved(config):
    """The file is found by the client's own settings; the money is the client's."""
    conversation(config, "hello", session_id=ID)
    cli = ScriptedCli(lambda cli: (cli.accept(), cli.expect_end()))
    settings = {"resume": ID, "env": {"CLAUDE_CONFIG_DIR": str(config)}}
    with Client(transport=cli, **settings) as client:
        chat = chat_of(client)
    assert texts_of(chat) == [("user", "hello"), ("claude", "echo: hello")]
    assert (chat.source, chat.cost_usd) == ("client", 0.0)


def test_a_client_without_a_conversation_is_refused():
    """There is nothing yet."""
    client = Client(cli=StandIn().command)
    with pytest.raises(UsageError, match="Ask something first"):
        chat_of(client)
    client.close()


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (3, "not int"),
        (["words"], "not str"),
        ("no/such/file.jsonl", "no file"),
        ("22222222-aaaa-4111-8111-111111111111", "22222222"),
    ],
)
def test_what_is_no_conversation_is_refused(config, source, words):
    """With what is wanted instead."""
    with pytest.raises(UsageError, match=words):
        claude_sync.export(source, format="md", config_dir=config)
