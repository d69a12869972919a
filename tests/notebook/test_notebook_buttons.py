"""A click answers, when no cell waits; without widgets a line of code does."""

import sys
import threading

import pytest
from notebook_shells import PATIENCE, Shell

from claude_sync import Client
from claude_sync.notebook import boards, buttons, show, waiting
from claude_sync.testing import ScriptedCli

RULE = {
    "type": "addRules",
    "rules": [{"toolName": "Bash", "ruleContent": "<b>:*"}],
    "behavior": "allow",
    "destination": "localSettings",
}
MODE = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}


class Widget:
    """As much of a widget as buttons need."""

    def __init__(self, children=(), **traits):
        self.children = children
        self.value = ""
        for name, value in traits.items():
            setattr(self, name, value)

    def on_click(self, function):
        self.click = lambda: function(self)

    def _repr_mimebundle_(self, **_wishes):
        return {"application/vnd.jupyter.widget-view+json": {}}

    def all(self):
        """This one and all inside it."""
        yield self
        for child in self.children if isinstance(self.children, (list, tuple)) else ():
            yield from child.all()


class Radio(Widget):
    """One of several."""

    def __init__(self, options, value="the first"):
        super().__init__(options=options)
        self.value = options[0] if value == "the first" else value


class Multiple(Radio):
    """Several of several."""

    def __init__(self, options):
        super().__init__(options)
        self.value = ()


class Widgets:
    """As much of ipywidgets as buttons need; keeps the outermost boxes."""

    def __init__(self):
        self.boxes = []
        self.changed = threading.Condition()

    def VBox(self, children):  # noqa: N802 - its name there
        return Outer(self, children)

    HBox = Text = Button = Widget
    RadioButtons, SelectMultiple = Radio, Multiple

    def HTML(self, value):  # noqa: N802 - its name there
        widget = Widget()
        widget.value = value
        return widget

    def wait_for(self, description):
        """The button of that name, once it is there."""

        def found():
            return [
                widget
                for box in self.boxes
                for widget in box.all()
                if getattr(widget, "description", None) == description
            ]

        with self.changed:
            assert self.changed.wait_for(found, PATIENCE)
            return found()[0]


class Outer(Widget):
    """A box whose children change."""

    def __init__(self, widgets, children):
        self._widgets = widgets
        super().__init__(children)
        widgets.boxes.append(self)

    def __setattr__(self, name, value):
        changed = self.__dict__["_widgets"].changed if "_widgets" in self.__dict__ else None
        super().__setattr__(name, value)
        if changed is not None and name == "children":
            with changed:
                changed.notify_all()


def button_in(box, label):
    """The button of that name inside of a box."""
    (found,) = [each for each in box.all() if getattr(each, "description", None) == label]
    return found


@pytest.fixture
def shell(monkeypatch):
    """The shell of a kernel."""
    made = Shell()
    monkeypatch.setitem(sys.modules, "IPython", type("Module", (), {"get_ipython": lambda: made}))
    return made


@pytest.fixture
def widgets(shell, monkeypatch):
    """ipywidgets."""
    made = Widgets()
    monkeypatch.setattr(boards, "widgets_module", lambda: made)
    monkeypatch.setattr(boards, "SETTLING", 0.0)  # who tests knows what is asked
    return made


@pytest.fixture
def asked():
    """A turn in which permission is asked for: ``client, cli, user, turn``."""
    cli = ScriptedCli()
    with Client(transport=cli, on_permission=buttons, on_question=buttons) as client:
        turn = client.submit("hi")
        cli.accept()
        user = cli.expect("user")
        cli.begin_turn(user)
        yield cli, user, turn
        if not turn.done():
            cli.end_turn(user, "done")
            assert turn.result(PATIENCE) == "done"


