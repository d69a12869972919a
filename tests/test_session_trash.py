"""Deleted conversations: moved with all that belongs to them, and brought back."""

from __future__ import annotations

import logging
import os
import shutil

import pytest
from saved_sessions import conversation

from claude_sync import SessionNotFound, UsageError
from claude_sync.session_trash import TRASH, delete_for_good, move_to_trash, restore


@pytest.fixture
def config(tmp_path):
    """A CLI's folder."""
    return tmp_path / "config"


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
    trashed = move_to_trash(saved.path)
    assert trashed.parent == config / TRASH
    assert trashed.name.endswith(saved.session_id)
    gone = files_in(trashed)
    assert len(gone) == 4
    left = {name: data for name, data in before.items() if name not in gone}
    assert list(left) == [other.path.relative_to(config).as_posix()]
    assert {**left, **gone} == before
    assert {k: v for k, v in files_in(config).items() if not k.startswith(TRASH)} == left
    assert restore(trashed) == saved.path
    assert files_in(config) == before
    assert not trashed.exists()


def test_the_trash_is_private(saved):
    """Conversations hold secrets, so nobody else may look into it."""
    trashed = move_to_trash(saved.path)
    if os.name == "posix":
        assert trashed.stat().st_mode & 0o777 == 0o700


def test_the_same_one_twice_in_a_second(config, saved, monkeypatch):
    """Each has its own folder."""
    first = move_to_trash(saved.path)
    names = {first}
    for _ in range(3):
        saved.save()
        names.add(move_to_trash(saved.path))
    assert len(names) == 4
    assert all((each / saved.path.relative_to(config)).exists() for each in names)
    assert restore(sorted(names)[-1]) == saved.path


def test_a_trash_that_cannot_be_made(config, saved):
    """Nothing was moved, and the error says so."""
    (config / TRASH).write_text("a file")
    before = files_in(config)
    with pytest.raises(UsageError, match=r"cannot be used: .* trash=False"):
        move_to_trash(saved.path)
    assert files_in(config) == before


def test_a_file_that_cannot_be_moved(saved, monkeypatch, caplog):
    """Of the conversation: an error. Of what is beside it: a line in the log."""
    original = shutil.move

    def refuse(name):
        def move(source, target):
            if name in source:
                raise PermissionError("closed")
            return original(source, target)

        monkeypatch.setattr(shutil, "move", move)

    refuse(saved.path.name)
    with pytest.raises(UsageError, match=r"cannot be moved to .*: closed"):
        move_to_trash(saved.path)
    assert saved.path.exists()
    refuse("file-history")
    with caplog.at_level(logging.WARNING, "claude_sync"):
        trashed = move_to_trash(saved.path)
    assert "file-history" in caplog.text
    assert len(files_in(trashed)) == 3


def test_deleted_for_good(config, saved):
    """Nothing of it is left, and no trash."""
    other = conversation(config, cwd="/other")
    delete_for_good(saved.path)
    assert list(files_in(config)) == [other.path.relative_to(config).as_posix()]
    with pytest.raises(SessionNotFound):
        delete_for_good(saved.path)


