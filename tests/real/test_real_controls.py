"""Control methods: what each CLI answers, and that it really does what it says."""

from __future__ import annotations

import os
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from patience import wait_until

import claude_sync
from claude_sync.testing.model import text, tool_use

SERVER = {"command": sys.executable, "args": [str(Path(__file__).parent / "small_mcp_server.py")]}

# A model with a budget for thinking; newer ones decide by themselves.
BUDGET_MODEL = "claude-sonnet-4-5-20250929"

# What only CLIs from 2.1.40 on may know, and 2.1.325 does.
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


def test_set_permission_mode(client_of, model, tmp_path):
    """In acceptEdits files are written without a question; in default there is one."""
    client = client_of()
    asked_for = []
    client.on_permission(lambda request: asked_for.append(request.tool) or False)
    for mode, questions in (("acceptEdits", 0), ("default", 1), ("manual", 1)):
        file = tmp_path / f"{mode}.txt"
        words = f"write it in {mode}"
        model.when(words).reply(tool_use("Write", {"file_path": str(file), "content": "x"}))
        assert client.set_permission_mode(mode).mode == ("default" if questions else mode)
        client.ask(words, timeout=90)
        assert (len(asked_for), file.exists()) == (questions, not questions)
        asked_for.clear()


def test_a_mode_that_the_cli_does_not_know(chat, cli):
    """Old CLIs would accept any word; they are not asked."""
    known = {"dontAsk": not cli.is_before(2, 0, 44), "auto": not cli.is_before(2, 1, 71)}
    for mode, is_known in known.items():
        if is_known:
            assert chat.set_permission_mode(mode).mode == mode
        else:
            with pytest.raises(claude_sync.UnsupportedByCli, match=cli.version) as caught:
                chat.set_permission_mode(mode)
            assert mode in str(caught.value)
    chat.set_permission_mode("default")


def test_a_mode_may_be_refused(chat, cli):
    """bypassPermissions has to be allowed at the start; 2.1.29 does not mind."""
    if cli.version == "2.1.29":
        assert chat.set_permission_mode("bypassPermissions").mode == "bypassPermissions"
        chat.set_permission_mode("default")
        return
    with pytest.raises(claude_sync.ControlError, match="bypassPermissions") as caught:
        chat.set_permission_mode("bypassPermissions")
    assert caught.value.code == ("bypass_not_launched" if cli.is_new else None)


def test_set_max_thinking_tokens(chat, cli, model):
    """The budget reaches the model, and 0 takes it away."""
    if cli.is_before(2, 0, 22):
        with pytest.raises(claude_sync.UnsupportedByCli, match=cli.version):
            chat.set_max_thinking_tokens(2000)
        return
    chat.set_model(BUDGET_MODEL)
    chat.set_max_thinking_tokens(2000)
    assert asked(model, chat, "think a little")["thinking"]["budget_tokens"] == 2000
    chat.set_max_thinking_tokens(0)
    assert "budget_tokens" not in (asked(model, chat, "think no more").get("thinking") or {})
    chat.set_max_thinking_tokens(None)
    chat.set_model(None)


# Settings.


@pytest.mark.parametrize("effort", ["low", "medium", "high", "xhigh", "max"])
def test_effort(chat, new_cli, model, effort):
    """The effort reaches the model, and is told by get_settings()."""
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


def test_mcp_servers(client_of, cli):
    """Their status; off and on; once more; more of them, and less."""
    client = client_of(mcp_servers={"small": SERVER})
    client.ask("connect to it", timeout=90)
    server = client.mcp_status().get("small")
    assert (server.status, server.server_name, server.server_version) == ("connected", "small", "1")
    if cli.is_before(2, 1, 15):
        for method, arguments in {
            "mcp_toggle": ("small", False),
            "mcp_reconnect": ("small",),
            "set_mcp_servers": ({},),
        }.items():
            with pytest.raises(claude_sync.UnsupportedByCli, match=method):
                getattr(client, method)(*arguments)
        return
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
    """The CLI's own count, which is not below ours."""
    chat.ask("something to count", timeout=60)
    report = chat.usage_report()
    assert report.cost_usd >= chat.cost_usd > 0
    assert report.model_usage and report.rate_limits is None
    assert report.duration_ms > 0


# Files.


def test_rewind_files(client_of, cli, model, tmp_path):
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
    if cli.is_before(2, 0, 64):
        with pytest.raises(claude_sync.UnsupportedByCli, match="rewind_files"):
            client.rewind_files(answer.user_message_id)
        return
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


