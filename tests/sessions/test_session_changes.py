"""Saved conversations get titles and tags, are copied, deleted and brought back."""

from __future__ import annotations

import json
import os
import shutil

import pytest
from saved_sessions import Saved, conversation, texts

from claude_sync import SessionNotFound, UsageError
from claude_sync.sessions import (
    delete_session,
    fork_session,
    list_sessions,
    read_session,
    rename_session,
    restore_session,
    session_info,
    tag_session,
)

TRASH = "claude-sync-trash"
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


def copy_of_title(saved):
    """Where the newest CLIs keep the title, too."""
    return saved.path.with_suffix("") / "custom-title.json"


def test_the_copy_of_a_title_is_kept_up(config):
    """As the newest CLIs do; it has the rights it had, and no other file appears."""
    saved = conversation(config, "hello")
    copy = copy_of_title(saved)
    rename_session(saved.session_id, "first")
    assert json.loads(copy.read_text()) == {"customTitle": "first"}
    assert os.name != "posix" or copy.stat().st_mode & 0o777 == 0o600
    rename_session(saved.session_id, "second")
    assert json.loads(copy.read_text()) == {"customTitle": "second"}
    assert list(copy.parent.iterdir()) == [copy]


def test_a_line_that_was_cut_off_stays_by_itself(config):
    """The title is readable all the same."""
    saved = conversation(config, "hello").save(ending=b'{"type":"user","mess')
    rename_session(saved.session_id, "new")
    assert b'{"type":"user","mess\n{"type":"custom-title"' in saved.path.read_bytes()
    assert titles() == ["new"]
    assert b"\n\n" not in saved.path.read_bytes()


@pytest.mark.parametrize("words", ["", " \n", 7, b"x"])
def test_titles_and_tags_are_texts(config, words):
    """Anything else is refused, and nothing written."""
    saved = conversation(config, "hello")
    before = saved.path.read_bytes()
    for change in (rename_session, tag_session):
        with pytest.raises(UsageError, match="not blank"):
            change(saved.session_id, words)
    with pytest.raises(UsageError, match="not blank"):
        fork_session(saved.session_id, title=words)
    assert saved.path.read_bytes() == before
    assert len(list_sessions()) == 1