def test_a_link_is_deleted_and_not_what_it_leads_to(config, saved, tmp_path):
    """Whoever linked a folder keeps it."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "file").touch()
    shutil.rmtree(saved.path.with_suffix(""))
    saved.path.with_suffix("").symlink_to(tmp_path / "elsewhere")
    delete_for_good(saved.path)
    assert (tmp_path / "elsewhere" / "file").exists()
    assert not saved.path.with_suffix("").is_symlink()


def test_what_cannot_be_deleted(config, saved, monkeypatch, caplog):
    """Of the conversation: an error. Of what is beside it: a line in the log."""
    unlink = type(saved.path).unlink

    def refuse(path, *more):
        raise PermissionError("closed")

    monkeypatch.setattr(type(saved.path), "unlink", refuse)
    with pytest.raises(UsageError, match="cannot be deleted: closed"):
        delete_for_good(saved.path)
    monkeypatch.setattr(type(saved.path), "unlink", unlink)
    monkeypatch.setattr(shutil, "rmtree", refuse)
    with caplog.at_level(logging.WARNING, "claude_sync"):
        delete_for_good(saved.path)
    assert not saved.path.exists()
    assert f"{saved.path.with_suffix('')} of a deleted session cannot be deleted" in caplog.text


def test_nothing_is_overwritten(config, saved):
    """If there is such a conversation again, the deleted one stays in the trash."""
    trashed = move_to_trash(saved.path)
    saved.save()
    before = files_in(config)
    with pytest.raises(UsageError, match="exists, so the deleted session cannot come back"):
        restore(trashed)
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
    trashed = move_to_trash(saved.path)
    assert not os.path.lexists(config / "tasks" / saved.session_id)
    assert restore(trashed) == saved.path
    after = everything_in(config)
    assert after.pop(TRASH) == (None, None)
    assert after == before
    assert (outside / "keep").read_text() == "k"


def test_a_session_that_is_a_link_comes_back(config, saved, tmp_path):
    """A relative link leads somewhere only in its own place, and there it is again."""
    real = tmp_path / "real.jsonl"
    shutil.move(saved.path, real)
    saved.path.symlink_to(os.path.relpath(real, saved.folder))
    content = saved.path.read_bytes()
    trashed = move_to_trash(saved.path)
    assert real.exists()
    assert restore(trashed) == saved.path
    assert saved.path.is_symlink() and saved.path.read_bytes() == content


def test_what_failed_halfway_can_be_done_again(config, saved):
    """The conversation itself comes last, so that it is there only with all that belongs to it."""
    before = files_in(config)
    trashed = move_to_trash(saved.path)
    shutil.rmtree(config / "todos")
    (config / "todos").write_text("a file in the way")
    with pytest.raises(UsageError, match=r"cannot be moved to .*restore_session\(\) once more"):
        restore(trashed)
    assert not saved.path.exists()
    (config / "todos").unlink()
    assert restore(trashed) == saved.path
    assert files_in(config) == before
    assert not trashed.exists()


def test_names_like_that_of_the_session_are_no_sessions(config, saved):
    """Only a file of exactly its name, in exactly its place, is the conversation."""
    inner = saved.path.with_suffix("") / "tool-results"
    inner.mkdir()
    for name in (saved.session_id[:2], saved.session_id, "2026"):
        (inner / f"{name}.jsonl").write_text("x")
    before = files_in(config)
    trashed = move_to_trash(saved.path)
    assert restore(trashed) == saved.path
    assert files_in(config) == before


def test_what_is_there_meanwhile_is_added_to(config, saved):
    """A folder that exists again is no obstacle, a file in it is; what is new in it stays."""
    trashed = move_to_trash(saved.path)
    own = saved.path.with_suffix("")
    (own / "subagents").mkdir(parents=True)
    (own / "subagents" / "agent-2.jsonl").write_text("new")
    other = own / "subagents" / "agent-1.jsonl"
    other.symlink_to("nowhere")
    with pytest.raises(UsageError, match=r"agent-1.jsonl exists, .* Nothing was moved"):
        restore(trashed)
    assert len(files_in(trashed)) == 4
    other.unlink()
    restore(trashed)
    assert sorted(os.listdir(own / "subagents")) == ["agent-1.jsonl", "agent-2.jsonl"]
    assert not trashed.exists()


def test_what_was_put_into_the_trash_stays_there(config, saved, tmp_path):
    """What did not come from the CLI's folder is not deleted, nor what a link leads to."""
    trashed = move_to_trash(saved.path)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "keep").write_text("k")
    (trashed / "projects" / "link").symlink_to(tmp_path / "outside")
    (trashed / "my notes.txt").write_text("why I deleted it")
    (trashed / "projects" / "notes.txt").write_text("more")
    assert restore(trashed) == saved.path
    assert (tmp_path / "outside" / "keep").exists()
    assert (trashed / "projects" / "link").is_symlink()
    names = set(files_in(trashed)) - {"projects/link/keep"}  # some versions look through links
    assert names == {"my notes.txt", "projects/notes.txt"}


def test_deleting_a_copy_leaves_what_the_other_needs(config, saved):
    """One id in two folders: they share checkpoints and lists."""
    other = conversation(config, cwd="/other", session_id=saved.session_id)
    shared = config / "file-history" / saved.session_id / "x@v1"
    trashed = move_to_trash(saved.path)
    assert shared.exists() and len(files_in(trashed)) == 2
    restore(trashed)
    delete_for_good(saved.path)
    assert shared.exists()
    delete_for_good(other.path)
    assert not shared.exists()


@pytest.mark.parametrize("kind", ["missing", "other", "empty", "copied", "named"])
def test_what_was_not_deleted_cannot_come_back(config, saved, kind):
    """Only a folder of the trash, with a conversation in it."""
    trashed = move_to_trash(saved.path)
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
        restore(given)
    assert files_in(config) == before
