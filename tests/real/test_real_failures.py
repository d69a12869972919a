"""What goes wrong, as somebody new meets it: the right error, and what to do about it."""

from __future__ import annotations

import logging

import pytest

import claude_sync
from claude_sync.testing.model import refused_url, tool_use

UNKNOWN_SESSION = "00000000-0000-4000-8000-000000000000"


@pytest.fixture(scope="module")
def hasty(cli, new_client, model, home, tmp_path_factory):
    """A client whose CLI repeats a failed request once, not for minutes."""
    client = new_client(
        cli=cli.path,
        cwd=tmp_path_factory.mktemp("cwd"),
        env=model.environment(home, retries=1),
        start_timeout=90,
    )
    yield client
    client.close()


@pytest.mark.parametrize(
    ("status", "error", "advice"),
    [
        (400, claude_sync.ApiError, "Check what was sent"),
        (401, claude_sync.NotLoggedIn, "ANTHROPIC_API_KEY"),
        (404, claude_sync.ApiError, "Check the model's name"),
        (429, claude_sync.RateLimited, "Wait until the limit resets"),
        (500, claude_sync.ApiError, "Try again in a minute"),
        (529, claude_sync.Overloaded, "Try again in a minute"),
    ],
)
def test_a_failure_of_the_service(hasty, model, status, error, advice):
    """Each HTTP status has its error and its advice; the session goes on."""
    model.when(f"fail with {status}").fail(status)
    with pytest.raises(claude_sync.TurnError) as caught:
        hasty.ask(f"fail with {status}", timeout=100)
    assert type(caught.value) is error
    assert advice in str(caught.value)
    if error is claude_sync.ApiError:
        assert caught.value.status == status
    assert caught.value.answer.is_error
    assert caught.value.result.is_error
    assert hasty.ask(f"after {status}", timeout=60).endswith(f"after {status}")


@pytest.mark.parametrize(
    ("status", "told"),
    [
        (529, "529 (overloaded)"),
        pytest.param(401, "401 (authentication_failed)", marks=pytest.mark.everything),
    ],
)
def test_that_the_cli_tries_again_is_told_once(client_of, cli, model, home, caplog, status, told):
    """Without a handler, while ask() waits; the old CLI tries again without a word."""
    model.when(f"fail twice with {status}").fail(status, times=2).reply("at last")
    client = client_of(env=model.environment(home, retries=3))
    assert client.ask(f"fail twice with {status}", timeout=100) == "at last"
    records = [record for record in caplog.records if record.levelname == "WARNING"]
    warnings = [record.getMessage().removeprefix(f"{record.client}: ") for record in records]
    expected = [f"the service answered {told}: the CLI retries, 1 of 3"]
    assert warnings == (expected if cli.is_new else [])


def test_a_failure_can_be_returned(hasty, model):
    """With raise_on_error=False a failed turn is an answer with is_error."""
    model.when("fail softly").fail(400, "softly")
    answer = hasty.ask("fail softly", timeout=60, raise_on_error=False)
    assert answer.is_error
    assert "softly" in answer


def test_a_prompt_that_is_too_long(hasty, model):
    """PromptTooLong tells to compact the conversation or to begin anew."""
    model.when("much too long").fail(400, "prompt is too long: 300000 tokens > 200000 maximum")
    with pytest.raises(claude_sync.PromptTooLong, match="compact"):
        hasty.ask("much too long", timeout=60)


def test_a_tool_nobody_allows_is_denied(hasty, model, caplog):
    """Without anybody who decides, the tool is denied, the turn ends, the log tells why."""
    model.when("please use it").reply(tool_use("Bash", {"command": "touch made"})).then_reply(
        "it was denied"
    )
    with caplog.at_level(logging.WARNING, "claude_sync"):
        answer = hasty.ask("please use it", timeout=60)
        again = hasty.ask("please use it", timeout=60)
    assert answer == again == "it was denied"
    ((_, result),) = answer.tool_uses
    assert result.is_error
    assert [denial["tool_name"] for denial in answer.permission_denials] == ["Bash"]
    warnings = [record.getMessage() for record in caplog.records]
    assert len(warnings) == 1
    assert "Bash" in warnings[0] and "allowed_tools" in warnings[0]


