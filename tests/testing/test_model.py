"""The loopback model keeps its promises to a plain HTTP client."""

import base64
import http.client
import json
import re
import socket
import threading
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import pytest
from patience import PATIENCE

from claude_sync.errors import UsageError
from claude_sync.testing import builders
from claude_sync.testing.model import (
    LoopbackModel,
    Reply,
    cut,
    failure,
    garbled,
    text,
    thinking,
    tool_use,
)


@pytest.fixture
def model():
    """A model that listens, closed at the end."""
    with LoopbackModel() as model:
        yield model


def user(*parts):
    """A user message made of texts and blocks."""
    blocks = [{"type": "text", "text": part} if isinstance(part, str) else part for part in parts]
    return {"role": "user", "content": blocks}


def assistant(*blocks):
    """An assistant message."""
    return {"role": "assistant", "content": list(blocks)}


def tool_result(tool_use_id, content="fine", **more):
    """A tool result block."""
    return {"type": "tool_result", "tool_use_id": tool_use_id, "content": content, **more}


def send(model, *messages, path="/v1/messages", **fields):
    """Post messages; return the status, the headers and the body."""
    body = {"model": "claude-test", "max_tokens": 100, "messages": list(messages), **fields}
    request = urllib.request.Request(
        model.url + path,
        json.dumps(body).encode(),
        {"Content-Type": "application/json", "X-Api-Key": "secret", "X-App": "test"},
    )
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as response:
            return response.status, response.headers, response.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers, error.read()


def ask(model, *messages, **fields):
    """Post messages, or one text; return the message of the model."""
    asked = [user(m) if isinstance(m, str) else m for m in messages]
    status, _, body = send(model, *asked, **fields)
    assert status == 200, body
    return json.loads(body)


def say(model, *messages, **fields):
    """The text of the model's reply."""
    reply = ask(model, *messages, **fields)
    return "".join(block.get("text", "") for block in reply["content"])


def events_of(body):
    """The data of server-sent events, whose names must repeat their types."""
    events = []
    for chunk in body.decode().split("\n\n"):
        if chunk:
            name, data = chunk.split("\n")
            events.append(json.loads(data[len("data: ") :]))
            assert name == "event: " + events[-1]["type"]
    return events


def streamed(model, prompt):
    """The events of a streamed reply."""
    status, headers, body = send(model, user(prompt), stream=True)
    assert status == 200
    assert headers["Content-Type"].startswith("text/event-stream")
    return events_of(body)


class Caller:
    """A client whose connection the test holds in its hands."""

    def __init__(self, model, prompt):
        address = model.url[len("http://") :]
        self.connection = http.client.HTTPConnection(address, timeout=PATIENCE)
        body = {"model": "m", "stream": True, "messages": [user(prompt)]}
        self.connection.request("POST", "/v1/messages", json.dumps(body))

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        self.connection.close()

    def read_until(self, mark):
        """Read the reply up to and including *mark*."""
        response = self.connection.getresponse()
        seen = b""
        while mark not in seen:
            byte = response.read(1)
            assert byte, f"the reply ended before {mark!r}: {seen!r}"
            seen += byte
        response.close()
        return seen


class Gate(threading.Event):
    """An event that tells when somebody waits for it."""

    def __init__(self):
        super().__init__()
        self.waited_for = threading.Event()

    def wait(self, timeout=None):
        self.waited_for.set()
        return super().wait(timeout)


def connection_threads():
    """The threads that serve connections now."""
    return [t for t in threading.enumerate() if t.name.startswith("loopback-model")]


# Life cycle.


def test_nothing_is_left_after_close():
    """close() ends every thread and the port refuses connections, also while replies wait."""
    model = LoopbackModel().start()
    model.when("wait").reply("never", gate=threading.Event())
    model.when("slow").reply(text("ab", delay=PATIENCE))
    with Caller(model, "wait"), Caller(model, "slow") as slow:
        model.wait_for_request("wait", PATIENCE)
        slow.read_until(b"text_delta")
        model.close()
    assert connection_threads() == []
    with pytest.raises(urllib.error.URLError) as caught:
        send(model, user("hello"))
    assert isinstance(caught.value.reason, ConnectionRefusedError)


