"""Links and files of the system are told apart, and no input makes a preview slow."""

from __future__ import annotations

import os

import pytest

from claude_sync.permissions.previews import preview


@pytest.fixture
def folder(tmp_path):
    """A folder with a file."""
    (tmp_path / "project").mkdir()
    (tmp_path / "project/file.txt").write_text("old\n")
    return tmp_path / "project"


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX")
def test_a_link_is_told(folder):
    """What is written is another file than the one that is named."""
    target = folder.parent / f"{folder.name}.rc"
    target.write_text("old\n")
    (folder / "notes.txt").symlink_to(target)
    (folder / "elsewhere").symlink_to(folder.parent)
    real = os.path.realpath(target)
    call = {"file_path": "notes.txt", "content": "new\n"}
    assert preview("Write", call, str(folder)).startswith(
        f"# notes.txt is a link to {real}\n--- a/notes.txt\n"
    )
    call = {"file_path": f"elsewhere/{target.name}", "content": "new\n"}
    first = preview("Write", call, str(folder)).split("\n")[0]
    assert first == f"# elsewhere/{target.name} leads through a link to {real}"
    (folder / "itself").symlink_to(folder)
    call = {"file_path": "file.txt", "content": "new\n"}
    assert preview("Write", call, str(folder / "itself")).startswith("--- a/file.txt\n")


@pytest.mark.skipif(not os.path.exists("/proc/self/cwd"), reason="needs Linux")
def test_what_the_system_makes_is_not_read(folder, monkeypatch):
    """Reading it may do something, and which file it is depends on who reads."""
    monkeypatch.chdir(folder)
    for path in ("/proc/self/environ", "/proc/self/cwd/file.txt", "/sys/kernel/notes"):
        text = preview("Write", {"file_path": path, "content": "x"}, str(folder))
        assert text.startswith("# What is there now cannot be read here: it is no file on a disk.")


def test_edits_of_edits_stay_small(folder):
    """Each may replace what the one before has made."""
    marks = [f"<{number:03}>" for number in range(100)]
    edits = [{"old_string": "", "new_string": "".join(marks) * 1000}]
    edits += [{"old_string": mark, "new_string": "y" * 8000, "replace_all": True} for mark in marks]
    text = preview("MultiEdit", {"file_path": "new", "edits": edits}, str(folder))
    assert "too much to show" in text


def test_very_many_lines_are_counted_and_not_taken_apart(folder):
    """Ten million newlines would become a gigabyte of lines."""
    text = preview("Write", {"file_path": "new", "content": "\n" * 10_000_000}, str(folder))
    assert "@@ -0,0 +1,10000000 @@" in text
    assert len(text.split("\n")) == 400
    (folder / "long.txt").write_text("x\n" * 60_000)
    call = {"file_path": "long.txt", "content": "x\n" * 60_000 + "y\nz\n"}
    lines = preview("Write", call, str(folder)).split("\n")
    assert all(line[0] in "-+ @." for line in lines)
    assert lines[2] == "@@ -49998,10003 +49998,10005 @@"
