"""The chat in a frame of Tk, as a person uses it: see ``chat_scenes``."""

import gc

import pytest
from chat_scenes import *  # noqa: F403
from chat_scenes import TOOL, Person
from image_samples import png
from tk_events import click, press

from claude_sync.testing import ScriptedCli, builders

KEYS = {"Enter": "Return", "Shift-Enter": "Shift-Return", "Up": "Up", "Escape": "Escape"}


class TkPerson(Person):
    """In front of a frame of Tk."""

    def __init__(self, root, cli, widget, until):
        self.root, self.cli, self.widget = root, cli, widget
        self._until = until

    def type(self, text):
        """See :class:`Person`."""
        self.widget.composer.entry.insert("insert", text)
        self.root.update()

    def press(self, key):
        """See :class:`Person`."""
        press(self.widget.composer.entry, KEYS[key])

    def typed(self):
        """See :class:`Person`."""
        return self.widget.composer.entry.get("1.0", "end-1c")

    def shown(self):
        """See :class:`Person`."""
        return self.widget.conversation.text.get("1.0", "end")

    def working(self):
        """What is said to go on."""
        return self.widget.composer.working.cget("text")

    def _buttons(self, words):
        self.root.update_idletasks()
        classes = ("TButton", "TRadiobutton")
        return [
            each
            for each in descendants(self.widget)
            if each.winfo_class() in classes
            and each.cget("text") == words
            and not each.instate(["disabled"])
        ]

    def can_click(self, words):
        """Whether there is such a button, and it works."""
        return bool(self._buttons(words))

    def click(self, words):
        """See :class:`Person`."""
        self.until(lambda: "draw" not in self.widget._timers)
        button = self._buttons(words)[-1]
        self.widget.conversation.text.see("end")
        self.root.update()
        click(button)

    def unfold(self, words):
        """Click the line that says so."""
        text = self.widget.conversation.text
        place = text.search(words, "1.0")
        text.see(place)
        self.root.update()
        x, y, *_ = text.bbox(place)
        text.event_generate("<Motion>", x=x + 2, y=y + 2)
        text.event_generate("<ButtonPress-1>", x=x + 2, y=y + 2)
        text.event_generate("<ButtonRelease-1>", x=x + 2, y=y + 2)

    def search(self, words):
        """Search the conversation."""
        press(self.widget.composer.entry, "Control-f")
        entry = self.widget.search.words
        entry.insert("end", words)
        press(entry, "KeyRelease-e")

    def selected(self):
        """What is selected in the conversation."""
        return self.widget.conversation.text.selection_get()

    def clipboard(self):
        """What was copied."""
        return self.widget.clipboard_get()

    def letter(self):
        """How wide a letter is."""
        return self.widget.fonts.measure("body", "mmmmmmmmmm")

    def is_at_end(self):
        """Whether the end of the conversation can be seen."""
        return self.widget.conversation.text.yview()[1] > 0.999

    def scroll_up(self):
        """With the keyboard."""
        press(self.widget.conversation.text, "Prior", "Prior", "Prior")

    def resize(self, width, height):
        """Another size of the window."""
        self.root.geometry(f"{width}x{height}")
        self.root.update()

    def destroy(self):
        """The end of the frame."""
        self.widget.destroy()

    def until(self, condition):
        """See :class:`Person`."""
        self._until(self.root, condition)


def descendants(widget):
    """All widgets in a widget."""
    for child in widget.winfo_children():
        yield child
        yield from descendants(child)


@pytest.fixture
def chat(root, talk, until):
    """A person in front of a frame, whose client the program has made."""
    from claude_sync.gui.tk import ChatFrame

    root.geometry("700x600")
    given = talk()
    widget = ChatFrame(root, client=given.client)
    widget.pack(fill="both", expand=True)
    root.update()
    return TkPerson(root, given.cli, widget, until)


