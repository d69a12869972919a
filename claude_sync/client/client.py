"""
The one object a program holds. It is small because it delegates.

::

    process -> lines -> messages -> dispatch -> handlers -> turn
                  (all of it behind  engine/session.py)

The client owns the handlers and a session; the session owns the threads. No
thread refers to the client, so a client that the program forgets is collected,
warned about, and closed.
"""

from __future__ import annotations

import contextlib
import warnings
import weakref
from typing import (
    TYPE_CHECKING,
    Any,
    Dict,
    Generic,
    NoReturn,
    Optional,
    SupportsIndex,
    Tuple,
    Type,
    overload,
)

from ..engine.handlers import HOOK_NEEDS_EVENT, KINDS, HandlerRegistry, near_miss
from ..engine.session import Session, is_command
from ..engine.turn import Turn
from ..errors import AskTimeout, UsageError
from ..messages.answer import Answer
from ..messages.display import Displayed, Timed
from ..messages.events import Info, InterruptReceipt
from ..messages.usage import ModelUsage, Usage
from ..options import Options, SignatureWithOptions, names_of, options_from, signature_with
from ..options.fields import flag
from ..prompts import Prompt, read_once, user_message
from ..support.checks import (
    check_keywords,
    check_seconds,
    check_timeout,
    refuse,
    suggests_arguments,
)
from .control_methods import ControlMethods
from .handler_methods import HandlerMethods

if TYPE_CHECKING:
    from typing_extensions import Self, TypeVar, Unpack

    from ..engine.calling import Frames
    from ..messages.agents import AgentUsage
    from ..schema import Form
    from .echo import Echo
    from .keywords import AskKeywords, ClientKeywords, EchoKeywords, QuestionKeywords
    from .statistics import Statistics

    # What the answers' data are: "Client" alone says nothing of them.
    D = TypeVar("D", default=Any)
    T = TypeVar("T")
else:
    from typing import TypeVar

    D = TypeVar("D")

__all__ = ["Client", "ask"]

# How long ask() waits, after Ctrl-C, for its own turn to end.
INTERRUPT_PATIENCE = 5.0

# Closing has an end.
LONGEST_CLOSE = 3600.0

HANDLERS = tuple(f"on_{kind}" for kind in KINDS)
ASK_OPTIONS = ("attach", "data", "timeout", "idle_timeout", "raise_on_error", "echo")


