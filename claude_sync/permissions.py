"""
What Claude asks before it acts: requests for permission, and questions to a person.

A handler of ``on_permission`` gets a :class:`PermissionRequest` and answers it
with one of its verbs, now or later, from any thread. Decisions taken here and
nowhere else:

* "Always" means the rules that the CLI suggests, for this session; never a
  change of mode, which would let through more than what was asked for.
* A yes always carries the tool's input: what was approved is what runs.

The state of a request, and whoever waits for its answer, is in
``runtime/open_requests.py``.
"""

from __future__ import annotations

from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Dict,
    Iterable,
    List,
    Mapping,
    Optional,
    Tuple,
    Union,
)

from .displayed import Displayed
from .errors import UsageError
from .protocol.control import allow_reply, deny_reply
from .wire_fields import mapping_of, mappings_of, optional_text_of, text_of

if TYPE_CHECKING:
    import threading

    from .questions import Question
    from .runtime.open_requests import OpenRequest

__all__ = ["LATER", "Decision", "PermissionRequest", "Questions"]

QUESTION_TOOL = "AskUserQuestion"
PLAN_TOOL = "ExitPlanMode"
# The form of an answer that has no word for "and stop".
OLDER_REPLY = "callback.response"

DENIED_BY_PROGRAM = "The program that runs this session said no. Do not try this again as it is."
DECLINED = "The user does not want to answer this. Go on with your best judgement."

# To which modes a plan's approval may switch.
PLAN_MODES = ("default", "acceptEdits", "bypassPermissions", "plan", "dontAsk", "auto", "manual")


class Later:
    """The type of ``LATER``: there is one of it, also after pickling."""

    def __repr__(self) -> str:
        return "claude_sync.LATER"

    def __reduce__(self) -> str:
        return "LATER"


#: What a handler returns when the answer comes later, from a button or another thread.
LATER = Later()


class Decision:
    """
    What was answered to a request. A handler may return it; it says nothing more.

    Attributes:
        behavior: ``allow`` or ``deny``.
        request: The request it belongs to.
        reply: The message for the CLI.
        interrupts: Whether the turn is to be stopped, which the reply cannot say.

    """

    __slots__ = ("behavior", "interrupts", "reply", "request")

    def __init__(
        self,
        behavior: str,
        request: PermissionRequest,
        reply: Mapping[str, Any],
        interrupts: bool = False,
    ) -> None:
        self.behavior = behavior
        self.request = request
        self.reply = reply
        self.interrupts = interrupts

    def __repr__(self) -> str:
        return f"<{self.behavior} {self.request.tool}>"

    def __bool__(self) -> bool:
        """Not whether it allows: a decision, whichever, is not nothing."""
        return True


#: What handlers of ``on_permission`` and of ``on_question`` may return, for annotations.
PermissionAnswer = Union[Decision, Later, bool, None]
QuestionsAnswer = Union[Decision, Later, bool, Dict[str, Any], None]


