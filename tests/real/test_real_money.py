"""What real CLIs cost, live: the client agrees with what the model was told to report."""

from __future__ import annotations

import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from money_scenes import (
    OLD,
    PATIENCE,
    SCENES,
    Book,
    Stage,
    assert_close,
    assert_models,
    check,
    counts_of,
    price,
    tokens,
)
from real_clis import Model

import claude_sync
from claude_sync.testing.model import tool_use

# Scenes of one process, which may as well be one and the same. Those that are neither here nor
# below differ from them in nothing that a CLI does by itself; their recordings do.
OF_ONE_PROCESS = ("turns", "tools", "agents", "interrupt", "compact", "clear")
FORM = {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]}


@pytest.fixture
def stage(cli, tmp_path):
    """A stage with a model that keeps a book; its clients are closed at the end."""
    clients = []
    (tmp_path / "work").mkdir()
    with Model() as model:
        book = Book()
        book.listen(model)

        def open_client(**options):
            environment = model.environment(tmp_path, retries=0)
            settings = {"cli": cli.path, "cwd": tmp_path / "work", "start_timeout": 90, **options}
            clients.append(claude_sync.Client(env=environment, **settings))
            return clients[-1]

        yield Stage(cli.version, open_client, model, book)
        for client in clients:
            client.close()


def assert_paid(stage, client):
    """The client has paid for everything in the book, once."""
    lines = stage.book.lines
    assert_close(client.cost_usd, price(stage.version, lines), stage.version)
    assert counts_of(client.usage) == tokens(lines)
    assert_models(stage.version, client.model_usage, lines, stage.version)


def test_scenes_cost_what_the_model_reported(stage):
    """Each answer and the client agree with the book: dollars, tokens, models, context."""
    with stage.client() as client, pytest.MonkeyPatch.context() as patch:
        patch.setattr(stage, "client", lambda: contextlib.nullcontext(client))
        for name in OF_ONE_PROCESS:
            SCENES[name](stage)
            stage.gates.clear()
    check(stage)


@pytest.mark.parametrize(
    "name",
    ["crash", *(pytest.param(name, marks=pytest.mark.everything) for name in ("resume", "fork"))],
)
def test_a_scene_costs_what_the_model_reported(stage, new_cli, name):
    """The same, of several processes."""
    SCENES[name](stage)
    check(stage)


def test_questions_of_many_threads_add_up(stage, new_cli):
    """Eight threads, two questions each: nothing is lost, nothing counted twice."""
    prompts = [f"question {number}" for number in range(16)]
    with stage.client() as client, ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda prompt: client.ask(prompt, timeout=PATIENCE), prompts))
    assert_paid(stage, client)
    assert_close(sum(answer.cost_usd for answer in answers), client.cost_usd, stage.version)
    assert max(answer.total_cost_usd for answer in answers) == client.cost_usd
    by_count = sum((answer.usage for answer in answers), claude_sync.Usage())
    assert by_count == client.usage


def test_a_steered_message_is_paid_once(stage):
    """Whether it joins the turn or becomes one of its own."""
    stage.when("work", tool_use("Bash", {"command": "sleep 0.3"}), "done")
    with stage.client() as client:
        client.on_tool_use(lambda use: client.steer("and this"))
        client.ask("work", timeout=PATIENCE)
        client.wait_idle(PATIENCE)
        client.ask("after", timeout=PATIENCE)
    assert_paid(stage, client)


@pytest.mark.everything
def test_what_nobody_asked_for_is_the_clients(stage, new_cli):
    """A background agent reports back: its turn costs no answer anything."""
    task = {"description": "sum", "prompt": "subwork", "subagent_type": "general-purpose"}
    stage.when("subwork", "four", who="agent")
    stage.when("delegate", tool_use("Task", task), "delegated")
    with stage.client() as client:
        first = client.ask("delegate", timeout=PATIENCE)
        client.wait_idle(PATIENCE)
        before = len(stage.book.lines)
        second = client.ask("after", timeout=PATIENCE)
    assert_paid(stage, client)
    assert_close(second.cost_usd, price(stage.version, stage.book.lines[before:]), "after")
    assert first.cost_usd + second.cost_usd < client.cost_usd
    assert second.agent_usage == ()


