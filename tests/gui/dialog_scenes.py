"""
What dialogs do, whatever toolkit draws them: tests for ``test_tk_dialogs`` and ``test_qt_dialogs``.

Each of the two has a fixture ``desk``: a window with a client in a turn, whose requests come to
dialogs, and the person in front of it (:class:`Desk`).
"""

from __future__ import annotations

import logging
import threading

import pytest

from claude_sync import LATER, UsageError
from claude_sync.permissions import forms

RULE = {
    "type": "addRules",
    "rules": [{"toolName": "Bash", "ruleContent": "make:*"}],
    "behavior": "allow",
    "destination": "localSettings",
}
MODE = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}
COLOUR = {
    "question": "Which colour?",
    "header": "Colour",
    "options": [{"label": "Red", "description": "as fire"}, {"label": "Blue", "description": ""}],
    "multiSelect": False,
}
FRUITS = {
    "question": "Which fruits?",
    "header": "Fruit",
    "options": [{"label": "Apple"}, {"label": "Pear"}, {"label": "Plum"}],
    "multiSelect": True,
}


class Desk:
    """
    A window, and the person in front of it; each toolkit has one.

    Attributes:
        gui: The module, ``gui.tk`` or ``gui.qt``.
        window: The window.
        cli, client, attachment, user: The conversation.

        has_keys: Whether its platform knows keys like Alt-a; that of Qt without a screen does not.

    """

    has_keys = True

    def until(self, condition):
        """Let the window's loop run until something holds."""

    def dialogs(self):
        """The dialogs that can be seen."""

    def click(self, button):
        """Click it."""

    def can_click(self, button):
        """Whether it works."""

    def write(self, entry, words):
        """Write into a line."""

    def press(self, widget, key):
        """Press ``Enter``, ``Escape``, ``Space`` or ``Alt-a``."""

    def focused(self, dialog):
        """What has the focus in a dialog."""

    def texts(self, dialog):
        """What its labels say."""

    def preview(self, text):
        """What a text shows."""

    def marked(self, field):
        """Which options of a question are marked."""

    def close(self, dialog):
        """What the button in the window's frame does."""

    def destroy(self, widget):
        """The end of a widget."""

    def type_elsewhere(self):
        """The person types into a line of the program: the line."""

    def has_focus(self, widget):
        """Whether what is typed goes there."""

    def replace(self, handler):
        """Have another handler of permissions."""
        self.client.off(self.handler)
        self.handler = self.client.on_permission(handler)

    def ask(self, tool="Bash", given=None, **fields):
        """The CLI asks for permission."""
        return self.cli.ask_permission(tool, given or {"command": "make"}, **fields)

    def ask_questions(self, *questions):
        """The CLI asks questions."""
        return self.ask("AskUserQuestion", {"questions": list(questions)})

    def shown(self):
        """The dialog that is seen; there is one at a time."""
        self.until(self.dialogs)
        (dialog,) = self.dialogs()
        return dialog

    def press_button(self, name):
        """Click a button of the dialog that is seen, and see the dialog go."""
        dialog = self.shown()
        self.until(lambda: self.can_click(dialog.view.buttons[name]))
        self.click(dialog.view.buttons[name])
        self.until(lambda: dialog not in self.dialogs())

    def reply_to(self, request):
        """What the CLI gets."""
        return self.cli.expect_reply(request)


# Permissions.


def test_allow(desk):
    """It runs with the input that was shown."""
    request = desk.ask("Bash", {"command": "rm -rf build"})
    dialog = desk.shown()
    assert isinstance(dialog, desk.gui.PermissionDialog)
    assert "rm -rf build" in desk.preview(dialog.view.preview)
    desk.press_button("allow")
    reply = desk.reply_to(request)
    assert (reply["behavior"], reply["updatedInput"]) == ("allow", {"command": "rm -rf build"})
    assert "updatedPermissions" not in reply


