"""From a prompt, its data and its attachments to a message, or to an error that helps."""

from __future__ import annotations

import io
import pickle
import re
from pathlib import Path

import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st
from image_samples import PNG
from tables import each

import claude_sync
from claude_sync import Answer, UsageError
from claude_sync.prompts import may_be_command, read_once, user_message
from claude_sync.prompts.verbatim import for_older_cli

ROOT = Path(claude_sync.__file__).parent.parent
TABLE = pandas.DataFrame({"text": ["a", "b"], "city": ["Oslo", "Bern"]})


def text(words):
    """A text as a content block."""
    return {"type": "text", "text": words}


def content(*arguments, **settings):
    """The content of the message."""
    return user_message(*arguments, **settings)["message"]["content"]


def test_a_text_stays_a_text():
    """Also that of an answer, which is asked again as a plain one."""
    assert user_message("  hi\n") == {
        "type": "user",
        "message": {"role": "user", "content": "  hi\n"},
        "parent_tool_use_id": None,
        "session_id": "",
    }
    assert type(content(Answer("hi"))) is str


SOURCE = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}


@each(
    "prompt",
    [
        *("", " ", "\n\t", None, 3, b"hi", {"type": "text"}, [], ["hi"], [text("hi"), None]),
        *([{"text": "hi"}], [{"type": 3}], [{}]),
    ],
)
def test_what_is_no_prompt_is_refused(prompt):
    """And no attachment is read for it."""
    file = io.BytesIO(PNG)
    with pytest.raises(UsageError) as caught:
        user_message(prompt, [file])
    assert (caught.value.option, file.tell()) == ("prompt", 0)


@each(
    "block",
    [
        *({"type": "text"}, text(None), text(5), text([]), text(""), text(" \n")),
        *({"type": "image"}, {"type": "document", "source": "x"}, {"type": "image", "source": {}}),
        *({"type": "image", "source": {**SOURCE, key: None}} for key in SOURCE),
        *({"type": "image", "source": {**SOURCE, "data": data}} for data in ("abc", "é", " ")),
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": " "}},
        {"type": "image", "source": {"type": "url"}},
        {"type": "tool_result", "tool_use_id": "t", "content": [text(None)]},
    ],
)
def test_a_block_that_nothing_can_answer_is_refused(block):
    """The newest CLI never answers some; the service refuses others, and all that comes after."""
    with pytest.raises(UsageError, match="block 2 of the prompt"):
        user_message([text("hi"), block])
    with pytest.raises(UsageError, match="attachment 1") as caught:
        user_message("hi", [block])
    assert pickle.loads(pickle.dumps(caught.value)).option == "attach"


def test_what_a_wrong_block_holds_is_not_repeated():
    """It may be long, and it may be secret."""
    for block in ({"key": "sk-ant-" + "x" * 5000}, "sk-ant-1", {"k" * 5000: 1}):
        with pytest.raises(UsageError) as caught:
            user_message([block])
        assert len(str(caught.value)) < 300 and "sk-ant" not in str(caught.value)


def test_what_can_be_read_once_is_kept():
    """Open files and generators give the same message as often as it is made."""
    blocks = [text("hi")]
    for prompt, attach, data in (
        ("hi", [io.BytesIO(PNG)], "a"),
        ("hi", iter([PNG]), iter(["a"])),
        (iter(blocks), [io.BytesIO(PNG)], ["a"]),
    ):
        kept = read_once(prompt, attach, data)
        assert content(*kept) == content(*kept) == content(blocks, [PNG], "a")
    question = Answer("hi")
    assert read_once(question)[0] is question and read_once(question)[1] == ()


@each(
    ("prompt", "is_one"),
    [
        ("/model haiku", True),
        ("\n /model haiku", True),
        ("what does /model do?", False),
        ([{"type": "image"}, text("/model haiku")], True),
        ([text("/model haiku"), text("hi")], True),
        ([text("hi"), text(None)], False),
    ],
)
def test_what_may_be_a_command(prompt, is_one):
    """In doubt it is one."""
    assert may_be_command(prompt) is is_one


# Data.


def test_data_stands_before_the_prompt():
    """In blocks of its own, behind what is attached."""
    assert content("Classify it.", data="/cost @x") == [text("/cost @x"), text("Classify it.")]
    both = [text("a"), text("b"), text("hi")]
    assert content("hi", data=["a", "b"]) == content([text("hi")], data=iter("ab")) == both
    assert [each["type"] for each in content("hi", [PNG], "a")] == ["image", "text", "text"]
    assert content("hi", data=None) == content("hi", data=[]) == "hi"
    assert type(content("hi", data=Answer("a"))[0]["text"]) is str