def test_close_ends_a_connection_that_asks_nothing(model):
    """A client that connects and stays silent does not keep close() waiting."""
    port = int(model.url.rsplit(":", 1)[1])
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as silent:
        send(model, user("hello"))  # accepted after the silent one, so that one is served
        model.close()
        assert silent.recv(1) == b""
    assert connection_threads() == []


def test_a_rule_may_close_its_model(model):
    """close() in a reply function returns instead of waiting for its own thread."""
    closed = threading.Event()

    def leave(request):
        model.close()
        closed.set()
        return "too late"

    model.when("leave").reply(leave)
    with Caller(model, "leave") as caller, pytest.raises((OSError, http.client.HTTPException)):
        caller.connection.getresponse()
    assert closed.wait(PATIENCE)
    for thread in connection_threads():
        thread.join(PATIENCE)


def test_a_client_that_hangs_up_is_silent(model, capfd, caplog):
    """A client that leaves in mid-stream or at a gate ends its thread and prints nothing."""
    gate = threading.Event()
    model.when("mid-stream").reply(text("first second", gate=gate))
    model.when("gate").reply("never", gate=gate)
    with Caller(model, "mid-stream") as caller:
        caller.read_until(b"text_delta")
    with Caller(model, "gate"):
        model.wait_for_request("gate", PATIENCE)
    for thread in connection_threads():
        if "-connection-" in thread.name:
            thread.join(PATIENCE)
            assert not thread.is_alive()
    assert capfd.readouterr() == ("", "")
    assert caplog.text == ""


def test_the_environment_leads_a_cli_here(model, tmp_path, monkeypatch):
    """environment() names this model, keeps the CLI in its folder and drops the caller's keys."""
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "secret")
    monkeypatch.setenv("CLAUDECODE", "1")
    monkeypatch.setenv("SOMETHING_ELSE", "kept")
    alone = model.environment(tmp_path)
    whole = model.environment(tmp_path, inherit=True, retries=1)
    assert alone["ANTHROPIC_BASE_URL"] == model.url
    assert alone["HOME"] == str(tmp_path)
    assert alone["CLAUDE_CONFIG_DIR"].startswith(str(tmp_path))
    assert "CLAUDE_CODE_MAX_RETRIES" not in alone
    assert "SOMETHING_ELSE" not in alone
    assert whole["SOMETHING_ELSE"] == "kept"
    assert whole["CLAUDE_CODE_MAX_RETRIES"] == "1"
    assert not {"ANTHROPIC_AUTH_TOKEN", "CLAUDECODE"} & set(whole)
    assert alone.items() <= whole.items()


# Which reply.


def test_without_rules_it_echoes(model):
    """The default reply repeats what the user typed, and default() replaces it."""
    assert say(model, "good morning") == "echo: good morning"
    model.default("always this")
    assert say(model, "good morning") == "always this"
    model.default(lambda request: f"{request.index} before")
    assert say(model, "good morning") == "2 before"


@pytest.mark.parametrize(
    "matcher",
    ["2+2", re.compile(r"\d\+\d"), lambda request: request.text.endswith("?")],
    ids=["part", "expression", "function"],
)
def test_three_ways_to_match(model, matcher):
    """A rule is found by a part of the text, an expression or a function."""
    model.when(matcher).reply("4")
    assert say(model, "What is 2+2?") == "4"
    assert say(model, "What is two") == "echo: What is two"


def test_the_newest_rule_wins(model):
    """A later rule is tried before an earlier one, so a test can refine its fixture."""
    model.when("a").reply("general")
    model.when("ab").reply("special", times=1)
    assert [say(model, "ab") for _ in range(2)] == ["special", "general"]


def test_replies_come_in_order_and_the_last_one_stays(model):
    """A rule gives its replies one a turn; only times= makes the last one end."""
    model.when("again").reply("one").reply("two", times=2).reply("last")
    assert [say(model, "again") for _ in range(5)] == ["one", "two", "two", "last", "last"]
    model.when("boom").fail(529, times=2)
    assert [send(model, user("boom"))[0] for _ in range(3)] == [529, 529, 200]


