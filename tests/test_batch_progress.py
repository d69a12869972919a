"""What is shown of a batch on its way, and where nothing is."""

from __future__ import annotations

import io
import sys
import threading
import types

import pytest
from batch_executors import InlineExecutor, needed

import claude_sync
from claude_sync.batches import progress
from claude_sync.batches.progress import BarProgress, LineProgress, Progress, line_of, progress_for


class Terminal(io.StringIO):
    """A stream that somebody looks at."""

    def isatty(self):
        return True


@pytest.fixture
def without_tqdm(monkeypatch):
    """As if it were not installed."""
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setitem(sys.modules, "tqdm.notebook", None)


def run(stream, monkeypatch, count=3):
    """A batch that is shown on *stream*."""
    monkeypatch.setattr(sys, "stderr", stream)
    executor = InlineExecutor()
    batch = claude_sync.map(["a", " ", "c"][:count], executor=executor, progress=True)
    return batch.results()


def test_nothing_on_a_pipe(monkeypatch):
    """Neither with tqdm nor without."""
    stream = io.StringIO()
    run(stream, monkeypatch)
    monkeypatch.setitem(sys.modules, "tqdm", None)
    run(stream, monkeypatch)
    assert stream.getvalue() == ""
    assert type(progress_for(stream)) is Progress


def test_a_terminal_that_goes_away_ends_no_batch(without_tqdm, monkeypatch, caplog):
    """The window is closed, and what is paid for goes on."""

    class Gone(Terminal):
        def write(self, text):
            raise OSError(5, "Input/output error")

    assert [item.ok for item in run(Gone(), monkeypatch)] == [True, False, True]
    assert caplog.text.count("progress display failed") == 1


def test_one_line_on_a_terminal(without_tqdm, monkeypatch):
    """It is written over, and ends with the whole."""
    monkeypatch.setattr(progress, "REFRESH", 0.0)
    stream = Terminal()
    assert len(run(stream, monkeypatch)) == 3
    lines = stream.getvalue().split("\r")
    assert lines[0] == ""
    assert len(lines) == 1 + 3 + 1
    assert lines[-1].startswith("3/3, 1 failed, 0.0000 USD, ")
    assert lines[-1].endswith("\n")


def test_the_line_is_not_written_more_often_than_it_is_read(without_tqdm, monkeypatch):
    """Once, and at the end."""
    monkeypatch.setattr(progress, "REFRESH", 3600.0)
    stream = Terminal()
    monkeypatch.setattr(progress.time, "monotonic", lambda: 7200.0)
    run(stream, monkeypatch)
    assert stream.getvalue().count("\r") == 2


def test_what_the_line_says():
    """Done, failed, cost, rate, and the time left where that can be known."""
    assert line_of(50, 200, 1, 0.5, 10.0) == "50/200, 1 failed, 0.5000 USD, 5.0/s, 0:30 left"
    assert line_of(50, None, 0, 0.5, 10.0) == "50, 0 failed, 0.5000 USD, 5.0/s"
    assert line_of(1, 36001, 0, 0.0, 1.0).endswith("10:00:00 left")
    assert line_of(0, 5, 0, 0.0, 0.0) == "0/5, 0 failed, 0.0000 USD, 0.0/s"


class Bar:
    """As much of tqdm as is used."""

    made = None

    def __init__(self, **settings):
        Bar.made = self
        self.settings, self.updates, self.said, self.closed = settings, 0, "", False

    def update(self, count):
        self.updates += count

    def set_postfix_str(self, text, refresh):
        self.said = text

    def close(self):
        self.closed = True


def test_a_bar_of_tqdm(monkeypatch):
    """With how many there are, what failed and what it cost."""
    monkeypatch.setitem(sys.modules, "tqdm", types.SimpleNamespace(tqdm=Bar))
    stream = Terminal()
    run(stream, monkeypatch)
    bar = Bar.made
    assert bar.settings == {"file": stream, "total": 3, "unit": "prompt"}
    assert (bar.updates, bar.said, bar.closed) == (3, "1 failed, 0.0000 USD", True)


def test_the_real_tqdm(monkeypatch):
    """What is called exists."""
    tqdm = needed("tqdm")
    monkeypatch.setattr(tqdm.tqdm, "monitor_interval", 0)  # a thread of its own otherwise
    # A lock of multiprocessing's brings a process of its own.
    monkeypatch.setattr(tqdm.tqdm, "_lock", threading.RLock(), raising=False)
    stream = Terminal()
    run(stream, monkeypatch)
    assert "3/3" in stream.getvalue()
    assert "1 failed" in stream.getvalue()


def test_a_bar_of_the_notebook(monkeypatch):
    """In a notebook nobody sees a terminal."""

    class ZMQInteractiveShell:
        pass

    shell = types.SimpleNamespace(get_ipython=ZMQInteractiveShell)
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setitem(sys.modules, "tqdm.notebook", types.SimpleNamespace(tqdm=Bar))
    shown = progress_for(io.StringIO())
    assert isinstance(shown, BarProgress)
    monkeypatch.setitem(sys.modules, "tqdm.notebook", None)
    assert type(progress_for(io.StringIO())) is Progress
    shell.get_ipython = lambda: None
    assert isinstance(progress_for(Terminal()), (BarProgress, LineProgress))


def test_an_end_without_a_beginning(without_tqdm):
    """A batch that fails before it begins closes what it has."""
    for shown in (Progress(), BarProgress(Bar), LineProgress(Terminal())):
        shown.end()