class Client(HandlerMethods, ControlMethods, Timed, Displayed, Generic[D]):
    """
    A conversation with Claude, through the Claude Code CLI::

        with claude_sync.Client(cwd="project", model="sonnet") as client:
            client.on_text(lambda text: print(text, end="", flush=True))
            answer = client.ask("What does setup.py do?", timeout=120)

    Pass the options of :class:`Options` by name, and handlers as ``on_text=...`` and so on.
    ``with`` starts the process; ``close()`` or the end of the block ends it. Any thread may call
    any method.
    """

    __signature__ = SignatureWithOptions(HANDLERS)

    @overload
    def __init__(
        self: Client[T],
        options: Optional[Options] = None,
        *,
        returns: Type[T],
        **overrides: Unpack[ClientKeywords],
    ) -> None: ...

    @overload
    def __init__(
        self: Client[None],
        options: None = None,
        *,
        returns: None = None,
        **overrides: Unpack[ClientKeywords],
    ) -> None: ...

    @overload
    def __init__(
        self: Client[Any],
        options: Optional[Options] = None,
        *,
        returns: Any = None,
        **overrides: Unpack[ClientKeywords],
    ) -> None: ...

    def __init__(self, options: Optional[Options] = None, **overrides: Any) -> None:
        handlers = handlers_among(overrides)
        self._options = options_from(options, overrides)
        self._registry = HandlerRegistry()
        self._registry.policy = self._options.permissions
        # Without functions of the program's: they may mention the client, which the threads
        # of the engine must not keep alive.
        own = self._options.replace(permissions=None, hooks=None, tools=(), returns=None)
        self._form = None if self._options.returns is None else form_of(self._options.returns)
        schema = None if self._form is None else self._form.schema
        self._session = Session(own, self._registry, schema)
        self._registry.on_change = self._session.update_merging
        self._finalizer = weakref.finalize(self, close_forgotten, self._session)
        # At the end of the interpreter the engine is closed by its own exit handler.
        self._finalizer.atexit = False
        for name, handler in handlers.items():
            if handler is not None:
                self._registry.add(name[3:], handler)
        if self._options.echo:
            echo = new_echo()
            for kind in ("text", "tool_use", "result"):
                self._registry.add(kind, echo)
        if self._options.hooks:
            from ..hooks import hooks_of

            for hook in hooks_of(self._options.hooks):
                self._registry.add_hook(hook)
        if self._options.tools:
            from ..tools import make_tools

            for tool in make_tools(self._options.tools):
                self._registry.add_tool(tool)

    # Life.

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Neither copied nor pickled: a copy would share the process and the threads."""
        raise TypeError(
            "a Client can be neither copied nor pickled. Pass its options, and make another "
            "Client with them."
        )

    def __enter__(self) -> Self:
        with self._session.naming:
            self._session.check()
            self._session.starter.open()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def start(self, timeout: Optional[float] = None) -> None:
        """Start the CLI and wait until it is ready. Otherwise the first question does that."""
        with self._session.naming:
            self._session.check()
            self._session.starter.ensure_ready("start", check_timeout("timeout", timeout))

    def close(self, timeout: float = 10.0, wait: bool = True) -> None:
        """
        End the conversation, within *timeout* seconds. Twice is harmless.

        A running turn is interrupted, the CLI gets time to save its transcript, and waiting calls
        raise ClientClosed. With ``wait=False``, and in handlers, this returns at once and
        continues in the background.
        """
        timeout = check_seconds("timeout", timeout, zero=True)
        self._finalizer.detach()
        self._session.closer.close(min(timeout, LONGEST_CLOSE), wait)

    def _post_through(self, frames: Optional[Frames]) -> None:
        """Have the handlers run in a window's frames from now on; for ``claude_sync.gui``."""
        self._session.dispatch.post_through(frames)

    # Asking.

    @overload
    def ask(
        self, prompt: Prompt, *, returns: Type[T], **asking: Unpack[EchoKeywords]
    ) -> Answer[T]: ...

    @overload
    def ask(
        self, prompt: Prompt, *, returns: None = None, **asking: Unpack[EchoKeywords]
    ) -> Answer[D]: ...

    @overload
    def ask(
        self, prompt: Prompt, *, returns: Any, **asking: Unpack[EchoKeywords]
    ) -> Answer[Any]: ...

    @suggests_arguments
    def ask(
        self,
        prompt: Prompt,
        *,
        attach: Any = (),
        data: Any = (),
        timeout: Optional[float] = None,
        idle_timeout: Optional[float] = None,
        returns: Any = None,
        raise_on_error: bool = True,
        verbatim: Optional[bool] = None,
        echo: bool = False,
    ) -> Answer[Any]:
        """
        Ask, and wait for this question's own answer.

        When it returns, every handler of the turn has run. Questions of several
        threads are asked one after the other.

        Args:
            prompt: A text, or a list of content blocks.
            attach: Images, PDFs and texts: paths, bytes, open files, Pillow images, figures.
            data: A text, or a list of texts, that stands before the prompt. No CLI interprets
                anything in it.
            timeout: Seconds from now; then AskTimeout, and the turn is interrupted.
            idle_timeout: As *timeout*, for how long the CLI may say nothing at all.
            returns: The form of ``answer.data``: a dataclass, TypedDict or Pydantic model,
                a list of one, or a JSON Schema. If it is not the client's own, the CLI is
                started again for it, and again for the next question of another form.
            raise_on_error: False returns the answer of a failed turn, with ``is_error``.
            verbatim: True sends the prompt as it is: no ``@path`` in it is read, and no ``/``
                at its beginning makes a command. None takes ``Options.verbatim``.
            echo: True prints the text to stdout as it arrives, and a line for each tool call
                to stderr.

        """
        with self._session.naming:
            self._session.delivery.refuse_in_handler("ask")
        message = self._message(prompt, attach, data, verbatim)
        echoes = flag("echo", echo) and not self._options.echo
        turn = self._turn(message, prompt, echoes, timeout, idle_timeout, raise_on_error, returns)
        printer = new_echo() if echoes else None
        try:
            # Inside the try from the first moment: Ctrl-C may come while it is being sent.
            with self._session.naming:
                return self._session.delivery.ask(turn, printer)
        except BaseException:
            # An answer that failed is over; anything else is Ctrl-C, an alarm, SystemExit.
            stop_own_turn(turn)
            if printer is not None:
                with contextlib.suppress(Exception):  # it may be stdout that failed
                    printer.end()
            raise

    @overload
    def submit(
        self, prompt: Prompt, *, returns: Type[T], **asking: Unpack[QuestionKeywords]
    ) -> Turn[T]: ...

    @overload
    def submit(
        self, prompt: Prompt, *, returns: None = None, **asking: Unpack[QuestionKeywords]
    ) -> Turn[D]: ...

    @overload
    def submit(
        self, prompt: Prompt, *, returns: Any, **asking: Unpack[QuestionKeywords]
    ) -> Turn[Any]: ...

    @suggests_arguments
    def submit(
        self,
        prompt: Prompt,
        *,
        attach: Any = (),
        data: Any = (),
        timeout: Optional[float] = None,
        idle_timeout: Optional[float] = None,
        returns: Any = None,
        raise_on_error: bool = True,
        verbatim: Optional[bool] = None,
    ) -> Turn[Any]:
        """Ask without waiting; as :meth:`ask` otherwise. ``turn.result()`` is the answer."""
        message = self._message(prompt, attach, data, verbatim)
        turn = self._turn(message, prompt, False, timeout, idle_timeout, raise_on_error, returns)
        with self._session.naming:
            self._session.submit(turn)
        return turn

    @overload
    def stream(
        self, prompt: Prompt, *, returns: Type[T], **asking: Unpack[QuestionKeywords]
    ) -> Turn[T]: ...

    @overload
    def stream(
        self, prompt: Prompt, *, returns: None = None, **asking: Unpack[QuestionKeywords]
    ) -> Turn[D]: ...

    @overload
    def stream(
        self, prompt: Prompt, *, returns: Any, **asking: Unpack[QuestionKeywords]
    ) -> Turn[Any]: ...

    @suggests_arguments
    def stream(
        self,
        prompt: Prompt,
        *,
        attach: Any = (),
        data: Any = (),
        timeout: Optional[float] = None,
        idle_timeout: Optional[float] = None,
        returns: Any = None,
        raise_on_error: bool = True,
        verbatim: Optional[bool] = None,
    ) -> Turn[Any]:
        """
        Ask, and iterate over the text as it arrives::

            with client.stream("Tell me a story") as turn:
                for text in turn:
                    print(text, end="")

        Leaving the block early interrupts the turn.
        """
        message = self._message(prompt, attach, data, verbatim)
        turn = self._turn(message, prompt, True, timeout, idle_timeout, raise_on_error, returns)
        with self._session.naming:
            self._session.submit(turn)
        return turn

    def steer(self, text: Prompt, *, verbatim: Optional[bool] = None) -> None:
        """Add a user message to the turn that is running now; *verbatim* as for :meth:`ask`."""
        with self._session.naming:
            self._session.steer(self._message(text, verbatim=verbatim))

    def add_context(self, text: Prompt, *, verbatim: Optional[bool] = None) -> None:
        """Put text into the conversation without asking; *verbatim* as for :meth:`ask`."""
        with self._session.naming:
            message = {**self._message(text, verbatim=verbatim), "shouldQuery": False}
            self._session.add_context(Turn(self._session, text, message, raise_on_error=False))

    def wait_idle(self, timeout: Optional[float] = None) -> None:
        """
        Wait until no turn runs and no background agent of the session is alive.

        Background shells are not awaited: they may never end. AskTimeout after
        *timeout* seconds.
        """
        with self._session.naming:
            self._session.delivery.wait_idle(check_timeout("timeout", timeout, zero=True))

    def interrupt(self, timeout: float = 5.0, cancel_queued: bool = True) -> InterruptReceipt:
        """
        Stop whatever runs now; harmless when nothing does. Works in handlers.

        This also withdraws messages that the CLI has received but not begun: a question that was
        sent a moment ago, and messages of ``steer()``. With ``cancel_queued=False``, and with old
        CLIs, they are answered next. Questions that still wait in this client stay in line.
        """
        timeout = check_seconds("timeout", timeout)
        with self._session.naming:
            return self._session.stopper.interrupt(timeout, cancel_queued)

    def control(
        self, subtype: str, timeout: Optional[float] = None, **fields: Any
    ) -> Dict[str, Any]:
        """
        Send any control request the CLI knows, and return its reply. Works in handlers.

        Waits for *timeout* seconds, by default ``control_timeout``. ControlError if the CLI
        refuses; ControlTimeout if it says nothing, as old ones do to what they do not know.
        """
        if timeout is not None:
            timeout = check_seconds("timeout", timeout)
        with self._session.naming:
            return self._session.request("control", subtype, fields, timeout)

    def process_events(self, timeout: float = 0) -> int:
        """
        Run the handlers of what has arrived, on this thread, for ``post="manual"`` and
        ``"caller"``; wait up to *timeout* seconds for something. How many things there were.
        """
        if not self._session.delivery.by_waiters:
            raise UsageError(
                "process_events() is for clients made with post='manual' or post='caller'. "
                "This one runs its handlers elsewhere."
            )
        if self._session.dispatch.is_dispatching():
            return 0
        timeout = check_seconds("timeout", timeout, zero=True)
        return self._session.delivery.process(timeout)

    # What is known.

    @property
    def name(self) -> str:
        """The client's name, which its threads carry."""
        return self._session.name

    @property
    def state(self) -> str:
        """``new``, ``open``, ``starting``, ``idle``, ``busy``, ``crashed``, ``closing``
        or ``closed``."""
        return self._session.state

    @property
    def session_id(self) -> Optional[str]:
        """The conversation's id; None before the first answer, unless it was given."""
        return self._session.session_id

    @property
    def pid(self) -> Optional[int]:
        """The process id of the CLI."""
        connection = self._session.connection
        return connection.transport.pid if connection is not None else None

    @property
    def info(self) -> Info:
        """What the CLI has said about itself so far."""
        connection = self._session.connection
        if connection is None:
            return Info()
        return Info.of(connection.greeting, connection.cli_version, connection.capabilities)

    @property
    def cost_usd(self) -> float:
        """The cost of this client so far, as the CLI reports it."""
        return self._session.cost_usd

    @property
    def usage(self) -> Usage:
        """The tokens this client has used, as the CLI reports them."""
        return self._session.usage

    @property
    def model_usage(self) -> Dict[str, ModelUsage]:
        """What this client has used each model for, as far as the CLI reports it."""
        return self._session.meter.model_usage

    @property
    def agent_usage(self) -> Tuple[AgentUsage, ...]:
        """Every subagent so far, and what the CLI tells of it now."""
        return self._session.tally.agent_usage

    @property
    def context_tokens(self) -> Optional[int]:
        """
        The number of tokens that the model read for the last request of the conversation.

        None if unknown: before the first answer, and after ``/clear`` and compacting.
        """
        return self._session.tally.context_tokens

    def stats(self) -> Statistics:
        """What this client has done so far: messages, bytes, what waits, restarts."""
        from .statistics import statistics_of

        return statistics_of(self._session)

    def _all_marks(self) -> list[Any]:
        return list(self._session.marks)

    def __repr__(self) -> str:
        return f"<Client {self.name} {self.state} session={self.session_id}>"

    def _message(
        self, prompt: Any, attach: Any = (), data: Any = (), verbatim: Optional[bool] = None
    ) -> Dict[str, Any]:
        if verbatim is None:
            verbatim = self._options.verbatim
        elif not isinstance(verbatim, bool):
            raise refuse("verbatim", verbatim, "True, False or None")
        return user_message(prompt, attach, data, verbatim)

    def _turn(
        self,
        message: Dict[str, Any],
        prompt: Any,
        buffered: bool,
        timeout: Optional[float],
        idle_timeout: Optional[float],
        raise_on_error: bool,
        returns: Any,
    ) -> Turn:
        turn: Turn[Any] = Turn(
            self._session,
            prompt,
            message,
            timeout=check_timeout("timeout", timeout),
            idle_timeout=check_timeout("idle_timeout", idle_timeout),
            raise_on_error=raise_on_error,
            buffered=buffered,
        )
        form = self._form
        if returns is not None:
            form = form_of(returns)
        elif form is not None and is_command(message):
            form = None  # a command has an output, and no such answer
        if form is not None:
            turn.asked.form, turn.asked.schema = form, form.schema
        return turn


