"""
What a shell command line consists of, as far as that is certain.

An allow rule names one simple command. A line may hold many, and may hide them
in quotes, substitutions and expansions, so ``simple_commands`` takes a line
apart only where every character has one meaning in bash and in zsh alike. All
else, harmless or not, is *not understood*, and what is not understood must not
be allowed. The opposite question, what a line might possibly run, is answered
in ``shell_suspects``.
"""

from __future__ import annotations

import re
from typing import FrozenSet, List, Optional

__all__ = ["RESERVED_WORDS", "simple_commands"]


def names(text: str) -> FrozenSet[str]:
    """A set of names, written with blanks between them."""
    return frozenset(text.split())


# At the place of a command these are grammar and not programs.
RESERVED_WORDS = names(
    "! [[ ]] { } case coproc do done elif else end esac fi for foreach function if in repeat "
    "select then time until while"
)

# The name of a program, written plainly: no quote, expansion, glob or assignment.
PLAIN_COMMAND = re.compile(r"(?:~/)?[A-Za-z0-9_./+@:,-]+")

# What may follow a redirection; a target that goes on is another file.
DELIMITER = r"(?=[ \t\n;&|]|\Z)"
# The only redirections that neither write nor read a file.
HARMLESS_REDIRECTION = re.compile(
    r"(?:(?:[0-9]*(?:>>?|<)|&>>?)[ \t]*/dev/null|[0-9]*>&(?:[0-9]+|-))" + DELIMITER
)
SEPARATOR = re.compile(r"&&|\|\||\|&|;|&|\||\n")
# After these a command must follow.
UNFINISHED = frozenset(("&&", "||", "|", "|&"))

# Expansions of a plain variable. Others can run commands: ${x:=$(...)}, $((x[...])), $x[...].
PLAIN_VARIABLE = re.compile(
    r"\$(?:[A-Za-z_][A-Za-z0-9_]*(?![\[A-Za-z0-9_])|\{[A-Za-z_][A-Za-z0-9_]*\}(?!\[)|[0-9?](?!\[))"
)
# In the encodings of some locales the byte of such a sign is the second half of a
# character, so that behind one it may lose its meaning, or its quote.
SWALLOWED = re.compile(r"[^\x00-\x7f][\\|{}\[\]~`]")
# A variable, and a line that goes on: what comes next may still belong to the variable.
CONTINUED_VARIABLE = re.compile(r"(?:\$\{?[A-Za-z0-9_?]*\}?)\\\n")
UNQUOTED = re.compile(r"[^\s\\'\"$`;&|<>()#!]+")
DOUBLE_QUOTED = re.compile(r"[^\\\"$`!]+")


class NotUnderstood(Exception):
    """The line has a part whose meaning is not certain."""


def simple_commands(line: str) -> Optional[List[str]]:
    """
    The simple commands of a line, in order, or None where the line is not understood.

    Each is the source of its words, quotes included, joined by one space;
    harmless redirections (to ``/dev/null``, ``2>&1``) are left out. A result
    is a promise: the shell runs these commands and nothing else, each of them
    by the plain name that it begins with, and neither reads nor writes a file
    by itself. There is always at least one.
    """
    try:
        return StrictReader(line).read()
    except NotUnderstood:
        return None


