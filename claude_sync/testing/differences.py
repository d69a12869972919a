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

import dataclasses
import difflib
import json
import re
from collections.abc import Sequence
from typing import Any

__all__ = ["Difference", "ReplayDifference", "is_compared", "kind_of", "reply_id", "same_form"]

Wire = dict[str, Any]

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


@dataclasses.dataclass
class Difference:
    """
    What the program said then, and what it says now.

    Attributes:
        where: The file and the line.
        then: The recorded message; None: it said nothing more.
        now: The message of this program; None: it says nothing.
        why: More about it, in one clause.
        notes: Further lines: what else is different.

    """

    where: str
    then: Wire | None
    now: Wire | None
    why: str = ""
    notes: Sequence[str] = ()

    @property
    def headline(self) -> str:
        """What is the matter, in one line."""
        reason = f" ({self.why})" if self.why else ""
        return f"{self.where}: the program does not do what was recorded{reason}"

    def diff(self, context: int = 3) -> list[str]:
        """The lines of the diff: - what was said then, + what is said now."""
        then, now = shown(self.then), shown(self.now)
        lines = list(difflib.unified_diff(then, now, lineterm="", n=context))
        return ["- asked then, + asked now:", *(line for line in lines[2:] if line[:2] != "@@")]

    def short(self) -> list[str]:
        """As much of it as fits into an error about a CLI that has exited."""
        lines = self.diff(0)
        if len(lines) > FEW_LINES:
            lines = [*lines[: FEW_LINES - 1], "... (assert_done() shows all of it)"]
        return [line[:LONGEST_LINE] for line in (self.headline, *lines)]

    def __str__(self) -> str:
        advice = "Record it again if that is meant."
        return "\n".join([self.headline, *self.diff(), *self.notes, advice])


def kind_of(message: Wire) -> tuple[str, str]:
    """What sort of message it is: those of one sort come in their order."""
    request = message.get("request")
    subtype = request.get("subtype") if isinstance(request, dict) else None
    return str(message.get("type")), str(subtype)


def reply_id(message: Wire) -> str | None:
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


def same_form(value: Any, ids: dict[str, str], depth: int = 0) -> Any:
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


def shown(message: Wire | None) -> list[str]:
    """A message as lines for people, the lines of its texts among them."""
    if message is None:
        return ["(nothing)"]
    return json.dumps(message, indent=1, ensure_ascii=False).replace("\\n", "\n    ").splitlines()