@pytest.mark.parametrize(
    ("label", "behavior"), [("Allow", "allow"), ("Always allow", "allow"), ("Deny", "deny")]
)
def test_a_click_decides(widgets, asked, label, behavior):
    """Below the turn that is shown; afterwards the buttons are gone."""
    cli, _, turn = asked
    show(turn)
    request = cli.ask_permission("Bash", {"command": "<b>ls</b>"}, permission_suggestions=[RULE])
    button = widgets.wait_for(label)
    place = widgets.boxes[0]
    assert "&lt;b&gt;ls&lt;/b&gt;" in place.children[0].children[0].value
    assert len(waiting()) == 1
    button.click()
    reply = cli.expect_reply(request)
    assert reply["behavior"] == behavior
    session_rule = {**RULE, "destination": "session"}
    assert reply.get("updatedPermissions") == ([session_rule] if label == "Always allow" else None)
    assert place.children == ()
    assert waiting() == ()
    button.click()  # twice is harmless


@pytest.mark.parametrize("label", ["Allow", "Always allow"])
def test_a_click_that_was_meant_for_another_allows_nothing(widgets, asked, label, monkeypatch):
    """The one below moves up when the first is answered; a second click there does not count."""
    cli, _, turn = asked
    show(turn)
    place, requests = widgets.boxes[0], []
    for number, name in enumerate(("first", "second"), 1):
        asking = cli.ask_permission("Bash", {"command": name}, permission_suggestions=[RULE])
        requests.append(asking)
        with widgets.changed:
            assert widgets.changed.wait_for(lambda n=number: len(place.children) == n, PATIENCE)
    button_in(place.children[0], label).click()
    assert cli.expect_reply(requests[0])["behavior"] == "allow"
    (moved,) = place.children
    monkeypatch.setattr(boards, "SETTLING", 3_600.0)
    button_in(moved, label).click()
    assert place.children == (moved,)
    assert len(waiting()) == 1
    assert any("click again" in str(getattr(each, "value", "")) for each in moved.all())
    monkeypatch.setattr(boards, "SETTLING", 0.0)
    button_in(moved, label).click()
    assert cli.expect_reply(requests[1])["behavior"] == "allow"


@pytest.mark.parametrize(
    ("suggestions", "is_offered"), [([], False), ([MODE], False), ([MODE, RULE], True)]
)
def test_always_is_offered_with_its_rule_and_not_without_one(
    widgets, asked, suggestions, is_offered
):
    """It says what it would allow; a mode is no rule."""
    cli, _, turn = asked
    show(turn)
    request = cli.ask_permission("Bash", {"command": "ls"}, permission_suggestions=suggestions)
    allow = widgets.wait_for("Allow")
    shown = list(widgets.boxes[0].all())
    assert ("Always allow" in [getattr(w, "description", None) for w in shown]) is is_offered
    words = "Always allow means: Bash(&lt;b&gt;:*), in this session"
    assert any(words in w.value for w in shown if isinstance(w.value, str)) is is_offered
    allow.click()
    assert "updatedPermissions" not in cli.expect_reply(request)


def test_a_reason_is_told(widgets, asked):
    """What was typed beside the button."""
    cli, _, turn = asked
    show(turn)
    request = cli.ask_permission("Bash", {"command": "ls"})
    button = widgets.wait_for("Deny")
    (reason,) = [w for w in widgets.boxes[0].all() if getattr(w, "placeholder", None)]
    reason.value = "use git"
    button.click()
    assert cli.expect_reply(request)["message"] == "use git"


def test_a_request_that_came_before_the_turn_was_shown_gets_a_place(widgets, asked):
    """It moves to the turn when that is shown."""
    cli, _, turn = asked
    request = cli.ask_permission("Bash", {"command": "ls"})
    widgets.wait_for("Allow")
    first = widgets.boxes[0]
    show(turn)
    assert first.children == ()
    widgets.wait_for("Allow").click()
    assert cli.expect_reply(request)["behavior"] == "allow"


NOTHING = {"text/html": "<div></div>", "text/plain": ""}
QUESTIONS = {
    "questions": [
        {"question": "Which?", "options": [{"label": "A"}, {"label": "B"}]},
        {"question": "All?", "multiSelect": True, "options": [{"label": "C"}, {"label": "D"}]},
    ]
}


