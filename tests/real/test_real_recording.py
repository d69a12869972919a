"""A recording of a real session: complete, in order, private, and without anything private."""

from __future__ import annotations

import json
import os
import stat
import sys
import threading
import time

import pytest

import claude_sync
from claude_sync.engine.launch.process import ProcessTransport
from claude_sync.testing.model import text, tool_use

# None of these is, or was, a key.
LETTERS = "Zx9" * 12
IN_PROMPT = "sk-ant-api03-" + LETTERS
IN_ENVIRONMENT = "quite-unlike-a-key-1"
IN_OUTPUT = "ghp_" + "Qy7" * 12
ADDRESS = "alice.example@example.org"


class Tapped(ProcessTransport):
    """The real process; what goes through its pipes is kept."""

    def __init__(self, heard, said):
        super().__init__()
        self.heard, self.said = heard, said

    def read(self):
        """As it is read."""
        data = super().read()
        self.heard.append(data)
        return data

    def write_now(self, data):
        """As it is written."""
        taken = super().write_now(data)
        self.said.append(bytes(data[:taken]))
        return taken


def messages(portions):
    """What was in a pipe, message by message."""
    return [json.loads(line) for line in b"".join(portions).splitlines() if line.strip()]


def outline(each):
    """What kind of message it is, and which one."""
    inner = each.get("request") or each.get("response") or each.get("event") or {}
    return (
        each["type"],
        each.get("subtype") or inner.get("subtype") or inner.get("type"),
        each.get("uuid"),
        each.get("request_id") or inner.get("request_id"),
    )


def streamed(each):
    """The text of a delta; None for anything else."""
    delta = each.get("event", {}).get("delta", {})
    return delta.get("text", delta.get("partial_json"))


@pytest.fixture
def session(client_of, cli, model, home, tmp_path):
    """A session with something private in every place, recorded; and what really was said."""
    heard, said = [], []
    path = tmp_path / "wire.jsonl"
    model.when("remember").reply(
        text(f"Your key {IN_PROMPT} is noted, {ADDRESS}."),
    )
    command = f"printenv HOME MY_TOKEN; echo {IN_OUTPUT} {ADDRESS}; pwd"
    model.when("look around").reply(
        tool_use("Bash", {"command": command, "description": "look around"})
    )
    work = home / "project"
    work.mkdir(exist_ok=True)
    client = client_of(
        cwd=work,
        env={"MY_TOKEN": IN_ENVIRONMENT},
        record=path,
        transport=lambda: Tapped(heard, said),
        permissions=claude_sync.policies.allow_all,
    )
    client.on_hook("PreToolUse")(lambda event: None)
    first = client.ask(f"please remember {IN_PROMPT} of {ADDRESS}", timeout=90)
    client.ask("look around", timeout=90)
    client.close()
    assert IN_PROMPT in first
    return path, messages(heard), messages(said)


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell and modes")
def test_a_real_session(session, home):
    """Nothing private is in it, everything else is, in the order in which it was said."""
    path, heard, said = session
    recorded = path.read_text()
    real = json.dumps([heard, said])
    private = [LETTERS[:9], IN_ENVIRONMENT, IN_OUTPUT[4:13], ADDRESS, "alice", str(home)]
    for word in private:
        assert word in real, "the session was to have this in it"
        assert word not in recorded
    folder = "".join(each if each.isalnum() else "-" for each in str(home))
    assert folder not in recorded
    assert stat.S_IMODE(path.stat().st_mode) == 0o600

    records = [json.loads(line) for line in recorded.splitlines()]
    assert [each["dir"] for each in records[:3]] == ["head", "argv", "in"]
    assert (records[-1]["dir"], records[-1]["msg"]) == ("exit", 0)
    assert not [each for each in records if "raw" in each]
    assert records[1]["cwd"].startswith("~")
    out = [each["msg"] for each in records if each["dir"] == "out"]
    sent = [each["msg"] for each in records if each["dir"] == "in"]
    assert list(map(outline, sent)) == list(map(outline, said))
    # The deltas of a block are one, which stands where the block stops.
    assert without_deltas(out) == without_deltas(heard)
    shown = joined(heard)
    for word, stand_in in (
        (IN_PROMPT, "<secret-1>"),
        (IN_OUTPUT, "<secret-2>"),
        (IN_ENVIRONMENT, "<secret-3>"),
        (ADDRESS, "<email-1>"),
        (str(home), "~"),
    ):
        shown = shown.replace(word, stand_in)
    assert joined(out) == shown