def test_each_choice_is_a_button_that_says_what_it_means(desk):
    """Where the CLI offers it; elsewhere there is no such button."""
    request = desk.ask(permission_suggestions=[RULE])
    dialog = desk.shown()
    assert any(dialog.form.always in text for text in desk.texts(dialog))
    assert set(dialog.view.buttons) == {"allow", "allow_always", "deny", "everything"}
    desk.press_button("allow_always")
    reply = desk.reply_to(request)
    assert reply["updatedPermissions"] == [{**RULE, "destination": "session"}]
    request = desk.ask(permission_suggestions=[MODE])
    assert "accept_edits" in desk.shown().view.buttons
    desk.press_button("accept_edits")
    assert desk.reply_to(request)["updatedPermissions"] == [MODE]


def test_everything_can_be_seen(desk):
    """A preview leaves out some of a long text."""
    request = desk.ask("Bash", {"command": "x" * 5000})
    dialog = desk.shown()
    assert "x" * 5000 not in desk.preview(dialog.view.preview)
    desk.click(dialog.view.buttons["everything"])
    assert "x" * 5000 in desk.preview(dialog.view.preview)
    desk.press_button("deny")
    desk.reply_to(request)


def deny_by(desk, dialog, way):
    """Say no."""
    view = dialog.view
    if way.startswith("reason"):
        desk.write(view.reason, "later")
    if way in ("deny", "reason, deny"):
        desk.click(view.buttons["deny"])
    elif way == "reason, Enter":
        desk.press(view.reason, "Enter")
    elif way == "Escape":
        desk.press(view.preview, "Escape")
    elif way == "Alt-d" and desk.has_keys:
        desk.press(view.preview, "Alt-d")
    elif way == "destroy":
        desk.destroy(dialog)
    else:
        desk.close(dialog)


NO, CLOSED = forms.DENIED_BY_PERSON, forms.CLOSED_UNDECIDED
WAYS = {
    "deny": (NO,),
    "reason, deny": ("later",),
    "reason, Enter": ("later",),
    "Alt-d": (NO, CLOSED),
    "Escape": (NO, CLOSED),
    "close": (CLOSED,),
    "destroy": (CLOSED,),
}


def test_every_way_to_say_no(desk):
    """One answer, with the reason if there is one, and the window is gone."""
    for way, messages in WAYS.items():
        request = desk.ask(permission_suggestions=[RULE])
        deny_by(desk, desk.shown(), way)
        reply = desk.reply_to(request)
        assert (way, reply["behavior"]) == (way, "deny")
        assert reply["message"] in messages
        desk.until(lambda: not desk.dialogs())
    desk.cli.assert_done()


def test_enter_allows_nothing(desk):
    """A dialog may appear while somebody types."""
    request = desk.ask(permission_suggestions=[RULE])
    dialog = desk.shown()
    assert desk.focused(dialog) is dialog.view.preview
    for widget in (dialog.view.preview, *(dialog.view.buttons[name] for name in ("allow", "deny"))):
        desk.press(widget, "Enter")
    assert desk.dialogs() == [dialog]
    desk.press_button("deny")
    assert desk.reply_to(request)["behavior"] == "deny"


def test_what_just_appeared_allows_nothing(desk, monkeypatch):
    """The second click of a double click falls on the dialog that follows; a no is heard."""
    first, second = desk.ask(), desk.ask(permission_suggestions=[RULE])
    desk.shown()
    monkeypatch.setattr(forms, "SETTLING", 3_600_000)
    desk.press_button("allow")
    assert desk.reply_to(first)["behavior"] == "allow"
    dialog = desk.shown()
    for name in ("allow", "allow_always"):
        desk.click(dialog.view.buttons[name])
        desk.press(dialog.view.buttons[name], "Space")
    for key in ("Alt-a", "Alt-w"):
        desk.press(dialog.view.preview, key)
    assert desk.dialogs() == [dialog]
    desk.click(dialog.view.buttons["deny"])
    assert desk.reply_to(second)["behavior"] == "deny"


def test_what_has_been_there_for_a_moment_allows(desk, monkeypatch):
    """And not before; by a key, too."""
    monkeypatch.setattr(forms, "SETTLING", 1)
    request = desk.ask()
    dialog = desk.shown()
    desk.until(lambda: desk.can_click(dialog.view.buttons["allow"]))
    if desk.has_keys:
        desk.press(dialog.view.preview, "Alt-a")
    else:
        desk.click(dialog.view.buttons["allow"])
    assert desk.reply_to(request)["behavior"] == "allow"


