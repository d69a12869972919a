"""Control methods: what each CLI answers, and that it really does what it says."""

from __future__ import annotations

import os
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest
from patience import wait_until

import claude_sync
from claude_sync.engine.control import Rows
from claude_sync.testing.model import text, tool_use

SERVER = {"command": sys.executable, "args": [str(Path(__file__).parent / "small_mcp_server.py")]}

# A model with a budget for thinking; newer ones decide by themselves.
BUDGET_MODEL = "claude-sonnet-4-5-20250929"

# What only CLIs from 2.1.40 on may know, and the newest does.
NEW_METHODS = {
    "context_usage": (),
    "usage_report": (),
    "get_settings": (),
    "apply_settings": ({"model": "haiku"},),
    "stop_task": ("b1234567",),
    "background_tasks": (),
    "side_question": ("why?",),
    "rename": ("a title",),
}


def asked(model, client, words):
    """Ask something; the body of the request that reached the model."""
    client.ask(words, timeout=90)
    return model.wait_for_request(words).body


def kill(client):
    """Kill the CLI, and wait until that is noticed."""
    os.kill(client.pid, signal.SIGKILL)
    wait_until(lambda: client.state == "crashed")


# Model, mode, thinking.


def test_set_model(chat, cli, model):
    """The next question goes to the other model; None is the CLI's default."""
    before = asked(model, chat, "before the model changes")["model"]
    reply = chat.set_model("haiku")
    seen = asked(model, chat, "after the model changed")["model"]
    assert "haiku" in seen and seen != before
    assert reply.model == (seen if cli.is_new else None)
    chat.set_model(None)
    assert "haiku" not in asked(model, chat, "the default again")["model"]


def test_set_model_in_a_handler_while_a_turn_runs(chat, model):
    """It is answered at once, there too; the next question has the new model."""
    gate = threading.Event()
    model.when("change it in mid-turn").reply(text("a few words and some more", gate=gate))
    replies = []

    def change(piece):
        if not replies:
            replies.append(chat.set_model("haiku"))
            gate.set()

    chat.on_text(change)
    try:
        assert chat.ask("change it in mid-turn", timeout=60) == "a few words and some more"
    finally:
        chat.off(change)
        chat.set_model(None)
    assert len(replies) == 1


def test_set_permission_mode(chat, model):
    """In acceptEdits files are written without a question; in default there is one."""
    asked_for = []
    handler = chat.on_permission(lambda request: asked_for.append(request.tool) or False)
    for mode, questions in (("acceptEdits", 0), ("default", 1), ("manual", 1)):
        file = Path(chat._options.cwd) / f"{mode}.txt"
        words = f"write it in {mode}"
        model.when(words).reply(tool_use("Write", {"file_path": str(file), "content": "x"}))
        assert chat.set_permission_mode(mode).mode == ("default" if questions else mode)
        chat.ask(words, timeout=90)
        assert (len(asked_for), file.exists()) == (questions, not questions)
        asked_for.clear()
    chat.off(handler)


def test_a_mode_that_the_cli_does_not_know(chat, cli):
    """The old CLI would accept any word; it is not asked."""
    known = {"dontAsk": True, "auto": cli.is_new}
    for mode, is_known in known.items():
        if is_known:
            assert chat.set_permission_mode(mode).mode == mode
        else:
            with pytest.raises(claude_sync.UnsupportedByCli, match=cli.version) as caught:
                chat.set_permission_mode(mode)
            assert mode in str(caught.value)
    chat.set_permission_mode("default")


def test_a_mode_may_be_refused(chat, cli):
    """bypassPermissions has to be allowed at the start; the old CLI does not mind."""
    if not cli.is_new:
        assert chat.set_permission_mode("bypassPermissions").mode == "bypassPermissions"
        chat.set_permission_mode("default")
        return
    with pytest.raises(claude_sync.ControlError, match="bypassPermissions") as caught:
        chat.set_permission_mode("bypassPermissions")
    assert caught.value.code == "bypass_not_launched"


def test_set_max_thinking_tokens(chat, model):
    """The budget reaches the model, and 0 takes it away."""
    chat.set_model(BUDGET_MODEL)
    chat.set_max_thinking_tokens(2000)
    assert asked(model, chat, "think a little")["thinking"]["budget_tokens"] == 2000
    chat.set_max_thinking_tokens(0)
    assert "budget_tokens" not in (asked(model, chat, "think no more").get("thinking") or {})
    chat.set_max_thinking_tokens(None)
    chat.set_model(None)