class PermissionRequest(Displayed):
    """
    Claude wants to use a tool, and the CLI asks whether it may.

    Answer with one of :meth:`allow`, :meth:`allow_always`, :meth:`deny`,
    :meth:`answer` and :meth:`approve_plan`: once, from any thread (but not from a signal
    handler or a finalizer, which may interrupt an answer that is being given). Called
    inside the handler, the answer goes out when the handler returns, and a handler that
    raises denies.

    Attributes:
        tool: The tool's name, as ``Bash`` or ``mcp__server__tool``.
        input: What it would be called with.
        tool_use_id: The id of its :class:`ToolUse`; None on very old CLIs.
        suggestions: What the CLI suggests to change so that it need not ask again.
        blocked_path: The file or folder for which it asks, or None.
        reason: Why the CLI asks, or None.
        title, description: What to show to a person, where the CLI tells; or None.
        agent_id: The subagent that wants to use it; None for the main conversation.
        mcp_server: The name of the MCP server whose tool it is, or None.
        cwd: The folder in which the CLI runs.
        cancelled: An event, set when the answer is no longer wanted.
        raw: The fields of the request as they came.

    """

    def __init__(self, message: Mapping[str, Any], slot: OpenRequest) -> None:
        body = slot.body
        self._message = message
        self._slot = slot
        self.raw = body
        self._input: Optional[Dict[str, Any]] = None
        self.tool = text_of(body.get("tool_name"))
        self.tool_use_id = optional_text_of(body.get("tool_use_id"))
        self.suggestions: Tuple[Mapping[str, Any], ...] = mappings_of(
            body.get("permission_suggestions")
        ) or mappings_of(body.get("suggestions"))
        self.blocked_path = optional_text_of(body.get("blocked_path"))
        self.reason = optional_text_of(body.get("decision_reason"))
        self.title = optional_text_of(body.get("title"))
        self.description = optional_text_of(body.get("description"))
        self.agent_id = optional_text_of(body.get("agent_id"))
        self.mcp_server = server_of(body, self.tool)

    @property
    def input(self) -> Dict[str, Any]:
        """What the tool would be called with; a copy: to change it changes nothing."""
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
    def cancelled(self) -> threading.Event:
        """Set when the CLI no longer waits: interrupted, ended, or out of time."""
        return self._slot.cancelled

    def on_cancel(self, function: Callable[..., object]) -> None:
        """
        Call *function* when the answer is no longer wanted: close the dialog there.

        At once if that is so already. It runs where handlers run with ``post=...``, and
        on a thread of its own otherwise; it gets the request if it takes an argument.
        """
        self._slot.on_cancel(function, self)

    def preview(self) -> str:
        """What would happen: a diff, a command line, or the input in readable form."""
        from .previews import preview

        return preview(self.tool, self.raw_input, self.cwd)

    # Verbs.

    def allow(
        self,
        updated_input: Optional[Mapping[str, Any]] = None,
        permissions: Iterable[Mapping[str, Any]] = (),
    ) -> Decision:
        """
        Let it run, with *updated_input* instead of its own if that is given.

        *permissions* are changes of the session's rules, in the form of ``suggestions``.
        """
        if updated_input is None:
            updated_input = self.raw_input
            if self._input is not None and self._input != updated_input:
                # Whoever decided may have looked at what was changed, and not at what would run.
                raise UsageError(
                    "request.input was changed, which changes nothing that runs. Pass "
                    "request.allow(updated_input={...}) to run the tool with another input."
                )
        elif not isinstance(updated_input, dict):
            raise UsageError(
                f"updated_input is the tool's whole input as a dict, not {updated_input!r}. "
                "Change a copy: {**request.input, 'command': ...}."
            )
        return self._decide(
            "allow", allow_reply(self._message, updated_input, updates(permissions))
        )

    def allow_always(self, save: bool = False) -> Decision:
        """
        Let it run, and whatever falls under the rules that the CLI suggests for it.

        For this session only; with ``save=True`` the rules go where the CLI suggests,
        which usually is a settings file of the project. A suggestion to switch the
        permission mode is not followed. Without a suggested rule this one use is allowed.
        """
        rules: List[Mapping[str, Any]] = []
        for suggestion in self.suggestions:
            if suggestion.get("type") == "addRules" and suggestion.get("behavior") == "allow":
                rules.append(suggestion if save else {**suggestion, "destination": "session"})
        if not rules:
            self._slot.note("the CLI suggests no rule for it, so it is allowed once only")
        return self.allow(permissions=rules)

    def deny(self, message: str = DENIED_BY_PROGRAM, interrupt: bool = False) -> Decision:
        """Do not let it run; Claude reads *message*. With ``interrupt=True`` the turn ends."""
        if not isinstance(message, str):
            raise UsageError(f"the message for Claude is a str, not {message!r}.")
        text = message if message.strip() else DENIED_BY_PROGRAM
        reply = deny_reply(self._message, text, bool(interrupt))
        return self._decide("deny", reply, bool(interrupt) and reply["type"] == OLDER_REPLY)

    def answer(self, answers: Any, *, free_text: bool = False) -> Decision:
        """
        Answer the questions of AskUserQuestion: ``{question: label or [labels]}``.

        For a single question the label alone will do. Labels are checked against the
        options, unless *free_text* says that the person wrote something else.
        """
        from .questions import answered_input, checked_answers

        if self.tool != QUESTION_TOOL:
            raise UsageError(
                f"answer() is for {QUESTION_TOOL}; this request is about {self.tool}. "
                "Use allow() or deny()."
            )
        checked = checked_answers(self.questions, answers, free_text=free_text)
        return self.allow(answered_input(self.raw_input, checked))

    def approve_plan(self, mode: Optional[str] = "acceptEdits") -> Decision:
        """
        Approve the plan of ExitPlanMode, and go on in *mode*.

        Use :meth:`deny` with what is to be changed to have it planned again.
        """
        if self.tool != PLAN_TOOL:
            raise UsageError(
                f"approve_plan() is for {PLAN_TOOL}; this request is about {self.tool}. "
                "Use allow() or deny()."
            )
        if mode is None:
            return self.allow()
        if mode not in PLAN_MODES:
            raise UsageError(
                f"there is no permission mode {mode!r}. Choose one of {', '.join(PLAN_MODES)}."
            )
        return self.allow(permissions=[{"type": "setMode", "mode": mode, "destination": "session"}])

    @property
    def raw_input(self) -> Mapping[str, Any]:
        """The tool's input as it came."""
        return mapping_of(self.raw["input"] if "input" in self.raw else self.raw.get("tool_input"))

    @property
    def questions(self) -> Tuple[Question, ...]:
        """What AskUserQuestion asks; nothing for other tools."""
        from .questions import questions_of

        return questions_of(self.raw_input) if self.tool == QUESTION_TOOL else ()

    def _decide(
        self, behavior: str, reply: Mapping[str, Any], interrupts: bool = False
    ) -> Decision:
        decision = Decision(behavior, self, reply, interrupts)
        self._slot.answer(reply, decision)
        return decision

    def __repr__(self) -> str:
        return f"<PermissionRequest {self.tool} {self._slot.state}>"


