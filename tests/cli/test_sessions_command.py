"""``claude-sync sessions``: saved conversations, listed, shown, renamed, deleted, restored."""

from __future__ import annotations

import json
import os
import re
import sys
import time

import pytest
from saved_sessions import Saved, conversation
from tmux_terminal import Terminal

ID = "11111111-aaaa-4111-8111-111111111111"
OTHER = "11111111-bbbb-4111-8111-111111111111"


@pytest.fixture
def here(tmp_path):
    """The folder in which the commands are run, as the CLI writes it."""
    return os.path.realpath(tmp_path)


def test_those_of_the_folder_are_listed_the_newest_first(run, config, here):
    """A line each: its id, when, the title. --all has those of other folders, too."""
    conversation(config, "the older one", cwd=here, age=100, session_id=OTHER)
    conversation(config, "the newer one", cwd=here, session_id=ID)
    conversation(config, "elsewhere", cwd="/srv/shop", age=50)
    code, stdout, stderr = run("sessions", "list")
    assert (code, stderr) == (0, "")
    lines = stdout.splitlines()
    assert [line[:8] for line in lines] == [ID[:8], OTHER[:8]]
    assert re.fullmatch(rf"{ID[:8]}    \d{{4}}-\d\d-\d\d  the newer one", lines[0])
    code, stdout, _ = run("sessions", "list", "--all")
    assert len(stdout.splitlines()) == 3
    assert "elsewhere  (/srv/shop)" in stdout


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(5, "just now"), (150, "2 min ago"), (7_300, "2 h ago"), (3 * 86_400 + 9, "3 d ago")],
)
def test_what_is_new_has_its_age(run, config, here, seconds, shown):
    """In a word or two."""
    saved = conversation(config, "hello", cwd=here)
    then = time.time() - seconds
    os.utime(saved.path, (then, then))
    assert f"{shown}  hello" in run("sessions", "list")[1]


def test_a_list_as_json_has_an_object_a_line(run, config, here):
    """For programs."""
    saved = conversation(config, "hello", cwd=here, session_id=ID)
    told = json.loads(run("sessions", "list", "--json")[1])
    assert (told["session_id"], told["title"], told["cwd"]) == (ID, "hello", here)
    assert (told["path"], told["created"]) == (str(saved.path), "2026-03-01T10:00:00+00:00")


def test_an_empty_list_is_no_failure(run):
    """It is told on stderr; stdout has nothing."""
    assert run("sessions", "list") == (
        0,
        "",
        "claude-sync: no saved conversations of this folder; try --all\n",
    )


def test_titles_are_nothing_that_a_terminal_would_obey(config, environment, tmp_path, here):
    """A title could clear the screen; and it is cut at the edge."""
    saved = Saved(config, cwd=here, session_id=ID)
    saved.user("\x1b[2Jevil " + "long " * 100)
    saved.save()
    variables = {name: value for name, value in environment.items() if name != "COLUMNS"}
    command = [sys.executable, "-m", "claude_sync", "sessions", "list"]
    with Terminal(command, variables, tmp_path, width=90) as terminal:
        shown = terminal.until("[exit code 0]")
    (line,) = [line for line in shown.splitlines() if line.startswith(ID[:8])]
    assert "\\x1b[2Jevil long" in line
    assert line.endswith("…")
    assert len(line) <= 90


@pytest.mark.parametrize("name", [ID, "11111111-a", "last"])
def test_one_is_shown_as_markdown(run, config, here, name):
    """By its id, by the beginning of it, or as the last of the folder."""
    conversation(config, "hello", cwd=here, session_id=ID)
    conversation(config, "other", cwd=here, session_id=OTHER, age=9)
    code, stdout, stderr = run("sessions", "show", name)
    assert (code, stderr) == (0, "")
    assert stdout.startswith("# hello\n")
    assert "## You\n\nhello\n\n## Claude\n\necho: hello\n" in stdout


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("22222222", "there is no session '22222222'"),
        ("111", "at least 4 letters"),
        ("11111111-", "is the beginning of several"),
        ("../config", "there is no session"),
    ],
)
def test_a_name_that_means_none_or_several_is_refused(run, config, here, name, words):
    """With what to do instead."""
    conversation(config, "hello", cwd=here, session_id=ID)
    conversation(config, "other", cwd=here, session_id=OTHER, age=9)
    code, stdout, stderr = run("sessions", "show", name)
    assert (code, stdout) == (2, "")
    assert words in stderr


def test_one_in_which_nothing_was_asked_is_shown_by_its_id_alone(run, config, here):
    """It is not the last one, and not in the list."""
    conversation(config, "hello", cwd=here, session_id=ID, age=9)
    empty = Saved(config, cwd=here, session_id=OTHER)
    empty.user("<command-name>/clear</command-name>")
    empty.save()
    _, listed, _ = run("sessions", "list", "--json")
    assert [json.loads(line)["session_id"] for line in listed.splitlines()] == [ID]
    assert "echo: hello" in run("sessions", "show", "last")[1]
    code, shown, _ = run("sessions", "show", OTHER[:10])
    assert code == 0
    assert shown.startswith("# /clear\n")


def test_nothing_is_deleted_for_good_without_a_word(run, config, here):
    """Where nobody can be asked, --yes has to be said."""
    saved = conversation(config, "hello", cwd=here, session_id=ID)
    code, _, stderr = run("sessions", "delete", "--for-good", ID)
    assert code == 2
    assert "--yes" in stderr
    assert saved.path.exists()
    assert run("sessions", "delete", "--for-good", "--yes", ID)[0] == 0
    assert not saved.path.exists()


def test_all_names_are_looked_up_before_any_is_deleted(run, config, here):
    """One that is wrong deletes none."""
    saved = conversation(config, "hello", cwd=here, session_id=ID)
    assert run("sessions", "delete", ID, "22222222")[0] == 2
    assert saved.path.exists()


@pytest.mark.parametrize("words", [(), ("lst",), ("list", "--all", "--cwd", "."), ("rename", ID)])
def test_a_wrong_command_line_is_exit_code_2(run, words):
    """Told in words."""
    code, stdout, stderr = run("sessions", *words)
    assert (code, stdout) == (2, "")
    assert "Traceback" not in stderr


def test_one_that_is_named_twice_is_deleted_once(run, config, here):
    """By its id, and by the beginning of it."""
    conversation(config, "hello", cwd=here, session_id=ID)
    code, _, stderr = run("sessions", "delete", ID, "11111111")
    assert (code, stderr.count("in the trash")) == (0, 1)


def test_a_terminal_gets_no_pages_of_letters_for_a_picture(config, environment, tmp_path, here):
    """It is told that there was one."""
    data = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo" + "A" * 5001}
    saved = Saved(config, cwd=here, session_id=ID)
    saved.user([{"type": "text", "text": "look"}, {"type": "image", "source": data}])
    saved.says("I see.")
    saved.save()
    variables = {name: value for name, value in environment.items() if name != "COLUMNS"}
    command = [sys.executable, "-m", "claude_sync", "sessions", "show", "last"]
    with Terminal(command, variables, tmp_path) as terminal:
        shown = terminal.until("[exit code 0]")
    assert "an image" in shown
    assert "AAAA" not in shown