# Settings.


def test_effort(chat, new_cli, model):
    """The effort reaches the model, and is told by get_settings()."""
    for effort in ("low", "medium", "high", "xhigh", "max"):
        chat.apply_settings(effort=effort)
        assert chat.get_settings().effort == effort
        assert asked(model, chat, f"with effort {effort}")["output_config"]["effort"] == effort
    chat.apply_settings(effort=None)


def test_settings(chat, new_cli):
    """What is applied is in force, beside what was applied before, until it is taken back."""
    chat.apply_settings({"permissions": {"deny": ["WebFetch"]}})
    chat.apply_settings({"model": "haiku"})
    report = chat.get_settings()
    assert report.effective["permissions"] == {"deny": ["WebFetch"]}
    assert "haiku" in report.model
    assert report.sources[-1].source == "flagSettings"
    assert report.sources[-1].settings["model"] == "haiku"
    with pytest.raises(claude_sync.ControlError, match="permissions"):
        chat.apply_settings({"permissions": "nonsense"})
    chat.apply_settings({"permissions": None, "model": None})
    assert chat.get_settings().effective.get("model") is None


# MCP servers.


def test_mcp_servers(client_of):
    """Their status; off and on; once more; more of them, and less."""
    client = client_of(mcp_servers={"small": SERVER})
    client.ask("connect to it", timeout=90)
    server = client.mcp_status().get("small")
    assert (server.status, server.server_name, server.server_version) == ("connected", "small", "1")
    assert server.tools == ("double",)
    client.mcp_toggle("small", False)
    assert client.mcp_status().get("small").status == "disabled"
    client.mcp_toggle("small", True)
    client.mcp_reconnect("small")
    assert client.mcp_status().get("small").status == "connected"
    with pytest.raises(claude_sync.ControlError, match="nowhere"):
        client.mcp_reconnect("nowhere")
    wanted = {"more": SERVER, "broken": {"command": "/nonexistent"}}
    change = client.set_mcp_servers(wanted)
    assert (set(change.added), change.removed) == ({"more", "broken"}, ())
    assert set(change.errors) == {"broken"}
    status = client.mcp_status()
    assert [each.name for each in status.servers].count("more") == 1
    assert status.get("more").tools == ("double",)
    change = client.set_mcp_servers({})
    assert set(change.removed) == {"more", "broken"}
    assert client.mcp_status().get("more") is None
    assert client.mcp_status().get("small") is not None


def test_a_resource_and_the_mode_of_a_server(client_of, new_cli, model):
    """A resource is read; in its own mode a server's tool is asked about, also after a crash."""
    client = client_of(
        mcp_servers={"small": SERVER},
        permission_mode="bypassPermissions",
        env={"IS_SANDBOX": "1"},  # otherwise root may not bypass
    )
    client.ask("connect to it", timeout=90)
    (sign,) = client.mcp_read_resource("small", "ui://sign")["contents"]
    assert sign["text"] == "a sign"
    asked_for = []
    client.on_permission(lambda request: asked_for.append(request.tool) or False)
    for number, (mode, questions) in enumerate([(None, 0), ("default", 1)]):
        client.set_mcp_permission_mode("small", mode)
        model.when(f"double {number}").reply(tool_use("mcp__small__double", {"number": 2}))
        client.ask(f"double {number}", timeout=90)
        assert len(asked_for) == questions
    kill(client)
    model.when("double again").reply(tool_use("mcp__small__double", {"number": 2}))
    client.ask("double again", timeout=90)
    assert len(asked_for) == 2
    with pytest.raises(claude_sync.ControlError):
        client.control("set_mcp_permission_mode_override", serverName="small", mode="acceptEdits")


# Tokens and money.


def test_context_usage(chat, new_cli):
    """How full the window is, and with what."""
    chat.ask("a few words", timeout=60)
    usage = chat.context_usage()
    assert 0 < usage.total_tokens < usage.max_tokens
    assert usage.model
    parts = {category.id: category for category in usage.categories}
    assert parts["system_prompt"].tokens > 0 and parts["system_prompt"].kind == "used"
    assert parts["free_space"].tokens > 0 and parts["free_space"].kind == "free"