class Questions(Displayed):
    """
    Claude asks the person something, by its tool AskUserQuestion.

    Attributes:
        questions: Each with ``text``, ``header``, ``options`` and ``multi_select``.
        request: The same as a :class:`PermissionRequest`.

    """

    def __init__(self, request: PermissionRequest) -> None:
        self.request = request
        self.questions = request.questions

    @property
    def cancelled(self) -> threading.Event:
        """Set when the CLI no longer waits for an answer."""
        return self.request.cancelled

    @property
    def raw(self) -> Mapping[str, Any]:
        """The fields of the request as they came."""
        return self.request.raw

    @property
    def tool_use_id(self) -> Optional[str]:
        """The id of the tool's use."""
        return self.request.tool_use_id

    @property
    def agent_id(self) -> Optional[str]:
        """The subagent that asks; None for the main conversation."""
        return self.request.agent_id

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


def updates(permissions: Iterable[Mapping[str, Any]]) -> List[Mapping[str, Any]]:
    """Permission updates, checked: what the CLI cannot read it would ignore."""
    if isinstance(permissions, (str, bytes, dict)):
        raise UsageError("permissions= takes a list of dicts, such as request.suggestions.")
    checked = list(permissions)
    for update in checked:
        if not isinstance(update, dict) or not isinstance(update.get("type"), str):
            raise UsageError(
                f"{update!r} is not a permission update. Each is a dict such as "
                "{'type': 'addRules', 'rules': [{'toolName': 'Read'}], 'behavior': 'allow', "
                "'destination': 'session'}."
            )
    return checked


def server_of(body: Mapping[str, Any], tool: str) -> Optional[str]:
    """The name of the MCP server that has *tool*."""
    told = body.get("mcp_server")
    name = told.get("name") if isinstance(told, dict) else told
    if isinstance(name, str) and name:
        return name
    parts = tool.split("__")
    return parts[1] if len(parts) > 2 and parts[0] == "mcp" else None
