"""Reading what is attached: whatever it is, it ends, and an error says what to do."""

from __future__ import annotations

import contextlib
import io
import os
import socket
import sys
import tempfile
import threading
import zipfile
from pathlib import Path

import pytest
from image_samples import PNG
from PIL import Image as Pillow

from claude_sync import attachment_sources
from claude_sync.attachment_sources import attachment_of, sendable
from claude_sync.blocks import DocumentBlock, ToolResult
from claude_sync.errors import UsageError
from claude_sync.images import Image


def read(source):
    """Its content and its name."""
    return attachment_of(source, "attachment 1")[:2]


def refusal(source):
    """The text of the error."""
    with pytest.raises(UsageError) as caught:
        attachment_of(source, "attachment 1")
    return str(caught.value)


# Things without a name.


@pytest.mark.parametrize("wrap", [bytes, bytearray, memoryview])
def test_bytes_are_read(wrap):
    """Whatever holds them."""
    assert read(wrap(b"abc")) == (b"abc", None)


def test_images_are_read():
    """Ours, and those of Pillow."""
    assert read(Image(PNG)) == (PNG, None)
    content, name = read(Pillow.new("RGB", (3, 2)))
    assert (content[:4], name) == (b"\x89PNG", None)


def test_documents_that_came_are_read():
    """The PDF that a tool has read can be asked about again."""
    assert read(DocumentBlock("application/pdf", "JVBERi0=", title="Plan")) == (b"%PDF-", "Plan")
    assert read(DocumentBlock("text/plain", text="notes")) == ("notes", None)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (3, "cannot attach int. Pass the path of a file"),
        (None, "cannot attach NoneType"),
        (["a.png"], "cannot attach list"),
        (ToolResult("t", "out"), "attach=[*result.images]"),
    ],
    ids=repr,
)
def test_other_things_are_refused(source, words):
    """The error says what can be attached."""
    assert words in refusal(source)


# Paths.


class BytesPath:
    """A path whose system form is bytes."""

    def __init__(self, path):
        self._path = path

    def __fspath__(self):
        return os.fsencode(self._path)


@pytest.mark.parametrize("as_given", [str, Path, BytesPath])
def test_a_file_is_read_by_its_path(tmp_path, as_given):
    """With its name, without its folders."""
    path = tmp_path / "notes.txt"
    path.write_bytes(b"abc")
    assert read(as_given(path)) == (b"abc", "notes.txt")


def test_a_path_may_begin_at_home(tmp_path, monkeypatch):
    """~ is the home folder, unless there is a file of that name."""
    home, here = tmp_path / "home", tmp_path / "here"
    home.mkdir()
    (here / "~").mkdir(parents=True)
    (home / "notes.txt").write_bytes(b"at home")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    monkeypatch.chdir(here)
    assert read("~/notes.txt") == read(Path("~", "notes.txt")) == (b"at home", "notes.txt")
    (here / "~" / "notes.txt").write_bytes(b"here")
    assert read("~/notes.txt") == (b"here", "notes.txt")


@pytest.mark.skipif(sys.platform != "linux", reason="only there a name may be any bytes")
def test_a_name_that_is_no_text_can_be_sent(tmp_path):
    """The bytes that are no letters are replaced."""
    path = os.path.join(os.fsencode(tmp_path), b"caf\xe9.txt")
    with open(path, "wb") as file:
        file.write(b"abc")
    assert read(os.fsdecode(path)) == (b"abc", "caf?.txt")
    assert sendable("caf\udce9é") == "caf?é"


def test_a_missing_file_is_told_by_its_path(tmp_path):
    """With the reason, and where relative paths begin."""
    text = refusal(tmp_path / "gone.png")
    assert "gone.png" in text and "No such file" in text and "not at cwd=" in text
    with pytest.raises(UsageError) as caught:
        attachment_of("gone.png", "it")
    assert isinstance(caught.value.__cause__, FileNotFoundError)


def test_a_folder_is_told(tmp_path):
    """And how Claude may look into it."""
    text = refusal(tmp_path)
    assert "is a folder" in text and "add_dirs" in text


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_is_not_waited_for(tmp_path):
    """Nobody may ever write into it."""
    os.mkfifo(tmp_path / "pipe")
    assert "is a pipe or a device" in refusal(tmp_path / "pipe")


