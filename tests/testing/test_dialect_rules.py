"""Shapes of messages: what fits, and the words for what does not."""

from __future__ import annotations

import pytest
from dialects.dialect_rules import NOT_IN_THE_DOCUMENT, TEXT_OR_BLOCKS, StrictBackend, misfit

from claude_sync.testing import ScriptedCli


@pytest.mark.parametrize(
    ("value", "shape", "reason"),
    [
        ({"a": 1}, {"a": int}, None),
        ({"a": 1}, {"a": str}, "x.a is 1 and not str"),
        ({}, {"a": int}, "x has no 'a'"),
        ({}, {"a?": int}, None),
        ({"a": "1"}, {"a?": int}, "x.a is '1' and not int"),
        ({"b": 1}, {"a?": int}, "x has 'b'"),
        ([], {"a": int}, "x is no object"),
        ({}, [int], "x is no list"),
        ([1, "2"], [int], "x[1] is '2' and not int"),
        ([1, 2], [int], None),
        ("b", ("a", "b"), None),
        ("c", ("a", "b"), "x is 'c' and not 'a'"),
        (None, None, None),
        (0, None, "x is 0 and not None"),
    ],
)
def test_what_fits_a_shape(value, shape, reason):
    """And the words for what does not."""
    assert misfit(value, shape, "x") == reason


@pytest.mark.parametrize(
    ("content", "fits"),
    [
        ("hi", True),
        ([{"type": "text", "text": "hi"}], True),
        (
            [
                {
                    "type": "image",
                    "source": {"type": "base64", "media_type": "image/png", "data": "x"},
                }
            ],
            True,
        ),
        (
            [
                {
                    "type": "image",
                    "source": {"type": "base64", "media_type": "image/bmp", "data": "x"},
                }
            ],
            False,
        ),
        ([{"type": "document"}], False),
        (3, False),
    ],
)
def test_what_can_be_in_a_message(content, fits):
    """Texts and images of four kinds."""
    assert (misfit(content, TEXT_OR_BLOCKS) is None) is fits


def test_a_complaint_ends_the_backend():
    """With a word on stderr for each shape that did not fit."""
    cli = ScriptedCli()
    with pytest.raises(SystemExit) as caught:
        StrictBackend(cli).check({"a": 1}, {"b": int}, {"a": str})
    assert caught.value.code == cli.exit_code == NOT_IN_THE_DOCUMENT
    assert cli.read_error() == (
        b"not in the document: {'a': 1}: the message has no 'b'; the message.a is 1 and not str\n"
    )


def test_what_fits_goes_on():
    """The message is returned as it came."""
    message = {"a": 1}
    assert StrictBackend(ScriptedCli()).check(message, {"b": int}, {"a": int}) is message