def test_no_credentials(client_of):
    """Without a login NotLoggedIn tells both ways to get one."""
    client = client_of(env={"ANTHROPIC_API_KEY": None})
    with pytest.raises(claude_sync.NotLoggedIn) as caught:
        client.ask("who am I?", timeout=90)
    assert "/login" in str(caught.value)
    assert "ANTHROPIC_API_KEY" in str(caught.value)


def test_nobody_listens(client_of, cli, caplog):
    """A service that cannot be reached is an ApiError without a status: check the network."""
    client = client_of(env={"ANTHROPIC_BASE_URL": refused_url(), "CLAUDE_CODE_MAX_RETRIES": "1"})
    with pytest.raises(claude_sync.ApiError) as caught:
        client.ask("anybody there?", timeout=90)
    assert caught.value.status is None
    assert "ANTHROPIC_BASE_URL" in str(caught.value)
    told = "could not be reached, or the connection broke: the CLI retries, 1 of 1"
    assert caplog.text.count(told) == (1 if cli.is_new else 0)


def test_limits_of_a_turn(client_of, model):
    """max_turns and max_budget_usd end a turn with their own errors and an incomplete answer."""
    client = client_of(max_turns=1, allowed_tools=["Bash"], max_budget_usd=0.01)
    model.when("go on and on").reply(["Beginning.", tool_use("Bash", {"command": "echo on"})])
    with pytest.raises(claude_sync.MaxTurnsReached, match="Raise max_turns") as caught:
        client.ask("go on and on", timeout=90)
    assert caught.value.answer == "Beginning."
    assert len(caught.value.answer.tool_uses) == 1
    model.when("one step is enough").reply("it was")
    assert client.ask("one step is enough", timeout=60) == "it was"
    model.when("spend it all").reply("spent", usage={"output_tokens": 9000})
    # The budget is looked at between steps: this one, or the next question, is over it.
    with pytest.raises(claude_sync.BudgetExceeded, match="Raise max_budget_usd"):
        for _ in range(3):
            client.ask("spend it all", timeout=60)
    # The old CLI does not echo a question that it may not ask.
    with pytest.raises(claude_sync.BudgetExceeded):
        client.ask("one more", timeout=60)


@pytest.mark.everything
def test_a_budget_of_the_client_sends_nothing_more(client_of, new_cli, model):
    """budget_usd is checked before a question is sent."""
    client = client_of(budget_usd=0.0001)
    model.when("an expensive one").reply("paid", usage={"input_tokens": 9000, "output_tokens": 9})
    assert client.ask("an expensive one", timeout=90) == "paid"
    with pytest.raises(claude_sync.BudgetExceeded, match="nothing was sent"):
        client.ask("not any more", timeout=60)
    assert not [request for request in model.conversation if "not any more" in request.text]


def test_a_conversation_that_does_not_exist(client_of):
    """resume= of an unknown id fails at once, and the error names the id."""
    client = client_of(resume=UNKNOWN_SESSION)
    with pytest.raises(claude_sync.CliDidNotStart, match=UNKNOWN_SESSION) as caught:
        client.ask("where were we?", timeout=90)
    assert "No conversation found" in str(caught.value)
    assert caught.value.exit_code == 1


def test_an_option_the_cli_does_not_know(client_of, new_cli):
    """A CLI that refuses an option exits; its words are in the error."""
    client = client_of(extra_args={"no-such-flag": None})
    with pytest.raises(claude_sync.CliDidNotStart, match="no-such-flag"):
        client.ask("hello", timeout=90)


def test_a_folder_that_does_not_exist(client_of, new_cli, tmp_path):
    """A cwd that is not there is named before anything is started."""
    client = client_of(cwd=tmp_path / "nowhere")
    with pytest.raises(claude_sync.ClaudeError, match="nowhere"):
        client.ask("hello")
