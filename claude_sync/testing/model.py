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
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Dict, List, Mapping, Optional, Set, Tuple, Type, Union

from ..errors import UsageError
from .model_http import LoopbackServer, Response, json_response
from .model_requests import Request, ToolResult, parse_request
from .model_rules import Matcher, Place, Rule, check_matcher, is_match
from .model_wire import (
    Answer,
    Block,
    Content,
    Failure,
    Frame,
    Reply,
    Script,
    check_content,
    cut,
    error_body,
    failure,
    garbled,
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
# Waits are sliced: on some platforms Ctrl-C does not end a wait for a lock.
WAIT_SLICE = 0.5


class LoopbackModel:
    """
    A Messages API on a free port of 127.0.0.1; see the top of this module.

    Use it as a context manager, or call :meth:`start` and :meth:`close`. Every
    method may be called from any thread, at any time after construction.

    Args:
        usage: The token counts of a reply that does not bring its own.

    """

    def __init__(self, *, usage: Optional[Mapping[str, Any]] = None) -> None:
        self._usage: Mapping[str, Any] = {**USAGE, **(usage or {})}
        self._name = f"loopback-model-{next(NUMBERS)}"
        # Guards everything below; notified at each request and at close.
        self._changed = threading.Condition()
        self._server: Optional[LoopbackServer] = None
        self._closed = False
        self._rules: List[Rule] = []
        self._default: Script = _echo
        self._requests: List[Request] = []
        self._asked: Set[Tuple[int, Tuple[str, ...]]] = set()
        self._places: Dict[str, Place] = {}

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

    def __exit__(
        self,
        exc_type: Optional[Type[BaseException]],
        exc: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
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
        self,
        home: Union[str, os.PathLike[str]],
        *,
        inherit: bool = False,
        retries: Optional[int] = None,
    ) -> Dict[str, str]:
        """
        The environment variables with which a real CLI talks to this model only.

        *home*, a temporary folder, is where the CLI keeps its settings and sessions.
        With *inherit*, what else a child process needs is taken from this process,
        without its own Claude and Anthropic variables: the result is a complete
        environment. *retries* is how often the CLI repeats a request that failed; by
        itself it does so for minutes.
        """
        base: Dict[str, str] = {}
        if inherit:
            base = {
                name: value
                for name, value in os.environ.items()
                if not name.upper().startswith(("CLAUDE", "ANTHROPIC"))
            }
        if retries is not None:
            base["CLAUDE_CODE_MAX_RETRIES"] = str(retries)
        folder = str(Path(home).absolute())
        return {
            **base,
            "ANTHROPIC_API_KEY": "sk-ant-loopback",
            "ANTHROPIC_BASE_URL": self.url,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CONFIG_DIR": str(Path(folder, ".claude")),
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "DISABLE_TELEMETRY": "1",
            "HOME": folder,
            "NO_PROXY": "127.0.0.1",
            "USERPROFILE": folder,
            "no_proxy": "127.0.0.1",
        }

    # What it says.

    def when(self, matcher: Matcher, *, kind: Optional[str] = "conversation") -> Rule:
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
        if not (callable(content) or isinstance(content, (Reply, Failure))):
            check_content(content)
        with self._changed:
            self._default = content

    # What it was asked.

    @property
    def requests(self) -> List[Request]:
        """Every request so far, in order of arrival; a copy."""
        with self._changed:
            return list(self._requests)

    @property
    def conversation(self) -> List[Request]:
        """The requests of the kind ``"conversation"`` so far; a copy."""
        return [request for request in self.requests if request.kind == "conversation"]

    def wait_for_request(
        self,
        matcher: Matcher,
        timeout: float = 30.0,
        *,
        after: Optional[Request] = None,
    ) -> Request:
        """
        Return the first request that matches, waiting for it if it has not come yet.

        Texts and expressions look at conversations only, functions at every request.
        With *after*, only requests later than that one count. Raises
        :exc:`TimeoutError`, which tells what was requested instead.
        """
        check_matcher(matcher)
        deadline = time.monotonic() + timeout
        index = after.index + 1 if after is not None else 0
        while True:
            with self._changed:
                arrived = self._requests[index:]
                if not arrived:
                    if self._closed:
                        raise UsageError(
                            f"the LoopbackModel was closed while {matcher!r} was waited for."
                        )
                    remaining = deadline - time.monotonic()
                    if remaining <= 0:
                        break
                    self._changed.wait(min(remaining, WAIT_SLICE))
                    continue
            # Outside the lock: the matcher may be the user's function.
            for request in arrived:
                index = request.index + 1
                if not callable(matcher) and request.kind != "conversation":
                    continue
                if is_match(matcher, request):
                    return request
        heard = [f"  {r.index}: {r.kind} {r.text[:80]!r}" for r in self.requests]
        raise TimeoutError(
            f"no request matched {matcher!r} within {timeout:g} s. Requested so far:\n"
            + ("\n".join(heard) or "  nothing at all; does the CLI use environment()?")
        )

    # One request. Thread: that of its connection.

    def _answer(self, method: str, path: str, headers: Mapping[str, str], data: bytes) -> Response:
        try:
            body = json.loads(data) if data else {}
            problem = None if isinstance(body, dict) else "the body is no JSON object"
        except ValueError as exc:
            problem = f"the body is no JSON: {exc}"
        if problem is not None:
            body = {}
        request = self._record(method, path, headers, body)
        if problem is not None:
            return _failed(request, Failure(400, problem))
        if method == "HEAD":
            return Response(200, [], length=0)
        if request.kind == "http":
            return _failed(request, Failure(404, f"not found: {path.split('?')[0]}"))
        if request.kind == "count_tokens":
            # Four bytes a token is what people estimate with.
            return json_response(200, {"input_tokens": max(1, len(data) // 4)})
        try:
            return self._say(request)
        except Exception as exc:
            logger.exception("the loopback model could not answer %r", request)
            return _failed(request, Failure(400, f"a rule of the test failed: {exc!r}"))

    def _record(
        self, method: str, path: str, headers: Mapping[str, str], body: Dict[str, Any]
    ) -> Request:
        with self._changed:
            request = parse_request(
                len(self._requests),
                method,
                path,
                headers,
                body,
                lambda position, texts: (position, texts) in self._asked,
            )
            self._requests.append(request)
            self._asked.add((len(request.messages), request.texts))
            self._changed.notify_all()
        return request

    def _say(self, request: Request) -> Response:
        place = self._find(request)
        script = place.script()
        answer: Answer = _after_tools(request) if script is None else _ask(script, request)
        if isinstance(answer, Failure):
            self._advance(request, place)
            return _failed(request, answer)
        reply = answer if isinstance(answer, Reply) else Reply(answer)
        if reply.ending != "complete":
            self._advance(request, place)
        blocks = prepare(reply.content)
        following = Place(place.rounds, place.index + 1)
        with self._changed:
            for block in blocks:
                if block.wire.get("type") == "tool_use":
                    self._places[str(block.wire["id"])] = following
        usage = {**self._usage, **(reply.usage or {})}
        waits: List[Frame] = [reply.delay] if reply.delay else []
        if reply.gate is not None:
            waits.append(reply.gate)
        headers = dict(reply.headers or {})
        frames = stream(request, reply, blocks, usage)
        if request.stream:
            return Response(
                200,
                frames,
                headers,
                "text/event-stream; charset=utf-8",
                waits=waits,
                broken=reply.ending == "cut",
            )
        waits.extend(frame for frame in frames if not isinstance(frame, bytes))
        data = json.dumps(whole(request, reply, blocks, usage)).encode()
        sent = data if reply.ending == "complete" else data[: len(data) // 2]
        length = len(data) if reply.ending == "cut" else len(sent)
        return Response(200, [sent], headers, length=length, waits=waits)

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
            if rule.matches(request):
                rounds = rule.take()
                if rounds is not None:
                    return Place(rounds)
        if request.kind != "conversation":
            return Place([_side_answer])
        # A message sent while a tool ran joins the turn, if no rule is about it.
        if going_on is not None and not request.after_interrupt:
            return going_on
        return Place([default])

    def _advance(self, request: Request, place: Place) -> None:
        """After an error in a later round, the repeated request gets the next round."""
        if place.index == 0 or place.index + 1 >= len(place.rounds):
            return
        following = Place(place.rounds, place.index + 1)
        with self._changed:
            for result in request.tool_results:
                if self._places.get(result.tool_use_id) is place:
                    self._places[result.tool_use_id] = following


def refused_url() -> str:
    """An address of this machine where nothing listens: connections are refused."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}"


def _ask(script: Script, request: Request) -> Answer:
    return script(request) if callable(script) else script


def _echo(request: Request) -> Content:
    if request.is_continuation:
        return _after_tools(request)
    return f"echo: {request.text}"


def _after_tools(request: Request) -> Content:
    """What is said when tools have run and no script tells what comes."""
    return "result: " + "\n".join(result.text for result in request.tool_results)


def _side_answer(request: Request) -> Content:
    """An answer that does no harm, to a request that no user asked for."""
    if request.kind == "notification":
        return "noted"
    if request.kind == "compact":
        return "<summary>A summary made by the loopback model.</summary>"
    if request.kind == "title":
        return json.dumps({"isNewTopic": False, "title": "A title"})
    return "ok"


def _failed(request: Request, failed: Failure) -> Response:
    waits: List[Frame] = [] if failed.gate is None else [failed.gate]
    headers = dict(failed.headers or {})
    if failed.retry_after is not None:
        headers["retry-after"] = f"{failed.retry_after:g}"
    return json_response(failed.status, error_body(request, failed), headers=headers, waits=waits)
