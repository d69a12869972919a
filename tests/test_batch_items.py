"""What goes into a batch and what comes out of it."""

from __future__ import annotations

import datetime
from pathlib import Path

from tables import each

from claude_sync import Answer, AskTimeout
from claude_sync.batches.items import Item, Task, digest_of, plain


def test_an_item_is_an_answer_or_an_error():
    """And knows which."""
    answer = Answer("yes")
    answer.data = {"n": 1}
    assert Item(0, "a", answer).ok
    assert Item(0, "a", answer).data == {"n": 1}
    failed = Item(0, "a", error=AskTimeout(1.0))
    assert not failed.ok
    assert failed.data is None


def test_an_item_as_plain_values_has_no_secrets():
    """Errors may quote what was sent."""
    error = RuntimeError("bad key sk-ant-api03-" + "x" * 40)
    told = Item(3, ["block"], error=error, id=Path("name")).as_json()
    assert told["error"]["type"] == "RuntimeError"
    assert "xxxx" not in told["error"]["message"]
    assert (told["index"], told["id"], told["prompt"]) == (3, "name", ["block"])


@each(
    ("first", "second"),
    [
        (("a", ()), ("b", ())),
        (("a", ()), ("a", ["file"])),
        (("a", [b"1"]), ("a", [b"2"])),
        (([{"type": "text", "text": "a"}], ()), ([{"type": "text", "text": "b"}], ())),
    ],
)
def test_other_prompts_have_other_digests(first, second):
    """Text, blocks and attachments count; the same is the same."""
    assert digest_of(*first) != digest_of(*second)
    assert digest_of(*first) == digest_of(*first)
    assert digest_of("\ud800", ()) != digest_of("a", ())


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


def test_a_worker_gets_no_errors():
    """They may not pickle."""
    task = Task(0, "a", last_error=ZeroDivisionError(), attempts=2)
    sent = task.to_send()
    assert (sent.last_error, sent.attempts, sent.prompt) == (None, 2, "a")
    assert task.last_error is not None
