"""A click answers, when no cell waits; without widgets a line of code does."""

import sys
import types

import pytest
from notebook_shells import PATIENCE, Shell
from notebook_widgets import buttons_of, click, displayed, every, of_kind, shown, until_shown
from patience import wait_until
from stand_in_requests import StandInRequest

from claude_sync import Client
from claude_sync.notebook import buttons, forms, show, waiting
from claude_sync.testing import ScriptedCli, builders

RULE = {
    "type": "addRules",
    "rules": [{"toolName": "Bash", "ruleContent": "<b>:*"}],
    "behavior": "allow",
    "destination": "localSettings",
}
QUESTIONS = {
    "questions": [
        {"question": "Which?", "options": [{"label": "A", "description": "the <b>"}]},
        {"question": "All?", "multiSelect": True, "options": [{"label": "C"}, {"label": "D"}]},
        {"question": "Why?", "options": []},
    ]
}


class Board:
    """A turn in which something is asked for, and where its buttons are."""

    def __init__(self, shell, cli, turn):
        self.shell, self.cli, self.turn = shell, cli, turn

    @property
    def boxes(self):
        """The boxes of buttons that were displayed, in order."""
        calls = list(self.shell.display_pub.calls)
        return [displayed(data) for _, data in calls if "text/html" not in data]

    @property
    def box(self):
        """The last of them, once it is there."""
        return wait_until(lambda: self.boxes)[-1]

    def ask(self, **more):
        """The CLI asks for a permission."""
        return self.cli.ask_permission("Bash", {"command": "<b>ls</b>"}, **more)


@pytest.fixture
def shell(monkeypatch):
    """The shell of a kernel."""
    made = Shell()
    monkeypatch.setitem(sys.modules, "IPython", type("Module", (), {"get_ipython": lambda: made}))
    monkeypatch.setattr(forms, "SETTLING", 0.0)  # who tests knows what is asked
    return made


@pytest.fixture
def board(shell):
    """A turn that runs."""
    cli = ScriptedCli()
    with Client(transport=cli, on_permission=buttons, on_question=buttons) as client:
        turn = client.submit("hi")
        cli.accept()
        user = cli.expect("user")
        cli.begin_turn(user)
        yield Board(shell, cli, turn)
        cli.end_turn(user, "done")
        assert turn.result(PATIENCE) == "done"


@pytest.mark.parametrize(
    ("label", "behavior"), [("Allow", "allow"), ("Always allow", "allow"), ("Deny", "deny")]
)
def test_a_click_decides(board, label, behavior):
    """Below the turn that is shown; afterwards the buttons are gone, and the turn tells."""
    show(board.turn)
    board.cli.say(builders.assistant([builders.tool_use("Bash", {"command": "ls"}, "t1")]))
    request = board.ask(permission_suggestions=[RULE], tool_use_id="t1")
    told = board.shell.display_pub
    wait_until(lambda: "Bash ls (asked)" in told.last[0]["text/plain"])
    button = click(board.box, label)
    outcome = {"allow": "Bash ls (allowed)", "deny": "Bash ls (denied)"}[behavior]
    wait_until(lambda: outcome in told.last[0]["text/plain"])
    reply = board.cli.expect_reply(request)
    assert reply["behavior"] == behavior
    session_rule = {**RULE, "destination": "session"}
    assert reply.get("updatedPermissions") == ([session_rule] if label == "Always allow" else None)
    assert board.box.children == ()
    assert waiting() == ()
    button.click()  # twice is harmless


def test_the_request_is_shown_with_what_always_would_allow(board):
    """Escaped; and all of it, if that is wanted."""
    board.ask(permission_suggestions=[RULE], description="<i>why</i>")
    until_shown(board.box, "&lt;b&gt;ls&lt;/b&gt;", "Always allow means: Bash(&lt;b&gt;:*)")
    assert "<i>" not in shown(board.box)
    assert len(waiting()) == 1
    click(board.box, "Show everything")
    until_shown(board.box, "<pre>")
    click(board.box, "Deny")


def test_a_reason_is_told(board):
    """What was typed beside the button."""
    request = board.ask()
    wait_until(lambda: of_kind(board.box, "Text"))[0].value = "use git"
    click(board.box, "Deny")
    assert board.cli.expect_reply(request)["message"] == "use git"


