"""
Prompts out of files, and items into files: CSV, JSON lines, Parquet.

An input is read once before anything is sent, so that a broken line, or a column that is
missing, costs nothing; then it is read again, row by row. What can be read only once, such as
a pipe, is kept in memory. Outputs are written item by item.
"""

from __future__ import annotations

import contextlib
import csv
import importlib
import json
import os
import re
from collections.abc import Callable, Iterator
from typing import Any

from ..errors import UsageError
from ..support.files import sendable
from .items import Item, error_as_json

__all__ = ["Table", "kind_of_output", "row_of", "writer_for"]

SEPARATORS = {".csv": ",", ".tsv": "\t"}
# A field may be a long text; by default no more than 128 KiB are read.
LONGEST_FIELD = 1 << 30

# In a template: a column, or a brace that is written twice.
FIELD = re.compile(r"\{\{|\}\}|\{([^{}]+)\}")

# The columns of outputs; those of typed answers stand between.
BEFORE = ("index", "id", "prompt", "answer")
AFTER = ("error", "cost_usd", "attempts", "seconds")
# So many rows are written into a Parquet file at once.
GROUP = 1000
# What JSON Schema calls a type, and what pyarrow does.
ARROW_TYPES = {"string": "string", "integer": "int64", "number": "float64", "boolean": "bool_"}


class Table:
    """
    The prompts of a file. Iterating gives dicts as ``claude_sync.map`` takes them.

    Args:
        path: A ``.csv`` or ``.tsv`` file with a head; any other has JSON lines.
        column: Which column, or key, is the prompt.
        template: A text with ``{column}`` in it, which is the prompt.
        identity: Which column is the id of a row; by default ``id``, where there is one.

    Raises:
        UsageError: Something in the file is wrong; the text says where.

    """

    def __init__(
        self, path: Any, column: str | None, template: str | None, identity: str | None = None
    ) -> None:
        if column is not None and template is not None:
            raise UsageError("give --column or --template, not both.")
        self._path = os.fspath(path)
        self._column = column
        self._template = template
        self._identity = identity
        self._fields = [found[1] for found in FIELD.finditer(template or "") if found[1]]
        if template is not None and not self._fields:
            raise UsageError("the template has no column. Write {text} for the column text.")
        self._separator = SEPARATORS.get(os.path.splitext(self._path)[1].lower())
        # What can be read only once, such as a pipe, is kept.
        self._kept = None if os.path.isfile(self._path) else list(self._rows())
        self._count = sum(1 for _ in self)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for place, row in self._rows() if self._kept is None else self._kept:
            yield self._prompt(place, row)

    def _rows(self) -> Iterator[tuple[str, Any]]:
        """Every row, and where it is."""
        try:
            # With the mark that spreadsheets put at the beginning, and without.
            with open(self._path, encoding="utf-8-sig", newline="") as file:
                yield from (
                    self._json_rows(file) if self._separator is None else self._csv_rows(file)
                )
        except UnicodeDecodeError:
            raise UsageError(f"{self._path} is not UTF-8 text. Convert it first.") from None
        except OSError as error:
            raise UsageError(
                f"{self._path} cannot be read: {error.strerror}. Check its name."
            ) from None

    def _json_rows(self, file: Any) -> Iterator[tuple[str, Any]]:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            place = f"line {number} of {self._path}"
            try:
                row = json.loads(line)
            except ValueError as error:
                raise UsageError(
                    f"{place} is not JSON: {error}. Write one object per line."
                ) from None
            if not isinstance(row, (str, dict)):
                raise UsageError(
                    f"{place} is neither a string nor an object. Write one object per line."
                )
            yield place, row

    def _csv_rows(self, file: Any) -> Iterator[tuple[str, Any]]:
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
                    raise UsageError(
                        f"{place} has more or fewer fields than the header. Fix that line."
                    )
                yield place, row
        except csv.Error as error:
            raise UsageError(f"{self._path} is not CSV: {error}. Fix that line.") from None
        finally:
            csv.field_size_limit(before)

    def _prompt(self, place: str, row: Any) -> dict[str, Any]:
        if isinstance(row, str):
            row = {"prompt": row}
        named = self._fields or [self._column or "prompt"]
        for column in (*named, *([self._identity] if self._identity else [])):
            if column not in row:
                there = ", ".join(map(str, row))
                raise UsageError(
                    f"{place} has no {column!r}; it has {there}. Say which with --column or "
                    "--template."
                )
        made = {"prompt": row[named[0]]}
        if self._template is not None:
            made["prompt"] = FIELD.sub(
                lambda found: str(row[found[1]]) if found[1] else found[0][0], self._template
            )
        identity = row.get(self._identity or "id")
        if identity not in (None, ""):
            made["id"] = identity
        if row.get("attach") and self._separator is None:
            made["attach"] = row["attach"]
        return made