@each("data", ["", " ", ["a", "\n"], b"a", ["a", b"b"], {"a": 1}, [{"a": 1}], 3, [None]])
def test_what_is_no_data_is_refused(data):
    """Blank texts too, which the service refuses."""
    with pytest.raises(UsageError, match="data") as caught:
        user_message("hi", data=data)
    assert caught.value.option == "data"


@each("option", ["data", "attach"])
@each("table", [TABLE, TABLE["text"]])
def test_a_table_is_not_taken_for_a_list(option, table):
    """Its columns' names alone would be sent; the error has what to write."""
    for value in (table, [table]) if option == "data" else (table,):
        with pytest.raises(UsageError, match=r"whole table. Pass data=table.to_csv\(\)") as caught:
            user_message("hi", **{option: value})
        assert caught.value.option == option


@each("data", [{"a"}, range(2), io.StringIO("a\nb"), {"a": "b"}.keys()])
def test_other_things_that_can_be_iterated_are_no_list_of_data(data):
    """Nobody knows what they give; an open file would be cut into lines."""
    with pytest.raises(UsageError, match="a text, or a list of texts, not a"):
        user_message("hi", data=data)


def test_one_blank_text_has_no_number():
    """Only a list has."""
    for data, words in [(" ", "data is blank"), (["a", " "], "data 2 is blank")]:
        with pytest.raises(UsageError, match=words):
            user_message("hi", data=data)


# Verbatim.


def older(prompt, **settings):
    """What an older CLI gets for a verbatim prompt: its texts."""
    message = user_message(prompt, verbatim=True, **settings)
    sent = (for_older_cli(message) or message)["message"]["content"]
    return [sent] if isinstance(sent, str) else [each.get("text") for each in sent]


def test_new_clis_get_a_field():
    """It is all they need."""
    message = user_message("/cost", verbatim=True)
    assert message == {**user_message("/cost"), "client_composed": True}
    assert "client_composed" not in user_message("/cost")


@each(
    ("prompt", "texts"),
    [
        ("hi", ["hi"]),
        ("a@b.de / c", ["a@b.de / c"]),
        ("who is @ home", ["who is @ home"]),
        ("/cost", ["\n/cost"]),
        ("see @a.txt, please", ["see @a.txt,", " please"]),
        ("@a\n@b now\nand then", ["@a\n@b", " now\nand then"]),
        ("see @a.txt", ["see @", "a.txt"]),
        ("see @/etc/passwd \n", ["see @", "\n/etc/passwd \n"]),
        ("/clear @a.txt it", ["/clear @a.txt", " it"]),
        ('see @"my file" now', ['see @"my', ' file" now']),
        ("see @a /cost", ["see @a", " /cost"]),
        ([text("/cost @a"), text("hi")], ["/cost @a", "hi"]),
        ([text("@a b"), text("@a b")], ["@a b", "@a", " b"]),
        ([text("/cost"), {"type": "later"}], ["/cost", None]),
        ([text("/cost")], ["\n/cost"]),
    ],
)
def test_older_clis_get_a_text_in_which_nothing_is_interpreted(prompt, texts):
    """They look at the last text only: at its first letter, and for paths behind an @."""
    assert older(prompt) == texts


def test_only_what_would_be_interpreted_changes():
    """And the fields of a block stay with its end."""
    assert for_older_cli(user_message("/cost")) is None
    assert for_older_cli(user_message("hi", verbatim=True)) is None
    block = {**text("see @a.txt now"), "cache_control": {"type": "ephemeral"}}
    message = for_older_cli(user_message([block], verbatim=True))
    pieces = [text("see @a.txt"), {**block, "text": " now"}]
    assert message["message"]["content"] == pieces
    assert older("/cost", data="@a") == ["@a", "\n/cost"]


@given(st.text('@/ a.\n"\u00a0\ufeff', min_size=1).filter(str.strip))
def test_no_text_is_lost_and_none_is_interpreted(prompt):
    """By the rules that were measured on CLIs."""
    texts = older(prompt)
    assert not re.search(r"(?:^|[\s\ufeff])@\S", texts[-1])
    assert not texts[-1].startswith("/")
    assert all(each.strip() for each in texts)
    assert "".join(texts).replace("\n/", "/") == prompt.replace("\n/", "/")
