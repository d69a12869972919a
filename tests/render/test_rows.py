"""What a chat draws: a text in parts, steps as rows, and which of them are drawn."""

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_sync.render import Chat, Step
from claude_sync.render.rows import LONGEST_CODE, LONGEST_PROSE, Parts, Reach, Row, Rows, colours

TEXT = """\
Before.

```python
print("hi")
```

1. an item with code:

   ~~~sh
   ls
   ~~~

2. the next

```
never closed
"""


def parts_of(text):
    """The parts of a text as kind, language and text."""
    parts = Parts()
    parts.read(text)
    return [(part.kind, part.language, part.text) for part in parts.parts]


def test_prose_and_code_are_parts_of_their_own():
    """With the language of the fence, and without the indent of the list that it is in."""
    assert parts_of(TEXT) == [
        ("prose", "", "Before."),
        ("code", "python", 'print("hi")'),
        ("prose", "", "1. an item with code:"),
        ("code", "sh", "ls"),
        ("prose", "", "2. the next"),
        ("code", "", "never closed"),
    ]


@given(st.lists(st.sampled_from(["a", "\n", "\n\n", "```", "```py\n", "~~~\n", " b c ", "- x"])))
def test_a_text_that_grows_has_the_parts_of_the_whole(pieces):
    """However it is cut on its way."""
    parts, text = Parts(), ""
    for piece in pieces:
        text += piece
        parts.read(text)
    assert [(part.kind, part.language, part.text) for part in parts.parts] == parts_of(text)


def test_parts_that_stand_are_not_made_again():
    """Only the last one grows."""
    parts = Parts()
    parts.read("One.\n\n```\ncode\n```\nTwo")
    first = parts.parts[:2]
    parts.read("One.\n\n```\ncode\n```\nTwo and more")
    assert [one is two for one, two in zip(parts.parts, first)] == [True, True]
    assert parts.parts[-1].text == "Two and more"


def test_a_text_that_becomes_another_one_is_read_anew():
    """The complete message may differ from what streamed in."""
    parts = Parts()
    parts.read("One.\n\n```\ncode\n```\n")
    parts.read("Other")
    assert [part.text for part in parts.parts] == ["Other"]


def test_no_part_is_long():
    """Prose is cut between paragraphs, else between lines; code goes on in the next part."""
    parts = Parts()
    prose = "word " * 100 + "\n\n"
    code = "line of code\n" * LONGEST_CODE
    parts.read(prose * 40 + "word\n" * LONGEST_PROSE + "```\n" + code + "```\n")
    assert max(len(part.text) for part in parts.parts) <= max(LONGEST_PROSE, LONGEST_CODE)
    found = [part for part in parts.parts if part.kind == "code"]
    assert "\n".join(part.text for part in found) + "\n" == code
    assert [part.goes_on for part in found] == [True] * (len(found) - 1) + [False]


# Rows.


@pytest.fixture
def chat():
    """A conversation with one answer."""
    return Chat([Step("user", "hi"), Step("claude", "One.\n\n```\ncode\n```\nTwo")])


def test_only_what_changed_has_another_version(chat):
    """The rows are the same objects, before and after."""
    rows = Rows(chat)
    before = [(row, row.version) for row in rows.update()]
    chat.steps[-1].text += " and more"
    after = [(row, row.version) for row in rows.update()]
    assert before[:-1] == after[:-1]
    assert before[-1][0] is after[-1][0]
    assert before[-1][1] < after[-1][1]


def test_rows_that_are_settled_stay(chat):
    """Before a new prompt; a tool that still runs is looked at nevertheless."""
    tool = Step("tool", tool="Bash", state="unfinished", input={"command": "ls"})
    chat.steps.append(tool)
    rows = Rows(chat)
    before = list(rows.update())
    rows.settle()
    chat.steps.append(Step("user", "and?"))
    version = before[-1].version
    tool.state = "done"
    after = rows.update()
    assert after[: len(before)] == before
    assert before[-1].version > version
    assert after[-1].text == "and?"


def test_a_request_stands_behind_its_tool(chat):
    """And what waits at the end."""

    chat.steps += [Step("tool", tool="Bash", tool_use_id="toolu_1"), Step("claude", "later")]
    form = SimpleNamespace(request=SimpleNamespace(tool_use_id="toolu_1"))
    asking, waiting = Row("asking", Step("tool"), form=form), Row("waiting", Step("user"))
    kinds = [row.kind for row in Rows(chat).update([asking], [waiting])]
    assert kinds == ["user", "prose", "code", "prose", "tool", "asking", "prose", "waiting"]


def test_the_change_to_a_file_is_unfolded_once(chat):
    """What the person folds stays folded."""
    step = Step("tool", tool="Edit", state="unfinished", diff=("-a", "+b"))
    chat.steps.append(step)
    rows = Rows(chat)
    assert not rows.update()[-1].is_open
    step.state = "done"
    row = rows.update()[-1]
    assert row.is_open
    row.is_open, step.text = False, "edited"
    assert not rows.update()[-1].is_open


# Which are drawn.


def test_at_the_end_the_last_rows_are_drawn():
    """A bounded number, however many there are."""
    rows, reach = [Row("note", Step("note")) for _ in range(5000)], Reach()
    for count in range(0, 5001, 50):
        drawn = reach.of(rows[:count])
        assert len(drawn) <= 120
        assert drawn[-1:] == rows[:count][-1:]


def test_somebody_who_reads_above_is_left_alone():
    """What comes below is not drawn, beyond a limit; more above is on demand."""
    rows, reach = [Row("note", Step("note")) for _ in range(5000)], Reach()
    first = reach.of(rows[:1000])[0]
    reach.earlier()
    drawn = reach.of(rows[:1000])
    assert drawn.index(first) == 60
    assert reach.of(rows) == drawn
    reach.around(10)
    assert rows[10] in reach.of(rows)
    reach.follows = True
    assert reach.of(rows)[-1] is rows[-1]


def test_colours_follow_the_ground():
    """Letters can be read on everything behind them, light and dark."""
    light = colours((255, 255, 255), (0, 0, 0), (0, 90, 200))
    dark = colours((30, 30, 30), (240, 240, 240), (110, 170, 255))
    assert light.keys() == dark.keys()
    for known in (light, dark):
        for name in ("box", "bubble", "added", "removed", "hunk", "error"):
            assert contrast(known["text"], known[name]) > 7
        for name in ("faint", "accent", "k", "s", "n", "f", "c", "good", "bad", "wait"):
            assert contrast(known[name], known["back"]) > 4.5


def contrast(one, other):
    """The contrast of two colours, as the accessibility guidelines count it."""
    lights = sorted(map(luminance, (one, other)))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


def luminance(colour):
    """How light a colour is."""
    shares = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
