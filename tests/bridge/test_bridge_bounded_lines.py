"""Lines of a front end: any up to a bound, and none that fills the memory."""

from __future__ import annotations

import pytest

from claude_sync.bridge.bounded_lines import LONGEST_LINE, BoundedLines


def read_in(chunks, longest=10):
    """What comes of chunks."""
    lines = BoundedLines(longest)
    read = [line for chunk in chunks for line in lines.feed(chunk)]
    return read + lines.end()


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_lines_are_what_they_are_however_they_come(size):
    """Short lines, blank ones, and one without an end."""
    data = b"one\r\n\n  \ntwo\n\xe2\x80\xa8\nthree"
    chunks = [data[start : start + size] for start in range(0, len(data), size)]
    assert read_in(chunks) == [b"one", b"two", b"\xe2\x80\xa8", b"three"]


@pytest.mark.parametrize("size", [1, 3, 7])
def test_a_line_that_is_too_long_is_dropped_up_to_its_end(size):
    """It is told once; what comes before and after it is read."""
    data = b"before\n" + b"x" * 50 + b"\nafter\n"
    chunks = [data[start : start + size] for start in range(0, len(data), size)]
    assert read_in(chunks) == [b"before", None, b"after"]


def test_a_line_that_never_ends_is_not_kept():
    """However long it goes on, no more than the bound and a chunk is in memory."""
    lines = BoundedLines(10)
    told = [line for _ in range(1000) for line in lines.feed(b"x" * 8)]
    assert told == [None]
    assert sum(map(len, lines._splitter._pieces)) == 0
    assert lines.end() == []
    assert lines.feed(b"\nnext\n") == [b"next"]


def test_the_bound_is_for_one_line_and_not_for_all():
    """Many short ones are no long one; of pieces, the last line's count."""
    assert read_in([b"12345678\n12345678\n", b"1234", b"5678\n1234567", b"89\n"]) == [
        *(b"12345678", b"12345678", b"12345678", b"123456789"),
    ]


def test_an_attachment_fits():
    """64 MiB are far from the bound."""
    assert LONGEST_LINE >= 2 * 64 * 1024 * 1024
