"""A permission request that only remembers what was answered."""

from __future__ import annotations

import copy
import threading

from claude_sync.errors import AlreadyAnswered


class StandInRequest:
    """As much of a request as policies use; every verb works once, as in the real one."""

    def __init__(self, tool="Bash", given=None, cwd="/", preview="a preview", **more):
        self.tool = tool
        self.input = {} if given is None else given
        # As in the real one: what runs does not change with its copy.
        self.raw_input = copy.deepcopy(self.input)
        self.cwd = cwd
        self.suggestions = ()
        self.tool_use_id = None
        self.raw = {"input": self.raw_input}
        self.blocked_path = self.reason = self.title = self.description = self.agent_id = (
            self.mcp_server
        ) = None
        self.cancelled = threading.Event()
        self.text = preview
        self.decision = None
        for name, value in more.items():
            setattr(self, name, value)

    @property
    def always(self):
        """The rules that are suggested."""
        return tuple(each for each in self.suggestions if each["type"] == "addRules")

    @property
    def can_accept_edits(self):
        """Whether accepting edits is suggested."""
        return any(each["type"] == "setMode" for each in self.suggestions)

    @property
    def is_open(self):
        """Whether an answer is wanted."""
        return self.decision is None and not self.cancelled.is_set()

    def preview(self, full=False):
        """What would be shown."""
        return self.text

    def decide(self, *decision):
        """Remember the one decision."""
        if self.decision is not None:
            raise AlreadyAnswered(self.decision)
        self.decision = decision
        return decision

    def allow(self, updated_input=None, permissions=()):
        """Yes."""
        return self.decide("allow")

    def allow_always(self, save=False):
        """Yes, from now on."""
        return self.decide("always")

    def deny(self, message="no", interrupt=False):
        """No."""
        return self.decide("deny", message)

    def answer(self, answers):
        """The answers to a question."""
        return self.decide("answer", answers)


def decided(policy, tool, given=None, cwd="/", **more):
    """What a policy decides: "allow", "deny", ... or None."""
    request = StandInRequest(tool, given, cwd, **more)
    decision = policy(request)
    assert decision == request.decision, "a policy returns what the verb returned"
    return decision and decision[0]
