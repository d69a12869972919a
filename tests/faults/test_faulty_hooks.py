"""What goes wrong in and around hooks: what was to be blocked stays blocked, and nothing hangs."""

import contextlib
import logging
import threading

import pytest
from patience import PATIENCE

import claude_sync
from claude_sync import Client, HookEvent, UsageError, hooks
from claude_sync.testing import ScriptedCli, builders

USE = {"tool_name": "Bash", "tool_input": {"command": "rm -rf build"}}


class Running:
    """A turn that runs, in which the CLI calls hooks."""

    def __init__(self, turn, cli):
        self.cli = cli
        self.turn = turn
        self.user = cli.expect("user", text="hi")
        cli.begin_turn(self.user)

    def call(self, event="PreToolUse", input=USE, number=0, **fields):
        """Call the hook of that number."""
        return self.cli.call_hook(f"hook_{number}", event, input, **fields)

    def answer_to(self, request):
        """What the client answered; an error as its text."""
        identity = request["request_id"]
        response = self.cli.expect("control_response", request_id=identity)["response"]
        return response["error"] if response["subtype"] == "error" else response["response"]

    def answered(self, event="PreToolUse", input=USE, number=0, **fields):
        """Call, and get the answer."""
        return self.answer_to(self.call(event, input, number, **fields))

    def end(self):
        """The turn ends, unless it has, and its answer is its own."""
        if not self.turn.done():
            self.cli.end_turn(self.user, "went on")
            assert self.turn.result(PATIENCE) == "went on"


def is_blocked(answer):
    """Whether an answer keeps a tool from running."""
    specific = answer["hookSpecificOutput"] if isinstance(answer, dict) else {}
    behavior = specific.get("decision", {}).get("behavior")
    return "deny" in (specific.get("permissionDecision"), behavior)


@pytest.fixture
def opened(greet):
    """Open clients whose hooks *register* adds; each with its own CLI and a turn that runs."""
    with contextlib.ExitStack() as stack:

        def open_client(register=lambda client: None, cli=None, **options):
            cli = cli or ScriptedCli(patience=PATIENCE)
            client = stack.enter_context(Client(transport=cli, **options))
            register(client)
            greet(client, cli)
            running = Running(client.submit("hi"), cli)
            stack.callback(running.end)
            return client, running

        yield open_client


@pytest.fixture
def hooked(opened):
    """A running turn of a client with one hook: ``hooked(function, "Stop", timeout=1)``."""

    def open_client(function, event="PreToolUse", cli=None, options=None, **settings):
        def register(client):
            client.on_hook(event, **settings)(function)

        return opened(register, cli, **(options or {}))[1]

    return open_client


