"""The window that asks for permission: what it shows, each way to answer, each way to end."""

import gc
import threading
import weakref

import pytest
from tk_events import click, press, write
from window_fixtures import PATIENCE

import claude_sync
from claude_sync import LATER, UsageError
from claude_sync.permissions import forms

RULE = {
    "type": "addRules",
    "rules": [{"toolName": "Bash", "ruleContent": "make:*"}],
    "behavior": "allow",
    "destination": "localSettings",
}


@pytest.fixture
def gui(tkinter):
    """The module."""
    from claude_sync.gui import tk

    return tk


def waiting_for(root):
    """How many requests wait until it is their turn to be shown over a window."""
    from claude_sync.gui.tk_dialogs import prompts_of

    return len(prompts_of(root)._waiting)


class Asking:
    """A client in a window, in a turn, with a handler that opens dialogs."""

    def __init__(self, gui, talk, root, until):
        self.talk = talk
        self.cli, self.client, self.root = talk.cli, talk.client, root
        self._until = until
        self.dialogs = dialogs = []

        class Dialog(gui.PermissionDialog):
            def __init__(self, *arguments):
                super().__init__(*arguments)
                dialogs.append(self)

        self.handler = Dialog.handler(root)
        self.client.on_permission(self.handler)
        self.turn = talk.begin()

    def ask(self, *arguments, **fields):
        """The CLI asks."""
        return self.talk.ask(*arguments, **fields)

    def until(self, condition):
        """Run the window's loop."""
        self._until(self.root, condition)

    def shown(self, count=1):
        """The dialog that is shown as the *count*-th, once it is."""
        self.until(lambda: len(self.dialogs) >= count)
        return self.dialogs[count - 1]

    def waiting(self):
        """How many requests wait until it is their turn to be shown."""
        return waiting_for(self.root)

    def reply_to(self, request):
        """What the CLI gets."""
        return self.cli.expect_reply(request)

    def end(self):
        """The turn goes on and ends."""
        self.talk.end("went on")
        self.until(self.turn.done)
        assert self.turn.result() == "went on"


@pytest.fixture
def asking(gui, talk, root, until):
    """See :class:`Asking`."""
    each = talk()
    gui.attach(each.client, root)
    root.update()
    return Asking(gui, each, root, until)


# What it shows.


def test_a_change_is_shown_with_colours(asking, tmp_path):
    """Line by line; the text cannot be changed."""
    file = tmp_path / "notes.txt"
    file.write_text("one\ntwo\n")
    request = asking.ask("Write", {"file_path": str(file), "content": "one\nthree\n"})
    dialog = asking.shown()
    assert dialog.window.title() == dialog.form.title
    text = dialog.view.preview
    lines = text.get("1.0", "end-1c").split("\n")
    assert lines[-3:] == [" one", "-two", "+three"]
    tags = [text.tag_names(f"{number}.0") for number in range(1, len(lines) + 1)]
    assert tags[-4:] == [("hunk",), ("plain",), ("removed",), ("added",)]
    # To the right of its text, too: the newline has the colour.
    ends = [text.tag_names(f"{number}.end") for number in range(1, len(lines) + 1)]
    assert ends == tags
    colours = {str(text.tag_cget(tag, "background")) for tag in ("hunk", "removed", "added")}
    assert len(colours) == 3
    assert str(text["state"]) == "disabled"
    assert str(text["font"]) == "TkFixedFont"
    assert dialog.view.always is None
    click(dialog.view.allow)
    assert asking.reply_to(request)["behavior"] == "allow"
    asking.end()


def test_a_long_preview_scrolls(asking):
    """Up and down; a short one has no scrollbar."""
    command = "\n".join("x" * 300 for _ in range(100))
    requests = [asking.ask("Bash", {"command": "ls"}), asking.ask("Bash", {"command": command})]
    bars = []
    for number, request in enumerate(requests, 1):
        dialog = asking.shown(number)
        dialog.window.update()
        frame = dialog.view.preview.master
        bars.append([bar.winfo_ismapped() for bar in frame.winfo_children()[1:]])
        assert dialog.window.winfo_height() < asking.root.winfo_screenheight()
        click(dialog.view.deny)
        asking.reply_to(request)
    assert bars == [[0], [1]]
    asking.end()


def test_nothing_hides_at_the_end_of_a_line(asking):
    """A command that goes on behind many blanks is seen as a whole."""
    request = asking.ask("Bash", {"command": "ls" + " " * 300 + "; rm -rf build"})
    dialog = asking.shown()
    dialog.window.update()
    assert dialog.view.preview.bbox(dialog.view.preview.search("rm -rf", "1.0")) is not None
    click(dialog.view.deny)
    asking.reply_to(request)
    asking.end()


