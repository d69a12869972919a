"""What dialogs show and answer, without a display: texts, choices, and one answer only."""

import pytest
from made_requests import answers_to, made_request

from claude_sync import Questions, UsageError
from claude_sync.permissions import forms
from claude_sync.permissions.forms import PermissionForm, QuestionForm, form_of

RIGHT_TO_LEFT = "\u202e"

COLOURS = {
    "question": "Which colour?",
    "header": "Colour",
    "options": [{"label": "Red", "description": "as fire"}, {"label": "Blue"}],
    "multiSelect": False,
}
FRUITS = {
    "question": "Which fruits?",
    "header": "Fruit",
    "options": [{"label": "Apple"}, {"label": "Pear"}, {"label": "Plum"}],
    "multiSelect": True,
}
RULE = {
    "type": "addRules",
    "rules": [{"toolName": "Bash", "ruleContent": "npm test:*"}, {"toolName": "Read"}],
    "behavior": "allow",
    "destination": "localSettings",
}


MODE = {"type": "setMode", "mode": "acceptEdits", "destination": "localSettings"}


@pytest.fixture
def asked(tmp_path):
    """Make requests as the CLI makes them."""

    def ask(tool="Bash", input=None, **fields):
        return made_request(tool, input or {}, tmp_path, **fields)

    return ask


@pytest.fixture
def questioned(asked):
    """Make a form for questions."""
    return lambda *questions: QuestionForm(
        Questions(asked("AskUserQuestion", {"questions": list(questions)}))
    )


# Permissions: what is shown.


TITLES = [
    ("Bash", {}, "Claude wants to run a command"),
    ("Bash", {"agent_id": "a1"}, "A subagent wants to run a command"),
    ("Edit", {}, "Claude wants to change a file"),
    ("ExitPlanMode", {}, "Claude wants to carry out this plan"),
    ("mcp__files__read_it", {}, "Claude wants to use read_it of files"),
    ("WebFetch", {}, "Claude wants to use WebFetch"),
    ("Bash", {"title": "Claude wants to\nrun it"}, "Claude wants to run it"),
    ("Web" + RIGHT_TO_LEFT, {}, "Claude wants to use Web\\u202e"),
]


def test_the_title_says_what_is_asked(asked):
    """In one line, with nothing in it that deceives."""
    found = [
        (tool, fields, PermissionForm(asked(tool, **fields)).title) for tool, fields, _ in TITLES
    ]
    assert found == TITLES


VERBS = [
    ("Write", {"file_path": "new.txt", "content": "x\n"}, "create"),
    ("Write", {"file_path": "new.txt", "content": ""}, "create"),
    ("Write", {"file_path": "leads.txt", "content": "x\n"}, "create"),
    ("Write", {"file_path": "old.txt", "content": "x\n"}, "change"),
    ("Write", {"file_path": "old.txt", "content": "--- /dev/null\n"}, "change"),
    ("Write", {"file_path": "/dev/null", "content": "new file x\n"}, "change"),
    ("Write", {"file_path": ".", "content": "x\n"}, "change"),
    ("Write", {}, "change"),
    ("Edit", {"file_path": "new.txt", "old_string": "", "new_string": "x"}, "create"),
    ("Edit", {"file_path": "new.txt", "old_string": "y", "new_string": "x"}, "change"),
    ("NotebookEdit", {"notebook_path": "a.ipynb", "edit_mode": "insert"}, "change"),
]


def test_the_title_says_whether_a_file_is_new(asked, tmp_path):
    """As the preview shows it; a new cell, or a file that cannot be read, is a change."""
    tmp_path.joinpath("old.txt").write_text("old\n")
    tmp_path.joinpath("a.ipynb").write_text('{"cells": []}')
    tmp_path.joinpath("leads.txt").symlink_to(tmp_path / "nowhere.txt")
    titles = [(tool, input, PermissionForm(asked(tool, input)).title) for tool, input, _ in VERBS]
    assert titles == [(*call, f"Claude wants to {verb} a file") for *call, verb in VERBS]


def test_details_are_what_the_preview_does_not_say(asked):
    """The description of a command is in its preview already."""
    form = PermissionForm(
        asked(
            "Bash",
            {"command": "ls", "description": "Look around"},
            description="Look around",
            decision_reason="outside of\nthe project",
            blocked_path="/etc",
        )
    )
    assert form.details == ("outside of the project", "It is about /etc")
    assert [line.text for line in form.lines] == ["$ ls", "# Claude says: Look around"]
    assert [line.kind for line in form.lines] == ["plain", "note"]
    assert not form.is_diff


def test_a_description_of_another_tool_is_a_detail(asked):
    """Only commands show theirs themselves."""
    assert PermissionForm(asked("WebFetch", description="look it up")).details == (
        "Claude says: look it up",
    )


def test_the_name_of_a_changed_file_is_no_detail(asked):
    """CLIs describe a change by the name of the file, which the diff has already."""
    given = {"file_path": "/a/notes.txt", "content": "x"}
    assert PermissionForm(asked("Write", given, description="notes.txt")).details == ()


