"""
What Claude asks before it acts: requests for permission, and questions to a person.

A handler of ``on_permission`` gets a :class:`PermissionRequest` and answers it with one of its
verbs, now or later, from any thread. Decided here:

* "Always" means the rules that the CLI suggests, for this session; never a change of mode, which
  would let through more than was asked for.
* A yes always carries the tool's input: what was approved is what runs.

Whether a request still waits for its answer is the business of the engine; this module needs no
more of it than :class:`OpenRequest`.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, Mapping, Protocol, Union

from ..errors import UsageError
from ..messages.display import Displayed
from ..messages.fields import mapping_of, mappings_of, optional_text_of, text_of
from ..options.fields import PERMISSION_MODES
from ..protocol.control import allow_reply, deny_reply
from ..support.checks import refuse

if TYPE_CHECKING:
    import threading

    from .questions import Question

__all__ = ["LATER", "Decision", "OpenRequest", "PermissionRequest", "Questions"]

QUESTION_TOOL = "AskUserQuestion"
PLAN_TOOL = "ExitPlanMode"
# The form of an answer that has no word for "and stop".
OLDER_REPLY = "callback.response"

DENIED_BY_PROGRAM = "Permission denied by the program that runs this session. Do not try it again."
DECLINED = "The user declined to answer. Continue with your best judgment."
NOBODY_THERE = (
    "No one is available to answer questions. Continue with your best judgment, and say so."
)


class Later:
    """The type of ``LATER``: there is one of it, also after pickling."""

    def __repr__(self) -> str:
        return "claude_sync.LATER"

    def __reduce__(self) -> str:
        return "LATER"


#: What a handler returns when the answer comes later, from a button or another thread.
LATER = Later()


class OpenRequest(Protocol):
    """
    A request of the CLI, as the engine keeps it: answered once, or withdrawn.

    Attributes:
        body: The fields of the request as they came.
        state: ``open``, ``answered`` or ``withdrawn``.

    """

    body: Mapping[str, Any]
    state: str

    @property
    def cancelled(self) -> threading.Event:
        """Set when it is withdrawn."""

    @property
    def folder(self) -> str | None:
        """The folder in which the CLI runs; None for the program's own."""

    def answer(self, reply: Mapping[str, Any], decision: object = None) -> None:
        """Answer with *reply*: kept until the handler returns if this is its thread."""

    def is_decided(self) -> bool:
        """Whether it is answered, or no longer needs to be."""

    def on_cancel(self, function: Callable[..., object], subject: object) -> None:
        """Call *function*, with *subject* if it takes an argument, when it is withdrawn."""

    def note(self, text: str) -> None:
        """Log something about it."""


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Decision:
    """
    The answer to a request. A handler may return it.

    Attributes:
        behavior: ``allow`` or ``deny``.
        request: The request it belongs to.
        reply: The message for the CLI.
        interrupts: Whether the turn has to be interrupted because the reply cannot say so.

    """

    behavior: str
    request: PermissionRequest
    reply: Mapping[str, Any]
    interrupts: bool = False

    def __repr__(self) -> str:
        return f"<{self.behavior} {self.request.tool}>"


#: What handlers of ``on_permission`` and of ``on_question`` may return, for annotations.
PermissionAnswer = Union[Decision, Later, bool, None]
QuestionsAnswer = Union[Decision, Later, bool, Dict[str, Any], None]


