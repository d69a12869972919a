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

import itertools
import json
import logging
import os
import socket
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..errors import UsageError
from ..support.waiting import Deadline
from .model_http import LoopbackServer, Response
from .model_requests import Request, ToolResult, parse_request
from .model_rules import Matcher, Place, Rule, as_reply, check_matcher, is_match
from .model_wire import (
    Block,
    Content,
    Failure,
    Frame,
    Reply,
    Script,
    cut,
    error_body,
    failure,
    garbled,
    is_tool_use,
    prepare,
    stream,
    text,
    thinking,
    tool_use,
    whole,
)

__all__ = [
    "Block",
    "Failure",
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

USAGE = {"input_tokens": 10, "output_tokens": 5}
NUMBERS = itertools.count(1)
# An answer that does no harm, to requests that no user asked for.
SIDE_ANSWERS = {
    "notification": "noted",
    "compact": "<summary>A summary made by the loopback model.</summary>",
    "title": json.dumps({"isNewTopic": False, "title": "A title"}),
}


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
        return f"http://127.0.0.1:{self._server.port}"

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
        if not callable(content):
            content = as_reply(content, {})
        with self._changed:
            self._default = content

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
        heard = [f"  {r.index}: {r.kind} {r.text[:80]!r}" for r in self.requests]
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

    def _answer(self, method: str, path: str, headers: Mapping[str, str], data: bytes) -> Response:
        problem = ""
        try:
            body = json.loads(data or b"{}")
        except ValueError as exc:
            body, problem = {}, f"the body is no JSON: {exc}"
        if not isinstance(body, dict):
            body, problem = {}, "the body is no JSON object"
        request = self._record(method, path, headers, body)
        if problem:
            return failed(request, Failure(400, problem))
        if method == "HEAD":
            return Response(200, [], length=0)
        if request.kind == "http":
            return failed(request, Failure(404, f"not found: {path.split('?')[0]}"))
        if request.kind == "count_tokens":
            # Four bytes a token is what people estimate with.
            counted = json.dumps({"input_tokens": max(1, len(data) // 4)}).encode()
            return Response(200, [counted], length=len(counted))
        try:
            return self._say(request)
        except Exception as exc:
            logger.exception("the loopback model could not answer %r", request)
            return failed(request, Failure(400, f"a rule of the test failed: {exc!r}"))

    def _record(
        self, method: str, path: str, headers: Mapping[str, str], body: dict[str, Any]
    ) -> Request:
        def was_asked(position: int, texts: tuple[str, ...]) -> bool:
            return (position, texts) in self._asked

        with self._changed:
            index = len(self._requests)
            request = parse_request(index, method, path, headers, body, was_asked)
            self._requests.append(request)
            self._asked.add((len(request.messages), request.texts))
            self._changed.notify_all()
        return request

    def _say(self, request: Request) -> Response:
        place = self._find(request)
        script = place.script()
        answer = after_tools(request) if script is None else script
        reply = as_reply(answer(request) if callable(answer) else answer, {})
        following = Place(place.rounds, place.index + 1)
        if isinstance(reply, Failure):
            self._repeat(request, place, following)
            return failed(request, reply)
        if reply.ending != "complete":
            self._repeat(request, place, following)
        blocks = prepare(reply.content)
        with self._changed:
            for block in filter(is_tool_use, blocks):
                self._places[str(block.wire["id"])] = following
        usage = {**self._usage, **(reply.usage or {})}
        frames = stream(request, reply, blocks, usage)
        headers = reply.headers or {}
        if request.stream:
            is_cut = reply.ending == "cut"
            return Response(200, [*waits_of(reply), *frames], headers, broken=is_cut)
        data = whole(request, reply, blocks, usage)
        sent = data if reply.ending == "complete" else data[: len(data) // 2]
        length = len(data) if reply.ending == "cut" else len(sent)
        waits = [*waits_of(reply), *(each for each in frames if not isinstance(each, bytes))]
        return Response(200, [*waits, sent], headers, length)

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

    def _repeat(self, request: Request, place: Place, following: Place) -> None:
        """After an error in a later round, the repeated request gets the next round."""
        if place.index and following.index < len(place.rounds):
            with self._changed:
                for result in request.tool_results:
                    if self._places.get(result.tool_use_id) is place:
                        self._places[result.tool_use_id] = following


def refused_url() -> str:
    """An address of this machine where nothing listens: connections are refused."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}"


def echo(request: Request) -> Content:
    """What is said where no rule says anything."""
    return after_tools(request) if request.is_continuation else f"echo: {request.text}"


def after_tools(request: Request) -> str:
    """What is said when tools have run and no script tells what comes."""
    return "result: " + "\n".join(result.text for result in request.tool_results)


def waits_of(answer: Reply | Failure) -> Iterator[Frame]:
    """What is waited for before anything is sent."""
    if isinstance(answer, Reply) and answer.delay:
        yield answer.delay
    if answer.gate is not None:
        yield answer.gate


def failed(request: Request, failure: Failure) -> Response:
    """An HTTP error."""
    headers = dict(failure.headers or {})
    if failure.retry_after is not None:
        headers["retry-after"] = f"{failure.retry_after:g}"
    data = error_body(request, failure)
    return Response(failure.status, [*waits_of(failure), data], headers, len(data))