def test_the_rounds_of_a_turn_follow_the_tool_use(model):
    """then_reply answers the tool result of its own tool use, whatever comes in between."""
    for name in ("first", "second"):
        model.when(name).reply(tool_use("Bash", {"command": name})).then_reply(f"{name} done")
    asked = [user("first"), user("second")]
    used = [ask(model, question)["content"][0] for question in asked]
    assert used[0]["id"] != used[1]["id"]
    model.when(lambda request: True).reply("a rule for everything")
    for n in (1, 0):
        history = [asked[n], assistant(used[n]), user(tool_result(used[n]["id"]))]
        assert say(model, *history) == ["first done", "second done"][n]


def test_an_error_in_a_later_round_happens_once(model):
    """After a failure between rounds the repeated request gets the round after it."""
    model.when("go").reply(tool_use("A", {})).then_reply(failure(529)).then_reply("at last")
    block = ask(model, "go")["content"][0]
    history = [user("go"), assistant(block), user(tool_result(block["id"]))]
    assert send(model, *history)[0] == 529
    assert [say(model, *history) for _ in range(2)] == ["at last", "at last"]


def test_a_reply_function_sees_every_round(model):
    """A function that uses a tool is asked again with the tool's result."""

    def work(request):
        if request.tool_results:
            return "got " + request.tool_results[0].text
        return Reply(tool_use("Read", {"file_path": "x"}), usage={"output_tokens": 77})

    model.when("work").reply(work)
    first = ask(model, "work")
    block = first["content"][0]
    assert first["usage"]["output_tokens"] == 77
    history = [user("work"), assistant(block), user(tool_result(block["id"], "42"))]
    assert say(model, *history) == "got 42"


def test_a_question_after_an_interrupted_tool_is_a_new_one(model):
    """Text typed after an interrupt is answered for itself, not as the next round."""
    model.when("go").reply(tool_use("A", {})).then_reply("next round")
    block = ask(model, "go")["content"][0]
    result = tool_result(block["id"], "rejected", is_error=True)
    stop = "[Request interrupted by user for tool use]"
    history = [user("go"), assistant(block), user(result, stop, "something else")]
    assert say(model, *history) == "echo: something else"


def test_a_message_that_joins_a_tool_round_continues_it(model):
    """Text next to a tool result gets its own rule, or else the next round."""
    model.when("go").reply(tool_use("A", {})).then_reply("next round")
    block = ask(model, "go")["content"][0]
    history = [user("go"), assistant(block), user(tool_result(block["id"]), "and hurry")]
    assert say(model, *history) == "next round"
    model.when("hurry").reply("hurrying")
    assert say(model, *history) == "hurrying"


def test_a_question_without_an_answer_is_not_asked_twice(model):
    """A failed question that is sent again in front of the next one is not matched again."""
    model.when("boom").fail(500)
    assert send(model, user("boom"))[0] == 500
    assert say(model, user("boom", "hello")) == "echo: hello"
    assert model.requests[-1].texts == ("boom", "hello")


def test_calls_of_the_cli_for_itself_pass_the_rules_by(model):
    """Rules are about conversations, unless they name another kind of request."""
    model.when("").reply("rule")
    quota = {"max_tokens": 1}
    title = {"system": "You are naming a coding session so the user can pick it out"}
    summary = "Your task is to create a detailed summary of the conversation"
    paths = {"system": "Extract any file paths that this command reads or modifies."}
    notification = "<system-reminder><task-notification>done</task-notification></system-reminder>"
    assert say(model, "hello") == "rule"
    assert say(model, "quota", **quota) == "ok"
    assert "title" in say(model, "hello", **title)
    assert "<summary>" in say(model, summary)
    assert say(model, "Command: ls", **paths) == "ok"
    assert say(model, notification) == "noted"
    kinds = ["conversation", "quota", "title", "compact", "side", "notification"]
    assert [request.kind for request in model.requests] == kinds
    assert len(model.conversation) == 1
    model.when("done", kind="notification").reply("I heard")
    assert say(model, notification) == "I heard"
    model.when("", kind=None).reply("everything")
    assert say(model, "quota", **quota) == "everything"


