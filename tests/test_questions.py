"""The questions of Claude, and the answers that may be given to them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_sync.errors import UsageError
from claude_sync.questions import (
    Question,
    QuestionOption,
    answered_input,
    checked_answers,
    questions_of,
)

INPUT = {
    "questions": [
        {
            "question": "Which database?",
            "header": "Database",
            "options": [
                {"label": "PostgreSQL", "description": "a server", "preview": "CREATE"},
                {"label": "SQLite", "description": "a file"},
            ],
            "multiSelect": False,
        },
        {
            "question": "Which features?",
            "header": "Features",
            "options": [{"label": "Search"}, {"label": "Login"}, {"label": "Export"}],
            "multiSelect": True,
        },
    ]
}
BOTH = questions_of(INPUT)
DATABASE, FEATURES = BOTH

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
KEYS = st.sampled_from(["question", "header", "options", "multiSelect", "label", "x"])


def refusal(questions, answers, **settings):
    """What is said about answers that cannot be."""
    with pytest.raises(UsageError) as caught:
        checked_answers(questions, answers, **settings)
    return str(caught.value)


def test_questions_are_read():
    """A question has its text, header, options and whether several may be chosen."""
    options = QuestionOption("PostgreSQL", "a server", "CREATE"), QuestionOption("SQLite", "a file")
    assert questions_of(INPUT)[0] == Question("Which database?", "Database", options, False)
    assert (FEATURES.multi_select, FEATURES.labels) == (True, ("Search", "Login", "Export"))
    assert DATABASE.raw is INPUT["questions"][0]
    assert DATABASE.options[1].raw is INPUT["questions"][0]["options"][1]


@pytest.mark.parametrize("junk", [None, 3, [], {}, {"questions": 3}, {"questions": [3, {}, "x"]}])
def test_no_question_is_found_where_there_is_none(junk):
    """Bad shapes are tolerated."""
    assert questions_of(junk) == ()


def test_options_may_be_plain_texts():
    """A text in place of an object is a label."""
    (question,) = questions_of({"questions": [{"question": "q", "options": ["a", 3, {}, "b"]}]})
    assert question.labels == ("a", "b")


@given(st.dictionaries(KEYS, JSON), st.lists(st.dictionaries(KEYS, JSON), max_size=3))
def test_any_shape_is_read(outer, inner):
    """Nothing Claude sends makes reading fail."""
    questions_of(outer)
    for question in questions_of({"questions": inner}):
        assert isinstance(question.text, str)
        assert all(isinstance(label, str) for label in question.labels)


def test_answers_are_keyed_by_the_full_text():
    """Whichever way a question is named, its text goes out; labels are joined."""
    expected = {"Which database?": "SQLite", "Which features?": "Search, Export"}
    for first, second in (
        ("Which database?", "Which features?"),
        ("Database", "Features"),
        (DATABASE, FEATURES),
        ("database", " which FEATURES? "),
    ):
        assert checked_answers(BOTH, {first: "SQLite", second: ["Search", "Export"]}) == expected


@pytest.mark.parametrize("answer", ["SQLite", ["SQLite"], ("SQLite",), {"Database": "SQLite"}])
def test_a_single_question_needs_no_name(answer):
    """For one question the label alone will do."""
    assert checked_answers([DATABASE], answer) == {"Which database?": "SQLite"}


def test_case_matters_only_where_it_must():
    """A label is found by its exact spelling first, then by any case if only one fits."""
    question = Question("q", "", (QuestionOption("Go"), QuestionOption("GO"), QuestionOption("C")))
    assert checked_answers([question], "GO") == {"q": "GO"}
    assert checked_answers([question], "c") == {"q": "C"}
    assert "'go' is no answer" in refusal([question], "go")


def test_a_label_that_is_not_there_is_refused():
    """The nearest one is named, and all there are."""
    said = refusal([DATABASE], "SQLight")
    assert "Did you mean 'SQLite'?" in said
    assert "'PostgreSQL', 'SQLite'" in said
    assert "free_text=True" in said


def test_free_text_is_an_answer_where_it_is_wanted():
    """Any text then; but not an empty one."""
    assert checked_answers([DATABASE], "Oracle", free_text=True) == {"Which database?": "Oracle"}
    assert checked_answers([DATABASE], "sqlite", free_text=True) == {"Which database?": "SQLite"}
    assert "any other text" in refusal([DATABASE], "  ", free_text=True)


def test_a_question_without_options_needs_free_text():
    """There is nothing to choose from."""
    question = Question("Why?")
    assert "free_text=True" in refusal([question], "because")
    assert checked_answers([question], "because", free_text=True) == {"Why?": "because"}
    assert "Any text" in refusal([question], [], free_text=True)


def test_one_answer_only_where_one_is_asked_for():
    """Several labels are for questions that take several."""
    assert "takes one answer, not 2" in refusal([DATABASE], ["SQLite", "PostgreSQL"])


def test_no_answer_is_no_answer():
    """An empty list chooses nothing."""
    assert "empty list" in refusal([FEATURES], [])
    assert "one or several of 'Search'" in refusal([FEATURES], [])


def test_every_question_is_answered():
    """The one that is missing is named, with its options."""
    said = refusal(BOTH, {"Database": "SQLite"})
    assert "'Which features?' has no answer" in said
    assert "'Login'" in said


def test_a_question_is_answered_once():
    """Its text and its header are the same question."""
    said = refusal([DATABASE], {"Database": "SQLite", "Which database?": "SQLite"})
    assert "answered twice" in said
    assert "given twice" in refusal([FEATURES], ["Search", "search"])


@pytest.mark.parametrize("key", ["Databas", 3, None, Question("another")])
def test_an_unknown_question_is_refused(key):
    """All that were asked are named."""
    said = refusal(BOTH, {key: "SQLite"})
    assert "there is no question" in said
    assert "'Which features?' ('Features')" in said


def test_the_nearest_question_is_named():
    """A typo is easily mended."""
    assert "Did you mean 'Database'?" in refusal(BOTH, {"Databse": "SQLite"})


def test_a_header_that_two_questions_share_names_none():
    """The texts tell them apart."""
    twins = [Question("one?", "Same", (QuestionOption("a"),)), Question("two?", "Same")]
    said = refusal(twins, {"Same": "a"})
    assert "any of 2 questions" in said
    assert "'one?', 'two?'" in said


@pytest.mark.parametrize("answers", ["SQLite", ["SQLite"], None, 3, True])
def test_several_questions_need_names(answers):
    """A bare label could mean any of them."""
    assert "a dict {question" in refusal(BOTH, answers)


@pytest.mark.parametrize("answers", [None, 3, True, object()])
def test_answers_of_another_type_are_refused(answers):
    """For one question as well."""
    assert "answers must be a label" in refusal([DATABASE], answers)
    assert "must be a label or a list" in refusal([DATABASE], {"Database": answers})
    assert "is no answer" in refusal([DATABASE], ["x" if answers is None else answers])


def test_where_nothing_was_asked_nothing_is_answered():
    """No questions, no answers; and none too many."""
    assert checked_answers([], {}) == {}
    assert "Nothing was asked" in refusal([], {"x": "y"})
    assert "Nothing was asked" in refusal([], "x")


def test_the_answers_go_into_the_input():
    """The questions stay as they are; the original is left alone."""
    answered = answered_input(INPUT, {"Which database?": "SQLite"})
    assert answered == {**INPUT, "answers": {"Which database?": "SQLite"}}
    assert answered["questions"] is INPUT["questions"]
    assert "answers" not in INPUT


def test_a_long_answer_is_not_repeated_in_full():
    """An error is read by a person."""
    assert len(refusal([DATABASE], "x" * 10_000)) < 400
