"""
A whole chat in one line, as a frame of Tk.

::

    keys, buttons -> [ChatFrame] -> presenter -> client
    client -> presenter -> rows -> Conversation -> a text

What streams in is drawn at most once in a frame, and less often when drawing takes long.
"""

from __future__ import annotations

import tkinter
from functools import partial
from time import monotonic
from tkinter import filedialog, ttk
from typing import Any, Callable, Dict, List, Optional, Tuple

from ..client import Client
from ..render.presenter import MODES, Presenter
from .tk_clock import Attachment
from .tk_rows import Conversation, Fonts
from .tk_views import colours_of
from .tk_windows import check_widget, when_destroyed

__all__ = ["ChatFrame"]

# Milliseconds between two drawings at least; after one that took long, so many times that.
FRAME = 16
REST = 4
# Milliseconds between two looks at what goes on while an answer is written.
TICK = 100
SPINNER = "◐◓◑◒"
MOST_LINES = 9
ZOOMS = range(-5, 11)
FILES = [("HTML", "*.html"), ("Markdown", "*.md"), ("JSON", "*.json")]
# Tk's names of the keys that zoom, with Ctrl.
ZOOM_KEYS = {1: ("plus", "equal", "KP_Add"), -1: ("minus", "KP_Subtract"), 0: ("Key-0",)}


