"""Handlers that are slower than the CLI: memory stays bounded, and nothing is lost."""

import json
import threading

import pytest
from conftest import PATIENCE

from claude_sync import TurnInterrupted
from claude_sync.testing import builders

COUNT = 400_000
RAW_COUNT = 200_000
MEGABYTE = 1024 * 1024

# Prints what it heard: how many calls, whether all pieces came in order, the receipt of
# the interrupt inside the handler, and how far the memory grew.
LISTENER = """
import json, resource, sys, threading, scripts
import claude_sync.runtime.stopping
from claude_sync import Client
from claude_sync.testing import StandIn

# The stand-in acknowledges the interrupt and goes on: it must not be ended for that here.
claude_sync.runtime.stopping.STOP_PATIENCE = 1000
claude_sync.runtime.stopping.INTERRUPT_AGAIN_AFTER = ()
count, raw, slow = int(sys.argv[1]), sys.argv[2] == "raw", float(sys.argv[3])
client = Client(cli=StandIn(scripts.pours_out_deltas, count=count).command)
state = {"calls": 0, "next": 0, "receipt": None, "order": True}
rest = ""

def hear(text):
    global rest
    state["calls"] += 1
    if state["calls"] == 1:
        # Long enough for the torrent to fill everything there is.
        threading.Event().wait(1.0)
        state["receipt"] = list(client.interrupt(timeout=20).still_queued)
    if state["calls"] % 2000 == 0 or not raw:
        threading.Event().wait(slow)
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
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
turn = client.submit("go on")
state["answer"] = turn.result(100)
state["grown"] = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
client.close()
print(json.dumps(state))
"""


def listen(program, count, *arguments):
    """What the listener tells."""
    code, printed, errors = program(LISTENER, str(count), *arguments).end(100)
    assert code == 0, errors
    return json.loads(printed)


def test_merged_deltas(program):
    """A slow on_text gets every character in order, in fewer calls, within little memory."""
    heard = listen(program, COUNT, "text", "0.001")
    assert (heard["next"], heard["order"], heard["answer"]) == (COUNT, True, "poured out")
    assert heard["receipt"] == ["served"]
    assert heard["calls"] < COUNT / 2
    assert heard["grown"] < 300 * MEGABYTE


def test_raw_events(program):
    """With on_stream_event nothing is merged; interrupt() inside still gets its reply."""
    heard = listen(program, RAW_COUNT, "raw", "0.002")
    assert (heard["next"], heard["order"], heard["answer"]) == (RAW_COUNT, True, "poured out")
    assert heard["receipt"] == ["served"]
    assert heard["calls"] == RAW_COUNT
    assert heard["grown"] < 300 * MEGABYTE


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
    until(lambda: client._engine.lifecycle.connection.paused)
    assert client._engine.inbox._size < 200_000
    assert len(cli._output) > 100
    go_on.set()
    assert turn.result(PATIENCE) == "all of it"
    assert len(heard) == 10_000


def test_interrupt_while_the_reader_pauses(cli, client, hurry):
    """A turn that ended in time after its interrupt is not ended by force for a slow handler."""
    hurry(HIGH_WATER=10_000, STOP_PATIENCE=0.5, INTERRUPT_AGAIN_AFTER=())
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
    threading.Event().wait(1.0)  # longer than the patience above
    assert client.state == "busy"
    go_on.set()
    with pytest.raises(TurnInterrupted):
        turn.result(PATIENCE)
    assert cli.exit_code is None