@overload
def ask(prompt: Prompt, *, returns: Type[T], **options: Unpack[AskKeywords]) -> Answer[T]: ...


@overload
def ask(
    prompt: Prompt, *, returns: None = None, **options: Unpack[AskKeywords]
) -> Answer[None]: ...


@overload
def ask(prompt: Prompt, *, returns: Any, **options: Unpack[AskKeywords]) -> Answer[Any]: ...


def ask(prompt: Prompt, **options: Any) -> Answer[Any]:
    """
    Ask one question: open a client, ask, close it::

        print(claude_sync.ask("What is 2+2?"))

    Takes the settings of :class:`Client` and of :meth:`Client.ask`.
    """
    check_keywords("ask()", options, ASK_OPTIONS, names_of(Options))
    settings: Dict[str, Any] = {**options}
    asking = {name: settings.pop(name) for name in ASK_OPTIONS if name in settings}
    # Before anything is started for it.
    prompt, asking["attach"] = read_once(prompt, asking.get("attach", ()), asking.pop("data", ()))
    try:
        with Client(**settings) as client:
            return client.ask(prompt, **asking)
    except AskTimeout as error:
        error._goes_on = False
        raise


ask.__signature__ = signature_with(ask, Client.ask, HANDLERS)  # type: ignore[attr-defined]


