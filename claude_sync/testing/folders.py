"""
Folders that are others in every run: what stands for them in a recording.

::

    x.jsonl -> Recording -> lives -> replay -> [folders] -> reader -> lines -> messages

A test works in a folder of its own, whose name is new each time. In its recording that folder
is ``<tmp_path>``, so that what a program said then and says now can be compared, and what the
CLI said then is about the folder of now.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

__all__ = ["Folders"]

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
        self, folders: Mapping[str, str] | None = None, others: Iterable[tuple[str, str]] = ()
    ) -> None:
        self._shown = {name: os.fspath(folder) for name, folder in (folders or {}).items()}
        self._names: dict[str, str] = {}
        for name, folder in [*self._shown.items(), *others]:
            for form in (folder, escaped(folder)):
                self._names[form] = name
        # Long ones first: one may be inside another. Not /tmp/x1 for /tmp/x.
        forms = sorted(self._names, key=len, reverse=True)
        self._pattern = re.compile(rf"(?:{'|'.join(map(re.escape, forms))})(?!\w)")

    def hidden(self, value: Any) -> Any:
        """A JSON value, in which names stand for the folders."""
        if not self._names:
            return value
        return mapped(value, lambda text, _: self._pattern.sub(lambda m: self._names[m[0]], text))

    def shown(self, value: Any) -> Any:
        """The value again, with the folders of this run."""
        return mapped(value, self._show)

    def _show(self, text: str, field: str) -> str:
        for name, folder in self._shown.items():
            text = text.replace(name, escaped(folder) if field == JSON_FIELD else folder)
        return text

    def hide_in(self, path: str) -> None:
        """Write a recording anew, in which names stand for the folders."""
        if not self._names:
            return
        with open(path, encoding="utf-8", errors="surrogateescape", newline="") as file:
            lines = file.read().split("\n")
        with open(path, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
            file.write("\n".join(self._hidden_line(line) for line in lines))

    def _hidden_line(self, line: str) -> str:
        try:
            return json.dumps(self.hidden(json.loads(line)), separators=(",", ":"))
        except ValueError:
            return line


def mapped(value: Any, change: Callable[[str, str], str], field: str = "") -> Any:
    """A JSON value with every text changed; *change* also gets the name of its field."""
    if isinstance(value, str):
        return change(value, field)
    if isinstance(value, dict):
        return {change(key, ""): mapped(part, change, key) for key, part in value.items()}
    return [mapped(part, change) for part in value] if isinstance(value, list) else value


def escaped(folder: str) -> str:
    """A folder as it is inside the quotes of JSON."""
    return json.dumps(folder, ensure_ascii=False)[1:-1]
