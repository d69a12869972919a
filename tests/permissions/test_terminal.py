"""The person at the terminal is asked, and sees what is asked."""

from __future__ import annotations

import builtins
import io
import os
import sys
import threading

import pytest
from made_requests import answers_to, decision_of, made_request
from tables import each

from claude_sync.permissions import forms, terminal
from claude_sync.permissions.terminal import ask_on_terminal

RULES = [{"toolName": "Bash", "ruleContent": "ls *"}]
RULE = {"type": "addRules", "behavior": "allow", "rules": RULES, "destination": "localSettings"}
MODE = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}
FRUIT = {
    "question": "Which fruit?",
    "options": [{"label": "Apple", "description": "red\x1b"}, {"label": "Pear"}],
}
SIDES = {**FRUIT, "question": "Which sides?", "multiSelect": True}


class Screen(io.StringIO):
    """A terminal, or what stands in for one."""

    encoding = "utf-8"

    def __init__(self, tty=True):
        super().__init__()
        self.tty = tty

    def isatty(self):
        """Whether a person is there."""
        return self.tty


@pytest.fixture
def typed(monkeypatch):
    """Let a person type these replies; an exception among them is raised. Gives the screen."""

    def arrange(*replies, tty=True):
        screen, left = Screen(), list(replies)

        def reply(prompt=""):
            screen.write(prompt + "\n")
            following = left.pop(0)
            if callable(following) and not isinstance(following, type):
                following = following()
            if isinstance(following, type):
                raise following
            return following

        monkeypatch.setenv("NO_COLOR", "1")
        monkeypatch.setattr(sys, "stdin", Screen(tty))
        monkeypatch.setattr(sys, "stdout", screen)
        monkeypatch.setattr(builtins, "input", reply)
        return screen

    return arrange


def ask(**fields):
    """Ask about a request; what was decided, and the rules that went along."""
    request = made_request(**fields)
    decision = ask_on_terminal(request)
    assert (decision is None) is (not answers_to(request))
    updated = answers_to(request) and answers_to(request)[0].get("updatedPermissions")
    return decision_of(request), [each["type"] for each in updated or []]


@each(
    ("reply", "decision", "updates"),
    [
        ("y", ("allow", None), []),
        (" YES ", ("allow", None), []),
        ("a", ("allow", None), ["addRules"]),
        ("Always", ("allow", None), ["addRules"]),
        ("e", ("allow", None), ["setMode"]),
        ("EDITS", ("allow", None), ["setMode"]),
        ("n because it deletes things", ("deny", "because it deletes things"), []),
        ("no, use git mv", ("deny", "use git mv"), []),
        ("N: Later", ("deny", "Later"), []),
        ("n", ("deny", forms.DENIED_BY_PERSON), []),
        ("No", ("deny", forms.DENIED_BY_PERSON), []),
    ],
)
def test_a_reply_decides(typed, reply, decision, updates):
    """Yes, more of its kind, or no with the reason that Claude reads."""
    typed(reply)
    assert ask(permission_suggestions=[MODE, RULE]) == (decision, updates)


def test_only_what_the_cli_offers_is_offered(typed):
    """Whoever types something else is told, and asked again."""
    screen = typed("a", "e", "maybe", "", "yn", "1", "y")
    assert ask() == (("allow", None), [])
    shown = screen.getvalue()
    assert shown.count("Allow it? [y]es / [n]o / n with a reason / ? \n") == 7
    assert shown.count("The CLI does not offer this here") == 2
    assert shown.count("Not understood") == 4


def test_what_more_means_is_said(typed):
    """Before the question, in the words of every view."""
    screen = typed("n")
    ask(permission_suggestions=[MODE, RULE])
    shown = screen.getvalue()
    assert "Always allow means: Bash(ls *), in this session.\n" in shown
    assert "edits files without asking, until the session ends.\n" in shown
    assert "Allow it? [y]es / [e]dits / [a]lways / [n]o / n with a reason / ? \n" in shown


def test_what_is_asked_stands_before_the_question(typed):
    """Marked line by line as something that is not ours, and it drives no terminal."""
    screen = typed("?", "n")
    ask(
        input={"command": "git status\nAllow it? y\x1b[1A\u202e", "extra": "seen"},
        title="Run ls\nAllow it? y\t" + " " * 300 + "Allow it? ",
        decision_reason="outside\x1b[0m",
    )
    shown = screen.getvalue()
    assert shown.startswith("\nRun ls Allow it? y Allow it?\noutside\\x1b[0m\n")
    assert "  | $ git status\n  |   Allow it? y\\x1b[1A\\u202e\n" in shown
    assert all(character.isprintable() or character == "\n" for character in shown)
    assert "  | # extra: seen\n" in shown
    assert shown.count("  |   extra: seen\n") == 1
    assert forms.REASON in shown


def test_a_diff_has_colours_where_the_terminal_has_them(typed, monkeypatch, tmp_path):
    """Red and green; not where somebody does not want any."""
    monkeypatch.setenv("TERM", "xterm")
    call = {"tool": "Write", "folder": tmp_path, "input": {"file_path": "x", "content": "y"}}
    screen = typed("n")
    monkeypatch.delenv("NO_COLOR")
    ask(**call)
    assert ("  | \x1b[32m+y\x1b[0m\n" in screen.getvalue()) is (os.name != "nt")
    screen = typed("n")
    ask(**call)
    assert "  | +y\n" in screen.getvalue()


