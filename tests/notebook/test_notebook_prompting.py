"""The person at the notebook is asked in the cell, and a prompt ends when nobody needs it."""

from __future__ import annotations

import _thread
import builtins
import io
import sys
import threading

import pytest
from notebook_shells import PATIENCE, Displays
from stand_in_requests import StandInRequest

from claude_sync.notebook.prompting import Prompter
from claude_sync.permissions.questions import questions_of
from claude_sync.permissions.request import Questions

RULES = [{"toolName": "Bash", "ruleContent": "ls *"}]
RULE = {"type": "addRules", "behavior": "allow", "rules": RULES}


class Request(StandInRequest):
    """A request that can be withdrawn."""

    questions = ()

    def __init__(self, *arguments, **more):
        super().__init__(*arguments, **more)
        self.told = []

    def on_cancel(self, function):
        """As the real one."""
        self.told.append(function)

    def withdraw(self):
        """The CLI no longer waits: told on another thread, as always."""
        self.cancelled.set()
        threads = [threading.Thread(target=function) for function in self.told]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)

    def answer(self, answers, free_text=False):
        """The answers to questions."""
        return self.decide("answer", answers, free_text)


@pytest.fixture
def typed(monkeypatch):
    """Let a person type these replies; functions among them are called. Gives the screen."""

    def arrange(*replies):
        screen, left = io.StringIO(), list(replies)

        def reply(prompt=""):
            screen.write(prompt + "\n")
            following = left.pop(0)
            if isinstance(following, type):
                raise following
            return following() if callable(following) else following

        monkeypatch.setattr(sys, "stdout", screen)
        monkeypatch.setattr(builtins, "input", reply)
        return screen

    return arrange


@pytest.fixture
def displays():
    return Displays()


@pytest.fixture
def prompter(displays):
    return Prompter(displays.publish)


@pytest.mark.parametrize(
    ("replies", "decision", "outcome"),
    [
        (["y"], ("allow",), "allowed: Bash ls"),
        (["a"], ("always",), "allowed: Bash ls"),
        (["n use git mv"], ("deny", "use git mv"), "denied: Bash ls"),
    ],
)
def test_a_reply_decides(typed, prompter, displays, replies, decision, outcome):
    """What was not understood is asked again; the display tells what was decided."""
    typed(*replies)
    request = Request("Bash", {"command": "ls"}, suggestions=(RULE,))
    assert prompter.on_permission(request) == decision
    assert len(displays.last) == 1
    assert outcome in displays.last[0]["text/html"]
    assert displays.last[0]["text/plain"].startswith(outcome)


def test_what_is_asked_is_shown_escaped_above_the_prompt(typed, prompter, displays):
    """Whatever the tool would do."""
    hostile = {"command": "echo '<script>alert(1)</script>'"}
    at_the_prompt = []
    screen = typed(lambda: at_the_prompt.append(displays.calls[-1]) or "n")
    rules = [{"toolName": "Bash", "ruleContent": "<b>"}]
    suggestions = ({"type": "addRules", "behavior": "allow", "rules": rules},)
    request = Request(given=hostile, title="<i>Run</i> it?", suggestions=suggestions)
    prompter.on_permission(request)
    ((_, shown),) = at_the_prompt
    assert "&lt;i&gt;Run&lt;/i&gt; it?" in shown["text/html"]
    assert "Always allow means: Bash(&lt;b&gt;)" in shown["text/html"]
    for _, data in displays.calls:
        assert "&lt;script&gt;" in data["text/html"]
        assert "<script" not in data["text/html"]
    assert "  | $ echo" in shown["text/plain"]
    assert "Allow it?" in screen.getvalue()


def test_what_was_said_before_is_shown_first(typed, displays):
    """Before the request, and before a question."""
    order = []
    prompter = Prompter(
        lambda **call: order.append("display") or displays.publish(**call),
        lambda: order.append("before"),
    )
    typed("y", "1")
    prompter.on_permission(Request())
    assert order[:2] == ["before", "display"]
    prompter.on_question(questions(COLOUR)[0])
    assert order.count("before") == 2


@pytest.mark.parametrize("problem", [EOFError, NotImplementedError, RuntimeError, OSError])
def test_where_nobody_can_be_asked_the_answer_is_no(typed, prompter, displays, problem):
    """A notebook that a program runs has no input; Claude is told."""
    typed(problem)
    kind, message = prompter.on_permission(Request())
    assert kind == "deny"
    assert "Permission denied, because" in message
    assert "denied" in displays.last[0]["text/html"]


def test_an_interrupt_at_the_prompt_goes_through(typed, prompter, displays):
    """It stops the turn, as everywhere else."""
    typed(KeyboardInterrupt)
    request = Request()
    with pytest.raises(KeyboardInterrupt):
        prompter.on_permission(request)
    assert request.decision is None
    assert "interrupted" in displays.last[0]["text/html"]


def test_a_request_that_is_withdrawn_ends_its_prompt(typed, prompter, displays):
    """The kernel is woken up, and whoever waits for input waits no longer."""
    request = Request()

    def never_replies():
        request.withdraw()
        threading.Event().wait(PATIENCE)
        return "y"

    typed(never_replies)
    assert prompter.on_permission(request) is None
    assert request.decision is None
    assert "withdrawn" in displays.last[0]["text/html"]


def test_a_withdrawal_after_the_reply_interrupts_nobody(typed, prompter, monkeypatch):
    """The next cell would get it."""
    woken = []
    monkeypatch.setattr(_thread, "interrupt_main", lambda: woken.append(True))
    typed("y")
    request = Request()
    prompter.on_permission(request)
    request.withdraw()
    assert woken == []


def test_only_the_main_thread_is_woken_up(typed, prompter):
    """An interrupt would reach nobody else."""
    typed("y")
    request = Request()
    thread = threading.Thread(target=prompter.on_permission, args=(request,))
    thread.start()
    thread.join(PATIENCE)
    assert request.told == []
    assert request.decision == ("allow",)


def test_questions_of_a_form_that_cannot_be_asked_are_left_to_others(typed, prompter):
    """As the terminal does."""
    typed()
    assert prompter.on_permission(Request("AskUserQuestion")) is None


def questions(*asked):
    """Questions of Claude's."""
    request = Request("AskUserQuestion", {"questions": list(asked)})
    request.questions = questions_of(request.input)
    return Questions(request), request


COLOUR = {
    "question": "Which colour?",
    "options": [{"label": "Red", "description": "warm"}, {"label": "Blue"}],
}


def test_a_question_is_answered_in_the_cell(typed, prompter):
    """As at a terminal."""
    screen = typed("2, 1")
    asked, request = questions({**COLOUR, "multiSelect": True})
    prompter.on_question(asked)
    assert request.decision == ("answer", {"Which colour?": ["Red", "Blue"]}, True)
    assert "  1. Red: warm\n  2. Blue\n" in screen.getvalue()


def test_questions_that_nobody_can_be_asked_are_declined(typed, prompter):
    """Claude is told why."""
    typed(NotImplementedError)
    asked, request = questions(COLOUR)
    prompter.on_question(asked)
    assert request.decision[0] == "deny"
    assert "takes no input" in request.decision[1]


def test_a_question_that_is_withdrawn_ends_its_prompt(typed, prompter):
    """Nothing is answered."""
    asked, request = questions(COLOUR)
    typed(lambda: request.withdraw() or threading.Event().wait(PATIENCE))
    assert prompter.on_question(asked) is None
    assert request.decision is None
