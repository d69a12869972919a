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
from tkinter import filedialog, ttk
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple
from urllib.parse import urlsplit
from urllib.request import url2pathname

from ..client import Client
from ..render.presenter import Presenter
from .chats import MOST_LINES, TICK, ChatMethods, Entry, Search, gauge, notice, picked, working
from .tk_rows import Conversation, Fonts
from .tk_views import colours_of
from .tk_windows import TkAttachment, check_widget, when_destroyed

__all__ = ["ChatFrame"]

FILES = [("HTML", "*.html"), ("Markdown", "*.md"), ("JSON", "*.json")]
# Tk's names of the keys that zoom, with Ctrl.
ZOOM_KEYS = {1: ("plus", "equal", "KP_Add"), -1: ("minus", "KP_Subtract"), 0: ("Key-0",)}


class ChatFrame(ChatMethods, ttk.Frame):
    """
    A chat with Claude::

        chat = ChatFrame(root, model="sonnet", cwd="project")
        chat.pack(fill="both", expand=True)

    Enter sends, Shift+Enter begins a new line, Esc stops, Up edits the last prompt, Ctrl+F
    searches, Ctrl and + or - zoom. You can paste images and files, and drop them if the program
    uses tkinterdnd2. Permission requests and questions appear inside the conversation, unless the
    client already has handlers for them. The chat uses the theme and the fonts of the program,
    light or dark.

    Args:
        parent: The widget that contains it.
        client: An existing client, made without ``post=``. It stays open when the frame is
            destroyed. Without it, the frame makes a client from *options*, those of ``Client``, and
            closes it.

    """

    def __init__(
        self, parent: tkinter.Misc, client: Optional[Client] = None, **options: Any
    ) -> None:
        check_widget(parent, "ChatFrame()")
        super().__init__(parent, style="Claude.TFrame")
        self._tk: Any = self.tk
        self._timers: Dict[str, Any] = {}
        pixel = max(1, round(self.winfo_fpixels("1i") / 96))
        self.fonts = Fonts(self)
        self.conversation = Conversation(self, self.fonts, pixel)
        self.composer = Composer(self, pixel)
        self.search = SearchBar(self)
        self._build(pixel)
        self.restyle()
        when_destroyed(self, self._end)
        self.presenter = Presenter(self, client, options)
        self.conversation.presenter = self.presenter
        self._accept_drops()
        self._later("start", 0, self._start)
        self.changed()

    def _start(self) -> None:
        if self.focus_lastfor() is self.winfo_toplevel():
            self.focus_set()  # the program has given the focus to no other widget
        self.presenter.start()

    def focus_set(self) -> None:
        """Let the person type."""
        self.composer.entry.focus_set()

    focus = focus_set

    # The presenter's view.

    def connect(self, client: Client, closes: bool) -> TkAttachment:
        """See :class:`~claude_sync.render.presenter.View`."""
        return TkAttachment(client, self, closes)

    def changed(self) -> None:
        """See :class:`~claude_sync.render.presenter.View`."""
        self._later("draw", self.until_due(), self.draw)

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
        self.fonts.end()

    # Its parts.

    def _build(self, px: int) -> None:
        head = ttk.Frame(self, style="Claude.TFrame", padding=(10 * px, 6 * px))
        self.title, _ = menu_button(head, self.conversations)
        self.more, menu = menu_button(head, lambda: iter(()))
        self.more.configure(text="⋯")
        menu.configure(postcommand="")
        for words, keys, function in self.actions():
            menu.add_command(label=words, accelerator=keys, command=function)
        self.title.pack(side="left")
        self.more.pack(side="right")
        tool_button(head, "+ New", self.clear).pack(side="right")
        for widget in (self.composer.entry, self.conversation.text, self.search.words):
            widget.bind("<Escape>", lambda _: self.escape())
            for keys, function in (
                ("f", self.search.begin),
                *(("Shift-C", self.copy), ("Shift-S", self.export)),
                *((key, partial(self.zoom, n)) for n, names in ZOOM_KEYS.items() for key in names),
            ):
                widget.bind(f"<Control-{keys}>", partial(act, function))
        head.grid(row=0, column=0, sticky="ew")
        self.conversation.frame.grid(row=2, column=0, sticky="nsew")
        self.composer.frame.grid(row=3, column=0, sticky="ew")
        self.columnconfigure(0, weight=1)
        self.rowconfigure(2, weight=1)

    def _accept_drops(self) -> None:
        """Files can be dropped, where the program has loaded tkdnd."""
        if self._tk.call("info", "commands", "::tkdnd::drop_target"):
            self._tk.call("tkdnd::drop_target", "register", self, "DND_Files")
            command = self.register(self._drop)
            self._tk.call("bind", self, "<<Drop:DND_Files>>", f"{command} %D")

    def _drop(self, files: str) -> str:
        self.presenter.attach(list(self._tk.splitlist(files)))
        return "copy"

    def draw(self) -> None:
        """Draw what has changed."""
        super().draw()
        self.title.configure(text=f"{self.presenter.title}  ▾")
        if self.presenter.is_working:
            self._later("tick", TICK, self.draw)

    def restyle(self) -> None:
        """Take the colours of the program's theme again, after it was changed."""
        known = colours_of(self)
        style_all(self, known)
        self.fonts.set_zoom(self.letters)
        self.conversation.style(known)
        self.composer.style(known)

    def copy_text(self, text: str) -> None:
        """Put a text into the clipboard."""
        self.clipboard_clear()
        self.clipboard_append(text)

    def ask_path(self) -> str:
        """Let the person choose a file to write."""
        return filedialog.asksaveasfilename(parent=self, filetypes=FILES)


