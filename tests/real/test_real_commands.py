"""``claude-sync`` from a shell, with real CLIs: ask, rules, sessions, recordings."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading

import pytest
from executables import ROOT

from claude_sync.testing.model import tool_use

PATIENCE = 100


@pytest.fixture
def run(cli, model, home, tmp_path):
    """Run ``python -m claude_sync`` with this CLI; its exit code, stdout and stderr."""
    environment = {
        **model.environment(home, inherit=True),
        "CLAUDE_CODE_PATH": cli.path,
        "PYTHONPATH": str(ROOT),
    }

    def run(*words, stdin=b""):
        done = subprocess.run(
            [sys.executable, "-W", "error", "-m", "claude_sync", *words],
            input=stdin,
            capture_output=True,
            cwd=tmp_path,
            env=environment,
            timeout=PATIENCE,
        )
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    return run


def test_a_question_its_conversation_and_what_can_be_done_with_it(run, model):
    """Asked with a pipe, gone on with, listed, shown, exported, deleted and restored."""
    code, stdout, stderr = run("ask", "--json", "remember this:", stdin=b"the word is plum\n")
    assert (code, stderr) == (0, "")
    told = json.loads(stdout)
    assert told["text"] == "echo: the word is plum\nremember this:"
    session = told["session_id"]

    assert run("ask", "--continue", "which word?")[1] == "echo: which word?\n"
    request = model.conversation[-1]
    assert "plum" in json.dumps(request.messages)  # the model was told the whole conversation

    code, stdout, _ = run("sessions", "list")
    assert code == 0
    assert session[:8] in stdout
    code, stdout, _ = run("sessions", "show", "last")
    assert "the word is plum" in stdout
    assert "echo: which word?" in stdout
    assert run("sessions", "rename", "last", "The plum")[0] == 0
    assert run("export", "last")[1].startswith("# The plum\n")
    code, _, stderr = run("sessions", "delete", "last")
    assert code == 0
    restored = stderr.splitlines()[-1].rpartition("restore ")[2]
    assert run("sessions", "restore", restored)[0] == 0
    assert "The plum" in run("sessions", "list")[1]


def test_a_recording_is_replayed_and_exported(run, model, tmp_path):
    """What was recorded shows the same words, and there is no key in it."""
    model.when("look around").reply(tool_use("Bash", {"command": "echo hi"})).then_reply(
        "I saw it."
    )
    code, stdout, stderr = run("record", "x.jsonl", "--yes", "look around")
    assert (code, stdout) == (0, "I saw it.\n")
    assert stderr.endswith("claude-sync: recorded: x.jsonl\n")
    code, stdout, stderr = run("replay", "x.jsonl")
    assert (code, stderr) == (0, "")
    assert stdout.startswith("> look around\n")
    assert stdout.endswith("I saw it.\n")
    assert stdout.count("I saw it.") == 1
    assert run("export", "x.jsonl", "-o", "chat.html")[0] == 0
    html = (tmp_path / "chat.html").read_text(encoding="utf-8")
    assert "<b>Bash</b> <code>echo hi</code>" in html
    key = model.environment(tmp_path)["ANTHROPIC_API_KEY"]
    assert key not in html
    assert key not in (tmp_path / "x.jsonl").read_text(encoding="utf-8")


def test_a_failure_of_the_service_is_exit_code_1(run, model):
    """With its text on stderr, and nothing on stdout."""
    model.when("break it").fail(400, "this is a bad request")
    code, stdout, stderr = run("ask", "break it")
    assert (code, stdout) == (1, "")
    assert "bad request" in stderr
    assert "Traceback" not in stderr


def test_a_signal_stops_the_turn_and_not_only_the_command(cli, run, model, home, tmp_path):
    """The CLI hears of it: what it has saved tells that the turn was interrupted."""
    hold = threading.Event()
    model.when("take your time").reply("too late", gate=hold)
    environment = {
        **model.environment(home, inherit=True),
        "CLAUDE_CODE_PATH": cli.path,
        "PYTHONPATH": str(ROOT),
    }
    asking = subprocess.Popen(
        [sys.executable, "-W", "error", "-m", "claude_sync", "ask", "take your time"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env=environment,
    )
    try:
        with asking:
            model.wait_for_request("take your time")
            asking.send_signal(signal.SIGTERM)
            assert asking.communicate(timeout=PATIENCE) == (b"", b"")
    finally:
        hold.set()
    assert asking.returncode == 128 + signal.SIGTERM
    assert "Request interrupted by user" in run("sessions", "show", "last")[1]
