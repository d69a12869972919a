"""The person at the terminal is asked, and sees what is asked."""

from __future__ import annotations

import builtins
import io
import sys
import threading

import pytest
from stand_in_requests import StandInRequest

from claude_sync.permissions import terminal
from claude_sync.permissions.terminal import ask_on_terminal
from claude_sync.support.text import visible

RULES = [{"toolName": "Bash", "ruleContent": "ls *"}]
RULE = {"type": "addRules", "behavior": "allow", "rules": RULES, "destination": "localSettings"}
MODE = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}
# Suggestions of which nothing follows that "always" could mean.
NO_RULES = [(), (MODE,), ({**RULE, "behavior": "deny"},), ({**RULE, "rules": []},)]


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

        monkeypatch.setattr(sys, "stdin", Screen(tty))
        monkeypatch.setattr(sys, "stdout", screen)
        monkeypatch.setattr(builtins, "input", reply)
        return screen

    return arrange


@pytest.mark.parametrize(
    ("reply", "decision"),
    [
        ("y", ("allow",)),
        (" YES ", ("allow",)),
        ("a", ("always",)),
        ("Always", ("always",)),
        ("n because it deletes things", ("deny", "because it deletes things")),
        ("no, use git mv", ("deny", "use git mv")),
        ("N: Later", ("deny", "Later")),
    ],
)
def test_a_reply_decides(typed, reply, decision):
    """Yes, always, or no with the reason that Claude is told."""
    typed(reply)
    assert ask_on_terminal(StandInRequest(suggestions=(MODE, RULE))) == decision


@pytest.mark.parametrize("suggestions", NO_RULES)
def test_always_is_not_offered_without_a_rule(typed, suggestions):
    """The next one would be asked about again; whoever types it is told, and asked again."""
    screen = typed("?", "a", "ALWAYS", "y")
    assert ask_on_terminal(StandInRequest(suggestions=suggestions)) == ("allow",)
    shown = screen.getvalue()
    assert shown.count("Allow it? [y]es / [n]o / n with a reason / ? \n") == 4
    told = "The CLI suggests no rule for this, so there is no always; y allows it once.\n"
    assert shown.count(told) == 2
    assert "the like again" not in shown
    assert "not understood" not in shown


def test_always_is_offered_with_a_rule(typed):
    """In the question, and in the list of replies."""
    screen = typed("?", "a")
    assert ask_on_terminal(StandInRequest(suggestions=(MODE, RULE))) == ("always",)
    shown = screen.getvalue()
    assert shown.count("Allow it? [y]es / [n]o / [a]lways / n with a reason / ? \n") == 2
    assert "  a                allow it, and do not ask about the like again" in shown
    assert "no rule" not in shown


@pytest.mark.parametrize("reply", ["n", "No", "n "])
def test_a_plain_no_tells_claude_what_to_do(typed, reply):
    """Without a reason there is still advice."""
    typed(reply)
    kind, message = ask_on_terminal(StandInRequest())
    assert kind == "deny"
    assert "user said no" in message


def test_the_preview_is_shown_before_the_question(typed):
    """Marked line by line as something that is not ours."""
    screen = typed("y")
    ask_on_terminal(StandInRequest(preview="$ git status\nAllow it? y"))
    shown = screen.getvalue()
    assert "Claude wants to use Bash" in shown
    assert "  | $ git status\n  | Allow it? y\n" in shown
    assert shown.index("  | $ git") < shown.index("[y]es / [n]o / ")


def test_control_characters_are_shown_and_not_obeyed(typed):
    """An escape sequence cannot draw over what was there before."""
    screen = typed("?", "n")
    ask_on_terminal(
        StandInRequest(
            preview="rm x\x1b[1A\x1b[2Kls\r\x9b\u202e\x07", title="t\x1b[0m", reason="r\x1b]0;x\x07"
        )
    )
    shown = screen.getvalue()
    assert all(character.isprintable() or character == "\n" for character in shown)
    assert "\\x1b[1A" in shown
    assert "\\u202e" in shown


def test_text_keeps_its_lines_and_letters():
    """Only what has no shape is spelled out."""
    assert visible("é\t\n漢\x00") == "é\t\n漢\\x00"


