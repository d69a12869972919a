"""The reading threads: everything in order, exactly one end, whatever happens."""

from __future__ import annotations

import queue
from types import SimpleNamespace

import pytest
from patience import PATIENCE, wait_until

from claude_sync.runtime.inbox import Inbox
from claude_sync.runtime.items import EndOfStream, StderrLine
from claude_sync.runtime.reader import LONGEST_STDERR_LINE, ReaderThread, StderrThread
from claude_sync.runtime.traffic import Traffic


class Source:
    """A transport that gives out portions; an exception among them is raised."""

    def __init__(self, *portions, errors=()):
        self.portions = iter([*portions, b""])
        self.errors = iter([*errors, b""])

    def read(self):
        return self.give(self.portions)

    def read_error(self):
        return self.give(self.errors)

    @staticmethod
    def give(portions):
        portion = next(portions, b"")
        if isinstance(portion, Exception):
            raise portion
        return portion


def connect(source, wanted=True):
    """As much of a connection as the threads need; it notes what they tell it."""
    told = []
    return SimpleNamespace(
        transport=source,
        recorder=None,
        marks=None,
        traffic=Traffic(),
        must_read=lambda: False,
        refuse=lambda message: told.append(("refuse", message)),
        told=told,
        last_activity=0.0,
        paused=None,
        stderr_tail=[],
        route=lambda message: told.append(("route", message)) or ("routed", message["type"]),
        noise=lambda line: told.append(("noise", line)),
        end=lambda error: told.append(("end", error)),
        clear_away=lambda: told.append(("clear_away",)),
        stderr_wanted=lambda: wanted,
        stderr_thread=SimpleNamespace(join=lambda timeout: told.append(("join stderr",))),
    )


def items_of(inbox):
    """Everything in the inbox, as one list."""
    items = []
    while True:
        batch = inbox.take(0)
        if batch is None:
            return items
        items += batch
        batch.clear()


def run_reader(*portions):
    """Read all of it; the connection and what got into the inbox."""
    connection, inbox = connect(Source(*portions)), Inbox()
    connection.deliver = inbox.put
    thread = ReaderThread(connection, inbox, "c")
    thread.start()
    thread.join(PATIENCE)
    assert not thread.is_alive()
    return connection, items_of(inbox)


def test_messages_go_to_the_inbox_in_order():
    """Stream events go in as they are, others as they were routed, the end last."""
    connection, items = run_reader(b'{"type":"a"}\n{"type":"stream_ev', b'ent"}\n{"type":"b"}\n')
    assert items[:-1] == [("routed", "a"), {"type": "stream_event"}, ("routed", "b")]
    assert isinstance(items[-1], EndOfStream)
    assert items[-1].connection is connection
    assert items[-1].error is None


def test_what_is_routed_elsewhere_is_not_in_the_inbox():
    """A reply that went to its waiter leaves nothing."""
    connection, inbox = connect(Source(b'{"type":"control_response"}\n')), Inbox()
    connection.route = lambda message: None
    connection.deliver = inbox.put
    thread = ReaderThread(connection, inbox, "c")
    thread.start()
    thread.join(PATIENCE)
    (end,) = items_of(inbox)
    assert isinstance(end, EndOfStream)


def test_noise_does_not_stop_the_reader():
    """Lines that are no messages are told, and reading goes on."""
    connection, items = run_reader(b"Welcome!\n\n[1]\r\n\xff\xfe\n", b'{"type":"a"}\n')
    noise = [each[1] for each in connection.told if each[0] == "noise"]
    assert noise[0] == b"Welcome!"
    assert b"[1]" in noise
    assert items[0] == ("routed", "a")


def test_a_last_line_without_its_end_counts():
    """What a dying CLI managed to write is read."""
    _, items = run_reader(b'{"type":"a"}')
    assert items[0] == ("routed", "a")


def test_the_end_comes_after_everything_and_in_order():
    """stderr is awaited, then waiters fail, then the end is put, then all is cleared away."""
    connection, _ = run_reader(b"")
    assert [each[0] for each in connection.told] == ["join stderr", "end", "clear_away"]


@pytest.mark.parametrize("portions", [(OSError("gone"),), (b'{"type":"a"}\n', OSError("gone"))])
def test_a_reader_that_fails_tells_why_and_still_ends(portions, caplog):
    """The error of a broken pipe reaches whoever waits; there is exactly one end."""
    connection, items = run_reader(*portions)
    ends = [item for item in items if isinstance(item, EndOfStream)]
    assert len(ends) == 1
    assert items[-1] is ends[0]
    assert str(ends[0].error) == "gone"
    assert ("end", ends[0].error) in connection.told
    assert "reading from the CLI failed" in caplog.text


