"""Front ends, in Python and in Node, that know the description of the protocol and nothing else."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from bridge_front_end import check

from claude_sync.testing.model import text, tool_use

HERE = Path(__file__).parent
PATIENCE = 110
# Two CLIs start meanwhile, and everything else is done before it is over.
CALLBACK_TIMEOUT = 6
IMPORTED = {"json", "os", "subprocess", "sys", "threading", "uuid"}
ANSWERS = {"session.created", "query.result", "session.interrupted", "session.killed", "error"}
DESCRIBED = ANSWERS | {"sdk.message", "callback.request"}
CODES = {
    *("INVALID_MESSAGE", "SESSION_NOT_FOUND", "SESSION_CREATE_FAILED", "CALLBACK_TIMEOUT"),
    *("CALLBACK_NOT_FOUND", "QUERY_METHOD_FAILED", "SDK_ERROR"),
}


@pytest.fixture(params=["seed_only.py", "seed_only.mjs"])
def front_end(request):
    """The words that start the script."""
    path = HERE / request.param
    if path.suffix == ".py":
        return [sys.executable, "-I", "-W", "error", str(path)]
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs Node")
    return [node, str(path)]


@pytest.fixture
def report(front_end, cli, model, home, tmp_path):
    """What a script was answered, with a real CLI behind the backend."""
    for name in ("first", "second"):
        wanted = {"file_path": str(tmp_path / name), "content": "as Claude wants it"}
        rule = model.when(f"please write the {name} file")
        rule.reply(tool_use("Write", wanted)).then_reply(f"so much for the {name} file")
    waiting = tool_use("Bash", {"command": "touch never"})
    model.when("please wait for nobody").reply(waiting).then_reply("nobody came")
    model.when("please talk on and on").reply(text("on and on", gate=threading.Event()))
    # The shell's parent is the CLI.
    model.when("please end yourself").reply(tool_use("Bash", {"command": "kill -9 $PPID"}))
    words = [sys.executable, "-m", "claude_sync.bridge", "--cli", cli.path]
    words += ["--callback-timeout", str(CALLBACK_TIMEOUT)]
    done = subprocess.run(
        [*front_end, str(tmp_path), *words],
        env={**model.environment(home, inherit=True), "PYTHONPATH": str(HERE.parent.parent)},
        capture_output=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", ["seed_only.py", "seed_only.mjs"])
def test_the_scripts_know_nothing_of_this_library(name):
    """They import what Python and Node have."""
    source = (HERE / name).read_text()
    assert "claude_sync" not in source
    imported = re.findall(r"^import .*?(?:from )?(\S+)$", source, re.MULTILINE)
    assert len(imported) == source.count("\nimport ") > 4
    for module in imported:
        assert module in IMPORTED or module.startswith('"node:')


@pytest.mark.everything
def test_everything_that_is_described(report, model, tmp_path):
    """
    Two sessions, a tool approved, one denied, all methods, an interrupt, the end, all errors.

    In Python and in Node; the answers are those of a real CLI.
    """
    first, second = (message["session_id"] for message in report["created"])
    assert all(set(message["payload"]) == {"sdk_session_id"} for message in report["created"])
    check_turns(report, tmp_path)
    check_methods(report["queries"], tmp_path)
    assert report["interrupted"]["type"] == "session.interrupted"
    assert report["interrupted_result"]["subtype"] == "error_during_execution"
    assert {told["payload"]["code"] for told in report["errors"].values()} == CODES
    assert all(told["payload"]["code"] == code for code, told in report["errors"].items())
    assert report["errors"]["SDK_ERROR"]["session_id"] == second
    # The one beside it has not noticed, and the model is the one that was set.
    assert report["goodbye"]["result"] == "echo: please say goodbye"
    assert "haiku" in last_request(model, "please say goodbye").model
    assert [(each["type"], each["session_id"]) for each in report["killed"]] == [
        ("session.killed", first),
        ("session.killed", second),
    ]
    assert report["after_the_end"]["payload"]["code"] == "SESSION_NOT_FOUND"
    assert report["exit_code"] == 0
    check_traffic(report)


def check_turns(report, folder):
    """What was allowed was done, as it was allowed; what was not was not."""
    assert report["approved"]["result"] == "so much for the first file"
    assert report["written"] == "as the front end wants it"
    assert report["denied"]["result"] == "so much for the second file"
    assert "one file is enough" in json.dumps(report["received"])
    assert report["unanswered"]["result"] == "nobody came"
    assert not (folder / "second").exists()
    assert not (folder / "never").exists()
    for asked, name in zip(report["asked"], ("first", "second")):
        assert (asked["callback_type"], asked["tool_name"]) == ("can_use_tool", "Write")
        assert asked["tool_input"]["file_path"] == str(folder / name)
        assert asked["suggestions"]


def check_methods(queries, folder):
    """Each was answered."""
    assert [method for method, told in queries.items() if not told["success"]] == []
    assert queries["rewindFiles"]["result"]["canRewind"] is True
    # It was written after the question to which everything goes back.
    assert not (folder / "first").exists()
    assert queries["supportedModels"]["result"][0]["value"]
    assert "compact" in [command["name"] for command in queries["supportedCommands"]["result"]]
    assert queries["mcpServerStatus"]["result"] == []
    assert queries["accountInfo"]["result"]["apiKeySource"] == "ANTHROPIC_API_KEY"
    assert len(queries) == 8


def check_traffic(report):
    """All of it is in the schema, and in the description, which has no extensions."""
    for message in report["sent"]:
        check("from_front_end", message)
    for message in report["received"]:
        check("from_backend", message)
        assert message["type"] in DESCRIBED
        assert set(message) <= {"type", "id", "session_id", "payload"}
    answers = [message for message in report["received"] if message["type"] in ANSWERS]
    ids = {message["id"] for message in [*report["sent"], {"id": "unknown-type"}]}
    callbacks = {each["id"] for each in report["received"] if each["type"] == "callback.request"}
    # The one without an id answers what was no JSON.
    assert sum(message.get("id") is None for message in answers) == 1
    assert {message["id"] for message in answers if message.get("id")} <= ids | callbacks


def last_request(model, words):
    """The last one that the model got with these words as its question."""
    return [request for request in model.conversation if request.text == words][-1]
