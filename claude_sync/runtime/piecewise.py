"""
Hide secrets that arrive in pieces: the deltas of a text that is still being written.

A key that comes in two deltas is in neither of them, and yet whoever joins the deltas
of a recording reads it. So the end of a delta is held back as long as it may be the
beginning of a secret, and recorded with the next delta of the same block. Joined, the
recorded deltas say what was said, secrets excepted; only where they are cut differs.

Decisions taken here and nowhere else:

* Held back is the last word, because every secret that is known by its form is one
  word; and what is before it if a secret follows that: ``password: ``, an open quote
  after such a name, the beginning of a private key.
* When a block ends, what was held back of it is a delta of its own. What a program
  that is killed has held back is not recorded: a few words of a text that is never
  complete.
* No more than ``LONGEST_HELD`` is held back. A longer word is no secret.
"""

from __future__ import annotations

import re
from typing import Any, Dict, List, Mapping, Optional, Tuple

from .concealing import Concealer
from .redaction import NAMES, PEM_NAME, SECRET

__all__ = ["Piecewise"]

# Kinds of delta that are pieces of a text, and the field it is in.
FIELDS = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "input_json_delta": "partial_json",
}

# What ends every block of whoever speaks. The complete text of a block, in an assistant
# message, comes just before the end of its stream: nothing of the stream may come later.
ENDS = ("assistant", "message_start", "message_stop", "result")

LONGEST_HELD = 16 * 1024
# How far before the last word its name may begin.
LONGEST_NAME = 200

LEAD_WORDS = (*NAMES, "bearer", "basic", "-u")
# What comes before a secret and is not part of it; at the end of a text.
LEAD = re.compile(
    rf"""(?:{SECRET}(?:\\*["'])?\s*(?:[=:]\s*(?:\\*["']\s*)?(?:Bearer|Basic)?)?"""
    r"|Bearer|Basic|-u|--user)\s*\Z",
    re.IGNORECASE,
)
OPEN_QUOTE = re.compile(rf"""{SECRET}(?:\\*["'])?\s*[=:]\s*(\\*["'])""", re.IGNORECASE)
# A header that is a secret up to its end.
HEADER = re.compile(r"(?:authorization|cookie)\s*[=:][^\"'\n]*\Z", re.IGNORECASE)
PEM_BEGIN = "-----BEGIN "
# The name of what begins is not complete, or is that of a private key.
PEM_OPEN = re.compile(rf"{PEM_BEGIN}(?:[A-Z0-9 ]{{0,60}}-{{0,5}}\Z|{PEM_NAME})")
PEM_END = re.compile(rf"-----END {PEM_NAME}")

Key = Tuple[Any, Any, str]


class Held:
    """The end of a block so far, and a delta of it to record that with."""

    __slots__ = ("message", "text")

    def __init__(self) -> None:
        self.text = ""
        self.message: Mapping[str, Any] = {}


class Piecewise:
    """The blocks that are being written. Not thread-safe; one for each recording."""

    def __init__(self, concealer: Concealer) -> None:
        self._concealer = concealer
        self._held: Dict[Key, Held] = {}

    def record(
        self, message: Mapping[str, Any], harmless: bool = False
    ) -> Optional[List[Mapping[str, Any]]]:
        """
        What to record instead of a message; None: what is recorded of any other.

        A delta becomes one, with its text changed. The end of a block becomes two, if
        something was held back. *harmless*: by itself, nothing in it is to be hidden.
        """
        kind = message.get("type")
        parent = hashable(message.get("parent_tool_use_id"))
        if kind == "stream_event":
            event = message.get("event")
            if not isinstance(event, dict):
                return None
            index = hashable(event.get("index"))
            kind = event.get("type")
            delta = event.get("delta")
            if kind == "content_block_delta" and isinstance(delta, dict):
                return self._delta(message, parent, index, delta, harmless)
            if kind == "content_block_stop":
                return self._last(
                    [key for key in self._held if key[:2] == (parent, index)], message
                )
        if kind in ENDS:
            return self._last([key for key in self._held if key[0] == parent], message)
        return None

    def flush(self) -> List[Mapping[str, Any]]:
        """Everything that is held back: nothing more comes."""
        return self._rest_of(list(self._held))

    def _delta(
        self, message: Mapping[str, Any], parent: Any, index: Any, delta: Any, harmless: bool
    ) -> Optional[List[Mapping[str, Any]]]:
        field = FIELDS.get(str(delta.get("type")))
        text = delta.get(field) if field is not None else None
        if field is None or not isinstance(text, str):
            return None
        shown = self._grow((parent, index, field), text, message)
        return [self._with_text(message, field, shown, harmless)]

    def _last(
        self, keys: List[Key], message: Mapping[str, Any]
    ) -> Optional[List[Mapping[str, Any]]]:
        """What was held back of blocks, and then the message that ends them."""
        rest = self._rest_of(keys)
        return [*rest, self._concealer.message(message)] if rest else None

    def _grow(self, key: Key, text: str, message: Mapping[str, Any]) -> str:
        held = self._held.get(key)
        if held is None:
            held = self._held[key] = Held()
        text = held.text + text
        cut = safe_length(text) if len(text) <= LONGEST_HELD else len(text)
        held.text = text[cut:]
        held.message = message
        return self._concealer.text(text[:cut])

    def _rest_of(self, keys: List[Key]) -> List[Mapping[str, Any]]:
        rest = []
        for key in keys:
            held = self._held.pop(key)
            if held.text:
                shown = self._concealer.text(held.text)
                rest.append(self._with_text(held.message, key[2], shown))
        return rest

    def _with_text(
        self, message: Mapping[str, Any], field: str, text: str, harmless: bool = False
    ) -> Mapping[str, Any]:
        """A copy of a delta with another text; everything else in it can be shown."""
        event = message["event"]
        shown = {**message, "event": {**event, "delta": {**event["delta"], field: ""}}}
        if not harmless:
            shown = self._concealer.message(shown)
        shown["event"]["delta"][field] = text
        return shown


def safe_length(text: str) -> int:
    """How much of *text* can be recorded, whatever follows."""
    end = start_of_word(text, len(text))
    begin = text.rfind(PEM_BEGIN)
    if begin >= 0 and PEM_OPEN.match(text, begin):
        pem_end = PEM_END.search(text, begin)
        if pem_end is None or pem_end.end() > end:
            return start_of_word(text, begin)
    lowered = text[:end].lower()
    if not any(word in lowered for word in LEAD_WORDS):
        return end
    header = HEADER.search(text, 0, end)
    if header is not None:
        return start_of_word(text, header.start())
    before = text[max(0, end - LONGEST_NAME) : end]
    lead = LEAD.search(before)
    if lead is not None:
        return start_of_word(text, end - len(before) + lead.start())
    quotes = list(OPEN_QUOTE.finditer(text, 0, end))
    if quotes:
        rest = text[quotes[-1].end() : end]
        if quotes[-1][1] not in rest and "\n" not in rest:
            return start_of_word(text, quotes[-1].start())
    return end


def start_of_word(text: str, place: int) -> int:
    """Where the word begins in which *place* is, or that ends there."""
    return (
        max(text.rfind(" ", 0, place), text.rfind("\n", 0, place), text.rfind("\t", 0, place)) + 1
    )


def hashable(value: Any) -> Any:
    """*value*, as a key; a CLI may say anything."""
    return value if isinstance(value, (str, int)) else None
