"""A program that uses much of the library, rightly: strict checkers find nothing in it."""

from __future__ import annotations

import dataclasses
import pathlib
import tkinter
from concurrent.futures import as_completed
from typing import Any, Callable, Dict, List, Optional

from typing_extensions import TypedDict, assert_type

import claude_sync
from claude_sync import (
    Answer,
    Client,
    Decision,
    HookEvent,
    Options,
    PermissionRequest,
    Pool,
    Questions,
    Result,
    Text,
    Tool,
    ToolUse,
    Turn,
    hooks,
    sessions,
)
from claude_sync.bridge import Bridge
from claude_sync.gui import qt, tk
from claude_sync.notebook import buttons
from claude_sync.permissions import policies
from claude_sync.permissions.request import PermissionAnswer
from claude_sync.testing import ScriptedCli


@dataclasses.dataclass
class City:
    """A form of answers."""

    name: str
    population: int


def simple() -> str:
    """One question."""
    answer = claude_sync.ask("What is 2+2?", model="haiku", timeout=60, attach=["a.png"])
    assert_type(answer, Answer[None])
    assert_type(answer.cost_usd, float)
    assert_type(answer.session_id, Optional[str])
    for use, result in answer.tool_uses:
        assert_type(use, ToolUse)
        print(use.name, use.input, None if result is None else result.is_error)
    return answer.upper()


def handlers(client: Client) -> None:
    """Handlers as lambdas, as functions, and by decorator."""
    client.on_text(print)
    client.on_text(lambda text: print(text.snapshot, end="", flush=True))
    client.on_thinking(lambda piece: print(piece.upper()), subagents=True)
    client.on_permission(lambda request: assert_type(request, PermissionRequest).allow())
    client.on_permission(lambda request: request.tool == "Read")
    client.on_tool_use(lambda use: print(use.name, use.input))
    client.on_tool_result(lambda result: print(result.is_error))
    client.on_question(lambda questions: questions.answer({questions.questions[0].text: "yes"}))
    client.on_result(lambda result: print(result.duration_ms))
    client.on_message(lambda message: print(message.raw))
    client.on_system(lambda message: print(message.subtype))
    client.on_init(lambda init: print(init.cwd))
    client.on_status(lambda status: print(status.status))
    client.on_task(lambda task: print(task.task_id))
    client.on_rate_limit(lambda limit: print(limit.raw))
    client.on_stream_event(lambda event: print(event.event))
    client.on_stderr(lambda line: print(line.rstrip()))
    client.on_error(lambda failure: print(failure.exception, failure.event))
    client.on_close(lambda closed: print(closed.reason, closed.exit_code))
    pieces: List[str] = []
    client.on_text(pieces.append)

    @client.on_permission
    def decide(request: PermissionRequest) -> Optional[Decision]:
        print(request.preview())
        if request.tool == "Bash":
            return request.deny("no shell")
        return request.allow_always() if request.suggestions else None

    # A decorator gives back a function with the types it had.
    kept: Callable[[PermissionRequest], Optional[Decision]] = decide
    client.off(kept)

    @client.on_permission
    def later(request: PermissionRequest) -> PermissionAnswer:
        return claude_sync.LATER

    @client.on_question
    def ask_person(questions: Questions) -> Dict[str, str]:
        return {question.text: question.options[0].label for question in questions.questions}

    @client.on_text(subagents=True)
    def show(text: Text) -> None:
        print(text, text.agent)

    @client.on_result
    def at_the_end(result: Result) -> None:
        print(result.num_turns)

    show(Text("piece"))

    @client.on_hook("PreToolUse", matcher="Bash", timeout=5)
    def check(event: HookEvent) -> Optional[hooks.HookDecision]:
        if "sudo" in str(event.tool_input):
            return hooks.block("no sudo here") | hooks.system_message("refused")
        return None

    client.on_hook("Stop")(lambda event: print(assert_type(event, HookEvent).session_id))
    client.on_hook("UserPromptSubmit", lambda event: hooks.add_context(str(event.prompt)))
    client.on_hook("PreToolUse", check, matcher="Bash")
    client.on_hook("PreToolUse", check, "Bash", on_failure="continue")
    client.on_hook("PreToolUse", "Bash")(check)
    client.off(later)
    client.off(ask_person)
    client.off(at_the_end)
    client.off(check)


def tools(client: Client) -> None:
    """Functions stay what they were."""

    @client.tool
    def population(city: str, year: int = 2020) -> int:
        return len(city) * year

    @client.tool(name="look", read_only=True)
    def look_up(city: str) -> City:
        return City(city, population(city, year=2021))

    assert_type(population("Oslo"), int)
    assert_type(look_up("Oslo"), City)

    @claude_sync.tool
    def plain(word: str) -> str:
        return word

    @claude_sync.tool(ask=True, description="Count letters.")
    def count(word: str, times: int = 1) -> int:
        return len(word) * times

    assert_type(plain("a"), str)
    assert_type(count("a", times=2), int)
    with Client(tools=[plain, count, len, population]) as other:
        other.start()
    names = [each.name for each in (Tool(len), plain)]
    print(names)


