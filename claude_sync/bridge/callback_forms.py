"""
Callbacks of a backend as requests of a CLI, and the answers on their way back.

No thread, no file, no clock. Two kinds: permissions and hooks. Decided here and nowhere else:

* The backend says which event a hook is for, and not which of several hooks. Then the
  matchers decide, and among hooks that match, each gets one of the calls, in order.
* Every answer has a safe form, for when the backend refuses the one that was given.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..hooks import failed_hook_output
from ..support.text import snake_case

__all__ = ["CallbackForms"]

Wire = Mapping[str, Any]

# How many answers are remembered, in case they are refused.
REMEMBERED = 100
# What the matcher of a hook is held against.
MATCHED = ("tool_name", "notification_type", "agent_type", "source", "trigger")
PLAIN_NAMES = re.compile(r"[\w|]+")
RENAMED = {"tool_input": "input", "suggestions": "permission_suggestions"}


class CallbackForms:
    """The callbacks of one session."""

    def __init__(self) -> None:
        # The event of each hook that is called, "" for a permission; by their ids.
        self._open: dict[str, str] = {}
        self._answered: dict[str, str] = {}
        self._hooks: dict[str, list[tuple[str | None, str]]] = {}
        # The last event that was told without saying to whom, and to how many by now.
        self._repeated: tuple[Any, int] = (None, 0)

    # What the greeting says.

    def hooks(self, greeting: Wire) -> dict[str, list[dict[str, Any]]]:
        """The hooks of a greeting, as ``session.create`` has them."""
        told: dict[str, list[dict[str, Any]]] = {}
        for event, entries in greeting.items():
            for entry in entries:
                matcher = entry.get("matcher")
                self._hooks.setdefault(event, []).append((matcher, entry["hookCallbackIds"][0]))
                told.setdefault(event, []).append({} if matcher is None else {"matcher": matcher})
        return told

    # What the backend asks.

    def request(self, identity: str, payload: Wire) -> dict[str, Any] | None:
        """A callback as the CLI would have asked; None for what nobody here knows."""
        kind, event = payload.get("callback_type"), str(payload.get("hook_event"))
        if kind == "can_use_tool":
            self._open[identity] = ""
            told = {key: value for key, value in payload.items() if value is not None}
            del told["callback_type"]
            made = {RENAMED.get(key, key): value for key, value in told.items()}
            return {"input": {}, **made, "subtype": "can_use_tool"}
        about = payload.get("hook_input")
        about = about if isinstance(about, dict) else {}
        use_id = payload.get("tool_use_id")
        callback_id = self._hook_of(event, about, use_id) if kind == "hook" else None
        if callback_id is None:
            return None
        self._open[identity] = event
        made = {"subtype": "hook_callback", "callback_id": callback_id}
        made["input"] = {"hook_event_name": event, **about}
        return {**made, **({} if use_id is None else {"tool_use_id": use_id})}

    def withdraw(self, identity: str) -> bool:
        """The answer is no longer wanted; whether it was."""
        return self._open.pop(identity, None) is not None

    def _hook_of(self, event: str, about: Wire, tool_use_id: Any) -> str | None:
        hooks = self._hooks.get(event)
        if not hooks:
            return None
        subject = next((about[name] for name in MATCHED if isinstance(about.get(name), str)), None)
        matching = [identity for matcher, identity in hooks if matches(matcher, subject)]
        candidates = matching or [identity for _, identity in hooks]
        key = (event, tool_use_id, about)
        times = self._repeated[1] + 1 if self._repeated[0] == key else 0
        self._repeated = (key, times)
        return candidates[times % len(candidates)]

    # What this side answers.

    def answer(self, identity: str, response: Wire) -> dict[str, Any] | None:
        """The payload of the answer; None where nobody waits for it."""
        event = self._open.pop(identity, None)
        if event is None:
            return None
        self._answered[identity] = event
        if len(self._answered) > REMEMBERED:
            del self._answered[next(iter(self._answered))]
        body = response.get("response")
        body = body if isinstance(body, dict) and response.get("subtype") != "error" else {}
        if event:
            return {snake_case(key): value for key, value in body.items()}
        if body.get("behavior") != "allow":
            return {"behavior": "deny", "message": str(body.get("message") or "no")}
        rules = body.get("updatedPermissions")
        payload = {"behavior": "allow", "updated_input": body.get("updatedInput") or {}}
        return {**payload, **({"updated_permissions": rules} if rules else {})}

    def safe_answer(self, identity: str, reason: str) -> dict[str, Any] | None:
        """Another answer, which lets nothing through, for one that was refused; once."""
        event = self._answered.pop(identity, None)
        if event is None:
            return None
        text = f"The answer of the program could not be used ({reason}), so it is no."
        if not event:
            return {"behavior": "deny", "message": text}
        blocked = failed_hook_output(event, text) or {}
        return {snake_case(key): value for key, value in blocked.items()}


def matches(matcher: str | None, subject: str | None) -> bool:
    """Whether the CLI calls a hook with *matcher* for *subject*, as it is documented."""
    if matcher in (None, "", "*") or subject is None:
        return True
    assert matcher is not None
    if PLAIN_NAMES.fullmatch(matcher):
        return subject in matcher.split("|")
    try:
        return re.search(matcher, subject) is not None
    except re.error:
        return False
