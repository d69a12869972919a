"""Calls that wait for the next frame of a window."""

import threading

import pytest
from patience import PATIENCE, is_held_up, wait_until

from claude_sync import Text
from claude_sync.gui import frames as frames_module
from claude_sync.gui.frames import CALLS_AT_ONCE, TEXT_AT_ONCE, TEXT_PER_FRAME, Frames
from claude_sync.messages.stream_text import Block

HANDLERS = (print,)


@pytest.fixture
def frames():
    """The calls of a window that looks for them by itself."""
    return Frames()


@pytest.fixture(autouse=True)
def _long_frames(monkeypatch):
    """However slow this machine is, a frame is long enough for what a test puts into it."""
    monkeypatch.setattr(frames_module, "FRAME_WORK", PATIENCE)


def block():
    """One that grows."""
    return Block(Text, "message", None, None)


def add(frames, piece, heard, handlers=HANDLERS, turn=None):
    """What the dispatcher does with a piece of text."""
    if not frames.grow(piece, handlers, turn):
        frames.begin(piece, handlers, turn, heard.append)


def test_calls_are_made_in_the_next_frame_in_order(frames):
    """On the thread that runs it, which is known from then on."""
    made = []
    for number in range(5):
        frames(lambda number=number: made.append(number))
    assert (made, frames.has_run_here()) == ([], False)
    assert frames.run() is False
    assert made == [0, 1, 2, 3, 4]
    assert frames.has_run_here()


def test_what_comes_during_a_frame_is_for_the_next_one(frames):
    """A handler that causes calls does not keep the window from drawing."""
    made = []

    def again():
        made.append(len(made))
        frames(again)

    frames(again)
    assert frames.run() is True
    assert made == [0]
    assert frames.run() is True
    assert made == [0, 1]


def test_a_frame_has_an_end(frames, monkeypatch):
    """What does not fit into it waits for the next one."""
    monkeypatch.setattr(frames_module, "FRAME_WORK", 0)
    made = []
    frames(lambda: made.append(1))
    frames(lambda: made.append(2))
    assert (frames.run(), made) == (True, [1])
    assert (frames.run(), made) == (False, [1, 2])
    assert frames.run() is False


def test_text_of_a_frame_is_one_piece(frames):
    """With the snapshot of its end."""
    growing, heard = block(), []
    for text in ("Hel", "lo", " you"):
        add(frames, growing.grow(text), heard)
    frames.run()
    assert heard == ["Hello you"]
    add(frames, growing.grow("!"), heard)
    frames.run()
    assert heard == ["Hello you", "!"]
    assert [piece.snapshot for piece in heard] == ["Hello you", "Hello you!"]
    assert {type(piece) for piece in heard} == {Text}
    assert heard[0].message_id == "message"


def test_a_single_piece_is_handed_on_as_it_is(frames):
    """Nothing is made anew."""
    piece, heard = block().grow("Hello"), []
    add(frames, piece, heard)
    frames.run()
    assert heard[0] is piece


@pytest.mark.parametrize("other", ["block", "handlers", "turn", "a call between"])
def test_only_text_that_belongs_together_is_merged(frames, other):
    """Another block, other handlers, another turn, or anything between: a call of its own."""
    growing, heard, made = block(), [], []
    add(frames, growing.grow("a"), heard)
    if other == "a call between":
        frames(lambda: made.append(list(heard)))
    second = block() if other == "block" else growing
    handlers = (repr,) if other == "handlers" else HANDLERS
    add(frames, second.grow("b"), heard, handlers, "turn" if other == "turn" else None)
    frames.run()
    assert heard == ["a", "b"]
    assert made == ([["a"]] if other == "a call between" else [])


