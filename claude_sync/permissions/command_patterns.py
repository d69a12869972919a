"""
The patterns of rules for commands: texts with wildcards.

What is compared comes from the model, so it is compared without going back: each
character is looked at once.
"""

from __future__ import annotations

import re
from typing import Dict, List, Sequence

from ..errors import UsageError
from .shell_commands import PLAIN_COMMAND, RESERVED_WORDS
from .shell_suspects import ANYTHING

__all__ = ["Wildcards", "check_simple", "command_patterns"]

QUOTED = re.compile(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"|\\.", re.DOTALL)
GRAMMAR = re.compile(r"[|&;<>()`\n]")


class Wildcards:
    """
    A text with wildcards, compared in time proportional to the compared text.

    Each bit of ``state`` is a place in the pattern that can be reached; ``ANYTHING``
    in the compared text reaches every place from the first one on.
    """

    def __init__(self, pattern: str) -> None:
        tokens = re.findall(r"\\[*\\]|\*+|[^*]", pattern, re.DOTALL)
        self.length = len(tokens)
        self.stars = 0
        self.places: Dict[str, int] = {}
        for place, token in enumerate(tokens):
            if token.startswith("*"):
                self.stars |= 1 << place
            else:
                character = token[-1]
                self.places[character] = self.places.get(character, 0) | 1 << place

    def matches(self, text: str) -> bool:
        """Whether the whole text matches, or may match."""
        return self.is_complete(self.after(text, self.passed(1)))

    def may_match(self, words: Sequence[str]) -> bool:
        """
        Whether the words of a command match, or may match, perhaps without its options.

        Options may stand before a subcommand, with a value or without:
        ``git -C . push`` is ``git push``, too.
        """
        state = self.after(words[0], self.passed(1))
        option = False
        for word in words[1:]:
            following = self.after(" " + word, state)
            was_option, option = option, word.startswith(("-", ANYTHING))
            # Perhaps the word before had this one for its value.
            state = following | state if option or was_option else following
            if not state:
                return False
        return self.is_complete(state)

    def after(self, text: str, state: int) -> int:
        """The places that are reached after some text."""
        everywhere = (2 << self.length) - 1
        for character in text:
            if not state:
                break
            if character == ANYTHING:
                state = everywhere & -(state & -state)
            else:
                advanced = (state & self.places.get(character, 0)) << 1
                state = self.passed(advanced | state & self.stars)
        return state

    def is_complete(self, state: int) -> bool:
        """Whether the end is among the places."""
        return bool(state >> self.length & 1)

    def passed(self, state: int) -> int:
        """The places reached as well because a wildcard may stand for nothing."""
        return state | (state & self.stars) << 1


def command_patterns(text: str, pattern: str) -> List[Wildcards]:
    """The patterns of a rule for commands: the exact one, and those that it abbreviates."""
    prefix = pattern[:-2].rstrip() if pattern.endswith(":*") else None
    if prefix is None and pattern.endswith(" *") and pattern.count("*") == 1:
        prefix = pattern[:-2].rstrip()  # the CLI, too, takes the arguments as optional
    if prefix is None:
        return [Wildcards(pattern)]
    if not prefix:
        raise UsageError(
            f"the rule {text!r} names no command before its wildcard. Write the tool's name "
            "alone to match every use of it."
        )
    return [Wildcards(prefix), Wildcards(prefix + " *")]


def check_simple(text: str, pattern: str) -> None:
    """Refuse the pattern of an allow rule that no simple command can match."""
    plain = QUOTED.sub("", pattern)
    first = pattern.split()[0]
    reason = ""
    if GRAMMAR.search(plain) and not set("'\"") & set(plain):
        reason = "a line with |, &, ; or a redirection is taken apart first"
    elif "*" not in first and not PLAIN_COMMAND.fullmatch(first):
        reason = "a command with a variable or a quote before it is never allowed by a rule"
    elif first in RESERVED_WORDS:
        reason = f"{first!r} is grammar of the shell, and no command"
    if reason:
        raise UsageError(
            f"the rule {text!r} can never allow anything: it is compared with one simple command "
            f"at a time, and {reason}. Write a rule for each command, for example "
            "'Bash(git log *)' and 'Bash(head)'."
        )