class StrictReader:
    """Reads one line from left to right, and gives up at the first doubt."""

    def __init__(self, line: str) -> None:
        # Control characters, every blank but space and tab, and what has no width
        # or turns the direction of text: shells disagree about them, and so do eyes.
        if not all(character.isprintable() or character in "\t\n" for character in line):
            raise NotUnderstood
        if SWALLOWED.search(line) or CONTINUED_VARIABLE.search(line):
            raise NotUnderstood
        self.line = line
        self.position = 0
        self.commands: List[str] = []
        self.words: List[str] = []
        # The word being read; None between words, "" within one that is empty so far.
        self.word: Optional[str] = None
        self.redirected = False
        self.separator = "\n"

    def read(self) -> List[str]:
        """All of the line."""
        while self.position < len(self.line):
            self.step()
        self.end_command("")
        if self.separator in UNFINISHED or not self.commands:
            raise NotUnderstood
        return self.commands

    def step(self) -> None:
        """One piece: of a word, between words, or between commands."""
        character = self.line[self.position]
        if character in " \t":
            self.position += 1
            self.end_word()
        elif character in "<>" or self.line.startswith("&>", self.position):
            self.redirection()
        elif character in ";&|\n":
            self.end_command(self.match(SEPARATOR))
        elif self.word is None and character.isdigit() and self.skip(HARMLESS_REDIRECTION):
            self.redirected = True
        else:
            self.word_piece(character)

    def word_piece(self, character: str) -> None:
        """A piece that belongs to a word."""
        if character == "\\":
            if self.line.startswith("\\\n", self.position):
                self.position += 2  # a line that goes on; the word does, too
                return
            if self.position + 1 == len(self.line):
                raise NotUnderstood
            self.add(self.line[self.position : self.position + 2])
        elif character == "'":
            end = self.line.find("'", self.position + 1)
            if end < 0:
                raise NotUnderstood
            self.add(self.line[self.position : end + 1])
        elif character == '"':
            self.double_quoted()
        elif character == "$":
            self.dollar(" \t\n;&|")
        elif character == "#" and self.word is not None:
            self.add("#")
        elif character == "!":
            self.exclamation(" \t\n=")
        else:
            # Raises at what is left: comments, parentheses, backquotes, other blanks.
            self.add(self.match(UNQUOTED, advance=False))

    def double_quoted(self) -> None:
        """From a double quote to its end."""
        self.add('"')
        while not self.line.startswith('"', self.position):
            if self.position >= len(self.line):
                raise NotUnderstood
            character = self.line[self.position]
            if character == "\\":
                # Whatever it escapes, the quote does not end with it.
                self.add(self.line[self.position : self.position + 2])
            elif character == "$":
                self.dollar('" \t\n')
            elif character == "!":
                self.exclamation('" \t\n=')
            else:
                self.add(self.match(DOUBLE_QUOTED, advance=False))
        self.add('"')

    def dollar(self, literal_before: str) -> None:
        """A plain variable, or a dollar sign that stands for itself."""
        following = self.line[self.position + 1 : self.position + 2]
        if following in literal_before:  # also at the end of the line
            self.add("$")
        else:
            self.add(self.match(PLAIN_VARIABLE, advance=False))

    def exclamation(self, literal_before: str) -> None:
        """An exclamation mark that even an interactive shell takes for itself."""
        if self.line[self.position + 1 : self.position + 2] not in literal_before:
            raise NotUnderstood
        self.add("!")

    def redirection(self) -> None:
        """A redirection that does nothing to any file."""
        if self.word is not None and self.word.startswith("{"):
            raise NotUnderstood  # {name}>... stores a descriptor in a variable
        self.end_word()
        self.match(HARMLESS_REDIRECTION)
        self.redirected = True

    def match(self, pattern: re.Pattern[str], advance: bool = True) -> str:
        """The text of what must come now."""
        found = pattern.match(self.line, self.position)
        if found is None:
            raise NotUnderstood
        if advance:
            self.position = found.end()
        return found.group()

    def skip(self, pattern: re.Pattern[str]) -> bool:
        """Skip what may come now, and tell whether it came."""
        found = pattern.match(self.line, self.position)
        if found is not None:
            self.position = found.end()
        return found is not None

    def add(self, piece: str) -> None:
        """Put the next piece of the line into the word."""
        self.word = (self.word or "") + piece
        self.position += len(piece)

    def end_word(self) -> None:
        """The word, if there is one, is complete."""
        if self.word is None:
            return
        if not self.words and (
            self.word in RESERVED_WORDS or not PLAIN_COMMAND.fullmatch(self.word)
        ):
            raise NotUnderstood
        if self.word in ("{", "}"):
            raise NotUnderstood  # zsh closes a group with it even after other words
        self.words.append(self.word)
        self.word = None

    def end_command(self, separator: str) -> None:
        """The command, if there is one, is complete."""
        self.end_word()
        if self.words:
            self.commands.append(" ".join(self.words))
            self.separator = separator
        elif self.redirected or separator not in ("", "\n"):
            raise NotUnderstood  # a redirection alone, or an empty command
        self.words = []
        self.redirected = False
