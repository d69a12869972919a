"""
A Messages API on 127.0.0.1 that says what a test wants it to say.

A real ``claude`` CLI talks to it as it would to the service, so a program can be
tested with everything real but the model: no account, no network, no cost::

    with LoopbackModel() as model:
        model.when("list").reply(tool_use("Bash", {"command": "ls"})).then_reply("two files")
        subprocess.run(["claude", "-p", "list them"], env=model.environment(home, inherit=True))
        assert model.requests[-1].tool_results[0].text == "a\\nb"

How a reply is found, for each request:

1. Requests that no user asked for (:attr:`Request.kind` other than
   ``"conversation"``) get a plain answer, unless a rule is about their kind.
2. A request that only brings tool results goes on where the reply that used the
   tool stopped: ``then_reply``. They are matched by the id of the tool use, so
   several subagents at once do not confuse each other.
3. Otherwise the rules are tried, **newest first**: a test can refine what its
   fixture said. A rule's replies are given in their order, one a request; the last
   one goes on for ever, unless it has ``times``; a rule that is used up is skipped.
4. Otherwise :meth:`LoopbackModel.default`, which echoes.

Rules are asked and replies are made in the threads of the connections, never under
a lock. A matcher or a reply function that raises makes the request fail with HTTP
status 400, which CLIs do not retry, and is logged.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import logging
import os
import re
import socket
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from re import Pattern
from typing import Any, Union

from ..errors import UsageError
from ..support.waiting import Deadline
from .model_http import LoopbackServer
from .model_replies import (
    Block,
    Content,
    Message,
    Reply,
    Script,
    as_reply,
    cut,
    failure,
    garbled,
    text,
    thinking,
    tool_use,
)
from .model_requests import Request, ToolResult

__all__ = [
    "Block",
    "LoopbackModel",
    "Reply",
    "Request",
    "Rule",
    "ToolResult",
    "cut",
    "failure",
    "garbled",
    "refused_url",
    "text",
    "thinking",
    "tool_use",
]

logger = logging.getLogger("claude_sync")

Matcher = Union[str, Pattern[str], Callable[[Request], bool]]

# Requests that a rule can answer; see :attr:`Request.kind`.
KINDS = ("conversation", "notification", "compact", "title", "quota", "side")
USAGE = {"input_tokens": 10, "output_tokens": 5}
NUMBERS = itertools.count(1)
# An answer that does no harm, to requests that no user asked for.
SIDE_ANSWERS = {
    "notification": "noted",
    "compact": "<summary>A summary made by the loopback model.</summary>",
    "title": json.dumps({"isNewTopic": False, "title": "A title"}),
}


@dataclasses.dataclass
class Step:
    """One reply of a rule with the rounds that follow it; *left*: None is for ever."""

    rounds: list[Script]
    left: int | None


@dataclasses.dataclass
class Place:
    """Where a turn stands in its script."""

    rounds: list[Script]
    index: int = 0

    def script(self) -> Script:
        """What to say now. Where the script has ended and the turn goes on: what tools said."""
        if self.index < len(self.rounds):
            return self.rounds[self.index]
        last = self.rounds[-1]
        return last if callable(last) else after_tools


class Rule:
    """
    What the model says when a request matches; made by :meth:`LoopbackModel.when`.

    Every method returns the rule, so that calls can be chained. Where a reply is
    wanted, a text, a block, a list of both, a :class:`Reply` or a function will do;
    the function is called with the :class:`Request` and returns one of the others. A
    function whose reply uses a tool is asked again in the next round, unless
    ``then_reply`` says what comes.
    """

    def __init__(self, matcher: Matcher, kind: str | None) -> None:
        check_matcher(matcher)
        if kind not in (None, *KINDS):
            raise UsageError(
                f"kind is not {kind!r}, but one of {', '.join(map(repr, KINDS))}; or None for all."
            )
        self._matcher = matcher
        self._kind = kind
        self._lock = threading.Lock()  # guards _steps and their counts
        self._steps: list[Step] = []

    def reply(self, content: Script, *, times: int | None = None, **settings: Any) -> Rule:
        """
        Say *content*; *settings* are those of :class:`Reply`: ``gate``, ``delay``, ``usage``, ...

        With *times*, that often; otherwise once if another ``reply`` or ``fail``
        follows, and for ever if not.
        """
        if times is not None and times < 1:
            raise UsageError(f"times={times} would never reply. Leave the rule out instead.")
        script = with_settings(content, settings)
        with self._lock:
            if self._steps and self._steps[-1].left is None:
                self._steps[-1].left = 1
            self._steps.append(Step([script], times))
        return self

    def fail(
        self, status: int, message: str | None = None, *, times: int | None = None, **settings: Any
    ) -> Rule:
        """Answer with an HTTP error; the rest is that of :func:`failure`, *times* as above."""
        return self.reply(failure(status, message, **settings), times=times)

    def then_reply(self, content: Script, **settings: Any) -> Rule:
        """
        Say *content* in the next round of the same turn, when the tools have run.

        An error (:func:`failure`, :func:`cut`) given here happens once; the repeated
        request gets the reply after it.
        """
        with self._lock:
            if not self._steps:
                raise UsageError("then_reply() needs a reply() before it: it is what comes next.")
            self._steps[-1].rounds.append(with_settings(content, settings))
        return self

    def matches(self, request: Request) -> bool:
        """Whether the rule is about *request*. Thread: any; may call the user's matcher."""
        # Without new text a text cannot match: the tool would be used again, for ever.
        if request.is_continuation and not callable(self._matcher):
            return False
        return self._kind in (None, request.kind) and is_match(self._matcher, request)

    def take(self) -> list[Script] | None:
        """The rounds of the next turn; None once the rule is used up. Thread: any."""
        with self._lock:
            for step in self._steps:
                if step.left is None:
                    return step.rounds
                if step.left > 0:
                    step.left -= 1
                    return step.rounds
        return None


