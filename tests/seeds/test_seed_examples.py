"""Every example message of the five documents: understood if heard, and said as it is there."""

from __future__ import annotations

import json

import pytest
from seed_examples import (
    DOCUMENTS,
    Difference,
    answers,
    at,
    difference,
    examples,
    expected,
    line_like,
    understood,
)

from claude_sync.messages.base import Message, Unknown


@pytest.mark.parametrize("name", DOCUMENTS)
def test_messages_are_understood(name):
    """They become what they should, with the values in them; and are kept as they came."""
    wanted, found = {}, {}
    for example in examples(name):
        message = example.get("heard") or example.get("unsaid")
        if not message:
            continue
        thing, values, section = understood(message), expected(example), example["section"]
        assert values, section
        assert not isinstance(thing, Unknown), section
        wanted[section] = (example["becomes"], values)
        found[section] = (type(thing).__name__, {path: at(thing, path) for path in values})
        assert not isinstance(thing, Message) or thing.raw is message, section
    assert found, "the document has no examples"
    assert found == wanted


@pytest.mark.parametrize("name", DOCUMENTS)
def test_messages_are_said(name):
    """The call named there makes the same message, but for what is named there."""
    wanted, found = {}, {}
    document = examples(name)
    for example in document:
        if "said" not in example:
            continue
        ours, theirs, section = line_like(example, document), example["said"], example["section"]
        if "request_id" in theirs:  # a name of our choice
            assert ours.pop("request_id")
            del theirs["request_id"]
        wanted[section] = Difference(*(set(example.get(key, ())) for key in Difference._fields))
        found[section] = difference(ours, theirs)
    assert found, "the document has no examples"
    assert found == wanted


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_section_is_told_apart(name):
    """No example takes the place of another, and each has one message."""
    document = examples(name)
    assert len({example["section"] for example in document}) == len(document)
    assert all(len({"heard", "said", "unsaid"} & set(example)) == 1 for example in document)


def test_a_suggestion_is_applied_the_way_that_works():
    """applyPermissionSuggestion has no effect on any real CLI: it is never sent."""
    (request,) = (
        example["heard"]
        for example in examples("stream_json_format")
        if example["section"] == "Control request, tool permissions"
    )
    assert request["request"]["permission_suggestions"]
    for decides in (
        ["allow"],
        ["allow_always", {}],
        ["allow_always", {"save": True}],
        ["allow_with_suggestions", None],
    ):
        line = answers({"dialect": "cli", "answers": request, "decides": decides})
        assert line["response"]["response"]["behavior"] == "allow"
        assert "applyPermissionSuggestion" not in json.dumps(line), decides


def test_differences_are_found():
    """The comparison above is able to fail."""
    ours = {"a": 1, "b": {"c": [1, {"d": 2}]}, "e": 1}
    assert difference(ours, ours) == (set(), set(), set())
    other = {"a": 2, "b": {"c": [1, {"d": 3, "x": 1}]}, "f": 1}
    assert difference(ours, other) == ({"e"}, {"f", "b.c.1.x"}, {"a", "b.c.1.d"})
    assert difference({"a": [1]}, {"a": [1, 2]}).differs == {"a"}


def test_values_are_found():
    """And so is the way to them."""
    assert at({"a": ({"b": 3},)}, "a.0.b") == 3
    with pytest.raises(KeyError):
        at({}, "a")
