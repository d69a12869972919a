"""
A whole chat in one line, as a panel in a cell or in JupyterLab's side view.

::

    clicks, prompts -> [Chat] -> presenter -> client
    client -> presenter -> rows -> widgets, drawn by a timer's thread of the panel's own

A kernel takes prompts and clicks between two cells. JupyterLab 4.4 and newer, with ipykernel 7,
also serves them while a cell runs; elsewhere the panel says so until the cell has ended. What
streams in is drawn at any time.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from ..client import Client
from ..engine.timers import Timer, Timers
from ..errors import UsageError
from ..render.html import step_html, style
from ..render.markdown import code_html, escape, markdown_to_html
from ..render.presenter import MODES, Attached, Connection, Presenter
from ..render.rows import Reach, Row
from .forms import FormWidgets, widgets_module
from .shells import current_shell

__all__ = ["Chat"]

# Seconds between two drawings at least, and how often it is told how long an answer takes.
REFRESH = 0.1
TICK = 1.0
# A cell that is over sooner is not worth a word.
LONG_CELL = 0.5
LONGEST_DETAIL = 6_000
EMPTY = "Ask Claude about anything in this folder."
BUSY = "A cell is running. Until it has ended, prompts and clicks may have to wait."
EDITING = "What you send replaces your last prompt and what came of it."


class Chat:
    """
    A chat with Claude; the value of a cell, or ``display(chat)``, shows it::

        from claude_sync.notebook import Chat

        chat = Chat(model="sonnet", cwd="project")
        chat

    Enter sends. Claude's requests appear in the conversation, unless the client has
    handlers for them already. In JupyterLab, "Create New View for Cell Output" puts it beside the
    notebook. It needs ipywidgets. When the cell runs again, the chat that it made before is closed.

    Args:
        client: A client that exists, made without ``post=``; it stays open when the chat is
            closed. Without one it is made of *options*, those of ``Client``, and closed.

    """

    def __init__(self, client: Client | None = None, **options: Any) -> None:
        self._widgets = widgets_module()
        if self._widgets is None:
            raise UsageError("Chat() needs ipywidgets. Install it: pip install ipywidgets")
        posts = (options.get("post") is not None) if client is None else client._options.post
        if posts:
            raise UsageError(
                "Chat() needs a client whose handlers run on its own threads. Leave out post=."
            )
        self._timers = Timers("claude-chat")
        self._is_due = False  # that it is drawn
        self._is_closed = False
        self._title = ""
        self._drawn: dict[int, tuple[Row, int, Any]] = {}
        self._reach = Reach()
        self._is_served = False  # clicks, while a cell runs
        self._cell: Timer | None = None  # one that runs
        self._build()
        self.presenter = Presenter(self, client, options)
        self.presenter.start()
        shell = current_shell()
        self._run = run_of(shell)
        self._watch_cells(shell)
        for chat in [*_open]:
            if chat._run[0] == self._run[0] is not None and chat._run != self._run:
                chat.close()  # the cell that made it runs again
        _open.append(self)

    # For programs.

    @property
    def client(self) -> Client:
        """The client; another one after a new conversation was begun."""
        return self.presenter.client

    def ask(self, text: str) -> None:
        """Ask, as if a person had typed it. This returns at once."""
        self._reach.follows = True
        with self.presenter.lock:
            self.presenter.ask(text)

    def stop(self) -> None:
        """Stop the answer that is being written; harmless when there is none."""
        with self.presenter.lock:
            self.presenter.stop()

    def clear(self) -> None:
        """Begin a new conversation."""
        with self.presenter.lock:
            self.presenter.clear()

    def on_answer(self, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Call *function* with every ``Answer``; also as a decorator."""
        return self.presenter.on_answer(function)

    def close(self) -> None:
        """Take the panel away; a client of its own is closed. Twice is harmless."""
        if self._is_closed:
            return
        self._is_closed = True
        if self in _open:
            _open.remove(self)
        self._leave_cells()
        self.presenter.end()
        thread = self._timers.stop()
        if thread not in (None, threading.current_thread()):
            thread.join(TICK)
        self.rows.children = (self._empty, *self.rows.children)
        close(self.panel)

    def _repr_mimebundle_(self, **wishes: Any) -> Any:
        return self.panel._repr_mimebundle_(**wishes)

    # The presenter's view.

    def connect(self, client: Client, closes: bool) -> Connection:  # noqa: ARG002
        """See :class:`~claude_sync.render.presenter.View`."""
        return Direct(self)

    def changed(self) -> None:
        """See :class:`~claude_sync.render.presenter.View`."""
        if not self._is_due:
            self._is_due = True
            self._timers.after(REFRESH, self._draw_soon)

    def ask_attention(self) -> None:
        """See :class:`~claude_sync.render.presenter.View`."""

    # While a cell runs.

    def _watch_cells(self, shell: Any) -> None:
        self._events = [
            ("pre_run_cell", self._cell_begins),
            ("post_run_cell", self._cell_ends),
        ]
        self._shell = shell
        for event in self._events if shell is not None else ():
            shell.events.register(*event)

    def _leave_cells(self) -> None:
        self._cell_ends()
        for event in self._events if self._shell is not None else ():
            with contextlib.suppress(ValueError):
                self._shell.events.unregister(*event)

    def _cell_begins(self, *_: object) -> None:
        if not self._is_served:
            self._cell = self._timers.after(LONG_CELL, self._tell_busy)

    def _tell_busy(self) -> None:
        with self.presenter.lock:
            if self._cell is not None:
                self.busy.value = note(BUSY)

    def _cell_ends(self, *_: object) -> None:
        with self.presenter.lock:
            cell, self._cell = self._cell, None
            if cell is not None:
                cell.cancel()
                self.busy.value = ""

    # Its parts.

    def _build(self) -> None:
        widgets = self._widgets
        html, layout = widgets.HTML, widgets.Layout
        self.title, self.busy, self.working, self.notice, self.gauge = (html() for _ in range(5))
        self.sessions = widgets.Dropdown(layout=layout(width="10em"))
        self.earlier = self._button("Show earlier", lambda: self._reach.earlier())
        self._empty = html(note(EMPTY))
        self.rows = widgets.VBox([self._empty])
        # Reversed, it stays scrolled to its end while that grows.
        scrolled = layout(flex_flow="column-reverse", overflow="auto", max_height="65vh")
        conversation = widgets.VBox([widgets.VBox([self.earlier, self.rows])], layout=scrolled)
        conversation.children[0].layout.flex = "0 0 auto"
        self.line = widgets.Text(placeholder="Ask Claude", layout=layout(flex="1"))
        self.lines = widgets.Textarea(rows=5, layout=layout(flex="1", display="none"))
        self.many = widgets.ToggleButton(
            description="¶", tooltip="Several lines", layout=layout(width="auto")
        )
        self.send = self._button("Send", self._send, "primary")
        self.halt = self._button("Stop", self.stop)
        self.retry = self._button("Retry", lambda: self.presenter.retry())
        self.edit = self._button("Edit last", self._edit)
        self.attach = widgets.FileUpload(
            description="Attach", multiple=True, layout=layout(width="auto")
        )
        self.chips = widgets.HBox(layout=layout(flex_flow="row wrap"))
        modes = [(name, mode) for mode, name in MODES.items()]
        self.mode = widgets.Dropdown(options=modes, layout=layout(width="11em"))
        self.model = widgets.Dropdown(layout=layout(width="11em"))
        self.line.on_msg(self._submitted)
        for widget, changed in (
            (self.many, self._toggle),
            (self.attach, self._take_files),
            (self.mode, lambda mode: self.presenter.set_mode(mode)),
            (self.model, lambda model: self.presenter.set_model(model)),
            (self.sessions, lambda session: self.presenter.resume(session)),
        ):
            self._observe(widget, changed)
        spread = layout(justify_content="space-between", align_items="center")
        new = self._button("New", self.clear)
        right = widgets.HBox([self.sessions, new])
        row = layout(flex_flow="row wrap", align_items="center")
        below = [self.attach, self.mode, self.model, self.edit, self.retry, self.gauge]
        self.panel = widgets.VBox(
            [
                html(f"<style>{style('chat.css')}</style>"),
                widgets.HBox([self.title, right], layout=spread),
                conversation,
                *(self.working, self.busy, self.notice, self.chips),
                widgets.HBox([self.line, self.lines, self.many, self.send, self.halt]),
                widgets.HBox(below, layout=row),
            ],
            layout=layout(max_width="62em"),
        )
        self.panel.add_class("claude-sync")

    def _button(self, label: str, action: Callable[[], Any], look: str = "") -> Any:
        layout = self._widgets.Layout(width="auto")
        button = self._widgets.Button(description=label, button_style=look, layout=layout)
        button.on_click(lambda _: self._act(action))
        return button

    def _observe(self, widget: Any, changed: Callable[[Any], Any]) -> None:
        """Call *changed* with what a person chooses."""

        def choose(change: Any) -> None:
            is_drawn = threading.current_thread() is self._timers.thread()
            if not is_drawn and change["new"] not in ("", ()):
                self._act(lambda: changed(change["new"]))

        widget.observe(choose, "value")

    def _act(self, action: Callable[[], Any]) -> None:
        """Do what a person wants."""
        if self._cell is not None:
            self._is_served = True
            self._cell_ends()
        with self.presenter.lock:
            action()
        self.changed()

    # What a person does.

    def _submitted(self, _: Any, content: Any, __: Any) -> None:
        if content.get("event") == "submit":
            self._act(self._send)

    def _send(self) -> None:
        field = self.lines if self.many.value else self.line
        text, field.value = field.value, ""
        self.ask(text)

    def _toggle(self, is_on: bool) -> None:
        self.lines.value, self.line.value = self.line.value, self.lines.value.replace("\n", " ")
        show(self.lines, is_on)
        show(self.line, not is_on)

    def _edit(self) -> None:
        text = self.presenter.edit()
        self.many.value = self.many.value or "\n" in text
        (self.lines if self.many.value else self.line).value = text

    def _take_files(self, files: Any) -> None:
        self.presenter.attach(
            [Attached(str(file["name"]), bytes(file["content"])) for file in files]
        )
        self.attach.value = ()

    # Drawing.

    def _draw_soon(self) -> None:
        self._is_due = False
        with self.presenter.lock:
            if not self._is_closed:
                self._draw()
                if self.presenter.is_working:
                    self._timers.after(TICK, self.changed)

    def _draw(self) -> None:
        presenter = self.presenter
        rows = presenter.rows()
        drawn = {}
        for row in self._reach.of(rows):
            known = self._drawn.get(id(row))
            widget = known[2] if known is not None and known[0] is row else self._new(row)
            if known is None or known[1] != row.version:
                self._fill(row, widget)
            drawn[id(row)] = (row, row.version, widget)
        gone = [widget for key, (_, _, widget) in self._drawn.items() if key not in drawn]
        self._drawn = drawn
        children = tuple(widget for _, _, widget in drawn.values())
        if (children or (self._empty,)) != self.rows.children:
            self.rows.children = children or (self._empty,)
        for widget in gone:
            close(widget)
        show(self.earlier, self._reach.first > 0)
        self._draw_around(presenter, rows)

    def _new(self, row: Row) -> Any:
        if row.form is not None:
            return FormWidgets(self._widgets, row.form, lambda: self.presenter.answered(row)).box
        # Mathematics is typeset in what Claude writes, and nowhere else.
        return self._widgets.HTMLMath() if row.kind == "prose" else self._widgets.HTML()

    def _fill(self, row: Row, widget: Any) -> None:
        """Write what a row says into its widget."""
        if row.kind == "prose":
            widget.value = f'<div class="said">{markdown_to_html(row.text, maths=True)}</div>'
        elif row.kind == "code":
            widget.value = code_html(row.text, row.language)
        elif row.kind != "asking":
            facts = self.presenter.facts(row.step) if row.kind == "end" else ""
            said = step_html(row.step, False, self.presenter.folder, LONGEST_DETAIL)
            widget.value = said + note(facts or ("waits" if row.kind == "waiting" else ""))

    def _draw_around(self, presenter: Presenter, rows: list[Row]) -> None:
        self.title.value = f"<b>{escape(presenter.title)}</b>"
        is_working = presenter.is_working
        words = presenter.working()
        self.working.value = note(f"● {words}" if words else "")
        self.notice.value = note(presenter.notice or (EDITING if presenter.is_editing else ""))
        full = presenter.context()
        context = "" if full is None else f"{full:.0%} of context"
        self.gauge.value = note("   ".join(filter(None, (context, presenter.cost()))))
        show(self.halt, is_working)
        show(self.retry, bool(rows) and rows[-1].kind == "error" and not is_working)
        show(self.edit, bool(presenter.history) and not is_working)
        modes = dict(MODES) if presenter.mode in MODES else {**MODES, presenter.mode: ""}
        choose(self.mode, [(name or mode, mode) for mode, name in modes.items()], presenter.mode)
        models = dict(presenter.models)
        models.setdefault(presenter.model, presenter.model or "Model")
        choose(self.model, [(name, model) for model, name in models.items()], presenter.model)
        names = [f"{each.name} ✕" for each in presenter.attached]
        if [chip.description for chip in self.chips.children] != names:
            self.chips.children = [
                self._button(name, partial(presenter.remove_attached, number))
                for number, name in enumerate(names)
            ]
        if presenter.is_own and self._title != presenter.title:
            self._title = presenter.title
            found = [(each.title, each.session_id) for each in presenter.sessions()]
            choose(self.sessions, [("Conversations", ""), *found], "")


