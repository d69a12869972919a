"""What goes wrong between Claude and the program's tools: every call gets its answer."""

import contextlib
import logging
import threading

import pytest
from patience import PATIENCE

import claude_sync
from claude_sync import Client, ToolContext, ToolError, UsageError, tool
from claude_sync.protocol.mcp import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
)
from claude_sync.testing import ScriptedCli, builders

SERVER = "claude_sync"


def add(first: int, second: int = 0) -> int:
    """Add two numbers."""
    return first + second


def print_nothing() -> None:
    """Do nothing."""


class Running:
    """A turn that runs, in which the CLI speaks to the server of the program."""

    def __init__(self, turn, cli):
        self.cli = cli
        self.turn = turn
        self.user = cli.expect("user", text="hi")
        cli.begin_turn(self.user)

    def send(self, message, server=SERVER):
        """Send a message, of whatever shape."""
        return self.cli.ask(
            builders.control_request("mcp_message", server_name=server, message=message)
        )

    def call(self, name, arguments=None, id=7, **meta):
        """Call a tool."""
        params = {"name": name, "arguments": arguments or {}}
        if meta:
            params["_meta"] = meta
        return self.send({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})

    def answer_to(self, request):
        """What the server answered."""
        return self.cli.expect_reply(request)["mcp_response"]

    def result_of(self, request):
        """The text of a call's result, and whether it is an error."""
        result = self.answer_to(request)["result"]
        (block,) = result["content"]
        return block["text"], result["isError"]

    def still_works(self):
        """Whether the next call is served."""
        return self.result_of(self.call("add", {"first": 2, "second": 3})) == ("5", False)

    def end(self):
        """The turn ends, unless it has, and its answer is its own."""
        if not self.turn.done():
            self.cli.end_turn(self.user, "went on")
            assert self.turn.result(PATIENCE) == "went on"


@pytest.fixture
def opened(greet):
    """Open clients with tools; each with its own CLI and a turn that runs."""
    with contextlib.ExitStack() as stack:

        def open_client(*tools, **options):
            cli = ScriptedCli(patience=PATIENCE)
            client = stack.enter_context(Client(transport=cli, tools=[add, *tools], **options))
            greet(client, cli)
            running = Running(client.submit("hi"), cli)
            stack.callback(running.end)
            return client, running

        yield open_client


@pytest.fixture
def running(opened):
    """The turn of a client whose only tool is ``add``."""
    running = opened()[1]
    yield running
    running.end()
    running.cli.assert_done()