def test_a_rule_that_raises_fails_the_request_for_good(model, caplog):
    """An exception of a matcher or a reply function becomes status 400 and is logged."""

    def broken(request):
        raise LookupError("no such thing")

    model.when("reply").reply(broken)
    status, _, body = send(model, user("reply"))
    assert status == 400
    assert "no such thing" in json.loads(body)["error"]["message"]
    model.when(broken).reply("x")
    assert send(model, user("match"))[0] == 400
    assert [record.exc_info[0] for record in caplog.records] == [LookupError, LookupError]


# What was asked.


def test_a_request_tells_what_was_typed(model):
    """Reminders, command output and what was interrupted are not the user's text."""
    reminder = "<system-reminder>\nnot typed\n</system-reminder>"
    send(
        model,
        user("old question"),
        assistant({"type": "text", "text": "old answer"}),
        user("gone", "[Request interrupted by user]", reminder, "new " + reminder + " question"),
        {"role": "system", "content": [{"type": "text", "text": "sent meanwhile"}]},
        system=[{"type": "text", "text": "Be"}, {"type": "text", "text": "brief"}],
        tools=[{"name": "Bash"}],
    )
    (request,) = model.requests
    assert request.text == "new  question"
    assert request.after_interrupt
    assert not request.is_continuation
    assert request.added.count("not typed") == 2
    assert "sent meanwhile" in request.added
    assert request.system == "Be\nbrief"
    assert request.tools == ["Bash"]
    assert (request.model, request.stream, request.index) == ("claude-test", False, 0)
    assert (request.method, request.path) == ("POST", "/v1/messages")
    assert len(request.messages) == 4


def test_a_request_tells_what_tools_returned(model):
    """Tool results keep their id, text and error; the question stays that of the turn."""
    source = {"type": "base64", "media_type": "image/png", "data": base64.b64encode(b"x").decode()}
    picture = {"type": "image", "source": source}
    content = [{"type": "text", "text": "no <system-reminder>x</system-reminder>"}, picture]
    history = [
        user("draw", picture),
        assistant({"type": "tool_use", "id": "t1", "name": "Read", "input": {}}),
        user(tool_result("t1", content, is_error=True)),
    ]
    send(model, history[0])
    send(model, *history)
    first, second = model.requests
    assert first.images == (source,)
    assert first.text == "draw"
    assert second.text == "draw"
    assert second.is_continuation
    assert second.images == (source,)
    (result,) = second.tool_results
    assert (result.tool_use_id, result.text, result.is_error) == ("t1", "no", True)


def test_waiting_for_a_request(model):
    """One that came before the call, or comes during it; else the error names those there were."""
    with pytest.raises(TimeoutError, match="nothing at all"):
        model.wait_for_request("bird", 0)
    send(model, user("early bird"))
    early = model.wait_for_request("early", PATIENCE)
    assert early is model.wait_for_request(lambda request: request.kind == "conversation", 0)
    # Credentials are not kept.
    assert early.headers["x-app"] == "test"
    assert "secret" not in [*early.headers.values(), repr(early)]
    with ThreadPoolExecutor(2) as pool:
        waiting = pool.submit(model.wait_for_request, re.compile("b.rd"), PATIENCE, after=early)
        in_vain = pool.submit(model.wait_for_request, "cat", PATIENCE)
        send(model, user("late bird"))
        assert waiting.result(PATIENCE).text == "late bird"
        with pytest.raises(TimeoutError, match=r"'cat' within 0 s(?s:.*)'late bird'"):
            model.wait_for_request("cat", 0)
        model.close()
        with pytest.raises(UsageError, match="closed"):
            in_vain.result(PATIENCE)


# On the wire.


