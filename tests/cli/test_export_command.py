"""``claude-sync export``: which conversation, which file, which format."""

from __future__ import annotations

import os
import sys

import pytest
from saved_sessions import conversation
from tmux_terminal import Terminal

ID = "11111111-aaaa-4111-8111-111111111111"


@pytest.fixture
def saved(config, tmp_path):
    """A conversation of the folder in which the commands are run."""
    return conversation(config, "hello", cwd=os.path.realpath(tmp_path), session_id=ID)


@pytest.mark.parametrize("name", [ID, "11111111", "last"])
def test_a_session_is_written_to_a_file(run, saved, tmp_path, name):
    """By its id, the beginning of it, or as the last; stdout stays empty."""
    code, stdout, stderr = run("export", name, "-o", "chat.html")
    assert (code, stdout, stderr) == (0, "", "claude-sync: written: chat.html\n")
    assert "echo: hello" in (tmp_path / "chat.html").read_text()


def test_a_terminal_obeys_nothing_of_what_was_said(config, environment, tmp_path):
    """Without a file to write to, a conversation is printed."""
    conversation(config, "blue \x1b[44m sky", cwd=os.path.realpath(tmp_path), session_id=ID)
    variables = {**environment, "CLAUDE_CONFIG_DIR": str(config)}
    command = [sys.executable, "-m", "claude_sync", "export", ID]
    with Terminal(command, variables, tmp_path) as terminal:
        assert "blue \\x1b[44m sky" in terminal.until("[exit code 0]")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "SESSION"),
        (("last", "-o", "chat.pdf"), ".md, .html or .json"),
        (("22222222", "-o", "chat.md"), "there is no session"),
        (("no.jsonl", "-o", "chat.md"), "there is no file"),
        (("last", "-o", "none/chat.md"), "cannot be written"),
        (("last", "--format", "pdf"), "--format"),
    ],
)
def test_what_is_wrong_is_exit_code_2(run, saved, words, told):
    """In words."""
    code, stdout, stderr = run("export", *words)
    assert (code, stdout) == (2, "")
    assert told in stderr
    assert "Traceback" not in stderr


def test_what_is_exported_is_not_written_over(run, saved, tmp_path):
    """There may be no other copy of it; nor under another name."""
    before = saved.path.read_bytes()
    (tmp_path / "link.md").symlink_to(saved.path)
    for words in ((str(saved.path), "-o", str(saved.path)), ("last", "-o", "link.md")):
        code, stdout, stderr = run("export", *words, "--format", "md")
        assert (code, stdout) == (2, "")
        assert "would be lost" in stderr
    assert saved.path.read_bytes() == before


@pytest.mark.parametrize("content", [b"", b"nonsense\n", b"\x89PNG\xff", b"[]\n1\n"])
def test_a_file_without_a_conversation_is_refused(run, tmp_path, content):
    """Rather than to write an empty document of it."""
    (tmp_path / "file.jsonl").write_bytes(content)
    code, stdout, stderr = run("export", "file.jsonl", "-o", "chat.md")
    assert (code, stdout) == (2, "")
    assert "there is no conversation in 'file.jsonl'" in stderr
    assert not (tmp_path / "chat.md").exists()