class Work:
    """A tool that runs until it is told to stop; ``contexts`` are those of its calls."""

    def __init__(self):
        self.contexts = []
        self.threads = []
        self.leave = threading.Event()
        self.left = threading.Event()
        self._changed = threading.Condition()

    def work(self, context: ToolContext) -> str:
        """Work."""
        with self._changed:
            self.contexts.append(context)
            self.threads.append(threading.current_thread())
            self._changed.notify_all()
        assert self.leave.wait(PATIENCE)
        self.left.set()
        return "worked"

    def wait(self, count=1):
        """The contexts of the first *count* calls."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.contexts) >= count, PATIENCE)
        return self.contexts


@pytest.fixture
def work():
    """See :class:`Work`; whatever still runs after the test is let go."""
    work = Work()
    yield work
    work.leave.set()


# The greeting and the handshake.


def greeting_of(**options):
    """What the client tells a CLI at first."""
    cli = ScriptedCli(patience=PATIENCE)
    with Client(transport=cli, **options) as client:
        starting = threading.Thread(target=client.start)
        starting.start()
        request = cli.accept()["request"]
        starting.join(PATIENCE)
    return request


def test_the_greeting_tells_of_the_tools():
    """The server is named, and what it would say in the handshake is told with it."""
    request = greeting_of(tools=[add])
    assert request["sdkMcpServers"] == [SERVER]
    told = request["sdkMcpServerManifests"][SERVER]
    assert [each["name"] for each in told["toolsListResult"]["tools"]] == ["add"]
    assert told["initializeResult"]["serverInfo"]["name"] == SERVER


def test_without_tools_there_is_no_server(client, cli):
    """A client without tools names none, and refuses a message to one."""
    assert not any(key.startswith("sdkMcp") for key in greeting_of())
    request = cli.call_server(SERVER, {"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    assert cli.expect_reply(request)["mcp_response"]["error"]["code"] == METHOD_NOT_FOUND


def test_a_tool_after_the_greeting_is_refused(opened):
    """The CLI could not learn of it any more."""
    client, running = opened()
    with pytest.raises(UsageError, match="first time"):
        client.tool(print_nothing)
    assert running.still_works()


def test_the_handshake_twice(running):
    """Every handshake is answered the same, whatever ids it counts with."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x"}}
    rounds = []
    for _ in range(2):
        greeted = running.answer_to(
            running.send({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello})
        )
        noted = running.answer_to(
            running.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        )
        listed = running.answer_to(
            running.send({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        )
        rounds.append((greeted, noted, listed))
    assert rounds[0] == rounds[1]
    greeted, noted, listed = rounds[0]
    assert greeted["id"] == 0
    assert greeted["result"]["protocolVersion"] == "2025-06-18"
    assert "error" not in noted
    assert [each["name"] for each in listed["result"]["tools"]] == ["add"]
    assert running.still_works()


@pytest.mark.parametrize("id", [0, -1, 2**60, 1.5, "0", "", "ein Text", "\ud800"])
def test_whatever_id_a_call_has(running, id):
    """The reply carries the id as it came."""
    answer = running.answer_to(running.call("add", {"first": 1}, id=id))
    assert answer["id"] == id
    assert type(answer["id"]) is type(id)
    assert answer["result"]["content"] == [{"type": "text", "text": "1"}]


# Junk.


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (None, INVALID_REQUEST),
        ("tools/list", INVALID_REQUEST),
        (5, INVALID_REQUEST),
        (True, INVALID_REQUEST),
        ([], INVALID_REQUEST),
        ({}, INVALID_REQUEST),
        ({"jsonrpc": "2.0"}, INVALID_REQUEST),
        ({"jsonrpc": "2.0", "id": 1}, INVALID_REQUEST),
        ({"id": 1, "method": "ping"}, INVALID_REQUEST),
        ({"jsonrpc": "1.0", "id": 1, "method": "ping"}, INVALID_REQUEST),
        ({"jsonrpc": 2.0, "id": 1, "method": "ping"}, INVALID_REQUEST),
        ({"jsonrpc": "2.0", "id": None, "method": "ping"}, INVALID_REQUEST),
        ({"jsonrpc": "2.0", "id": {}, "method": "ping"}, INVALID_REQUEST),
        ({"jsonrpc": "2.0", "id": [1], "method": "ping"}, INVALID_REQUEST),
        ({"jsonrpc": "2.0", "id": True, "method": "ping"}, INVALID_REQUEST),
        ({"jsonrpc": "2.0", "id": 1, "method": 5}, INVALID_REQUEST),
        ({"jsonrpc": "2.0", "id": 1, "method": ["ping"]}, INVALID_REQUEST),
        ({"jsonrpc": "2.0", "id": 1, "method": ""}, METHOD_NOT_FOUND),
        ({"jsonrpc": "2.0", "id": 1, "method": "resources/list"}, METHOD_NOT_FOUND),
        ({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []}, INVALID_PARAMS),
        ({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": "x"}, INVALID_PARAMS),
        ({"jsonrpc": "2.0", "id": 1, "method": "initialize"}, INVALID_PARAMS),
        ({"jsonrpc": "2.0", "id": 1, "method": "tools/call"}, INVALID_PARAMS),
    ],
)
def test_junk_is_answered_with_an_error(running, message, code):
    """A message of a wrong shape gets an error of the protocol, and the next call works."""
    assert running.answer_to(running.send(message))["error"]["code"] == code
    assert running.still_works()


@pytest.mark.parametrize(
    "params",
    [
        {"name": 5},
        {"name": None},
        {"name": ["add"]},
        {"name": "subtract"},
        {"name": "mcp__claude_sync__add"},
        {"name": ""},
        {"name": "add", "arguments": []},
        {"name": "add", "arguments": "first"},
        {"name": "add", "arguments": {"first": 1}, "_meta": 5},
        {"name": "add", "arguments": {"first": 1}, "_meta": {"progressToken": {}}},
    ],
)
def test_a_call_of_a_wrong_shape(running, params):
    """An unknown tool, or parameters that are none, are refused without calling anything."""
    message = {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": params}
    answer = running.answer_to(running.send(message))
    assert (answer["id"], answer["error"]["code"]) == (3, INVALID_PARAMS)
    assert running.still_works()


@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "method": "notifications/nonsense", "params": [1]},
        {"jsonrpc": "2.0", "method": "notifications/cancelled"},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": {}}},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}},
        {"jsonrpc": "2.0", "id": 5, "result": {}},
        {"jsonrpc": "2.0", "id": 5, "error": {"code": 1, "message": "no"}},
    ],
)
def test_what_wants_no_reply_is_answered_all_the_same(running, message):
    """The request around a notification, or around a reply, gets an answer without an error."""
    assert "error" not in running.answer_to(running.send(message))
    assert running.still_works()


