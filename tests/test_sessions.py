"""The functions for saved conversations, as a program calls them."""

from __future__ import annotations

import json
import logging
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from saved_sessions import Saved, conversation, texts

import claude_sync
from claude_sync import SessionNotFound, UsageError, sessions
from claude_sync.sessions import (
    delete_session,
    list_sessions,
    read_session,
    rename_session,
    restore_session,
)

UNKNOWN = "0d402564-7374-4fb1-8177-edc40afd195b"


@pytest.fixture
def config(tmp_path, monkeypatch):
    """The CLI's folder, as the environment names it."""
    folder = tmp_path / "config"
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(folder))
    return folder


def titles(*given, **named):
    """The titles that list_sessions() gives."""
    return [info.title for info in list_sessions(*given, **named)]


def test_the_module_is_public():
    """claude_sync.sessions and its classes are there without importing them."""
    assert claude_sync.sessions is sessions
    assert claude_sync.SessionInfo is sessions.SessionInfo
    assert claude_sync.SessionNotFound is sessions.SessionNotFound


def test_the_newest_comes_first(config):
    """Of all folders, or of one."""
    conversation(config, "old", age=30, cwd="/one")
    conversation(config, "newest", age=10, cwd="/one")
    conversation(config, "other", age=20, cwd="/two")
    assert titles() == ["newest", "other", "old"]
    assert titles("/one") == ["newest", "old"]
    assert titles(Path("/two")) == ["other"]
    assert titles("/three") == []


def test_the_newest_is_one_in_which_something_was_asked(config):
    """What /clear begins is empty; by its id it is there like any other."""
    conversation(config, "asked", age=10, cwd="/one")
    empty = Saved(config, cwd="/one")
    empty.user("<local-command-caveat>x</local-command-caveat>", isMeta=True)
    empty.user("<command-name>/clear</command-name>")
    empty.save()
    assert titles() == titles("/one") == ["asked"]
    assert titles(everything=True) == titles("/one", everything=True) == ["/clear", "asked"]
    assert len(read_session(empty.session_id)) == 2
    rename_session(empty.session_id, "kept")
    assert titles(everything=True) == ["kept", "asked"]
    assert delete_session(empty.session_id) is not None


def test_another_folder_of_the_cli(config, tmp_path):
    """config_dir= comes before the environment; a folder that is missing has none."""
    conversation(tmp_path / "another", "there")
    conversation(config, "here")
    assert titles() == ["here"]
    assert titles(config_dir=tmp_path / "another") == ["there"]
    assert titles(config_dir=tmp_path / "missing") == []


def test_folders_that_share_a_name(config):
    """a-b and a_b are kept in one folder, but each sees its own."""
    conversation(config, "dash", cwd="/srv/a-b")
    conversation(config, "underscore", cwd="/srv/a_b")
    assert titles("/srv/a-b") == ["dash"]
    assert titles("/srv/a_b") == ["underscore"]
    assert sorted(titles()) == ["dash", "underscore"]