class Thinking:
    """A hook that thinks until it may leave; ``events`` are those it was called with."""

    def __init__(self, returns=None):
        self.events = []
        self.threads = []
        self.leave = threading.Event()
        self._returns = returns
        self._changed = threading.Condition()

    def __call__(self, event):
        with self._changed:
            self.events.append(event)
            self.threads.append(threading.current_thread())
            self._changed.notify_all()
        assert self.leave.wait(PATIENCE)
        return self._returns

    def wait(self, count=1):
        """The first *count* events."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.events) >= count, PATIENCE)
        return self.events


@pytest.fixture
def thinking():
    """See :class:`Thinking`; whoever still thinks after the test is let go."""
    made = Thinking()
    yield made
    made.leave.set()


# The greeting.


def greeting_of(register, **options):
    """What a client tells of its hooks."""
    cli = ScriptedCli(patience=PATIENCE)
    with Client(transport=cli, **options) as client:
        register(client)
        starting = threading.Thread(target=client.start)
        starting.start()
        request = cli.accept()["request"]
        starting.join(PATIENCE)
    return request.get("hooks")


def do_nothing(event):
    """A hook that has nothing to say."""


def test_the_greeting_names_hooks_in_order():
    """Each event has its hooks in the order of registration, those of the options first."""

    def register(client):
        client.on_hook("Stop")(do_nothing)
        client.on_hook("PreToolUse", matcher="Bash")(do_nothing)
        client.on_hook("PreToolUse", "Edit|Write")(do_nothing)

    told = greeting_of(register, hooks={"PreToolUse": [do_nothing, do_nothing]})
    assert {event: [hook["hookCallbackIds"] for hook in each] for event, each in told.items()} == {
        "PreToolUse": [["hook_0"], ["hook_1"], ["hook_3"], ["hook_4"]],
        "Stop": [["hook_2"]],
    }
    matchers = [hook.get("matcher") for hook in told["PreToolUse"]]
    assert matchers == [None, None, "Bash", "Edit|Write"]


def test_without_hooks_none_are_named():
    """A client without hooks does not mention them."""
    assert greeting_of(lambda client: None) is None


def test_a_hook_after_the_greeting_is_refused(opened):
    """The CLI could not learn of it any more."""
    client = opened()[0]
    with pytest.raises(UsageError, match="first time"):
        client.on_hook("Stop")(do_nothing)


def test_a_hook_that_is_removed_before_the_greeting_is_not_named():
    """off() before the first use leaves no trace."""

    def register(client):
        client.on_hook("Stop")(do_nothing)
        client.on_hook("PreToolUse")(print)
        client.off(do_nothing)

    assert list(greeting_of(register)) == ["PreToolUse"]


# What a hook may answer.


@pytest.mark.parametrize(
    ("returned", "answer"),
    [
        (None, {}),
        ({}, {}),
        (hooks.suppress_output(), {"suppressOutput": True}),
        ({"systemMessage": "careful"}, {"systemMessage": "careful"}),
        (
            hooks.block("not here"),
            {
                "hookSpecificOutput": {
                    "hookEventName": "PreToolUse",
                    "permissionDecision": "deny",
                    "permissionDecisionReason": "not here",
                }
            },
        ),
    ],
)
def test_what_a_hook_returns(hooked, returned, answer):
    """None is nothing to say; words and dicts go to the CLI in its own form."""
    assert hooked(lambda event: returned).answered() == answer


def test_what_a_hook_gets(hooked):
    """The event as it came, with the id of the use beside it."""
    got = []
    running = hooked(lambda event: got.append(event))
    running.answered(tool_use_id="toolu_9")
    (event,) = got
    assert isinstance(event, HookEvent)
    assert (event.event, event.tool, event.tool_use_id) == ("PreToolUse", "Bash", "toolu_9")
    assert event.tool_input == USE["tool_input"]
    assert not event.cancelled.is_set()


def test_two_hooks_answer_for_themselves(opened):
    """The number in the callback id tells which hook is meant."""

    def register(client):
        client.on_hook("PreToolUse")(lambda event: hooks.block("first"))
        client.on_hook("PreToolUse")(lambda event: hooks.add_context("second"))

    running = opened(register)[1]
    assert running.answered(number=1)["hookSpecificOutput"]["additionalContext"] == "second"
    assert is_blocked(running.answered(number=0))


NONSENSE = ["no", 5, True, False, [], object(), b"", {"decision": "deny"}, {"behavior": "deny"}]


@pytest.mark.parametrize("nonsense", NONSENSE)
@pytest.mark.parametrize("event", ["PreToolUse", "PermissionRequest"])
def test_nonsense_blocks(opened, event, nonsense):
    """What means nothing blocks, and on_error is told."""
    told = []
    client, running = opened(lambda client: client.on_hook(event)(lambda given: nonsense))
    client.on_error(told.append)
    assert is_blocked(running.answered(event))
    running.end()
    assert isinstance(told[0].exception, UsageError)


@pytest.mark.parametrize("raised", [ValueError("oops"), SystemExit(3), KeyboardInterrupt()])
@pytest.mark.parametrize("event", ["PreToolUse", "PermissionRequest"])
def test_a_hook_that_raises_blocks_and_the_client_goes_on(hooked, event, raised):
    """Whatever it raises is a block, and the next call is served."""
    answers = [raised, None]

    def decide(given):
        error = answers.pop(0)
        if error is not None:
            raise error

    running = hooked(decide, event)
    answer = running.answered(event)
    assert is_blocked(answer)
    assert type(raised).__name__ in str(answer)
    assert running.answered(event) == {}


@pytest.mark.parametrize("fault", [lambda event: 1 / 0, lambda event: "nonsense"])
@pytest.mark.parametrize("event", ["PostToolUse", "Stop", "UserPromptSubmit"])
def test_a_failing_hook_of_what_it_does_not_decide(hooked, event, fault):
    """There is nothing to block: the CLI gets an error, and goes on."""
    running = hooked(fault, event)
    assert "failed" in running.answered(event)
    assert "failed" in running.answered(event)


@pytest.mark.parametrize("fault", [lambda event: 1 / 0, lambda event: "nonsense"])
def test_a_hook_that_must_not_block(hooked, fault):
    """on_failure="continue": a failure lets the tool run."""
    answer = hooked(fault, on_failure="continue").answered()
    assert isinstance(answer, str)
    assert "failed" in answer


def test_the_failure_of_a_hook_is_told(opened, caplog):
    """on_error gets the exception, the hook and its event; the log has the traceback."""

    def fail(event):
        raise ValueError("it broke")

    told = []
    client, running = opened(lambda client: client.on_hook("PreToolUse")(fail))
    client.on_error(told.append)
    running.answered()
    running.end()
    (report,) = told
    assert (str(report.exception), report.handler) == ("it broke", fail)
    assert report.event.tool == "Bash"
    assert "it broke" in caplog.text
    assert "Traceback" in caplog.text


@pytest.mark.parametrize("raised", [ZeroDivisionError(), SystemExit(3)])
def test_raise_handler_errors(opened, raised):
    """With raise_handler_errors what a hook raised is raised by ask()."""

    def fail(event):
        raise raised

    _, running = opened(
        lambda client: client.on_hook("PreToolUse")(fail), raise_handler_errors=True
    )
    assert is_blocked(running.answered())
    running.cli.end_turn(running.user, "blocked")
    with pytest.raises(type(raised)):
        running.turn.result(PATIENCE)


def test_an_exception_whose_text_fails_blocks(hooked):
    """Not even an error that cannot be shown lets the tool run."""

    class Mute(Exception):
        def __str__(self):
            raise RuntimeError("no text")

    def fail(event):
        raise Mute

    assert is_blocked(hooked(fail).answered())


def test_ask_inside_a_hook(opened):
    """It would wait for itself: refused, and so blocked."""
    told = []
    client, running = opened(
        lambda client: client.on_hook("PreToolUse")(lambda event: client.ask("may it?"))
    )
    client.on_error(lambda error: told.append(error.exception))
    assert is_blocked(running.answered())
    running.end()
    assert isinstance(told[0], claude_sync.CalledFromHandler)


def test_an_interrupt_inside_a_hook(opened):
    """What does not wait for a turn works inside a hook."""
    _, running = opened(
        lambda client: client.on_hook("PreToolUse")(lambda event: client.interrupt() and None)
    )
    request = running.call()
    running.cli.reply(running.cli.expect("control_request", subtype="interrupt"))
    assert running.answer_to(request) == {}
    running.cli.end_interrupted(running.user)
    assert isinstance(running.turn.exception(PATIENCE), claude_sync.TurnInterrupted)


# Too late.


@pytest.mark.parametrize("event", ["PreToolUse", "PermissionRequest"])
def test_a_hook_that_takes_too_long_blocks(hooked, thinking, event, caplog, until):
    """We block in its place, it learns of it, and what it answers later is dropped."""
    running = hooked(thinking, event, timeout=0.5)
    answer = running.answered(event)
    assert is_blocked(answer)
    assert "within 0.5 s" in str(answer)
    (given,) = thinking.wait()
    assert given.cancelled.wait(PATIENCE)
    with caplog.at_level(logging.INFO, logger="claude_sync"):
        thinking.leave.set()
        until(lambda: "too late" in caplog.text)
    running.end()
    running.cli.assert_done()


def test_a_late_failure_is_told_and_answers_nothing(opened, until):
    """A hook that raises after we blocked is told to on_error; the block stands alone."""
    leave, told = threading.Event(), []

    def fail(event):
        assert leave.wait(PATIENCE)
        raise ValueError("far too late")

    client, running = opened(lambda client: client.on_hook("PreToolUse", timeout=0.5)(fail))
    client.on_error(told.append)
    assert is_blocked(running.answered())
    leave.set()
    until(lambda: told)
    running.end()
    running.cli.assert_done()


@pytest.mark.parametrize(
    ("event", "on_failure"), [("PostToolUse", "block"), ("PreToolUse", "continue")]
)
def test_a_late_hook_that_blocks_nothing(hooked, thinking, event, on_failure):
    """Where there is nothing to block, or it must not, the CLI gets an error in time."""
    running = hooked(thinking, event, timeout=0.1, on_failure=on_failure)
    assert "within 0.1 s" in running.answered(event)


def test_an_answer_in_time_ends_the_wait(hooked):
    """A hook that answers is not answered for when its time is up."""
    leave = threading.Event()

    def decide(event):
        if event.tool_use_id == "slow":
            assert leave.wait(PATIENCE)
        return hooks.add_context("in time")

    running = hooked(decide, timeout=1)
    assert "in time" in str(running.answered())
    # The time of this one is up later than that of the first would have been.
    assert is_blocked(running.answered(tool_use_id="slow"))
    leave.set()
    running.end()
    running.cli.assert_done()


# Unknown and junk.


@pytest.mark.parametrize(
    "callback_id",
    ["hook_1", "hook_99", "hook_", "hook_-1", "hook_1e0", "hook_٣", "hook_" + "9" * 30, "", "x"],
)
def test_an_unknown_hook_blocks(hooked, callback_id):
    """A call of a hook that does not exist lets nothing through; the next call is served."""
    running = hooked(do_nothing)
    assert is_blocked(running.answer_to(running.cli.call_hook(callback_id, "PreToolUse", USE)))
    assert "no such hook" in running.answer_to(running.cli.call_hook(callback_id, "Stop"))
    assert running.answered() == {}


@pytest.mark.parametrize("callback_id", [None, 0, ["hook_0"], {}, True, builders.ABSENT])
def test_a_callback_id_of_a_wrong_type(hooked, callback_id):
    """It names no hook."""
    running = hooked(do_nothing)
    request = running.cli.ask(
        builders.control_request(
            "hook_callback", callback_id=callback_id, input={"hook_event_name": "PreToolUse"}
        )
    )
    assert is_blocked(running.answer_to(request))
    assert running.answered() == {}


def test_a_client_without_hooks_blocks(opened):
    """Whoever calls a hook of a client that has none gets a block."""
    running = opened()[1]
    assert is_blocked(running.answered())


@pytest.mark.parametrize(
    "junk",
    [
        None,
        [],
        "text",
        5,
        {},
        {"hook_event_name": None},
        {"hook_event_name": "PreToolUse", "tool_input": [1], "tool_name": {}},
        {"hook_event_name": "PreToolUse", "session_id": 7, "cwd": []},
        builders.ABSENT,
    ],
    ids=repr,
)
def test_junk_as_input(hooked, junk):
    """A hook gets an event of its own kind, whatever came, and its answer counts."""
    got = []

    def decide(event):
        got.append(event)
        return hooks.block("in any case")

    running = hooked(decide)
    request = running.cli.ask(
        builders.control_request("hook_callback", callback_id="hook_0", input=junk, tool_use_id=5)
    )
    assert "in any case" in str(running.answer_to(request))
    (event,) = got
    assert (event.event, event.tool_use_id) == ("PreToolUse", None)
    assert dict(event.tool_input) == {}


def test_the_event_it_is_registered_for_decides(hooked):
    """A CLI that names another event does not turn a block into something else."""
    running = hooked(lambda event: 1 / 0)
    assert is_blocked(running.answered("Stop"))


def test_the_same_call_twice_runs_once(hooked, thinking):
    """A CLI that repeats an open request does not make a hook decide twice."""
    running = hooked(thinking)
    request = running.call()
    thinking.wait()
    running.cli.say(request)
    # The answer to this comes after the repetition was seen.
    assert "no such hook" in running.answer_to(running.cli.call_hook("another", "Stop"))
    thinking.leave.set()
    assert running.answer_to(request) == {}
    running.end()
    assert len(thinking.events) == 1
    running.cli.assert_done()


# Removed.


def test_a_removed_hook_has_nothing_to_say(opened):
    """The CLI goes on calling it, and is answered with nothing at once."""
    called = []

    def decide(event):
        called.append(event)
        return hooks.block("no")

    def register(client):
        client.on_hook("PreToolUse")(decide)
        client.on_hook("PermissionRequest")(decide)
        client.on_hook("PreToolUse")(lambda event: hooks.block("still here"))

    client, running = opened(register)
    assert is_blocked(running.answered())
    client.off(decide)
    assert running.answered(number=0) == {}
    assert running.answered("PermissionRequest", number=1) == {}
    assert is_blocked(running.answered(number=2))
    assert len(called) == 1


# Many at once, and slow ones.


def test_twenty_hooks_at_once(hooked):
    """They run at the same time, and each answer goes to its own call."""
    barrier = threading.Barrier(20)

    def decide(event):
        barrier.wait(PATIENCE)
        return hooks.block(event.tool_use_id)

    running = hooked(decide)
    requests = [running.call(tool_use_id=f"toolu_{n}") for n in range(20)]
    replies = {}
    for _ in requests:
        response = running.cli.expect("control_response")["response"]
        specific = response["response"]["hookSpecificOutput"]
        replies[response["request_id"]] = specific["permissionDecisionReason"]
    assert replies == {r["request_id"]: r["request"]["tool_use_id"] for r in requests}


def test_a_slow_handler_does_not_delay_a_hook(opened):
    """A hook is served while a handler of the text before it is still busy."""
    client, running = opened(
        lambda client: client.on_hook("PreToolUse")(lambda event: hooks.block("at once"))
    )
    busy, leave = threading.Event(), threading.Event()

    @client.on_text
    def read_slowly(text):
        busy.set()
        assert leave.wait(PATIENCE)

    running.cli.speak("I will remove it")
    assert busy.wait(PATIENCE)
    assert is_blocked(running.answered())
    leave.set()
    running.end()


# Withdrawn.


def test_a_hook_that_the_cli_withdraws(hooked, thinking):
    """It learns of it, and its answer is dropped."""
    running = hooked(thinking)
    request = running.call()
    (event,) = thinking.wait()
    running.cli.cancel(request)
    assert event.cancelled.wait(PATIENCE)
    thinking.leave.set()
    assert running.answered() == {}
    running.end()
    running.cli.assert_done()


def test_a_withdrawn_hook_is_not_answered_for(hooked, thinking):
    """Once the CLI has withdrawn it, no block follows when its time is up."""
    running = hooked(thinking, timeout=1)
    first = running.call()
    thinking.wait()
    running.cli.cancel(first)
    assert thinking.events[0].cancelled.wait(PATIENCE)
    # The second one's time is up later than the first one's would have been.
    assert is_blocked(running.answered())
    running.end()
    running.cli.assert_done()


def test_the_cli_dies_while_a_hook_thinks(hooked, thinking):
    """The waiter fails at once, the hook learns of it, and a late answer is harmless."""
    running = hooked(thinking)
    running.call()
    (event,) = thinking.wait()
    running.cli.hang_up(7)
    with pytest.raises(claude_sync.CliExited):
        running.turn.result(PATIENCE)
    assert event.cancelled.wait(PATIENCE)


@pytest.mark.usefixtures("quick_close")
def test_a_hook_that_never_returns_does_not_hold_close(opened, thinking):
    """close() does not wait for it; it learns that nobody waits any more."""
    client, running = opened(lambda client: client.on_hook("PreToolUse")(thinking))
    running.call()
    (event,) = thinking.wait()
    closing = threading.Thread(target=client.close)
    closing.start()
    closing.join(PATIENCE / 2)
    still_closing, was_told = closing.is_alive(), event.cancelled.is_set()
    thinking.leave.set()
    closing.join(PATIENCE)
    assert not still_closing
    assert was_told
    with pytest.raises(claude_sync.ClientClosed):
        running.turn.result(PATIENCE)


# Where it runs.


def serve_one_call(cli, answers):
    """Play a turn in which a hook is called."""
    user = cli.expect("user")
    cli.begin_turn(user)
    answers.append(cli.expect_reply(cli.call_hook("hook_0", "PreToolUse", USE)))
    cli.end_turn(user, "done")


@pytest.mark.parametrize("post", [None, "manual", "caller", lambda call: call()])
def test_the_thread_of_a_hook(cli, greet, post):
    """With post="caller" it is the one that asks; otherwise one of the library's."""
    threads, answers = [], []

    def where(event):
        threads.append(threading.current_thread())

    with Client(transport=cli, post=post, hooks={"PreToolUse": where}) as client:
        greet(client, cli)
        serving = threading.Thread(target=serve_one_call, args=(cli, answers))
        serving.start()
        assert client.ask("hi", timeout=PATIENCE) == "done"
        serving.join(PATIENCE)
    assert answers == [{}]
    if post == "caller":
        assert threads == [threading.current_thread()]
    else:
        (thread,) = threads
        assert thread.name.startswith(f"{client.name}-responder-")


@pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("post", ["manual", None, lambda call: call()])
def test_leaving_on_a_thread_of_the_library(cli, greet, post, raised):
    """There Ctrl-C and sys.exit() are failures like any other: blocked, told, and gone on."""
    told = []

    def leave(event):
        raise raised

    with Client(
        transport=cli, post=post, hooks={"PreToolUse": leave}, on_error=told.append
    ) as client:
        greet(client, cli)
        for _ in range(2):
            answers = []
            serving = threading.Thread(target=serve_one_call, args=(cli, answers))
            serving.start()
            assert client.ask("hi", timeout=PATIENCE) == "done"
            serving.join(PATIENCE)
            assert is_blocked(answers[0])
    assert [type(report.exception) for report in told] == [raised, raised]


def test_ctrl_c_in_a_hook_on_the_asking_thread(cli, greet):
    """With post="caller" KeyboardInterrupt blocks, and reaches ask()."""

    def leave(event):
        raise KeyboardInterrupt

    answers = []

    def serve():
        user = cli.expect("user")
        cli.begin_turn(user)
        answers.append(cli.expect_reply(cli.call_hook("hook_0", "PreToolUse", USE)))
        cli.reply(cli.expect("control_request", subtype="interrupt"))
        cli.end_interrupted(user)

    with Client(transport=cli, post="caller", hooks={"PreToolUse": leave}) as client:
        greet(client, cli)
        serving = threading.Thread(target=serve)
        serving.start()
        with pytest.raises(KeyboardInterrupt):
            client.ask("hi", timeout=PATIENCE)
        serving.join(PATIENCE)
    assert is_blocked(answers[0])


def test_nobody_comes_to_run_a_hook(opened):
    """With post="caller" and nobody who waits, a hook is blocked in time, and never runs."""
    called = []
    _, running = opened(
        lambda client: client.on_hook("PreToolUse", timeout=0.1)(called.append), post="caller"
    )
    assert is_blocked(running.answered())
    running.end()
    assert not called
