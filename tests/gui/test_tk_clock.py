"""When the calls for a Tk application are made: woken up, once per frame, and not for ever."""

import os
import select
import threading
from types import SimpleNamespace

import pytest
from window_fixtures import PATIENCE

from claude_sync.testing import StandIn


@pytest.fixture
def clock_module(tkinter):
    """The module."""
    from claude_sync.gui import tk_clock

    return tk_clock


@pytest.fixture
def attach(tkinter):
    """The function."""
    from claude_sync.gui import tk

    return tk.attach


@pytest.fixture(params=["pipe", "polling"])
def way(request, clock_module, monkeypatch):
    """Both ways in which Tk learns that something waits."""
    if request.param == "polling":
        monkeypatch.setattr(clock_module, "can_watch", lambda tk: False)
    return request.param


def pipes():
    """The pipes that this process has open."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            found.append(os.readlink(f"/proc/self/fd/{name}"))
        except OSError:  # the one that listed the folder
            continue
    return sorted(each for each in found if each.startswith("pipe:"))


def test_both_ways_bring_everything_in_order(way, attach, root, talk, until):
    """Text, results, and the end."""
    heard = []
    each = talk()
    attach(each.client, root)
    each.client.on_text(heard.append)
    each.client.on_result(lambda result: heard.append(result.result))
    each.client.on_close(lambda closed: heard.append("closed"))
    turn = each.begin()
    each.cli.say(*each.cli.spoken("one two"))
    each.end("one two")
    until(root, turn.done)
    assert "".join(heard) == "one twoone two"
    each.client.close(wait=False)
    until(root, lambda: heard[-1] == "closed")


def test_both_ways_survive_a_flood(way, attach, root, until):
    """Nothing is lost when more comes than a frame can take."""
    from claude_sync import Client

    pieces = []
    with Client(cli=StandIn().command) as client:
        attach(client, root)
        client.on_text(pieces.append)
        client.on_stream_event(lambda event: None)  # so that nothing is merged
        turn = client.submit("[[deltas 3000]]")
        until(root, turn.done)
        assert "".join(pieces) == turn.result()
        assert len(pieces) >= 3000


def test_the_pipe_goes_with_the_last_client(clock_module, attach, new_root, talk):
    """One for all clients of an application; a new one when it is needed again."""
    root = new_root()
    talks = [talk() for _ in range(3)]
    before = pipes()
    attachments = [attach(each.client, root) for each in talks]
    assert len(pipes()) == len(before) + 2
    for attachment in attachments:
        attachment.detach()
    assert pipes() == before
    attach(talks[0].client, root)
    assert len(pipes()) == len(before) + 2
    root.destroy()
    talks[0].client.close()
    assert len(pipes()) <= len(before)


def test_no_timer_runs_while_nothing_happens(clock_module, attach, root, talk, until):
    """An application that has nothing to do sleeps."""
    each = talk()
    attach(each.client, root)
    clock = clock_module.clock_of(root)
    assert clock._timer is None
    turn = each.begin()
    each.end()
    until(root, turn.done)
    until(root, lambda: clock._timer is None)


def test_polling_is_slow_while_nothing_happens(clock_module, attach, root, talk, monkeypatch):
    """And as fast as frames while something runs."""
    monkeypatch.setattr(clock_module, "can_watch", lambda tk: False)
    each = talk()
    attach(each.client, root)
    clock = clock_module.clock_of(root)
    delays = []
    real = clock._next
    monkeypatch.setattr(clock, "_next", lambda delay: (delays.append(delay), real(delay)))
    clock._cancel()
    clock._frame()
    assert delays[-1] == clock_module.IDLE
    turn = each.begin()
    clock._cancel()
    clock._frame()
    assert delays[-1] == clock_module.FRAME
    each.end()
    while not turn.done():
        root.update()


def test_frames_leave_time_to_draw(clock_module, attach, root, talk, monkeypatch):
    """However long the calls of one took, there is a pause; a quick frame waits for its time."""
    each = talk()
    attach(each.client, root)
    clock = clock_module.clock_of(root)
    now, delays = [100.0], []
    monkeypatch.setattr(clock_module, "time", SimpleNamespace(monotonic=lambda: now[0]))
    real = clock._next
    monkeypatch.setattr(clock, "_next", lambda delay: (delays.append(delay), real(delay)))

    def taking(seconds):
        def run(end):
            now[0] += seconds
            return True

        return run

    for seconds in (0.5, 1 / 256 + 1 / 4096):
        monkeypatch.setattr(clock, "_run", taking(seconds))
        clock._cancel()
        clock._frame()
    clock._cancel()
    # Each frame sets the next one before it runs, and once more after it.
    assert (delays[1], delays[3]) == (clock_module.DRAWING, clock_module.FRAME - 4)


def test_a_busy_client_does_not_starve_another(clock_module, attach, root, talk, monkeypatch):
    """A frame has an end, and the next one begins with somebody else."""
    talks = [talk() for _ in range(2)]
    for each in talks:
        attach(each.client, root)
    clock = clock_module.clock_of(root)
    ran = []
    for number, entry in enumerate(clock._entries):
        monkeypatch.setattr(entry.frames, "run", lambda number=number: ran.append(number) or True)
    assert clock._run(end=0.0) is True
    assert ran == []
    now = [0.0]
    monkeypatch.setattr(clock_module, "time", SimpleNamespace(monotonic=lambda: now[0]))
    for number, entry in enumerate(clock._entries):

        def run(number=number):
            ran.append(number)
            now[0] += 1.0
            return True

        monkeypatch.setattr(entry.frames, "run", run)
    for _ in range(4):
        clock._run(end=now[0] + 0.5)
    assert sorted(ran) == [0, 0, 1, 1]


def test_a_bell_can_ring_after_its_end(clock_module):
    """Other threads do not know that it has ended; and it never makes them wait."""
    bell = clock_module.Bell()
    for _ in range(70_000):  # more than a pipe holds
        bell.ring()
    bell.close()
    thread = threading.Thread(target=bell.ring)
    thread.start()
    thread.join(PATIENCE)
    assert not thread.is_alive()


def test_a_bell_is_heard_once(clock_module):
    """However often it rang; and whoever listens again does not wait for the next time."""
    bell = clock_module.Bell()
    for _ in range(100):
        bell.ring()
    bell.hear()
    assert select.select([bell.output], [], [], 0)[0] == []
    bell.hear()
    bell.ring()
    assert select.select([bell.output], [], [], 0)[0] == [bell.output]
    bell.close()


def test_a_refused_client_leaves_nothing_behind(clock_module, attach, root):
    """No pipe, no timer."""
    from claude_sync import Client, UsageError

    before = pipes()
    with pytest.raises(UsageError):
        attach(Client(post="manual"), root)
    assert pipes() == before
    assert clock_module.clock_of(root)._timer is None
