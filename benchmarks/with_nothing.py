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

    def answered(self, prompt):
        """Send a question and answer the requests of the CLI; what the result says."""
        for message in self.ask(prompt):
            if message["type"] == "control_request":
                asked = message["request"]
                if "message" in asked:
                    body = add(asked["message"])
                else:
                    body = {"behavior": "allow", "updatedInput": asked["input"]}
                reply = {"subtype": "success", "request_id": message["request_id"]}
                self.write({"type": "control_response", "response": {**reply, "response": body}})
        return self.result

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


def add(message):
    """Add two numbers, as a tool of an MCP server."""
    arguments = message.get("params", {}).get("arguments", {"a": 0, "b": 0})
    content = [{"type": "text", "text": str(arguments["a"] + arguments["b"])}]
    reply = {"jsonrpc": "2.0", "id": message.get("id"), "result": {"content": content}}
    return {"mcp_response": reply}


def stream(cli, count):
    """Deltas per second, of *count*."""
    with Pipe(cli) as pipe:
        begin = time.perf_counter()
        received = sum([len(text) for text in pipe.texts(f"stream {count}")])
        seconds = time.perf_counter() - begin
    tasks.check_received(received, count)
    return count / seconds


raw_stream = stream


def turns(cli, count):
    """Seconds of each of *count* empty turns."""
    with Pipe(cli) as pipe:
        return tasks.durations(lambda _: pipe.answered("empty"), count)


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
    with Pipe(cli) as pipe:
        return tasks.growth(lambda _: pipe.answered("everyday"), count)


def permissions(cli, count):
    """Seconds of each of *count* requests for permission, measured by the stand-in."""
    with Pipe(cli) as pipe:
        return ujson.loads(pipe.answered(f"permissions {count}"))


def calls(cli, count):
    """Seconds of each of *count* calls of a tool, measured by the stand-in."""
    with Pipe(cli) as pipe:
        return ujson.loads(pipe.answered(f"calls {count}"))


if __name__ == "__main__":
    tasks.main(globals())
