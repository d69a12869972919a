"""The questions of Claude, and the answers that may be given to them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import each

from claude_sync import Question, QuestionOption, UsageError
from claude_sync.permissions.questions import checked_answers, questions_of

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
WHY = Question("Why?")
GO = Question("Go?", "", (QuestionOption("Go"), QuestionOption("GO"), QuestionOption("C")))
TWINS = [Question("one?", "Same", (QuestionOption("a"),)), Question("two?", "Same")]

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
KEYS = st.sampled_from(["question", "header", "options", "multiSelect", "label", "x"])


def refusal(questions, answers, **settings):
    """The error about answers that cannot be."""
    with pytest.raises(UsageError) as caught:
        checked_answers(questions, answers, **settings)
    return caught.value


def test_questions_are_read():
    """A question has its text, header, options and whether several may be chosen."""
    options = QuestionOption("PostgreSQL", "a server", "CREATE"), QuestionOption("SQLite", "a file")
    assert Question("Which database?", "Database", options, False) == DATABASE
    assert (FEATURES.multi_select, FEATURES.labels) == (True, ("Search", "Login", "Export"))
    assert DATABASE.raw is INPUT["questions"][0]
    assert DATABASE.options[1].raw is INPUT["questions"][0]["options"][1]
    (question,) = questions_of({"questions": [{"question": "q", "options": ["a", 3, {}, "b"]}]})
    assert question.labels == ("a", "b")


@each("junk", [None, 3, [], {}, {"questions": 3}, {"questions": [3, {}, "x"]}])
def test_no_question_is_found_where_there_is_none(junk):
    """Bad shapes are tolerated."""
    assert questions_of(junk) == ()


@given(st.dictionaries(KEYS, JSON), st.lists(st.dictionaries(KEYS, JSON), max_size=3))
def test_any_shape_is_read(outer, inner):
    """Nothing that Claude sends makes reading fail."""
    questions_of(outer)
    for question in questions_of({"questions": inner}):
        assert isinstance(question.text, str)
        assert all(isinstance(label, str) for label in question.labels)


@each(
    ("questions", "answers", "free_text", "expected"),
    [
        # A question is named by its text, its header or itself; a label alone does for one.
        (
            BOTH,
            {"Which database?": "SQLite", "Features": ["Search", "Export"]},
            False,
            {"Which database?": "SQLite", "Which features?": "Search, Export"},
        ),
        (
            BOTH,
            {DATABASE: "sqlite ", " FEATURES ": "login"},
            False,
            {"Which database?": "SQLite", "Which features?": "Login"},
        ),
        ([DATABASE], "SQLite", False, {"Which database?": "SQLite"}),
        ([DATABASE], ("SQLite",), False, {"Which database?": "SQLite"}),
        ([FEATURES], ["Login", "Search"], False, {"Which features?": "Login, Search"}),
        # The exact spelling goes before another case.
        ([GO], "GO", False, {"Go?": "GO"}),
        ([GO], "c", False, {"Go?": "C"}),
        ([GO], "go", True, {"Go?": "go"}),
        # Free text, where it is wanted; a label is still one.
        ([DATABASE], "Oracle", True, {"Which database?": "Oracle"}),
        ([DATABASE], "sqlite", True, {"Which database?": "SQLite"}),
        ([FEATURES], ["Search", "Speed"], True, {"Which features?": "Search, Speed"}),
        ([WHY], "because", True, {"Why?": "because"}),
        ([], {}, False, {}),
    ],
)
def test_answers(questions, answers, free_text, expected):
    """They are keyed by the full text of the question; labels have their own spelling."""
    assert checked_answers(questions, answers, free_text=free_text) == expected


@each(
    ("questions", "answers", "free_text", "named"),
    [
        # What there is to choose from.
        ([DATABASE], "SQLight", False, "'PostgreSQL', 'SQLite'"),
        ([DATABASE], "Oracle", False, "free_text=True"),
        ([DATABASE], ["x", "SQLite"], False, "'SQLite'"),
        ([GO], "go", False, "'GO'"),
        ([DATABASE], "  ", True, "any other text"),
        ([WHY], "because", False, "free_text=True"),
        ([WHY], [], True, "text"),
        ([FEATURES], [], False, "several of 'Search'"),
        ([DATABASE], {"Database": None}, False, "'SQLite'"),
        ([DATABASE], {"Database": 3}, True, "'SQLite'"),
        ([DATABASE], {"Database": [3]}, True, "'SQLite'"),
        ([DATABASE], ["SQLite", "PostgreSQL"], False, "single"),
        ([FEATURES], ["Search", "search"], False, "repetition"),
        # Which question is meant.
        (BOTH, {"Databas": "SQLite"}, False, "'Which features?'"),
        (BOTH, {3: "SQLite"}, False, "'Which features?'"),
        (BOTH, {Question("another"): "SQLite"}, False, "'Which features?'"),
        (BOTH, {"  ": "SQLite"}, False, "'Which features?'"),
        (TWINS, {"Same": "a"}, False, "'one?'"),
        ([DATABASE], {"Database": "SQLite", "Which database?": "SQLite"}, False, "twice"),
        (BOTH, {"Database": "SQLite"}, False, "'Login'"),
        (BOTH, "SQLite", False, "'Which features?'"),
        (BOTH, ["SQLite", "Search"], False, "dict"),
        ([DATABASE], None, False, "dict"),
        ([DATABASE], 3, True, "dict"),
        ([], {"x": "y"}, False, "x"),
        ([], "x", False, "dict"),
    ],
)
def test_answers_that_are_refused(questions, answers, free_text, named):
    """The error names what was asked, or what there is to choose from."""
    assert named in str(refusal(questions, answers, free_text=free_text))


def test_the_nearest_name_is_data_of_the_error():
    """A typo is easily mended."""
    error = refusal([DATABASE], "SQLight")
    assert (error.value, error.nearest) == ("SQLight", "SQLite")
    assert refusal(BOTH, {"Databse": "SQLite"}).nearest == "Database"
    assert len(str(refusal([DATABASE], "x" * 10_000))) < 400