def test_all_edits_are_one_choice_and_everything_can_be_seen(asking):
    """Where the CLI offers the mode; elsewhere there is no such button."""
    mode = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}
    request = asking.ask(permission_suggestions=[mode])
    dialog = asking.shown()
    assert dialog.view.always is None
    click(dialog.view.edits)
    assert asking.reply_to(request)["updatedPermissions"] == [mode]
    request = asking.ask("Bash", {"command": "x" * 5000})
    dialog = asking.shown(2)
    assert dialog.view.edits is None
    click(dialog.view.everything)
    assert "x" * 5000 in dialog.view.preview.get("1.0", "end")
    click(dialog.view.deny)
    asking.reply_to(request)
    asking.end()


def test_always_is_a_button_with_an_explanation(asking, tkinter):
    """Which says what would be allowed."""
    request = asking.ask(permission_suggestions=[RULE])
    dialog = asking.shown()

    def texts(widget):
        if isinstance(widget, tkinter.ttk.Label):
            yield str(widget["text"])
        for child in widget.winfo_children():
            yield from texts(child)

    assert [words for words in texts(dialog.window) if dialog.form.always in words]
    click(dialog.view.always)
    reply = asking.reply_to(request)
    assert reply["updatedPermissions"] == [{**RULE, "destination": "session"}]
    assert not dialog.is_open
    asking.end()


def test_it_appears_over_the_middle_of_its_window(asking):
    """And belongs to it."""
    request = asking.ask()
    dialog = asking.shown()
    dialog.window.update()
    assert str(dialog.window.wm_transient()) == str(asking.root)
    middle = asking.root.winfo_rootx() + asking.root.winfo_width() // 2
    left = dialog.window.winfo_rootx()
    assert left <= middle <= left + dialog.window.winfo_width()
    click(dialog.view.allow)
    asking.reply_to(request)
    asking.end()


def test_it_appears_without_a_visible_window_too(asking):
    """What belongs to a hidden window would be hidden."""
    asking.root.withdraw()
    asking.root.update()
    request = asking.ask()
    dialog = asking.shown()
    asking.until(dialog.window.winfo_viewable)
    assert str(dialog.window.wm_transient()) == ""
    click(dialog.view.allow)
    assert asking.reply_to(request)["behavior"] == "allow"
    asking.end()


# The answer.


def end_by_window_manager(dialog):
    """What the button in the window's frame does."""
    tk = dialog.window.tk
    tk.eval(tk.call("wm", "protocol", dialog.window, "WM_DELETE_WINDOW"))


def write_and(end):
    """Write a reason before the end."""
    return lambda dialog: (write(dialog.view.reason, "use cmake"), end(dialog))


# By what the person does: the answer, and what Claude reads.
WAYS = {
    "allow": (lambda dialog: click(dialog.view.allow), "allow", None),
    "Alt-A": (lambda dialog: press(dialog.view.preview, "Alt-a"), "allow", None),
    "Alt-L": (lambda dialog: press(dialog.view.preview, "Alt-l"), "allow", None),
    "space on allow": (lambda dialog: press(dialog.view.allow, "space"), "allow", None),
    "deny": (lambda dialog: click(dialog.view.deny), "deny", forms.DENIED_BY_PERSON),
    "Alt-D": (lambda dialog: press(dialog.view.preview, "Alt-d"), "deny", forms.DENIED_BY_PERSON),
    "Escape": (lambda dialog: press(dialog.view.preview, "Escape"), "deny", forms.DENIED_BY_PERSON),
    "Enter": (lambda dialog: press(dialog.view.reason, "Return"), "deny", forms.DENIED_BY_PERSON),
    "close": (lambda dialog: dialog.close(), "deny", forms.CLOSED_UNDECIDED),
    "destroy": (lambda dialog: dialog.window.destroy(), "deny", forms.CLOSED_UNDECIDED),
    "window manager": (end_by_window_manager, "deny", forms.CLOSED_UNDECIDED),
    "reason, deny": (write_and(lambda dialog: click(dialog.view.deny)), "deny", "use cmake"),
    "reason, Escape": (
        write_and(lambda dialog: press(dialog.view.reason, "Escape")),
        "deny",
        "use cmake",
    ),
}


