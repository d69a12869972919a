"""Saved conversations to list, each as long as that of one question to a new CLI."""

from __future__ import annotations

import json
import uuid

# The CLI writes down what it sent to the service, too, which is most of a file.
NOTES = 140_000

LISTING = """
import json
import time
from {module} import list_sessions
begin = time.perf_counter()
found = list_sessions()
print(json.dumps([time.perf_counter() - begin, len(found)]))
"""


def save(config, count):
    """Make *count* conversations in the folder of a CLI."""
    folder = config / "projects" / "-srv-shop"
    folder.mkdir(parents=True)
    for number in range(count):
        session = str(uuid.uuid4())
        lines = "".join(json.dumps(line) + "\n" for line in conversation(session, number))
        (folder / f"{session}.jsonl").write_text(lines)


def conversation(session, number):
    """The lines of one."""
    common = {
        "isSidechain": False,
        "cwd": "/srv/shop",
        "sessionId": session,
        "version": "2.1.325",
        "gitBranch": "main",
        "timestamp": "2026-03-01T10:00:00.000Z",
    }
    asked, said = str(uuid.uuid4()), str(uuid.uuid4())
    question = {"role": "user", "content": f"question {number}"}
    answer = {"role": "assistant", "id": "m", "content": [{"type": "text", "text": "answer"}]}
    yield {"type": "queue-operation", "operation": "enqueue", "sessionId": session}
    yield {"parentUuid": None, "type": "user", "message": question, "uuid": asked, **common}
    yield {"type": "api-request-shape", "shape": "x" * NOTES}
    yield {"parentUuid": asked, "type": "assistant", "message": answer, "uuid": said, **common}
    yield {"type": "last-prompt", "lastPrompt": f"question {number}", "leafUuid": said}