def test_a_streamed_reply_has_the_events_of_the_api(model):
    """Thinking, text and a tool use are streamed in pieces that add up."""
    model.when("all").reply(
        [thinking("deep thought"), text("an answer", pieces=3), tool_use("Bash", {"command": "ls"})]
    )
    events = streamed(model, "all")
    names = [event["type"] for event in events]
    assert names[:3] == ["message_start", "content_block_start", "ping"]
    assert names[-2:] == ["message_delta", "message_stop"]
    assert names.count("content_block_start") == names.count("content_block_stop") == 3
    pieces = {}
    for event in events:
        if event["type"] == "content_block_delta":
            kind = event["delta"].pop("type")
            pieces.setdefault((event["index"], kind), []).extend(event["delta"].values())
    assert "".join(pieces[0, "thinking_delta"]) == "deep thought"
    assert pieces[0, "signature_delta"] == ["c2lnbmVk"]
    assert pieces[1, "text_delta"] == ["an ", "ans", "wer"]
    assert len(pieces[2, "input_json_delta"]) == 2
    assert json.loads("".join(pieces[2, "input_json_delta"])) == {"command": "ls"}
    started = [e["content_block"] for e in events if e["type"] == "content_block_start"]
    assert started[0] == {"type": "thinking", "thinking": "", "signature": ""}
    assert started[1] == {"type": "text", "text": ""}
    assert started[2]["input"] == {}
    assert started[2]["id"].startswith("toolu_")


def test_a_whole_reply_has_the_same_content(model):
    """Without stream the reply is one message with complete blocks; a tool use is its reason."""
    use = tool_use("Bash", {"a": 1}, id="toolu_1")
    model.when("all").reply([thinking("hmm"), "an answer", use])
    model.when("long").reply("too lo", stop_reason="max_tokens")
    reply = ask(model, "all")
    assert reply["content"] == [
        {"type": "thinking", "thinking": "hmm", "signature": "c2lnbmVk"},
        {"type": "text", "text": "an answer"},
        {"type": "tool_use", "name": "Bash", "input": {"a": 1}, "id": "toolu_1"},
    ]
    assert (reply["role"], reply["model"]) == ("assistant", "claude-test")
    assert reply["stop_reason"] == "tool_use"
    assert ask(model, "text")["stop_reason"] == "end_turn"
    assert streamed(model, "long")[-2]["delta"]["stop_reason"] == "max_tokens"


def test_usage_is_set_for_the_model_and_for_a_reply():
    """A reply's usage completes that of the model; a stream ends with the final count."""
    with LoopbackModel(usage={"input_tokens": 3}) as model:
        model.when("much").reply("x", usage={"output_tokens": 900, "cache_read_input_tokens": 7})
        usage = ask(model, "much")["usage"]
        events = streamed(model, "much")
    assert (usage["input_tokens"], usage["output_tokens"]) == (3, 900)
    assert usage["cache_read_input_tokens"] == 7
    assert events[0]["message"]["usage"]["output_tokens"] == 1
    assert events[-2]["usage"]["output_tokens"] == 900


def test_gates_hold_a_reply(model):
    """The whole of it, an error, or what comes after the first piece of a text."""
    gate, inner = threading.Event(), Gate()
    model.when("hold").reply(text("first second", gate=inner), gate=gate, headers={"X-Held": "yes"})
    model.when("error").fail(429, gate=gate)
    with ThreadPoolExecutor(1) as pool, Caller(model, "hold") as caller:
        failing = pool.submit(send, model, user("error"))
        for prompt in ("hold", "error"):
            model.wait_for_request(prompt, PATIENCE)
        assert not failing.done()
        assert not inner.waited_for.is_set()
        gate.set()
        assert failing.result(PATIENCE)[0] == 429
        response = caller.connection.getresponse()
        assert response.headers["X-Held"] == "yes"
        assert inner.waited_for.wait(PATIENCE)
        inner.set()
        said = response.read()
    assert b"second" in said
    assert said.rstrip().endswith(b'{"type": "message_stop"}')


def test_a_delay_takes_its_time(model, monkeypatch):
    """delay= waits between the pieces, and before the reply."""
    waits = []
    monkeypatch.setattr(model._server, "wait", lambda connection, frame: waits.append(frame))
    model.when("slow").reply(text("a b c", pieces=3, delay=0.25), delay=4.0)
    assert len(streamed(model, "slow")) == 9
    assert waits == [4.0, 0.25, 0.25]


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (404, "not_found_error"),
        (429, "rate_limit_error"),
        (500, "api_error"),
        (529, "overloaded_error"),
        (418, "api_error"),
    ],
)
def test_an_error_has_the_body_of_the_api(model, status, kind):
    """fail() answers with the status and the kind of error the API uses for it."""
    model.when("boom").fail(status)
    got, _, body = send(model, user("boom"), stream=True)
    error = json.loads(body)
    assert (got, error["type"], error["error"]["type"]) == (status, "error", kind)
    assert error["error"]["message"]
    if status == 404:
        assert error["error"]["message"] == "model: claude-test"