def test_rewind_files_without_checkpoints(chat, cli):
    """A client that keeps no checkpoints is told so; a dry run tells it in its reply."""
    if cli.is_before(2, 0, 64):
        with pytest.raises(claude_sync.UnsupportedByCli, match=cli.version):
            chat.rewind_files("00000000-0000-4000-a000-000000000000")
        return
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
    # The CLI makes a task of a command when it has run for a moment.
    wait_until(lambda: tasks and mark.exists())
    assert not turn.done()
    chat.background_tasks()
    assert "background" in turn.result()
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


def test_compact(client_of, model):
    """The conversation becomes a summary, made with the instructions."""
    client = client_of()
    client.ask("the first thing that was said", timeout=90)
    answer = client.compact("mind the numbers", timeout=90)
    assert "Compacted" in answer
    (request,) = [each for each in model.requests if each.kind == "compact"]
    assert "mind the numbers" in request.text
    client.ask("after the summary", timeout=90)
    seen = str(model.wait_for_request("after the summary").messages)
    assert "A summary made by the loopback model" in seen
    assert "echo: the first thing that was said" not in seen


# What was told at the start.


def test_what_the_cli_told(client_of):
    """Models, commands and account, without a question; the CLI is started for it."""
    client = client_of()
    models = client.supported_models(timeout=90)
    assert models[0].value == "default" and models[0].display_name
    commands = {command.name: command for command in client.supported_commands()}
    assert commands["compact"].description and commands["compact"].argument_hint
    assert client.account_info().api_key_source == "ANTHROPIC_API_KEY"


# Too old.


@pytest.mark.parametrize("method", sorted(NEW_METHODS))
def test_what_an_old_cli_lacks_is_told_at_once(old_cli, chat, method):
    """Nothing is sent that would never be answered; the version is in the text."""
    with pytest.raises(claude_sync.UnsupportedByCli) as caught:
        getattr(chat, method)(*NEW_METHODS[method], timeout=float("inf"))
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
    monkeypatch.setitem(vars(claude_sync.control_methods)["SUBTYPES"], "rename", "no_such_thing")
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
    """Model, mode and thinking are those of before; on new CLIs settings and servers, too."""
    client = client_of(model="sonnet")
    client.ask("a beginning", timeout=90)
    client.set_model("haiku")
    client.set_permission_mode("acceptEdits")
    if cli.is_new:
        client.apply_settings(effort="high")
        client.set_mcp_servers({"more": SERVER})
    elif not cli.is_before(2, 0, 22):
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
    elif not cli.is_before(2, 0, 22):
        assert seen["thinking"]["budget_tokens"] == 3000
    client.set_model(None)
    kill(client)
    assert "haiku" not in asked(model, client, "the default from now on")["model"]


# Interrupting.


def interrupted_with_a_message_queued(chat, model, words, **settings):
    """Interrupt a turn while a message of steer() waits in the CLI; receipt and turn."""
    model.when(words).reply(text("half of it, the rest never comes", gate=threading.Event()))
    queued = threading.Event()

    def heard(message):
        if message.raw.get("state") == "queued" and message.raw.get("command_uuid") != sent:
            queued.set()

    sent = None
    first = threading.Event()
    chat.on_text(lambda piece: first.set())
    turn = chat.submit(words, timeout=60)
    sent = turn._entry.uuid
    assert first.wait(60)
    chat.on_message(heard)
    chat.steer("a word beside")
    assert queued.wait(60)
    receipt = chat.interrupt(**settings)
    with pytest.raises(claude_sync.TurnInterrupted):
        turn.result()
    return receipt


def test_an_interrupt_withdraws_what_is_queued(client_of, new_cli, model):
    """By default the message that waits in the CLI is never answered."""
    chat = client_of()
    receipt = interrupted_with_a_message_queued(chat, model, "stop it all")
    assert (len(receipt.cancelled), receipt.still_queued) == (1, ())
    assert chat.ask("what now?", timeout=60) == "echo: what now?"
    assert "a word beside" not in str(model.wait_for_request("what now?").messages)


def test_an_interrupt_may_leave_what_is_queued(client_of, new_cli, model):
    """With cancel_queued=False it is answered next; no later question gets its answer."""
    chat = client_of()
    receipt = interrupted_with_a_message_queued(chat, model, "stop only this", cancel_queued=False)
    assert (len(receipt.still_queued), receipt.cancelled) == (1, ())
    model.wait_for_request("a word beside")
    assert chat.ask("what then?", timeout=60) == "echo: what then?"
