"""Files for one run that nobody else may read; see test_command.py for their use."""

from __future__ import annotations

import os
import stat

import pytest

from claude_sync import UsageError
from claude_sync.engine.launch.command import PrivateFiles, remove_private_files


@pytest.fixture
def files(monkeypatch, tmp_path):
    """Private files below a folder of the test's."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return PrivateFiles()


def test_no_folder_is_made_before_it_is_needed(files, tmp_path):
    """A run without private values leaves no trace."""
    assert files.paths == []
    assert list(tmp_path.iterdir()) == []


def test_a_text_is_written_as_it_is(files):
    """UTF-8, no line ends changed, nothing added."""
    path = files.write("a.txt", "ä\r\nb\n")
    with open(path, "rb") as file:
        assert file.read() == b"\xc3\xa4\r\nb\n"
    assert files.paths == [path]


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX")
def test_only_the_owner_may_read(files):
    """The file has mode 0600, its folder 0700, whatever the umask."""
    before = os.umask(0)
    try:
        path = files.write("a.txt", "a")
    finally:
        os.umask(before)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode) == 0o700


def test_a_name_is_used_once(files):
    """A file that exists is never written over."""
    files.write("a.txt", "a")
    with pytest.raises(FileExistsError):
        files.write("a.txt", "b")


def test_a_text_that_has_no_bytes_is_told(files):
    """A lone surrogate is a UsageError that names the file, and no file is left."""
    with pytest.raises(UsageError, match=r"a\.txt"):
        files.write("a.txt", "\ud800")
    assert files.paths == []


def test_removal_leaves_nothing(files, tmp_path):
    """Files and folder go; what is gone already is no error."""
    files.write("a.txt", "a")
    os.unlink(files.write("b.txt", "b"))
    remove_private_files(files.paths)
    remove_private_files(files.paths)
    assert list(tmp_path.iterdir()) == []