def without_deltas(found):
    """The outlines of messages, but of pieces of texts."""
    return [outline(each) for each in found if streamed(each) is None]


def joined(found):
    """All streamed texts."""
    return "".join([streamed(each) or "" for each in found])


# A private key that is nobody's.
BODY = "MIIE" + "Qw8+" * 14
KEY_FILE = f"-----BEGIN RSA PRIVATE KEY-----\n{BODY}\n{BODY}\n-----END RSA PRIVATE KEY-----\n"
PHRASE = "correct horse of staple7"


@pytest.mark.everything
@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
def test_secrets_that_do_not_look_like_any(client_of, model, tmp_path):
    """A key with line numbers, a coloured one, and what comes in many pieces."""
    key = tmp_path / "id_rsa"
    key.write_text(KEY_FILE)
    settings = json.dumps({"env": {"ANY": "hunter2 of mine"}, "n": 5})
    colour = f"printf '\\033[01;31m\\033[K{IN_PROMPT}\\033[m\\n'"
    model.when("read it").reply(tool_use("Read", {"file_path": str(key)}))
    model.when("colours").reply(tool_use("Bash", {"command": colour, "description": "colours"}))
    written = {"file_path": str(tmp_path / "settings.json"), "content": settings}
    model.when("write it").reply(tool_use("Write", written, pieces=40))
    told = f'The password = "it\'s my longsecret phrase", or: {PHRASE}, and more.'
    model.when("tell me").reply([text(told, pieces=25)])
    path = tmp_path / "wire.jsonl"
    client = client_of(
        cwd=tmp_path,
        env={"MY_PASSPHRASE": PHRASE},
        record=path,
        permissions=claude_sync.policies.allow_all,
    )
    for question in ("read it", "colours", "write it", "tell me"):
        client.ask(question, timeout=90)
    client.close()
    assert "hunter2 of mine" in (tmp_path / "settings.json").read_text()
    records = [json.loads(line) for line in path.read_text().splitlines()]
    out = [each["msg"] for each in records if each["dir"] == "out"]
    shown = path.read_text() + joined(out)
    for word in (BODY[:20], LETTERS[:9], "hunter2", "of mine", "longsecret", "horse of"):
        assert word not in shown
    assert '\\"n\\": 5' in joined(out), "what is no secret is there"
    assert "and more." in joined(out)


@pytest.mark.everything
def test_a_recording_of_a_restart(client_of, new_cli, tmp_path):
    """Both lives are in it; the second knows the version of the CLI."""
    path = tmp_path / "wire.jsonl"
    client = client_of(record=path)
    client.ask("are you there?", timeout=90)
    os.kill(client.pid, 9)
    end = time.monotonic() + 60
    while client.state != "crashed":
        assert time.monotonic() < end
        threading.Event().wait(0.01)
    client.ask("and now?", timeout=90)
    version = client.info.cli_version
    client.close()
    records = [json.loads(line) for line in path.read_text().splitlines()]
    marks = [each for each in records if each["dir"] in ("argv", "exit")]
    assert [each["dir"] for each in marks] == ["argv", "exit", "argv", "exit"]
    assert [each["msg"] for each in marks if each["dir"] == "exit"] == [-9, 0]
    assert [each["cli_version"] for each in marks if each["dir"] == "argv"] == [None, version]
