"""Markdown of others in a document of ours: harmless, below our headings, and within its bounds."""

from __future__ import annotations

from counted_steps import steps_of
from tables import each

from claude_sync.render.prose import tamed, tamed_words

KEPT = [
    "Some *words*, `List<String>` and ``a ` <b>``; 1 < 2, a<3, and <https://example.org/x>.",
    "See [`it`](https://example.org) and `x<T>`, or write <ada@example.org>.",
    "```html\n<script>x</script>\n# no heading\n```\nafter",
    "1. Run\n   ```\n   cat <file\n\n   # yes\n   ```\n2. Look",
    "~~~\n```\n<b>\n~~~",
    "a \\<b> \\` c",
]
CHANGED = [
    ("<script>x</script>", "\\<script>x\\</script>"),
    ("a <!-- b", "a \\<!-- b"),
    ("<https://e.org onclick=x>", "\\<https://e.org onclick=x>"),
    ("a ` <b>", "a ` \\<b>"),
    ("a `\n` <b> `", "a `\n` \\<b> `"),  # the code is where the line ends
    ("| ` | <b> ` |", "| ` | \\<b> ` |"),  # cells come before code
    ("\\\\<b>", "\\\\\\<b>"),
    ("> `<b>`", "> `\\<b>`"),
    ("[x](`a) <b> `", "[x](`a) \\<b> `"),
    ("[x](javascript:a)", "[x]\\(javascript:a)"),
    ("[x](file:///etc/passwd)", "[x]\\(file:///etc/passwd)"),
    ("see ![x](https://e.org/p.png) !", "see \\![x](https://e.org/p.png) !"),
    ("[x](  &#106;ava&Tab;script:a)", "[x]\\(  &#106;ava&Tab;script:a)"),
    ("[x](\nJavaScript:a)", "[x]\\(\nJavaScript:a)"),
    ("[x]: data:text/html,y", "[x]\\: data:text/html,y"),
    ("# one\n  ## two\n#hash", "### one\n  #### two\n#hash"),
    # Blocks of code: without an end, with one too far to the left, or where they might be none.
    ("```\n<b>", "```\n<b>\n```"),
    ("  ```\n<b>\n```\n<i>", "  ```\n  <b>\n  ```\n\\<i>"),
    ("- a\n    ```\n    <b>\n  ```\n<i>", "- a\n```\n<b>\n```\n\\<i>"),
    ("- ```js\n  <b>\n  ```\n<i>", "-\n\n```js\n<b>\n```\n\\<i>"),
    ("```a|b<c>\n|-|-|", "```a b c \n|-|-|\n```"),
    ("```ls``` <b>\n# one", "```ls``` \\<b>\n### one"),  # code within a line
    ("a\r\nb\rc", "a\nb\nc"),
]


@each("text", KEPT)
def test_what_is_harmless_stays_as_it_is(text):
    """Code above all."""
    assert tamed(text) == text


@each(("text", "written"), CHANGED)
def test_what_is_not_is_shown_as_text(text, written):
    """HTML, addresses that run something, headings, and code that is none, or never ends."""
    assert tamed(text) == written


def test_words_stay_on_their_line():
    """A title is no block of code, whatever it begins with."""
    assert tamed_words("```\n <b> `<i>`") == "``` \\<b> `\\<i>`"
    assert tamed_words(" a  `<i>` ") == "a `<i>`"


WORST = ["`a", "](", "](a", "<a", "`a` ", "\\", "]: x", "``` ", "- "]


@each("piece", WORST)
def test_the_work_grows_with_the_length_alone(piece):
    """Four times the text is four times the work, whatever it repeats."""
    short = steps_of(tamed, piece * 300)
    assert steps_of(tamed, piece * 1200) < 5 * short + 500


@each("piece", WORST)
def test_a_long_text_of_the_worst_kind_is_no_trouble(piece):
    """What the steps do not count, searches that go back and forth, would take minutes here."""
    text = piece * (100_000 // len(piece))
    assert len(text) <= len(tamed(text)) <= 3 * len(text)
