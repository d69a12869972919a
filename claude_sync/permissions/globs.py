"""One engine for patterns with wildcards, used for command lines and for paths."""

from __future__ import annotations

import re
from typing import Callable, Dict, Iterable, List, Sequence, Tuple, Union

__all__ = ["FILES", "MANY", "MARKS", "ONE", "Glob", "name_glob"]

# What only the running shell knows of a word: one text, any number of words, names of files. A
# line with such a character is unreadable, so that nobody can write one.
ONE, MANY, FILES = "\x01", "\x02", "\x03"
MARKS = frozenset((ONE, MANY, FILES))

# A text that must be there as it is, a test of one, or None: any number of any items.
Token = Union[str, Callable[[str], object], None]


class Glob:
    """
    Tokens compared with items, characters or names, in time proportional to the items.

    Each bit of a state is a place between the tokens that can be reached; a mark among the items
    reaches every place from the first one on.
    """

    def __init__(self, tokens: Sequence[Token]) -> None:
        self.end = 1 << len(tokens)
        self.stars = 0
        self.places: Dict[str, int] = {}
        self.tests: List[Tuple[int, Callable[[str], object]]] = []
        for number, token in enumerate(tokens):
            if token is None:
                self.stars |= 1 << number
            elif isinstance(token, str):
                self.places[token] = self.places.get(token, 0) | 1 << number
            else:
                self.tests.append((1 << number, token))
        self.start = self.passed(1)

    def matches(self, items: Iterable[str]) -> bool:
        """Whether all of the items match, or may match."""
        return bool(self.after(items, self.start) & self.end)

    def after(self, items: Iterable[str], state: int) -> int:
        """The places that are reached after some items."""
        for item in items:
            if not state:
                break
            if item in MARKS:
                state = (self.end * 2 - 1) & -(state & -state)
                continue
            fitting = self.places.get(item, 0)
            for place, test in self.tests:
                if state & place and test(item):
                    fitting |= place
            state = self.passed((state & fitting) << 1 | state & self.stars)
        return state

    def passed(self, state: int) -> int:
        """The places reached as well because a star may stand for nothing."""
        following = state | (state & self.stars) << 1
        return following if following == state else self.passed(following)


NAME_TOKEN = re.compile(r"\\(.)|\[([!^]?)([^\]]+)\]|(\*+)|(\?)|(.)", re.DOTALL)


def name_glob(pattern: str) -> Callable[[str], bool]:
    """A test for the names of files; raises ``re.error`` where a set of characters is wrong."""
    tokens: List[Token] = []
    for escaped, negated, characters, star, any_one, plain in NAME_TOKEN.findall(pattern):
        if characters:
            inside = re.sub(r"([\\\[^&~|])", r"\\\1", characters)
            tokens.append(re.compile(f"[{'^' if negated else ''}{inside}]", re.DOTALL).match)
        else:
            tokens.append(None if star else bool if any_one else escaped or plain)
    return Glob(tokens).matches
