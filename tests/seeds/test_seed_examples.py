"""Every example message of the five documents: understood if heard, and said as it is there."""

from __future__ import annotations

import json

import direct_cli_flow
import json_stream_protocol
import pytest
import session_envelopes
import stream_json_format
import stream_json_reference
from seed_examples import Heard, Replies, Said, Unsaid, at, difference, permission, understood

from claude_sync.messages import Message, Unknown

# How many examples each document has, so that a lost one is noticed: heard, said, unsaid.
COUNTS = {
    json_stream_protocol: (19, 9, 0),
    stream_json_format: (16, 10, 0),
    stream_json_reference: (13, 4, 0),
    session_envelopes: (16, 4, 7),
    direct_cli_flow: (14, 8, 0),
}


def examples(*kinds):
    """The examples of some kinds, of all documents."""
    return [
        pytest.param(example, id=f"{document.__name__}-{number}-{example.section}")
        for document in COUNTS
        for number, example in enumerate(document.EXAMPLES)
        if isinstance(example, kinds)
    ]


@pytest.mark.parametrize("document", COUNTS, ids=lambda document: document.__name__)
def test_no_example_is_lost(document):
    """The number of examples of each kind."""
    counted = tuple(
        sum(isinstance(example, kind) for example in document.EXAMPLES)
        for kind in (Heard, Said, Unsaid)
    )
    assert counted == COUNTS[document]


@pytest.mark.parametrize("example", examples(Heard, Unsaid))
def test_a_message_is_understood(example):
    """It becomes what it should, with the values in it; and is kept as it came."""
    message = json.loads(json.dumps(example.message))  # it is JSON
    thing = understood(message)
    assert not isinstance(thing, Unknown)
    assert type(thing).__name__ == example.becomes
    assert {path: at(thing, path) for path in example.values} == example.values
    assert example.values
    if isinstance(thing, Message):
        assert thing.raw is message


@pytest.mark.parametrize("example", examples(Said))
def test_a_message_is_said(example):
    """The call named there makes the same message, but for what is named there."""
    ours = example.how.line()
    wanted = dict(example.message)
    if "request_id" in wanted:  # a name of our choice
        assert ours.pop("request_id")
        del wanted["request_id"]
    assert difference(ours, wanted) == (example.adds, example.lacks, example.differs)


@pytest.mark.parametrize(
    "decide",
    [
        lambda request: request.allow(),
        lambda request: request.allow_always(),
        lambda request: request.allow_always(save=True),
        lambda request: request.allow(permissions=request.suggestions),
    ],
)
def test_a_suggestion_is_applied_the_way_that_works(decide):
    """applyPermissionSuggestion has no effect on any real CLI: it is never sent."""
    rules = [{"toolName": "Bash", "ruleContent": "git show:*"}]
    suggestion = {"type": "addRules", "rules": rules, "behavior": "allow", "destination": "session"}
    request = permission("Bash", {}, "r", "t", permission_suggestions=[suggestion])
    assert "applyPermissionSuggestion" not in json.dumps(Replies(request, decide).line())


def test_differences_are_found():
    """The comparison above is able to fail."""
    ours = {"a": 1, "b": {"c": [1, {"d": 2}]}, "e": 1}
    assert difference(ours, ours) == (frozenset(), frozenset(), frozenset())
    other = {"a": 2, "b": {"c": [1, {"d": 3, "x": 1}]}, "f": 1}
    assert difference(ours, other) == ({"e"}, {"f", "b.c.1.x"}, {"a", "b.c.1.d"})
    assert difference({"a": [1]}, {"a": [1, 2]}).differs == {"a"}


def test_values_are_found():
    """And so is the way to them."""
    assert at({"a": ({"b": 3},)}, "a.0.b") == 3
    with pytest.raises(KeyError):
        at({}, "a")
