"""What is shown of a batch on its way, what it sums up to, and where nothing is shown."""

from __future__ import annotations

import io
import sys
import types

import pytest
from batch_executors import InlineExecutor, answered, needed

import claude_sync
from claude_sync import Item
from claude_sync.batch.progress import Summary, line_of, progress_for


class Terminal(io.StringIO):
    """A stream that somebody looks at."""

    def isatty(self):
        return True


@pytest.fixture
def without_tqdm(monkeypatch):
    """As if it were not installed."""
    monkeypatch.setitem(sys.modules, "tqdm", None)


def run(stream, monkeypatch):
    """A batch that is shown on *stream*."""
    monkeypatch.setattr(sys, "stderr", stream)
    executor = InlineExecutor(lambda task: answered(task, 0.5))
    return claude_sync.map(["a", " ", "c"], executor=executor, progress=True).results()


def test_nothing_on_a_pipe(monkeypatch):
    """Nobody looks."""
    stream = io.StringIO()
    run(stream, monkeypatch)
    assert stream.getvalue() == ""
    assert progress_for(stream) is None


def test_a_terminal_that_goes_away_ends_no_batch(without_tqdm, monkeypatch, caplog):
    """The window is closed, and what is paid for goes on."""

    class Gone(Terminal):
        def write(self, text):
            raise OSError(5, "Input/output error")

    assert [item.ok for item in run(Gone(), monkeypatch)] == [True, False, True]
    assert caplog.text.count("progress display failed") == 1


def test_one_line_on_a_terminal(without_tqdm, monkeypatch):
    """Written over, and ended; with the last state, however fast it came."""
    stream = Terminal()
    run(stream, monkeypatch)
    *_, last = stream.getvalue().split("\r")
    assert last.startswith("3/3, 1 failed, 1.0000 USD, ")
    assert stream.getvalue().count("\n") == 1


@pytest.fixture(scope="module")
def tqdm():
    """With its lock, for which Python 3.14 starts a process that stays."""
    tqdm = needed("tqdm")
    tqdm.tqdm.get_lock()
    return tqdm


def test_a_bar_where_tqdm_is_installed(monkeypatch, tqdm):
    """With what failed and what it has cost."""
    monkeypatch.setattr(tqdm.tqdm, "monitor_interval", 0)  # a thread that stays
    stream = Terminal()
    run(stream, monkeypatch)
    assert "3/3" in stream.getvalue()
    assert "1 failed, 1.0000 USD" in stream.getvalue()


def test_a_table_in_a_notebook(monkeypatch):
    """It fills: one display, written over."""
    shown = []

    class Handle:
        def update(self, summary):
            shown.append(summary._repr_html_())

    def display(summary, display_id):
        shown.append(summary._repr_html_())
        return Handle()

    shell = type("ZMQInteractiveShell", (), {})()
    ipython = types.ModuleType("IPython")
    ipython.get_ipython = lambda: shell
    module = types.ModuleType("IPython.display")
    module.display = display
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    run(io.StringIO(), monkeypatch)
    assert "<th>finished</th><td>1</td>" in shown[0]
    assert "<th>finished</th><td>3</td>" in shown[-1]
    assert "<th>failed</th><td>1</td>" in shown[-1]


def test_a_summary_tells_the_distribution():
    """Of what was asked in this run; what was restored took no time."""
    summary = Summary()
    for number in range(1, 101):
        summary.add(Item(number, "x", cost_usd=number / 100, attempts=1, seconds=number), 50.5)
    summary.add(Item(101, "x", attempts=1, seconds=900.0, restored=True), 50.5)
    assert summary.quantiles("seconds") == (51, 95, 100)
    assert summary.quantiles("cost_usd") == (0.51, 0.95, 1.0)
    assert (summary.count, summary.restored, summary.cost_usd) == (101, 1, 50.5)
    assert "101, 1 from earlier runs" in str(summary)
    assert "median 51.00, 95 % below 95.00, at most 100.00" in str(summary)


def test_the_sample_has_a_bound():
    """A batch of millions needs no memory."""
    summary = Summary()
    for number in range(5000):
        summary.add(Item(number, "x", attempts=1, seconds=float(number)), 0.0)
    assert len(summary._sample) == 2000
    assert 2000 < summary.quantiles("seconds")[0] < 3000


def test_what_the_line_says():
    """With the time that is left, where the end is known."""
    summary = Summary()
    summary.count, summary.failed, summary.cost_usd = 100, 2, 1.5
    summary._last = summary._begun + 50.0
    assert line_of(summary, None) == "100, 2 failed, 1.5000 USD, 2.0/s"
    assert line_of(summary, 7300) == "100/7300, 2 failed, 1.5000 USD, 2.0/s, 1:00:00 left"


def test_what_was_restored_took_no_time():
    """The rate and the time left are those of what was asked now."""
    summary = Summary()
    summary.count, summary.restored = 1100, 1000
    summary._last = summary._begun + 50.0
    assert line_of(summary, 8300).endswith(", 2.0/s, 1:00:00 left")
    assert "0:00:50 (2.0/s)" in str(summary)


def test_a_bar_of_a_resumed_batch_has_the_rate_of_this_run(monkeypatch, tqdm):
    """What was restored is in the bar, and not in the rate."""
    monkeypatch.setattr(tqdm.tqdm, "monitor_interval", 0)
    stream = Terminal()
    progress = progress_for(stream)
    summary = Summary()
    for restored, count in ((0, 0), (1000, 1000), (1000, 1010)):
        summary.restored, summary.count = restored, count
        progress._show(summary, 2000)
    (bar,) = tqdm.tqdm._instances
    assert (bar.n, bar.initial) == (1010, 1000)
    progress._close()