@pytest.mark.parametrize("label", ["Allow", "Always allow"])
def test_a_click_that_was_meant_for_another_allows_nothing(board, label, monkeypatch):
    """What appears, or moves up into the place of another, has to be read first."""
    clock = types.SimpleNamespace(monotonic=lambda: clock.now, now=0.0)
    monkeypatch.setattr(forms, "time", clock)
    monkeypatch.setattr(forms, "SETTLING", 1.0)
    requests = []
    for number in (1, 2):
        requests.append(board.ask(permission_suggestions=[RULE]))
        wait_until(lambda n=number: len(board.box.children) == n)
    first, second = board.box.children
    click(first, label)
    until_shown(first, "click again")
    clock.now = 1.0
    click(first, label)
    assert board.cli.expect_reply(requests[0])["behavior"] == "allow"
    click(second, label)
    until_shown(second, "click again")
    assert len(waiting()) == 1
    clock.now = 2.0
    click(second, label)
    assert board.cli.expect_reply(requests[1])["behavior"] == "allow"


def test_a_request_that_came_before_the_turn_was_shown_gets_a_place(board):
    """It moves to the turn when that is shown."""
    request = board.ask()
    first = board.box
    wait_until(lambda: buttons_of(first))
    show(board.turn)
    assert first.children == ()
    assert board.box is not first
    click(board.box, "Allow")
    assert board.cli.expect_reply(request)["behavior"] == "allow"


def test_questions_are_answered(board):
    """By choosing, in words, or both; nothing is chosen beforehand, what is missing is said."""
    request = board.cli.ask_permission("AskUserQuestion", QUESTIONS)
    click(board.box, "Answer")
    until_shown(board.box, "You have not answered: Which?")
    (radio,) = of_kind(board.box, "RadioButtons")
    assert radio.options == (("A: the <b>", 0),)
    of_kind(board.box, "SelectMultiple")[0].value = (1,)
    which, all_of, why = of_kind(board.box, "Text")
    radio.value, which.value, all_of.value, why.value = 0, "Z", "E", "because"
    click(board.box, "Answer")
    reply = board.cli.expect_reply(request)
    assert reply["updatedInput"]["answers"] == {"Which?": "Z", "All?": "D, E", "Why?": "because"}
    assert waiting() == ()


def test_questions_may_be_left_unanswered(board):
    """Claude is told."""
    request = board.cli.ask_permission("AskUserQuestion", QUESTIONS)
    click(board.box, "No answer")
    assert board.cli.expect_reply(request)["behavior"] == "deny"


def test_what_is_withdrawn_or_answered_elsewhere_disappears(board):
    """Nobody is left with dead buttons."""
    withdrawn = board.ask()
    wait_until(lambda: buttons_of(board.box))
    board.cli.cancel(withdrawn)
    wait_until(lambda: not board.box.children)
    assert waiting() == ()
    request = board.ask()
    show(board.turn)
    wait_until(waiting)[0].allow()
    board.cli.expect_reply(request)
    wait_until(lambda: not board.box.children)


def test_without_widgets_a_line_of_code_answers(board, monkeypatch):
    """The display says which, until it was answered."""
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    displays = board.shell.display_pub
    show(board.turn)
    request = board.ask()
    wait_until(lambda: "waiting()[0].allow()" in displays.last[-1]["text/html"])
    assert "&lt;b&gt;ls" in displays.last[-1]["text/html"]
    assert "$ <b>ls</b>" in displays.last[-1]["text/plain"]
    waiting()[0].allow()
    assert board.cli.expect_reply(request)["behavior"] == "allow"
    wait_until(lambda: "waiting()" not in displays.last[-1]["text/html"])


def test_terminals_and_questions_without_a_form_are_left_to_others(shell, monkeypatch):
    """None: ask the next handler."""
    assert buttons(StandInRequest("AskUserQuestion", {})) is None
    monkeypatch.setitem(sys.modules, "IPython", None)
    assert buttons(StandInRequest()) is None


def test_nothing_is_seen_while_nothing_is_asked(board):
    """An empty box."""
    show(board.turn)
    assert [type(each).__name__ for each in every(board.box)] == ["VBox"]
