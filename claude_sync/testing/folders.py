"""
Folders that are others in every run: what stands for them in a recording.

::

    x.jsonl -> Recording -> lives -> replay -> [folders] -> reader -> lines -> messages

A test works in a folder of its own, whose name is new each time. In its recording that folder
is ``<tmp_path>``, so that what a program said then and says now can be compared, and what the
CLI said then is about the folder of now.

Decision taken here and nowhere else: a name that goes over several pieces of a stream is put
into the piece in which it begins.
"""

from __future__ import annotations

import json
import os
import re
from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple

__all__ = ["Folders"]

Wire = Dict[str, Any]

# The pieces of a stream, and where their words are.
PIECES = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}
# Its text is JSON, or a piece of it.
JSON_FIELD = "partial_json"


class Folders:
    """
    What stands for each folder.

    Args:
        folders: The folders of this run, by what stands for them: ``{"<tmp_path>": "/tmp/x"}``.
        others: Further ways to write a folder, by what stands for it.

    """

    def __init__(
        self,
        folders: Optional[Mapping[str, str]] = None,
        others: Iterable[Tuple[str, str]] = (),
    ) -> None:
        self._shown = {name: os.fspath(folder) for name, folder in (folders or {}).items()}
        self._names: Dict[str, str] = {}
        for name, folder in [*self._shown.items(), *others]:
            for form in (folder, escaped(folder)):
                self._names[form] = name
        # Long ones first: one may be inside another. Not /tmp/x1 for /tmp/x.
        forms = sorted(self._names, key=len, reverse=True)
        pattern = "|".join(re.escape(form) for form in forms)
        self._pattern = re.compile(rf"(?:{pattern})(?!\w)") if forms else None

    def hidden(self, value: Any) -> Any:
        """A JSON value, in which names stand for the folders."""
        if self._pattern is None:
            return value
        if isinstance(value, str):
            return self._pattern.sub(lambda found: self._names[found[0]], value)
        if isinstance(value, dict):
            return {self.hidden(key): self.hidden(part) for key, part in value.items()}
        if isinstance(value, list):
            return [self.hidden(part) for part in value]
        return value

    def shown(self, value: Any, is_json: bool = False) -> Any:
        """The value again, with the folders of this run."""
        if isinstance(value, str):
            for name, folder in self._shown.items():
                if name in value:
                    value = value.replace(name, escaped(folder) if is_json else folder)
            return value
        if isinstance(value, dict):
            return {
                self.shown(key): self.shown(part, key == JSON_FIELD) for key, part in value.items()
            }
        if isinstance(value, list):
            return [self.shown(part) for part in value]
        return value

    def hide_in(self, path: str) -> None:
        """Write a recording anew, in which names stand for the folders."""
        if self._pattern is None:
            return
        with open(path, encoding="utf-8", errors="surrogateescape", newline="") as file:
            lines = file.read().split("\n")
        records = [parsed(line) for line in lines]
        self._join_pieces([each for each in records if each is not None])
        written = [
            line if record is None else json.dumps(self.hidden(record), separators=(",", ":"))
            for line, record in zip(lines, records)
        ]
        with open(path, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
            file.write("\n".join(written))

    def _join_pieces(self, records: List[Wire]) -> None:
        """See to it that no folder goes over several pieces of a stream."""
        begun: Dict[Tuple[Any, ...], List[Tuple[Wire, str]]] = {}
        for record in records:
            place, piece = piece_of(record)
            if piece is not None:
                begun.setdefault(place, []).append(piece)
            elif place in begun:  # another block, or its end
                self._move_cuts(begun.pop(place))
        for pieces in begun.values():
            self._move_cuts(pieces)

    def _move_cuts(self, pieces: List[Tuple[Wire, str]]) -> None:
        assert self._pattern is not None
        text = "".join(delta[field] for delta, field in pieces)
        spans = [found.span() for found in self._pattern.finditer(text)]
        begin = place = 0
        for delta, field in pieces:
            place += len(delta[field])
            end = max([place, *(stop for start, stop in spans if start < place < stop)])
            delta[field] = text[begin:end]
            begin = max(begin, end)


def escaped(folder: str) -> str:
    """A folder as it is inside the quotes of JSON."""
    return json.dumps(folder, ensure_ascii=False)[1:-1]


def parsed(line: str) -> Optional[Wire]:
    """The record in a line; None if it is none."""
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None


def piece_of(record: Wire) -> Tuple[Tuple[Any, ...], Optional[Tuple[Wire, str]]]:
    """Which block a record is about, and, if it is a piece of it, the piece and its field."""
    message = record.get("msg")
    event = message.get("event") if isinstance(message, dict) else None
    if not isinstance(message, dict) or not isinstance(event, dict):
        return (), None
    place = (record.get("run"), message.get("parent_tool_use_id"), event.get("index"))
    delta = event.get("delta")
    field = PIECES.get(str(delta.get("type"))) if isinstance(delta, dict) else None
    if isinstance(delta, dict) and field is not None and isinstance(delta.get(field), str):
        return place, (delta, field)
    return place, None
