"""Prompts out of files: CSV and JSON lines."""

from __future__ import annotations

import csv
import os
import sys
import threading

import pytest
from patience import PATIENCE

from claude_sync import Answer, AskTimeout, Item, UsageError
from claude_sync.batch import tables
from claude_sync.batch.tables import Table, writer_for


@pytest.fixture
def file(tmp_path):
    """Write a file; its path."""

    def write(content, name="rows.jsonl"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def prompts(path, column=None, template=None):
    """The rows as dicts."""
    return list(Table(path, column, template))


def test_json_lines(file):
    """Objects and plain strings; blank lines do not count."""
    path = file('{"prompt": "a", "id": 7, "attach": ["x.png"]}\n\n"b"\n{"prompt": "c"}')
    assert prompts(path) == [
        {"prompt": "a", "id": 7, "attach": ["x.png"]},
        {"prompt": "b"},
        {"prompt": "c"},
    ]
    assert len(Table(path, None, None)) == 3


def test_csv(file):
    """Quotes, lines in fields, the mark of spreadsheets, and an id."""
    content = b'\xef\xbb\xbfid,text\r\n1,"two\nlines, ""quoted"""\r\n,plain\r\n'
    path = file(content, "rows.csv")
    expected = [{"prompt": 'two\nlines, "quoted"', "id": "1"}, {"prompt": "plain"}]
    assert prompts(path, "text") == expected
    assert len(Table(path, "text", None)) == 2
    tabs = file("prompt\tother\na,b\tc\n", "rows.tsv")
    assert prompts(tabs) == [{"prompt": "a,b"}]


def test_long_fields(file):
    """Documents in a cell."""
    path = file("prompt\n" + "x" * 300_000 + "\n", "rows.csv")
    assert len(prompts(path)[0]["prompt"]) == 300_000


def test_a_template(file):
    """Columns by name; braces of the row are no columns."""
    path = file("who,what\nAda,{likes} tea\n", "rows.csv")
    made = prompts(path, template="{who}: {what} {{end}}")
    assert made == [{"prompt": "Ada: {likes} tea {end}"}]
    path = file("review text\nfine\n", "rows.csv")
    assert prompts(path, template="Kind? {review text}") == [{"prompt": "Kind? fine"}]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_pipe_can_be_read_once_and_is(tmp_path):
    """Its rows are there whenever they are wanted."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=('"a"\n"b"\n',), daemon=True)
    writer.start()
    table = Table(path, None, None)
    writer.join(PATIENCE)
    assert len(table) == 2
    assert list(table) == list(table) == [{"prompt": "a"}, {"prompt": "b"}]


@pytest.mark.parametrize(
    ("content", "name", "column", "template", "words"),
    [
        ("{", "a.jsonl", None, None, "line 1 of .* is not JSON"),
        ('"a"\n[1]\n', "a.jsonl", None, None, "line 2 .* neither a string nor an object"),
        ('{"text": "a"}', "a.jsonl", None, None, "has no 'prompt'; it has text"),
        ("a,b\n1,2\n", "a.csv", "c", None, "line 2 .* has no 'c'; it has a, b"),
        ("a,b\n1,2\n3\n", "a.csv", "a", None, "line 3 .* more or fewer fields"),
        ("a,b\n1,2,3\n", "a.csv", "a", None, "more or fewer fields"),
        (b"a\n\xff\n", "a.csv", "a", None, "UTF-8"),
        ("a\n1\n", "a.csv", "a", "{a}", "not both"),
        ("a\n1\n", "a.csv", None, "{b}", "has no 'b'"),
        ("a\n1\n", "a.csv", None, "nothing", "no column"),
        ("a\n1\n", "a.csv", None, "{a.b}", "has no 'a.b'"),
        ("a\n1\n", "a.csv", None, "{}", "no column"),
        ("a\n1\n", "a.csv", None, "{a", "no column"),
        ("a\n1\n", "a.csv", None, "{a:d}", "line 2 .* has no 'a:d'"),
        ("a,a\n1,2\n", "a.csv", "a", None, "two columns 'a'"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(file, content, name, column, template, words):
    """Before anything is asked."""
    with pytest.raises(UsageError, match=words):
        Table(file(content, name), column, template)


# Outputs.

SCHEMA = {
    "type": "object",
    "properties": {
        "n": {"type": "integer"},
        "share": {"type": ["number", "null"]},
        "is_good": {"anyOf": [{"type": "boolean"}, {"type": "null"}]},
        "tags": {"type": "array"},
        "error": {"type": "string"},
    },
}
DATA = {"n": 7, "share": 1, "is_good": True, "tags": ["x"], "error": "none"}


def write(path, kind):
    """An answered and a failed item, in a file of this kind."""
    answer = Answer("yes")
    answer._raw = {"type": "result", "structured_output": DATA}
    items = [
        Item(0, "a\ud800", answer, cost_usd=0.5, attempts=1, seconds=2.0, id=3),
        Item(1, "b", error=AskTimeout(1.0), attempts=1),
    ]
    with writer_for(path, kind, SCHEMA) as add:
        for item in items:
            add(item)


def test_csv_has_a_column_for_each_field(tmp_path):
    """A field that is called as a column of ours has another name."""
    write(tmp_path / "out.csv", "csv")
    with open(tmp_path / "out.csv", encoding="utf-8", newline="") as file:
        first, second = csv.DictReader(file)
    assert (first["index"], first["id"], first["prompt"]) == ("0", "3", "a?")
    assert (first["answer"], first["n"], first["tags"]) == ("yes", "7", '["x"]')
    assert (first["data.error"], first["error"], first["is_good"]) == ("none", "", "true")
    assert second["error"].startswith("AskTimeout: ")
    assert second["n"] == ""


def test_parquet_has_typed_columns(tmp_path, monkeypatch):
    """As the form of the answers has them; rows are written in groups."""
    monkeypatch.setattr(tables, "GROUP", 1)
    parquet = pytest.importorskip("pyarrow.parquet")
    write(tmp_path / "out.parquet", "parquet")
    table = parquet.read_table(tmp_path / "out.parquet")
    kinds = {name: str(table.schema.field(name).type) for name in table.column_names}
    assert (kinds["n"], kinds["share"], kinds["is_good"]) == ("int64", "double", "bool")
    assert (kinds["tags"], kinds["cost_usd"], kinds["attempts"]) == ("string", "double", "int64")
    first, second = table.to_pylist()
    assert (first["n"], first["share"], first["is_good"], first["tags"]) == (7, 1.0, True, '["x"]')
    assert (first["data.error"], first["error"], first["cost_usd"]) == ("none", None, 0.5)
    assert (second["answer"], second["n"]) == (None, None)


def test_without_pyarrow_it_says_what_to_install(tmp_path, monkeypatch):
    """In a sentence."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UsageError, match="pip install pyarrow"):
        write(tmp_path / "out.parquet", "parquet")