class Composer:
    """
    What a person types, and the buttons around it.

    Attributes:
        frame: All of it.
        entry: The text that is typed into.
        button: Sends, or stops.

    """

    def __init__(self, chat: ChatFrame, px: int) -> None:
        self._chat = chat
        self._drawn: List[Any] = []
        self.frame = ttk.Frame(chat, style="Claude.TFrame", padding=(14 * px, 2 * px, 14 * px, 10))
        self.frame.columnconfigure(0, weight=1)
        self.working = ttk.Label(self.frame, style="Claude.TLabel")
        self.notice = ttk.Label(self.frame, style="Claude.TLabel", wraplength=600 * px)
        self.box = tkinter.Frame(self.frame, highlightthickness=1)
        self.chips = ttk.Frame(self.box, style="Claude.TFrame")
        self.entry = tkinter.Text(self.box, height=1, width=20, wrap="word", undo=True)
        self.entry.configure(relief="flat", borderwidth=0, highlightthickness=0)
        self.entry.configure(padx=10 * px, pady=8 * px, font=chat.fonts["body"])
        self.hint = ttk.Label(self.entry, text="Ask Claude", style="Claude.TLabel", cursor="xterm")
        self.hint.bind("<Button-1>", lambda _: self.entry.focus_set())
        self._show_hint()
        row = ttk.Frame(self.box, style="Claude.TFrame", padding=(4 * px, 0, 5 * px, 5 * px))
        self.mode, _ = menu_button(row, chat.modes)
        self.model, _ = menu_button(row, chat.models)
        self.gauge = ttk.Label(row, style="Claude.TLabel")
        self.button = ttk.Button(row, style="Claude.Send.TButton", command=self.send_or_stop)
        for each in (tool_button(row, "+", self._choose_files), self.mode, self.model):
            each.pack(side="left")
        self.button.pack(side="right")
        self.gauge.pack(side="right", padx=8 * px)
        self.entry.pack(fill="x")
        row.pack(fill="x")
        self.box.grid(row=2, column=0, sticky="ew")
        for key, function in (
            *(("<Return>", self._enter), ("<KP_Enter>", self._enter)),
            *(("<Up>", self._up), ("<Tab>", self._leave), ("<<Paste>>", self._paste)),
            *(("<<Modified>>", self._typed), ("<Configure>", self._fit)),
        ):
            self.entry.bind(key, function, add=True)

    def style(self, known: Dict[str, str]) -> None:
        """Take other colours."""
        self.box.configure(background=known["back"], highlightbackground=known["edge"])
        self.box.configure(highlightcolor=known["accent"])
        self.entry.configure(background=known["back"], foreground=known["text"])
        self.entry.configure(insertbackground=known["text"], selectbackground=known["accent"])
        self.entry.configure(selectforeground=known["back"])

    def draw(self, presenter: Presenter) -> None:
        """Draw what is known of the conversation."""
        for number, (label, text) in enumerate(
            ((self.working, working(presenter)), (self.notice, notice(presenter)))
        ):
            label.configure(text=text)
            if text:
                label.grid(row=number, column=0, sticky="w", pady=(0, 4))
            else:
                label.grid_remove()
        for button, words in zip((self.mode, self.model), picked(presenter)):
            button.configure(text=words)
        self.gauge.configure(text=gauge(presenter))
        if presenter.attached != self._drawn:
            self._drawn = list(presenter.attached)
            self._draw_chips(presenter)
        self._draw_button()

    def _draw_chips(self, presenter: Presenter) -> None:
        for child in self.chips.winfo_children():
            child.destroy()
        for number, each in enumerate(presenter.attached):
            remove = partial(presenter.remove_attached, number)
            tool_button(self.chips, f"{each.name}  ✕", remove).pack(side="left", padx=2)
        if presenter.attached:
            self.chips.pack(fill="x", padx=6, pady=(6, 0), before=self.entry)
        else:
            self.chips.pack_forget()

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
        if self.entry.compare("end-1c", ">", "1.0"):
            self.hint.place_forget()
        else:
            self._show_hint()
        self._fit()
        self._draw_button()

    def _show_hint(self) -> None:
        self.hint.place(rely=0.5, x=12 * self._chat.conversation.pixel, anchor="w")

    def _fit(self, _: object = None) -> None:
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
        return "break"

    def _leave(self, event: tkinter.Event[Any]) -> str:
        event.widget.tk_focusNext().focus_set()
        return "break"

    def _paste(self, _: object) -> Optional[str]:
        """Images and files go with the prompt; text is pasted as ever."""
        found = self._pasted()
        self._chat.presenter.attach(found)
        return "break" if found else None

    def _pasted(self) -> List[Any]:
        try:
            words = self.entry.clipboard_get(type="image/png").split()
            return [bytes(int(word, 16) for word in words)]
        except (tkinter.TclError, ValueError):
            pass
        try:
            links = [
                urlsplit(each) for each in self.entry.clipboard_get(type="text/uri-list").split()
            ]
        except (tkinter.TclError, ValueError):
            return []
        return [url2pathname(each.path) for each in links if each.scheme == "file"]

    def _choose_files(self) -> None:
        self._chat.presenter.attach(list(filedialog.askopenfilenames(parent=self._chat)))


