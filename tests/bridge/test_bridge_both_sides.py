"""Both sides of the bridge: clients, the backend of this library, and a CLI behind it."""

from __future__ import annotations

import threading

import bridge_scripts as scripts
import pytest
from bridge_clients import PATIENCE, own_bridge, traffic_is_valid

import claude_sync
from claude_sync import CliDidNotStart, CliExited
from claude_sync.testing import StandIn

ECHO = StandIn().command


@pytest.fixture(scope="module")
def shared_bridge():
    """One backend for all tests of this file that do not end it; all that is said is valid."""
    with pytest.MonkeyPatch.context() as patch, traffic_is_valid(patch), own_bridge() as bridge:
        yield bridge


@pytest.fixture
def client_of(shared_bridge):
    """Make clients whose CLI is the echo, or a script."""
    clients = []

    def make(script=None, **options):
        command = ECHO if script is None else StandIn(script).command
        clients.append(shared_bridge.client(cli=command, **options))
        return clients[-1]

    yield make
    for client in clients:
        client.close()


@pytest.fixture
def client(client_of):
    """One with the echo."""
    return client_of()


@pytest.fixture(autouse=True)
def nothing_outlives_its_test():
    """The backend is shared: what a test leaves behind is looked for after the file."""


@pytest.fixture(autouse=True, scope="module")
def nothing_outlives_the_file():
    """Every thread that the tests started has ended."""
    before = set(threading.enumerate())
    yield
    left = [
        thread
        for thread in threading.enumerate()
        if thread not in before and not thread.name.startswith("pytest_timeout")
    ]
    for thread in left:
        thread.join(5)
    assert not [thread.name for thread in left if thread.is_alive()]


def test_answers_of_a_form(client):
    """The CLI is started again for it, there."""
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    assert client.ask("hi", timeout=PATIENCE) == "echo: hi"
    assert client.ask("data", returns=schema, timeout=PATIENCE).data == {"a": 1}
    assert client.ask("plain", timeout=PATIENCE) == "echo: plain"


def test_a_cli_that_dies_is_resumed(client_of):
    """Exit code and last words are told; the next question goes on with the conversation."""
    client = client_of(scripts.dies_once)
    with pytest.raises(CliExited, match="out of luck") as caught:
        client.ask("go", timeout=PATIENCE)
    assert caught.value.exit_code == 3
    assert client.ask("go on", timeout=PATIENCE) == "resumed"


def test_what_the_backend_does_not_allow_is_told():
    """A backend that trusts nobody refuses, and says how it would not."""
    refused = pytest.raises(CliDidNotStart, match="--trust-client")
    with claude_sync.bridge.Bridge() as bridge, bridge.client(cli=ECHO) as client, refused:
        client.ask("hi", timeout=PATIENCE)


def test_files_are_those_of_the_other_side(client_of):
    """Nothing is read here: the backend says what it does not find."""
    client = client_of(settings="/far/away.json", sandbox={"enabled": True})
    with pytest.raises(CliDidNotStart, match=r"/far/away\.json"):
        client.ask("hi", timeout=PATIENCE)


def test_a_recording_here_hides_the_secrets_of_the_cli_there(client_of, tmp_path):
    """Also those of servers, which only the backend starts."""
    path = tmp_path / "wire.jsonl"
    server = {"command": "x", "env": {"MY_SECRET": "open sesame now"}}
    client = client_of(record=path, mcp_servers={"a": server}, env={"MY_TOKEN": "abracadabra 7"})
    client.ask("say open sesame now and abracadabra 7", timeout=PATIENCE)
    client.close()
    recorded = path.read_text()
    assert "echo: say" in recorded
    assert "open sesame" not in recorded
    assert "abracadabra" not in recorded


def test_what_a_cli_tells_people_is_heard(client_of):
    """on_stderr, as without a bridge."""
    lines = []
    client = client_of(scripts.says_it_to_people, on_stderr=lines.append)
    client.ask("go", timeout=PATIENCE)
    client.close()
    assert lines == ["before", "within"]


def test_secrets_in_pieces_are_not_logged_here(client_of, caplog):
    """Neither what is streamed, nor what goes over several lines."""
    caplog.set_level("DEBUG", "claude_sync")
    client = client_of(scripts.tells_secrets_in_pieces)
    assert client.ask("go", timeout=PATIENCE) == "".join(scripts.SECRET_PIECES)
    client.close()
    assert '"subtype":"init"' in caplog.text
    for secret in (*scripts.SECRET_PIECES[1:], scripts.SECRET_LINES[1]):
        assert secret not in caplog.text