@pytest.mark.skipif(sys.platform == "win32", reason="no such device")
def test_a_device_is_not_read():
    """It has no end."""
    assert "is a pipe or a device" in refusal("/dev/zero")


def test_a_file_that_may_not_be_read_is_told(tmp_path, monkeypatch):
    """The system's reason is in the text."""
    path = tmp_path / "secret.txt"
    path.write_bytes(b"abc")

    def refuse(*arguments):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(attachment_sources, "open", refuse, raising=False)
    text = refusal(path)
    assert "secret.txt" in text and "Permission denied" in text and "whether you may" in text


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("https://example.org/a.png", "It is an address, not a file: download it"),
        ("data:image/png;base64,AAAA", "base64.b64decode"),
        ("first line\nsecond line", "attach a text itself as text.encode()"),
        ("word " * 10_000, "attach a text itself as text.encode()"),
        ("a\0b", "null"),
        ("", "No such file"),
    ],
)
def test_a_text_that_is_no_path_is_told(path, words):
    """What it seems to be, and briefly."""
    text = refusal(path)
    assert words in text
    assert len(text) < 500


def test_a_file_that_is_much_too_large_is_not_read(tmp_path):
    """Its size is enough."""
    path = tmp_path / "large"
    with open(path, "wb") as file:
        file.truncate(10**9)
    assert "has 1000 MB, which is more than can be sent" in refusal(path)


# Open files.


def test_an_open_file_gives_its_content_and_name(tmp_path):
    """Opened in whatever way."""
    path = tmp_path / "notes.txt"
    path.write_text("zwölf", encoding="latin-1")
    with open(path, "rb") as binary, open(path, encoding="latin-1") as text:
        assert read(binary) == (b"zw\xf6lf", "notes.txt")
        assert read(text) == ("zwölf", "notes.txt")
    with open(path, "rb", buffering=0) as raw:
        assert read(raw) == (b"zw\xf6lf", "notes.txt")


def test_files_in_memory_have_no_name():
    """Bytes or text."""
    assert read(io.BytesIO(b"abc")) == (b"abc", None)
    assert read(io.StringIO("abc")) == ("abc", None)


def test_what_is_left_in_a_file_is_read():
    """Somebody may have read its first line for a reason."""
    file = io.BytesIO(b"header\nthe rest")
    file.readline()
    assert read(file) == (b"the rest", None)


def test_a_file_at_its_end_is_told():
    """Written just now, and not gone back in: that is never meant."""
    file = io.BytesIO()
    file.write(PNG)
    assert "file.seek(0)" in refusal(file)
    assert read(io.BytesIO()) == (b"", None)


class Trickle(io.RawIOBase):
    """A file that gives little at a time and cannot be asked where it is."""

    def __init__(self, *pieces):
        self._pieces = list(pieces)

    def readable(self):
        return True

    def read(self, size=-1):
        return self._pieces.pop(0) if self._pieces else b""

    def tell(self):
        raise OSError("not here")


def test_a_file_that_gives_little_at_a_time_is_read_to_its_end():
    """As pipes and sockets do."""
    assert read(Trickle(b"a", b"b", b"c")) == (b"abc", None)
    assert read(Trickle()) == (b"", None)
    assert read(Trickle(b"a", None)) == (b"a", None)


def test_a_pipe_that_is_open_is_read():
    """The program opened it, so it wants to wait for it."""
    reader, writer = os.pipe()

    def write():
        with open(writer, "wb") as file:
            file.write(b"abc")

    thread = threading.Thread(target=write)
    with open(reader, "rb") as file:
        thread.start()
        assert read(file) == (b"abc", None)
    thread.join()


def test_a_file_without_an_end_is_given_up(monkeypatch):
    """Where it is more than can be sent."""
    monkeypatch.setattr(attachment_sources, "MOST_READ", 10)
    assert len(read(Trickle(*[b"abc"] * 100))[0]) == 12