def test_an_error_brings_its_headers_and_words(model):
    """retry_after, headers, message and kind reach the client; nothing in the words is replaced."""
    model.when("boom").fail(
        429, "slow {down}", kind="my_error", retry_after=3, headers={"X-Should-Retry": "false"}
    )
    _, headers, body = send(model, user("boom"))
    assert json.loads(body)["error"] == {"type": "my_error", "message": "slow {down}"}
    assert (headers["retry-after"], headers["x-should-retry"]) == ("3", "false")


def test_a_cut_reply_ends_in_the_middle(model):
    """cut() drops the connection before the stream, or the JSON, is complete; or says why."""
    model.when("cut").reply(cut("half a sentence"))
    with pytest.raises(http.client.IncompleteRead) as caught:
        send(model, user("cut"), stream=True)
    assert [e["type"] for e in events_of(caught.value.partial)][-1] == "content_block_delta"
    with pytest.raises(http.client.IncompleteRead):
        send(model, user("cut"))


def test_a_garbled_reply_is_no_json(model):
    """garbled() sends a complete HTTP response whose content cannot be read."""
    model.when("bad").reply(garbled("fine so far"))
    for stream in (True, False):
        status, _, body = send(model, user("bad"), stream=stream)
        assert status == 200
        with pytest.raises(ValueError, match=r"Unterminated|Expecting|Invalid"):
            events_of(body) if stream else json.loads(body)


def test_other_paths_are_answered_like_the_api(model):
    """Tokens are counted, HEAD succeeds, unknown paths and bodies are errors in JSON."""
    status, _, body = send(model, user("hello"), path="/v1/messages/count_tokens?beta=true")
    assert status == 200
    assert json.loads(body)["input_tokens"] > 0
    head = urllib.request.Request(model.url + "/", method="HEAD")
    with urllib.request.urlopen(head, timeout=PATIENCE) as response:
        assert response.status == 200
    for path, data, status in [("/v1/models", None, 404), ("/v1/messages", b"{no", 400)]:
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(model.url + path, data, timeout=PATIENCE)
        with caught.value as error:
            assert error.code == status
            assert json.load(error)["type"] == "error"
    kinds = [request.kind for request in model.requests]
    assert kinds == ["count_tokens", "http", "http", "conversation"]


# What cannot work is refused where it is said, not when the CLI asks.


@pytest.mark.parametrize("matcher", [123, None, b"hi", ["hi"]])
def test_a_matcher_that_can_match_nothing_is_refused(matcher):
    """In a rule and in a wait alike."""
    model = LoopbackModel()
    for say in (model.when, model.wait_for_request):
        with pytest.raises(UsageError, match=r"part of the user's text.*function"):
            say(matcher)


@pytest.mark.parametrize(
    "content", [123, None, ["hi", 5], {"text": "hi"}, builders.assistant("hi"), [["hi"]]]
)
def test_a_reply_that_cannot_be_sent_is_refused(content):
    """Also a message of the CLI: replies are those of the API."""
    model = LoopbackModel()
    rule = model.when("hi").reply("hello")
    for say in (rule.reply, rule.then_reply, model.default):
        with pytest.raises(UsageError, match="a reply is a text, a block"):
            say(content)


def test_a_kind_that_there_is_not_is_refused():
    """With those that there are; count_tokens is answered without rules."""
    with pytest.raises(UsageError, match=r"not 'count_tokens'.*'conversation', .*None"):
        LoopbackModel().when("hi", kind="count_tokens")


@pytest.mark.parametrize("status", ["429", 200, 99, True, None])
def test_an_error_has_the_status_of_one(status):
    """400 to 599; a text would break the connection instead."""
    with pytest.raises(UsageError, match="400 to 599"):
        LoopbackModel().when("hi").fail(status)
    with pytest.raises(UsageError, match="400 to 599"):
        failure(status)