@pytest.mark.parametrize("server", ["another", "", None, 5, ["claude_sync"]])
def test_a_server_that_does_not_exist(running, server):
    """It is refused, by whatever name."""
    message = {"jsonrpc": "2.0", "id": 4, "method": "tools/list"}
    answer = running.answer_to(running.send(message, server))
    assert (answer["id"], answer["error"]["code"]) == (4, METHOD_NOT_FOUND)
    assert running.still_works()


def test_a_request_without_its_fields(running):
    """mcp_message without a server and a message is refused like any other."""
    request = running.cli.ask(builders.control_request("mcp_message"))
    assert running.answer_to(request)["error"]["code"] == METHOD_NOT_FOUND
    assert running.still_works()


def test_the_same_request_twice_runs_once(opened, work):
    """A CLI that repeats an open request does not make the tool run twice."""
    running = opened(work.work)[1]
    request = running.call("work")
    work.wait()
    running.cli.say(request)
    running.cli.say({"type": "keep_alive"})
    assert running.still_works()
    work.leave.set()
    assert running.result_of(request) == ("worked", False)
    running.end()
    assert len(work.contexts) == 1
    running.cli.assert_done()


# Many at once.


def test_twenty_calls_at_once(opened):
    """They run at the same time, and each result goes to its own call."""
    barrier = threading.Barrier(20)

    def meet(number: int) -> str:
        barrier.wait(PATIENCE)
        return f"number {number}"

    running = opened(meet)[1]
    requests = [running.call("meet", {"number": n}, id=n) for n in range(20)]
    replies = {}
    for _ in requests:
        response = running.cli.expect("control_response")["response"]
        answer = response["response"]["mcp_response"]
        replies[response["request_id"]] = answer["id"], answer["result"]["content"][0]["text"]
    assert replies == {
        request["request_id"]: (n, f"number {n}") for n, request in enumerate(requests)
    }


def test_two_calls_with_one_id(opened):
    """Ids begin anew with each handshake: the request around a call tells which it is."""
    barrier = threading.Barrier(2)

    def meet(number: int) -> int:
        barrier.wait(PATIENCE)
        return number

    running = opened(meet)[1]
    requests = [running.call("meet", {"number": n}, id=2) for n in (5, 6)]
    replies = {}
    for _ in requests:
        response = running.cli.expect("control_response")["response"]
        text = response["response"]["mcp_response"]["result"]["content"][0]["text"]
        replies[response["request_id"]] = text
    assert [replies[request["request_id"]] for request in requests] == ["5", "6"]


