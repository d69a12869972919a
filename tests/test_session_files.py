"""Where conversations are: names of folders, ids, and what belongs together."""

from __future__ import annotations

import logging
import os
import pickle
from pathlib import Path

import pytest
from saved_sessions import Saved, conversation
from tables import each

from claude_sync import ClaudeError, SessionNotFound, UsageError
from claude_sync.session_files import (
    agent_files,
    checked_id,
    config_folder,
    find_session,
    project_folders,
    project_name,
    session_entries,
    shortened_name,
    side_files,
)

ID = "0d402564-7374-4fb1-8177-edc40afd195b"


@pytest.fixture
def config(tmp_path):
    """A CLI's folder."""
    return tmp_path / "config"


def test_the_folder_of_the_cli(monkeypatch, tmp_path):
    """What is given, else the variable, else the one in the home folder."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert config_folder() == tmp_path / ".claude"
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "")
    assert config_folder() == tmp_path / ".claude"
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "/elsewhere")
    assert config_folder() == Path("/elsewhere")
    assert config_folder("given") == Path("given")


@each("given", ["", 3, b"bytes", ["list"]])
def test_a_folder_is_a_path(given):
    """Anything else is refused, by name."""
    with pytest.raises(UsageError, match="config_dir must be the path of a folder"):
        config_folder(given)


@each(
    ("path", "name"),
    [
        ("/tmp/a_b/C.d", "-tmp-a-b-C-d"),
        ("/tmp/ünï cödé_日本.x", "-tmp--n--c-d-----x"),
        ("/tmp/e\u0301", "-tmp-e-"),
        ("/tmp/emo\U0001f600ji", "-tmp-emo--ji"),
        ("C:\\Users\\x", "C--Users-x"),
    ],
)
def test_names_are_those_of_the_cli(path, name):
    """Each sign that is no ASCII letter or digit becomes a dash, for an emoji two."""
    assert project_name(path) == name


def test_long_names_are_those_of_the_cli():
    """As CLI 2.1.325 names them: 200 signs, a dash, and a checksum of the path."""
    path = "/tmp/sess/bundled/" + "l" * 120 + "/" + "m" * 120 + "/n"
    name = "-tmp-sess-bundled-" + "l" * 120 + "-" + "m" * 61 + "-4q0f11"
    assert shortened_name(path) == name


def test_a_checksum_may_be_nothing():
    """The empty path has one, too."""
    assert shortened_name("") == "-0"


def test_folders_of_a_cwd(config, tmp_path):
    """Symbolic links are resolved; of names that are too long both kinds are looked for."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    saved = conversation(config, cwd=str(tmp_path / "real"))
    assert project_folders(config, tmp_path / "link") == [saved.folder]
    assert project_folders(config, tmp_path / "other") == []
    parent = os.path.realpath(tmp_path)
    long = os.path.join(parent, "x" * (229 - len(parent)))
    assert project_folders(config, long) == []
    wanted = [config / "projects" / name(long) for name in (shortened_name, project_name)]
    for folder in wanted:
        folder.mkdir()
    assert project_folders(config, long) == wanted


def test_a_name_no_system_takes(config):
    """A path of thousands of signs has no conversations, and is no error."""
    assert project_folders(config, "/" + "x/" * 3000) == []


def test_all_folders(config):
    """Without a cwd all of them; files between them do not count."""
    one = conversation(config, cwd="/one")
    two = conversation(config, cwd="/two")
    (config / "projects" / "file").write_text("no folder")
    assert project_folders(config) == [one.folder, two.folder]
    assert project_folders(config / "missing") == []


def test_a_closed_folder_is_told(config, caplog, monkeypatch):
    """It is left out, with a line in the log."""
    saved = conversation(config)

    def scandir(folder):
        raise PermissionError("closed")

    monkeypatch.setattr(os, "scandir", scandir)
    with caplog.at_level(logging.WARNING, "claude_sync"):
        assert list(session_entries(saved.folder)) == []
    assert caplog.messages == [f"{saved.folder} cannot be looked into and is left out: closed"]


def test_only_files_of_conversations_count(config):
    """Subagents, indexes and whatever people put there are passed over."""
    saved = conversation(config)
    for name in ("agent-12345678.jsonl", "sessions-index.json", f"{ID}.json", f"{ID}.jsonl.bak"):
        (saved.folder / name).write_text("{}")
    assert [entry.name for entry in session_entries(saved.folder)] == [saved.path.name]


@each(
    "session",
    [
        *("", "x", "../" + ID, ID + "/..", ID + "\n", ID + ".jsonl", "..", ID[:-1], ID + "0"),
        *(None, 5, ID.encode(), Path(ID)),
    ],
)
def test_what_is_no_id_is_refused(session):
    """Nothing that could be a way out of the folder is ever made into a path."""
    with pytest.raises(UsageError, match="is not the id of a session"):
        checked_id(session)