def test_a_change_of_a_file_is_shown_as_a_diff(asked, tmp_path):
    """The preview of the real request."""
    tmp_path.joinpath("a.txt").write_text("--- one\n")
    form = PermissionForm(asked("Write", {"file_path": "a.txt", "content": "two\n"}))
    assert form.is_diff
    assert ("removed", "---- one") in form.lines
    assert ("added", "+two") in form.lines


def test_always_is_offered_where_a_rule_is_suggested(asked):
    """And says what it allows; a change of mode is none."""

    def always(*suggestions):
        return PermissionForm(asked(permission_suggestions=list(suggestions))).always

    useless = [
        [],
        [{"type": "setMode", "mode": "acceptEdits"}],
        [{**RULE, "behavior": "deny"}],
        [{**RULE, "rules": "junk"}],
        [{**RULE, "rules": [{"ruleContent": "x"}]}],
    ]
    assert [each for each in useless if always(*each) is not None] == []
    words = "Bash(npm test:*) and every use of Read, in this session"
    assert [always(RULE), always(RULE, RULE)] == [words, words]


def test_many_rules_are_counted(asked):
    """A button has little room."""
    rules = [{"toolName": "Bash", "ruleContent": f"c{number}"} for number in range(9)]
    always = PermissionForm(asked(permission_suggestions=[{**RULE, "rules": rules}])).always
    assert always.endswith("Bash(c5) and 3 more, in this session")


def test_the_choices_are_those_that_the_cli_offers(asked):
    """Each with what it means, and with a method of its name; to deny comes last."""

    def choices(*suggestions):
        return PermissionForm(asked("Write", permission_suggestions=list(suggestions))).choices

    assert [each.label for each in choices()] == ["Allow", "Deny"]
    every = choices(RULE, MODE)
    assert [(each.name, each.label) for each in every] == [
        ("allow", "Allow"),
        ("accept_edits", "Allow all edits in this session"),
        ("allow_always", "Always allow"),
        ("deny", "Deny"),
    ]
    assert "without asking" in every[1].meaning
    assert every[2].meaning.startswith("Always allow means: Bash(npm test:*) and every use of")
    assert [each.allows for each in every] == [True, True, True, False]


def test_everything_is_shown_when_it_is_wanted(asked):
    """Also what the preview leaves out."""
    form = PermissionForm(asked("Bash", {"command": "x" * 5000, "other": "field"}))
    assert "x" * 5000 not in "".join(line.text for line in form.lines)
    text = "\n".join(line.text for line in form.everything())
    assert "x" * 5000 in text
    assert "other: field" in text


# Permissions: the answer.


def test_a_form_answers_once(asked):
    """Whatever is pressed or closed after that does nothing."""
    answers = {"allow": "allow", "allow_always": "allow", "accept_edits": "allow"}
    answers.update(deny="deny", close="deny")
    for verb, behavior in answers.items():
        request = asked(permission_suggestions=[RULE, MODE])
        form = PermissionForm(request)
        assert form.is_open
        assert getattr(form, verb)() is True
        assert not form.is_open
        assert [form.allow(), form.allow_always(), form.deny(), form.close()] == [False] * 4
        assert [answer["behavior"] for answer in answers_to(request)] == [behavior], verb


def test_always_takes_the_rule_along(asked):
    """For this session; a plain yes does not."""
    always, once = asked(permission_suggestions=[RULE]), asked(permission_suggestions=[RULE])
    PermissionForm(always).allow_always()
    PermissionForm(once).allow()
    assert answers_to(always)[0]["updatedPermissions"] == [{**RULE, "destination": "session"}]
    assert not answers_to(once)[0].get("updatedPermissions")


def test_all_edits_take_the_mode_along(asked):
    """For this session, too."""
    request = asked("Write", permission_suggestions=[MODE])
    PermissionForm(request).accept_edits()
    assert answers_to(request)[0]["updatedPermissions"] == [{**MODE, "destination": "session"}]


def test_claude_reads_the_reason(asked):
    """Or that a person said no."""
    no = forms.DENIED_BY_PERSON
    for reason, message in ((" use pathlib ", "use pathlib"), ("", no), ("\n", no)):
        request = asked()
        PermissionForm(request).deny(reason)
        assert answers_to(request)[0]["message"] == message


def test_a_request_that_was_answered_elsewhere_is_not_answered_again(asked):
    """Another handler may be quicker than a person."""
    request = asked()
    form = PermissionForm(request)
    request.deny("by a policy")
    assert not form.is_open
    assert form.allow() is False
    assert not form.is_open
    assert [answer["message"] for answer in answers_to(request)] == ["by a policy"]


def test_a_withdrawn_request_closes_the_dialog(asked):
    """Then no button answers any more."""
    request = asked()
    form, closed = PermissionForm(request), []
    form.on_withdrawn(lambda: closed.append(True))
    assert closed == []
    request._slot.withdraw()
    assert closed == [True]
    assert not form.is_open
    assert form.allow() is False
    assert answers_to(request) == []