def test_a_slow_handler_does_not_delay_a_tool(opened):
    """A tool is served while a handler of the text before it is still busy."""
    client, running = opened()
    busy, leave = threading.Event(), threading.Event()

    @client.on_text
    def read_slowly(text):
        busy.set()
        assert leave.wait(PATIENCE)

    running.cli.speak("I will add")
    assert busy.wait(PATIENCE)
    assert running.still_works()
    leave.set()
    running.end()


# What a tool does.


@pytest.mark.parametrize(
    ("raised", "text"),
    [
        (ValueError("it broke"), "ValueError: it broke"),
        (ToolError("not today"), "not today"),
        (SystemExit(3), "SystemExit: 3"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (StopIteration(), "StopIteration"),
        (MemoryError(), "MemoryError"),
    ],
)
def test_a_tool_that_raises(opened, raised, text):
    """Claude reads what was raised, without a traceback, and the next call works."""

    def fail() -> str:
        raise raised

    running = opened(fail)[1]
    assert running.result_of(running.call("fail")) == (text, True)
    assert running.still_works()
    running.end()


def test_the_traceback_is_in_the_log(opened, caplog):
    """Whoever wrote the tool finds where it failed."""
    running = opened(tool(name="fail")(lambda: 1 / 0))[1]
    assert running.result_of(running.call("fail"))[1]
    assert "ZeroDivisionError" in caplog.text
    assert "Traceback" in caplog.text
    running.end()


def test_an_exception_whose_text_fails(opened):
    """Its name is told."""

    class Mute(Exception):
        def __str__(self):
            raise RuntimeError("no text")

    def fail() -> str:
        raise Mute

    running = opened(fail)[1]
    assert running.result_of(running.call("fail")) == ("Mute", True)


def itself():
    """A list that contains itself."""
    value = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    "make",
    [
        object,
        itself,
        lambda: b"bytes",
        lambda: {"value": object()},
        lambda: (number for number in range(3)),
        lambda: 10**5000,
        lambda: {"content": [{"type": "text", "text": object()}]},
    ],
)
def test_what_has_no_json_form_is_an_error(opened, make):
    """Claude reads that the tool ran and that its result cannot be shown."""
    running = opened(tool(name="give")(lambda: make()))[1]
    text, is_error = running.result_of(running.call("give"))
    assert is_error
    assert "cannot be shown" in text
    assert running.still_works()


def test_a_result_that_cannot_be_written(opened):
    """What turns out only when it is written is an error, too: the call gets its answer."""
    result = {"content": [{"type": "text", "text": "x"}], "structuredContent": {"n": 10**5000}}
    running = opened(tool(name="give")(lambda: result))[1]
    answer = running.answer_to(running.call("give", id=9))
    assert (answer["id"], answer["error"]["code"]) == (9, INTERNAL_ERROR)
    assert running.still_works()


@pytest.mark.parametrize("value", ["\ud800", float("nan"), 2**70, "\0", "\u2028\n", ""])
def test_odd_values_travel(opened, value):
    """Lone surrogates, NaN, long numbers, control characters: one line, no error."""
    running = opened(tool(name="give")(lambda: value))[1]
    assert running.result_of(running.call("give"))[1] is False
    assert running.still_works()


@pytest.mark.parametrize(
    ("arguments", "about"),
    [
        ({}, "first: missing"),
        ({"first": "x"}, "first: expected an integer"),
        ({"first": None}, "first: expected an integer"),
        ({"first": 1, "third": 3}, "third: unexpected"),
        ({"first": [[[[[[]]]]]]}, "first: expected an integer"),
    ],
)
def test_arguments_that_do_not_fit(running, arguments, about):
    """The tool is not called, and Claude reads why."""
    text, is_error = running.result_of(running.call("add", arguments))
    assert is_error
    assert about in text
    assert "not called" in text