# Outputs.


def kind_of_output(path: str) -> str:
    """What to write, by the name of the file: csv, tsv, parquet or jsonl."""
    ending = os.path.splitext(path)[1].lower()
    return ending[1:] if ending in (".csv", ".tsv", ".parquet") else "jsonl"


def row_of(item: Item) -> dict[str, Any]:
    """A row of a table, with the fields of a typed answer."""
    told = item.as_json()
    data = told.get("data")
    fields = data.items() if isinstance(data, dict) else ()
    if item.error is not None:
        told["error"] = "{type}: {message}".format(**error_as_json(item.error))
    return {
        **{name: told.get(name) for name in BEFORE},
        **{column_of(name): value for name, value in fields},
        **{name: told[name] for name in AFTER},
    }


def column_of(name: str) -> str:
    """The column of a field; a field must not take the place of another column."""
    return f"data.{name}" if name in (*BEFORE, *AFTER) else name


@contextlib.contextmanager
def writer_for(path: Any, kind: str, schema: Any = None) -> Iterator[Callable[[Item], object]]:
    """A function that writes an item into the file; *schema* is that of the typed answers."""
    if kind == "parquet":
        with parquet_writer(path, properties_of(schema)) as write:
            yield write
        return
    # Half a surrogate pair, which a prompt may have, is written as JSON writes it.
    settings: dict[str, Any] = {"encoding": "utf-8", "errors": "backslashreplace"}
    with open(path, "w", newline="" if kind != "jsonl" else "\n", **settings) as file:
        if kind == "jsonl":
            yield lambda item: file.write(json.dumps(item.as_json(), ensure_ascii=False) + "\n")
            return
        fields = [column_of(name) for name in properties_of(schema)]
        separator = "\t" if kind == "tsv" else ","
        table = csv.DictWriter(
            file, [*BEFORE, *fields, *AFTER], extrasaction="ignore", delimiter=separator
        )
        table.writeheader()
        yield lambda item: table.writerow({n: cell(v) for n, v in row_of(item).items()})


def properties_of(schema: Any) -> dict[str, Any]:
    """The fields that typed answers have, with their schemas."""
    found = schema.get("properties") if isinstance(schema, dict) else None
    return found if isinstance(found, dict) else {}


@contextlib.contextmanager
def parquet_writer(path: Any, fields: dict[str, Any]) -> Iterator[Callable[[Item], object]]:
    """As :func:`writer_for`; rows are collected into groups."""
    try:
        arrow = importlib.import_module("pyarrow")
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise UsageError("Parquet needs pyarrow. Install it: pip install pyarrow.") from None
    kinds = {column_of(name): ARROW_TYPES.get(type_of(told), "") for name, told in fields.items()}
    own = {"index": "int64", "cost_usd": "float64", "attempts": "int64", "seconds": "float64"}
    columns = {
        name: own.get(name) or kinds.get(name) or "string" for name in (*BEFORE, *kinds, *AFTER)
    }
    schema = arrow.schema([(name, getattr(arrow, kind)()) for name, kind in columns.items()])
    rows: list[dict[str, Any]] = []
    with parquet.ParquetWriter(os.fspath(path), schema) as file:

        def write(item: Item | None) -> None:
            if item is not None:
                row = row_of(item)
                rows.append({name: cell(row.get(name), kind) for name, kind in columns.items()})
            if rows and (item is None or len(rows) >= GROUP):
                file.write_table(arrow.Table.from_pylist(rows, schema))
                rows.clear()

        yield write
        write(None)


def type_of(told: Any) -> str:
    """The type that a field has beside null; "" if it has several."""
    kinds = told.get("type") if isinstance(told, dict) else None
    if isinstance(told, dict) and kinds is None:
        options = [type_of(each) for each in told.get("anyOf", ()) if each != {"type": "null"}]
        return options[0] if len(options) == 1 else ""
    if isinstance(kinds, list):
        left = [each for each in kinds if each != "null"]
        return left[0] if len(left) == 1 else ""
    return kinds if isinstance(kinds, str) else ""


def cell(value: Any, kind: str = "string") -> Any:
    """A value as a column of this kind takes it; JSON Schema has seen to the others."""
    if value is None or kind != "string":
        return value
    return sendable(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