def stop_own_turn(turn: Turn[Any]) -> None:
    """After Ctrl-C: withdraw or interrupt the turn and see its end; a second one goes through."""
    if not turn.cancel() and turn.is_open():
        # However it ended: what interrupted the wait is what the caller gets.
        with contextlib.suppress(Exception):
            turn.exception(INTERRUPT_PATIENCE + 1)


def form_of(returns: Any) -> Form:
    """The form of answers; only programs that want typed ones load what makes it."""
    from ..schema import form_of as make_form

    return make_form(returns)


def new_echo() -> Echo:
    """What prints a turn; only programs that echo load it."""
    from .echo import Echo

    return Echo()


def handlers_among(overrides: Any) -> Dict[str, Any]:
    """Take the handlers, ``on_text=...``, out of *overrides*."""
    for name in overrides:
        if name == "on_hook":
            raise UsageError(HOOK_NEEDS_EVENT)
        is_new = name.startswith("on_") and name not in HANDLERS
        meant = near_miss(name, HANDLERS) if is_new else None
        if meant is not None:
            raise UsageError(f"there is no event {name!r}: did you mean {meant}?")
    return {name: overrides.pop(name) for name in HANDLERS if name in overrides}


def close_forgotten(session: Session) -> None:
    """
    A client was dropped without close(): close it in the background, and warn.

    The garbage collector calls this, on any thread, at any moment, whatever locks that
    thread holds. So it takes none, and leaves the closing to the timer thread.
    """
    if session.closing or session.connection is None or session.is_inherited():
        return
    session.timers.run_soon(
        lambda: session.closer.close(10.0, wait=False, reason="the client was forgotten")
    )
    warnings.warn(
        f"the client {session.name} was not closed. Use 'with Client(...) as client:' or "
        "call client.close().",
        ResourceWarning,
        stacklevel=2,
    )