def test_its_own_client_ends_with_it(root, until):
    """Nothing is left: no process, no command, no font, however often."""
    from claude_sync.gui.tk import ChatFrame

    def left():
        tk = root.tk
        names = tk.splitlist(tk.call("font", "names")), tk.splitlist(tk.call("info", "commands"))
        return [sorted(map(str, each)) for each in names]

    clients, before = [], None
    for number in range(100):
        widget = ChatFrame(root, transport=ScriptedCli())
        widget.pack()
        root.update_idletasks()
        clients.append(widget.client)
        widget.destroy()
        if number == 1:  # what Tk and the library make once is there
            before = left()
    assert left() == before
    until(root, lambda: {client.state for client in clients} == {"closed"})
    gc.collect()


def test_a_dark_theme_makes_it_dark(root, chat, tkinter):
    """When it is told, also after it was made."""
    from tkinter import ttk

    ground = chat.widget.conversation.text.cget("background")
    style = ttk.Style(root)
    before = style.lookup(".", "background")
    try:
        style.configure(".", background="#202124", foreground="#e8eaed")
        chat.widget.restyle()
        dark = chat.widget.conversation.text.cget("background")
    finally:
        style.configure(".", background=before)
    assert sum(root.winfo_rgb(dark)) < sum(root.winfo_rgb(ground)) / 2


def test_a_request_does_not_take_the_focus(chat):
    """From who types meanwhile."""
    user = chat.begin("build")
    entry = chat.widget.composer.entry
    entry.focus_force()
    chat.cli.say(builders.assistant(TOOL))
    chat.cli.ask_permission("Bash", {"command": "make"}, tool_use_id="toolu_1")
    chat.until(lambda: chat.can_click("Allow"))
    assert entry.focus_get() is entry
    chat.click("Allow")
    chat.cli.end_turn(user, "done")


@pytest.fixture
def make_own(root, until):
    """Make a frame with a client of its own; its person."""
    from claude_sync.gui.tk import ChatFrame

    def make(**options):
        root.geometry("700x600")
        widget = ChatFrame(root, **options)
        widget.pack(fill="both", expand=True)
        root.update()
        return TkPerson(root, None, widget, until)

    return make


def test_cells_of_a_table_are_complete():
    """A long one has several lines."""
    from claude_sync.gui.tk_rows import spans

    long = " ".join(f"word{number}" for number in range(40))
    drawn = "".join(text for text, _ in spans(f"| a | b |\n|---|---|\n| x | {long} |"))
    assert [word for word in drawn.split() if word.startswith("word")] == long.split()


def test_an_image_is_pasted(chat):
    """It goes with the next prompt."""
    entry = chat.widget.composer.entry
    entry.clipboard_get = lambda type: " ".join(map(hex, png()))
    entry.event_generate("<<Paste>>")
    assert [each.name for each in chat.widget.presenter.attached] == ["image"]
    chat.until(lambda: chat.can_click("image  ✕"))


def test_files_are_pasted_and_dropped(root, talk, tmp_path):
    """Dropped ones by tkdnd, where the program has loaded it."""
    from claude_sync.gui.tk import ChatFrame

    names = ["a.txt", "b c.txt"]
    for name in names:
        (tmp_path / name).write_text("words")
    root.tk.eval("namespace eval tkdnd {}; proc tkdnd::drop_target {args} {}")
    widget = ChatFrame(root, client=talk().client)
    entry = widget.composer.entry
    links = {"text/uri-list": (tmp_path / "b c.txt").as_uri()}
    entry.clipboard_get = lambda type: links[type] if type in links else root.tk.eval("error none")
    entry.event_generate("<<Paste>>")
    assert [each.name for each in widget.presenter.attached] == ["b c.txt"]
    widget.presenter.remove_attached(0)
    script = root.tk.call("bind", widget, "<<Drop:DND_Files>>")
    files = root.tk.eval(f"list [list {{{tmp_path / names[0]}}} {{{tmp_path / names[1]}}}]")
    assert root.tk.eval(script.replace("%D", files)) == "copy"
    assert [each.name for each in widget.presenter.attached] == names
