"""What a person gets to see before a tool changes a file."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from preview_inputs import INPUTS, JSON, TEXTS, check_bounds, with_ten_lines

from claude_sync.permissions.preview import MAX_LINES, preview


@pytest.fixture
def folder(tmp_path):
    """A folder with a file of ten lines."""
    return with_ten_lines(tmp_path)


def edit(folder, old, new, name="file.txt", **more):
    """The preview of an Edit."""
    call = {"file_path": str(folder / name), "old_string": old, "new_string": new, **more}
    return preview("Edit", call, str(folder))


def write(folder, content, name="file.txt"):
    """The preview of a Write."""
    return preview("Write", {"file_path": str(folder / name), "content": content}, str(folder))


# Edit and MultiEdit.


def test_an_edit_is_a_diff(folder):
    """With the file's own lines around it, their numbers, and its path in the folder."""
    assert edit(folder, "line 5\nline 6\n", "five\n").split("\n") == [
        "--- a/file.txt",
        "+++ b/file.txt",
        "@@ -2,8 +2,7 @@",
        " line 2",
        " line 3",
        " line 4",
        "-line 5",
        "-line 6",
        "+five",
        " line 7",
        " line 8",
        " line 9",
    ]


def test_a_relative_path_is_found(folder):
    """It is relative to the folder of the session."""
    call = {"file_path": "file.txt", "old_string": "line 10", "new_string": "ten"}
    assert "\n-line 10\n+ten" in preview("Edit", call, str(folder))


def test_a_file_elsewhere_is_shown_with_its_whole_path(folder):
    """No letter before it could make it the path of another file."""
    call = {"file_path": str(folder / "file.txt"), "old_string": "line 10", "new_string": "ten"}
    shown = str(folder / "file.txt").replace("\\", "/")
    assert preview("Edit", call, None).startswith(f"--- {shown}\n+++ {shown}\n")
    assert preview("Edit", call, str(folder / "below")).startswith(f"--- {shown}\n")
    call["file_path"] = os.path.join("..", "file.txt")
    (folder / "below").mkdir()
    assert preview("Edit", call, str(folder / "below")).startswith(f"--- {shown}\n")


def test_all_occurrences_are_replaced(folder):
    """Each is in the diff, in groups."""
    text = edit(folder, "line", "row", replace_all=True)
    assert text.count("\n-line") == text.count("\n+row") == 10
    parts = edit(folder, "line 1", "row 1", replace_all=True)
    assert parts.count("@@ -") == 2


def test_an_old_text_that_occurs_several_times_is_told(folder):
    """The CLI would refuse the edit."""
    text = edit(folder, "line", "row")
    assert text.startswith("# The old text is there 10 times: the edit would fail.")
    assert text.count("\n-line") == 1


def test_an_old_text_that_is_not_there_is_told(folder):
    """The replacement is shown by itself."""
    assert edit(folder, "nothing like it", "x").split("\n") == [
        "# The old text is not in the file: the edit would fail.",
        "--- a/file.txt",
        "+++ b/file.txt",
        "@@",
        "-nothing like it",
        "+x",
    ]


def test_an_edit_of_no_file_is_told(folder):
    """Without an old text it makes the file."""
    assert edit(folder, "a", "b", "new.txt").startswith("# There is no such file.\n--- a/new.txt")
    made = edit(folder, "", "b\n", "new.txt")
    assert made == "new file new.txt\n+b"


def test_an_edit_without_an_old_text_needs_an_empty_file(folder):
    """There it fills the file; elsewhere it fails."""
    (folder / "empty.txt").write_bytes(b"")
    assert edit(folder, "", "b\n", "empty.txt").endswith("@@ -0,0 +1 @@\n+b")
    assert "the edit would fail" in edit(folder, "", "b\n")


def test_an_edit_that_changes_nothing_says_so(folder):
    """There is no diff to show."""
    assert edit(folder, "line 5", "line 5") == "# file.txt: nothing changes."