@pytest.mark.parametrize("method", ["ask", "wait_idle"])
def test_waiting_for_a_turn_inside_a_tool(opened, method):
    """It would wait for itself: refused, and Claude reads so."""

    def nest() -> str:
        return getattr(client, method)(*["more?"] * (method == "ask"))

    client, running = opened(nest)
    text, is_error = running.result_of(running.call("nest"))
    assert is_error
    assert text.startswith("CalledFromHandler")
    running.end()


def test_control_requests_inside_a_tool(opened):
    """What does not wait for a turn works inside a tool."""

    def mode() -> str:
        return client.control("get_settings")["mode"]

    client, running = opened(mode)
    request = running.call("mode")
    running.cli.reply(running.cli.expect("control_request", subtype="get_settings"), mode="plan")
    assert running.result_of(request) == ("plan", False)


# Its context.


def test_the_context_knows_the_call(opened, work):
    """The id of the use comes with the call, the conversation from the session."""
    client, running = opened(work.work)
    request = running.call("work", **{"claudecode/toolUseId": "toolu_5"})
    (context,) = work.wait()
    assert (context.tool_use_id, context.session_id) == ("toolu_5", client.session_id)
    assert client.session_id is not None
    work.leave.set()
    running.result_of(request)
    assert not context.cancelled.is_set()


@pytest.mark.parametrize("meta", [{}, {"claudecode/toolUseId": 5}, {"claudecode/toolUseId": None}])
def test_a_call_without_a_usable_id_of_the_use(opened, meta):
    """It runs, and the context has none."""

    def tell(context: ToolContext) -> str:
        return repr(context.tool_use_id)

    running = opened(tell)[1]
    assert running.result_of(running.call("tell", **meta)) == ("None", False)


def test_progress_goes_to_whoever_wants_it(opened):
    """A call with a token tells its progress before its result; one without tells nothing."""

    def step(context: ToolContext) -> str:
        context.progress(1, 2, "half")
        context.progress(2)
        return "there"

    running = opened(step)[1]
    request = running.call("step", progressToken="t")
    told = [running.cli.expect("control_request", subtype="mcp_message") for _ in range(2)]
    assert [each["request"]["message"]["params"] for each in told] == [
        {"progressToken": "t", "progress": 1, "total": 2, "message": "half"},
        {"progressToken": "t", "progress": 2},
    ]
    assert {each["request"]["server_name"] for each in told} == {SERVER}
    assert told[0]["request_id"] != told[1]["request_id"]
    assert running.result_of(request) == ("there", False)
    running.cli.reply(told[0])
    running.cli.refuse(told[1], "what?")
    assert running.result_of(running.call("step")) == ("there", False)
    running.end()
    running.cli.assert_done()


@pytest.mark.parametrize("done", [object(), float("nan"), b"1"])
def test_progress_that_is_no_number(opened, done):
    """It is the tool's mistake: Claude reads so, and the CLI gets no broken line."""

    def step(context: ToolContext) -> str:
        context.progress(done)

    running = opened(step)[1]
    text, is_error = running.result_of(running.call("step", progressToken=1))
    assert is_error
    assert "cannot be sent" in text
    assert running.still_works()


# Withdrawn.


def test_a_call_that_the_cli_withdraws(opened, work, caplog, until):
    """control_cancel_request: the tool learns of it, and its result is dropped."""
    running = opened(work.work)[1]
    request = running.call("work")
    (context,) = work.wait()
    assert not context.cancelled.is_set()
    running.cli.cancel(request)
    assert context.cancelled.wait(PATIENCE)
    with caplog.at_level(logging.INFO, logger="claude_sync"):
        work.leave.set()
        until(lambda: "too late" in caplog.text)
    assert running.still_works()
    running.end()
    running.cli.assert_done()