def test_who_types_goes_on_typing(desk):
    """A dialog that appears does not take the focus, nor block the window."""
    line = desk.type_elsewhere()
    request = desk.ask()
    desk.shown()
    assert desk.has_focus(line)
    desk.press_button("allow")
    desk.reply_to(request)


def test_an_answer_that_is_refused_is_told_in_the_dialog(desk, caplog):
    """A program that changed the input sees why it is not run; the person can still deny."""
    request = desk.ask()
    dialog = desk.shown()
    dialog.form.request.input["command"] = "ls"
    desk.until(lambda: desk.can_click(dialog.view.buttons["allow"]))
    with caplog.at_level(logging.WARNING, "claude_sync"):
        desk.click(dialog.view.buttons["allow"])
    assert desk.dialogs() == [dialog]
    assert any("request.input was changed" in text for text in desk.texts(dialog))
    assert "request.input was changed" in caplog.text
    desk.press_button("deny")
    assert desk.reply_to(request)["behavior"] == "deny"


# Several at once.


def test_requests_are_shown_one_after_the_other(desk):
    """In order, none lost, each with its own answer; what is withdrawn is never shown."""
    requests = [desk.ask("Bash", {"command": f"make {number}"}) for number in range(4)]
    desk.shown()
    desk.cli.cancel(requests[1])
    for number, name, behavior in (
        (0, "allow", "allow"),
        (2, "deny", "deny"),
        (3, "allow", "allow"),
    ):
        desk.until(lambda number=number: desk.dialogs() and f"make {number}" in seen(desk))
        desk.press_button(name)
        assert desk.reply_to(requests[number])["behavior"] == behavior
    desk.cli.assert_done()


def seen(desk):
    """The preview of the dialog that is seen."""
    return desk.preview(desk.shown().view.preview)


# When the answer is no longer wanted.


@pytest.mark.parametrize("end", ["withdrawn", "answered", "detached", "died", "closed"])
def test_the_dialog_goes_when_nobody_waits_for_it(desk, end):
    """Nothing is answered then, and nobody has to click."""
    request = desk.ask()
    dialog = desk.shown()
    if end == "withdrawn":
        desk.cli.cancel(request)
    elif end == "answered":
        answering = threading.Thread(target=dialog.form.request.deny, args=("elsewhere",))
        answering.start()
        answering.join()
        assert desk.reply_to(request)["message"] == "elsewhere"
    elif end == "detached":
        desk.attachment.detach()
        desk.cli.cancel(request)
    elif end == "died":
        desk.cli.hang_up(1)
    else:
        desk.client.close(wait=False)
    desk.until(lambda: not desk.dialogs())


# Questions.


def test_questions_are_answered_together(desk):
    """One choice, several, and words of one's own; the button works when none is missing."""
    request = desk.ask_questions(COLOUR, FRUITS)
    view = desk.shown().view
    # Without a handler for questions they come to that for permissions.
    assert isinstance(desk.shown(), desk.gui.QuestionDialog)
    colour, fruit = view.fields
    assert not desk.can_click(view.buttons["answer"])
    desk.click(colour.buttons[0])
    desk.click(colour.buttons[1])
    assert desk.marked(colour) == [False, True]
    assert not desk.can_click(view.buttons["answer"])
    for number in (2, 1, 0, 1):
        desk.click(fruit.buttons[number])
    desk.write(fruit.other, "fig")
    assert desk.marked(fruit) == [True, False, True]
    desk.press_button("answer")
    answers = desk.reply_to(request)["updatedInput"]["answers"]
    assert answers == {"Which colour?": "Blue", "Which fruits?": "Apple, Plum, fig"}


