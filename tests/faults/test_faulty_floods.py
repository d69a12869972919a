"""Handlers that are slower than the CLI: memory stays bounded, and nothing is lost."""

import json
import threading

import pytest
from patience import PATIENCE

from claude_sync import TurnInterrupted
from claude_sync.testing import builders

# Twice what waits before pieces are merged.
HIGH_WATER = 1024 * 1024
# So many pieces the torrent brings after its interrupt.
MORE = 20_000
MEGABYTE = 1024 * 1024

# Prints what it heard: how many calls, whether all pieces came in order, how much waited when
# the reader paused, the receipt of the interrupt inside the handler, and how far the memory grew.
LISTENER = """
import json, os, sys, threading, scripts
import claude_sync.engine.inbox
import claude_sync.engine.stopping
from claude_sync import Client
from claude_sync.testing import StandIn

# The stand-in acknowledges the interrupt and goes on: it must not be ended for that here.
claude_sync.engine.stopping.STOP_PATIENCE = 1000
claude_sync.engine.stopping.INTERRUPT_AGAIN_AFTER = ()
claude_sync.engine.inbox.HIGH_WATER = high_water = int(sys.argv[1])
more, raw = int(sys.argv[2]), sys.argv[3] == "raw"
client = Client(cli=StandIn(scripts.pours_out_deltas, more=more).command)
state = {"calls": 0, "next": 0, "receipt": None, "order": True}
rest, pause = "", threading.Event()

def memory():
    # Not what getrusage() tells: that begins with the memory of whoever started this.
    if not os.path.exists("/proc/self/status"):
        return 0
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) * 1024

def is_full():
    state["waiting"] = client.stats().bytes_waiting
    return state["waiting"] > high_water and client._session.connection.paused

def hear(text):
    global rest
    state["calls"] += 1
    if state["calls"] == 1:
        # The torrent fills everything there is.
        while not is_full():
            pause.wait(0.005)
        state["receipt"] = list(client.interrupt(timeout=100).still_queued)
    if state["calls"] % 200 == 0:
        pause.wait(0.001)
    *numbers, rest = (rest + text).split(" ")
    for number in numbers:
        state["order"] = state["order"] and int(number) == state["next"]
        state["next"] += 1

def hear_event(event):
    delta = event.raw["event"].get("delta") or {}
    if "text" in delta:
        hear(delta["text"])

(client.on_stream_event(hear_event) if raw else client.on_text(hear))
client.start()
before = memory()
turn = client.submit("go on")
state["answer"] = int(turn.result(100))
state["grown"] = memory() - before
client.close()
print(json.dumps(state))
"""


def listen(program, how):
    """What the listener tells."""
    code, printed, errors = program(LISTENER, str(HIGH_WATER), str(MORE), how).end(100)
    assert code == 0, errors
    heard = json.loads(printed)
    assert heard["receipt"] == ["served"]
    assert (heard["next"], heard["order"]) == (heard["answer"], True)
    assert HIGH_WATER < heard["waiting"] < 2 * HIGH_WATER
    return heard


def test_merged_deltas(program):
    """A slow on_text gets every character in order, in fewer calls, within little memory."""
    heard = listen(program, "text")
    assert heard["calls"] < heard["answer"] / 2
    assert heard["grown"] < 60 * MEGABYTE


def test_raw_events(program):
    """With on_stream_event nothing is merged; interrupt() inside still gets its reply."""
    heard = listen(program, "raw")
    assert heard["calls"] == heard["answer"]
    assert heard["grown"] < 60 * MEGABYTE


def test_reader_pauses(cli, client, hurry, until):
    """Past the high-water mark the reader pauses, and with it the CLI; then it goes on."""
    hurry(HIGH_WATER=100_000)
    inside, go_on, heard = threading.Event(), threading.Event(), []

    def hang(event):
        inside.set()
        go_on.wait(PATIENCE)
        heard.append(event)

    client.on_stream_event(hang)
    turn = client.submit("go on")
    user = cli.expect("user")
    cli.begin_turn(user)
    for number in range(1000):
        cli.say(*[builders.text_delta(f"{number} ") for _ in range(10)])
    cli.end_turn(user, "all of it")
    assert inside.wait(PATIENCE)
    until(lambda: client._session.connection.paused)
    assert client._session.inbox._size < 200_000
    assert len(cli._output) > 100
    go_on.set()
    assert turn.result(PATIENCE) == "all of it"
    assert len(heard) == 10_000


def test_interrupt_while_the_reader_pauses(cli, client, hurry, until):
    """A turn that ended in time after its interrupt is not ended by force for a slow handler."""
    hurry(HIGH_WATER=10_000, STOP_PATIENCE=1000, INTERRUPT_AGAIN_AFTER=())
    go_on, receipts = threading.Event(), []

    def hang(event):
        if not receipts:
            receipts.append(client.interrupt(PATIENCE))
            go_on.wait(PATIENCE)

    client.on_stream_event(hang)
    turn = client.submit("go on")
    user = cli.expect("user")
    cli.begin_turn(user)
    for number in range(100):
        cli.say(*[builders.text_delta(f"{number} ") for _ in range(10)])
    cli.reply(cli.expect("control_request", subtype="interrupt"))
    for number in range(100):
        cli.say(*[builders.text_delta(f"{number} ") for _ in range(10)])
    cli.end_interrupted(user)
    until(lambda: client._session.connection.exchange.running() is None)
    client._session.stopper._force(turn.asked, turn.asked.sent)  # the patience above is over
    assert client.state == "busy"
    go_on.set()
    with pytest.raises(TurnInterrupted):
        turn.result(PATIENCE)
    assert cli.exit_code is None