def test_help_tells_what_is_known(typed):
    """A question mark shows the replies, the reason and the description; then it asks again."""
    screen = typed("?", "y")
    request = StandInRequest(reason="outside the project", description="moves a file")
    assert ask_on_terminal(request) == ("allow",)
    assert "refuse it, and tell Claude why" in screen.getvalue()
    assert "outside the project" in screen.getvalue()
    assert "moves a file" in screen.getvalue()


@pytest.mark.parametrize("reply", ["", "maybe", "yes please", "nothing", "all", "yn", "1"])
def test_an_unknown_reply_is_asked_again(typed, reply):
    """Nothing is decided by a slip of the finger."""
    screen = typed(reply, "n")
    assert ask_on_terminal(StandInRequest())[0] == "deny"
    assert "not understood" in screen.getvalue()


@pytest.mark.parametrize(
    ("replies", "reason"),
    [
        ([EOFError], "input ended"),
        ([KeyboardInterrupt], "Ctrl-C"),
        ([OSError], "could not be read"),
        ([RuntimeError], "could not be read"),
    ],
)
def test_without_a_reply_the_answer_is_no(typed, replies, reason):
    """And Claude is told why."""
    typed(*replies)
    kind, message = ask_on_terminal(StandInRequest())
    assert kind == "deny"
    assert reason in message


def test_without_a_terminal_the_answer_is_no(typed, monkeypatch):
    """A pipe is not a person, and no input at all is none either."""
    typed(tty=False)
    assert "no terminal" in ask_on_terminal(StandInRequest())[1]
    monkeypatch.setattr(sys, "stdin", None)
    assert "no terminal" in ask_on_terminal(StandInRequest())[1]
    closed = Screen()
    closed.isatty = lambda: (_ for _ in ()).throw(ValueError("closed"))
    monkeypatch.setattr(sys, "stdin", closed)
    assert "no terminal" in ask_on_terminal(StandInRequest())[1]


@pytest.fixture
def unwarned(monkeypatch):
    """As in a program that has not been warned yet."""
    monkeypatch.setattr(terminal, "UNASKED", terminal.Unasked())


def warnings_in(caplog):
    """What was logged."""
    return [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]


def test_that_there_is_no_terminal_is_logged_once(typed, caplog, unwarned):
    """A service that is denied everything would otherwise never know why."""
    typed(tty=False)
    for tool in ("Write", "Bash"):
        assert ask_on_terminal(StandInRequest(tool))[0] == "deny"
    (warning,) = warnings_in(caplog)
    assert warning.startswith("Claude asked to use Write and was denied, because there was no ")
    assert "no terminal to ask on" in warning
    assert "permissions=" in warning


@pytest.mark.parametrize(
    ("reply", "warns"), [(OSError, 1), (RuntimeError, 1), (EOFError, 0), (KeyboardInterrupt, 0)]
)
def test_who_is_there_is_not_warned(typed, caplog, unwarned, reply, warns):
    """Ctrl-C and Ctrl-D are pressed by somebody; a terminal that is gone is none."""
    typed(reply)
    assert ask_on_terminal(StandInRequest())[0] == "deny"
    assert len(warnings_in(caplog)) == warns


def test_a_terminal_that_cannot_be_written_to_is_none(typed, monkeypatch):
    """Nobody decides about what nobody saw."""
    screen = typed("y")
    screen.close()
    assert "written" in ask_on_terminal(StandInRequest())[1]


def test_a_terminal_of_another_encoding_shows_what_it_can(typed):
    """A letter it does not know is spelled out."""
    screen = typed("y")
    screen.encoding = "ascii"
    assert ask_on_terminal(StandInRequest(preview="é")) == ("allow",)
    assert "\\xe9" in screen.getvalue()


def test_a_withdrawn_request_is_not_asked(typed):
    """Nothing is shown and nothing decided."""
    screen = typed()
    request = StandInRequest()
    request.cancelled.set()
    assert ask_on_terminal(request) is None
    assert screen.getvalue() == ""


def test_a_request_withdrawn_meanwhile_is_not_decided(typed):
    """The person is told that the reply came too late."""
    request = StandInRequest()
    screen = typed(lambda: request.cancelled.set() or "y")
    assert ask_on_terminal(request) is None
    assert request.decision is None
    assert "withdrawn" in screen.getvalue()