def test_every_way_to_answer(asking):
    """One answer, with the reason if there is one, and the window is gone."""
    wrong = {}
    for number, (way, (how, *expected)) in enumerate(WAYS.items(), 1):
        request = asking.ask(permission_suggestions=[RULE])
        dialog = asking.shown(number)
        how(dialog)
        reply = asking.reply_to(request)
        found = [reply["behavior"], reply.get("message")]
        if found != expected or dialog.is_open:
            wrong[way] = (found, dialog.is_open)
        dialog.close()
    assert wrong == {}
    asking.end()
    asking.cli.assert_done()


def test_enter_allows_nothing(asking):
    """Nor does anything else that somebody types who did not see the window come."""
    request = asking.ask(permission_suggestions=[RULE])
    dialog = asking.shown()
    dialog.window.update()
    focus = dialog.window.focus_lastfor()
    assert focus is dialog.view.preview
    for widget in (focus, dialog.window, dialog.view.allow, dialog.view.always):
        press(widget, "Return", "KP_Enter")
    press(focus, "space", "Key-y", "Key-a")
    assert dialog.is_open
    assert dialog.form.is_open
    click(dialog.view.deny)
    assert asking.reply_to(request)["behavior"] == "deny"
    asking.end()


def test_what_just_appeared_allows_nothing(asking, monkeypatch):
    """The second click of a double click falls on the dialog that follows; a no is heard."""
    first, second = asking.ask(), asking.ask(permission_suggestions=[RULE])
    asking.shown()
    monkeypatch.setattr(forms, "SETTLING", 3_600_000)
    click(asking.dialogs[0].view.allow)
    assert asking.reply_to(first)["behavior"] == "allow"
    dialog = asking.shown(2)
    for button in (dialog.view.allow, dialog.view.always):
        click(button)
        press(button, "space")
    press(dialog.view.preview, "Alt-a", "Alt-l")
    assert dialog.is_open
    assert dialog.form.is_open
    click(dialog.view.deny)
    assert asking.reply_to(second)["behavior"] == "deny"
    asking.end()


def test_what_has_been_there_for_a_moment_allows(asking, monkeypatch):
    """And not before."""
    monkeypatch.setattr(forms, "SETTLING", 1)
    request = asking.ask(permission_suggestions=[RULE])
    dialog = asking.shown()
    asking.until(lambda: dialog.view.allow.instate(["!disabled"]))
    assert dialog.view.always.instate(["!disabled"])
    click(dialog.view.allow)
    assert asking.reply_to(request)["behavior"] == "allow"
    asking.end()


def test_the_rest_of_the_program_stays_usable(asking, tkinter):
    """A Stop button works while the window is there, and takes the window with it."""
    stopped = []
    button = tkinter.Button(
        asking.root, text="Stop", command=lambda: stopped.append(asking.turn.cancel())
    )
    button.pack()
    request = asking.ask()
    dialog = asking.shown()
    click(button)
    assert stopped == [False]
    stopping = asking.cli.expect("control_request", subtype="interrupt")
    asking.cli.cancel(request)
    asking.cli.reply(stopping)
    asking.cli.end_interrupted(asking.talk.user)
    asking.until(asking.turn.done)
    asking.until(lambda: not dialog.is_open)
    with pytest.raises(claude_sync.TurnInterrupted):
        asking.turn.result()


# Several at once.


def test_several_requests_are_shown_one_after_the_other(asking):
    """In order, none lost, each with its own answer."""
    requests = [asking.ask("Bash", {"command": f"make {number}"}) for number in range(3)]
    for number, request in enumerate(requests, 1):
        dialog = asking.shown(number)
        asking.root.update()
        assert len(asking.dialogs) == number
        assert dialog.form.request.input == {"command": f"make {number - 1}"}
        click(dialog.view.deny if number == 2 else dialog.view.allow)
        assert asking.reply_to(request)["behavior"] == ("deny" if number == 2 else "allow")
    asking.end()


def test_what_is_withdrawn_while_it_waits_is_never_shown(asking):
    """The one after it comes next."""
    requests = [asking.ask("Bash", {"command": f"make {number}"}) for number in range(3)]
    first = asking.shown()
    asking.until(lambda: asking.waiting() == 2)
    asking.cli.cancel(requests[1])
    waiting = asking.client._session
    asking.until(lambda: len(waiting.connection.opened) == 2)
    click(first.view.allow)
    asking.reply_to(requests[0])
    second = asking.shown(2)
    assert second.form.request.input == {"command": "make 2"}
    click(second.view.allow)
    asking.reply_to(requests[2])
    asking.end()


