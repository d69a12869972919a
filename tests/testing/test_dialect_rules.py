"""The judge of the dialects finds fault: what fits a shape, and the words for the rest."""

from __future__ import annotations

import pytest
from dialects.dialect_rules import NOT_IN_THE_DOCUMENT, TEXT_OR_BLOCKS, StrictBackend, misfit

from claude_sync.testing import ScriptedCli

BMP = {"type": "base64", "media_type": "image/bmp", "data": "x"}


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
        ("b", ("a", "b"), None),
        ("c", ("a", "b"), "x is 'c' and not 'a'"),
        (0, None, "x is 0 and not None"),
        ([{"type": "text", "text": "hi"}], TEXT_OR_BLOCKS, None),
        ([{"type": "image", "source": BMP}], TEXT_OR_BLOCKS, "x is [{'type': 'image', 'source'"),
    ],
)
def test_what_fits_a_shape(value, shape, reason):
    """And the words for what does not."""
    found = misfit(value, shape, "x")
    assert found == reason if reason is None else found.startswith(reason)


def test_a_complaint_ends_the_backend():
    """With a word on stderr for each shape that did not fit; what fits one goes on."""
    cli = ScriptedCli()
    message = {"a": 1}
    assert StrictBackend(cli).check(message, {"b": int}, {"a": int}) is message
    with pytest.raises(SystemExit) as caught:
        StrictBackend(cli).check(message, {"b": int}, {"a": str})
    assert caught.value.code == cli.exit_code == NOT_IN_THE_DOCUMENT
    assert cli.read_error() == (
        b"not in the document: {'a': 1}: the message has no 'b'; the message.a is 1 and not str\n"
    )
