"""on_text and its sisters: registering handlers, in every way that is promised."""

from __future__ import annotations

import inspect
import threading

import pytest
from patience import PATIENCE
from tables import each

from claude_sync import Client, UsageError
from claude_sync.client.handler_methods import HandlerMethods
from claude_sync.engine.handlers import KINDS
from claude_sync.testing import builders


def play(client, cli, *messages, text="done"):
    """One turn during which the CLI says *messages*."""
    turn = client.submit("hi")
    user = cli.expect("user")
    cli.begin_turn(user)
    cli.say(*messages)
    cli.end_turn(user, text)
    return turn.result(PATIENCE)


def test_every_kind_has_a_method():
    """There is an on_ method for each kind of event, with a docstring."""
    for kind in KINDS:
        method = getattr(HandlerMethods, f"on_{kind}")
        assert inspect.getdoc(method)


@each("kind", KINDS)
def test_it_works_as_a_call_and_as_a_decorator(kind):
    """Both forms return the handler itself."""
    client = Client()
    register = getattr(client, f"on_{kind}")

    def called(event):
        """A handler."""

    assert register(called) is called

    @register
    def decorated(event):
        """Another."""

    assert client._registry.of[kind] == (called, decorated)


@pytest.mark.parametrize("kind", ["text", "thinking"])
def test_subagents_can_be_asked_for_in_both_forms(kind):
    """@client.on_text(subagents=True) and client.on_text(f, subagents=True)."""
    client = Client()
    register = getattr(client, f"on_{kind}")

    @register(subagents=True)
    def decorated(event):
        """A handler."""

    def called(event):
        """Another."""

    assert register(called, subagents=True) is called
    assert client._registry.of_subagents[kind] == (decorated, called)
    assert client._registry.of[kind] == (decorated, called)


@each("kind", KINDS)
def test_handlers_can_be_given_to_the_client(kind):
    """Client(on_text=...) registers it; None is left out."""
    client = Client(**{f"on_{kind}": print})
    assert client._registry.of[kind] == (print,)
    assert Client(**{f"on_{kind}": None})._registry.of[kind] == ()


def test_what_cannot_be_called_is_refused():
    """A handler that is no function is told at once, wherever it is given."""
    with pytest.raises(UsageError, match="on_result must be a function"):
        Client().on_result("print")
    with pytest.raises(UsageError, match="on_text must be a function"):
        Client(on_text=3)


def test_handlers_run_in_order_of_registration(client, cli):
    """All handlers of an event run, the first registered first."""
    calls = []
    for number in range(5):
        client.on_result(lambda result, number=number: calls.append(number))
    play(client, cli)
    assert calls == [0, 1, 2, 3, 4]


def test_off_removes_a_handler(client, cli):
    """After off() a handler is not called any more; bound methods can be removed too."""
    first, second = [], []
    client.on_text(first.append)
    client.on_text(second.append)
    client.on_result(second.append)
    client.off(second.append)
    client.off(print)  # was never registered
    play(client, cli, builders.assistant("Hello"))
    assert (first, second) == (["Hello"], [])


def test_a_handler_can_remove_itself(client, cli):
    """A change inside a handler counts from the next event on."""
    heard = []

    def once(text):
        heard.append(text)
        client.off(once)

    client.on_text(once)
    client.on_text(heard.append)
    play(client, cli, builders.assistant("a", "m1"), builders.assistant("b", "m2"))
    assert heard == ["a", "a", "b"]


def test_a_handler_can_add_a_handler(client, cli):
    """A handler that is added by a handler hears the next event."""
    heard = []

    @client.on_init
    def begin(init):
        client.on_text(heard.append)

    play(client, cli, builders.assistant("Hello"))
    assert heard == ["Hello"]


