"""
Callbacks of a backend as requests of a CLI, and the answers on their way back.

No thread, no file, no clock. Two kinds: permissions and hooks. Decided here and nowhere else:

* The backend says which event a hook is for, and not which of several hooks. Then the
  matchers decide, and among hooks that match, each gets one of the calls, in order.
* Every answer has a safe form, for when the backend refuses the one that was given.
"""

from __future__ import annotations

import re
from typing import Any, Dict, List, Mapping, Optional, Tuple

from ..hooks import failed_hook_output
from ..support.text import snake_case

__all__ = ["CallbackForms"]

Wire = Mapping[str, Any]

# How many answers are remembered, in case they are refused.
REMEMBERED = 100
# What the kind of a hook's callback begins with; the event follows.
HOOK = "hook "
# What the matcher of a hook is held against.
MATCHED = ("tool_name", "notification_type", "agent_type", "source", "trigger")
PLAIN_NAMES = re.compile(r"[\w|]+")


class CallbackForms:
    """
    The callbacks of one session.

    Attributes:
        answered: The kinds of the last callbacks that were answered, by their ids.

    """

    def __init__(self) -> None:
        self._open: Dict[str, str] = {}
        self.answered: Dict[str, str] = {}
        self._hooks: Dict[str, List[Tuple[Optional[str], str]]] = {}
        # The last event that was told without saying to whom, and to how many by now.
        self._repeated: Tuple[Any, int] = (None, 0)

    # What the greeting says.

    def hooks(self, greeting: Wire) -> Dict[str, List[Dict[str, Any]]]:
        """The hooks of a greeting, as ``session.create`` has them."""
        told: Dict[str, List[Dict[str, Any]]] = {}
        for event, entries in greeting.items():
            for entry in entries:
                matcher = entry.get("matcher")
                identity = entry["hookCallbackIds"][0]
                self._hooks.setdefault(event, []).append((matcher, identity))
                config = {} if matcher is None else {"matcher": matcher}
                told.setdefault(event, []).append(config)
        return told

    # What the backend asks.

    def request(self, identity: str, payload: Wire) -> Optional[Dict[str, Any]]:
        """A callback as the CLI would have asked; None for what nobody here knows."""
        kind = payload.get("callback_type")
        made = None
        known = str(kind)
        if kind == "can_use_tool":
            made = permission_request(payload)
        elif kind == "hook":
            made = self._hook_request(payload)
            known = f"{HOOK}{payload.get('hook_event')}"
        if made is not None:
            self._open[identity] = known
        return made

    def withdraw(self, identity: str) -> bool:
        """The answer is no longer wanted; whether it was."""
        return self._open.pop(identity, None) is not None

    def _hook_request(self, payload: Wire) -> Optional[Dict[str, Any]]:
        event = str(payload.get("hook_event"))
        about = payload.get("hook_input")
        about = about if isinstance(about, dict) else {}
        callback_id = self._hook_of(event, about, payload.get("tool_use_id"))
        if callback_id is None:
            return None
        made: Dict[str, Any] = {"subtype": "hook_callback", "callback_id": callback_id}
        made["input"] = {"hook_event_name": event, **about}
        if payload.get("tool_use_id") is not None:
            made["tool_use_id"] = payload["tool_use_id"]
        return made

    def _hook_of(self, event: str, about: Wire, tool_use_id: Any) -> Optional[str]:
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

    def answer(self, identity: str, response: Wire) -> Optional[Tuple[Dict[str, Any], bool]]:
        """
        The payload of the answer, and whether the turn has to be interrupted beside it.

        None where nobody waits for it.
        """
        kind = self._open.pop(identity, None)
        if kind is None:
            return None
        self.answered[identity] = kind
        if len(self.answered) > REMEMBERED:
            del self.answered[next(iter(self.answered))]
        failed = response.get("subtype") == "error"
        body = response.get("response")
        body = body if isinstance(body, dict) and not failed else {}
        if kind.startswith(HOOK):
            return {snake_case(key): value for key, value in body.items()}, False
        return permission_answer(body), body.get("interrupt") is True

    def safe_answer(self, identity: str, reason: str) -> Optional[Dict[str, Any]]:
        """Another answer, which lets nothing through, for one that was refused; once."""
        kind = self.answered.pop(identity, None)
        text = f"The answer of the program could not be used ({reason}), so it is no."
        if kind == "can_use_tool":
            return {"behavior": "deny", "message": text}
        if kind is None:
            return None
        blocked = failed_hook_output(kind[len(HOOK) :], text) or {}
        return {snake_case(key): value for key, value in blocked.items()}


def permission_request(payload: Wire) -> Dict[str, Any]:
    """A request for permission."""
    renamed = {"tool_input": "input", "suggestions": "permission_suggestions"}
    made: Dict[str, Any] = {"subtype": "can_use_tool", "input": {}}
    for key, value in payload.items():
        if key not in ("callback_type", "request") and value is not None:
            made[renamed.get(key, key)] = value
    return made


def permission_answer(body: Wire) -> Dict[str, Any]:
    """Yes or no."""
    if body.get("behavior") != "allow":
        return {"behavior": "deny", "message": str(body.get("message") or "no")}
    payload = {"behavior": "allow", "updated_input": body.get("updatedInput") or {}}
    if body.get("updatedPermissions"):
        payload["updated_permissions"] = body["updatedPermissions"]
    return payload


def matches(matcher: Optional[str], subject: Optional[str]) -> bool:
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