@pytest.mark.parametrize("line", [b'{"type":"a"}\n', b'{"no":"type"}\n'])
def test_a_message_that_cannot_be_routed_does_not_end_the_stream(caplog, line):
    """A bug in routing costs one message its place in a turn, and nothing else."""
    connection, inbox = connect(Source(line)), Inbox()
    connection.route = lambda message: 1 / 0
    connection.deliver = inbox.put
    thread = ReaderThread(connection, inbox, "c")
    thread.start()
    thread.join(PATIENCE)
    message, end = items_of(inbox)
    assert (message.entry, end.error) == (None, None)
    assert connection.told[0][0] == "refuse"  # if it was a request, somebody waits for an answer
    assert "could not route" in caplog.text


def test_both_threads_are_daemons_with_the_name_of_their_client():
    """A program that forgets to close can still exit, and a debugger shows whose they are."""
    connection, inbox = connect(Source()), Inbox()
    for thread, name in (
        (ReaderThread(connection, inbox, "c"), "c-reader"),
        (StderrThread(connection, inbox, "c"), "c-stderr"),
    ):
        assert (thread.name, thread.daemon) == (name, True)


def test_everything_received_is_recorded():
    """The recorder gets each line, noise included, before it is looked at."""
    connection, inbox = connect(Source(b'{"type":"a"}\nnoise\n')), Inbox()
    recorded = []
    connection.recorder = SimpleNamespace(received=recorded.append)
    connection.deliver = inbox.put
    thread = ReaderThread(connection, inbox, "c")
    thread.start()
    thread.join(PATIENCE)
    assert recorded == [b'{"type":"a"}', b"noise"]


def test_activity_is_noted():
    """Every portion moves the clock of idle_timeout."""
    connection, _ = run_reader(b'{"type":"a"}\n')
    assert connection.last_activity > 0
    assert connection.paused is False


def run_stderr(*portions, wanted=True):
    """Read all of stderr."""
    connection, inbox = connect(Source(errors=portions), wanted), Inbox()
    thread = StderrThread(connection, inbox, "c")
    thread.start()
    thread.join(PATIENCE)
    assert not thread.is_alive()
    return connection, items_of(inbox)


def test_lines_of_stderr_are_kept_and_delivered():
    """Each line is kept for errors and goes to the inbox, where handlers want it."""
    connection, items = run_stderr(b"one\ntw", b"o\nthree")
    assert connection.stderr_tail == ["one", "two", "three"]
    assert [item.text for item in items] == ["one", "two", "three"]
    assert all(isinstance(item, StderrLine) for item in items)


def test_stderr_without_handlers_is_only_kept():
    """Nobody pays for lines that nobody wants."""
    connection, items = run_stderr(b"one\n", wanted=False)
    assert connection.stderr_tail == ["one"]
    assert items == []


def test_a_huge_line_of_stderr_is_cut_for_errors():
    """What is kept stays readable; handlers get the whole line."""
    connection, items = run_stderr(b"x" * 10_000 + b"\n")
    assert connection.stderr_tail == ["x" * LONGEST_STDERR_LINE]
    assert len(items[0].text) == 10_000


def test_broken_utf8_on_stderr_is_replaced():
    """stderr is for people: bytes that are no text do not stop it."""
    connection, _ = run_stderr(b"a\xffb\n")
    assert connection.stderr_tail == ["a�b"]


def test_a_failing_stderr_is_logged(caplog):
    """The thread ends, the session goes on."""
    run_stderr(OSError("gone"))
    assert "stderr failed" in caplog.text


def test_a_full_inbox_makes_the_reader_pause(monkeypatch):
    """While too much waits, nothing more is read, and the pause is visible."""
    monkeypatch.setattr("claude_sync.runtime.inbox.HIGH_WATER", 5)
    portions = queue.Queue()
    connection = connect(SimpleNamespace(read=lambda: portions.get(timeout=PATIENCE)))
    inbox = Inbox()
    connection.deliver = inbox.put
    thread = ReaderThread(connection, inbox, "c")
    thread.start()
    portions.put(b'{"type":"a"}\n')
    portions.put(b'{"type":"b"}\n')
    portions.put(b"")
    wait_until(lambda: connection.paused)
    batch = inbox.take(PATIENCE)
    assert batch == [("routed", "a")]
    batch.clear()
    assert inbox.take(PATIENCE) == [("routed", "b")]
    thread.join(PATIENCE)
    assert not thread.is_alive()


def test_all_of_a_long_line_counts():
    """How much waits is known also of lines that come in many reads."""
    portions = [b'{"type": "x", ', b'"text": "', b"y" * 50, b'"}\n{"ty', b'pe": "z"}\n']
    connection = connect(Source(*portions))
    sizes = []
    connection.deliver = lambda items, size: sizes.append((len(items), size))
    thread = ReaderThread(connection, Inbox(), "test")
    thread.start()
    thread.join(PATIENCE)
    first = sum(map(len, portions[:4]))
    assert sizes == [(1, first), (1, len(portions[4]))]


def test_what_is_received_is_counted():
    """Bytes by the read, lines when they are complete; what is no message counts, too."""
    connection, _ = run_reader(b'{"type":"a"}\nno mes', b'sage\n{"ty', b'pe":"b"}')
    assert (connection.traffic.lines_received, connection.traffic.bytes_received) == (3, 36)