def inputs(widgets, kind):
    """The widgets of a kind that are shown."""
    return [w for w in widgets.boxes[0].all() if type(w) is kind]


def test_questions_are_answered_by_choosing(widgets, asked):
    """One, or several; nothing is chosen beforehand, and what is missing is said."""
    cli, _, turn = asked
    show(turn)
    request = cli.ask_permission("AskUserQuestion", QUESTIONS)
    button = widgets.wait_for("Answer")
    button.click()
    texts = [w.value for w in widgets.boxes[0].all() if isinstance(w.value, str)]
    assert any("has no answer" in text for text in texts)
    assert len(waiting()) == 1
    inputs(widgets, Radio)[0].value = "A"
    inputs(widgets, Multiple)[0].value = ("C", "D")
    button.click()
    reply = cli.expect_reply(request)
    assert reply["updatedInput"]["answers"] == {"Which?": "A", "All?": "C, D"}
    button.click()  # twice is harmless


def test_questions_are_answered_in_words(widgets, asked):
    """Instead of a choice, or besides it where several may be chosen; or without any options."""
    cli, _, turn = asked
    show(turn)
    why = {"question": "Why?", "options": []}
    asked_for = {"questions": [*QUESTIONS["questions"], why]}
    request = cli.ask_permission("AskUserQuestion", asked_for)
    button = widgets.wait_for("Answer")
    inputs(widgets, Radio)[0].value = "A"
    inputs(widgets, Multiple)[0].value = ("D",)
    which, all_of, reason = (
        w for w in widgets.boxes[0].all() if "words" in getattr(w, "placeholder", "")
    )
    which.value, all_of.value, reason.value = "Z", "E", "because"
    button.click()
    answers = cli.expect_reply(request)["updatedInput"]["answers"]
    assert answers == {"Which?": "Z", "All?": "D, E", "Why?": "because"}


def test_questions_may_be_left_unanswered(widgets, asked):
    """Claude is told."""
    cli, _, turn = asked
    show(turn)
    request = cli.ask_permission("AskUserQuestion", QUESTIONS)
    widgets.wait_for("No answer").click()
    assert cli.expect_reply(request)["behavior"] == "deny"


def test_what_is_withdrawn_disappears(widgets, asked):
    """Nobody is left with dead buttons, whether the turn is shown or not."""
    cli, _, _ = asked
    request = cli.ask_permission("Bash", {"command": "ls"})
    widgets.wait_for("Allow")
    cli.cancel(request)
    with widgets.changed:
        assert widgets.changed.wait_for(lambda: not widgets.boxes[0].children, PATIENCE)
    assert waiting() == ()


def test_without_widgets_a_line_of_code_answers(shell, asked, monkeypatch):
    """The display says which, until it was answered."""
    monkeypatch.setattr(boards, "widgets_module", lambda: None)
    changed = threading.Condition()
    publish = shell.display_pub.publish

    def publish_and_tell(**call):
        with changed:
            publish(**call)
            changed.notify_all()

    shell.display_pub.publish = publish_and_tell
    cli, _, turn = asked
    show(turn)
    request = cli.ask_permission("Bash", {"command": "<b>ls</b>"})
    code = "waiting()[0].allow()"
    with changed:
        assert changed.wait_for(lambda: code in shell.display_pub.last[-1]["text/html"], PATIENCE)
    assert "&lt;b&gt;ls" in shell.display_pub.last[-1]["text/html"]
    (open_request,) = waiting()
    open_request.allow()
    assert cli.expect_reply(request)["behavior"] == "allow"
    assert waiting() == ()
    with changed:
        assert changed.wait_for(lambda: shell.display_pub.last[-1] == NOTHING, PATIENCE)


def test_questions_without_a_form_and_terminals_are_left_to_others(shell, monkeypatch):
    """None: ask the next handler."""
    from stand_in_requests import StandInRequest

    monkeypatch.setitem(sys.modules, "IPython", None)
    assert buttons(StandInRequest()) is None
