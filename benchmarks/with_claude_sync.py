"""The benchmarks' tasks, done with claude_sync. Started by ``run.py``; see ``tasks.py``."""

from __future__ import annotations

import json
import sys
import time

import tasks

import claude_sync


def open_client(cli, **handlers):
    """A client of the executable *cli*, started."""
    client = claude_sync.Client(cli=cli, **handlers)
    client.start()
    return client


def stream(cli, count):
    """Deltas per second, of *count*, given to a text handler."""
    lengths = []
    with open_client(cli, on_text=lambda text: lengths.append(len(text))) as client:
        return seconds_of(client, count, lengths)


def raw_stream(cli, count):
    """Deltas per second, of *count*, given one by one to a handler of raw events."""
    lengths = []
    with open_client(cli, on_stream_event=noting(lengths)) as client:
        return seconds_of(client, count, lengths)


def bridged_stream(cli, count):
    """Deltas per second, of *count* that come through a bridge, given one by one as above."""
    from claude_sync.bridge import Bridge

    lengths = []
    command = [sys.executable, "-m", "claude_sync.bridge", "--cli", cli]
    with Bridge(command) as bridge, bridge.client(on_stream_event=noting(lengths)) as client:
        client.start()
        return seconds_of(client, count, lengths)


def noting(lengths):
    """A handler of raw events that notes how long each text is."""

    def on_stream_event(event):
        delta = event.event.get("delta")
        if delta is not None and "text" in delta:
            lengths.append(len(delta["text"]))

    return on_stream_event


def seconds_of(client, count, lengths):
    """Seconds for a stream of *count* deltas, of which a handler notes the lengths."""
    begin = time.perf_counter()
    client.ask(f"stream {count}")
    seconds = time.perf_counter() - begin
    tasks.check_received(sum(lengths), count)
    return count / seconds


def turns(cli, count):
    """Seconds of each of *count* empty turns."""
    with open_client(cli) as client:
        return tasks.durations(lambda _: client.ask("empty"), count)


def latency(cli, count):
    """Seconds from the stand-in's write to the handler, for each of *count* deltas."""
    delays = []
    with open_client(cli, on_text=lambda text: delays.append(tasks.seconds_since(text))) as client:
        client.ask(f"paced {count}")
    return delays


def large(cli, count):
    """Seconds until a message of *count* characters is delivered, and the growth of memory."""
    delays = []

    def on_message(message):
        if isinstance(message, claude_sync.Assistant):
            delays.append(tasks.seconds_since(message.text[:20]))

    with open_client(cli, on_message=on_message) as client:
        before = tasks.memory("VmRSS")
        client.ask(f"large {count}")
    return [delays[0], tasks.memory("VmHWM") - before]


def permissions(cli, count):
    """Seconds of each of *count* requests for permission, measured by the stand-in."""
    with open_client(cli, on_permission=lambda request: request.allow()) as client:
        return json.loads(client.ask(f"permissions {count}"))


def everyday(cli, count):
    """Memory after a tenth of *count* everyday turns, and after all."""
    with open_client(cli, on_permission=lambda request: request.allow(), on_text=len) as client:
        return tasks.growth(lambda _: client.ask("everyday"), count)


def calls(cli, count):
    """Seconds of each of *count* calls of a tool, measured by the stand-in."""

    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    with open_client(cli, tools=[add]) as client:
        return json.loads(client.ask(f"calls {count}"))


if __name__ == "__main__":
    tasks.main(globals())