def test_edits_follow_one_another(folder):
    """Later ones see what earlier ones did; those that fail are shown by themselves."""
    edits = [
        {"old_string": "line 5", "new_string": "five"},
        {"old_string": "five", "new_string": "FIVE"},
        {"old_string": "line 5\n", "new_string": "again"},
    ]
    call = {"file_path": str(folder / "file.txt"), "edits": edits}
    text = preview("MultiEdit", call, str(folder))
    assert "\n-line 5\n+FIVE\n" in text
    assert text.startswith("# edit 3: The old text is not in the file")
    assert text.endswith("@@\n-line 5\n+again")


def test_an_edit_cannot_hide_behind_fields_of_another_tool(folder):
    """Each tool is shown by the fields it looks at."""
    assert "+ten" in edit(folder, "line 10", "ten", edits=[])


def test_a_last_line_without_a_newline_is_told(folder):
    """As diffs do it, for the old and for the new text."""
    (folder / "open.txt").write_bytes(b"one\ntwo")
    assert edit(folder, "two", "2", "open.txt").split("\n")[3:] == [
        " one",
        "-two",
        "\\ No newline at end of file",
        "+2",
        "\\ No newline at end of file",
    ]
    added = write(folder, "one\ntwo\n", "open.txt")
    assert added.endswith("-two\n\\ No newline at end of file\n+two")


def test_crlf_files_are_compared_by_their_lines(folder):
    """What the CLI finds in them is found here too; that they are such is told."""
    (folder / "dos.txt").write_bytes(b"one\r\ntwo\r\nthree\r\n")
    text = edit(folder, "one\ntwo", "1\n2", "dos.txt")
    assert text.startswith("# The file has CRLF line ends.\n---")
    assert text.endswith("\n-one\n-two\n+1\n+2\n three")
    assert "the text stays the same" in write(folder, "one\ntwo\nthree\n", "dos.txt")


def test_bytes_that_are_no_text_do_no_harm(folder):
    """They are shown as replacement characters."""
    (folder / "bytes.txt").write_bytes(b"one\n\xff\xfe\x00two\nthree\n")
    assert "\n-three\n+3" in edit(folder, "three", "3", "bytes.txt")
    (folder / "wide.txt").write_bytes("one\ntwo\n".encode("utf-16"))
    if sys.byteorder == "little":
        assert "\n-two\n+2" in edit(folder, "two", "2", "wide.txt")


# What is no file, or too much of one.


def test_a_folder_is_no_file(folder):
    """It is told, and the new text shown."""
    (folder / "sub").mkdir()
    assert "it is a folder" in write(folder, "x", "sub")
    assert "+b" in edit(folder, "a", "b", "sub")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.timeout(20)
def test_a_pipe_is_not_waited_for(folder):
    """Nobody will ever write to it."""
    os.mkfifo(str(folder / "pipe"))
    assert "it is no regular file" in write(folder, "x", "pipe")
    assert "it is no regular file" in edit(folder, "a", "b", "pipe")


@pytest.mark.parametrize("name", ["a\0b", "\udcff\ud800", "x" * 5000, "a/../" * 1000])
def test_a_name_that_no_file_can_have_is_told(folder, name):
    """It is shown all the same."""
    call = {"file_path": name, "content": "hello", "old_string": "", "new_string": "hello"}
    for tool in ("Write", "Edit"):
        text = preview(tool, call, str(folder))
        assert "+hello" in text
        check_bounds(text)


def test_a_huge_file_is_not_read(folder):
    """It is told how large it is."""
    (folder / "huge.txt").write_bytes(b"line\n" * 300_000)
    assert "it is too large (1,500,000 bytes)" in write(folder, "x", "huge.txt")
    assert "it is too large" in edit(folder, "line", "b", "huge.txt")


