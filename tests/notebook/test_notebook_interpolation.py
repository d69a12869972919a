"""Variables reach the question; braces that mean something else survive; nothing is run."""

import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st
from image_samples import png
from notebook_shells import Shell

from claude_sync import Image
from claude_sync.errors import UsageError
from claude_sync.notebook import interpolation
from claude_sync.notebook.interpolation import interpolate, variables_of

NAMES = {"x": 5, "city": "Oslo", "größe": 1.5, "braces": "{x}", "_": "last"}

CODE = "f'{x!r} {x:>5} {x.real} {x[0]} {x()} { x }'"


def told(question):
    """The question with the variables above."""
    return interpolate(question, NAMES.__getitem__).text


TOLD = [
    ("{x} and {city}", "5 and Oslo"),
    ("{größe} {_}", "1.5 last"),
    ("{braces}", "{x}"),
    ("{{x}}", "{x}"),
    ("{{{x}}}", "{{x}}"),
    ("{unknown} {{unknown}}", "{unknown} {{unknown}}"),
    ('{"x": 1, "y": {}}', '{"x": 1, "y": {}}'),
    (CODE, CODE),
    ("def f(): return {1, 2}", "def f(): return {1, 2}"),
    ("costs $x or ${x}", "costs $x or $5"),
    ("{", "{"),
    ("{x", "{x"),
    ("{1}", "{1}"),
]


def test_only_names_of_variables_are_replaced():
    """Everything else between braces stays."""
    assert [(question, told(question)) for question, _ in TOLD] == TOLD


@given(st.text(alphabet="{}ab_ .()[]'\"!:0x\n"))
def test_without_variables_nothing_changes(question):
    """Whatever it looks like."""
    assert interpolate(question, {}.__getitem__).text == question


class Fails:
    """Has no text."""

    def __str__(self):
        raise RuntimeError("no text today")


def test_a_variable_without_a_text_is_named():
    """The error is the variable's own, and says which it is."""
    with pytest.raises(UsageError, match=r"variable odd .*no text today.*\{\{odd\}\}"):
        interpolate("{odd}", {"odd": Fails()}.__getitem__)


def test_names_of_the_shell_are_not_variables():
    """In code, {exit} and {__name__} mean themselves; results of cells are the user's."""
    shell = Shell(exit="the shell's", _="result", _12="older", __name__="__main__", mine=1)
    shell.user_ns_hidden = dict(shell.user_ns, mine=0)
    del shell.user_ns_hidden["__name__"]
    question = "{exit} {__name__} {_} {_12} {mine}"
    expected = "{exit} {__name__} result older 1"
    assert interpolate(question, variables_of(shell)).text == expected


def test_a_table_goes_whole_as_csv(monkeypatch):
    """pandas would show a few of its rows. What is too much is cut between rows, and told."""
    table = pandas.DataFrame({"city": [f"city {number}" for number in range(200)]})
    names = {"big": table, "column": table["city"]}
    for name in names:
        question = interpolate(f"Which? {{{name}}}", names.__getitem__)
        assert question.text.count("city ") == 200
        assert question.notes == []
    monkeypatch.setattr(interpolation, "LONGEST_TABLE", 500)
    question = interpolate("{big}", names.__getitem__)
    assert len(question.text) < 600
    assert "of 200 rows)" in question.text
    assert "200 rows" in question.notes[0]


def test_a_picture_is_attached():
    """Its place in the question says so."""
    picture = Image(png(4, 4))
    question = interpolate("What is {plot}?", {"plot": picture}.__getitem__)
    assert question.text == "What is (the attached picture plot)?"
    assert question.attach == [picture]


def test_what_looks_like_an_expression_is_told():
    """It is sent as it is; of what is no variable nothing is said."""
    question = interpolate("{x.real} {x[0]} {y.z} {{x.y}} {x} {x: 1}", NAMES.__getitem__)
    assert question.text == "{x.real} {x[0]} {y.z} {{x.y}} 5 {x: 1}"
    assert [note.split(" was")[0] for note in question.notes] == ["{x.real}", "{x[0]}"]
