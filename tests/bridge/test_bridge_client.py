"""Clients over a bridge whose backend knows the document of the protocol and nothing else."""

from __future__ import annotations

import gc
import json
import os
import sys
import threading

import pytest
from bridge_clients import PATIENCE, plain_bridge, traffic_is_valid

import claude_sync
from claude_sync import CliDidNotStart, Client, CliExited, UsageError
from claude_sync.bridge import Bridge


@pytest.fixture(autouse=True)
def valid(monkeypatch):
    """All that is said is what the schema allows."""
    with traffic_is_valid(monkeypatch):
        yield


@pytest.fixture
def bridge():
    """A bridge to a strict backend."""
    with plain_bridge() as made:
        yield made


@pytest.fixture
def client(bridge):
    """A client over it."""
    with bridge.client() as made:
        yield made


def test_a_client_is_a_client(client):
    """The same class, with answers, text and messages as ever."""
    assert type(client) is Client
    texts = []
    client.on_text(texts.append)
    answer = client.ask("hi", timeout=PATIENCE)
    assert answer == "you said hi"
    assert texts == ["you said hi"]
    assert answer.session_id == client.session_id
    assert client.state == "idle"
    assert client.ask([{"type": "text", "text": "blocks"}], timeout=PATIENCE) == "you said blocks"


def test_the_settings_arrive(bridge):
    """They are told in the document's words; folders are those of the other side."""
    with bridge.client(cwd="/far/away", append_system_prompt="more", max_turns=2) as client:
        told = json.loads(client.ask("options", timeout=PATIENCE))
    assert told == {
        "cwd": "/far/away",
        "include_partial_messages": True,
        "max_turns": 2,
        "system_prompt": {"type": "preset", "preset": "claude_code", "append": "more"},
    }


def test_the_documented_methods_work(client):
    """Model, mode, thinking, servers and rewinding; others are refused by name."""
    client.set_model("opus")
    client.set_permission_mode("plan")
    client.set_max_thinking_tokens(7)
    values = json.loads(client.ask("values", timeout=PATIENCE))
    assert values == {"model": "opus", "mode": "plan", "tokens": 7}
    assert [server.name for server in client.mcp_status().servers] == ["files"]
    assert client.rewind_files("u", dry_run=True).raw["args"] == ["u", {"dryRun": True}]
    with pytest.raises(claude_sync.ControlError, match="get_settings"):
        client.get_settings()


def test_permissions_are_decided_here(bridge):
    """The handler's answer is what the backend hears; rules know the folder of the CLI."""
    requests = []

    def decide(request):
        requests.append(request)
        return request.allow(updated_input={"command": "pwd"})

    with bridge.client(cwd="/far/away", on_permission=decide) as client:
        answer = json.loads(client.ask("use Bash", timeout=PATIENCE))
    assert answer == {"behavior": "allow", "updated_input": {"command": "pwd"}}
    (request,) = requests
    assert (request.tool, request.input) == ("Bash", {"command": "ls"})
    assert request.cwd == "/far/away"


def test_hooks_are_served_here(bridge):
    """Those that match are called, each once, although the document does not say which."""
    called = []
    with bridge.client() as client:

        @client.on_hook("PreToolUse")
        def every(event):
            called.append(("every", event.tool))

        @client.on_hook("PreToolUse", matcher="Bash")
        def only_bash(event):
            called.append(("bash", event.tool))
            return claude_sync.hooks.block("not here")

        client.ask("hook Read", timeout=PATIENCE)
        client.ask("hook Bash", timeout=PATIENCE)
    assert called[0] == ("every", "Read")
    assert sorted(called[1:]) == [("bash", "Bash"), ("every", "Bash")]


def test_a_slow_client_does_not_stop_the_others(bridge):
    """More than all queues hold waits for one of them, and nothing of it is lost."""
    busy, go_on = threading.Event(), threading.Event()
    seen = []

    def slowly(message):
        busy.set()
        assert go_on.wait(PATIENCE)
        seen.append(int(message.raw["status"].split()[0]))

    with bridge.client(on_status=slowly) as slow, bridge.client() as other:
        count = 30_000
        turn = slow.submit(f"flood {count}")
        assert busy.wait(PATIENCE)
        # The backend serves one line after the other: this answer is behind the flood.
        assert other.ask("hi", timeout=PATIENCE) == "you said hi"
        go_on.set()
        assert turn.result(PATIENCE) == f"{count} messages"
    assert seen == list(range(count))


def test_a_session_that_fails_ends_its_client_only(bridge, caplog):
    """SDK_ERROR is a CLI that died; the next question makes another session."""
    with bridge.client() as one, bridge.client() as two:
        two.ask("hi", timeout=PATIENCE)
        with pytest.raises(CliExited, match="fell over"):
            one.ask("fail", timeout=PATIENCE)
        assert two.ask("still here", timeout=PATIENCE) == "you said still here"
        with caplog.at_level("WARNING", logger="claude_sync"):
            assert one.ask("again", timeout=PATIENCE) == "you said again"
    assert "the backend cannot resume" in caplog.text


def test_a_refused_session_is_a_client_that_does_not_start(bridge):
    """With the backend's own words."""
    with bridge.client(cwd="/nowhere") as client, pytest.raises(CliDidNotStart, match="/nowhere"):
        client.ask("hi", timeout=PATIENCE)


