"""The windows of Tk that ask a person: see ``dialog_scenes``."""

import gc
import weakref

import pytest
from dialog_scenes import *  # noqa: F403
from dialog_scenes import COLOUR, FRUITS, RULE, Desk
from tk_events import click, press, write

import claude_sync
from claude_sync import UsageError

KEYS = {"Enter": "Return", "Space": "space"}


class TkDesk(Desk):
    """A window of Tk."""

    def __init__(self, root, talk, until, made):
        from claude_sync.gui import tk, tk_dialogs

        self.gui, self.module = tk, tk_dialogs
        self.window, self.talk, self._until, self.made = root, talk, until, made
        self.cli, self.client = talk.cli, talk.client
        self.attachment = tk.attach(self.client, root)
        self.handler = self.client.on_permission(tk.PermissionDialog.handler(root))
        root.update()
        self.turn = talk.begin()

    def until(self, condition):
        """See :class:`Desk`."""
        self._until(self.window, condition)

    def dialogs(self):
        """See :class:`Desk`."""
        opened = [each for each in self.made if getattr(each, "view", None) and each.is_open]
        return [each for each in opened if each.window.winfo_viewable()]

    def click(self, button):
        """See :class:`Desk`."""
        click(button)

    def can_click(self, button):
        """See :class:`Desk`."""
        return not button.instate(["disabled"])

    def write(self, entry, words):
        """See :class:`Desk`."""
        write(entry, words)

    def press(self, widget, key):
        """See :class:`Desk`."""
        press(widget, KEYS.get(key, key))

    def focused(self, dialog):
        """See :class:`Desk`."""
        dialog.window.update()
        return dialog.window.focus_lastfor()

    def texts(self, dialog):
        """See :class:`Desk`."""
        labels = [each for each in inside(dialog.window) if each.winfo_class() == "TLabel"]
        return [str(each.cget("text")) for each in labels]

    def preview(self, text):
        """See :class:`Desk`."""
        return text.get("1.0", "end-1c")

    def marked(self, field):
        """See :class:`Desk`."""
        return [button.instate(["selected"]) for button in field.buttons]

    def close(self, dialog):
        """See :class:`Desk`."""
        tk = dialog.window.tk
        tk.eval(tk.call("wm", "protocol", dialog.window, "WM_DELETE_WINDOW"))

    def destroy(self, widget):
        """See :class:`Desk`."""
        getattr(widget, "window", widget).destroy()

    def type_elsewhere(self):
        """See :class:`Desk`."""
        import tkinter

        entry = tkinter.Entry(self.window)
        entry.pack()
        entry.focus_force()
        self.window.update()
        return entry

    def has_focus(self, widget):
        """See :class:`Desk`."""
        return self.window.focus_lastfor() is widget and self.window.grab_current() is None

    def open(self, request):
        """A dialog, by hand."""
        return self.gui.PermissionDialog(self.window, request)


def inside(widget):
    """All widgets in a widget."""
    for child in widget.winfo_children():
        yield child
        yield from inside(child)


@pytest.fixture
def desk(root, talk, until, monkeypatch):
    """A window with a client in a turn, whose requests come to dialogs."""
    from claude_sync.gui.tk_dialogs import Dialog

    made, make = [], Dialog.__init__

    def noting(self, *arguments):
        made.append(self)
        make(self, *arguments)

    monkeypatch.setattr(Dialog, "__init__", noting)
    return TkDesk(root, talk(), until, made)


def test_a_change_is_shown_with_colours(desk, tmp_path):
    """Line by line, also to the right of the text; it cannot be changed."""
    file = tmp_path / "notes.txt"
    file.write_text("one\ntwo\n")
    request = desk.ask("Write", {"file_path": str(file), "content": "one\nthree\n"})
    text = desk.shown().view.preview
    lines = text.get("1.0", "end-1c").split("\n")
    assert lines[-3:] == [" one", "-two", "+three"]
    for end in ("0", "end"):
        tags = [text.tag_names(f"{number}.{end}") for number in range(1, len(lines) + 1)]
        assert tags[-4:] == [("hunk",), ("plain",), ("removed",), ("added",)]
    colours = {str(text.tag_cget(tag, "background")) for tag in ("hunk", "removed", "added")}
    assert len(colours) == 3
    assert str(text["state"]) == "disabled"
    desk.press_button("allow")
    desk.reply_to(request)


def test_nothing_hides_at_the_end_of_a_line(desk):
    """A command that goes on behind many blanks is seen as a whole; a long one scrolls."""
    long = "\n".join("x" * 300 for _ in range(100))
    for command in ("ls" + " " * 300 + "; rm -rf build", long):
        request = desk.ask("Bash", {"command": command})
        dialog = desk.shown()
        dialog.window.update()
        text = dialog.view.preview
        bar = text.master.winfo_children()[1]
        if command is long:
            assert bar.winfo_ismapped()
            assert dialog.window.winfo_height() < desk.window.winfo_screenheight()
        else:
            assert text.bbox(text.search("rm -rf", "1.0")) is not None
            assert not bar.winfo_ismapped()
        desk.press_button("deny")
        desk.reply_to(request)


