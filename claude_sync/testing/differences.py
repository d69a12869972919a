"""
What a program said then and says now: compared without ids, shown as a diff.

Ids and uuids differ from run to run, and a recording hides secrets, homes and addresses.
So both sides are brought into the same form before they are compared. Decisions taken here
and nowhere else:

* Which reply belongs to which request is told by the request's id, which is the CLI's.
* The greeting, and what is told about the program's own tools, differs from release to
  release: these are not compared. What a tool returns is.
"""

from __future__ import annotations

import json
import re
from typing import Any, Dict, Iterable, List, Optional, Tuple

__all__ = [
    "Difference",
    "ReplayDifference",
    "is_compared",
    "kind_of",
    "reply_id",
    "same_form",
    "shown",
]

Wire = Dict[str, Any]

# What names a message, and not what is said in it.
IDS = ("uuid", "session_id", "request_id", "id")
REPLIES = ("control_response", "callback.response")
# What stands for something hidden is numbered, in the order in which it came.
PLACEHOLDER = re.compile(r"<(secret|account|email)-\d+>")
# So many lines fit into what an error shows of stderr.
FEW_LINES = 10
LONGEST_LINE = 300


class ReplayDifference(AssertionError):
    """The program does something else than when the session was recorded."""


class Difference:
    """
    What the program said then, and what it says now.

    Args:
        where: The file and the line.
        then: The recorded message; None: it said nothing more.
        now: The message of this program; None: it says nothing.
        why: More about it, in one clause.
        notes: Further lines: what else is different.

    """

    def __init__(
        self,
        where: str,
        then: Optional[Wire],
        now: Optional[Wire],
        why: str = "",
        notes: Iterable[str] = (),
    ) -> None:
        self._where = where
        self._then = then
        self._now = now
        self._why = why
        self._notes = list(notes)

    @property
    def headline(self) -> str:
        """What is the matter, in one line."""
        reason = f" ({self._why})" if self._why else ""
        return f"{self._where}: the program does not do what was recorded{reason}"

    def diff(self, context: int = 3) -> List[str]:
        """The lines of the diff: - what was said then, + what is said now."""
        import difflib

        then = ["(nothing)"] if self._then is None else shown(self._then)
        now = ["(nothing)"] if self._now is None else shown(self._now)
        lines = list(difflib.unified_diff(then, now, lineterm="", n=context))
        return ["- asked then, + asked now:", *(line for line in lines[2:] if line[:2] != "@@")]

    def short(self) -> List[str]:
        """As much of it as fits into an error about a CLI that has exited."""
        lines = self.diff(0)
        if len(lines) > FEW_LINES:
            lines = [*lines[: FEW_LINES - 1], "... (assert_done() shows all of it)"]
        return [line[:LONGEST_LINE] for line in (self.headline, *lines)]

    def __str__(self) -> str:
        advice = "Record it again if that is meant."
        return "\n".join([self.headline, *self.diff(), *self._notes, advice])


def kind_of(message: Wire) -> Tuple[str, str]:
    """What sort of message it is: those of one sort come in their order."""
    request = message.get("request")
    subtype = request.get("subtype") if isinstance(request, dict) else None
    return str(message.get("type")), str(subtype)


def reply_id(message: Wire) -> Optional[str]:
    """The id of the request of the CLI that this answers; None if it is no answer."""
    if message.get("type") not in REPLIES:
        return None
    response = message.get("response")
    for part in (message, response if isinstance(response, dict) else {}):
        for name in ("request_id", "callbackId", "callback_id", "id"):
            if isinstance(part.get(name), str):
                return str(part[name])
    return ""


def is_compared(message: Wire) -> bool:
    """Whether what it says matters, and not only that it is said."""
    if kind_of(message) == ("control_request", "initialize"):
        return False
    response = message.get("response")
    body = response.get("response") if isinstance(response, dict) else None
    if isinstance(body, dict) and isinstance(body.get("mcp_response"), dict):
        result = body["mcp_response"].get("result")
        # The result of a call; the rest is the handshake and the list of tools.
        return not isinstance(result, dict) or "content" in result
    return True


def same_form(value: Any, ids: Dict[str, str], depth: int = 0) -> Any:
    """
    A message in the form in which two are compared.

    Without its own ids, those of others as in *ids*; without the numbers of what is hidden;
    and without fields that are null, which say as much as fields that are missing.
    """
    if isinstance(value, dict):
        return {
            name: same_form(part, ids, depth + 1)
            for name, part in value.items()
            if part is not None
            and not (name in IDS and (depth == 0 or (depth == 1 and name == "request_id")))
        }
    if isinstance(value, list):
        return [same_form(part, ids, depth + 1) for part in value]
    if isinstance(value, str):
        return PLACEHOLDER.sub(r"<\1>", ids.get(value, value))
    return value


def shown(value: Any, indent: str = "") -> List[str]:
    """A message as lines for people: one for each value, texts as they are."""
    lines: List[str] = []
    parts: Iterable[Tuple[str, Any]]
    if isinstance(value, dict):
        parts = [(f"{name}:", part) for name, part in value.items()]
    else:
        parts = [("-", part) for part in value]
    for name, part in parts:
        if isinstance(part, (dict, list)) and part:
            lines += [f"{indent}{name}", *shown(part, indent + "  ")]
        elif isinstance(part, str) and "\n" in part:
            lines += [f"{indent}{name}", *(f"{indent}  {line}" for line in part.splitlines())]
        else:
            told = part if isinstance(part, str) and part else json.dumps(part)
            lines.append(f"{indent}{name} {told}")
    return lines
