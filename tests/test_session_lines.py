"""Lines of saved conversations, whole and damaged."""

from __future__ import annotations

import io
import logging
from datetime import datetime, timedelta, timezone

import pytest
from tables import each

from claude_sync import UsageError, session_lines
from claude_sync.session_lines import (
    last_bytes,
    last_line_of_type,
    opening_lines,
    read_lines,
    time_at,
)


def test_the_beginning_is_read_and_no_more(monkeypatch):
    """A line that was begun is finished, then it is enough."""
    monkeypatch.setattr(session_lines, "OPENING", 21)
    file = io.BytesIO(b'{"a": 1}\n\n[1]\nnoise\n{"b": "xxxxxxxxxxxxxxx"}\n{"c": 3}\n')
    assert list(opening_lines(file)) == [{"a": 1}, {"b": "xxxxxxxxxxxxxxx"}]


def test_a_line_without_end_is_no_danger(monkeypatch):
    """Of a line that is longer than any can be, only so much is read."""
    monkeypatch.setattr(session_lines, "LONGEST_OPENING_LINE", 1000)
    monkeypatch.setattr(session_lines, "OPENING", 3000)
    file = io.BytesIO(b'{"text": "' + b"x" * 100_000)
    assert list(opening_lines(file)) == []
    assert file.tell() == 3000


@pytest.mark.parametrize(("wanted", "found"), [(3, b"def"), (100, b"abcdef")])
def test_the_end_of_a_file(wanted, found):
    """So many bytes, or all."""
    assert last_bytes(io.BytesIO(b"abcdef"), 6, wanted) == found


@each(
    ("data", "found"),
    [
        (b'{"type":"x","n":1}\n{"type":"x","n":2}\n{"type":"y"}\n', 2),
        (b'{"type":"x","n":1}\n{"type":"x","n":2', 1),
        (b'{"type":"x","n":1}\n{"type":"y","of":{"type":"x"}}\n', 1),
        (b'{"type":"x","n":1}\n{"type":"y","text":"say \\"x\\""}\n', 1),
        (b'"n":5,"type":"x"}\n{"type":"x","n":6}', 6),
        (b'{"type": "x", "n": 7}', 7),
        (b'half of it, "x"}\n', None),
        (b"", None),
    ],
)
def test_the_last_line_of_a_type(data, found):
    """The last complete line that has the type itself, not in something inside it."""
    line = last_line_of_type(data, "x")
    assert (line and line["n"]) == found


def test_lines_are_read_in_order_and_damage_is_told(tmp_path, caplog):
    """What is no JSON object is left out, and counted; an unfinished last line is no damage."""
    path = tmp_path / "file"
    path.write_bytes(b'{"a":1}\n\0\xff\n\n[]\n{"a":"\xff"}\r\n{"a":3}\n{"a":')
    with caplog.at_level(logging.WARNING, "claude_sync"):
        assert [line["a"] for line in read_lines(path)] == [1, "�", 3]
    assert [record.getMessage() for record in caplog.records] == [
        f"{path}: 2 damaged lines were left out"
    ]
    caplog.clear()
    path.write_bytes(b'{"a":1}\n{"a":')
    with caplog.at_level(logging.WARNING, "claude_sync"):
        assert list(read_lines(path)) == [{"a": 1}]
    assert not caplog.records


def test_the_last_line_needs_no_end(tmp_path):
    """If it is complete, it counts."""
    path = tmp_path / "file"
    path.write_bytes(b'{"a":1}')
    assert list(read_lines(path)) == [{"a": 1}]


def test_only_lines_that_contain_something(tmp_path):
    """The others are not even decoded."""
    path = tmp_path / "file"
    path.write_bytes(b'{"a":1}\n{"uuid":2}\nbroken\n')
    assert list(read_lines(path, containing=b'"uuid"')) == [{"uuid": 2}]


def test_a_file_that_cannot_be_read_says_why(tmp_path):
    """The error has the path and the reason."""
    with pytest.raises(UsageError, match=r"folder.* cannot be read: .*Check that"):
        list(read_lines(tmp_path / "folder"))


@each(
    ("text", "found"),
    [
        ("2026-03-01T10:00:00.500Z", datetime(2026, 3, 1, 10, 0, 0, 500_000, timezone.utc)),
        ("2026-03-01T10:00:00", datetime(2026, 3, 1, 10, tzinfo=timezone.utc)),
        (
            "2026-03-01T10:00:00+02:00",
            datetime(2026, 3, 1, 10, tzinfo=timezone(timedelta(hours=2))),
        ),
        ("yesterday", None),
        (17, None),
        (None, None),
    ],
)
def test_times_are_aware(text, found):
    """Whatever stands there becomes a time with a zone, or None."""
    assert time_at({"timestamp": text}) == found
