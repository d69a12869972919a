"""One conversation, over as many clients as it takes."""

import pytest
from notebook_scripts import costs

from claude_sync import Options, tool
from claude_sync.errors import BudgetExceeded, UsageError
from claude_sync.notebook.conversations import Conversation
from claude_sync.testing import StandIn

STAND_IN = StandIn().command


def population(city: str) -> int:
    """How many people live there."""
    return len(city)


def area(city: str) -> int:
    """How large it is."""
    return len(city)


@pytest.fixture
def conversation():
    """A conversation with the stand-in that echoes."""
    made = Conversation(lambda: {"on_permission": lambda request: request.deny("no")})
    made.configure(None, {"cli": STAND_IN})
    yield made
    made.close()


def flags(client):
    """How the CLI was started."""
    return client._session.connection.launch.argv


def test_other_tools_mean_another_client_in_the_same_conversation(conversation):
    """Those of before stay, and the money is added up."""
    conversation.configure(None, {"cli": StandIn(costs).command})
    first = conversation.client
    first.ask("hi")
    conversation.use_tools({"population": population})
    assert first.state == "closed"
    second = conversation.client
    assert f"--resume={first.session_id}" in flags(second)
    conversation.use_tools({"population": population})
    assert conversation.client is second
    second.ask("more")
    conversation.use_tools({"area": area})
    third = conversation.client
    assert set(third._registry.tools) == {"population", "area"}
    assert conversation.spent_before == first.cost_usd + second.cost_usd == 1.0


@pytest.mark.parametrize(
    ("name", "change"),
    [("budget_usd", "tools"), ("max_budget_usd", "new"), ("budget_usd", "closed")],
)
def test_a_budget_is_one_for_all_clients(conversation, name, change):
    """Whatever makes the next one; settings that are made anew begin anew."""

    def next_client():
        if change == "tools":
            conversation.use_tools({"look_up": tool(lambda: None, name="look_up")})
        elif change == "new":
            conversation.begin()
        else:
            conversation.client.close()
        return conversation.client

    settings = {"cli": StandIn(costs).command, name: 1.25}
    conversation.configure(None, settings)
    for left in (1.25, 0.75, 0.25):
        assert getattr(conversation.client._options, name) == left
        conversation.client.ask("hi")
        if left > 0.25:
            next_client()
    with pytest.raises(BudgetExceeded, match=rf"1.5000 USD of {name}=1.25 are spent.*configure"):
        next_client()
    conversation.configure(None, settings)
    assert getattr(conversation.client._options, name) == 1.25
    assert conversation.spent_before == 1.5


def test_a_function_that_was_defined_anew_is_taken_anew(conversation):
    """By its name."""
    conversation.use_tools({"population": population})
    before = conversation.client

    def changed(city: str, year: int) -> int:
        """How many people lived there."""

    changed.__name__ = "population"
    conversation.use_tools({"population": changed})
    assert conversation.client is not before
    assert conversation.client._registry.tools["population"].function is changed


def test_what_cannot_be_a_tool_is_refused_and_nothing_is_closed(conversation):
    """The conversation goes on."""
    client = conversation.client
    with pytest.raises(UsageError):
        conversation.use_tools({"x": 5})
    assert conversation.client is client
    assert client.state != "closed"


def test_a_new_conversation_resumes_nothing_and_has_no_tools(conversation):
    """The settings stay."""
    conversation.client.ask("hi")
    conversation.use_tools({"area": area})
    first = conversation.client
    assert [flag for flag in flags(first) if flag.startswith("--resume")]
    conversation.begin()
    assert first.state == "closed"
    second = conversation.client
    assert not [flag for flag in flags(second) if flag.startswith("--resume")]
    assert second._registry.tools == {}
    assert second._options.cli == first._options.cli


def test_the_model_is_changed_where_it_is_and_where_it_will_be(conversation):
    """A running CLI is told; the next one is started with it."""
    conversation.use_model("opus")
    client = conversation.client
    assert "opus" in " ".join(flags(client))
    client.ask("hi")
    told = []
    client.set_model = told.append
    conversation.use_model("sonnet")
    assert told == ["sonnet"]
    assert conversation.client is client
    conversation.use_tools({"area": area})
    assert "sonnet" in " ".join(flags(conversation.client))


def test_settings_and_handlers_are_configured(conversation):
    """The conversation so far ends."""
    before = conversation.client
    heard = []
    conversation.configure(Options(cli=STAND_IN), {"max_turns": 3, "on_text": heard.append})
    assert before.state == "closed"
    client = conversation.client
    assert client._options.max_turns == 3
    assert client.ask("hi") == "echo: hi"
    assert "".join(heard) == "echo: hi"


@pytest.mark.parametrize(
    "settings", [{"post": "manual"}, {"tools": [area]}, {"modle": "x"}, {"on_txt": print}]
)
def test_settings_that_make_no_sense_are_refused(conversation, settings):
    """And the conversation goes on."""
    before = conversation.client
    with pytest.raises(UsageError):
        conversation.configure(None, settings)
    assert conversation.client is before


def test_a_new_conversation_takes_nothing_of_the_old_one(conversation):
    """Neither its id nor the message and the turn to go back to."""
    old = {"resume": "a", "resume_at": "b", "resume_drops_turn": "c", "fork_session": True}
    conversation.configure(None, {"cli": STAND_IN, "effort": "low", **old})
    conversation.begin()
    assert conversation._options == Options(cli=STAND_IN, effort="low")