@pytest.mark.parametrize("function", [read_session, delete_session, fork_session])
@pytest.mark.parametrize(
    "session",
    [
        f"../{UNKNOWN}",
        f"FOLDER/{UNKNOWN}.jsonl",
        f"{UNKNOWN}.jsonl",
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


def test_a_tag(config):
    """The last one counts; None removes it. The conversation keeps its place in the list."""
    saved = conversation(config, "old", age=10)
    conversation(config, "new")
    assert session_info(saved.session_id).tag is None
    tag_session(saved.session_id, "  to\nread ")
    tag_session(saved.session_id, "to read again")
    assert session_info(saved.session_id).tag == "to read again"
    assert titles() == ["new", "old"]
    last = json.loads(saved.path.read_bytes().splitlines()[-1])
    assert last == {"type": "tag", "tag": "to read again", "sessionId": saved.session_id}
    tag_session(list_sessions()[1], None)
    assert session_info(saved.session_id).tag is None
    with pytest.raises(SessionNotFound):
        tag_session(UNKNOWN, "x")


def test_a_copy_to_go_on_from(config):
    """The newest branch, under another id, with ids of its own; the original is not touched."""
    saved = Saved(config)
    saved.user("one")
    first = saved.says("to one", reply="m1")
    saved.user("given up")
    saved.line("progress", parent=first)
    saved.line("attachment", attachment={})
    two = saved.user("two")
    saved.says("to two", reply="m2", sourceToolAssistantUUID=two)
    saved.note("custom-title", customTitle="Greetings")
    saved.save(age=100)
    before = saved.path.read_bytes()
    copy = fork_session(saved.session_id)
    assert saved.path.read_bytes() == before
    assert copy == session_info(copy.session_id) and copy.session_id != saved.session_id
    assert (copy.title, copy.cwd) == ("Greetings (fork)", saved.cwd)
    assert os.name != "posix" or copy.path.stat().st_mode & 0o777 == 0o600
    old, new = read_session(saved.session_id), read_session(copy)
    assert texts(new) == texts(old) == ["one", "to one", "two", "to two"]
    assert {m.uuid for m in old}.isdisjoint(m.uuid for m in new)
    assert {m.session_id for m in new} == {copy.session_id}
    assert new[-1].raw["sourceToolAssistantUUID"] == new[-2].uuid
    assert [m.raw["forkedFrom"] for m in new] == [
        {"sessionId": saved.session_id, "messageUuid": m.uuid} for m in old
    ]
    lines = [json.loads(line) for line in copy.path.read_bytes().splitlines()]
    known = {None, *(line.get("uuid") for line in lines)}
    assert {line.get("parentUuid") for line in lines} <= known
    assert "progress" not in {line["type"] for line in lines}


def test_a_copy_of_the_beginning(config):
    """Up to a message, with a title; a message of another branch is refused."""
    saved = Saved(config)
    saved.user("one")
    first = saved.says("to one", reply="m1")
    lost = saved.user("given up")
    saved.user("two", parent=first)
    saved.save()
    copy = fork_session(saved.session_id, saved.cwd, up_to=first, title="Another way")
    assert texts(read_session(copy)) == ["one", "to one"]
    assert copy.title == "Another way"
    with pytest.raises(UsageError, match="up_to="):
        fork_session(saved.session_id, up_to=lost)
    with pytest.raises(SessionNotFound):
        fork_session(UNKNOWN)
    assert len(list_sessions()) == 2


@pytest.fixture
def saved(config):
    """A conversation with something beside it."""
    saved = conversation(config)
    for path in (
        saved.path.with_suffix("") / "subagents" / "agent-1.jsonl",
        config / "file-history" / saved.session_id / "x@v1",
        config / "todos" / f"{saved.session_id}-agent-{saved.session_id}.json",
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
    return saved


def files_in(folder):
    """All files below, relative, with their content."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_it_goes_to_the_trash_and_comes_back(config, saved):
    """Everything has the place it had, there and afterwards; others stay where they are."""
    other = conversation(config, cwd="/other")
    before = files_in(config)
    trashed = delete_session(saved.session_id, saved.cwd)
    assert trashed.parent == config / TRASH
    assert trashed.name.endswith(saved.session_id)
    assert os.name != "posix" or trashed.stat().st_mode & 0o777 == 0o700
    gone = files_in(trashed)
    assert len(gone) == 4
    left = {name: data for name, data in before.items() if name not in gone}
    assert list(left) == [other.path.relative_to(config).as_posix()]
    assert {**left, **gone} == before
    assert {k: v for k, v in files_in(config).items() if not k.startswith(TRASH)} == left
    assert restore_session(trashed) == saved.path
    assert files_in(config) == before
    assert not trashed.exists()


def test_the_same_one_twice_in_a_second(config, saved, monkeypatch):
    """Each has its own folder."""
    first = delete_session(saved.session_id, saved.cwd)
    names = {first}
    for _ in range(3):
        saved.save()
        names.add(delete_session(saved.session_id, saved.cwd))
    assert len(names) == 4
    assert all((each / saved.path.relative_to(config)).exists() for each in names)
    assert restore_session(sorted(names)[-1]) == saved.path


def test_deleted_for_good(config, saved):
    """Nothing of it is left, and no trash."""
    other = conversation(config, cwd="/other")
    delete_session(saved.session_id, saved.cwd, trash=False)
    assert list(files_in(config)) == [other.path.relative_to(config).as_posix()]
    with pytest.raises(SessionNotFound):
        delete_session(saved.session_id, saved.cwd, trash=False)


def test_a_link_is_deleted_and_not_what_it_leads_to(config, saved, tmp_path):
    """Whoever linked a folder keeps it."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "file").touch()
    shutil.rmtree(saved.path.with_suffix(""))
    saved.path.with_suffix("").symlink_to(tmp_path / "elsewhere")
    delete_session(saved.session_id, saved.cwd, trash=False)
    assert (tmp_path / "elsewhere" / "file").exists()
    assert not saved.path.with_suffix("").is_symlink()


def test_nothing_is_overwritten(config, saved):
    """If there is such a conversation again, the deleted one stays in the trash."""
    trashed = delete_session(saved.session_id, saved.cwd)
    saved.save()
    before = files_in(config)
    with pytest.raises(UsageError, match="exists, so the deleted session cannot come back"):
        restore_session(trashed)
    assert files_in(config) == before


def everything_in(folder):
    """All below, relative; with what links lead to, and the content of files."""
    found = {}
    for path in folder.rglob("*"):
        link = os.readlink(path) if path.is_symlink() else None
        content = path.read_bytes() if link is None and path.is_file() else None
        found[path.relative_to(folder).as_posix()] = (link, content)
    return found


def test_links_and_empty_folders_come_back(config, saved, tmp_path):
    """Whatever somebody put there, and what links lead to is not touched."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "keep").write_text("k")
    own = saved.path.with_suffix("")
    (own / "empty" / "deeper").mkdir(parents=True)
    (own / "absolute").symlink_to(outside)
    (own / "relative").symlink_to("empty")
    (own / "dangling").symlink_to("nowhere")
    (config / "tasks").mkdir()
    (config / "tasks" / saved.session_id).symlink_to(tmp_path / "gone")
    before = everything_in(config)
    trashed = delete_session(saved.session_id, saved.cwd)
    assert not os.path.lexists(config / "tasks" / saved.session_id)
    assert restore_session(trashed) == saved.path
    after = everything_in(config)
    assert after.pop(TRASH) == (None, None)
    assert after == before
    assert (outside / "keep").read_text() == "k"


def test_what_was_put_into_the_trash_stays_there(config, saved, tmp_path):
    """What did not come from the CLI's folder is not deleted, nor what a link leads to."""
    trashed = delete_session(saved.session_id, saved.cwd)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "keep").write_text("k")
    (trashed / "projects" / "link").symlink_to(tmp_path / "outside")
    (trashed / "my notes.txt").write_text("why I deleted it")
    (trashed / "projects" / "notes.txt").write_text("more")
    assert restore_session(trashed) == saved.path
    assert (tmp_path / "outside" / "keep").exists()
    assert (trashed / "projects" / "link").is_symlink()
    names = set(files_in(trashed)) - {"projects/link/keep"}  # some versions look through links
    assert names == {"my notes.txt", "projects/notes.txt"}


def test_deleting_a_copy_leaves_what_the_other_needs(config, saved):
    """One id in two folders: they share checkpoints and lists."""
    other = conversation(config, cwd="/other", session_id=saved.session_id)
    shared = config / "file-history" / saved.session_id / "x@v1"
    trashed = delete_session(saved.session_id, saved.cwd)
    assert shared.exists() and len(files_in(trashed)) == 2
    restore_session(trashed)
    delete_session(saved.session_id, saved.cwd, trash=False)
    assert shared.exists()
    delete_session(other.session_id, other.cwd, trash=False)
    assert not shared.exists()


@pytest.mark.parametrize("kind", ["missing", "other", "empty", "copied", "named"])
def test_what_was_not_deleted_cannot_come_back(config, saved, kind):
    """Only a folder of the trash, with a conversation in it."""
    trashed = delete_session(saved.session_id, saved.cwd)
    given = {
        "missing": trashed.with_name("missing"),
        "other": trashed / "projects",
        "empty": trashed.with_name("empty"),
        "copied": config / "elsewhere" / trashed.name,
        "named": trashed.with_name("named"),
    }[kind]
    (config / TRASH / "empty").mkdir()
    shutil.copytree(trashed, config / TRASH / "named")
    shutil.copytree(trashed, config / "elsewhere" / trashed.name)
    before = files_in(config)
    with pytest.raises(UsageError, match="holds no deleted session"):
        restore_session(given)
    assert files_in(config) == before
