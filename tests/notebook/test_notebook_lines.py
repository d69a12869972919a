"""A question mark at the end of a question is not a request for help."""

import io
import tokenize

from claude_sync.notebook.lines import QuestionLine


def tokens_of(code):
    """The tokens, by line, as far as the tokenizer gets."""
    lines, line = [], []
    try:
        for token in tokenize.generate_tokens(io.StringIO(code).readline):
            line.append(token)
            if token.type == tokenize.NEWLINE:
                lines.append(line)
                line = []
    except (tokenize.TokenError, SyntaxError):
        pass
    return [*lines, line]


def transformed(code):
    """The code, changed where it must be; None if that is nowhere."""
    found = QuestionLine.find(tokens_of(code))
    return None if found is None else "".join(found.transform(code.splitlines(True)))


QUESTIONS = [
    ("%claude who?\n", "CALL('claude', 'who?')\n"),
    ("%claude --new who? \n", "CALL('claude', '--new who?')\n"),
    (
        "x = 1\nif x:\n    %claude who?\ny = 2\n",
        "x = 1\nif x:\n    CALL('claude', 'who?')\ny = 2\n",
    ),
    ("a = %claude who?\n", "a = CALL('claude', 'who?')\n"),
    ("%claude\twho?\n", "CALL('claude', 'who?')\n"),
    ("%claude it's {x} (or not?\n", "CALL('claude', \"it's {x} (or not?\")\n"),
]


def test_questions_become_calls():
    """Alone, indented, and on the right of an assignment."""
    for code, expected in QUESTIONS:
        assert transformed(code) == expected.replace("CALL", "get_ipython().run_line_magic")


OTHERS = [
    "",
    "%claude who\n",
    "%claude?\n",
    "%claude??\n",
    "%claudette who?\n",
    "%other who?\n",
    "claude who?\n",
    "x %claude who?\n",
    '"""\n%claude who?\n"""\n',
    "x = 5 % 3\n",
    "# %claude who?\n",
    "name?\n",
]


def test_everything_else_is_left_to_ipython():
    """Help for the magic itself included."""
    assert [code for code in OTHERS if transformed(code) is not None] == []