class SearchBar(Search):
    """Search the conversation."""

    def __init__(self, chat: ChatFrame) -> None:
        self.chat = chat
        self._last = ""
        self.frame = ttk.Frame(chat, style="Claude.TFrame", padding=(12, 0, 12, 6))
        self.words = ttk.Entry(self.frame, style="Claude.TEntry")
        self.words.bind("<Return>", lambda _: self.search(1))
        self.words.bind("<KeyRelease>", self._typed)
        self.words.pack(side="left", fill="x", expand=True)
        self._told = ttk.Label(self.frame, style="Claude.TLabel")
        self._told.pack(side="left", padx=8)
        for words, function in (
            ("↑", partial(self.search, -1)),
            ("↓", partial(self.search, 1)),
            ("✕", self.end),
        ):
            tool_button(self.frame, words, function).pack(side="left")

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
        self.chat.focus_set()

    def typed(self) -> str:
        """What is searched."""
        return self.words.get()

    def tell(self, words: str) -> None:
        """Say what was found."""
        self._told.configure(text=words)

    def _typed(self, _: object) -> None:
        if self.words.get() != self._last:
            self._last = self.words.get()
            self.search(0)


# Small parts.


def act(function: Callable[[], object], _: object) -> str:
    """What a key does, and nothing else of it."""
    function()
    return "break"


