"""What goes into a batch and what comes out of it."""

from __future__ import annotations

import datetime
from pathlib import Path

from tables import each

from claude_sync.batch.items import Item, Prompts, plain


def test_an_item_as_plain_values_has_no_secrets():
    """Errors may quote what was sent."""
    error = RuntimeError("bad key sk-ant-api03-" + "x" * 40)
    told = Item(3, ["block"], error=error, id=Path("name")).as_json()
    assert told["error"]["type"] == "RuntimeError"
    assert "xxxx" not in told["error"]["message"]
    assert (told["index"], told["id"], told["prompt"]) == (3, "name", ["block"])


def test_plain_values():
    """Whatever a table or a prompt holds becomes something that JSON knows."""

    class Number:
        def item(self):
            return 7

    assert plain({1: (Path("x"), None, True)}) == {"1": ["x", None, True]}
    assert plain(Number()) == 7
    assert plain(object()) == "<object>"
    assert len(plain(b"bytes")) == 64
    assert plain(datetime.date(2024, 2, 29)) == "2024-02-29"
    assert plain([float("nan"), float("inf"), 1.5]) == ["nan", "inf", 1.5]


def tasks_of(given, **settings):
    """The prompts as tasks."""
    return list(Prompts(given, **settings).tasks(with_digests=True))


def test_texts_dicts_and_blocks():
    """Everything that a prompt may be."""
    blocks = [{"type": "text", "text": "c"}]
    given = ["a", {"prompt": "b", "attach": [b"file"], "id": 7}, blocks]
    first, second, third = tasks_of(given)
    assert (first.prompt, first.attach, first.id, first.error) == ("a", (), None, None)
    assert (second.prompt, second.attach, second.id, second.key) == ("b", [b"file"], 7, 1)
    assert third.prompt == blocks


def test_a_question_about_attachments_needs_no_text():
    """Each row is a file then."""
    (file, nothing) = tasks_of([{"attach": [b"file"]}, {"id": 7}], question="Explain")
    assert file.content() == tasks_of([{"prompt": "Explain", "attach": [b"file"]}])[0].content()
    assert (file.prompt, file.error) == ("Explain", None)
    assert "has no 'prompt'" in str(nothing.error)


@each(
    ("prompt", "words"),
    [
        (" ", "is blank"),
        (7, "not int"),
        ({"promt": "x"}, "unknown key 'promt'"),
        ({"attach": []}, "has no 'prompt'"),
        ({"prompt": None}, "not NoneType"),
    ],
)
def test_what_cannot_be_asked_is_a_task_with_an_error(prompt, words):
    """The others go on."""
    bad, good = tasks_of([prompt, "fine"])
    assert words in str(bad.error)
    assert good.error is None


@each(
    ("prompt", "identify", "words"),
    [
        ({"prompt": "a"}, "name", "has no 'name', which id= names"),
        ("a", "name", "has no 'name'"),
        ("a", lambda prompt: 1 / 0, "division by zero"),
    ],
)
def test_a_prompt_without_its_id_is_told(prompt, identify, words):
    """It could not be found again."""
    (task,) = tasks_of([prompt], identify=identify)
    assert words in str(task.error)


def test_labels_of_a_column_are_ids():
    """Whatever the table calls its rows."""

    class Column:
        iloc = None

        def items(self):
            return iter([("x", "a"), ("y", "b")])

    assert [(task.id, task.prompt) for task in tasks_of(Column())] == [("x", "a"), ("y", "b")]
    assert [task.key for task in tasks_of(Column(), identify="label")] == ["x", "y"]