def test_a_call_that_mcp_withdraws(opened, work):
    """notifications/cancelled: answered at once, the tool learns of it, and its result is late."""
    running = opened(work.work)[1]
    request, other = running.call("work", id=3), running.call("work", id=4)
    work.wait(2)
    note = {"requestId": 3, "reason": "AbortError"}
    noted = running.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": note})
    both = [running.cli.expect("control_response")["response"] for _ in range(2)]
    replies = {reply["request_id"]: reply["response"]["mcp_response"] for reply in both}
    assert replies[request["request_id"]]["error"]["message"] == "cancelled"
    assert "error" not in replies[noted["request_id"]]
    assert [context.cancelled.is_set() for context in work.contexts].count(True) == 1
    work.leave.set()
    assert running.result_of(other) == ("worked", False)
    running.end()
    running.cli.assert_done()


def test_a_withdrawn_call_has_its_own_event(opened, work):
    """Of two calls that run, the withdrawn one learns of it and the other does not."""
    running = opened(work.work)[1]
    first = running.call("work", id=3, **{"claudecode/toolUseId": "first"})
    second = running.call("work", id=4, **{"claudecode/toolUseId": "second"})
    contexts = {context.tool_use_id: context for context in work.wait(2)}
    running.cli.cancel(first)
    assert contexts["first"].cancelled.wait(PATIENCE)
    assert not contexts["second"].cancelled.is_set()
    work.leave.set()
    assert running.result_of(second) == ("worked", False)


@pytest.mark.parametrize("way", ["control", "mcp"])
def test_a_call_that_is_withdrawn_before_it_begins(opened, way):
    """With post="caller" a call waits for its thread; one that is withdrawn by then never runs."""
    called = []

    def note() -> None:
        called.append(True)

    running = opened(note, post="caller")[1]
    request = running.call("note", id=5)
    if way == "control":
        running.cli.cancel(request)
    else:
        params = {"requestId": 5}
        message = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
        noted = running.send(message)
        replies = {running.cli.expect("control_response")["response"]["request_id"] for _ in "12"}
        assert replies == {request["request_id"], noted["request_id"]}
    running.end()
    assert not called
    running.cli.assert_done()


def test_the_end_of_an_old_life_does_not_touch_the_next(greet, work, until):
    """A call that outlives its CLI does not take the next one's call of the same id with it."""
    first, second = clis = [ScriptedCli(patience=PATIENCE) for _ in range(2)]
    with Client(transport=lambda: clis.pop(0), tools=[work.work]) as client:
        greet(client, first)
        running = Running(client.submit("hi"), first)
        running.call("work", id=2)
        work.wait()
        leave_first, work.leave = work.leave, threading.Event()
        first.hang_up(1)
        assert isinstance(running.turn.exception(PATIENCE), claude_sync.CliExited)
        assert work.contexts[0].cancelled.is_set()

        turn = client.submit("hi")
        second.accept()
        second.reply(second.expect("control_request", subtype="get_usage"))
        running = Running(turn, second)
        running.call("work", id=2)
        work.wait(2)
        leave_first.set()
        # All that follows the tool has been done, too.
        until(lambda: work.threads[0] not in client._session.tasks.lent())
        note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}
        running.send(note)
        for _ in range(2):
            running.cli.expect("control_response")
        assert work.contexts[1].cancelled.is_set()
        work.leave.set()
        running.end()


# The end.


def test_the_cli_dies_while_a_tool_runs(opened, work):
    """The waiter fails at once, the tool learns of it, and its late result is harmless."""
    running = opened(work.work)[1]
    running.call("work")
    (context,) = work.wait()
    running.cli.hang_up(7)
    with pytest.raises(claude_sync.CliExited):
        running.turn.result(PATIENCE)
    assert context.cancelled.wait(PATIENCE)
    context.progress(1)
    work.leave.set()
    assert work.left.wait(PATIENCE)