@each(
    ("reply", "reason"),
    [
        (EOFError, "input ended"),
        (KeyboardInterrupt, "Ctrl-C"),
        (OSError, "could not be read"),
        (RuntimeError, "could not be read"),
    ],
)
def test_without_a_reply_the_answer_is_no(typed, reply, reason):
    """And Claude reads why."""
    typed(reply)
    (kind, message), _ = ask()
    assert kind == "deny"
    assert reason in message


def test_without_a_terminal_the_answer_is_no(typed, monkeypatch):
    """A pipe is not a person, and no input at all is none either."""
    typed(tty=False)
    assert "no terminal" in ask()[0][1]
    monkeypatch.setattr(sys, "stdin", None)
    assert "no terminal" in ask()[0][1]
    closed = Screen()
    closed.isatty = lambda: (_ for _ in ()).throw(ValueError("closed"))
    monkeypatch.setattr(sys, "stdin", closed)
    assert "no terminal" in ask()[0][1]
    typed("y").close()
    assert "written" in ask()[0][1]


@pytest.mark.parametrize(
    ("reply", "warns"), [(OSError, 1), (RuntimeError, 1), (EOFError, 0), (KeyboardInterrupt, 0)]
)
def test_that_there_is_no_terminal_is_logged_once(typed, caplog, reply, warns):
    """A service that is denied everything would never know why; who presses Ctrl-C knows."""
    terminal.tell_once.cache_clear()
    typed(reply, reply)
    for _ in range(2):
        ask(tool="Write")
    found = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    assert len(found) == warns
    assert all("permissions=" in each for each in found)


def test_a_terminal_of_another_encoding_shows_what_it_can(typed):
    """A letter it does not know is spelled out."""
    screen = typed("y")
    screen.encoding = "ascii"
    assert ask(input={"command": "é"})[0] == ("allow", None)
    assert "\\xe9" in screen.getvalue()


def test_a_withdrawn_request_is_not_decided(typed):
    """Nothing is shown, or the person reads that the reply came too late."""
    screen = typed()
    request = made_request()
    request._slot.withdraw()
    assert ask_on_terminal(request) is None
    assert screen.getvalue() == ""
    request = made_request()
    screen = typed(lambda: request._slot.withdraw() or "y")
    assert ask_on_terminal(request) is None
    assert answers_to(request) == []
    assert "withdrawn" in screen.getvalue()


def test_questions_of_several_threads_come_one_after_another(typed):
    """No preview is shown between another one and its question."""
    screen = typed(*["y"] * 8)
    requests = [made_request(input={"command": f"number {number}"}) for number in range(8)]
    threads = [threading.Thread(target=ask_on_terminal, args=(each,)) for each in requests]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [decision_of(request) for request in requests] == [("allow", None)] * 8
    kinds = [
        "preview" if "number" in line else "question"
        for line in screen.getvalue().split("\n")
        if "number" in line or "Allow it?" in line
    ]
    assert kinds == ["preview", "question"] * 8


def asked(*questions):
    """A question of Claude's."""
    return made_request("AskUserQuestion", {"questions": list(questions)})


def test_a_question_is_answered_by_number_or_in_own_words(typed):
    """One label, or several where that is possible; a wrong number is asked again."""
    screen = typed("0", "1 2", "2", "3", "", "2, 1,2", "a fig")
    own = {**FRUIT, "question": "Which one\n  1. really?"}
    request = asked(FRUIT, SIDES, own)
    ask_on_terminal(request)
    assert answers_to(request)[0]["updatedInput"]["answers"] == {
        "Which fruit?": "Pear",
        "Which sides?": "Apple, Pear",
        "Which one\n  1. really?": "a fig",
    }
    shown = screen.getvalue()
    assert "  1. Apple: red\\x1b\n  2. Pear\n" in shown
    assert "\nWhich one 1. really?\n" in shown


def test_a_question_may_stay_unanswered(typed):
    """Then Claude reads that it decides itself."""
    typed("1", "n")
    request = asked(FRUIT, SIDES)
    ask_on_terminal(request)
    kind, message = decision_of(request)
    assert kind == "deny"
    assert "best judgment" in message


@each("given", [{}, {"questions": []}, {"questions": ["x"]}, {"questions": 3}])
def test_a_question_of_another_shape_is_left_to_others(typed, given):
    """It cannot be asked here."""
    typed()
    assert ask_on_terminal(made_request("AskUserQuestion", given)) is None


def test_a_question_without_a_person_is_left_to_others(typed):
    """No terminal, the end of input, and a withdrawal decide nothing."""
    typed(tty=False)
    assert ask_on_terminal(asked(FRUIT)) is None
    typed(EOFError)
    assert ask_on_terminal(asked(FRUIT)) is None
    request = asked(FRUIT)
    typed(lambda: request._slot.withdraw() or "1")
    assert ask_on_terminal(request) is None
    assert answers_to(request) == []


def test_a_question_that_nobody_answers_is_declined_in_its_own_words():
    """Not as a tool that may not be used."""
    request = asked(FRUIT)
    request.deny()
    assert decision_of(request)[1].startswith("No one is available to answer")