def test_usage_report(chat, new_cli):
    """The CLI's own count, which grows as ours does, or more."""
    before, ours = chat.usage_report(), chat.cost_usd
    chat.ask("something to count", timeout=60)
    report = chat.usage_report()
    assert report.cost_usd - before.cost_usd >= chat.cost_usd - ours - 1e-9 > 0
    assert report.model_usage and report.rate_limits is None
    assert report.duration_ms > 0


# What is on disk.


def test_reload_skills(chat, new_cli):
    """A skill that was written meanwhile is there after it."""
    folder = Path(chat._options.cwd, ".claude", "skills", "late")
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: late\ndescription: comes late\n---\nHello.\n")
    assert "late" in [skill["name"] for skill in chat.reload_skills()["skills"]]


def test_reload_output_styles_and_plugins(chat, new_cli):
    """An output style that was written meanwhile is there after it; plugins bring commands."""
    folder = Path(chat._options.cwd, ".claude", "output-styles")
    folder.mkdir(parents=True)
    (folder / "curt.md").write_text("---\nname: Curt\ndescription: few words\n---\nBe curt.\n")
    assert "Curt" in chat.reload_output_styles()["available_output_styles"]
    assert {"commands", "agents", "plugins"} <= set(chat.reload_plugins())


def test_read_file(chat, new_cli, tmp_path):
    """A file of the folder is read, whole or its beginning; others are refused."""
    file = Path(chat._options.cwd, "read me.txt")
    file.write_text("one two")
    reply = chat.read_file("read me.txt")
    assert (reply["contents"], reply["absPath"]) == ("one two", str(file))
    assert chat.read_file(file, max_bytes=3)["contents"] == "one"
    assert chat.read_file(file, encoding="base64")["contents"] == "b25lIHR3bw=="
    outside = tmp_path / "outside.txt"
    outside.write_text("secret")
    with pytest.raises(claude_sync.ControlError):
        chat.read_file(outside)
    chat.seed_read_state(file, file.stat().st_mtime)


def test_update_settings(client_of, new_cli, tmp_path):
    """What is written stays in the file; the CLI refuses other settings."""
    client = client_of()
    client.update_settings("localSettings", {"outputStyle": "Explanatory"})
    (file,) = Path(client._options.cwd).glob(".claude/settings.local.json")
    assert "Explanatory" in file.read_text()
    with pytest.raises(claude_sync.ControlError, match="model"):
        client.update_settings("localSettings", {"model": "haiku"})


# Files.


def test_rewind_files(client_of, model, tmp_path):
    """A file that was written is gone again, one that was changed is as it was."""
    client = client_of(enable_file_checkpointing=True, permission_mode="acceptEdits")
    old, new = tmp_path / "old.txt", tmp_path / "new.txt"
    old.write_text("as it was\n")
    model.when("look at the old one").reply(tool_use("Read", {"file_path": str(old)}))
    client.ask("look at the old one", timeout=90)
    change = {"file_path": str(old), "old_string": "as it was", "new_string": "other"}
    model.when("change the old one").reply(tool_use("Edit", change))
    model.when("write a new one").reply(
        tool_use("Write", {"file_path": str(new), "content": "new\n"})
    )
    answer = client.ask("change the old one", timeout=90)
    client.ask("write a new one", timeout=90)
    assert (old.read_text(), new.read_text()) == ("other\n", "new\n")
    report = client.rewind_files(answer.user_message_id, dry_run=True)
    assert report.can_rewind
    assert set(report.files_changed) == {str(old), str(new)}
    assert (report.insertions, report.deletions) == (1, 2)
    assert new.exists()
    assert client.rewind_files(answer.user_message_id).can_rewind
    assert old.read_text() == "as it was\n"
    assert not new.exists()
    with pytest.raises(claude_sync.ControlError, match="checkpoint"):
        client.rewind_files("00000000-0000-4000-a000-000000000000")


def test_rewind_files_without_checkpoints(chat):
    """A client that keeps no checkpoints is told so; a dry run tells it in its reply."""
    with pytest.raises(claude_sync.ControlError, match="not enabled"):
        chat.rewind_files("00000000-0000-4000-a000-000000000000")
    report = chat.rewind_files("00000000-0000-4000-a000-000000000000", dry_run=True)
    assert (report.can_rewind, "not enabled" in report.error) == (False, True)


# Tasks.