@pytest.mark.usefixtures("quick_close")
def test_a_tool_that_outlives_close(opened, work):
    """close() does not wait for it; it learns that nobody waits, and its result is dropped."""
    client, running = opened(work.work)
    running.call("work")
    (context,) = work.wait()
    closing = threading.Thread(target=client.close)
    closing.start()
    closing.join(PATIENCE / 2)
    still_closing = closing.is_alive()
    was_told = context.cancelled.is_set()
    work.leave.set()
    closing.join(PATIENCE)
    assert not still_closing
    assert was_told
    with pytest.raises(claude_sync.ClientClosed):
        running.turn.result(PATIENCE)


@pytest.mark.usefixtures("quick_close")
def test_close_inside_a_tool(opened):
    """It returns at once, and the client is closed."""

    def leave() -> str:
        client.close()
        return "closed"

    client, running = opened(leave)
    running.call("leave")
    with pytest.raises(claude_sync.ClientClosed):
        running.turn.result(PATIENCE)
    client.close()
    assert client.state == "closed"


# Permission.


def test_own_tools_need_no_permission(opened):
    """Nobody is asked for a tool of the program, not even a policy that denies everything."""
    asked = []
    client, running = opened(permissions=lambda request: request.deny("no"))
    client.on_permission(asked.append)
    request = running.cli.ask_permission("mcp__claude_sync__add", {"first": 1})
    assert running.cli.expect_reply(request)["behavior"] == "allow"
    other = running.cli.ask_permission("mcp__another__add", {"first": 1})
    assert running.cli.expect_reply(other)["behavior"] == "deny"
    assert not asked


def test_a_tool_that_asks(opened):
    """With ask=True it is decided as for any tool: nobody decides is a no."""
    client, running = opened(tool(name="careful", ask=True)(lambda: "done"))
    name = "mcp__claude_sync__careful"
    assert running.cli.expect_reply(running.cli.ask_permission(name, {}))["behavior"] == "deny"
    servers = []
    client.on_permission(lambda request: servers.append(request.mcp_server) or True)
    assert running.cli.expect_reply(running.cli.ask_permission(name, {}))["behavior"] == "allow"
    assert servers == [SERVER]


@pytest.mark.parametrize(
    "name",
    [
        "add",
        "claude_sync__add",
        "mcp__claude_sync__ADD",
        "mcp__claude_sync__add ",
        "mcp__claude_sync",
    ],
)
def test_what_is_only_named_like_a_tool_asks(opened, name):
    """Only the very name of a tool of the program is let through."""
    running = opened()[1]
    request = running.cli.ask_permission(name, {"first": 1})
    assert running.cli.expect_reply(request)["behavior"] == "deny"


# Where it runs.


def serve_one_call(cli, results):
    """Play a turn in which ``where`` is called."""
    user = cli.expect("user")
    cli.begin_turn(user)
    call = {"name": "where", "arguments": {}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    results.append(cli.expect_reply(cli.call_server(SERVER, message))["mcp_response"]["result"])
    cli.end_turn(user, "done")


@pytest.mark.parametrize("post", [None, "manual", "caller", lambda call: call()])
def test_the_thread_of_a_tool(cli, greet, post):
    """With post="caller" it is the one that asks; otherwise one of the library's, free to wait."""
    threads, results = [], []

    def where() -> None:
        threads.append(threading.current_thread())

    with Client(transport=cli, post=post, tools=[where]) as client:
        greet(client, cli)
        serving = threading.Thread(target=serve_one_call, args=(cli, results))
        serving.start()
        assert client.ask("hi", timeout=PATIENCE) == "done"
        serving.join(PATIENCE)
    assert results[0]["isError"] is False
    if post == "caller":
        assert threads == [threading.current_thread()]
    else:
        (thread,) = threads
        assert thread.name.startswith(f"{client.name}-responder-")


def test_the_handshake_under_caller_needs_nobody(opened):
    """With post="caller" the handshake is answered although no thread waits."""
    running = opened(post="caller")[1]
    answer = running.answer_to(running.send({"jsonrpc": "2.0", "id": 0, "method": "tools/list"}))
    assert [each["name"] for each in answer["result"]["tools"]] == ["add"]
    running.end()