def test_an_answer_that_is_refused_leaves_the_form_open(asked):
    """What somebody changed beside the dialog is not what would run."""
    request = asked(input={"command": "ls"})
    form = PermissionForm(request)
    request.input["command"] = "rm"
    with pytest.raises(UsageError, match="was changed"):
        form.allow()
    assert form.is_open
    assert form.deny()


# Questions.


def test_one_answer_replaces_another(questioned):
    """A choice, then another, then words of one's own, then a choice again."""
    field = questioned(COLOURS).fields[0]
    assert field.answer() is None
    field.choose(0)
    assert (field.chosen, field.answer()) == ((0,), "Red")
    field.choose(1)
    assert (field.chosen, field.answer()) == ((1,), "Blue")
    field.write(" green ")
    assert (field.chosen, field.answer()) == ((), "green")
    field.choose(1)
    assert (field.other, field.answer()) == ("", "Blue")
    field.choose(1, False)
    assert field.answer() is None


def test_several_answers_add_up(questioned):
    """In the order of the options, with words of one's own last."""
    field = questioned(FRUITS).fields[0]
    for number in (2, 0, 1):
        field.choose(number)
    field.choose(1, False)
    field.write("fig")
    assert field.answer() == ["Apple", "Plum", "fig"]


def test_the_same_answer_in_other_words_is_one(questioned):
    """A label that is also written."""
    field = questioned(FRUITS).fields[0]
    field.choose(0)
    field.write("APPLE ")
    assert field.answer() == ["Apple"]


def test_an_option_that_is_not_there_cannot_be_chosen(questioned):
    """A dialog that miscounts is told."""
    for number in (-1, 2):
        with pytest.raises(UsageError, match="0 to 1"):
            questioned(COLOURS).fields[0].choose(number)


def test_every_question_needs_an_answer(questioned):
    """Only then they are sent, once."""
    form = questioned(COLOURS, FRUITS)
    assert form.missing() is form.fields[0]
    form.fields[0].write("green")
    assert form.missing() is form.fields[1]
    assert form.answer() is False
    assert form.is_open
    form.fields[1].choose(1)
    form.fields[1].choose(2)
    assert form.missing() is None
    assert form.answer() is True
    assert (form.answer(), form.decline()) == (False, False)
    (answer,) = answers_to(form.request)
    assert answer["updatedInput"]["answers"] == {
        "Which colour?": "green",
        "Which fruits?": "Pear, Plum",
    }


def test_to_decline_is_a_no(questioned):
    """A dialog that is closed without an answer."""
    form = questioned(COLOURS)
    assert form.decline() is True
    assert form.answer() is False
    assert answers_to(form.request)[0]["behavior"] == "deny"


def test_the_same_question_twice_is_asked_once(questioned):
    """The answers go by its text."""
    form = questioned(COLOURS, COLOURS)
    assert len(form.fields) == 1
    form.fields[0].choose(0)
    assert form.answer() is True


def test_a_question_shows_what_it_has(questioned):
    """Harmless, as everything that Claude wrote."""
    odd = {**COLOURS, "question": "Which\n\x1b[31mcolour?", "header": "Col\nour"}
    field = questioned(odd).fields[0]
    assert field.title == "Col our"
    assert field.text == "Which\n\\x1b[31mcolour?"
    assert field.options == (("Red", "as fire"), ("Blue", ""))


def test_who_asks(asked):
    """Claude, or a subagent."""
    input = {"questions": [COLOURS]}
    assert QuestionForm(Questions(asked("AskUserQuestion", input))).title == "Claude asks"
    agent = asked("AskUserQuestion", input, agent_id="a1")
    assert QuestionForm(Questions(agent)).title == "A subagent asks"


# Which form.


def test_a_request_gets_the_form_it_needs(asked):
    """Questions get theirs, whichever handler was asked; questions without any do not."""
    question = asked("AskUserQuestion", {"questions": [COLOURS]})
    assert isinstance(form_of(question), QuestionForm)
    assert isinstance(form_of(Questions(question)), QuestionForm)
    assert isinstance(form_of(asked("AskUserQuestion")), PermissionForm)
    assert isinstance(form_of(asked()), PermissionForm)


def test_anything_else_has_no_form():
    """And the error says what has."""
    with pytest.raises(UsageError, match="on_permission"):
        form_of("a text")


def test_long_texts_of_questions_are_cut(questioned):
    """As many lines and characters as a window has room for; the answer is about all of it."""
    text = "why?\n" * 1_000
    option = {"label": "Red", "description": "x" * 5_000 + RIGHT_TO_LEFT}
    form = questioned({"question": text, "header": "", "options": [option], "multiSelect": False})
    (field,) = form.fields
    assert field.text == "\n".join(["why?"] * 20) + "..."
    assert field.options == (("Red", "x" * 300 + "..."),)
    field.choose(0)
    assert form.answers() == {text: "Red"}
