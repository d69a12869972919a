"""``claude-sync record`` and ``claude-sync replay``: written down, and shown again."""

from __future__ import annotations

import json
import time

import pytest
from executables import executable
from patience import PATIENCE

from claude_sync import cli
from claude_sync.testing import builders

NOTICE = f"claude-sync: {cli.OFFLINE}\n"


def test_a_question_is_recorded_and_shown_again(run, tmp_path):
    """The answer is on stdout as ever; the recording shows the question, the tool, the answer."""
    prompt = 'run it [[tool Bash {"command": "ls -l"}]]'
    code, stdout, stderr = run("record", "x.jsonl", "--offline", "--yes", prompt)
    assert (code, stderr) == (0, f"{NOTICE}claude-sync: recorded: x.jsonl\n")
    answer = 'Bash: offline, so not run: {"command": "ls -l"}\n'
    assert stdout == answer
    shown = f"> {prompt}\n● Bash ls -l\n  allowed\n{answer}"
    assert run("replay", "x.jsonl") == (0, shown, "")


def test_a_replay_takes_its_time_where_that_is_wanted(run, tmp_path):
    """At a tenth, or a thousandth; a pause in which somebody thought is cut."""
    lines = [{"dir": "in", "t": at, "msg": builders.user("hi")} for at in (0, 0.3, 1000)]
    (tmp_path / "x.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    took = {}
    for speed in ("0", "1"):
        begun = time.monotonic()
        assert run("replay", "x.jsonl", "--speed", speed) == (0, "> hi\n" * 3, "")
        took[speed] = time.monotonic() - begun
    assert 3.3 <= took["1"] < PATIENCE
    for wrong in ("-1", "nan", "fast"):
        assert run("replay", "x.jsonl", "--speed", wrong)[:2] == (2, "")


def test_text_is_shown_once_whether_it_was_streamed_or_not(run, tmp_path):
    """The complete message repeats what its pieces said."""
    for style in ("new", "old"):
        path = executable(tmp_path, None, style=style)
        name = f"{style}.jsonl"
        assert run("record", name, "--cli", path, "Hello")[1] == "echo: Hello\n"
        assert run("replay", name)[1] == "> Hello\necho: Hello\n"


def test_a_failure_is_shown_once(run, tmp_path):
    """What went wrong then is told now, not what the CLI says in Claude's name as well."""
    failed = {"model": "<synthetic>", "error": "billing_error"}
    lines = [
        {"dir": "in", "msg": builders.user("hi")},
        {"dir": "out", "msg": builders.assistant("it broke", **failed)},
        {"dir": "out", "msg": builders.result("it broke", is_error=True)},
    ]
    (tmp_path / "x.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert run("replay", "x.jsonl") == (0, "> hi\nit broke\n", "")


@pytest.mark.parametrize("content", [None, "", "nonsense\n", '{"type": "user"}\n'])
def test_what_is_no_recording_is_refused(run, tmp_path, content):
    """Exit code 2, with what to do."""
    if content is not None:
        (tmp_path / "x.jsonl").write_text(content)
    code, stdout, stderr = run("replay", "x.jsonl")
    assert (code, stdout) == (2, "")
    assert "x.jsonl" in stderr
    assert "Traceback" not in stderr


@pytest.mark.parametrize("words", [("--cost",), ("--json",), ("--timeout", "3")])
def test_what_only_a_question_has_is_refused_in_a_chat(run, words):
    """Rather than to be left out in silence."""
    code, stdout, stderr = run("record", "x.jsonl", "--offline", *words)
    assert (code, stdout) == (2, "")
    assert f"{words[0]} needs a question" in stderr