def test_stop_task(chat, new_cli, model, listen):
    """A command in the background is ended, and that is told."""
    tasks = listen(chat, "task")
    command = {"command": "sleep 300", "run_in_background": True}
    model.when("sleep in the background").reply(tool_use("Bash", command))
    chat.ask("sleep in the background", timeout=60)
    wait_until(lambda: tasks)
    chat.stop_task(tasks[0].task_id)
    wait_until(lambda: any(task.status in ("stopped", "killed") for task in tasks))


def test_background_tasks(chat, new_cli, model, listen, tmp_path):
    """A command that Claude waits for goes on in the background, and the turn ends."""
    tasks, mark = listen(chat, "task"), tmp_path / "running"
    command = {"command": f"touch '{mark}'; sleep 300"}
    model.when("sleep in the foreground").reply(tool_use("Bash", command))
    turn = chat.submit("sleep in the foreground", timeout=60)
    wait_until(mark.exists)
    assert not turn.done()

    def has_moved():
        chat.background_tasks()
        return wait([turn], timeout=1).done

    # The CLI makes a task of a command when it has run for a moment; before, nothing moves.
    wait_until(has_moved)
    assert "background" in turn.result()
    wait_until(lambda: tasks)
    chat.stop_task(tasks[-1].task_id)


# Beside the conversation.


def test_side_question(chat, new_cli, model):
    """It knows the conversation, which does not know of it; also while a turn runs."""
    chat.ask("remember the number 17", timeout=60)
    gate = threading.Event()
    model.when("this takes long").reply("at last", gate=gate)
    turn = chat.submit("this takes long", timeout=60)
    model.wait_for_request("this takes long")
    model.when("which number, by the way").reply("it was 17")
    answer = chat.side_question("which number, by the way?")
    assert (answer.text, str(answer), answer.synthetic) == ("it was 17", "it was 17", False)
    seen = model.wait_for_request("which number, by the way")
    assert "remember the number 17" in str(seen.messages)
    gate.set()
    assert turn.result() == "at last"
    chat.ask("and now?", timeout=60)
    assert "by the way" not in str(model.wait_for_request("and now?").messages)


def test_rename(chat, new_cli, home):
    """The title is saved with the conversation."""
    chat.ask("something to save", timeout=60)
    chat.rename("The title of this test")
    (file,) = home.rglob(f"{chat.session_id}.jsonl")
    wait_until(lambda: "The title of this test" in file.read_text(encoding="utf-8"))


def test_compact(chat, cli, model):
    """The conversation becomes a summary, made with the instructions."""
    if cli.is_new:
        # Of a long conversation it keeps the end.
        chat.ask("/clear", timeout=90)
    chat.ask("the first thing that was said", timeout=90)
    answer = chat.compact("mind the numbers", timeout=90)
    assert "Compacted" in answer
    (request,) = [each for each in model.requests if each.kind == "compact"]
    assert "mind the numbers" in request.text
    chat.ask("after the summary", timeout=90)
    seen = str(model.wait_for_request("after the summary").messages)
    assert "A summary made by the loopback model" in seen
    assert "echo: the first thing that was said" not in seen


# What was told at the start.


def test_what_the_cli_told(client_of, cli):
    """Models, commands and account, without a question; the CLI is started for it."""
    client = client_of()
    models = client.supported_models(timeout=90)
    assert models[0].value == "default" and models[0].display_name
    commands = {command.name: command for command in client.supported_commands()}
    if cli.is_new:
        assert "Explore" in [agent["name"] for agent in client.supported_agents()]
    assert commands["compact"].description and commands["compact"].argument_hint
    assert client.account_info().api_key_source == "ANTHROPIC_API_KEY"


# Too old.


def test_what_an_old_cli_lacks_is_told_at_once(old_cli, chat):
    """Nothing is sent that would never be answered; the version is in the text."""
    for method, arguments in NEW_METHODS.items():
        with pytest.raises(claude_sync.UnsupportedByCli) as caught:
            getattr(chat, method)(*arguments, timeout=float("inf"))
        assert caught.value.cli_version == old_cli.version
        assert f"{method}()" in str(caught.value)
        assert chat.state == "idle"


def test_the_version_is_found_before_the_first_question(old_cli, client_of):
    """A CLI that has not told its version yet is asked for it; by eight threads, too."""
    client = client_of()
    with ThreadPoolExecutor(8) as pool:
        waiting = [pool.submit(client.context_usage, timeout=90) for _ in range(8)]
        for each in waiting:
            with pytest.raises(claude_sync.UnsupportedByCli, match=old_cli.version):
                each.result(90)
    assert client.mcp_status().servers == ()


