"""The program's own functions as tools: what Claude sees of them, and what they are called with."""

from __future__ import annotations

import base64
import dataclasses
import datetime
import enum
import json
import os
import signal
import sys
import threading
import time
from typing import Any, List, Literal, Optional

import pytest
from patience import PATIENCE

import claude_sync
from claude_sync import Image, ToolContext, ToolError, UsageError
from claude_sync.testing.model import tool_use

PREFIX = "mcp__claude_sync__"
LONG = 200_000
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d494441"
    "54789c6360606060000000050001a5f645400000000049454e44ae426082"
)


class Colour(enum.Enum):
    """A color."""

    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Point:
    """A place."""

    x: int
    y: int = 0


class Toolbox:
    """The tools of these tests, with what they noted."""

    def __init__(self):
        self.clear()

    def clear(self):
        """Forget what earlier tests noted."""
        self.calls: List[Any] = []
        self.contexts: List[ToolContext] = []
        self.started = threading.Event()
        self.leave = threading.Event()
        self.meeting = threading.Barrier(3)
        self._lock = threading.Lock()
        self._inside = 0
        self.most_inside = 0

    def add(self, first: int, second: int = 2) -> int:
        """Add two numbers.

        Args:
            first: Where to begin.
            second: How much more.
        """
        self.calls.append((first, second))
        return first + second

    def convert(
        self,
        day: datetime.date,
        colour: Colour,
        points: List[Point],
        way: Literal["up", "down"],
        ratio: float = 0.5,
        note: Optional[str] = None,
    ) -> str:
        """Note arguments of many types."""
        self.calls.append((day, colour, points, way, ratio, note))
        return "noted"

    def fail(self) -> str:
        """Fail."""
        raise ValueError("it broke")

    def refuse(self) -> str:
        """Fail on purpose."""
        raise ToolError("ask again tomorrow")

    def draw(self) -> Image:
        """Draw."""
        return Image(PIXEL)

    def draw_with_text(self) -> list:
        """Draw, and say what."""
        return ["a pixel", Image(PIXEL), {"width": 1}]

    def give(self, what: str) -> Any:
        """Give something."""
        return {
            "a dict": {"names": ["Ada", "Zoë"], "count": 2, "none": None},
            "a list": [1, "two", {"three": 3}],
            "nothing": None,
        }[what]

    def talk(self) -> str:
        """Say very much."""
        return "word " * (LONG // 5)

    @claude_sync.tool(max_result_chars=2 * LONG)
    def talk_freely(self) -> str:
        """Say very much, with leave."""
        return "word " * (LONG // 5)

    @claude_sync.tool(read_only=True)
    def meet(self, number: int) -> str:
        """Meet the others."""
        self.meeting.wait(PATIENCE)
        return f"met {number}"

    def pass_by(self, number: int) -> str:
        """Note how many there are at the same time."""
        with self._lock:
            self._inside += 1
            self.most_inside = max(self.most_inside, self._inside)
        # As long as others could come, if they were let.
        threading.Event().wait(0.2)
        with self._lock:
            self._inside -= 1
        return f"passed {number}"

    def report(self, context: ToolContext) -> str:
        """Tell progress, then the call."""
        for step in range(3):
            context.progress(step, 3, f"step {step}")
        return f"{context.tool_use_id} {context.session_id}"

    def work(self, context: ToolContext) -> str:
        """Work until told to leave."""
        self.contexts.append(context)
        self.started.set()
        assert self.leave.wait(PATIENCE)
        return "worked"

    def all(self):
        """Every tool, bound."""
        names = (
            *("add", "convert", "fail", "refuse", "draw", "draw_with_text", "give"),
            *("talk", "talk_freely", "meet", "pass_by", "report", "work"),
        )
        return [getattr(self, name) for name in names]


# The toolbox behind ``chat``.
BOX = Toolbox()


@pytest.fixture(scope="module")
def chat_options():
    """``chat`` has all tools, and nobody who gives permission."""
    return {"tools": BOX.all()}


@pytest.fixture(autouse=True)
def box():
    """The toolbox behind ``chat``, as if it were new."""
    BOX.clear()
    return BOX


@pytest.fixture
def own_box():
    """A toolbox of the test's own; what still works in it afterwards is let go."""
    box = Toolbox()
    yield box
    box.leave.set()


class Used:
    """
    What became of a question in which Claude uses tools.

    Attributes:
        answer: The answer to the question.
        results: What the model got of the tools.
        request: The request that told it.

    """

    def __init__(self, model, client, words, *uses):
        blocks = [tool_use(PREFIX + name, input) for name, input in uses]
        model.when(words).reply(blocks).then_reply("done")
        self.answer = client.ask(words, timeout=90)
        assert self.answer == "done"
        self.request = next(
            request
            for request in reversed(model.conversation)
            if request.text == words and request.tool_results
        )
        self.results = self.request.tool_results

    @property
    def text(self):
        """The text of the only result, which is no error."""
        (result,) = self.results
        assert not result.is_error, result.text
        return result.text

    @property
    def error(self):
        """The text of the only result, which is an error."""
        (result,) = self.results
        assert result.is_error, result.text
        return result.text


def begin_work(model, client, box, words):
    """Ask something in which ``work`` is called; the turn, once it runs."""
    model.when(words).reply(tool_use(PREFIX + "work", {})).then_reply("done")
    turn = client.submit(words, timeout=90)
    assert box.started.wait(90)
    return turn


# Calls and results.


def test_a_function_is_called_and_claude_gets_its_result(chat, box, model):
    """The default is filled in, and the result goes to the model and into the answer."""
    used = Used(model, chat, "add two numbers", ("add", {"first": 40}))
    assert box.calls.pop() == (40, 2)
    assert used.text == "42"
    ((use, result),) = used.answer.tool_uses
    assert (use.name, use.input) == (PREFIX + "add", {"first": 40})
    assert (result.text, result.is_error) == ("42", False)


def test_arguments_are_converted(chat, box, model):
    """Dates, enums, dataclasses and lists of them arrive as what the annotations say."""
    arguments = {
        "day": "2024-02-29",
        "colour": "blue",
        "points": [{"x": 1, "y": 2}, {"x": 3}],
        "way": "up",
        "ratio": 2,
    }
    assert Used(model, chat, "convert these", ("convert", arguments)).text == "noted"
    day, colour, points, way, ratio, note = box.calls.pop()
    assert (day, colour) == (datetime.date(2024, 2, 29), Colour.BLUE)
    assert points == [Point(1, 2), Point(3)]
    assert (way, ratio, type(ratio), note) == ("up", 2.0, float, None)


def test_wrong_arguments_are_refused_before_the_call(chat, box, model):
    """Nothing is called, and Claude reads of each argument what is wrong with it."""
    used = Used(model, chat, "add nonsense", ("add", {"first": "x", "third": 3}))
    assert "first: expected an integer" in used.error
    assert "third: unexpected" in used.error
    assert "not called" in used.error
    assert not box.calls


def test_an_exception_becomes_an_error_without_a_traceback(chat, model):
    """Claude reads what was raised, not where."""
    error = Used(model, chat, "fail once", ("fail", {})).error
    assert error.startswith("ValueError: it broke")
    assert "Traceback" not in error
    assert __file__ not in error


def test_a_tool_error_is_told_as_it_is(chat, model):
    """The text of ToolError goes to Claude alone."""
    assert Used(model, chat, "refuse it", ("refuse", {})).error.startswith("ask again tomorrow")


def test_an_image_reaches_the_model(chat, model):
    """It arrives as an image, not as text; beside texts in their order."""
    data = base64.b64encode(PIXEL).decode()
    used = Used(model, chat, "draw it", ("draw", {}))
    assert [(image["media_type"], image["data"]) for image in used.request.images] == [
        ("image/png", data)
    ]
    used = Used(model, chat, "draw and tell", ("draw_with_text", {}))
    assert [image["data"] for image in used.request.images] == [data]
    assert used.text.index("a pixel") < used.text.index('{"width": 1}')


@pytest.mark.parametrize(
    ("what", "value"),
    [
        ("a dict", {"names": ["Ada", "Zoë"], "count": 2, "none": None}),
        ("a list", [1, "two", {"three": 3}]),
    ],
)
def test_data_reaches_the_model_as_json(chat, model, what, value):
    """A dict or a list is read as JSON."""
    used = Used(model, chat, f"give me {what}", ("give", {"what": what}))
    assert json.loads(used.text) == value


def test_no_result_is_told_as_such(chat, model):
    """A function that returns nothing has not failed."""
    assert Used(model, chat, "give me nothing", ("give", {"what": "nothing"})).text == "Done."


def test_a_very_long_result(chat, model):
    """Claude never gets all of it, but a file that it can read."""
    used = Used(model, chat, "talk too much", ("talk", {}))
    (result,) = used.results
    assert len(result.text) < LONG / 10
    assert "exceeds maximum allowed tokens" in result.text
    assert not result.is_error
    assert "saved to" in result.text


def test_how_long_a_result_may_be(chat, cli, model, forgotten):
    """max_result_chars lets a long result through whole on the newest; the old one ignores it."""
    used = Used(model, chat, "talk freely", ("talk_freely", {}))
    (result,) = used.results
    if cli.is_new:
        assert result.text.split() == ["word"] * (LONG // 5)
    else:
        assert "exceeds maximum allowed tokens" in result.text


# Several calls.


def test_read_only_tools_run_at_once(chat, model):
    """Three calls of one message meet, and each gives its own result."""
    uses = [("meet", {"number": number}) for number in range(3)]
    used = Used(model, chat, "let them meet", *uses)
    texts = {result.tool_use_id: result.text for result in used.results}
    assert [
        (use.input["number"], result.text, texts[use.id]) for use, result in used.answer.tool_uses
    ] == [(number, f"met {number}", f"met {number}") for number in range(3)]


def test_other_tools_run_one_after_the_other(chat, box, model):
    """The CLI calls the next one when the last has returned, unless they only read."""
    uses = [("pass_by", {"number": number}) for number in range(3)]
    used = Used(model, chat, "let them pass", *uses)
    assert [result.text for result in used.results] == ["passed 0", "passed 1", "passed 2"]
    assert box.most_inside == 1


def test_calls_of_which_one_fails(chat, model):
    """The others have their results."""
    uses = [("add", {"first": 1}), ("fail", {}), ("add", {"first": 2})]
    used = Used(model, chat, "one of them fails", *uses)
    assert [result.is_error for result in used.results] == [False, True, False]
    assert [used.results[number].text for number in (0, 2)] == ["3", "4"]


# The context.


def test_the_context_and_its_progress(chat, model, listen):
    """A call knows its id and its conversation; telling its progress does no harm."""
    uses = listen(chat, "tool_use")
    text = Used(model, chat, "report", ("report", {})).text
    (use,) = uses
    assert text == f"{use.id} {chat.session_id}"


def test_an_interrupt_reaches_the_tool(chat, box, model):
    """Every CLI tells of it; the session goes on although the tool has not returned."""
    turn = begin_work(model, chat, box, "work for ever")
    assert not box.contexts[-1].cancelled.is_set()
    chat.interrupt()
    with pytest.raises(claude_sync.TurnInterrupted):
        turn.result()
    try:
        assert box.contexts[-1].cancelled.wait(PATIENCE)
        assert Used(model, chat, "add meanwhile", ("add", {"first": 3})).text == "5"
    finally:
        box.leave.set()
    assert Used(model, chat, "work again", ("work", {})).text == "worked"
    assert not box.contexts[-1].cancelled.is_set()


# What Claude knows of them.


def test_the_schema_the_model_sees(chat, box, model):
    """Every CLI sends name, description and schema of each tool at once, as they are."""
    chat.ask("which tools are there?", timeout=90)
    request = model.wait_for_request("which tools are there?")
    described = {tool["name"]: tool for tool in request.body["tools"]}
    tool = described[PREFIX + "add"]
    assert tool["description"] == "Add two numbers."
    assert tool["input_schema"] == {
        "type": "object",
        "properties": {
            "first": {"type": "integer", "description": "Where to begin."},
            "second": {"type": "integer", "default": 2, "description": "How much more."},
        },
        "required": ["first"],
        "additionalProperties": False,
    }
    assert {PREFIX + each.__name__ for each in box.all()} <= set(described)


def handshake_in(path):
    """The methods of MCP that a CLI called, up to the first call of a tool."""
    methods = []
    for line in path.read_text().splitlines():
        entry = json.loads(line)
        request = entry["msg"].get("request", {}) if entry["dir"] == "out" else {}
        if request.get("subtype") == "mcp_message":
            methods.append(request["message"]["method"])
    return methods[: methods.index("tools/call")]


def test_registering_asking_and_the_handshake(client_of, cli, model, own_box, tmp_path):
    """Tools may be added until the first question; only those with ask=True ask; then no more."""
    record = tmp_path / "wire.jsonl"
    asked = []

    def decide(request):
        asked.append((request.tool, request.mcp_server))
        return len(asked) == 1 or request.deny("once is enough")

    client = client_of(tools=[own_box.add], on_permission=decide, record=record)
    with client:

        @client.tool
        def later(word: str) -> str:
            return word.upper()

        @client.tool(name="renamed", ask=True)
        def another() -> str:
            return "another ran"

        client.tool(claude_sync.tool(name="as-given", description="Given.")(lambda: "given ran"))
        assert later("as before") == "AS BEFORE"
        assert Used(model, client, "use later", ("later", {"word": "yes"})).text == "YES"
        assert Used(model, client, "use add", ("add", {"first": 1})).text == "3"
        assert Used(model, client, "use as-given", ("as-given", {})).text == "given ran"
        assert asked == []
        assert Used(model, client, "use renamed", ("renamed", {})).text == "another ran"
        assert asked == [(PREFIX + "renamed", "claude_sync")]
        denied = Used(model, client, "renamed once more", ("renamed", {}))
        assert "once is enough" in denied.error
        with pytest.raises(UsageError, match="first time"):
            client.tool(own_box.fail)
    # The newest has learned all of it from the greeting.
    expected = ["initialize", "notifications/initialized", "tools/list"]
    assert handshake_in(record) == ([] if cli.is_new else expected)


def test_own_tools_need_no_permission_in_the_strictest_mode(client_of, model, own_box):
    """Where a CLI asks nobody, or where nobody answers, the program's own tools still run."""

    @claude_sync.tool(ask=True)
    def careful() -> str:
        return "careful ran"

    client = client_of(tools=[own_box.add, careful], permission_mode="dontAsk")
    assert Used(model, client, "add and ask nobody", ("add", {"first": 5})).text == "7"
    denied = Used(model, client, "be careful and ask nobody", ("careful", {}))
    assert "careful ran" not in denied.error


# The end.


def test_close_does_not_wait_for_a_tool(client_of, new_cli, model, own_box):
    """close() is quick, and the tool learns that nobody waits for it."""
    client = client_of(tools=[own_box.work])
    turn = begin_work(model, client, own_box, "work until closed")
    began = time.monotonic()
    client.close()
    assert time.monotonic() - began < 5
    assert own_box.contexts[0].cancelled.is_set()
    assert isinstance(turn.exception(), claude_sync.ClientClosed)


@pytest.mark.everything
@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_tools_after_a_crash(client_of, new_cli, model, own_box):
    """The CLI is killed while a tool runs: the next question works, and so do the tools."""
    client = client_of(tools=own_box.all())
    client.ask("a beginning", timeout=90)
    session = client.session_id
    turn = begin_work(model, client, own_box, "work until killed")
    os.kill(client.pid, signal.SIGKILL)
    with pytest.raises(claude_sync.CliExited):
        turn.result()
    assert own_box.contexts[0].cancelled.wait(PATIENCE)
    # The tool still runs, and holds up nothing.
    assert Used(model, client, "add after the crash", ("add", {"first": 7})).text == "9"
    assert client.session_id == session
