"""
Prompts out of files: CSV, and JSON lines.

The whole file is read once before anything is sent, so that a broken line, or a column that
is missing, costs nothing; then it is read again, row by row. What can be read only once, such
as a pipe, is kept in memory.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import stat
import string
from typing import Any, Dict, Iterator, List, Optional, Tuple

from ..errors import UsageError

__all__ = ["Table"]

SEPARATORS = {".csv": ",", ".tsv": "\t"}
# A field may be a long text; by default no more than 128 KiB are read.
LONGEST_FIELD = 1 << 30


class Table:
    """
    The prompts of a file. Iterating gives dicts as ``claude_sync.map`` takes them.

    Args:
        path: A ``.csv`` or ``.tsv`` file with a head; any other has JSON lines.
        column: Which column, or key, is the prompt.
        template: A text with ``{column}`` in it, which is the prompt.

    Raises:
        UsageError: Something in the file is wrong; the text says where.

    """

    def __init__(self, path: Any, column: Optional[str], template: Optional[str]) -> None:
        if column is not None and template is not None:
            raise UsageError("give --column or --template, and not both.")
        self._path = os.fspath(path)
        self._column = column
        self._template = template
        self._fields = [] if template is None else fields_of(template)
        self._separator = SEPARATORS.get(os.path.splitext(self._path)[1].lower())
        self._content = content_of_pipe(self._path)
        self._count = sum(1 for _ in self)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Dict[str, Any]]:
        for place, row in self._rows():
            yield self._prompt(place, row)

    def _rows(self) -> Iterator[Tuple[str, Any]]:
        """Every row, and where it is."""
        try:
            # With the mark that spreadsheets put at the beginning, and without.
            with self._file() as file:
                if self._separator is None:
                    yield from self._json_rows(file)
                else:
                    yield from self._csv_rows(file)
        except UnicodeDecodeError:
            raise UsageError(f"{self._path} is not a text in UTF-8. Convert it first.") from None
        except OSError as error:
            raise UsageError(
                f"{self._path} cannot be read: {error.strerror}. Check its name."
            ) from None

    def _file(self) -> Any:
        if self._content is None:
            return open(self._path, encoding="utf-8-sig", newline="")
        return io.TextIOWrapper(io.BytesIO(self._content), encoding="utf-8-sig", newline="")

    def _json_rows(self, file: Any) -> Iterator[Tuple[str, Any]]:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            place = f"line {number} of {self._path}"
            try:
                row = json.loads(line)
            except ValueError as error:
                raise UsageError(f"{place} is no JSON: {error}. Write one object a line.") from None
            if not isinstance(row, (str, dict)):
                raise UsageError(f"{place} is no text and no object. Write one object a line.")
            yield place, row

    def _csv_rows(self, file: Any) -> Iterator[Tuple[str, Any]]:
        before = csv.field_size_limit(LONGEST_FIELD)
        try:
            reader = csv.DictReader(file, delimiter=self._separator or ",")
            names = list(reader.fieldnames or ())
            twice = [name for name in names if names.count(name) > 1]
            if twice:
                raise UsageError(f"{self._path} has two columns {twice[0]!r}. Rename one of them.")
            for row in reader:
                place = f"line {reader.line_num} of {self._path}"
                if None in row or None in row.values():
                    raise UsageError(f"{place} has more or fewer fields than the head. Mend it.")
                yield place, row
        except csv.Error as error:
            raise UsageError(f"{self._path} is no CSV: {error}. Mend it.") from None
        finally:
            csv.field_size_limit(before)

    def _prompt(self, place: str, row: Any) -> Dict[str, Any]:
        if isinstance(row, str):
            row = {"prompt": row}
        made: Dict[str, Any] = {}
        if self._template is not None:
            for field in self._fields:
                self._check(place, row, field)
            try:
                made["prompt"] = self._template.format(**{key: row[key] for key in self._fields})
            except (ValueError, LookupError) as error:
                raise UsageError(f"the template does not fit {place}: {error}. Mend it.") from None
        else:
            column = self._column or "prompt"
            self._check(place, row, column)
            made["prompt"] = row[column]
        if row.get("id") not in (None, ""):
            made["id"] = row["id"]
        if row.get("attach") and self._separator is None:
            made["attach"] = row["attach"]
        return made

    def _check(self, place: str, row: Dict[str, Any], column: str) -> None:
        if column not in row:
            there = ", ".join(map(str, row))
            raise UsageError(
                f"{place} has no {column!r}; it has {there}. Say which with --column or --template."
            )


def content_of_pipe(path: str) -> Optional[bytes]:
    """What is in something that can be read only once; None for files, which wait."""
    with contextlib.suppress(OSError):
        mode = os.stat(path).st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            with open(path, "rb") as file:
                return file.read()
    return None


def fields_of(template: str) -> List[str]:
    """The columns that a template names."""
    try:
        fields = [name for _, name, _, _ in string.Formatter().parse(template) if name is not None]
    except ValueError as error:
        raise UsageError(f"the template is wrong: {error}. Write {{{{ for a brace.") from None
    # A number, a point and a bracket have a meaning of their own there.
    odd = [name for name in fields if not name or name.isdigit() or set(".[") & set(name)]
    if odd or not fields:
        what = f"{{{odd[0]}}} in the template is no column" if odd else "the template has no column"
        raise UsageError(f"{what}. Write {{text}} for the column text, and {{{{ for a brace.")
    return list(dict.fromkeys(fields))
