"""
Measure what a recording costs: lines a second, and the time that hostile lines take.

::

    python benchmarks/recording.py

The second table shows each text once and twice as long. A time that is more than about
twice as long for it means that some pattern looks at the same characters again and again.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from tasks import PIECE  # noqa: E402

from claude_sync.engine.recording.recorder import Recorder  # noqa: E402
from claude_sync.protocol.codec import decode  # noqa: E402
from claude_sync.support.redact import redact_text  # noqa: E402
from claude_sync.testing import builders  # noqa: E402

LINES = 20_000
LENGTH = 1_000_000

MESSAGES = {
    "delta": builders.text_delta(PIECE),
    "assistant": builders.assistant("Have a look at the file setup.py, line 12. " * 20),
    "result": builders.result("Have a look at the file setup.py, line 12."),
}

# What is repeated; of a pair, the first is written once, before the second.
HOSTILE = [
    *("a", '"', "\\", " ", "a-", "/", "@", "token", "token=", 'token":"', "eyJ", "/home/"),
    *("-----BEGIN PRIVATE KEY-----", '"env":{', "C:\\", "cookie: "),
    *(('password":"', "\\"), ("password=", "\\'"), ("@", "a."), ("home ", "\\")),
    *(("-u ", "="), ("token ", "--a")),
]


def repeated(part, length):
    """A text of about *length* characters."""
    begin, part = part if isinstance(part, tuple) else ("", part)
    return begin + part * (length // len(part))


def speed(record, message):
    """Lines a second."""
    line = json.dumps(message, separators=(",", ":")).encode()
    begin = time.perf_counter()
    for _ in range(LINES):
        record(line)
    return LINES / (time.perf_counter() - begin)


def seconds(function, argument):
    """How long a call takes."""
    begin = time.perf_counter()
    function(argument)
    return time.perf_counter() - begin


def main():
    """Measure and print."""
    with tempfile.TemporaryDirectory(prefix="claude-sync-benchmark-") as folder:
        recorder = Recorder(Path(folder) / "wire.jsonl")
        print(f"{'lines a second':<28}{'recorded':>12}{'only decoded':>14}")
        for name, message in MESSAGES.items():
            print(
                f"{name:<28}{speed(recorder.received, message):>12,.0f}"
                f"{speed(decode, message):>14,.0f}"
            )
        print(f"\n{'seconds for 1 and 2 MB of':<28}{'a log line':>18}{'a recorded line':>20}")
        for part in HOSTILE:
            texts = [repeated(part, LENGTH), repeated(part, 2 * LENGTH)]
            lines = [json.dumps({"type": "x", "text": text}).encode() for text in texts]
            figures = [*(seconds(redact_text, text) for text in texts)]
            figures += [seconds(recorder.received, line) for line in lines]
            print(f"{part!s:<28}" + "".join(f"{figure:>9.2f}" for figure in figures), flush=True)
        recorder.close()


if __name__ == "__main__":
    main()