class PermissionRequest(Displayed):
    """
    Claude wants to use a tool, and the CLI asks whether it may.

    Answer once, with one of :meth:`allow`, :meth:`allow_always`, :meth:`accept_edits`,
    :meth:`deny`, :meth:`answer` and :meth:`approve_plan`, from any thread (but not from a signal
    handler or a finalizer, which may interrupt an answer that is being given). An answer given
    inside the handler goes out when the handler returns; a handler that raises denies.

    Attributes:
        tool: The tool's name, as ``Bash`` or ``mcp__server__tool``.
        tool_use_id: The id of its :class:`ToolUse`, or None.
        suggestions: The rule changes that the CLI suggests so that it need not ask again.
        blocked_path: The file or folder for which it asks, or None.
        reason: Why the CLI asks, or None.
        title, description: What to show to a person, or None.
        agent_id: The subagent that wants to use it; None for the main conversation.
        mcp_server: The name of the MCP server whose tool it is, or None.
        raw: The fields of the request, as the CLI sent them.

    """

    def __init__(self, message: Mapping[str, Any], slot: OpenRequest) -> None:
        body = slot.body
        self._message = message
        self._slot = slot
        self._input: dict[str, Any] | None = None
        self.raw = body
        self.tool = text_of(body.get("tool_name"))
        self.tool_use_id = optional_text_of(body.get("tool_use_id"))
        self.suggestions: tuple[Mapping[str, Any], ...] = mappings_of(
            body.get("permission_suggestions")
        ) or mappings_of(body.get("suggestions"))
        self.blocked_path = optional_text_of(body.get("blocked_path"))
        self.reason = optional_text_of(body.get("decision_reason"))
        self.title = optional_text_of(body.get("title"))
        self.description = optional_text_of(body.get("description"))
        self.agent_id = optional_text_of(body.get("agent_id"))
        self.mcp_server = server_of(body, self.tool)

    @property
    def raw_input(self) -> Mapping[str, Any]:
        """The tool's input, as the CLI sent it."""
        return mapping_of(self.raw["input"] if "input" in self.raw else self.raw.get("tool_input"))

    @property
    def input(self) -> dict[str, Any]:
        """A copy of the tool's input. Changing it does not change what runs."""
        if self._input is None:
            import copy

            self._input = copy.deepcopy(dict(self.raw_input))
        return self._input

    @property
    def cwd(self) -> str:
        """The folder in which the CLI runs."""
        import os

        return self._slot.folder or os.getcwd()

    @property
    def questions(self) -> tuple[Question, ...]:
        """The questions of AskUserQuestion; none for other tools."""
        from .questions import questions_of

        return questions_of(self.raw_input) if self.tool == QUESTION_TOOL else ()

    @property
    def state(self) -> str:
        """``open``, ``answered`` or ``withdrawn``."""
        return self._slot.state

    @property
    def is_open(self) -> bool:
        """Whether the CLI still waits for an answer, and none was given."""
        return not self._slot.is_decided()

    @property
    def cancelled(self) -> threading.Event:
        """Set when the CLI no longer waits: interrupted, ended, or out of time."""
        return self._slot.cancelled

    def on_cancel(self, function: Callable[..., object]) -> None:
        """
        Call *function* when the CLI no longer waits for the answer, for example to close a
        dialog.

        If the CLI has already stopped waiting, this calls it at once. It runs where handlers
        run with ``post=...``, and on a
        thread of the client otherwise; it gets the request if it takes an argument.
        """
        self._slot.on_cancel(function, self)

    def preview(self, full: bool = False) -> str:
        """
        What would happen: a diff, a command line, or the input in readable form.

        A long preview leaves out its middle and says how much. ``full=True`` gives every field.
        """
        from .preview import preview

        return preview(self.tool, self.raw_input, self.cwd, full)

    # Verbs.

    def allow(
        self,
        updated_input: Mapping[str, Any] | None = None,
        permissions: Iterable[Mapping[str, Any]] = (),
    ) -> Decision:
        """
        Let the tool run, with *updated_input* if you pass one.

        *permissions* are changes of the session's rules, in the form of ``suggestions``.
        """
        if updated_input is None:
            updated_input = self.raw_input
            if self._input is not None and self._input != updated_input:
                # The decision may be about the changed input, which would not run.
                raise UsageError(
                    "request.input was changed, which does not change what runs. Pass "
                    "request.allow(updated_input={...}) to run the tool with another input."
                )
        elif not isinstance(updated_input, dict):
            raise refuse("updated_input", updated_input, "the tool's whole input, a dict")
        reply = allow_reply(self._message, updated_input, updates(permissions))
        return self._decide(Decision("allow", self, reply))

    @property
    def always(self) -> tuple[Mapping[str, Any], ...]:
        """The rules that the CLI suggests and :meth:`allow_always` adds; often there are none."""
        # Not the folders that it suggests beside a change of mode: measured on 2.1.29 and
        # 2.1.326, the CLI asks again all the same, and Claude may read more than before.
        return tuple(
            suggestion
            for suggestion in self.suggestions
            if suggestion.get("type") == "addRules" and suggestion.get("behavior") == "allow"
        )

    def allow_always(self, save: bool = False) -> Decision:
        """
        Let the tool run, and also what the CLI's suggested rules cover; see :attr:`always`.

        For this session only; with ``save=True`` the rules go where the CLI suggests, usually a
        settings file of the project. It never changes the permission mode. Where the CLI
        suggests no rule, this one use is allowed.
        """
        rules = self.always
        if not rules:
            self._slot.note("the CLI suggests no rule for it, so it is allowed once only")
        return self.allow(permissions=rules if save else map(for_this_session, rules))

    @property
    def can_accept_edits(self) -> bool:
        """Whether the CLI offers to accept all edits of this session: :meth:`accept_edits`."""
        return any(map(is_accept_edits, self.suggestions))

    def accept_edits(self) -> Decision:
        """Let the tool run, and switch to ``acceptEdits``: the CLI no longer asks about edits."""
        modes = [suggestion for suggestion in self.suggestions if is_accept_edits(suggestion)]
        if not modes:
            raise UsageError(
                f"the CLI does not offer to accept edits for this use of {self.tool}. Look at "
                "request.can_accept_edits first; use allow() or deny()."
            )
        return self.allow(permissions=[for_this_session(modes[0])])

    def deny(self, message: str = "", interrupt: bool = False) -> Decision:
        """Deny it; Claude reads *message*. With ``interrupt=True``, the turn ends."""
        if not isinstance(message, str):
            raise refuse("message", message, "a str, which Claude reads")
        usual = NOBODY_THERE if self.tool == QUESTION_TOOL else DENIED_BY_PROGRAM
        text = message if message.strip() else usual
        reply = deny_reply(self._message, text, bool(interrupt))
        unsaid = bool(interrupt) and reply["type"] == OLDER_REPLY
        return self._decide(Decision("deny", self, reply, unsaid))

    def answer(self, answers: Any, *, free_text: bool = False) -> Decision:
        """
        Answer the questions of AskUserQuestion: ``{question: label or [labels]}``.

        For a single question, the label alone is enough. Each label must be one of the options;
        *free_text* allows any other text.
        """
        from .questions import answered_input, checked_answers

        self._check_tool("answer", QUESTION_TOOL)
        checked = checked_answers(self.questions, answers, free_text=free_text)
        return self.allow(answered_input(self.raw_input, checked))

    def approve_plan(self, mode: str | None = "acceptEdits") -> Decision:
        """
        Approve the plan of ExitPlanMode, and continue in *mode*.

        To ask for another plan, call :meth:`deny` and say what to change.
        """
        self._check_tool("approve_plan", PLAN_TOOL)
        if mode is None:
            return self.allow()
        if mode not in PERMISSION_MODES:
            raise refuse("mode", mode, f"one of {', '.join(PERMISSION_MODES)}")
        if mode == "manual":
            mode = "default"  # the name that every CLI knows
        return self.allow(permissions=[{"type": "setMode", "mode": mode, "destination": "session"}])

    def _check_tool(self, verb: str, tool: str) -> None:
        if self.tool != tool:
            raise UsageError(
                f"{verb}() is for {tool}; this request is about {self.tool}. Use allow() or deny()."
            )

    def _decide(self, decision: Decision) -> Decision:
        self._slot.answer(decision.reply, decision)
        return decision

    def __repr__(self) -> str:
        return f"<PermissionRequest {self.tool} {self.state}>"


