"""From a prompt and its attachments to a message, or to an error that helps."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest
from image_samples import PDF, PNG

import claude_sync
from claude_sync.answers import Answer
from claude_sync.errors import UsageError
from claude_sync.prompts import may_be_command, read_once, user_message

ROOT = Path(claude_sync.__file__).parent.parent


def content(prompt, attach=()):
    """The content of the message."""
    return user_message(prompt, attach)["message"]["content"]


def test_a_text_stays_a_text():
    """Without attachments the prompt is sent as it is."""
    assert user_message("  hi\n") == {
        "type": "user",
        "message": {"role": "user", "content": "  hi\n"},
        "parent_tool_use_id": None,
        "session_id": "",
    }


def test_an_answer_can_be_asked_again():
    """A subclass of str is sent as a plain one."""
    assert type(content(Answer("hi"))) is str


@pytest.mark.parametrize("prompt", ["", " ", "\n\t"])
def test_a_blank_prompt_is_refused(prompt):
    """A blank line would end some CLIs, and asks nothing."""
    with pytest.raises(UsageError, match="the prompt is blank"):
        user_message(prompt)


def test_blocks_are_sent_as_they_are():
    """A list of content blocks is passed on, a tuple or a generator too."""
    block = {"type": "text", "text": "hi"}
    assert content([block]) == content((block,)) == content(each for each in [block]) == [block]


@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        (None, "not NoneType"),
        (3, "not int"),
        (b"hi", "not bytes"),
        ({"type": "text"}, "not dict"),
        ([], "empty list"),
        (["hi"], "block 1 of the prompt is a str and no content block"),
        ([{"type": "text", "text": "hi"}, None], "block 2 of the prompt is a NoneType"),
        ([{"text": "hi"}], "is a dict with the keys 'text' and no content block"),
        ([{"type": 3}], "no content block. Each is a dict with a 'type'"),
        ([{}], "is an empty dict and no content block"),
    ],
)
def test_what_is_no_prompt_is_refused(prompt, text):
    """Anything but a text or a list of blocks is a UsageError that shows the right form."""
    with pytest.raises(UsageError, match=text):
        user_message(prompt)


def test_what_a_wrong_block_holds_is_not_told():
    """It may be long, and it may be secret."""
    for block in ({"key": "sk-ant-" + "x" * 5000}, "sk-ant-1", {"k" * 5000: 1}):
        with pytest.raises(UsageError) as caught:
            user_message([block])
        assert len(str(caught.value)) < 300 and "sk-ant" not in str(caught.value)
    with pytest.raises(UsageError, match=r"'a', 'b', 'c', 'd', \.\.\. and no"):
        user_message([dict.fromkeys("abcdefgh")])


def image(data="iVBORw0KGgo="):
    """A content block of an image."""
    return {"type": "image", "source": {"type": "base64", "media_type": "x", "data": data}}


def test_the_blocks_of_a_prompt_have_limits():
    """The same as attachments, and together with them."""
    assert len(content([image()] * 600)) == 600
    for prompt, attach in (([image()] * 601, ()), ([image()] * 600, [PNG])):
        with pytest.raises(UsageError, match="601 images are too many"):
            user_message(prompt, attach)
    with pytest.raises(UsageError, match="block 2 of the prompt has no data in base64"):
        user_message([image(), image("abc")])
    with pytest.raises(UsageError, match=r"31\.5 MB together"):
        user_message("x" * (30 * 1024 * 1024), [PNG])


def test_attachments_come_first_and_in_order():
    """Before blocks as before a text."""
    block = {"type": "text", "text": "compare"}
    for prompt in ("compare", [block]):
        blocks = content(prompt, [PDF, PNG, b"a text"])
        assert [each["type"] for each in blocks] == ["document", "image", "document", "text"]
        assert blocks[-1] == block


def test_no_attachments_leave_a_text():
    """An empty list, or None, attaches nothing."""
    assert content("hi", []) == content("hi", None) == "hi"


def test_what_cannot_be_attached_is_refused():
    """The brackets forgotten, a missing file."""
    with pytest.raises(UsageError, match=r"attach=\[\.\.\.\]"):
        user_message("hi", "a.png")
    with pytest.raises(UsageError, match="No such file"):
        user_message("hi", ["gone.png"])


def test_a_prompt_with_attachments_may_not_be_blank():
    """An image alone asks nothing either, and nothing is read for it."""
    file = io.BytesIO(PNG)
    for prompt in (" ", [], 3):
        with pytest.raises(UsageError):
            user_message(prompt, [file])
    assert file.tell() == 0


def test_questions_without_attachments_load_nothing_for_them():
    """Most are like that."""
    code = (
        "import sys, claude_sync.prompts as prompts; prompts.user_message('hi'); "
        "prompts.user_message([{'type': 'text', 'text': 'hi'}]); "
        "print(*[name for name in sys.modules if 'attachment' in name or 'image' in name])"
    )
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert printed.stdout.split() == []


def test_what_can_be_read_once_is_kept():
    """An open file and a generator give the same message as often as it is made."""
    block = {"type": "text", "text": "hi"}
    for prompt, attach in (
        ("hi", [io.BytesIO(PNG)]),
        ("hi", iter([PNG])),
        ((each for each in [block]), [io.BytesIO(PNG)]),
    ):
        kept = read_once(prompt, attach)
        first = user_message(*kept)
        assert first == user_message(*kept)
        assert first["message"]["content"] == [*content("x", [PNG])[:-1], block]


def test_what_can_be_read_again_stays_as_it_is():
    """A question without attachments is not touched."""
    question = Answer("hi")
    kept = read_once(question, ())
    assert kept == ("hi", ()) and kept[0] is question
    with pytest.raises(UsageError, match="blank"):
        read_once(" ", ())


@pytest.mark.parametrize(
    ("prompt", "is_one"),
    [
        ("/model haiku", True),
        ("\n /model haiku", True),
        ("what does /model do?", False),
        ([{"type": "image"}, {"type": "text", "text": "/model haiku"}], True),
        ([{"type": "text", "text": "/model haiku"}, {"type": "text", "text": "hi"}], True),
        ([{"type": "text", "text": "hi"}, {"type": "text", "text": None}], False),
    ],
)
def test_what_may_be_a_command(prompt, is_one):
    """In doubt it is one."""
    assert may_be_command(prompt) is is_one
