"""What handlers get that the CLI did not send, and what notebooks look for."""

from __future__ import annotations

import dataclasses
import pickle

import pytest
from tables import each

from claude_sync import Answer, Closed, HandlerError, Info, InterruptReceipt


@each(
    "event",
    [
        Closed("closed by the program", 0),
        HandlerError(KeyError, len, "event"),
        InterruptReceipt(("u1",), ("u2",), {"still_queued": ["u1"]}),
        Info(commands=({"name": "cost"},), raw={"commands": []}),
    ],
)
def test_events_are_frozen_values(event):
    """Handlers share events, so none can change one; raw replies are not printed."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(event, dataclasses.fields(event)[0].name, None)
    assert pickle.loads(pickle.dumps(event)) == event
    assert "raw" not in repr(event)


def test_what_a_cli_says_of_itself():
    """The greeting, and what the first turn says more; None where it says nothing."""
    greeting = {"commands": [{"name": "cost"}], "output_style": "x", "capabilities": ["a"]}
    info = Info.of(greeting, "2.1.0", None)
    assert info == Info(
        ({"name": "cost"},), output_style="x", cli_version="2.1.0", capabilities=("a",)
    )
    assert info.raw is greeting
    assert Info.of(greeting, None, ["b"]).capabilities == ("b",)
    for junk in (None, "x", 5, {}):
        keys = ("commands", "models", "agents", "available_output_styles", "capabilities")
        assert Info.of(dict.fromkeys(keys, junk), None, None) == Info()
    assert InterruptReceipt() == InterruptReceipt((), (), {})


def test_a_notebook_chooses_the_form():
    """Both, or what it asks for."""
    answer, both = Answer("**a**"), {"text/html", "text/markdown"}
    assert set(answer._repr_mimebundle_()) == both
    assert set(answer._repr_mimebundle_(include=["text/html"])) == {"text/html"}
    assert set(answer._repr_mimebundle_(exclude=["text/html"])) == {"text/markdown"}
    assert answer._repr_mimebundle_()["text/markdown"] == "**a**"
    assert answer.timeline().turns == ()