@pytest.mark.timeout(60)
def test_a_huge_change_is_cut(folder):
    """What is left out is counted."""
    (folder / "long.txt").write_bytes("".join(f"{n}\n" for n in range(50_000)).encode())
    text = write(folder, "".join(f"new {n}\n" for n in range(100_000)), "long.txt")
    check_bounds(text)
    assert "\n... 149,604 more lines ...\n" in text
    assert len(text.split("\n")) == MAX_LINES
    one = write(folder, "".join(f"{n}\n" for n in range(49_999)), "long.txt")
    assert one.endswith("\n 49998\n-49999")


@pytest.mark.timeout(60)
def test_replacements_do_not_fill_the_memory(folder):
    """A call can ask for terabytes."""
    (folder / "a.txt").write_text("a" * 1_000_000, encoding="utf-8")
    text = edit(folder, "a", "b" * 1_000_000, "a.txt", replace_all=True)
    assert "too much to show" in text
    check_bounds(text)
    edits = [{"old_string": "a", "new_string": "aa" * 5, "replace_all": True}] * 5000
    check_bounds(preview("MultiEdit", {"file_path": "a.txt", "edits": edits}, str(folder)))


# Write.


def test_a_new_file_is_shown_as_added(folder):
    """All of it."""
    assert write(folder, "one\ntwo\n", "new.txt").split("\n") == [
        "new file new.txt",
        "+one",
        "+two",
    ]


def test_a_file_that_stays_the_same_is_told(folder):
    """There is no diff to show."""
    lines = "".join(f"line {number}\n" for number in range(1, 11))
    assert write(folder, lines) == "# file.txt: the text stays the same."


# NotebookEdit.


@pytest.fixture
def notebook(folder):
    """A notebook with two cells, one without an id."""
    cells = [
        {"id": "first", "cell_type": "code", "source": ["a = 1\n", "b = 2"]},
        {"cell_type": "markdown", "source": "# Title"},
    ]
    (folder / "book.ipynb").write_text(json.dumps({"cells": cells}), encoding="utf-8")
    return folder


def edit_cell(folder, name="book.ipynb", **fields):
    """The preview of a NotebookEdit."""
    return preview("NotebookEdit", {"notebook_path": str(folder / name), **fields}, str(folder))


def test_a_cell_is_replaced(notebook):
    """Its source is compared; cells without an id go by their number."""
    assert edit_cell(notebook, cell_id="first", new_source="a = 1\nb = 3").split("\n") == [
        "--- a/book.ipynb (cell first)",
        "+++ b/book.ipynb (cell first)",
        "@@ -1,2 +1,2 @@",
        " a = 1",
        "-b = 2",
        "+b = 3",
    ]
    assert edit_cell(notebook, cell_id="cell-1", new_source="x").endswith("-# Title\n+x")
    same = edit_cell(notebook, cell_id="cell-1", new_source="# Title")
    assert same.endswith("the source stays the same.")


def test_a_cell_is_inserted(notebook):
    """After the one that is named."""
    text = edit_cell(
        notebook, cell_id="first", new_source="x", edit_mode="insert", cell_type="code"
    )
    assert text.split("\n")[1:] == [
        "+++ b/book.ipynb (new code cell after cell first)",
        "@@ -0,0 +1 @@",
        "+x",
    ]
    assert "at the beginning" in edit_cell(notebook, new_source="x", edit_mode="insert")


def test_a_cell_is_deleted(notebook):
    """What goes is shown."""
    deleted = edit_cell(notebook, cell_id="first", edit_mode="delete")
    assert deleted.split("\n")[1:] == [
        "+++ b/book.ipynb (delete cell first)",
        "@@ -1,2 +0,0 @@",
        "-a = 1",
        "-b = 2",
    ]
    assert "(delete cell x)" in edit_cell(notebook, cell_id="x", edit_mode="delete")