def conversation(folder: pathlib.Path) -> Optional[Answer]:
    """Settings, turns, control requests and errors."""
    options = Options(model="sonnet", cwd=folder, max_turns=5, allowed_tools=["Read"])
    with Client(
        options.replace(effort="low"),
        permissions=policies.first_of(policies.read_only, policies.allow_tools("Bash(git *)")),
        env={"A": "1", "B": None},
        on_text=lambda text: print(text.snapshot),
        on_crash="raise",
        budget_usd=1,
    ) as client:
        assert_type(client, Client)
        turn = client.submit("Hello", idle_timeout=30)
        assert_type(turn, Turn)
        assert_type(turn.result(timeout=10), Answer)
        turn.add_done_callback(lambda done: print(assert_type(done, Turn).text))
        turns = [client.submit(each) for each in "ab"]
        for done in as_completed(turns):
            assert_type(done.result(), Answer)
        with client.stream("Tell me a story") as story:
            for piece in story:
                assert_type(piece, Text)
        client.set_model("haiku")
        client.set_permission_mode("plan")
        assert_type(client.cost_usd, float)
        print(client.context_usage().total_tokens, client.interrupt().still_queued)
        print(client.info.cli_version, client.stats().reconnects, client.timeline())
        try:
            answer = client.ask("Where?", returns=City, raise_on_error=False)
            city: City = answer.data
            print(city.population)
            return client.ask([{"type": "text", "text": "Hi"}])
        except claude_sync.RateLimited as error:
            print(error.answer, error.result)
        except claude_sync.AskTimeout as error:
            print(error.sent)
        except claude_sync.CliFailed as error:
            print(error.exit_code, error.stderr_tail)
        except claude_sync.ClaudeError:
            raise
    return None


class Row(TypedDict):
    """Another form of answers."""

    count: int


def typed(client: Client) -> None:
    """Typed answers, wherever questions are asked; without a form there are no data."""
    assert_type(client.ask("Which?").data, Any)  # a client of any kind
    assert_type(client.ask("Which?", returns=City, timeout=3).data, City)
    assert_type(client.ask("Which?", returns=List[City]).data, List[City])
    assert_type(client.ask("Which?", returns=Row).data["count"], int)
    assert_type(client.ask("Which?", returns={"type": "object"}).data, Any)
    assert_type(client.submit("Which?", returns=City), Turn[City])
    with client.stream("Which?", returns=City) as turn:
        print([piece.upper() for piece in turn], turn.result().data.name)
    for message in turn.result().messages:
        print(message.raw)
    assert_type(claude_sync.ask("Which?", returns=City, model="haiku").data, City)
    assert_type(claude_sync.ask("Which?").data, None)
    with Client(returns=City, model="haiku") as of_cities:
        assert_type(of_cities, Client[City])
        assert_type(of_cities.ask("Which?", timeout=3).data, City)
        assert_type(of_cities.submit("Which?").result().data, City)
        assert_type(of_cities.ask("How many?", returns=Row).data, Row)
        typed(of_cities)
    assert_type(Client(model="haiku").ask("Which?").data, None)
    assert_type(Client(Options(returns=City)).ask("Which?").data, Any)
    with Pool(2, returns=City) as pool:
        assert_type(pool.ask("Which?").data, City)
        assert_type(pool.submit("Which?").result().data, City)
        assert_type(pool.submit("How many?", returns=Row).result().data, Row)
    assert_type(claude_sync.map(["a"], model="haiku"), claude_sync.Batch[None])
    assert_type(claude_sync.map(["a"], returns=List[City]), claude_sync.Batch[List[City]])


def many(texts: List[str]) -> None:
    """Pools, batches, saved sessions, bridges, tests."""
    with Pool(size=2, model="haiku", on_permission=policies.deny_all) as pool:
        assert_type(pool.ask("Hi"), Answer[None])
        question = pool.submit("Hi")
        assert_type(question.result(), Answer[None])
        with pool.client() as client:
            assert_type(client, Client[None])
    with claude_sync.map(texts, workers=2, returns=City, model="haiku", retries=1) as batch:
        for item in batch:
            assert_type(item, claude_sync.Item[City])
            print(item.index, item.answer or item.error, item.data.name)
            if item.ok:
                print(item.answer[:50])
    for session in sessions.list_sessions():
        assert_type(session, claude_sync.SessionInfo)
        print(session.session_id)
    with Bridge(["ssh", "host", "claude-sync", "bridge"]) as bridge:
        assert_type(bridge.client(model="opus"), Client)
    cli = ScriptedCli()
    with Client(transport=cli):
        pass
    root = tkinter.Tk()
    with Client(on_permission=buttons, on_question=buttons) as client:
        tk.attach(client, root)
        client.on_permission(tk.PermissionDialog.handler(root))
        client.on_question(tk.QuestionDialog.handler(root))
        client.on_permission(qt.PermissionDialog.handler())
        client.on_permission(policies.ask_on_terminal)
    claude_sync.export(sessions.read_session("id"), "chat.md")
