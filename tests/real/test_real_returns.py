"""Typed answers from real CLIs: the form, the restarts for it, and what goes wrong."""

from __future__ import annotations

import dataclasses
import enum
from datetime import date
from typing import List, Optional

import pytest
from typing_extensions import Literal, TypedDict

import claude_sync
from claude_sync.testing.model import tool_use


class Kind(enum.Enum):
    """What sort of place."""

    VILLAGE = "village"
    TOWN = "town"


@dataclasses.dataclass
class Mayor:
    """Who runs it."""

    name: str
    since: Optional[date] = None


@dataclasses.dataclass
class Place:
    """A place with people."""

    name: str
    people: int
    kind: Kind
    mayor: Mayor
    side: Literal["left", "right"] = "left"


class Row(TypedDict):
    """A line of a table."""

    item: str
    price: float


PLACE = {
    "name": "Rye",
    "people": 4773,
    "kind": "town",
    "mayor": {"name": "Ada", "since": "2024-05-06"},
}
RYE = Place("Rye", 4773, Kind.TOWN, Mayor("Ada", date(2024, 5, 6)))


def give(data):
    """What a model says to give data."""
    return tool_use("StructuredOutput", data)


@pytest.fixture(scope="module")
def chat_options():
    """A client of places."""
    return {"returns": Place}


@pytest.fixture
def typed(chat):
    """The client of places."""
    return chat


def test_a_dataclass(typed, model):
    """Nested, with an enumeration, a date, a literal and a default."""
    model.when("where is Rye").reply(give(PLACE)).then_reply("there")
    answer = typed.ask("where is Rye", timeout=90)
    assert answer.data == RYE
    assert answer.result.structured_output == PLACE
    assert not answer.is_error
    # A second one, and a command between them, which has no data.
    assert typed.ask("/cost", timeout=60).data is None
    assert typed.ask("where is Rye", timeout=60).data == RYE


@pytest.mark.everything
def test_a_list(client_of, new_cli, model):
    """A list of rows is asked for as an object that holds it."""
    rows = [{"item": "tea", "price": 2.5}, {"item": "milk", "price": 1}]
    model.when("the bill").reply(give({"items": rows})).then_reply("there")
    client = client_of(returns=List[Row])
    assert client.ask("the bill", timeout=90).data == rows


def test_what_the_schema_cannot_say_is_told_to_the_model(typed, model):
    """A date that does not exist passes the CLI; the model is told, and mends it."""
    wrong = {**PLACE, "mayor": {"name": "Ada", "since": "2024-02-31"}}
    model.when("who is the mayor").reply(give(wrong)).then_reply("there")
    model.when("required form").reply(give(PLACE)).then_reply("there")
    before = typed.cost_usd
    answer = typed.ask("who is the mayor", timeout=90)
    assert answer.data == RYE
    assert answer.cost_usd == pytest.approx(typed.cost_usd - before)
    told = model.wait_for_request("required form").text
    assert "mayor.since" in told and "2024-02-31" in told


def test_an_answer_that_stays_wrong(typed, model):
    """ReturnsError after one more try, with what was wrong."""
    wrong = {**PLACE, "mayor": {"name": "Ada", "since": "2024-02-30"}}
    model.when("who rules").reply(give(wrong)).then_reply("there")
    model.when("2024-02-30").reply(give(wrong)).then_reply("there")
    before = typed.cost_usd
    with pytest.raises(claude_sync.ReturnsError) as caught:
        typed.ask("who rules", timeout=90)
    assert "mayor.since" in caught.value.problems[0]
    assert caught.value.result.structured_output == wrong
    assert caught.value.answer.cost_usd == pytest.approx(typed.cost_usd - before)
    # The session goes on.
    model.when("once more").reply(give(PLACE)).then_reply("there")
    assert typed.ask("once more", timeout=60).data == RYE


def test_a_model_that_never_gives_data(typed, model):
    """The CLI that would ask for ever is stopped; the error says what came."""
    model.when("refuse to fill it in").reply("I would rather not.")
    model.when("StructuredOutput tool").reply("No.")
    with pytest.raises(claude_sync.ReturnsError, match="plain text"):
        typed.ask("refuse to fill it in", timeout=100)
    model.when("then do now").reply(give(PLACE)).then_reply("there")
    assert typed.ask("then do now", timeout=60).data == RYE


def test_a_form_for_one_question(client_of, model):
    """The same conversation before, in and after; costs are counted once."""
    client = client_of(model="opus")
    answers = [client.ask("remember the colour green", timeout=90)]
    session, pid = client.session_id, client.pid
    model.when("fill it in now").reply(give(PLACE)).then_reply("there")
    answers.append(client.ask("fill it in now", returns=Place, timeout=90))
    typed_pid = client.pid
    answers.append(client.ask("fill it in now", returns=Place, timeout=90))
    assert [answer.data for answer in answers[1:]] == [RYE, RYE]
    assert client.pid == typed_pid != pid
    answers.append(client.ask("plain again", timeout=90))
    assert answers[-1] == "echo: plain again"
    assert client.pid != typed_pid
    assert client.session_id == session
    assert all(answer.cost_usd > 0 for answer in answers)
    assert client.cost_usd == pytest.approx(sum(answer.cost_usd for answer in answers))
    # One call of the model costs the same before and after: nothing was counted twice.
    assert answers[-1].cost_usd == pytest.approx(answers[0].cost_usd)
    seen = model.wait_for_request("plain again")
    assert "remember the colour green" in str(seen.messages)
    assert "fill it in now" in str(seen.messages)
    tools = [tool["name"] for tool in seen.body["tools"]]
    assert "StructuredOutput" not in tools


def test_the_first_question_needs_no_restart(client_of, new_cli, model):
    """A new CLI that runs already takes the form with its greeting."""
    model.when("at once").reply(give(PLACE)).then_reply("there")
    with client_of() as client:
        pid = client.pid
        assert client.ask("at once", returns=Place, timeout=90).data == RYE
        assert client.pid == pid