def test_a_session_is_found_by_its_id(config):
    """In the folder of its cwd, or in any."""
    conversation(config, cwd="/other")
    saved = conversation(config, cwd="/one")
    assert find_session(saved.session_id, None, config) == saved.path
    assert find_session(saved.session_id, "/one", config) == saved.path


def test_an_unknown_session_names_where_it_was_looked_for(config):
    """A UsageError and a LookupError that can be pickled."""
    saved = conversation(config, cwd="/one")
    with pytest.raises(SessionNotFound) as caught:
        find_session(ID, None, config)
    assert caught.value.session_id == ID
    assert caught.value.searched == (str(config / "projects"),)
    assert str(config / "projects") in str(caught.value) and "list_sessions()" in str(caught.value)
    assert isinstance(caught.value, (UsageError, LookupError, ClaudeError))
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (str(copy), copy.searched) == (str(caught.value), caught.value.searched)
    with pytest.raises(SessionNotFound) as caught:
        find_session(ID, "/one", config)
    assert caught.value.searched == (str(saved.folder),)


def test_an_empty_file_is_no_session(config):
    """Some CLIs leave one behind."""
    saved = Saved(config).save()
    with pytest.raises(SessionNotFound):
        find_session(saved.session_id, None, config)


def test_one_id_in_two_folders(config):
    """Which one is meant must be said."""
    one = conversation(config, cwd="/one")
    two = conversation(config, cwd="/two", session_id=one.session_id)
    with pytest.raises(UsageError, match="there several times") as caught:
        find_session(one.session_id, None, config)
    assert str(one.path) in str(caught.value) and "cwd=" in str(caught.value)
    assert find_session(one.session_id, "/two", config) == two.path


def test_what_belongs_to_a_session(config):
    """Its own folder, subagents, checkpoints and lists; nothing of another one."""
    saved, other = conversation(config), conversation(config)
    mine, foreign = Saved(config), Saved(config)
    for agent, owner in ((mine, saved), (foreign, other)):
        agent.session_id = owner.session_id
        agent.path = agent.folder / f"agent-{agent.path.stem[:8]}.jsonl"
        agent.user("Warmup", isSidechain=True)
        agent.save()
    (saved.folder / "agent-broken.jsonl").write_bytes(b"\0\n")
    wanted = [
        saved.path.with_suffix(""),
        mine.path,
        config / "file-history" / saved.session_id,
        config / "debug" / f"{saved.session_id}.txt",
        config / "todos" / f"{saved.session_id}-agent-{saved.session_id}.json",
    ]
    for path in wanted:
        if path.suffix:
            path.parent.mkdir(exist_ok=True, parents=True)
            path.touch()
        else:
            path.mkdir(parents=True)
    (config / "todos" / f"{other.session_id}-agent-{other.session_id}.json").touch()
    (config / "file-history" / other.session_id).mkdir()
    assert sorted(side_files(saved.path)) == sorted(wanted)


def test_what_two_copies_share_belongs_to_none(config):
    """Of one id in two folders, each has its own folder alone, until the other is gone."""
    one = conversation(config, cwd="/one")
    two = conversation(config, cwd="/two", session_id=one.session_id)
    empty = Saved(config, cwd="/three", session_id=one.session_id).save()
    (config / "projects" / "linked").symlink_to(one.folder)
    shared = [config / "file-history" / one.session_id, config / "tasks" / one.session_id]
    own = one.path.with_suffix("")
    for path in (*shared, own):
        path.mkdir(parents=True)
    assert empty.path.exists()
    assert side_files(one.path) == [own]
    two.path.unlink()
    assert side_files(one.path) == [own, *shared]


def test_files_of_subagents(config):
    """In the folder of the session, also further below, and beside it."""
    saved = conversation(config)
    folder = saved.path.with_suffix("") / "subagents"
    wanted = [folder / "agent-1.jsonl", folder / "deeper" / "agent-2.jsonl"]
    for path in wanted:
        path.parent.mkdir(parents=True)
        path.touch()
    (folder / "agent-1.meta.json").touch()
    assert agent_files(saved.path) == wanted


def test_what_cannot_be_looked_at_is_not_there(config, tmp_path, caplog):
    """Links in a circle, and files of subagents that are none."""
    saved = conversation(config)
    loop = config / "projects" / "loop"
    loop.symlink_to(loop)
    assert project_folders(config) == [saved.folder]
    (saved.folder / f"{ID}.jsonl").symlink_to(saved.folder / f"{ID}.jsonl")
    with pytest.raises(SessionNotFound):
        find_session(ID, None, config)
    (saved.folder / "agent-1.jsonl").mkdir()
    with caplog.at_level(logging.WARNING, "claude_sync"):
        assert agent_files(saved.path) == []
    assert "agent-1.jsonl cannot be read and is left out" in caplog.text