def test_two_clients_share_the_order_of_their_window(gui, talk, root, until, asking):
    """There is one dialog over a window at a time, whoever asks."""
    other = talk()
    gui.attach(other.client, root)
    other.client.on_permission(asking.handler)
    turn = other.begin()
    mine, yours = asking.ask("Bash", {"command": "one"}), None
    first = asking.shown()
    yours = other.ask("Bash", {"command": "two"})
    asking.until(lambda: asking.waiting() == 1)
    assert len(asking.dialogs) == 1
    click(first.view.allow)
    asking.reply_to(mine)
    click(asking.shown(2).view.deny)
    assert other.cli.expect_reply(yours)["behavior"] == "deny"
    asking.end()
    other.end()
    until(root, turn.done)


# Ends that nobody chose.


@pytest.fixture
def never_looking(gui, monkeypatch):
    """Dialogs that must be told, because they do not look by themselves."""
    from claude_sync.gui import tk_dialogs

    monkeypatch.setattr(tk_dialogs, "LOOK", 10_000_000)


def test_a_withdrawn_request_takes_its_window_with_it(never_looking, asking):
    """Nothing is answered."""
    request = asking.ask()
    dialog = asking.shown()
    asking.cli.cancel(request)
    asking.until(lambda: not dialog.is_open)
    asking.end()
    asking.cli.assert_done()


def test_the_window_goes_when_the_cli_dies(never_looking, asking):
    """Whoever decides must not decide about nothing."""
    asking.ask()
    dialog = asking.shown()
    asking.cli.hang_up(1)
    asking.until(lambda: not dialog.is_open)
    asking.until(asking.turn.done)
    assert isinstance(asking.turn.exception(), claude_sync.CliExited)


def test_the_window_goes_when_the_client_closes(asking):
    """While the rest of the program lives on."""
    asking.ask()
    dialog = asking.shown()
    asking.client.close(wait=False)
    asking.until(lambda: not dialog.is_open)
    assert asking.root.winfo_exists()


def test_the_window_goes_when_somebody_else_answers(asking):
    """A program may have other ways to decide."""
    request = asking.ask()
    dialog = asking.shown()
    dialog.form.request.deny("by a clock")
    assert asking.reply_to(request)["message"] == "by a clock"
    asking.until(lambda: not dialog.is_open)
    asking.end()
    asking.cli.assert_done()


def test_a_client_that_was_detached_takes_its_windows_with_it(gui, talk, root, until):
    """Even if nobody can tell Tk that the request is no longer open."""
    each = talk()
    attachment = gui.attach(each.client, root)
    asking = Asking(gui, each, root, until)
    request = asking.ask()
    dialog = asking.shown()
    attachment.detach()
    asking.cli.cancel(request)
    asking.until(lambda: not dialog.is_open)
    asking.end()


def test_the_end_of_the_program_denies_what_is_open(asking, capfd):
    """The one that is shown and those that wait; nothing is printed."""
    requests = [asking.ask("Bash", {"command": f"make {number}"}) for number in range(3)]
    dialog = asking.shown()
    asking.until(lambda: asking.waiting() == 2)
    asking.root.destroy()
    assert not dialog.is_open
    assert [asking.reply_to(request)["behavior"] for request in requests] == ["deny"] * 3
    with pytest.raises(claude_sync.ClientClosed):
        asking.turn.result(PATIENCE)
    asking.client.close()
    assert len(asking.dialogs) == 1
    assert capfd.readouterr().err == ""


def test_requests_that_no_frame_has_seen_are_denied_too(asking, monkeypatch):
    """They waited for the window, which went."""
    frames = asking.client._session.dispatch.posting
    arrived, add = threading.Event(), frames._add

    def noting(call):
        added = add(call)
        if call.instead is not None:  # somebody waits for what it does
            arrived.set()
        return added

    monkeypatch.setattr(frames, "_add", noting)
    request = asking.ask()
    assert arrived.wait(PATIENCE)
    asking.root.destroy()
    assert asking.reply_to(request)["behavior"] == "deny"
    asking.client.close()


# What goes wrong.