def test_each_cli_tells_what_it_tells_about_agents(stage):
    """Numbers, of which the old one takes some before the reply is complete."""
    task = {"description": "sum", "prompt": "subwork", "subagent_type": "general-purpose"}
    stage.when("subwork", tool_use("Bash", {"command": "echo hi"}), "four", who="agent")
    stage.when("delegate", tool_use("Task", task), "delegated")
    with stage.client() as client:
        answer = client.ask("delegate", timeout=PATIENCE)
        client.wait_idle(PATIENCE)
        (agent,) = client.agent_usage
    (of_the_turn,) = answer.agent_usage
    assert of_the_turn.tool_use_id == agent.tool_use_id
    assert (agent.agent, agent.description) == ("general-purpose", "sum")
    assert agent.status == "completed"
    last = [line.usage for line in stage.book.lines if line.who == "agent"][-1]
    assert agent.tool_uses == 1
    assert agent.duration_ms > 0
    assert agent.agent_id
    if stage.version == OLD:
        # Before the reply was complete: one token of it.
        assert agent.total_tokens == sum(last.values()) - last["output_tokens"] + 1
        assert agent.usage.input_tokens == last["input_tokens"]
    else:
        assert agent.total_tokens == sum(last.values())
        assert agent.model == stage.book.lines[0].model


def test_the_context_is_that_of_the_cli(stage, new_cli):
    """Its own report has the same number, once it is more than the CLI's own prompts."""
    stage.when("read a lot", "much", usage=(50000, 7000, 3000, 500))
    with stage.client() as client:
        answer = client.ask("read a lot", timeout=PATIENCE)
        assert answer.context_tokens == client.context_tokens == 53500
        assert client.control("get_context_usage")["totalTokens"] == 53500
        client.ask("/clear", timeout=PATIENCE)
        assert client.context_tokens is None
        assert client.control("get_context_usage")["apiUsage"] is None


def test_a_budget_holds_among_threads(stage, new_cli):
    """What was queued when the budget was used up is refused, and nothing of it is sent."""
    with stage.client(budget_usd=1e-9) as client:
        turns = [client.submit(f"question {number}", timeout=PATIENCE) for number in range(8)]
        errors = [turn.exception(PATIENCE) for turn in turns]
        assert errors[0] is None
        assert all(isinstance(error, claude_sync.BudgetExceeded) for error in errors[1:])
        stage.kill(client)
        with pytest.raises(claude_sync.BudgetExceeded):
            client.ask("after the crash", timeout=PATIENCE)
        assert client.state == "crashed"
    asked = [request.text for request in stage.model.conversation]
    assert [text for text in asked if text.startswith(("question", "after"))] == ["question 0"]
    assert_paid(stage, client)


@pytest.mark.everything
def test_what_is_left_of_a_budget_is_the_next_process_s(stage, new_cli):
    """After a crash the CLI gets what is left; then it is the CLI that refuses."""
    with stage.client() as client:
        once = client.ask("one", timeout=PATIENCE).cost_usd
    with stage.client(max_budget_usd=once * 1.5) as client:
        assert not client.ask("two", timeout=PATIENCE).is_error
        stage.kill(client)
        answer = client.ask("three", timeout=PATIENCE, raise_on_error=False)
        assert answer.is_error
        assert answer.result.subtype == "error_max_budget_usd"
        assert client.cost_usd > once * 1.5


@pytest.mark.everything
def test_restarts_for_another_form_are_paid_once(stage, new_cli):
    """Each of them goes on from what the process before has saved, or from nothing."""
    stage.when("typed", tool_use("StructuredOutput", {"number": 4}), "done")
    with stage.client() as client:
        stage.ask(client, "one")
        answer = client.ask("typed", returns=FORM, timeout=PATIENCE)
        assert answer.data == {"number": 4}
        stage.note("typed", client, answer)
        stage.ask(client, "plain")
    check(stage)


def test_an_interrupted_agent_is_paid_for(stage):
    """What a subagent had done when its turn was interrupted counts, and counts once."""
    gate, begun = threading.Event(), threading.Event()
    task = {"description": "sum", "prompt": "subwork", "subagent_type": "general-purpose"}
    task["run_in_background"] = False

    def wait(request):
        begun.set()
        assert gate.wait(PATIENCE)
        return "too late"

    stage.when("subwork", tool_use("Bash", {"command": "echo hi"}), wait, who="agent")
    stage.when("delegate", tool_use("Task", task), "delegated")
    with stage.client() as client:
        client.ask("one", timeout=PATIENCE)
        turn = client.submit("delegate", raise_on_error=False)
        assert begun.wait(PATIENCE)
        client.interrupt()
        answer = turn.result(PATIENCE)
        gate.set()
        client.ask("after", timeout=PATIENCE)
    paid = [line for line in stage.book.lines if line.who == "agent"][:1]
    assert answer.cost_usd >= price(stage.version, paid)
    assert client.cost_usd <= price(stage.version, stage.book.lines) + 1e-9