def test_questions_of_several_threads_come_one_after_another(typed):
    """No preview is shown between another one and its question."""
    replies = []
    screen = typed(*(lambda: replies.append(threading.current_thread()) or "y" for _ in range(8)))
    requests = [StandInRequest(preview=f"number {number}") for number in range(8)]
    threads = [threading.Thread(target=ask_on_terminal, args=(each,)) for each in requests]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [request.decision for request in requests] == [("allow",)] * 8
    kinds = [
        "preview" if "number" in line else "question"
        for line in screen.getvalue().split("\n")
        if "number" in line or "Allow it?" in line
    ]
    assert kinds == ["preview", "question"] * 8


FRUIT = {
    "question": "Which fruit?",
    "options": [{"label": "Apple", "description": "red\x1b"}, {"label": "Pear"}],
}
SIDES = {**FRUIT, "question": "Which sides?", "multiSelect": True}


def asked(*questions):
    """A question of Claude's."""
    return StandInRequest("AskUserQuestion", {"questions": list(questions)})


def test_a_question_is_answered_by_number(typed):
    """One label, or several where that is possible; a wrong number is asked again."""
    screen = typed("0", "1 2", "2", "3", "", "2, 1,2")
    assert ask_on_terminal(asked(FRUIT, SIDES)) == (
        "answer",
        {"Which fruit?": "Pear", "Which sides?": ["Pear", "Apple"]},
    )
    assert "  1. Apple: red\\x1b\n  2. Pear\n" in screen.getvalue()


def test_a_question_may_stay_unanswered(typed):
    """Then Claude is told to decide itself."""
    typed("1", "n")
    assert ask_on_terminal(asked(FRUIT, SIDES))[0] == "deny"


@pytest.mark.parametrize(
    "given",
    [
        None,
        {},
        {"questions": []},
        {"questions": ["x"]},
        {"questions": [{"question": "x"}]},
        {"questions": [{"question": "x", "options": ["y"]}]},
    ],
)
def test_a_question_of_another_shape_is_left_to_others(typed, given):
    """It cannot be asked here."""
    typed()
    request = StandInRequest("AskUserQuestion")
    request.input = given
    assert ask_on_terminal(request) is None


def test_a_question_without_a_person_is_left_to_others(typed):
    """No terminal, the end of input, and a withdrawal decide nothing."""
    typed(tty=False)
    assert ask_on_terminal(asked(FRUIT)) is None
    typed(EOFError)
    assert ask_on_terminal(asked(FRUIT)) is None
    request = asked(FRUIT)
    typed(lambda: request.cancelled.set() or "1")
    assert ask_on_terminal(request) is None
    assert request.decision is None


def test_a_title_cannot_draw_a_prompt(typed):
    """It stays on its line, and does not push itself to the next with blanks."""
    screen = typed("n")
    ask_on_terminal(StandInRequest(title="Run ls\nAllow it? y\t" + " " * 300 + "Allow it? "))
    assert "\nRun ls\\nAllow it? y\\t Allow it?\n" in screen.getvalue()


def test_a_question_cannot_draw_options(typed):
    """Neither in its text nor in those of its options."""
    screen = typed("2")
    options = [{"label": "a\n  2. b", "description": "c\nd"}, {"label": "e"}]
    questions = [{"question": "Which?\n  1. fake", "options": options}]
    request = StandInRequest("AskUserQuestion", {"questions": questions})
    assert ask_on_terminal(request) == ("answer", {"Which?\n  1. fake": "e"})
    assert "\nWhich?\\n 1. fake\n  1. a\\n 2. b: c\\nd\n  2. e\n" in screen.getvalue()


def test_the_rules_of_always_are_shown(typed):
    """Whoever replies with it should know what follows."""
    rules = [{"toolName": "Bash", "ruleContent": "npm test:*\n"}, {"toolName": "Read"}, "x"]
    suggestions = (
        {"type": "addRules", "behavior": "allow", "rules": rules},
        {"type": "addRules", "behavior": "deny", "rules": [{"toolName": "Edit"}]},
        {"type": "addRules", "behavior": "allow", "rules": None},
        {"type": "setMode", "mode": "plan"},
    )
    screen = typed("a")
    assert ask_on_terminal(StandInRequest(suggestions=suggestions)) == ("always",)
    assert "\nAlways would mean: Bash(npm test:*\\n), Read\n" in screen.getvalue()
    many = ({"type": "addRules", "behavior": "allow", "rules": [{"toolName": "Read"}] * 30},)
    screen = typed("n")
    ask_on_terminal(StandInRequest(suggestions=many))
    assert "Read and 10 more\n" in screen.getvalue()
