"""The line splitter: what is a line, however the bytes arrive."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from claude_sync.protocol.codec import LineSplitter

MARK = b"\xef\xbb\xbf"


def split(*chunks):
    """All lines of *chunks*, the unfinished one included."""
    splitter = LineSplitter()
    lines = [line for chunk in chunks for line in splitter.feed(chunk)]
    return lines + splitter.end()


def test_lines_of_one_chunk_come_at_once():
    """Every line a chunk completes is handed back by the same call."""
    assert LineSplitter().feed(b'{"a":1}\n{"b":2}\n') == [b'{"a":1}', b'{"b":2}']


def test_an_unfinished_line_waits_for_its_end():
    """Half a line is kept until the rest comes."""
    splitter = LineSplitter()
    assert splitter.feed(b'{"a"') == []
    assert splitter.feed(b":1") == []
    assert splitter.feed(b'}\n{"b"') == [b'{"a":1}']
    assert splitter.feed(b":2}\n") == [b'{"b":2}']


def test_an_empty_chunk_is_harmless():
    """An empty read changes nothing."""
    assert split(b"", b'{"a"', b"", b":1}\n", b"") == [b'{"a":1}']


def test_the_last_line_needs_no_line_end():
    """What an exiting CLI leaves unfinished is handed back at the end, once."""
    splitter = LineSplitter()
    splitter.feed(b'{"a":1}\n{"b":2}')
    assert splitter.end() == [b'{"b":2}']
    assert splitter.end() == []


def test_nothing_is_left_after_a_line_end():
    """A stream that ends with a line end has no unfinished line."""
    assert split(b'{"a":1}\n') == [b'{"a":1}']


def test_one_carriage_return_before_the_line_end_is_dropped():
    """Windows line ends are line ends; a second carriage return belongs to the line."""
    assert split(b'{"a":1}\r\n{"b":2}\n{"c":3}\r\r\n') == [b'{"a":1}', b'{"b":2}', b'{"c":3}\r']


def test_a_carriage_return_is_dropped_though_the_line_end_comes_in_the_next_chunk():
    """Where a chunk ends between the two characters, they still are one line end."""
    assert split(b'{"a":1}\r', b'\n{"b":2}\n') == [b'{"a":1}', b'{"b":2}']
    assert split(b'{"a":1}\r', b'\n{"b":2}\r\n') == [b'{"a":1}', b'{"b":2}']


def test_a_carriage_return_at_the_end_of_the_stream_is_dropped():
    """A stream cut in the middle of a Windows line end loses nothing but that."""
    assert split(b'{"a":1}\r') == [b'{"a":1}']


def test_a_carriage_return_inside_a_line_stays():
    """Only the end of a line is trimmed."""
    assert split(b"a\rb\n") == [b"a\rb"]


def test_blank_lines_are_skipped():
    """Empty lines and lines of white space are not lines."""
    assert split(b'\n\n{"a":1}\n \t\r\n\r\n\n{"b":2}\n  ') == [b'{"a":1}', b'{"b":2}']


def test_a_blank_line_in_pieces_is_skipped():
    """White space that arrives in pieces is white space."""
    assert split(b" ", b"\t", b'\n{"a":1}\n') == [b'{"a":1}']


def test_a_line_that_begins_with_white_space_is_kept_whole():
    """Only lines of nothing but white space are skipped."""
    assert split(b'  {"a":1} \n') == [b'  {"a":1} ']


def test_characters_that_end_lines_elsewhere_do_not_here():
    """U+2028, U+2029, U+0085, form feed and vertical tab are part of a line."""
    line = "x\u2028y\u2029z\u0085\x0b\x0c\x1c!".encode()
    assert split(line + b"\n") == [line]


def test_a_byte_order_mark_at_the_start_is_dropped():
    """The mark of a Windows tool is not part of the first line."""
    assert split(MARK + b'{"a":1}\n{"b":2}\n') == [b'{"a":1}', b'{"b":2}']


def test_a_byte_order_mark_in_pieces_is_dropped():
    """The mark is found even if each of its bytes arrives alone."""
    assert split(b"\xef", b"\xbb", b"\xbf", b'{"a":1}\n') == [b'{"a":1}']


def test_a_byte_order_mark_alone_is_a_blank_line():
    """Nothing but a mark is nothing."""
    assert split(MARK + b"\n" + b'{"a":1}\n') == [b'{"a":1}']
    assert split(MARK) == []


def test_a_byte_order_mark_of_an_unfinished_only_line_is_dropped():
    """The mark is dropped even if the first line is also the last."""
    assert split(MARK + b'{"a":1}') == [b'{"a":1}']


def test_a_byte_order_mark_later_on_stays():
    """Only the very start can have a mark."""
    kept = [b'{"a":1}', MARK + b"x"]
    assert split(b'{"a":1}\n' + MARK + b"x\n") == kept
    assert split(b'{"a":1}\n', MARK + b"x\n") == kept
    assert split(b'{"a":1}\n', MARK + b"x") == kept


def test_a_huge_line_arrives_whole():
    """A line of 64 MiB in 64 KiB chunks comes out unchanged, its pieces joined only once."""
    joins = []

    class Counting(LineSplitter):
        def _joined(self):
            joins.append(len(self._pieces))
            return super()._joined()

    chunk = b"x" * 65536
    splitter = Counting()
    for _ in range(1024):
        assert splitter.feed(chunk) == []
    (line,) = splitter.feed(b"y\n")
    assert len(line) == 1024 * 65536 + 1
    assert line.endswith(b"xy")
    assert joins == [1025]


@settings(max_examples=300, deadline=None, database=None)
@given(st.lists(st.text(alphabet='{}"ab \r\t\u2028é', max_size=8)), st.randoms())
@example(["a\r", "", " "], None)
def test_the_chunks_do_not_matter(texts, random):
    """The lines are the same wherever the stream is cut."""
    stream = "\n".join(texts).encode()
    expected = [piece[:-1] if piece.endswith(b"\r") else piece for piece in stream.split(b"\n")]
    expected = [piece for piece in expected if piece.strip()]
    if random is None:
        chunks = [stream[index : index + 1] for index in range(len(stream))]
    else:
        cuts = sorted(random.randint(0, len(stream)) for _ in range(5))
        chunks = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)])]
    assert split(*chunks) == expected