def test_a_file_that_cannot_be_read_is_told(tmp_path):
    """Closed, or open for writing only."""
    path = tmp_path / "notes.txt"
    with open(path, "wb") as writing:
        assert "cannot read 'notes.txt': it is open for writing only" in refusal(writing)
    path.write_bytes(b"abc")
    with open(path, "rb") as reading:
        pass
    assert "closed file. Open it for reading" in refusal(reading)


def test_an_image_that_is_open_as_a_text_is_told(tmp_path):
    """The b was forgotten."""
    path = tmp_path / "picture.png"
    path.write_bytes(PNG)
    with open(path, encoding="utf-8") as file:
        assert "Open it with 'rb'" in refusal(file)


def test_what_only_looks_like_a_file_is_told():
    """Its read() gives something else."""

    class Odd:
        def read(self, size):
            return [1, 2]

    assert "cannot attach Odd: its read() gives no bytes" in refusal(Odd())


class Failing:
    """Its read() fails like programs do."""

    name = "feed"

    def read(self, size=-1):
        raise RuntimeError("no connection " + "x" * 5000)


class Mixed:
    """Bytes first, text later."""

    def __init__(self):
        self.pieces = [b"a", "b", b""]

    def read(self, size=-1):
        return self.pieces.pop(0)


class Whole:
    """It can only be read as a whole."""

    def read(self):
        return b"hello"


class Place:
    """Like a path inside of something, which cannot be opened."""

    name = "inner.txt"

    def read_bytes(self):
        return b""

    def __init__(self, file=None):
        self.file = file

    def open(self, mode):
        if self.file is None:
            raise RuntimeError("the archive is locked")
        return contextlib.nullcontext(self.file)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (Failing(), "cannot read 'feed': RuntimeError: no connection"),
        (Mixed(), "its read() gives bytes and str"),
        (Whole(), "cannot read attachment 1: TypeError"),
        (Place(), "RuntimeError: the archive is locked"),
        (Place(Mixed()), "cannot attach Mixed: its read() gives bytes and str"),
        (Place(Whole()), "TypeError"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_file_that_fails_in_its_own_way_is_told(source, words):
    """Briefly, and with what to do."""
    with pytest.raises(UsageError) as caught:
        attachment_of(source, "attachment 1")
    text = str(caught.value)
    assert words in text and "attach the bytes" in text
    assert len(text) < 500


class Upload(io.BytesIO):
    """As frameworks for the web have them."""

    filename = "C:/photos/cat.png"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("/tmp/notes.txt", "notes.txt"),
        (b"/tmp/notes.txt", "notes.txt"),
        ("<stdin>", None),
        ("", None),
        (7, None),
        (None, None),
    ],
)
def test_the_name_of_a_file_may_be_anything(name, shown):
    """What is no name is none."""
    file = io.BytesIO(b"abc")
    file.name = name
    assert read(file) == (b"abc", shown)


def test_uploads_and_temporary_files_are_files():
    """They have the methods, if not the class."""
    assert read(Upload(b"abc")) == (b"abc", "cat.png")
    with tempfile.NamedTemporaryFile() as file, tempfile.SpooledTemporaryFile() as spooled:
        for each in (file, spooled):
            each.write(b"abc")
            each.seek(0)
        assert read(file) == (b"abc", os.path.basename(file.name))
        assert read(spooled) == (b"abc", None)


def test_a_socket_is_a_file_if_it_is_made_one():
    """Its other end closes, and that is the end."""
    ours, theirs = socket.socketpair()
    with ours, theirs, ours.makefile("rb") as file:
        theirs.sendall(b"abc")
        theirs.shutdown(socket.SHUT_WR)
        assert read(file)[0] == b"abc"


def test_a_file_inside_an_archive_is_read(tmp_path):
    """By what looks like a path, or by what is open."""
    archive = tmp_path / "all.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("inner/notes.txt", "abc")
    inside = zipfile.Path(archive)
    assert read(inside / "inner" / "notes.txt") == (b"abc", "notes.txt")
    assert "Check its path" in refusal(inside / "inner" / "gone.txt")
    with zipfile.ZipFile(archive) as file, file.open("inner/notes.txt") as inner:
        assert read(inner) == (b"abc", "notes.txt")