def test_a_dialog_that_cannot_be_built_is_a_no(gui, talk, root, until, caplog, monkeypatch):
    """Now, and when its turn comes later; those after it are shown."""
    from claude_sync.gui import tk_dialogs

    each, dialogs = talk(), []
    gui.attach(each.client, root)

    def view_of(parent, form, *arguments, **settings):
        dialogs.append(None)
        if "break" in form.request.input["command"]:
            raise RuntimeError("no room")
        dialogs[-1] = made(parent, form, *arguments, **settings)
        return dialogs[-1]

    made = tk_dialogs.view_of
    monkeypatch.setattr(tk_dialogs, "view_of", view_of)
    each.client.on_permission(gui.PermissionDialog.handler(root))
    turn = each.begin()
    requests = [each.ask("Bash", {"command": word}) for word in ("break", "x", "break", "y")]
    reply_to = each.cli.expect_reply
    until(root, lambda: len(dialogs) == 2 and waiting_for(root) == 2)
    assert reply_to(requests[0])["behavior"] == "deny"
    click(dialogs[1].allow)
    assert reply_to(requests[1])["behavior"] == "allow"
    until(root, lambda: len(dialogs) == 4)
    assert reply_to(requests[2])["behavior"] == "deny"
    click(dialogs[3].allow)
    assert reply_to(requests[3])["behavior"] == "allow"
    each.end()
    until(root, turn.done)
    assert "a dialog could not be shown" in caplog.text
    assert [child for child in root.winfo_children() if child.winfo_class() == "Toplevel"] == []


def test_without_fonts_it_is_a_no_that_says_why(
    gui, talk, root, until, tkinter, caplog, monkeypatch
):
    """Tk raises with the first letter; nobody waits, and the program lives on."""
    from claude_sync.gui import tk_dialogs

    each = talk()
    gui.attach(each.client, root)

    def view_of(*arguments, **settings):
        raise tkinter.TclError("failed to allocate font due to internal system font problem")

    monkeypatch.setattr(tk_dialogs, "view_of", view_of)
    each.client.on_permission(gui.PermissionDialog.handler(root))
    turn = each.begin()
    request = each.ask()
    until(root, lambda: "failed on PermissionRequest" in caplog.text)
    assert each.cli.expect_reply(request)["behavior"] == "deny"
    assert "Tk finds no fonts, so the answer is no. Install some" in caplog.text
    each.end()
    until(root, turn.done)
    assert root.winfo_children() == []


def test_without_attach_it_is_a_no_that_says_why(gui, talk, root, caplog):
    """The handler would run on another thread, where Tk cannot be used."""
    each = talk()
    each.client.on_permission(gui.PermissionDialog.handler(root))
    turn = each.begin()
    assert each.cli.expect_reply(each.ask())["behavior"] == "deny"
    each.end()
    turn.result(PATIENCE)
    assert "claude_sync.gui.tk.attach(client, root)" in caplog.text


@pytest.mark.parametrize("name", ["PermissionDialog", "QuestionDialog"])
def test_a_handler_needs_a_window_that_lives(gui, root, name):
    """And its thread."""
    dialog = getattr(gui, name)
    with pytest.raises(UsageError, match="window or widget"):
        dialog.handler(None)
    errors = []

    def call():
        try:
            dialog.handler(root)
        except UsageError as error:
            errors.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    thread.join(PATIENCE)
    assert len(errors) == 1
    root.destroy()
    with pytest.raises(UsageError, match="has been destroyed"):
        dialog.handler(root)
    with pytest.raises(UsageError, match="has been destroyed"):
        dialog(root, None)


def test_a_dialog_can_be_opened_by_hand(gui, talk, root, until):
    """In a handler of the program's own."""
    each, opened = talk(), []
    gui.attach(each.client, root)

    def decide(request):
        opened.append(gui.PermissionDialog(root, request))
        return LATER

    each.client.on_permission(decide)
    turn = each.begin()
    request = each.ask()
    until(root, lambda: opened)
    click(opened[0].view.allow)
    assert each.cli.expect_reply(request)["behavior"] == "allow"
    each.end()
    until(root, turn.done)


def test_nothing_of_a_dialog_is_left(asking, tkinter):
    """No window, no command, no font per dialog, and no object."""

    def commands():
        return set(asking.root.tk.splitlist(asking.root.tk.call("info", "commands")))

    def fonts():
        return len(asking.root.tk.splitlist(asking.root.tk.call("font", "names")))

    gone, counts = [], []
    gc.collect()
    gc.disable()  # which would do its work on any thread
    try:
        for _ in range(3):
            request = asking.ask(permission_suggestions=[RULE])
            asking.until(lambda: asking.dialogs)
            dialog = asking.dialogs.pop()
            gone.append(weakref.ref(dialog.window))
            click(dialog.view.allow)
            asking.reply_to(request)
            del dialog
            asking.root.update()
            counts.append((len(commands()), fonts()))
        assert [each() for each in gone] == [None] * 3
    finally:
        gc.enable()
    assert counts[1] == counts[2]
    asking.end()