def test_a_cell_that_is_not_found_is_told(notebook):
    """The new source is shown by itself."""
    text = edit_cell(notebook, cell_id="third", new_source="x")
    assert text.startswith("# There is no cell third.")
    assert text.endswith("@@\n+x")
    assert "does not say which cell" in edit_cell(notebook, new_source="x")
    assert "no notebook" in edit_cell(notebook, "file.txt", cell_id="a", new_source="x")
    assert "There is no such file" in edit_cell(notebook, "no.ipynb", cell_id="a", new_source="x")
    assert "cannot be read" in edit_cell(notebook, "", cell_id="a", new_source="x")
    assert "(turn cell first)" in edit_cell(
        notebook, cell_id="first", new_source="x", edit_mode="turn"
    )


# Anything.


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.sampled_from(["Edit", "MultiEdit", "Write", "NotebookEdit"]),
    st.binary(max_size=200) | st.builds(lambda value: json.dumps(value).encode(), JSON),
    INPUTS,
    TEXTS,
    TEXTS,
)
def test_any_file_has_a_preview(folder, tool, data, call, old, new):
    """Whatever bytes are in it."""
    path = folder / "any.ipynb"
    path.write_bytes(data)
    call = {"old_string": old, "new_string": new, **call}
    call.update(file_path=str(path), notebook_path=str(path))
    check_bounds(preview(tool, call, str(folder)))


LINES = st.lists(st.sampled_from(["a", "b", "c", ""]), max_size=30)


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40
)
@given(LINES, LINES)
def test_a_diff_can_be_applied(folder, before, after):
    """It is a real one: git makes the new file of the old one with it."""
    old, new = "\n".join(before), "\n".join(after)
    if old == new:
        return
    path = folder / "patched.txt"
    path.write_bytes(old.encode())
    text = preview("Write", {"file_path": str(path), "content": new}, str(folder))
    if not old or not new:
        return  # git wants to be told more about files that come or go
    done = subprocess.run(
        ["git", "apply", "--whitespace=nowarn", "-"],
        input=(text + "\n").encode(),
        cwd=str(folder),
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert path.read_bytes() == new.encode()


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX")
def test_a_link_is_told(tmp_path):
    """What is written is another file than the one that is named."""
    folder = tmp_path / "project"
    folder.mkdir()
    with_ten_lines(folder)
    target = tmp_path / "project.rc"
    target.write_text("old\n")
    (folder / "notes.txt").symlink_to(target)
    (folder / "elsewhere").symlink_to(tmp_path)
    (folder / "itself").symlink_to(folder)
    real = os.path.realpath(target)
    assert write(folder, "new\n", "notes.txt").startswith(
        f"# notes.txt leads through a link to {real}\n--- a/notes.txt\n"
    )
    first = write(folder, "new\n", f"elsewhere/{target.name}").split("\n")[0]
    assert first == f"# elsewhere/{target.name} leads through a link to {real}"
    assert write(folder / "itself", "new\n").startswith("--- a/file.txt\n")


@pytest.mark.skipif(not os.path.exists("/proc/self/cwd"), reason="needs Linux")
@pytest.mark.parametrize(
    "path", ["/proc/self/environ", "/proc/self/cwd/file.txt", "/sys/kernel/notes"]
)
def test_what_the_system_makes_is_not_read(folder, monkeypatch, path):
    """Reading it may do something, and which file it is depends on who reads."""
    monkeypatch.chdir(folder)
    text = preview("Write", {"file_path": path, "content": "x"}, str(folder))
    assert text.startswith("# What is there now cannot be read here: it is not a file on a disk.")


def test_very_many_lines_are_not_compared(folder):
    """A new file of them is cut, and a long one is not taken apart."""
    text = preview("Write", {"file_path": "new", "content": "\n" * 10_000_000}, str(folder))
    assert text.startswith("new file new\n+\n")
    assert "\n... 9,999,602 more lines ...\n" in text
    (folder / "long.txt").write_text("x\n" * 40_000)
    text = write(folder, "x\n" * 40_000 + "y\nz\n", "long.txt")
    assert text.endswith("@@ -39998,3 +39998,5 @@\n x\n x\n x\n+y\n+z")
    assert "# Too long to be compared." in write(folder, "y\n" * 5_000_000, "long.txt")
