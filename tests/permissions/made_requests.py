"""Real requests for permission, with a slot that only remembers what was answered."""

from __future__ import annotations

import threading

from claude_sync.errors import AlreadyAnswered
from claude_sync.permissions import PermissionRequest


class Slot:
    """A request of the CLI, as the engine keeps it."""

    def __init__(self, body, folder):
        self.body = body
        self.folder = folder
        self.state = "open"
        self.cancelled = threading.Event()
        self.answers = []
        self.called = []
        self.notes = []

    def answer(self, reply, decision=None):
        """Keep what the CLI would read."""
        if self.state == "answered":
            raise AlreadyAnswered(str(decision))
        if self.state == "open":
            self.state = "answered"
            self.answers.append(reply.get("response", {}).get("response"))

    def is_decided(self):
        """Whether no answer is wanted any more."""
        return self.state != "open"

    def on_cancel(self, function, subject):
        """Keep what is to be called."""
        self.called.append(function)

    def note(self, text):
        """Keep it."""
        self.notes.append(text)

    def withdraw(self):
        """The CLI no longer waits."""
        self.state = "withdrawn"
        self.cancelled.set()
        for function in self.called:
            function()


def made_request(tool="Bash", input=None, folder="/", **fields):
    """A request, as the CLI makes it."""
    given = {"command": "ls"} if input is None else input
    body = {"subtype": "can_use_tool", "tool_name": tool, "input": given, **fields}
    message = {"type": "control_request", "request_id": "r", "request": body}
    return PermissionRequest(message, Slot(body, str(folder)))


def answers_to(request):
    """What was answered so far."""
    return request._slot.answers


def decision_of(request):
    """The answer, as its behaviour and its words; None without one."""
    if not answers_to(request):
        return None
    (answer,) = answers_to(request)
    return answer["behavior"], answer.get("message")
