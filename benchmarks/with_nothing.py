"""
The benchmarks' tasks, done without a library: the least that Python can do it with.

``readline``, ``ujson.loads`` and one hop through a ``queue.Queue`` to another thread.
Started by ``run.py``; see ``tasks.py``.
"""

from __future__ import annotations

import queue
import subprocess
import threading
import time

import tasks
import ujson

FLAGS = ["--include-partial-messages", "--output-format", "stream-json"]


class Pipe:
    """A process, a thread that reads it, and a queue."""

    def __init__(self, cli):
        self._process = subprocess.Popen(
            [cli, *FLAGS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._queue = queue.Queue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        request = {"subtype": "initialize"}
        self.write({"type": "control_request", "request_id": "1", "request": request})
        self._queue.get()

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        self._process.stdin.close()
        self._process.wait()
        self._reader.join()
        self._process.stdout.close()

    def write(self, message):
        """Send one message."""
        self._process.stdin.write(ujson.dumps(message).encode() + b"\n")
        self._process.stdin.flush()

    def ask(self, prompt):
        """Send a question; everything up to its result."""
        self.write({"type": "user", "message": {"role": "user", "content": prompt}})
        while True:
            message = self._queue.get()
            if message["type"] == "result":
                self.result = message["result"]
                return
            yield message

    def answer(self, request, body):
        """Answer a request."""
        response = {"subtype": "success", "request_id": request["request_id"], "response": body}
        self.write({"type": "control_response", "response": response})

    def texts(self, prompt):
        """Send a question; the text of each delta."""
        for message in self.ask(prompt):
            if message["type"] == "stream_event":
                delta = message["event"].get("delta")
                if delta is not None and "text" in delta:
                    yield delta["text"]

    def _read(self):
        readline = self._process.stdout.readline
        while True:
            line = readline()
            if not line:
                return
            self._queue.put(ujson.loads(line))


def stream(cli, count):
    """Seconds for *count* deltas."""
    with Pipe(cli) as pipe:
        begin = time.perf_counter()
        received = sum([len(text) for text in pipe.texts(f"stream {count}")])
        seconds = time.perf_counter() - begin
    tasks.check_received(received, count)
    return seconds


raw_stream = stream


def turns(cli, count):
    """Seconds of each of *count* empty turns."""
    durations = []
    with Pipe(cli) as pipe:
        for _ in range(count):
            begin = time.perf_counter()
            for _message in pipe.ask("empty"):
                pass
            durations.append(time.perf_counter() - begin)
    return durations


def latency(cli, count):
    """Seconds from the stand-in's write to the other thread, for each of *count* deltas."""
    with Pipe(cli) as pipe:
        return [tasks.seconds_since(text) for text in pipe.texts(f"paced {count}")]


def large(cli, count):
    """Seconds until a message of *count* characters is there, and the growth of memory."""
    delays = []
    with Pipe(cli) as pipe:
        before = tasks.memory("VmRSS")
        for message in pipe.ask(f"large {count}"):
            if message["type"] == "assistant":
                delays.append(tasks.seconds_since(message["message"]["content"][0]["text"][:20]))
    return [delays[0], tasks.memory("VmHWM") - before]


def everyday(cli, count):
    """Memory after a tenth of *count* everyday turns, and after all."""
    sizes = []
    with Pipe(cli) as pipe:
        for number in range(count):
            for message in pipe.ask("everyday"):
                if message["type"] == "control_request":
                    asked = message["request"]
                    pipe.answer(message, {"behavior": "allow", "updatedInput": asked["input"]})
            if tasks.is_early(number, count):
                sizes.append(tasks.memory("VmRSS"))
    return [*sizes, tasks.memory("VmRSS")]


def permissions(cli, count):
    """Seconds of each of *count* requests for permission, measured by the stand-in."""
    with Pipe(cli) as pipe:
        for message in pipe.ask(f"permissions {count}"):
            if message["type"] == "control_request":
                asked = message["request"]
                pipe.answer(message, {"behavior": "allow", "updatedInput": asked["input"]})
        return ujson.loads(pipe.result)


def calls(cli, count):
    """Seconds of each of *count* calls of a tool, measured by the stand-in."""
    with Pipe(cli) as pipe:
        for message in pipe.ask(f"calls {count}"):
            if message["type"] != "control_request":
                continue
            asked = message["request"]["message"]
            arguments = asked.get("params", {}).get("arguments", {"a": 0, "b": 0})
            total = str(arguments["a"] + arguments["b"])
            result = {"content": [{"type": "text", "text": total}]}
            reply = {"jsonrpc": "2.0", "id": asked.get("id"), "result": result}
            pipe.answer(message, {"mcp_response": reply})
        return ujson.loads(pipe.result)


if __name__ == "__main__":
    tasks.main(globals())