class Questions(Displayed):
    """
    Claude asks the person something, by its tool AskUserQuestion.

    Attributes:
        questions: Each with ``text``, ``header``, ``options`` and ``multi_select``.
        request: The same as a :class:`PermissionRequest`.
        tool_use_id, agent_id, raw: Those of the request.

    """

    def __init__(self, request: PermissionRequest) -> None:
        self.request = request
        self.questions = request.questions
        self.tool_use_id = request.tool_use_id
        self.agent_id = request.agent_id
        self.raw = request.raw

    @property
    def cancelled(self) -> threading.Event:
        """Set when the CLI no longer waits for an answer."""
        return self.request.cancelled

    def on_cancel(self, function: Callable[..., object]) -> None:
        """As :meth:`PermissionRequest.on_cancel`."""
        self.request._slot.on_cancel(function, self)

    def preview(self) -> str:
        """The questions as a text."""
        return self.request.preview()

    def answer(self, answers: Any, *, free_text: bool = False) -> Decision:
        """Answer: ``{question: label or [labels]}``; for a single question the label alone."""
        return self.request.answer(answers, free_text=free_text)

    def decline(self, message: str = DECLINED) -> Decision:
        """Do not answer; Claude reads *message*."""
        return self.request.deny(message)

    def __repr__(self) -> str:
        return f"<Questions {[question.text for question in self.questions]}>"


# Updates of permissions.


def is_accept_edits(update: Mapping[str, Any]) -> bool:
    """Whether an update switches the mode to ``acceptEdits``."""
    return update.get("type") == "setMode" and update.get("mode") == "acceptEdits"


def for_this_session(update: Mapping[str, Any]) -> dict[str, Any]:
    """The same update, written to no settings file."""
    return {**update, "destination": "session"}


def updates(permissions: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Permission updates, checked: the CLI would ignore what it cannot read."""
    if isinstance(permissions, (str, bytes, dict)):
        raise refuse("permissions", permissions, "a list of dicts, such as request.suggestions")
    checked = list(permissions)
    for update in checked:
        if not isinstance(update, dict) or not isinstance(update.get("type"), str):
            example = "{'type': 'addRules', 'rules': [{'toolName': 'Read'}], 'behavior': 'allow'}"
            raise refuse("each item of permissions", update, f"a dict such as {example}")
    return checked


def server_of(body: Mapping[str, Any], tool: str) -> str | None:
    """The name of the MCP server that has *tool*."""
    sent = body.get("mcp_server")
    name = sent.get("name") if isinstance(sent, dict) else sent
    if isinstance(name, str) and name:
        return name
    parts = tool.split("__")
    return parts[1] if len(parts) > 2 and parts[0] == "mcp" else None