@pytest.mark.parametrize("length", [7, 1000, TEXT_PER_FRAME, 3 * TEXT_PER_FRAME + 1])
def test_a_frame_brings_as_much_text_as_it_can_draw(frames, length):
    """However the text came; the rest is first in the next frame, each with its own snapshot."""
    growing, heard = block(), []
    letters = "".join(map(chr, range(97, 123)))
    text = (letters * (5 * TEXT_PER_FRAME // 26))[: 5 * TEXT_PER_FRAME - 3]
    add(frames, growing.grow("begin "), heard)
    for start in range(0, len(text), length):
        add(frames, growing.grow(text[start : start + length]), heard)
    frames(lambda: heard.append("end"))
    while frames.run():
        assert len(heard[-1]) <= TEXT_PER_FRAME
    *pieces, end = heard
    assert end == "end"
    assert 5 <= len(pieces) <= 12
    so_far = ""
    for piece in pieces:
        so_far += piece
        assert piece.snapshot == so_far
    assert so_far == "begin " + text
    assert frames._text == 0


def test_the_rest_of_long_text_comes_before_what_is_behind_it(frames):
    """Also when the handler runs frames itself."""
    growing, heard = block(), []

    def draw(text):
        heard.append(text)
        frames.run()

    frames.begin(growing.grow("x" * TEXT_PER_FRAME + "y"), HANDLERS, None, draw)
    frames(lambda: heard.append("end"))
    frames.run()
    assert [text[-3:] for text in heard] == ["xxx", "y", "end"]


@pytest.mark.parametrize("what", ["calls", "text"])
@pytest.mark.parametrize("way", ["run", "release", "stop"])
def test_so_much_may_wait_and_no_more(frames, what, way):
    """Then whoever posts waits, until a frame was run or nobody waits any more."""
    growing, heard, made = block(), [], []
    if what == "calls":
        for _ in range(CALLS_AT_ONCE):
            frames(lambda: made.append(1))
    else:
        add(frames, growing.grow("x" * TEXT_AT_ONCE), heard)
    added = threading.Event()

    def one_more():
        add(frames, growing.grow("y"), heard)
        added.set()

    thread = threading.Thread(target=one_more)
    thread.start()
    wait_until(lambda: is_held_up(thread))
    assert not added.is_set()
    getattr(frames, way)()
    assert added.wait(PATIENCE)
    thread.join(PATIENCE)
    while frames.run():
        pass
    if way == "stop":
        assert heard == made == []
    else:
        assert "".join(heard).endswith("y")
        assert len(made) == (CALLS_AT_ONCE if what == "calls" else 0)


def test_text_that_was_taken_makes_room(frames):
    """Each call gives back what it took, however the pieces were merged."""
    heard = []
    for _ in range(3):
        for _ in range(2):
            growing = block()
            for _ in range(4):
                add(frames, growing.grow("x" * (TEXT_AT_ONCE // 16)), heard)
        while frames.run():
            pass
    assert sum(map(len, heard)) == 24 * (TEXT_AT_ONCE // 16)
    assert frames._text == 0


def test_a_window_that_is_gone(frames):
    """Calls are dropped; what others wait for happens, at once and in order. Twice is harmless."""
    made, heard = [], []
    frames(lambda: made.append("dropped"))
    frames(lambda: made.append("call"), lambda: made.append("first"))
    frames(lambda: made.append("call"), lambda: made.append("second"))
    add(frames, block().grow("text"), heard)
    frames.stop()
    assert made == ["first", "second"]
    frames.stop()
    frames(lambda: made.append("dropped"))
    frames(lambda: made.append("call"), lambda: made.append("later"))
    add(frames, block().grow("text"), heard)
    assert frames.run() is False
    assert (made, heard) == (["first", "second", "later"], [])


def test_a_call_may_run_frames_itself(frames):
    """A modal dialog does: what comes after it is delivered meanwhile, and once."""
    made = []

    def dialog():
        made.append("open")
        while frames.run():
            pass
        made.append("closed")

    frames(dialog)
    frames(lambda: made.append("text"))
    frames.run()
    assert made == ["open", "text", "closed"]


def test_a_call_may_have_others_made_next(frames):
    """In this frame, and before what waits, even if it runs frames itself."""
    made = []

    def first():
        frames.go_on_with([lambda: made.append("second"), lambda: made.append("third")])
        while frames.run():
            pass
        made.append("first")

    def plain():
        frames.go_on_with([lambda: made.append("after")])
        made.append("plain")

    frames(first)
    frames(plain)
    frames(lambda: made.append("last"))
    assert frames.run() is False
    assert made == ["second", "third", "plain", "after", "last", "first"]
    frames(plain)
    assert frames.run() is False
    assert made[6:] == ["plain", "after"]


def test_a_window_that_is_gone_makes_no_next_calls(frames):
    """It went in the call itself, before it knew what comes next."""
    made = []

    def last():
        frames.stop()
        frames.go_on_with([lambda: made.append("next")])

    frames(last)
    assert frames.run() is False
    assert made == []


def test_what_ends_programs_leaves_the_rest_for_the_next_frame(frames):
    """It goes through."""
    made = []

    def leave():
        raise KeyboardInterrupt

    frames(leave)
    frames(lambda: made.append("call"))
    with pytest.raises(KeyboardInterrupt):
        frames.run()
    frames.run()
    assert made == ["call"]


def test_a_window_may_go_in_one_of_its_calls(frames):
    """A handler that destroys it: the calls after it are not made."""
    made = []
    frames(frames.stop)
    frames(lambda: made.append("call"), lambda: made.append("instead"))
    frames.run()
    assert made == ["instead"]


def test_nothing_is_lost_between_two_threads(frames):
    """One adds text and calls while the other runs frames."""
    heard, ended = [], threading.Event()

    def talk():
        for number in range(200):
            growing = block()
            for part in range(50):
                add(frames, growing.grow(f"{number}.{part} "), heard)
            frames(lambda number=number: heard.append(f"end{number} "))
        ended.set()

    thread = threading.Thread(target=talk)
    thread.start()
    while not ended.is_set() or frames.run():
        frames.run()
    frames.run()
    thread.join(PATIENCE)
    expected = "".join(
        "".join(f"{number}.{part} " for part in range(50)) + f"end{number} "
        for number in range(200)
    )
    assert "".join(heard) == expected