def test_a_cwd_given_by_a_link(config, tmp_path, monkeypatch):
    """Links and relative paths lead to the same conversations."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    conversation(config, "real", cwd=os.path.realpath(tmp_path / "real"))
    conversation(config, "by the link", age=5, cwd=os.path.realpath(tmp_path / "real"))
    assert titles(tmp_path / "link") == ["real", "by the link"]
    monkeypatch.chdir(tmp_path / "link")
    assert titles(".") == ["real", "by the link"]


@pytest.mark.parametrize("cwd", ["", 3, ["x"]])
def test_a_cwd_is_a_path(config, cwd):
    """Anything else is refused, by name."""
    with pytest.raises(UsageError, match="cwd must be the path of a folder"):
        list_sessions(cwd)


def test_reading_by_id_item_and_path(config, tmp_path):
    """All name the same conversation; a path is no str, and may lead anywhere."""
    saved = conversation(config, "hello", cwd="/one")
    wanted = ["hello", "echo: hello"]
    (info,) = list_sessions()
    elsewhere = tmp_path / "copy.jsonl"
    elsewhere.write_bytes(saved.path.read_bytes())
    for session in (saved.session_id, info, saved.path, elsewhere):
        assert texts(read_session(session)) == wanted
    assert texts(read_session(saved.session_id, "/one")) == wanted
    assert texts(read_session(saved.session_id, cwd="/one", config_dir=config)) == wanted


def test_reading_what_is_not_there(config, tmp_path):
    """An id in another folder, a path without a file, an item that was deleted."""
    saved = conversation(config, "hello", cwd="/one")
    conversation(config, "other", cwd="/two")
    (info,) = list_sessions("/one")
    saved.path.unlink()
    for session in (UNKNOWN, info, tmp_path / "no.jsonl", tmp_path):
        with pytest.raises(SessionNotFound):
            read_session(session)
    with pytest.raises(UsageError, match="is not the id of a session"):
        read_session("yesterday")
    with pytest.raises(UsageError, match="is not the id of a session"):
        read_session(None)


def test_more_than_the_conversation(config):
    """Subagents, or every line; both at once is refused."""
    saved = Saved(config)
    saved.note("mode", mode="normal")
    saved.user("start one")
    call = saved.calls("t1", "Task", {"prompt": "look"}, reply="m1")
    saved.user("look", parent=None, isSidechain=True)
    saved.result("t1", parent=call)
    saved.save()
    plain = ["start one", "Assistant", "User"]
    assert texts(read_session(saved.session_id)) == plain
    with_agent = texts(read_session(saved.session_id, subagents=True))
    assert with_agent == ["start one", "Assistant", "look", "User"]
    assert texts(read_session(saved.session_id, everything=True)) == ["Unknown", *with_agent]
    with pytest.raises(UsageError, match="use one of them"):
        read_session(saved.session_id, subagents=True, everything=True)


def test_a_new_title(config):
    """Written as CLIs write it, at the end; the conversation is not touched."""
    saved = conversation(config, "hello")
    before = saved.path.read_bytes()
    rename_session(saved.session_id, "  About\n greetings ✓ ")
    after = saved.path.read_bytes()
    assert after.startswith(before)
    title, name = map(json.loads, after[len(before) :].splitlines())
    assert title == {
        "type": "custom-title",
        "customTitle": "About greetings ✓",
        "sessionId": saved.session_id,
    }
    assert name == {
        "type": "agent-name",
        "agentName": "About greetings ✓",
        "sessionId": saved.session_id,
    }
    (info,) = list_sessions()
    assert info.title == "About greetings ✓"
    rename_session(info, "Another", config_dir="/not/used/for/an/item")
    assert titles() == ["Another"]
    assert texts(read_session(info)) == ["hello", "echo: hello"]


def test_a_title_is_no_news(config):
    """The list keeps its order, and so what a CLI goes on with; its index sees a change."""
    old = conversation(config, "old", age=10)
    conversation(config, "new", age=9)
    before = old.path.stat().st_mtime_ns
    rename_session(old.session_id, "renamed")
    assert titles() == ["new", "renamed"]
    assert old.path.stat().st_mtime_ns == before + 1_000_000


@pytest.mark.parametrize("problem", ["busy", "not ours"])
def test_a_title_beside_what_a_cli_writes(config, monkeypatch, problem):
    """What somebody else has written meanwhile is news; times that cannot be set are no error."""
    saved = conversation(config, "hello")
    before = saved.path.stat().st_mtime_ns
    original = os.fstat

    def write_more(file):
        """The CLI writes between the look at the file and the title."""
        found = original(file)
        with saved.path.open("ab") as other:
            other.write(b'{"type":"mode"}\n')
        return found

    def refuse(*given, **named):
        raise PermissionError("closed")

    if problem == "busy":
        monkeypatch.setattr(sessions.os, "fstat", write_more)
    else:
        monkeypatch.setattr(sessions.os, "utime", refuse)
    rename_session(saved.session_id, "new")
    monkeypatch.undo()
    assert saved.path.stat().st_mtime_ns > before + 1_000_000_000
    assert titles(config_dir=config) == ["new"]


def copy_of_title(saved):
    """Where the newest CLIs keep the title, too."""
    return saved.path.with_suffix("") / "custom-title.json"


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX")
def test_the_folder_beside_a_conversation_is_private(config):
    """Whatever rights new files have otherwise."""
    saved = conversation(config, "hello")
    before = os.umask(0)
    try:
        rename_session(saved.session_id, "first")
    finally:
        os.umask(before)
    assert copy_of_title(saved).parent.stat().st_mode & 0o777 == 0o700


def test_the_copy_of_a_title_is_kept_up(config):
    """As the newest CLIs do; it has the rights it had, and no other file appears."""
    saved = conversation(config, "hello")
    copy = copy_of_title(saved)
    rename_session(saved.session_id, "first")
    assert json.loads(copy.read_text()) == {"customTitle": "first"}
    assert os.name != "posix" or copy.stat().st_mode & 0o777 == 0o600
    copy.chmod(0o640)
    rename_session(saved.session_id, "second")
    assert json.loads(copy.read_text()) == {"customTitle": "second"}
    assert os.name != "posix" or copy.stat().st_mode & 0o777 == 0o640
    assert list(copy.parent.iterdir()) == [copy]


def test_a_title_stays_however_long_the_conversation_gets(config):
    """CLIs that know no titles do not write it again."""
    saved = conversation(config, "hello")
    rename_session(saved.session_id, "my title")
    with saved.path.open("ab") as file:
        file.write(b'{"type":"user","uuid":"z","message":{"content":"' + b"x" * 70_000 + b'"}}\n')
    assert titles() == ["my title"]


def test_many_rename_at_once(config):
    """Nobody fails, and one of them is the last."""
    saved = conversation(config, "hello")
    barrier = threading.Barrier(4)

    def rename(number):
        barrier.wait(timeout=30)
        for turn in range(25):
            rename_session(saved.session_id, f"title {number} {turn}")

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(rename, number) for number in range(4)]:
            done.result(timeout=60)
    assert titles()[0].startswith("title ")
    assert list(copy_of_title(saved).parent.iterdir()) == [copy_of_title(saved)]


def test_a_copy_that_cannot_be_written_is_no_error(config, monkeypatch, caplog):
    """The title is in the conversation itself; nothing is left over."""
    saved = conversation(config, "hello")
    rename_session(saved.session_id, "first")

    def refuse(source, target):
        raise PermissionError("closed")

    with monkeypatch.context() as patched, caplog.at_level(logging.WARNING, "claude_sync"):
        patched.setattr(os, "replace", refuse)
        rename_session(saved.session_id, "second")
    assert titles() == ["second"]
    assert "closed" in caplog.text and "custom-title.json" in caplog.text
    assert list(copy_of_title(saved).parent.iterdir()) == [copy_of_title(saved)]
    other = conversation(config, "other", age=9)
    other.path.with_suffix("").write_text("a file in the way")
    rename_session(other.session_id, "third")
    assert titles() == ["second", "third"]


def test_halves_of_letters_in_a_title_are_replaced(config):
    """A title can be printed, whoever gave it."""
    saved = conversation(config, "hello")
    rename_session(saved.session_id, "cut \ud83d off")
    assert titles() == ["cut \ufffd off"]
    assert b"ud83d" not in saved.path.read_bytes()


def test_a_line_that_was_cut_off_stays_by_itself(config):
    """The title is readable all the same."""
    saved = conversation(config, "hello").save(ending=b'{"type":"user","mess')
    rename_session(saved.session_id, "new")
    assert b'{"type":"user","mess\n{"type":"custom-title"' in saved.path.read_bytes()
    assert titles() == ["new"]
    assert b"\n\n" not in saved.path.read_bytes()


def test_a_file_that_was_emptied_meanwhile(config):
    """It gets the title and nothing before it."""
    saved = conversation(config, "hello")
    (info,) = list_sessions()
    saved.path.write_bytes(b"")
    rename_session(info, "new")
    assert saved.path.read_bytes().startswith(b'{"type":"custom-title"')


@pytest.mark.parametrize("title", ["", " \n", None, 7, b"x"])
def test_a_title_is_a_text(config, title):
    """Anything else is refused, and nothing written."""
    saved = conversation(config, "hello")
    before = saved.path.read_bytes()
    with pytest.raises(UsageError, match="not blank"):
        rename_session(saved.session_id, title)
    assert saved.path.read_bytes() == before


def test_renaming_what_cannot_be(config, monkeypatch):
    """Unknown, vanished, or not writable: each has its error, and no file is made."""
    saved = conversation(config, "hello")
    with pytest.raises(SessionNotFound):
        rename_session(UNKNOWN, "x")
    for problem, error in ((FileNotFoundError(), SessionNotFound), (PermissionError(), UsageError)):

        def refuse(path, flags, problem=problem):
            raise problem

        with monkeypatch.context() as patched:
            patched.setattr(os, "open", refuse)
            with pytest.raises(error) as caught:
                rename_session(saved.session_id, "x")
        assert type(caught.value) is error
    assert titles() == ["hello"]


@pytest.mark.parametrize("function", [read_session, delete_session])
@pytest.mark.parametrize(
    "session",
    [
        f"../{UNKNOWN}",
        f"../{UNKNOWN}.jsonl",
        "..",
        f"FOLDER/{UNKNOWN}.jsonl",
        f"FOLDER/{UNKNOWN}",
        f"{UNKNOWN}.jsonl",
        "secret.txt",
        "agent-12345678",
    ],
)
def test_no_id_leads_out_of_the_folder(config, tmp_path, monkeypatch, function, session):
    """What is no id is never made into a path, of something to delete or to read."""
    saved = conversation(config, "hello")
    inner = tmp_path / "inner"
    inner.mkdir()
    monkeypatch.chdir(inner)
    there = [saved.folder / session, inner / session, inner / session.replace("FOLDER", "..")]
    for path in [*there, tmp_path / f"{UNKNOWN}.jsonl"]:
        if path.parent.is_dir() and not path.exists():
            path.write_bytes(saved.path.read_bytes())
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(UsageError, match="is not the id of a session"):
        function(session.replace("FOLDER", str(tmp_path)))
    with pytest.raises(UsageError, match="is not the id"):
        rename_session(session, "x")
    assert sorted(tmp_path.rglob("*")) == before


def test_deleting_and_bringing_back(config):
    """By default into the trash; the result is where it went."""
    saved = conversation(config, "hello")
    kept = conversation(config, "kept", age=1)
    trashed = delete_session(saved.session_id)
    assert titles() == ["kept"]
    with pytest.raises(SessionNotFound):
        delete_session(saved.session_id)
    assert (trashed / saved.path.relative_to(config)).is_file()
    assert restore_session(trashed) == saved.path
    assert titles() == ["hello", "kept"]
    assert delete_session(list_sessions()[0], trash=False) is None
    assert titles() == ["kept"]
    assert os.listdir(kept.folder) == [kept.path.name]


def test_only_a_path_can_be_restored(config):
    """None, as delete_session(trash=False) gives it, is refused."""
    with pytest.raises(UsageError, match="takes what delete_session"):
        restore_session(None)
    with pytest.raises(UsageError, match="holds no deleted session"):
        restore_session(str(config))
