"""
A chat without its widgets: what it shows, and what its buttons and keys do.

::

    client -> handlers -> Chat -> [presenter] -> rows -> a view, which draws
    keys, buttons of a view -> [presenter] -> client

A view is made of one toolkit's widgets and has the methods of :class:`View`. Everything here
runs on the toolkit's thread, but for what would wait for the CLI. Decided here:

* What is asked while an answer is being written waits, and can be seen waiting.
* Requests of Claude are shown one at a time, in their order.
* A failure is shown once, in words for people, with a way to try again.
* To edit the last prompt forgets what came of it: the conversation goes on from before it. A
  client that the program has made itself is not replaced; there the prompt is asked anew.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from typing import Any, Callable, List, NamedTuple, Optional, Protocol, Sequence, Tuple

from ..client import Client
from ..errors import ClaudeError, CliNotFound, TurnInterrupted, UsageError
from ..messages.base import Assistant, Result, User
from ..messages.system import ApiRetry, Init, Status
from ..messages.usage import SYNTHETIC
from ..permissions.forms import form_of
from ..permissions.request import LATER
from ..prompts.attachments import attached_blocks
from .chats import Chat, Picture, Step, said_by_user, title_of
from .documents import format_of, write_whole, written
from .rows import Row, Rows
from .timeline import shown as duration

__all__ = ["MODES", "Attached", "Presenter", "View"]

# The permission modes that a person can choose, in words. Others have their own name.
MODES = {
    "default": "Ask before edits",
    "acceptEdits": "Edit without asking",
    "plan": "Plan only",
}
# What a context window holds where the CLI has not said.
CONTEXT_WINDOW = 200_000
MOST_SESSIONS = 30
# So many steps are kept; older ones are in the file that the CLI saves.
MOST_STEPS = 10_000
# Options that say where a conversation begins, and not what it is like.
BEGINNINGS = (
    *("resume", "continue_conversation", "fork_session", "session_id", "resume_at"),
    "resume_drops_turn",
)
EMPTY = "Ask Claude about anything in this folder. Attach files with +, or drop them here."


class View(Protocol):
    """What a presenter needs of the widgets."""

    def connect(self, client: Client, closes: bool) -> Connection:
        """Run the handlers of *client* on this thread; *closes*: until the end of the widget."""

    def changed(self) -> None:
        """There is something else to draw: do that soon."""

    def ask_attention(self) -> None:
        """A person has to answer something."""


class Connection(Protocol):
    """A client that is attached to a toolkit."""

    def detach(self) -> None:
        """Let go of it."""

    def post(self, call: Callable[[], None]) -> None:
        """From any thread: have *call* made on that of the toolkit."""


class Attached(NamedTuple):
    """What goes with the next prompt: its name, and what it is."""

    name: str
    source: Any


class Prompt(NamedTuple):
    """What a person asks."""

    text: str
    attached: Tuple[Attached, ...] = ()


class Presenter:
    """
    What a chat shows and does.

    Attributes:
        client: The client; another one after a new conversation was begun.
        chat: What was said and done.
        attached: What goes with the next prompt.
        notice: A line to show below the conversation, about what went wrong; often empty.
        lock: Taken by what comes from the client, for views that have no thread of their own.
        model, mode: What is chosen; empty while it is not known.
        models: What can be chosen, each with its name.

    """

    def __init__(self, view: View, client: Optional[Client], options: dict[str, Any]) -> None:
        if client is not None and options:
            raise UsageError(
                f"a client that exists has its options already: {', '.join(options)} came too "
                "late. Pass client=..., or options, not both."
            )
        self._view = weakref.ref(view)
        self.lock = threading.RLock()
        self._options = options
        self.is_own = client is None
        self._listeners: List[Callable[[Any], object]] = []
        self.model = str(options.get("model") or "")
        self.mode = str(options.get("permission_mode") or "default")
        self.models: List[Tuple[str, str]] = []
        self.attached: List[Attached] = []
        self.notice = ""
        self.history: List[str] = []
        self._editing = False
        self._ended = False
        self._begin(Client(**options) if client is None else client, Chat())
        if options.get("resume"):
            self._read(str(options["resume"]))

    # The conversation.

    def _begin(self, client: Client, chat: Chat) -> None:
        """Go on with another client and another conversation."""
        self.client, self.chat = client, chat
        self._rows = Rows(chat)
        self._turns: List[Any] = []
        self._waiting: List[Prompt] = []
        self._asking: List[Row] = []
        self._echoes: List[str] = []
        self._last: Optional[Prompt] = None
        self._since = 0.0
        self._retry: Optional[ApiRetry] = None
        # The last message of the conversation, and the last one before the last prompt.
        self._newest: Optional[str] = None
        self._before: Optional[str] = None
        view = self._view()
        assert view is not None
        self._connection = view.connect(client, self.is_own)
        self._handlers: List[Callable[[Any], Any]] = []
        for register, handler in (
            (client.on_text, self._add),
            (client.on_thinking, self._add),
            (client.on_message, self._add),
            (client.on_permission, self._ask),
            (client.on_question, self._ask),
        ):
            self._handlers.append(register(handler))
        self._changed()

    def _leave(self) -> None:
        """Let go of the client."""
        for handler in self._handlers:
            self.client.off(handler)
        for row in self._asking:
            row.form.deny() if hasattr(row.form, "deny") else row.form.decline()
        self._asking.clear()
        self._connection.detach()
        if self.is_own:
            self.client.close(wait=False)

    def end(self) -> None:
        """The widget is gone."""
        if not self._ended:
            self._ended = True
            self._leave()

    def _replace(self, chat: Chat, **beginning: Any) -> None:
        """Have another client, whose conversation begins there."""
        options = {name: each for name, each in self._options.items() if name not in BEGINNINGS}
        self._leave()
        self._begin(Client(**options, **beginning), chat)
        self.start()

    def start(self) -> None:
        """Start the CLI, and learn what can be chosen; called when the window is there."""
        client = self.client

        def learn() -> List[Tuple[str, str]]:
            found = client.supported_models()
            return [(model.value, model.display_name or model.value) for model in found]

        def take(models: List[Tuple[str, str]]) -> None:
            if client is self.client:
                self.models = models

        self._in_background(learn, take)

    def _in_background(self, work: Callable[[], Any], then: Callable[[Any], None]) -> None:
        """Do what may wait for the CLI, and then something with what it gave, here."""
        connection = self._connection

        def run() -> None:
            try:
                given = work()
            except (ClaudeError, OSError) as error:
                failure = error
                connection.post(lambda: self._tell(failure))
                return

            def finish() -> None:
                then(given)
                self._changed()

            connection.post(finish)

        self.client._session.tasks.run(run)

    def _tell(self, error: BaseException) -> None:
        """Something beside the conversation went wrong."""
        if not self._ended:
            self.notice = words_of(error)
            self._changed()

    def _changed(self) -> None:
        view = self._view()
        if view is not None and not self._ended:
            view.changed()

    # What comes from the client.

    def _add(self, message: Any) -> None:
        with self.lock:
            self._take(message)

    def _take(self, message: Any) -> None:
        if isinstance(message, ApiRetry):
            self._retry = message
        elif not isinstance(message, Status):
            self._retry = None
        if isinstance(message, (Init, Status)) and message.permission_mode:
            self.mode = message.permission_mode
        if isinstance(message, Init):
            self.model = self.model or message.model
        if self._is_news(message):
            self.chat.add(message, time.time())
        if isinstance(message, (Assistant, User)) and message.parent_tool_use_id is None:
            self._newest = message.raw.get("uuid") or self._newest
        self._changed()

    def _is_news(self, message: Any) -> bool:
        """Whether it is not shown already, or about to be: prompts, and what goes wrong."""
        if isinstance(message, User) and message.is_replay:
            said, kind = said_by_user(message)
            known = next((each for each in self._echoes if kind == "user" and each in said), None)
            if known is not None:
                self._echoes.remove(known)
            return known is None
        if isinstance(message, Assistant) and message.model == SYNTHETIC:
            return message.error is None or not self._turns
        failed = isinstance(message, Result) and message.is_error
        return not (failed and self._turns)

    def _ask(self, request: Any) -> Any:
        form = form_of(request)
        with self.lock:
            self.chat.asked(form.request)
            self._asking.append(Row("asking", Step("tool"), form=form))
        form.on_withdrawn(self._changed)
        self._changed()
        view = self._view()
        if view is not None:
            view.ask_attention()
        return LATER

    # What the person does.

    def on_answer(self, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Call *function* with every answer."""
        self._listeners.append(function)
        return function

    def ask(self, text: str) -> None:
        """Ask, or wait until the answer before is complete."""
        prompt = Prompt(text.strip(), tuple(self.attached))
        if not prompt.text:
            return
        self.attached.clear()
        self.history.append(prompt.text)
        if self._editing:
            self._rewind()
        if self._turns:
            self._waiting.append(prompt)
            self._changed()
        else:
            self._send(prompt)

    def _send(self, prompt: Prompt, again: bool = False) -> None:
        self._last, self.notice = prompt, ""
        if not again:
            self._rows.settle()
            self._before = self._newest
            self.chat.title = self.chat.title or title_of(prompt.text)
            shown = [prompt.text, *(f"📎 {each.name}" for each in prompt.attached)]
            pictures = tuple(filter(None, (picture_of(each.source) for each in prompt.attached)))
            self.chat.steps.append(Step("user", "\n".join(shown), time.time(), pictures))
        try:
            attach = [each.source for each in prompt.attached]
            turn = self.client.submit(prompt.text, attach=attach)
        except (ClaudeError, OSError) as error:
            self.chat.steps.append(Step("error", words_of(error)))
        else:
            self._echoes.append(prompt.text)
            self._turns.append(turn)
            self._since = time.monotonic()
            turn.add_done_callback(self._done)
        self._changed()

    def _done(self, turn: Any) -> None:
        with self.lock:
            answer = self._finish(turn)
        for function in self._listeners if answer is not None else ():
            function(answer)

    def _finish(self, turn: Any) -> Any:
        """An answer is complete, or something went wrong; the answer."""
        answer = None
        if turn not in self._turns:
            return None  # of a conversation that was left
        self._turns.remove(turn)
        self._echoes.clear()
        self._retry = None
        error = None if turn.cancelled() else turn.exception()
        if turn.cancelled() or isinstance(error, TurnInterrupted):
            self.chat.steps.append(Step("note", "Stopped."))
        elif error is not None:
            self.chat.steps.append(Step("error", words_of(error)))
        else:
            answer = turn.result()
            for step in reversed(self.chat.steps):
                if step.kind == "end":
                    step.cost_usd = answer.cost_usd
                    break
        self.chat.cost_usd, self.chat.usage = self.client.cost_usd, self.client.usage
        for step in self.chat.steps if error is not None else ():
            if step.state == "unfinished":
                step.state = "failed"
        if self._waiting and not self._ended:
            self._send(self._waiting.pop(0))
        self._trim()
        self._changed()
        return answer

    def _trim(self) -> None:
        """Keep no more than a window can use."""
        if len(self.chat.steps) > MOST_STEPS:
            del self.chat.steps[: MOST_STEPS // 4]
            self._rows = Rows(self.chat)

    def stop(self) -> None:
        """Stop the answer that is being written, and ask nothing that waits."""
        self._waiting.clear()
        for turn in self._turns:
            turn.cancel()
        self._changed()

    def retry(self) -> None:
        """Ask the last prompt once more."""
        if self._last is not None and not self._turns:
            while self.chat.steps and self.chat.steps[-1].kind == "error":
                self.chat.steps.pop()
            self._send(self._last, again=True)

    def edit(self) -> str:
        """Begin to edit the last prompt; its text. What came of it goes when it is sent."""
        self._editing = bool(self.history)
        self._changed()
        return self.history[-1] if self.history else ""

    def leave_edit(self) -> None:
        """Edit it no more: what is sent is a new prompt."""
        self._editing = False
        self._changed()

    @property
    def is_editing(self) -> bool:
        """Whether what is sent replaces the last prompt."""
        return self._editing

    def _rewind(self) -> None:
        """Forget the last prompt and what came of it, if the client is ours."""
        self._editing = False
        places = [n for n, step in enumerate(self.chat.steps) if step.kind == "user"]
        if not self.is_own or not places:
            return
        chat, session, before = self.chat, self.client.session_id, self._before
        del chat.steps[places[-1] :]
        if session is not None and before is not None:
            self._replace(chat, resume=session, resume_at=before, fork_session=True)
            self._newest = before
        else:
            self._replace(chat)

    def attach(self, sources: Sequence[Any]) -> None:
        """Take files, by their paths, images, or what has a name, along with the next prompt."""
        for source in sources:
            is_path = isinstance(source, (str, os.PathLike))
            name = os.path.basename(os.fspath(source)) if is_path else "image"
            taken = source if isinstance(source, Attached) else Attached(str(name), source)
            try:
                attached_blocks([taken.source])
            except (ClaudeError, OSError) as error:
                self._tell(error)
            else:
                self.attached.append(taken)
        self._changed()

    def remove_attached(self, number: int) -> None:
        """Leave one of them out."""
        del self.attached[number]
        self._changed()

    def answered(self, row: Row) -> None:
        """A person has answered a request, by its form."""
        decision = row.form.decision
        if decision is not None:
            words = "allowed" if decision.behavior == "allow" else "denied"
            self.chat.decided(row.form.request.tool_use_id or "", words)
        self._changed()

    # Other conversations.

    def clear(self) -> None:
        """Begin a new conversation."""
        self.notice = ""
        if self.is_own:
            self._replace(Chat())
            return
        self.stop()
        self.chat.steps.clear()
        self.chat.title = ""
        self._rows = Rows(self.chat)
        self.client.submit("/clear", verbatim=False)
        self._changed()

    def sessions(self) -> List[Any]:
        """The conversations that were held in this folder, the newest first."""
        from ..sessions import list_sessions

        folder = self._options.get("cwd") or os.getcwd()
        return list_sessions(folder, limit=MOST_SESSIONS, config_dir=self._config())

    def resume(self, session: str) -> None:
        """Go on with a conversation."""
        self._replace(Chat(), resume=session)
        self._read(session)

    def _read(self, session: str) -> None:
        """Show what was said in it so far."""
        from .sources import chat_of

        client = self.client

        def show(found: Chat) -> None:
            if client is self.client:
                found.steps += self.chat.steps
                self.chat = found
                self._rows = Rows(found)
                self.history += [
                    step.text for step in found.steps if step.kind == "user" and step.text
                ]

        self._in_background(lambda: chat_of(session, None, self._config()), show)

    def _config(self) -> Optional[str]:
        from .sources import config_of

        return config_of({**os.environ, **(self._options.get("env") or {})})

    # Settings.

    def set_model(self, model: str) -> None:
        """Have another model answer."""
        self.model = model
        client = self.client
        self._in_background(lambda: client.set_model(model), lambda _: None)
        self._changed()

    def set_mode(self, mode: str) -> None:
        """Have another permission mode."""
        self.mode = mode
        client = self.client
        chosen: Any = mode
        self._in_background(lambda: client.set_permission_mode(chosen), lambda _: None)
        self._changed()

    # What is shown.

    def rows(self) -> List[Row]:
        """What there is to draw, from the top."""
        self._asking = [row for row in self._asking if row.form.is_open]
        waiting = [Row("waiting", Step("user", each.text), each.text) for each in self._waiting]
        return self._rows.update(self._asking[:1], waiting)

    @property
    def is_working(self) -> bool:
        """Whether an answer is being written."""
        return bool(self._turns)

    def working(self) -> str:
        """What goes on, and for how long; empty while nothing does."""
        if not self._turns:
            return ""
        seconds = int(time.monotonic() - self._since)
        if self._asking:
            more = len(self._asking) - 1
            return "Waiting for your answer" + (f" ({more} more to come)" if more else "")
        what = "Thinking"
        last = self.chat.steps[-1] if self.chat.steps else None
        if self._retry is not None:
            what = f"The service is not responding, attempt {self._retry.attempt}"
        elif last is not None and last.kind == "tool" and last.state == "unfinished":
            what = " ".join(last.summary(self.folder)).strip()
        elif last is not None and last.kind == "claude":
            what = "Writing"
        return f"{what} · {seconds} s"

    @property
    def folder(self) -> str:
        """The folder of the conversation: files in it are named without it."""
        return self.chat.cwd or os.path.abspath(str(self._options.get("cwd") or os.getcwd()))

    @property
    def title(self) -> str:
        """What the conversation is about."""
        return self.chat.title or "New conversation"

    def cost(self) -> str:
        """What it has cost so far."""
        return f"${self.client.cost_usd:.4f}" if self.client.cost_usd else ""

    def context(self) -> Optional[float]:
        """How full the context window is, from 0 to 1; None while that is not known."""
        tokens = self.client.context_tokens
        if tokens is None:
            return None
        known = [each.context_window for each in self.client.model_usage.values()]
        return min(1.0, tokens / max([each for each in known if each], default=CONTEXT_WINDOW))

    def facts(self, step: Step) -> str:
        """How long an answer took, and what it cost."""
        facts: List[str] = []
        steps = self.chat.steps
        place = next((n for n in range(len(steps) - 1, -1, -1) if steps[n] is step), 0)
        prompt = next((each for each in reversed(steps[:place]) if each.kind == "user"), None)
        if prompt is not None and prompt.seconds and step.seconds:
            facts.append(duration(max(0.0, step.seconds - prompt.seconds)))
        if step.cost_usd:
            facts.append(f"${step.cost_usd:.4f}")
        return " · ".join(facts)

    def code_of(self, row: Row) -> str:
        """The whole block of code that a row is a part of."""
        rows = self._rows.rows
        first = last = next(n for n, each in enumerate(rows) if each is row)
        while first and rows[first - 1].goes_on and rows[first - 1].step is row.step:
            first -= 1
        while rows[last].goes_on and last + 1 < len(rows):
            last += 1
        return "\n".join(each.text for each in rows[first : last + 1])

    def markdown(self, step: Optional[Step] = None) -> str:
        """The conversation as Markdown; or the answer that ends with this step."""
        if step is None:
            return written(self.chat, "md")
        texts: List[str] = []
        for each in reversed(self.chat.steps[: self.chat.steps.index(step)]):
            if each.kind == "user":
                break
            if each.kind == "claude":
                texts.insert(0, each.text)
        return "\n\n".join(texts) or step.text

    def find(self, words: str) -> List[Row]:
        """The rows that hold these words, whatever their case."""
        wanted = words.casefold()
        return [row for row in self._rows.rows if wanted and wanted in text_of(row).casefold()]

    def export(self, path: str) -> None:
        """Write the conversation to a file: Markdown, HTML or JSON, by its ending."""
        from pathlib import Path

        try:
            text = written(self.chat, format_of(path, None))
            write_whole(Path(path), text.encode("utf-8", "replace"))
            self.notice = f"Saved as {path}"
        except (ClaudeError, OSError) as error:
            self._tell(error)
        self._changed()


def text_of(row: Row) -> str:
    """What is searched of a row."""
    if row.kind == "tool":
        return "\n".join((row.step.tool, row.step.input_text(), row.step.text))
    return row.text


def words_of(error: BaseException) -> str:
    """What went wrong, for the person: what it means, and what happened."""
    if isinstance(error, UsageError) or not isinstance(error, ClaudeError):
        return str(error) or type(error).__name__
    if isinstance(error, CliNotFound):  # all the places would fill the window
        places = error.searched if len(error.searched) == 1 else ()
        return "\n".join((error.user_message, error.advice, *places))
    detail = error.problem
    return error.user_message if detail in error.user_message else f"{error.user_message}\n{detail}"


def picture_of(source: Any) -> Optional[Picture]:
    """An attachment as a picture; None of other files."""
    block = attached_blocks([source])[0]
    if block.get("type") != "image":
        return None
    return Picture(block["source"].get("media_type", ""), block["source"].get("data", ""))
