"""
Hide secrets that arrive in pieces: the deltas of a text that is still being written.

A key that comes in two deltas is in neither of them, and yet whoever joins the deltas
of a recording reads it. So the end of a delta is held back as long as it may be the
beginning of a secret, and recorded with the next delta of the same block. Joined, the
recorded deltas say what was said, secrets excepted; only where they are cut differs.

Decisions taken here and nowhere else:

* Held back is the last word, because every secret that is known by its form is one
  word; and what is before it if a secret follows that: see ``holding``.
* When a block ends, what was held back of it is a delta of its own. What a program
  that is killed has held back is not recorded: a few words of a text that is never
  complete.
* No more than ``LONGEST_HELD`` is held back. Of more, nothing is recorded until the end
  of what may be a secret: of a quote, a private key, a word.
* Time is in proportion to the length of the text: what is held back is not looked through
  again before it has grown by half.
"""

from __future__ import annotations

import re
from typing import Any, Dict, List, Mapping, Match, Optional, Pattern, Tuple

from ...support.conceal import Concealer
from .holding import Hold, safe_length, start_of_word

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
# Less than this is looked through each time.
SHORT = 256
# What is remembered of a text that is not recorded, to find its end.
LONGEST_END = 120

# An escape of a plain character in JSON: whatever it is, it is hidden as what it is.
ESCAPE = re.compile(r"(?<!\\)((?:\\\\)*)\\u00([2-7][0-9A-Fa-f])")

Key = Tuple[Any, Any, str]


class Held:
    """The end of a block so far, and a delta of it to record that with."""

    __slots__ = ("enough", "hidden_until", "message", "text")

    def __init__(self) -> None:
        self.text = ""
        # How long the text is when it is looked through again.
        self.enough = 0
        # What ends a secret that is too long to be held; the text is the end of it.
        self.hidden_until: Optional[Pattern[str]] = None
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
        held.message = message
        held.text += text
        if held.hidden_until is not None and not reaches_end(held, held.hidden_until):
            return ""
        if len(held.text) < min(held.enough, LONGEST_HELD):
            return ""
        unescape(held, key)
        return self._release(held)

    def _release(self, held: Held) -> str:
        """What can be shown of a text; the rest is held."""
        text = held.text
        cut, hold = safe_length(text, self._concealer.spaced)
        if len(text) - cut > LONGEST_HELD:
            # A long text without blanks may be cut at other characters as well.
            cut, hold = safe_length(text, self._concealer.spaced, is_dense=True)
            if len(text) - cut > LONGEST_HELD // 2:
                return self._give_up(held, cut, hold)
        held.text = text[cut:]
        held.enough = len(held.text) * 3 // 2 if len(held.text) > SHORT else 0
        return self._concealer.text(text[:cut])

    def _give_up(self, held: Held, cut: int, hold: Hold) -> str:
        """What is shown of a text that goes on for too long; then nothing, up to its end."""
        text = held.text
        # The last word was not looked at: it may be the end.
        end = len(text) if hold.is_word else max(cut, start_of_word(text, len(text)))
        secret = text[cut:end]
        shown = self._concealer.text(text[:cut] if hold.is_word else text[:end])
        if hold.is_word or hold.is_before:
            shown += self._concealer.secret(secret)
        # What ends a key may begin in what is left of it; of anything else, only what is
        # before a quote counts: what was open is not to be found again.
        left = secret[-LONGEST_END:] if hold.is_key else " " if hold.is_before else secret[-1:]
        held.text, held.hidden_until, held.enough = left + text[end:], hold.end, 0
        return shown + self._release(held) if reaches_end(held, hold.end) else shown

    def _rest_of(self, keys: List[Key]) -> List[Mapping[str, Any]]:
        rest = []
        for key in keys:
            held = self._held.pop(key)
            if held.text and held.hidden_until is None:
                unescape(held, key)
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


def reaches_end(held: Held, end: Pattern[str]) -> bool:
    """Whether a secret that is not recorded ends in this text; what follows it is left."""
    # Not at the first character: that was looked at before, with those before it.
    found = end.search(held.text, 1)
    if found is None:
        held.text = held.text[-LONGEST_END:]
        return False
    held.text = held.text[found.end() :]
    held.hidden_until = None
    return True


def unescape(held: Held, key: Key) -> None:
    """Pieces of JSON become some that mean the same, with fewer escapes."""

    def plain(found: Match[str]) -> str:
        character = chr(int(found[2], 16))
        return found[0] if character in '"\\\x7f' else found[1] + character

    if key[2] == FIELDS["input_json_delta"] and "\\u00" in held.text:
        held.text = ESCAPE.sub(plain, held.text)


def hashable(value: Any) -> Any:
    """*value*, as a key; a CLI may say anything."""
    return value if isinstance(value, (str, int)) else None