class ChatFrame(ttk.Frame):
    """
    A chat with Claude::

        chat = ChatFrame(root, model="sonnet", cwd="project")
        chat.pack(fill="both", expand=True)

    Enter sends, Shift+Enter begins a line, Esc stops, Up edits the last prompt, Ctrl+F
    searches, Ctrl and + or - zoom. Images can be pasted. Claude's requests appear inside of
    the conversation, unless the client has handlers for them already. It takes the theme and
    the fonts of the program, light or dark.

    Args:
        parent: The widget that it is in.
        client: A client that exists, made without ``post=``; it stays open when the frame is
            destroyed. Without one it is made of *options*, those of ``Client``, and closed.

    """

    def __init__(
        self, parent: tkinter.Misc, client: Optional[Client] = None, **options: Any
    ) -> None:
        check_widget(parent, "ChatFrame()")
        super().__init__(parent)
        self._tk: Any = self.tk
        self._timers: Dict[str, Any] = {}
        self._due = 0.0
        self._pixel = max(1, round(self.winfo_fpixels("1i") / 96))
        self._colours = colours_of(self)
        self._fonts = Fonts(self)
        self._style()
        self.conversation = Conversation(self, self._fonts, self._colours, self._pixel)
        self.composer = Composer(self, self._fonts, self._colours)
        self.search = SearchBar(self)
        self._build()
        when_destroyed(self, self._end)
        self.presenter = Presenter(self, client, options)
        self.conversation.presenter = self.presenter
        self._later("start", 0, self.presenter.start)
        self.changed()

    # For programs.

    @property
    def client(self) -> Client:
        """The client; another one after a new conversation was begun."""
        return self.presenter.client

    def ask(self, text: str) -> None:
        """Ask, as if a person had typed it."""
        self.presenter.ask(text)
        self.conversation.follow()

    def stop(self) -> None:
        """Stop the answer that is being written; harmless when there is none."""
        self.presenter.stop()

    def clear(self) -> None:
        """Begin a new conversation."""
        self.presenter.clear()

    def on_answer(self, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Call *function* with every ``Answer``; also as a decorator."""
        return self.presenter.on_answer(function)

    def focus_set(self) -> None:
        """Let the person type."""
        self.composer.entry.focus_set()

    focus = focus_set

    # The presenter's view.

    def connect(self, client: Client, closes: bool) -> Attachment:
        """See :class:`~claude_sync.render.presenter.View`."""
        return Attachment(client, self, closes)

    def changed(self) -> None:
        """See :class:`~claude_sync.render.presenter.View`."""
        self._later("draw", max(0, int((self._due - monotonic()) * 1000)), self._draw)

    def ask_attention(self) -> None:
        """See :class:`~claude_sync.render.presenter.View`."""

    # Timers, by name: Tk's own, and not commands, which the end of the program would report.

    def _later(self, name: str, milliseconds: int, function: Callable[[], object]) -> None:
        if name in self._timers:
            return

        def run() -> None:
            del self._timers[name]
            function()

        self._timers[name] = self._tk.createtimerhandler(milliseconds, run)

    def _end(self) -> None:
        for timer in self._timers.values():
            timer.deletetimerhandler()
        self._timers.clear()
        self.conversation.end()
        self.presenter.end()
        self._fonts.end()

    # Looks.

    def _style(self) -> None:
        known, px = self._colours, self._pixel
        style = ttk.Style(self)
        small = self._fonts["small"]

        def look(name: str, ground: str, front: str, **settings: Any) -> None:
            settings.setdefault("font", small)
            style.configure(name, background=known[ground], foreground=known[front], **settings)

        flat: Dict[str, Any] = {"relief": "flat", "borderwidth": 0}
        # Of all that is on the paper, and of what stands in a box.
        for prefix, ground in (("Claude.", "back"), ("ClaudeBox.", "box")):
            look(f"{prefix}TFrame", ground, "text")
            look(f"{prefix}TLabel", ground, "faint" if ground == "back" else "text")
            for kind in ("Toolbutton", "TMenubutton"):
                name = f"{prefix}{kind}"
                look(name, ground, "soft", padding=(7 * px, 4 * px), **flat)
                style.layout(name, style.layout("Toolbutton"))
                style.map(
                    name,
                    background=[("active", known["bubble"]), ("focus", known["bubble"])],
                    foreground=[("disabled", known["edge"])],
                    relief=[],
                )
        look("ClaudeBox.TLabelframe", "box", "text", bordercolor=known["edge"])
        look("ClaudeBox.TLabelframe.Label", "box", "faint")
        field = {"fieldbackground": known["back"], "insertcolor": known["text"]}
        look("ClaudeBox.TEntry", "box", "text", bordercolor=known["edge"], **field)
        for kind in ("TRadiobutton", "TCheckbutton"):
            look(f"ClaudeBox.{kind}", "box", "text")
            style.map(f"ClaudeBox.{kind}", background=[("active", known["bubble"])])
        padding = (12 * px, 5 * px)
        look("ClaudeBox.TButton", "back", "text", padding=padding, bordercolor=known["edge"])
        style.map(
            "ClaudeBox.TButton",
            background=[("active", known["bubble"])],
            foreground=[("disabled", known["faint"])],
        )
        look("ClaudeBox.Strong.TButton", "accent", "back", padding=padding, **flat)
        look("Claude.Send.TButton", "accent", "back", padding=(5 * px, 4 * px), width=3, **flat)
        for name in ("ClaudeBox.Strong.TButton", "Claude.Send.TButton"):
            style.map(
                name,
                background=[("disabled", known["edge"]), ("active", known["soft"])],
                foreground=[("disabled", known["back"])],
            )
        bar = "Claude.Vertical.TScrollbar"
        thumb: Any = ("Vertical.Scrollbar.thumb", {"expand": "1", "sticky": "nswe"})
        trough: Any = {"sticky": "ns", "children": [thumb]}
        style.layout(bar, [("Vertical.Scrollbar.trough", trough)])
        look(bar, "edge", "edge", troughcolor=known["back"], arrowsize=10 * px, width=10 * px)
        style.configure(bar, bordercolor=known["back"], lightcolor=known["edge"])
        style.configure(bar, darkcolor=known["edge"], **flat)
        style.map(bar, background=[("active", known["faint"])])
        self.configure(style="Claude.TFrame")

    def restyle(self) -> None:
        """Take the colours of the program's theme again, after it was changed."""
        self._colours = colours_of(self)
        self._style()
        self.conversation.style(self._colours)
        self.composer.style(self._colours)
        self.changed()

    def zoom(self, change: int) -> None:
        """Larger or smaller letters; 0 for the usual size."""
        zoom = self._fonts.zoom + change if change else 0
        self._fonts.set_zoom(min(max(zoom, ZOOMS[0]), ZOOMS[-1]))
        self.conversation.style(self._colours)
        self.changed()

    def _zoom_by_key(self, change: int, _: object) -> str:
        self.zoom(change)
        return "break"

    # Its parts.

    def _build(self) -> None:
        px = self._pixel
        head = ttk.Frame(self, style="Claude.TFrame", padding=(10 * px, 6 * px))
        self.title, self.sessions = menu_button(head, "", self._list_sessions)
        self.new = tool_button(head, "+ New", self.clear)
        self.more, self.actions = menu_button(head, "⋯", None)
        for words, keys, function in (
            ("Find...", "Ctrl+F", self.search.begin),
            ("Zoom in", "Ctrl++", partial(self.zoom, 1)),
            ("Zoom out", "Ctrl+-", partial(self.zoom, -1)),
            ("Normal size", "Ctrl+0", partial(self.zoom, 0)),
            ("Copy as Markdown", "", self.copy),
            ("Export...", "", self.export),
            ("Stop", "Esc", self.escape),
        ):
            self.actions.add_command(label=words, accelerator=keys, command=function)
        self.title.pack(side="left", fill="x", expand=True)
        self.new.pack(side="left")
        self.more.pack(side="left")
        for widget in (self.composer.entry, self.conversation.text, self.search.words):
            widget.bind("<Escape>", lambda _: self.escape())
            widget.bind("<Control-f>", lambda _: self.search.begin())
            for change, names in ZOOM_KEYS.items():
                for name in names:
                    widget.bind(f"<Control-{name}>", partial(self._zoom_by_key, change))
        head.grid(row=0, column=0, sticky="ew")
        self.conversation.frame.grid(row=2, column=0, sticky="nsew")
        self.composer.frame.grid(row=3, column=0, sticky="ew")
        self.columnconfigure(0, weight=1)
        self.rowconfigure(2, weight=1)

    def _draw(self) -> None:
        """Draw what has changed; then rest, the longer the longer that took."""
        begun = monotonic()
        self.conversation.draw(self.presenter.rows())
        self.title.configure(text=f"{self.presenter.title}  ▾")
        self.composer.draw(self.presenter)
        if self.presenter.is_working:
            self._later("tick", TICK, self._tick)
        spent = monotonic() - begun
        self._due = begun + spent + max(FRAME / 1000, REST * spent)

    def _tick(self) -> None:
        self.composer.draw_working(self.presenter)
        if self.presenter.is_working:
            self._later("tick", TICK, self._tick)
        self.changed()

    def _list_sessions(self) -> None:
        menu = self.sessions
        menu.delete(0, "end")
        menu.add_command(label="New conversation", command=self.clear)
        found = self.presenter.sessions() if self.presenter.is_own else []
        if found:
            menu.add_separator()
        for each in found:
            words = f"{each.title[:60]}    {each.modified:%d %b}"
            menu.add_command(label=words, command=partial(self.presenter.resume, each.session_id))

    def copy(self) -> None:
        """Copy the conversation as Markdown."""
        self.clipboard_clear()
        self.clipboard_append(self.presenter.markdown())

    def export(self, path: str = "") -> None:
        """Write the conversation to a file; without a path, the person is asked for one."""
        if not path:
            path = filedialog.asksaveasfilename(parent=self, filetypes=FILES)
        if path:
            self.presenter.export(path)

    def escape(self) -> None:
        """Leave the search, or the prompt that is being edited; else stop."""
        if self.search.is_open:
            self.search.end()
        elif self.presenter.is_editing:
            self.presenter.leave_edit()
            self.composer.set_text("")
            self.changed()
        else:
            self.stop()


class Composer:
    """
    What a person types, and the buttons around it.

    Attributes:
        frame: All of it.
        entry: The text that is typed into.
        button: Sends, or stops.

    """

    def __init__(self, chat: ChatFrame, fonts: Fonts, known: Dict[str, str]) -> None:
        self._chat = chat
        self._drawn: Optional[List[Any]] = None
        self._step = 0
        px = chat._pixel
        self.frame = ttk.Frame(chat, style="Claude.TFrame", padding=(14 * px, 2 * px, 14 * px, 10))
        self.frame.columnconfigure(0, weight=1)
        self.working = ttk.Label(self.frame, style="Claude.TLabel")
        self.notice = ttk.Label(self.frame, style="Claude.TLabel", wraplength=600 * px)
        self.box = tkinter.Frame(self.frame, highlightthickness=1)
        self.box.columnconfigure(0, weight=1)
        self.chips = ttk.Frame(self.box, style="Claude.TFrame")
        self.entry = tkinter.Text(
            self.box,
            height=1,
            width=20,
            wrap="word",
            undo=True,
            relief="flat",
            borderwidth=0,
            highlightthickness=0,
            padx=10 * px,
            pady=8 * px,
            font=fonts["body"],
        )
        row = ttk.Frame(self.box, style="Claude.TFrame", padding=(4 * px, 0, 5 * px, 5 * px))
        self.attach = tool_button(row, "+", self._choose_files)
        self.mode, modes = menu_button(row, "", lambda: self._list_modes(modes))
        self.model, models = menu_button(row, "Model ▾", lambda: self._list_models(models))
        self.gauge = ttk.Label(row, style="Claude.TLabel")
        self.button = ttk.Button(
            row, text="↑", style="Claude.Send.TButton", command=self.send_or_stop
        )
        for each in (self.attach, self.mode, self.model):
            each.pack(side="left")
        self.button.pack(side="right")
        self.gauge.pack(side="right", padx=8 * px)
        self.entry.grid(row=1, column=0, sticky="ew")
        row.grid(row=2, column=0, sticky="ew")
        self.box.grid(row=2, column=0, sticky="ew")
        self.entry.bind("<Return>", self._enter)
        self.entry.bind("<KP_Enter>", self._enter)
        self.entry.bind("<Shift-Return>", lambda _: None)
        self.entry.bind("<Up>", self._up)
        self.entry.bind("<Tab>", self._leave)
        self.entry.bind("<<Paste>>", self._paste)
        self.entry.bind("<<Modified>>", self._typed)
        self.entry.bind("<Configure>", lambda _: self._fit())
        for event in ("<FocusIn>", "<FocusOut>"):
            self.entry.bind(event, self._show_focus, add=True)
        self.style(known)

    def style(self, known: Dict[str, str]) -> None:
        """Take other colours."""
        self._colours = known
        self.box.configure(background=known["back"], highlightbackground=known["edge"])
        self.box.configure(highlightcolor=known["accent"])
        self.entry.configure(background=known["back"], foreground=known["text"])
        self.entry.configure(insertbackground=known["text"], selectbackground=known["accent"])
        self.entry.configure(selectforeground=known["back"])

    def draw(self, presenter: Presenter) -> None:
        """Draw what is known of the conversation."""
        self.draw_working(presenter)
        editing = "Sending replaces your last prompt and what came of it. Esc leaves it as it is."
        notice = presenter.notice
        if presenter.is_editing and presenter.is_own:
            notice = notice or editing
        self.notice.configure(text=notice)
        self._place(self.notice, 1, bool(notice))
        self.mode.configure(text=f"{MODES.get(presenter.mode, presenter.mode)} ▾")
        names = dict(presenter.models)
        model = names.get(presenter.model, presenter.model) or "Model"
        self.model.configure(text=f"{model} ▾")
        full = presenter.context()
        context = "" if full is None else f"{full:.0%} of context"
        self.gauge.configure(text="   ".join(filter(None, (context, presenter.cost()))))
        if presenter.attached != self._drawn:
            self._drawn = list(presenter.attached)
            self._draw_chips(presenter)
        self._draw_button()

    def draw_working(self, presenter: Presenter) -> None:
        """What goes on."""
        words = presenter.working()
        self._step = (self._step + 1) % len(SPINNER)
        self.working.configure(text=f"{SPINNER[self._step]}  {words}" if words else "")
        self._place(self.working, 0, bool(words))

    def _place(self, widget: Any, row: int, is_shown: bool) -> None:
        if is_shown:
            widget.grid(row=row, column=0, sticky="w", pady=(0, 4))
        else:
            widget.grid_remove()

    def _draw_chips(self, presenter: Presenter) -> None:
        for child in self.chips.winfo_children():
            child.destroy()
        for number, each in enumerate(presenter.attached):
            remove = partial(presenter.remove_attached, number)
            tool_button(self.chips, f"{each.name}  ✕", remove).pack(side="left", padx=2)
        if presenter.attached:
            self.chips.grid(row=0, column=0, sticky="ew", padx=6, pady=(6, 0))
        else:
            self.chips.grid_remove()

    def _draw_button(self) -> None:
        words = self.words()
        stops = self._chat.presenter.is_working and not words
        self.button.configure(text="■" if stops else "↑")
        self.button.state(["!disabled" if stops or words else "disabled"])

    # What is typed.

    def words(self) -> str:
        """What is typed."""
        return self.entry.get("1.0", "end").strip()

    def set_text(self, text: str) -> None:
        """Have something else typed."""
        self.entry.delete("1.0", "end")
        self.entry.insert("1.0", text)

    def _typed(self, _: object) -> None:
        self.entry.edit_modified(False)
        self._fit()
        self._draw_button()

    def _fit(self) -> None:
        """As high as what is typed, within limits."""
        counted: Any = self.entry.count("1.0", "end", "displaylines")
        lines = counted[0] if isinstance(counted, tuple) else counted or 1
        self.entry.configure(height=min(max(int(lines), 1), MOST_LINES))

    def _enter(self, event: tkinter.Event[Any]) -> Optional[str]:
        if int(event.state) & 1:  # Shift: a new line
            return None
        self.send()
        return "break"

    def send(self) -> None:
        """Ask what is typed."""
        words = self.words()
        if words:
            self.set_text("")
            self._chat.ask(words)

    def send_or_stop(self) -> None:
        """What the button does."""
        if self.words():
            self.send()
        else:
            self._chat.stop()
        self.entry.focus_set()

    def _up(self, _: object) -> Optional[str]:
        if self.entry.get("1.0", "end-1c"):
            return None
        self.set_text(self._chat.presenter.edit())
        self._chat.changed()
        return "break"

    def _leave(self, event: tkinter.Event[Any]) -> str:
        event.widget.tk_focusNext().focus_set()
        return "break"

    def _paste(self, _: object) -> Optional[str]:
        """An image goes with the prompt; text is pasted as ever."""
        try:
            words = self.entry.clipboard_get(type="image/png").split()
            image = bytes(int(word, 16) for word in words)
        except (tkinter.TclError, ValueError):
            return None
        self._chat.presenter.attach([image])
        return "break"

    def _show_focus(self, event: tkinter.Event[Any]) -> None:
        focused = str(event.type) == "FocusIn"
        colour = self._colours["accent" if focused else "edge"]
        self.box.configure(highlightbackground=colour)

    # Choices.

    def _choose_files(self) -> None:
        found = filedialog.askopenfilenames(parent=self._chat)
        self._chat.presenter.attach(list(found))

    def _list_modes(self, menu: tkinter.Menu) -> None:
        self._list(menu, list(MODES.items()), self._chat.presenter.set_mode)

    def _list_models(self, menu: tkinter.Menu) -> None:
        presenter = self._chat.presenter
        self._list(menu, presenter.models, presenter.set_model)

    def _list(
        self, menu: tkinter.Menu, choices: List[Tuple[str, str]], choose: Callable[[str], object]
    ) -> None:
        def chosen(value: str) -> None:
            choose(value)
            self._chat.changed()

        menu.delete(0, "end")
        for value, words in choices:
            menu.add_command(label=words, command=partial(chosen, value))


class SearchBar:
    """Search the conversation."""

    def __init__(self, chat: ChatFrame) -> None:
        self._chat = chat
        self._place = 0
        self.is_open = False
        self.frame = ttk.Frame(chat, style="Claude.TFrame", padding=(12, 0, 12, 6))
        self.words = ttk.Entry(self.frame)
        self.words.bind("<Return>", lambda _: self._find(1))
        self.words.bind("<KeyRelease>", self._typed)
        self.words.pack(side="left", fill="x", expand=True)
        self.told = ttk.Label(self.frame, style="Claude.TLabel")
        self.told.pack(side="left", padx=8)
        for words, function in (
            ("↑", partial(self._find, -1)),
            ("↓", partial(self._find, 1)),
            ("✕", self.end),
        ):
            tool_button(self.frame, words, function).pack(side="left")
        self._last = ""

    def begin(self) -> None:
        """Open it."""
        self.is_open = True
        self.frame.grid(row=1, column=0, sticky="ew")
        self.words.focus_set()
        self.words.selection_range(0, "end")

    def end(self) -> None:
        """Close it."""
        self.is_open = False
        self.frame.grid_remove()
        self._chat.focus_set()

    def _typed(self, _: object) -> None:
        if self.words.get() != self._last:
            self._last = self.words.get()
            self._find(0)

    def _find(self, step: int) -> None:
        words = self.words.get()
        found = self._chat.presenter.find(words)
        if not found:
            self.told.configure(text="Not found" if words else "")
            return
        self._place = (self._place + step) % len(found) if step else len(found) - 1
        self.told.configure(text=f"{self._place + 1} of {len(found)}")
        self._chat.conversation.go_to(found[self._place], words)


# Small parts.


def tool_button(parent: tkinter.Misc, words: str, function: Callable[[], object]) -> ttk.Button:
    """A button that does not stand out."""
    return ttk.Button(parent, text=words, style="Claude.Toolbutton", command=function)


def menu_button(
    parent: tkinter.Misc, words: str, fill: Optional[Callable[[], object]]
) -> Tuple[ttk.Menubutton, tkinter.Menu]:
    """A button with a menu, which is filled when it is opened."""
    made = ttk.Menubutton(parent, text=words, style="Claude.TMenubutton")
    menu = tkinter.Menu(made, tearoff=False, postcommand=fill or "")
    made.configure(menu=menu)
    return made, menu