def tool_button(parent: tkinter.Misc, words: str, function: Callable[[], object]) -> ttk.Button:
    """A button that does not stand out."""
    return ttk.Button(parent, text=words, style="Claude.Toolbutton", command=function)


def menu_button(
    parent: tkinter.Misc, entries: Callable[[], Iterator[Entry]]
) -> Tuple[ttk.Menubutton, tkinter.Menu]:
    """A button with a menu, which is filled when it is opened."""
    made = ttk.Menubutton(parent, style="Claude.TMenubutton")

    def fill() -> None:
        menu.delete(0, "end")
        for words, is_chosen, function in entries():
            menu.add_command(label=f"{words}  ✓" if is_chosen else words, command=function)

    menu = tkinter.Menu(made, tearoff=False, postcommand=fill)
    made.configure(menu=menu)
    return made, menu


def style_all(chat: ChatFrame, known: Dict[str, str]) -> None:
    """Styles for all that is on the paper (``Claude``), and for what stands in a box."""
    style = ttk.Style(chat)
    px = chat.conversation.pixel
    edge = {"bordercolor": known["edge"]}
    field = {"fieldbackground": known["back"], "insertcolor": known["text"], **edge}
    flat: Dict[str, Any] = {"relief": "flat", "borderwidth": 0}
    tool = {"padding": (7 * px, 4 * px), **flat}
    button = {"padding": (12 * px, 5 * px)}
    mark = {"indicatorcolor": known["back"]}
    for name, ground, front, settings in (
        *(("Claude.TFrame", "back", "text", {}), ("Claude.TLabel", "back", "faint", {})),
        *(
            ("Claude.Toolbutton", "back", "soft", tool),
            ("Claude.TMenubutton", "back", "soft", tool),
        ),
        *(("Claude.TEntry", "back", "text", field), ("ClaudeBox.TEntry", "box", "text", field)),
        *(("ClaudeBox.TFrame", "box", "text", {}), ("ClaudeBox.TLabel", "box", "text", {})),
        *(
            ("ClaudeBox.Toolbutton", "box", "soft", tool),
            ("ClaudeBox.TLabelframe", "box", "text", flat),
        ),
        ("ClaudeBox.TLabelframe.Label", "box", "faint", {}),
        *((f"ClaudeBox.T{kind}button", "box", "text", mark) for kind in ("Radio", "Check")),
        ("ClaudeBox.TButton", "back", "text", {**button, **edge}),
        ("ClaudeBox.Strong.TButton", "accent", "back", {**button, **flat}),
        ("Claude.Send.TButton", "accent", "back", {"padding": 5 * px, "width": 3, **flat}),
        ("Claude.Vertical.TScrollbar", "edge", "edge", {"troughcolor": known["back"], **flat}),
    ):
        style.configure(name, background=known[ground], foreground=known[front], **settings)
        is_strong = ground == "accent"
        style.map(
            name,
            background=[
                ("disabled", known["edge" if is_strong else ground]),
                ("active", known["soft" if is_strong else "bubble"]),
                *([("focus", known["bubble"])] if settings is tool else []),
            ],
            foreground=[("disabled", known["back" if is_strong else "faint"])],
            relief=[],
            indicatorcolor=[("selected", known["accent"])],
        )
    style.layout("Claude.TMenubutton", style.layout("Toolbutton"))
    thumb: Any = ("Vertical.Scrollbar.thumb", {"expand": "1", "sticky": "nswe"})
    trough: Any = {"sticky": "ns", "children": [thumb]}
    style.layout("Claude.Vertical.TScrollbar", [("Vertical.Scrollbar.trough", trough)])
    style.configure("Claude.Vertical.TScrollbar", width=10 * px, lightcolor=known["edge"])
    style.configure(
        "Claude.Vertical.TScrollbar", bordercolor=known["back"], darkcolor=known["edge"]
    )