class LoopbackModel:
    """
    A Messages API on a free port of 127.0.0.1; see the top of this module.

    Use it as a context manager, or call :meth:`start` and :meth:`close`. Every
    method may be called from any thread, at any time after construction.

    Args:
        usage: The token counts of a reply that does not bring its own.

    """

    def __init__(self, *, usage: Mapping[str, Any] | None = None) -> None:
        self._usage: Mapping[str, Any] = {**USAGE, **(usage or {})}
        self._name = f"loopback-model-{next(NUMBERS)}"
        # Guards everything below; notified at each request and at close.
        self._changed = threading.Condition()
        self._server: LoopbackServer | None = None
        self._closed = False
        self._rules: list[Rule] = []
        self._default: Script = echo
        self._requests: list[Request] = []
        self._asked: set[tuple[int, tuple[str, ...]]] = set()
        self._places: dict[str, Place] = {}

    # Life cycle.

    def start(self) -> LoopbackModel:
        """Listen; a second call does nothing."""
        with self._changed:
            if self._closed:
                raise UsageError("this LoopbackModel is closed. Make a new one.")
            if self._server is None:
                self._server = LoopbackServer(self._name, self._answer)
        return self

    def close(self) -> None:
        """Drop every connection and end every thread; a second call does nothing."""
        with self._changed:
            self._closed = True
            server = self._server
            self._changed.notify_all()
        if server is not None:
            server.stop()

    def __enter__(self) -> LoopbackModel:
        return self.start()

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self._closed else self.url if self._server else "not started"
        return f"<LoopbackModel {state}, {len(self._requests)} requests>"

    # How a CLI finds it.

    @property
    def url(self) -> str:
        """The address, for ``ANTHROPIC_BASE_URL``. After close() nothing listens there."""
        if self._server is None:
            raise UsageError("this LoopbackModel has no address yet. Call start() first.")
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def environment(
        self, home: str | os.PathLike[str], *, inherit: bool = False, retries: int | None = None
    ) -> dict[str, str]:
        """
        The environment variables with which a real CLI talks to this model only.

        *home*, a temporary folder, is where the CLI keeps its settings and sessions.
        With *inherit*, what else a child process needs is taken from this process,
        without its own Claude and Anthropic variables: the result is a complete
        environment. *retries* is how often the CLI repeats a request that failed; by
        itself it does so for minutes.
        """
        folder = Path(home).absolute()
        inherited = {
            name: value
            for name, value in (os.environ.items() if inherit else ())
            if not name.upper().startswith(("CLAUDE", "ANTHROPIC"))
        }
        return {
            **inherited,
            **({} if retries is None else {"CLAUDE_CODE_MAX_RETRIES": str(retries)}),
            "ANTHROPIC_API_KEY": "sk-ant-loopback",
            "ANTHROPIC_BASE_URL": self.url,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CONFIG_DIR": str(folder / ".claude"),
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "DISABLE_TELEMETRY": "1",
            "HOME": str(folder),
            "NO_PROXY": "127.0.0.1",
            "USERPROFILE": str(folder),
            "no_proxy": "127.0.0.1",
        }

    # What it says.

    def when(self, matcher: Matcher, *, kind: str | None = "conversation") -> Rule:
        """
        Begin a rule; say what it replies with :meth:`Rule.reply` or :meth:`Rule.fail`.

        *matcher* is a part of the user's newest text, a compiled regular expression to
        search in it, or a function of the :class:`Request`. The rule is only about
        requests of *kind*; ``kind=None`` means all.
        """
        rule = Rule(matcher, kind)
        with self._changed:
            self._rules.insert(0, rule)
        return rule

    def default(self, content: Script) -> None:
        """Say *content* where no rule matches, instead of an echo of the user's text."""
        script = with_settings(content, {})
        with self._changed:
            self._default = script

    # What it was asked.

    @property
    def requests(self) -> list[Request]:
        """Every request so far, in order of arrival; a copy."""
        with self._changed:
            return list(self._requests)

    @property
    def conversation(self) -> list[Request]:
        """The requests of the kind ``"conversation"`` so far; a copy."""
        return [request for request in self.requests if request.kind == "conversation"]

    def wait_for_request(
        self, matcher: Matcher, timeout: float = 30.0, *, after: Request | None = None
    ) -> Request:
        """
        Return the first request that matches, waiting for it if it has not come yet.

        Texts and expressions look at conversations only, functions at every request.
        With *after*, only requests later than that one count. Raises
        :exc:`TimeoutError`, which tells what was requested instead.
        """
        check_matcher(matcher)
        deadline = Deadline(timeout)
        index = after.index + 1 if after is not None else 0
        while True:
            arrived = self._arrived(index, deadline)
            if not arrived:
                break
            for request in arrived:  # outside the lock: the matcher may be the user's function
                index = request.index + 1
                is_meant = callable(matcher) or request.kind == "conversation"
                if is_meant and is_match(matcher, request):
                    return request
        if self._closed:
            raise UsageError(f"the LoopbackModel was closed while {matcher!r} was waited for.")
        heard = [f"  {request}" for request in self.requests]
        raise TimeoutError(
            f"no request matched {matcher!r} within {timeout:g} s. Requested so far:\n"
            + ("\n".join(heard) or "  nothing at all; does the CLI use environment()?")
        )

    def _arrived(self, index: int, deadline: Deadline) -> list[Request]:
        """The requests from *index* on; none if none came in time, or it was closed."""
        with self._changed:
            while len(self._requests) <= index and not self._closed and not deadline.is_over():
                self._changed.wait(deadline.slice())
            return self._requests[index:]

    # One request. Thread: that of its connection.

    def _answer(
        self, method: str, path: str, headers: Mapping[str, str], data: bytes
    ) -> Message | bytes:
        problem = ""
        try:
            body = json.loads(data or b"{}")
        except ValueError as exc:
            body, problem = {}, f"the body is not JSON: {exc}"
        if not isinstance(body, dict):
            body, problem = {}, "the body is not a JSON object"
        request = self._record(method, path, headers, body)
        if method == "HEAD":
            return b""
        if request.kind == "count_tokens" and not problem:
            # Four bytes a token is what people estimate with.
            return json.dumps({"input_tokens": max(1, len(data) // 4)}).encode()
        if problem:
            reply = failure(400, problem)
        elif request.kind == "http":
            reply = failure(404, f"not found: {path.split('?')[0]}")
        else:
            try:
                return self._say(request)
            except Exception as exc:
                logger.exception("the loopback model could not answer %r", request)
                reply = failure(400, f"a rule of the test failed: {exc!r}")
        return Message(request, reply, self._usage)

    def _record(
        self, method: str, path: str, headers: Mapping[str, str], body: dict[str, Any]
    ) -> Request:
        with self._changed:
            index = len(self._requests)
            request = Request(index, method, path, headers, body, self._asked)
            self._requests.append(request)
            self._asked.add((len(request.messages), request.texts))
            self._changed.notify_all()
        return request

    def _say(self, request: Request) -> Message:
        place = self._find(request)
        script = place.script()
        reply = as_reply(script(request) if callable(script) else script)
        message = Message(request, reply, self._usage)
        with self._changed:
            following = Place(place.rounds, place.index + 1)
            for block in message.blocks:
                if block.calls_a_tool:
                    self._places[str(block.wire["id"])] = following
            # After an error in a later round, the repeated request gets the next round.
            if reply.ending != "complete" and place.index + 1 < len(place.rounds):
                place.index += 1
        return message

    def _find(self, request: Request) -> Place:
        """Where in which script this request stands."""
        with self._changed:
            rules = list(self._rules)
            default = self._default
            places = [self._places.get(result.tool_use_id) for result in request.tool_results]
        going_on = next((place for place in places if place is not None), None)
        if request.is_continuation and going_on is not None:
            return going_on
        for rule in rules:
            rounds = rule.take() if rule.matches(request) else None
            if rounds is not None:
                return Place(rounds)
        if request.kind != "conversation":
            return Place([SIDE_ANSWERS.get(request.kind, "ok")])
        # A message sent while a tool ran joins the turn, if no rule is about it.
        if going_on is not None and not request.after_interrupt:
            return going_on
        return Place([default])


def refused_url() -> str:
    """An address of this machine where nothing listens: connections are refused."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}"


def echo(request: Request) -> Content:
    """What is said where no rule says anything."""
    return after_tools(request) if request.is_continuation else f"echo: {request.text}"


def after_tools(request: Request) -> str:
    """What is said when tools have run and no script says what comes."""
    return "result: " + "\n".join(result.text for result in request.tool_results)


def check_matcher(matcher: Matcher) -> None:
    """UsageError unless this can match anything."""
    if not (isinstance(matcher, (str, re.Pattern)) or callable(matcher)):
        raise UsageError(
            "a matcher is a part of the user's text, a compiled regular expression or a function "
            f"of the request; not {matcher!r}."
        )


def is_match(matcher: Matcher, request: Request) -> bool:
    """Whether *request* is what a matcher means."""
    if isinstance(matcher, str):
        return matcher in request.text
    if isinstance(matcher, re.Pattern):
        return matcher.search(request.text) is not None
    return bool(matcher(request))


def with_settings(content: Script, settings: dict[str, Any]) -> Script:
    """*content* with the settings of the call; a function's replies get them too."""
    if not callable(content):
        return as_reply(content, **settings)
    as_reply("", **settings)  # a wrong name is an error now
    function = content
    return lambda request: as_reply(function(request), **settings)