def test_a_dead_backend_fails_all_clients_with_the_reason():
    """Exit code and last words reach everybody who waits, and whoever asks next."""
    with plain_bridge() as bridge, bridge.client() as one, bridge.client() as two:
        two.ask("hi", timeout=PATIENCE)
        waiting = two.submit("wait")
        for failing in (one.submit("die"), waiting):
            with pytest.raises(CliExited, match="has had enough") as caught:
                failing.result(PATIENCE)
            assert caught.value.exit_code == 3
            assert "the backend of the bridge has ended (exit code 3)" in str(caught.value)
            assert "new Bridge" in str(caught.value)
        with pytest.raises(CliExited, match="backend of the bridge has ended"):
            one.ask("hi", timeout=PATIENCE)
        assert bridge.state == "crashed"


def test_what_the_document_has_no_words_for_is_refused(bridge, client):
    """Settings and functions when the client is made, the rest when it is called."""
    with pytest.raises(UsageError, match="effort"):
        bridge.client(effort="high")
    with pytest.raises(UsageError, match="tools"):
        bridge.client(tools=[len])
    with pytest.raises(UsageError, match="transport"):
        bridge.client(transport=object())
    began = threading.Event()
    client.on_init(lambda _: began.set())
    turn = client.submit("wait")
    assert began.wait(PATIENCE)
    with pytest.raises(UsageError, match=r"steer\(\).*backend"):
        client.steer("more")
    turn.cancel()
    with pytest.raises(UsageError, match=r"add_context\(\)"):
        client.add_context("more")


def test_a_function_that_is_added_later_is_refused_at_the_start(bridge):
    """The greeting fails, and says why."""
    with bridge.client() as client:

        @client.tool
        def add(a: int, b: int) -> int:
            """Add."""
            return a + b

        with pytest.raises(CliDidNotStart, match="tools"):
            client.ask("hi", timeout=PATIENCE)


@pytest.mark.parametrize("words", [["--lenient"], []])
def test_a_backend_that_knows_no_raw_sessions_is_noticed(words):
    """Whether it ignores what it does not know, or refuses it: how to speak to it is told."""
    bridge = plain_bridge(*words, extensions=True)
    noticed = pytest.raises(CliDidNotStart, match="extensions=False")
    with bridge, bridge.client() as client, noticed:
        client.ask("hi", timeout=PATIENCE)


def test_closing_the_bridge_closes_its_clients():
    """Whoever waits hears of it; the backend exits because its input ends."""
    bridge = plain_bridge()
    client = bridge.client()
    began = threading.Event()
    client.on_init(lambda _: began.set())
    turn = client.submit("wait")
    assert began.wait(PATIENCE)
    bridge.close()
    bridge.close()
    with pytest.raises(claude_sync.ClientClosed):
        turn.result(PATIENCE)
    assert (bridge.state, client.state) == ("closed", "closed")
    with pytest.raises(UsageError, match="new Bridge"), bridge.client():
        pass


def test_a_bridge_is_started_when_it_is_needed():
    """with starts it, and so does a client; until then there is no process."""
    bridge = plain_bridge(name="river")
    try:
        assert (bridge.state, bridge.pid, bridge.name) == ("new", None, "river")
        with bridge.client() as client:
            client.ask("hi", timeout=PATIENCE)
            assert bridge.state == "open"
            assert bridge.pid != os.getpid()
            assert repr(bridge) == "<Bridge river open>"
    finally:
        bridge.close()


def test_a_forgotten_bridge_warns_and_is_closed():
    """Once its clients are gone, too."""
    bridge = plain_bridge()
    bridge.start()
    with pytest.warns(ResourceWarning, match="was not closed"):
        del bridge
        gc.collect()


def test_a_bridge_lives_as_long_as_its_clients():
    """A client is enough to keep it."""
    with plain_bridge().client() as client:
        gc.collect()
        assert client.ask("hi", timeout=PATIENCE) == "you said hi"
        bridge = client._options.transport.args[0].__self__
        assert isinstance(bridge, Bridge)
    bridge.close()


@pytest.mark.parametrize("command", ["ssh host", [], [""], [1], {}])
def test_a_command_is_a_list_of_words(command):
    """A text would have to be cut, and who knows where."""
    with pytest.raises(UsageError, match="words of the command"):
        Bridge(command)


def test_a_backend_that_is_not_there():
    """The error names the command, not the CLI."""
    with pytest.raises(CliDidNotStart, match=r"backend of the bridge was not found.*no-such"):
        Bridge(["/no-such-command"]).start()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs POSIX")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_cannot_use_it(bridge, client):
    """It is told so, and the parent's session is unharmed."""
    client.ask("hi", timeout=PATIENCE)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            bridge.close()
            bridge.start()
        except UsageError as error:
            code = 0 if "fork" in str(error) else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert client.ask("still here", timeout=PATIENCE) == "you said still here"


def test_a_program_in_one_file_is_not_started_again(monkeypatch):
    """There, the interpreter is the program itself: as it is told, and as its child sees it."""
    with monkeypatch.context() as patch:
        patch.setattr(sys, "frozen", True, raising=False)
        with pytest.raises(UsageError, match=r"Name a backend"):
            Bridge()
        assert Bridge(["claude-sync", "bridge"]).state == "new"
    monkeypatch.setattr(sys, "argv", ["program", "-m", "claude_sync.bridge"])
    with pytest.raises(UsageError, match=r"Name a backend"):
        Bridge()
