"""The window with Claude's questions: choices, other answers, and each way to end."""

import gc
import weakref

import pytest
from tk_events import click, press, write

COLOURS = {
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


@pytest.fixture
def gui(tkinter):
    """The module."""
    from claude_sync.gui import tk

    return tk


class Questioning:
    """A client in a window, in a turn, whose CLI asks questions."""

    def __init__(self, gui, talk, root, until, kind="question"):
        self.talk, self.root, self._until = talk, root, until
        self.dialogs = dialogs = []
        gui.attach(talk.client, root)

        class Dialog(gui.QuestionDialog):
            def __init__(self, *arguments):
                super().__init__(*arguments)
                dialogs.append(self)

        if kind == "question":
            talk.client.on_question(Dialog.handler(root))
        self.turn = talk.begin()

    def ask(self, *questions):
        """The CLI asks; the request and the dialog."""
        request = self.talk.ask("AskUserQuestion", {"questions": list(questions)})
        self.until(lambda: self.dialogs)
        return request, self.dialogs[-1]

    def until(self, condition):
        """Run the window's loop."""
        self._until(self.root, condition)

    def answers_to(self, request):
        """The answers that the CLI gets; None for a no."""
        reply = self.talk.cli.expect_reply(request)
        if reply["behavior"] == "deny":
            return None
        return reply["updatedInput"]["answers"]

    def end(self):
        """The turn ends."""
        self.talk.end("went on")
        self.until(self.turn.done)
        self.talk.cli.assert_done()


@pytest.fixture
def questioning(gui, talk, root, until):
    """See :class:`Questioning`."""
    return Questioning(gui, talk(), root, until)


def is_enabled(button):
    """Whether it can be pressed."""
    return not button.instate(["disabled"])


def marked(choices):
    """Which buttons of a question are marked."""
    return [button.instate(["selected"]) for button in choices.buttons]


def test_questions_are_answered_together(questioning):
    """Once each has an answer: one choice, several, and words of one's own."""
    request, dialog = questioning.ask(COLOURS, FRUITS)
    assert dialog.window.title() == dialog.form.title
    colour, fruit = dialog.view.fields
    assert marked(colour) == [False] * 3
    assert not is_enabled(dialog.view.answer)
    click(colour.buttons[1])
    assert not is_enabled(dialog.view.answer)
    click(fruit.buttons[2])
    click(fruit.buttons[0])
    assert is_enabled(dialog.view.answer)
    write(fruit.other, "fig")
    assert marked(fruit) == [True, False, True, True]
    click(dialog.view.answer)
    assert questioning.answers_to(request) == {
        "Which colour?": "Blue",
        "Which fruits?": "Apple, Plum, fig",
    }
    assert not dialog.is_open
    questioning.end()


def test_other_words_replace_a_choice_and_back(questioning):
    """What is marked is what is answered."""
    request, dialog = questioning.ask(COLOURS)
    (colour,) = dialog.view.fields
    click(colour.buttons[0])
    write(colour.other, "green")
    assert marked(colour) == [False, False, True]
    assert dialog.form.answers() == {"Which colour?": "green"}
    click(colour.buttons[1])
    assert dialog.form.answers() == {"Which colour?": "Blue"}
    click(colour.buttons[2])
    assert dialog.form.answers() == {"Which colour?": "green"}
    press(colour.other, "Return")
    assert questioning.answers_to(request) == {"Which colour?": "green"}
    questioning.end()


def test_other_without_words_is_no_answer(questioning):
    """To choose it takes the earlier choice away, and the person can write at once."""
    request, dialog = questioning.ask(COLOURS)
    (colour,) = dialog.view.fields
    click(colour.buttons[0])
    click(colour.buttons[2])
    assert not is_enabled(dialog.view.answer)
    assert dialog.window.focus_lastfor() is colour.other
    press(colour.other, "Return")
    assert dialog.is_open
    write(colour.other, "x")
    assert is_enabled(dialog.view.answer)
    press(colour.other, "BackSpace")
    assert not is_enabled(dialog.view.answer)
    click(dialog.view.decline)
    assert questioning.answers_to(request) is None
    questioning.end()


def test_a_mark_can_be_taken_back(questioning):
    """Of an option, and of other words."""
    request, dialog = questioning.ask(FRUITS)
    (fruit,) = dialog.view.fields
    write(fruit.other, "fig")
    click(fruit.buttons[1])
    click(fruit.buttons[3])
    assert dialog.form.answers() == {"Which fruits?": ["Pear"]}
    click(fruit.buttons[3])
    assert dialog.form.answers() == {"Which fruits?": ["Pear", "fig"]}
    click(fruit.buttons[1])
    press(fruit.other, "BackSpace", "BackSpace", "BackSpace")
    assert marked(fruit) == [False] * 4
    assert not is_enabled(dialog.view.answer)
    dialog.close()
    questioning.answers_to(request)
    questioning.end()


def test_every_way_to_decline(questioning):
    """Whatever was chosen by then."""
    for end in (
        lambda dialog: click(dialog.view.decline),
        lambda dialog: press(dialog.window, "Escape"),
        lambda dialog: dialog.close(),
        lambda dialog: dialog.window.destroy(),
    ):
        questioning.dialogs.clear()
        request, dialog = questioning.ask(COLOURS)
        click(dialog.view.fields[0].buttons[0])
        end(dialog)
        assert questioning.answers_to(request) is None
        assert not dialog.is_open
    questioning.end()


def test_enter_sends_nothing_by_accident(questioning):
    """Only in the entry that somebody wrote into."""
    request, dialog = questioning.ask(COLOURS)
    click(dialog.view.fields[0].buttons[0])
    for widget in (dialog.window, dialog.view.fields[0].buttons[0], dialog.view.answer):
        press(widget, "Return")
    assert dialog.is_open
    click(dialog.view.answer)
    assert questioning.answers_to(request) == {"Which colour?": "Red"}
    questioning.end()


def test_a_question_without_options_takes_words(questioning):
    """Some have none."""
    request, dialog = questioning.ask({"question": "Why?", "options": []})
    (why,) = dialog.view.fields
    write(why.other, "because")
    click(dialog.view.answer)
    assert questioning.answers_to(request) == {"Why?": "because"}
    questioning.end()


def test_many_questions_scroll_by_wheel_and_with_the_focus(questioning):
    """They fit on the screen, wherever the mouse is in the window and whatever Tab leads to."""
    many = [{**FRUITS, "question": f"Which fruits, {number}?"} for number in range(12)]
    request, dialog = questioning.ask(*many)
    dialog.window.update()
    assert dialog.window.winfo_height() < questioning.root.winfo_screenheight()
    assert len(dialog.view.fields) == 12
    first, last = dialog.view.fields[0].buttons[0], dialog.view.fields[-1].other
    before = first.winfo_rooty()
    first.event_generate("<Button-5>")
    questioning.until(lambda: first.winfo_rooty() < before)
    first.event_generate("<Button-4>")
    questioning.until(lambda: first.winfo_rooty() == before)
    first.event_generate("<MouseWheel>", delta=-120)
    questioning.until(lambda: first.winfo_rooty() < before)
    bottom = dialog.view.answer.winfo_rooty()
    assert last.winfo_rooty() > bottom
    last.focus_force()
    questioning.until(lambda: last.winfo_rooty() + last.winfo_height() <= bottom)
    first.focus_force()
    questioning.until(lambda: first.winfo_rooty() >= dialog.window.winfo_rooty())
    dialog.close()
    assert questioning.answers_to(request) is None
    questioning.end()


def test_long_texts_fit_on_the_screen(questioning):
    """A label that is higher than a display can draw would end the program."""
    option = {"label": "W" * 5_000, "description": "about\n" * 5_000}
    long = [
        {"question": f"{number}" + "\nwhy?" * 5_000, "header": "W" * 5_000, "options": [option] * 4}
        for number in range(4)
    ]
    request, dialog = questioning.ask(*long)
    dialog.window.update()
    assert dialog.window.winfo_width() < questioning.root.winfo_screenwidth()
    assert dialog.window.winfo_height() < questioning.root.winfo_screenheight()
    assert dialog.view.fields[0].frame.winfo_reqheight() < 5_000
    dialog.close()
    assert questioning.answers_to(request) is None
    questioning.end()


def test_more_than_a_window_has_room_for_is_declined(gui, talk, root, until, caplog):
    """The program lives on, and the log says why."""
    each = Questioning(gui, talk(), root, until, kind="none")
    each.talk.client.on_question(gui.QuestionDialog.handler(root))
    options = [{"label": f"{number}", "description": "x" * 300} for number in range(800)]
    request = each.talk.ask("AskUserQuestion", {"questions": [{**COLOURS, "options": options}]})
    each.until(lambda: "more than a window has room for" in caplog.text)
    assert each.answers_to(request) is None
    root.update()
    assert root.winfo_children() == []
    each.end()


def test_the_preview_of_an_option_is_shown(questioning):
    """That of the one which was chosen last; harmless."""
    options = [{"label": "A", "preview": "a\x1b[1m\nb"}, {"label": "B"}]
    request, dialog = questioning.ask({**COLOURS, "options": options})
    (field,) = dialog.view.fields
    text = field._preview
    click(field.buttons[0])
    assert text.get("1.0", "end-1c") == "a\\x1b[1m\nb"
    click(field.buttons[1])
    assert text.get("1.0", "end-1c") == ""
    click(dialog.view.answer)
    questioning.answers_to(request)
    questioning.end()


def test_a_withdrawn_question_takes_its_window_with_it(questioning):
    """Nothing is answered."""
    request, dialog = questioning.ask(COLOURS)
    questioning.talk.cli.cancel(request)
    questioning.until(lambda: not dialog.is_open)
    questioning.end()


def test_the_handler_of_permissions_shows_questions_too(gui, talk, root, until, tkinter):
    """If no other handler does; and the handler of questions nothing else."""
    each = Questioning(gui, talk(), root, until, kind="none")
    each.talk.client.on_permission(gui.PermissionDialog.handler(root))
    request = each.talk.ask("AskUserQuestion", {"questions": [COLOURS]})

    def windows():
        return [child for child in root.winfo_children() if isinstance(child, tkinter.Toplevel)]

    each.until(windows)
    assert windows()[0].title() == "Claude asks"
    press(windows()[0], "Escape")
    assert each.answers_to(request) is None
    each.end()


def test_nothing_of_a_dialog_is_left(questioning):
    """No window, no variable, no command, and no object."""
    tk = questioning.root.tk
    gone, counts = [], []
    gc.collect()
    gc.disable()  # which would do its work on any thread
    try:
        for _ in range(3):
            request, dialog = questioning.ask(COLOURS, FRUITS)
            questioning.dialogs.clear()
            gone.append(weakref.ref(dialog.window))
            click(dialog.view.fields[0].buttons[0])
            click(dialog.view.fields[1].buttons[0])
            click(dialog.view.answer)
            del dialog
            questioning.answers_to(request)
            questioning.root.update()
            commands = tk.splitlist(tk.call("info", "commands"))
            counts.append((len(commands), len(tk.splitlist(tk.call("info", "globals")))))
        assert [each() for each in gone] == [None] * 3
    finally:
        gc.enable()
    assert counts[1] == counts[2]
    questioning.end()