def test_a_new_cli_says_itself_what_it_lacks(new_cli, chat, monkeypatch):
    """A request that it does not know is UnsupportedByCli, and ControlError for control()."""
    monkeypatch.setattr(Rows.rename, "subtype", "no_such_thing")
    with pytest.raises(claude_sync.UnsupportedByCli, match=r"rename\(\)") as caught:
        chat.rename("a title")
    assert caught.value.cli_version == chat.info.cli_version
    with pytest.raises(claude_sync.ControlError) as refused:
        chat.control("no_such_thing")
    assert refused.value.code == "unsupported_request"


# Many at once, and after a crash.


def test_many_threads_each_get_their_own_reply(chat, new_cli, model):
    """Eight threads ask different things at the same time."""
    for number in range(4):
        model.when(f"side number {number}").reply(f"answer {number}")
    with ThreadPoolExecutor(8) as pool:
        sides = [pool.submit(chat.side_question, f"side number {n}") for n in range(4)]
        usages = [pool.submit(chat.context_usage) for _ in range(2)]
        reports = [pool.submit(chat.usage_report) for _ in range(2)]
        assert [each.result(60).text for each in sides] == [f"answer {n}" for n in range(4)]
        assert all(each.result(60).max_tokens for each in usages)
        assert all(each.result(60).cost_usd is not None for each in reports)


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_what_was_changed_stays_changed_after_a_crash(client_of, cli, model, tmp_path):
    """Model, mode and thinking are those of before; on the newest settings and servers, too."""
    client = client_of(model="sonnet")
    client.ask("a beginning", timeout=90)
    client.set_model("haiku")
    client.set_permission_mode("acceptEdits")
    if cli.is_new:
        client.apply_settings(effort="high")
        client.set_mcp_servers({"more": SERVER})
    else:
        client.set_max_thinking_tokens(3000)
    kill(client)
    file = tmp_path / "file.txt"
    model.when("go on as before").reply(
        tool_use("Write", {"file_path": str(file), "content": "written"})
    )
    seen = asked(model, client, "go on as before")
    assert "haiku" in seen["model"]
    assert file.read_text() == "written"
    if cli.is_new:
        assert seen["output_config"]["effort"] == "high"
        assert client.mcp_status().get("more").status == "connected"
        assert client.set_mcp_servers({}).removed == ("more",)
    else:
        assert seen["thinking"]["budget_tokens"] == 3000
    client.set_model(None)
    kill(client)
    assert "haiku" not in asked(model, client, "the default from now on")["model"]


# Interrupting.


def interrupted_with_a_message_queued(chat, model, words, **settings):
    """Interrupt a turn while a message of steer() waits in the CLI; the receipt."""
    model.when(words).reply(text("half of it, the rest never comes", gate=threading.Event()))
    queued = threading.Event()
    turn = chat.stream(words, timeout=60)
    sent = turn.asked.sent.uuid
    assert next(iter(turn))

    def heard(message):
        if message.raw.get("state") == "queued" and message.raw.get("command_uuid") != sent:
            queued.set()

    chat.on_message(heard)
    chat.steer("a word beside")
    assert queued.wait(60)
    chat.off(heard)
    receipt = chat.interrupt(**settings)
    with pytest.raises(claude_sync.TurnInterrupted):
        turn.result()
    return receipt


def test_an_interrupt_withdraws_what_is_queued(chat, new_cli, model):
    """By default the message that waits in the CLI is never answered."""
    receipt = interrupted_with_a_message_queued(chat, model, "stop it all")
    assert (len(receipt.cancelled), receipt.still_queued) == (1, ())
    assert chat.ask("what now?", timeout=60) == "echo: what now?"
    assert "a word beside" not in str(model.wait_for_request("what now?").messages)


def test_an_interrupt_may_leave_what_is_queued(chat, new_cli, model):
    """With cancel_queued=False it is answered next; no later question gets its answer."""
    receipt = interrupted_with_a_message_queued(chat, model, "stop only this", cancel_queued=False)
    assert (len(receipt.still_queued), receipt.cancelled) == (1, ())
    model.wait_for_request("a word beside")
    assert chat.ask("what then?", timeout=60) == "echo: what then?"