@pytest.mark.parametrize("is_hidden", [False, True])
def test_it_appears_over_the_middle_of_its_window(desk, is_hidden):
    """And belongs to it, unless that is hidden: it would be hidden, too."""
    if is_hidden:
        desk.window.withdraw()
        desk.window.update()
    request = desk.ask()
    dialog = desk.shown()
    assert str(dialog.window.wm_transient()) == ("" if is_hidden else str(desk.window))
    middle = desk.window.winfo_rootx() + desk.window.winfo_width() // 2
    left = dialog.window.winfo_rootx()
    assert is_hidden or left <= middle <= left + dialog.window.winfo_width()
    desk.press_button("allow")
    desk.reply_to(request)


def test_many_questions_scroll_by_wheel_and_with_the_focus(desk):
    """They fit on the screen, wherever the mouse is in the window and whatever Tab leads to."""
    many = [{**FRUITS, "question": f"Which fruits, {number}?"} for number in range(12)]
    request = desk.ask_questions(*many)
    dialog = desk.shown()
    dialog.window.update()
    assert dialog.window.winfo_height() < desk.window.winfo_screenheight()
    first, last = dialog.view.fields[0].buttons[0], dialog.view.fields[-1].other
    before = first.winfo_rooty()
    for event, is_above in (("<Button-5>", True), ("<Button-4>", False)):
        first.event_generate(event)
        desk.until(lambda is_above=is_above: (first.winfo_rooty() < before) == is_above)
    first.event_generate("<MouseWheel>", delta=-120)
    desk.until(lambda: first.winfo_rooty() < before)
    bottom = dialog.view.buttons["answer"].winfo_rooty()
    assert last.winfo_rooty() > bottom
    last.focus_force()
    desk.until(lambda: last.winfo_rooty() + last.winfo_height() <= bottom)
    first.focus_force()
    desk.until(lambda: first.winfo_rooty() >= dialog.window.winfo_rooty())
    desk.close(dialog)
    desk.reply_to(request)


def test_what_is_too_large_for_a_display_is_limited_or_declined(desk, caplog):
    """A widget that is higher than a display can draw would end the program."""
    option = {"label": "W" * 5_000, "description": "about\n" * 5_000}
    long = [
        {"question": f"{number}" + "\nwhy?" * 5_000, "header": "W" * 5_000, "options": [option] * 4}
        for number in range(4)
    ]
    request = desk.ask_questions(*long)
    dialog = desk.shown()
    dialog.window.update()
    assert dialog.window.winfo_height() < desk.window.winfo_screenheight()
    assert dialog.view.fields[0].frame.winfo_reqheight() < 5_000
    desk.close(dialog)
    desk.reply_to(request)
    request = desk.ask_questions({**COLOUR, "options": [option] * 800})
    desk.until(lambda: "more than a window has room for" in caplog.text)
    assert desk.reply_to(request)["behavior"] == "deny"


def test_the_end_of_the_window_denies_what_is_open(desk, capfd):
    """The one that is shown and those that wait; the client ends with it, nothing is printed."""
    requests = [desk.ask("Bash", {"command": f"make {number}"}) for number in range(3)]
    desk.shown()
    desk.window.destroy()
    assert [desk.reply_to(request)["behavior"] for request in requests] == ["deny"] * 3
    with pytest.raises(claude_sync.ClientClosed):
        desk.turn.result(60)
    desk.client.close()
    assert capfd.readouterr().err == ""


def test_without_fonts_it_is_a_no_that_says_why(desk, caplog, monkeypatch):
    """Tk raises with the first letter; nobody waits, and the program lives on."""
    import tkinter

    def view_of(*_):
        raise tkinter.TclError("failed to allocate font due to internal system font problem")

    monkeypatch.setattr(desk.module, "view_of", view_of)
    request = desk.ask()
    desk.until(lambda: "failed on PermissionRequest" in caplog.text)
    assert desk.reply_to(request)["behavior"] == "deny"
    assert "Tk finds no fonts, so the request is denied. Install some" in caplog.text
    assert desk.window.winfo_children() == []


def test_a_handler_needs_a_window_that_lives(desk, root):
    """And no other thing."""
    with pytest.raises(UsageError, match="window or widget"):
        desk.gui.PermissionDialog.handler(None)
    root.destroy()
    with pytest.raises(UsageError, match="has been destroyed"):
        desk.gui.QuestionDialog.handler(root)


def test_nothing_of_a_dialog_is_left(desk):
    """No window, no variable, no command, no font per dialog, and no object."""
    tk = desk.window.tk

    def left():
        names = (("info", "commands"), ("info", "globals"), ("font", "names"))
        return [len(tk.splitlist(tk.call(*each))) for each in names]

    gone, counts = [], []
    gc.collect()
    gc.disable()  # which would do its work on any thread
    try:
        for _ in range(3):
            for ask, button in (
                (lambda: desk.ask(permission_suggestions=[RULE]), "allow"),
                (lambda: desk.ask_questions(COLOUR, FRUITS), "decline"),
            ):
                request = ask()
                gone.append(weakref.ref(desk.shown().window))
                desk.press_button(button)
                desk.made.clear()
                desk.reply_to(request)
            desk.window.update()
            counts.append(left())
        assert [each() for each in gone] == [None] * 6
    finally:
        gc.enable()
    assert counts[1] == counts[2]