# Those that were not closed.
_open: list[Chat] = []


def run_of(shell: Any) -> tuple[Any, Any]:
    """The cell that runs, and which of its runs this is; None as far as the page does not tell."""
    parent = shell.get_parent() if hasattr(shell, "get_parent") else {}
    header, metadata = parent.get("header") or {}, parent.get("metadata") or {}
    return metadata.get("cellId"), header.get("msg_id")


class Direct:
    """A client whose handlers run on its own threads: the presenter's lock keeps them apart."""

    def __init__(self, chat: Chat) -> None:
        self._chat = chat

    def detach(self) -> None:
        """See :class:`~claude_sync.render.presenter.Connection`."""

    def post(self, call: Callable[[], None]) -> None:
        """See :class:`~claude_sync.render.presenter.Connection`."""
        with self._chat.presenter.lock:
            call()


def note(text: str) -> str:
    """A line of ours; mathematics would be made of two amounts of money in it."""
    return f'<div class="end mathjax_ignore">{escape(text)}</div>' if text else ""


def show(widget: Any, is_shown: bool) -> None:
    """Show a widget, or hide it."""
    widget.layout.display = None if is_shown else "none"


def close(widget: Any) -> None:
    """Forget a widget and all that is in it."""
    for child in getattr(widget, "children", ()):
        close(child)
    for part in (widget.layout, getattr(widget, "style", None), widget):
        if part is not None:
            part.close()


def choose(widget: Any, options: list[tuple[str, str]], value: str) -> None:
    """What can be chosen, and what is."""
    if list(widget.options) != options:
        widget.options = options
    if widget.value != value:
        widget.value = value