def test_handlers_may_be_added_from_any_thread(client, cli):
    """Registering while a turn runs loses no handler."""
    calls = []

    def register():
        for _ in range(50):
            client.on_result(lambda result: calls.append(1))

    threads = [threading.Thread(target=register) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    play(client, cli)
    assert len(calls) == 200


class Listener:
    """An object whose methods are handlers."""

    def __init__(self):
        self.heard = []

    def on_text(self, text):
        self.heard.append(text)

    def on_result(self, result):
        self.heard.append(result.result)

    def on_click(self, button):
        """The program's own."""


def test_the_methods_of_an_object_can_be_handlers(client, cli):
    """add_handlers() registers methods by name and leaves other on_ methods alone."""
    listener = Listener()
    client.add_handlers(listener)
    play(client, cli, builders.assistant("Hello"), text="done")
    assert listener.heard == ["Hello", "done"]


def test_a_near_miss_of_a_method_registers_nothing(client):
    """A method that nearly has the right name is a UsageError that tells it."""

    class Wrong(Listener):
        def on_tool_usee(self, use):
            """A typo."""

    with pytest.raises(UsageError, match="Did you mean on_tool_use"):
        client.add_handlers(Wrong())
    assert client._registry.of["text"] == ()


# What each kind gets.


def test_text_is_delivered_exactly_once(client, cli):
    """Streamed and complete, streamed only in part, complete only: each character once."""
    heard = []
    client.on_text(heard.append)
    play(
        client,
        cli,
        *builders.stream_of(["Hel", "lo"], "m1", complete=True),
        builders.message_start("m2"),
        builders.block_start(message_id="m2"),
        builders.text_delta(" my", message_id="m2"),
        builders.assistant(" my dear", "m2"),
        builders.assistant(" you", "m3"),
    )
    assert heard == ["Hel", "lo", " my", " dear", " you"]


def test_text_of_subagents_goes_to_who_asked(client, cli):
    """subagents=True hears both; others hear the main conversation only."""
    main, everybody = [], []
    client.on_text(main.append)
    client.on_text(everybody.append, subagents=True)
    play(
        client,
        cli,
        builders.assistant(builders.tool_use("Task", {"subagent_type": "helper"}, "t1"), "m1"),
        builders.assistant("inside", "m2", parent="t1"),
        *builders.stream_of(["streamed ", "inside"], "m3", parent="t1", complete=True),
        builders.assistant("outside", "m4"),
    )
    assert main == ["outside"]
    assert everybody == ["inside", "streamed ", "inside", "outside"]
    assert [piece.agent for piece in everybody] == ["helper", "helper", "helper", None]


def test_thinking_is_delivered_like_text(client, cli):
    """Thinking has its own handlers and is not text."""
    thoughts, texts = [], []
    client.on_thinking(thoughts.append)
    client.on_text(texts.append)
    play(
        client,
        cli,
        builders.message_start(),
        builders.block_start(builders.thinking("")),
        builders.thinking_delta("hm"),
        builders.thinking_delta(", well"),
        builders.assistant(builders.thinking("hm, well")),
        builders.assistant("Hello", "m2"),
    )
    assert (thoughts, texts) == (["hm", ", well"], ["Hello"])


def test_tools_are_told_once_and_complete(client, cli):
    """on_tool_use gets the call, on_tool_result what it gave."""
    events = []
    client.on_tool_use(lambda use: events.append((use.name, dict(use.input))))
    client.on_tool_result(lambda result: events.append(result.content))
    play(
        client,
        cli,
        builders.message_start(),
        builders.block_start(builders.tool_use("Read", {}, "t1")),
        builders.input_json_delta('{"file": "a"}'),
        builders.assistant(builders.tool_use("Read", {"file": "a"}, "t1")),
        builders.block_stop(),
        builders.user([builders.tool_result("t1", "content")]),
    )
    assert events == [("Read", {"file": "a"}), "content"]


def test_on_init_is_once_per_conversation(client, cli):
    """The CLI repeats the message at every turn; handlers hear a new conversation only."""
    inits, systems = [], []
    client.on_init(lambda init: inits.append(init.session_id))
    client.on_system(systems.append)
    play(client, cli)
    play(client, cli)
    first, cli.session_id = cli.session_id, "another"
    play(client, cli)
    assert inits == [first, "another"]
    assert sum(type(each).__name__ == "Init" for each in systems) == 3


@pytest.mark.parametrize(
    ("kind", "message", "expected"),
    [
        ("status", builders.status("compacting"), "Status"),
        ("task", builders.task_started("t"), "Task"),
        ("rate_limit", {"type": "rate_limit_event", "rate_limit_info": {}}, "RateLimit"),
        ("stream_event", builders.message_start(), "StreamEvent"),
        ("message", {"type": "never_seen", "a": 1}, "Unknown"),
        ("system", builders.system("never_seen"), "System"),
    ],
)
def test_each_kind_gets_its_messages(client, cli, kind, message, expected):
    """Other messages go to the handlers of their kind, unknown ones included."""
    heard = []
    getattr(client, f"on_{kind}")(heard.append)
    play(client, cli, message)
    assert expected in [type(each).__name__ for each in heard]


def test_on_message_sees_every_complete_message(client, cli):
    """Messages of all kinds come, in order, with the object they were made from."""
    heard = []
    client.on_message(heard.append)
    play(client, cli, builders.assistant("Hello"), {"type": "never_seen", "a": 1})
    kinds = [type(message).__name__ for message in heard]
    places = iter(kinds)
    assert all(kind in places for kind in ["Init", "Assistant", "Unknown", "Result"]), kinds
    assert "StreamEvent" not in kinds
    unknown = next(each for each in heard if each.type == "never_seen")
    assert unknown.raw["a"] == 1


def test_on_stderr_gets_lines(client, cli):
    """Each line of stderr is a str."""
    heard = threading.Event()
    lines = []

    @client.on_stderr
    def line(text):
        lines.append(text)
        heard.set()

    cli.print_error("careful")
    assert heard.wait(PATIENCE)
    assert lines == ["careful"]


def test_on_close_is_the_last_thing(cli):
    """Handlers of the end hear why, once."""
    heard = []
    with Client(transport=cli) as client:
        client.on_close(heard.append)
    client.close()
    (closed,) = heard
    assert closed.reason == "closed by the program"
    assert closed.exit_code == 0


async def asynchronous(event):
    """A handler that nothing would await."""


class Asynchronous:
    """An object whose call nothing would await."""

    async def __call__(self, event):
        """Do nothing."""


@each("handler", [asynchronous, Asynchronous()])
@each("kind", ["text", "permission", "question"])
def test_an_async_handler_is_refused(kind, handler):
    """It would never run, and a permission would be denied for ever."""
    with pytest.raises(UsageError, match="async"):
        getattr(Client(), f"on_{kind}")(handler)


@pytest.mark.parametrize("handler", [lambda: None, lambda one, other: None])
def test_a_handler_takes_one_argument(handler):
    """One that cannot be called is refused when it is registered."""
    with pytest.raises(UsageError, match="one argument"):
        Client().on_permission(handler)


def test_on_hook_checks_before_it_is_applied():
    """A decorator that is never applied has told what is wrong, too."""
    with pytest.raises(UsageError, match="timeout"):
        Client().on_hook("PreToolUse", timeout=-1)
