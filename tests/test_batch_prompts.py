"""Prompts of any kind, read one at a time."""

from __future__ import annotations

import pytest
from tables import each

from claude_sync import UsageError
from claude_sync.batches.prompts import check_prompts, length_of, tasks_of


def test_texts_dicts_and_blocks():
    """Each is a prompt, with its own attachments and id."""
    blocks = [{"type": "text", "text": "c"}]
    given = ["a", {"prompt": "b", "attach": [b"x"], "id": 7}, {"prompt": blocks}, blocks]
    tasks = list(tasks_of(given, "run"))
    assert [task.prompt for task in tasks] == ["a", "b", blocks, blocks]
    assert [task.index for task in tasks] == [0, 1, 2, 3]
    assert (tasks[1].attach, tasks[1].id) == ([b"x"], 7)
    assert [task.error for task in tasks] == [None] * 4
    assert {task.run for task in tasks} == {"run"}
    assert len({task.digest for task in tasks}) == 3


@each(
    ("prompt", "words"),
    [
        ("  ", "blank"),
        (None, "not NoneType"),
        (1.5, "not float"),
        ({"prompt": "a", "attachments": []}, "unknown key 'attachments'"),
        ({"id": 1}, "has no 'prompt'"),
        ({"type": "text", "text": "a"}, "not dict"),
    ],
)
def test_what_cannot_be_asked_is_a_task_with_an_error(prompt, words):
    """And the next one is read."""
    first, second = tasks_of([prompt, "b"], "")
    assert words in str(first.error)
    assert second.error is None


def test_nothing_is_read_ahead():
    """A generator is used as far as its tasks are."""
    read = []

    def prompts():
        for number in range(3):
            read.append(number)
            yield str(number)

    tasks = tasks_of(prompts(), "")
    assert read == []
    next(tasks)
    assert read == [0]
    assert length_of(prompts()) is None
    assert length_of(["a"]) == 1


def test_labels_of_a_column():
    """Whatever has items() and iloc is one."""

    class Column:
        iloc = None

        def items(self):
            return iter([("x", "a"), ("y", {"prompt": "b", "id": "z"})])

    assert [task.id for task in tasks_of(Column(), "")] == ["x", "z"]


def test_collections_are_fine_and_other_things_are_not():
    """One text is not a collection of texts."""
    for fine in (["a"], ("a",), {"a"}, iter("a"), (one for one in "a")):
        check_prompts(fine)
    for wrong in ("a", b"a", {"a": 1}, 7, None):
        with pytest.raises(UsageError):
            check_prompts(wrong)