def test_other_words_replace_a_choice_and_back(desk):
    """What is marked is what is answered."""
    request = desk.ask_questions(COLOUR)
    dialog = desk.shown()
    (colour,) = dialog.view.fields
    desk.click(colour.buttons[0])
    desk.write(colour.other, "green")
    assert desk.marked(colour) == [False, False]
    assert dialog.form.answers() == {"Which colour?": "green"}
    desk.click(colour.buttons[0])
    desk.click(colour.buttons[0])  # a second click does not take it back
    assert desk.marked(colour) == [True, False]
    desk.write(colour.other, "x")  # and what was written is gone
    assert dialog.form.answers() == {"Which colour?": "x"}
    desk.press_button("answer")
    assert desk.reply_to(request)["updatedInput"]["answers"] == {"Which colour?": "x"}


def test_the_preview_of_an_option_is_shown(desk):
    """That of the one which was chosen last; harmless. Without any there is no room for it."""
    options = [{"label": "A", "preview": "a\x1b[1m\nb"}, {"label": "B"}]
    request = desk.ask_questions({**COLOUR, "options": options}, FRUITS)
    dialog = desk.shown()
    first, second = dialog.view.fields
    assert second.preview is None
    desk.click(first.buttons[0])
    assert desk.preview(first.preview).strip("\n") == "a\\x1b[1m\nb"
    desk.click(first.buttons[1])
    assert desk.preview(first.preview).strip("\n") == ""
    desk.close(dialog)
    desk.reply_to(request)


def test_every_way_to_decline(desk):
    """Whatever was chosen by then."""
    for way in ("decline", "Escape", "close", "destroy"):
        request = desk.ask_questions(COLOUR)
        dialog = desk.shown()
        desk.click(dialog.view.fields[0].buttons[0])
        if way == "decline":
            desk.click(dialog.view.buttons["decline"])
        elif way == "Escape":
            desk.press(dialog.view.fields[0].other, "Escape")
        else:
            getattr(desk, way)(dialog)
        assert "declined to answer" in desk.reply_to(request)["message"]
        desk.until(lambda: not desk.dialogs())


# What programs do.


def test_a_class_of_the_programs_own_is_used(desk):
    """``handler`` shows the class it is called on."""

    class Mine(desk.gui.PermissionDialog):
        pass

    desk.replace(Mine.handler(desk.window))
    request = desk.ask()
    assert type(desk.shown()) is Mine
    desk.press_button("allow")
    desk.reply_to(request)


def test_a_dialog_can_be_opened_by_hand(desk):
    """In a handler of the program's own."""
    opened = []

    def decide(request):
        opened.append(desk.open(request))
        return LATER

    desk.replace(decide)
    request = desk.ask()
    desk.until(lambda: opened)
    desk.press_button("allow")
    assert desk.reply_to(request)["behavior"] == "allow"


def test_a_dialog_that_cannot_be_built_is_a_no(desk, caplog, monkeypatch):
    """Now, and when its turn comes later; those after it are shown."""
    module = desk.module
    make = module.view_of

    def view_of(*arguments, **settings):
        form = next(each for each in arguments if isinstance(each, forms.PermissionForm))
        if "break" in form.request.input["command"]:
            raise RuntimeError("no room")
        return make(*arguments, **settings)

    monkeypatch.setattr(module, "view_of", view_of)
    words = ("break", "x", "break", "y")
    requests = [desk.ask("Bash", {"command": word}) for word in words]
    behaviors = []
    for broken, shown in (requests[:2], requests[2:]):
        desk.shown()
        behaviors.append(desk.reply_to(broken)["behavior"])
        desk.press_button("allow")
        behaviors.append(desk.reply_to(shown)["behavior"])
    assert behaviors == ["deny", "allow", "deny", "allow"]
    # Which of the two says so depends on whether the second one had to wait.
    assert "no room" in caplog.text


def test_without_attach_it_is_a_no_that_says_why(desk, caplog):
    """The handler would run on another thread, where no toolkit can be used."""
    desk.attachment.detach()
    assert desk.reply_to(desk.ask())["behavior"] == "deny"
    assert "thread" in caplog.text


def test_a_dialog_is_about_a_request(desk):
    """Anything else is refused."""
    with pytest.raises(UsageError, match="on_permission or on_question"):
        desk.gui.PermissionDialog.handler(desk.window)("what?")
