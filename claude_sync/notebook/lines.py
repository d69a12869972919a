"""
Questions end with a question mark, which IPython takes for a request for help.

``%claude what is my name?`` would show what IPython knows about ``name``. So this is
one of the shell's transformers of input, tried before its own: it takes the lines that
begin with ``%claude`` and a blank and end with ``?``, also on the right of ``=``, and
leaves all others, ``%claude?`` among them, to IPython.

It sees a line as the tokenizer cuts it, so lines inside of strings are not taken.
"""

from __future__ import annotations

import tokenize
from typing import Any, List, Optional, Sequence, Tuple

__all__ = ["QuestionLine"]

MAGIC = "%claude"


class QuestionLine:
    """
    A line to be changed, in the form that IPython's list of transformers expects.

    Attributes:
        priority: Before the others, of those that begin in the same place.
        start_line, start_col: Where the line's code begins.

    """

    priority = 0

    def __init__(self, place: Tuple[int, int], column: int) -> None:
        self.start_line = place[0] - 1  # tokenizers count from 1
        self.start_col = place[1]
        self._column = column

    @classmethod
    def find(cls, tokens_by_line: Sequence[Sequence[Any]]) -> Optional[QuestionLine]:
        """The first such line, or None."""
        for tokens in tokens_by_line:
            code = [
                token for token in tokens if token.type not in (tokenize.INDENT, tokenize.DEDENT)
            ]
            for before, percent in zip([None, *code], code):
                if before is not None and before.string != "=":
                    continue
                if is_question(percent) and percent.start[0] == code[0].start[0]:
                    return cls(code[0].start, percent.start[1])
        return None

    def transform(self, lines: List[str]) -> List[str]:
        """The lines, with a call of the magic in this one's place."""
        line = lines[self.start_line]
        question = line[self._column + len(MAGIC) :].strip()
        call = f"get_ipython().run_line_magic({MAGIC[1:]!r}, {question!r})\n"
        changed = line[: self._column] + call
        return [*lines[: self.start_line], changed, *lines[self.start_line + 1 :]]


def is_question(percent: Any) -> bool:
    """Whether a token is the beginning of ``%claude ...?``, up to the end of its line."""
    if percent.string != "%":
        return False
    column = percent.start[1]
    # A token that spans several lines has them all; the rest of its own is what counts.
    text = percent.line.splitlines()[0] if percent.line else ""
    rest = text[column:]
    behind = rest[len(MAGIC) : len(MAGIC) + 1]
    return rest.startswith(MAGIC) and behind.isspace() and rest.rstrip().endswith("?")
