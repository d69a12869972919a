"""
Reads a shell command line generously: every branch, every substitution, every text.

The half of ``shell_suspects`` that knows the grammar. It splits a text into words
and hands each command it meets to a ``Finder``, which knows the programs. Where
bash and zsh, or two versions of them, could read a text differently, the reader
gives up: what it skips by mistake would run unseen.
"""

from __future__ import annotations

import re
from typing import Callable, List, Protocol, Tuple

from .shell_commands import NotUnderstood
from .shell_texts import survives_substitution, unescaped

__all__ = ["ANYTHING", "Finder", "LenientReader"]

# Stands for any text at all; a command line itself cannot contain this character.
ANYTHING = "\0"

REDIRECTION = re.compile(r"(?:&>>?|<<<|<<-?|<>|>>|>\||>&|<&|>|<)!?")
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]|[@*#?$!_-]", re.ASCII)
IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
# What a subscript may hold before shells disagree about where the word ends.
PLAIN_SUBSCRIPT = re.compile(r"\[[^\]\s<>#;&|()]*\]")
NAMED_DESCRIPTOR = re.compile(r"(?<!\$)\{\w+\}\Z")
EMPTY_PARENTHESES = re.compile(r"\([ \t]*\)")
BRACE_ALONE = re.compile(r"\{(?=\s|\Z)")
TEST_COMMAND = re.compile(r"\[{1,2}(?=\s|\Z)")
BACKQUOTED = re.compile(r"`((?:[^\\`]|\\.)*)`", re.DOTALL)
METACHARACTERS = frozenset(";&|()<>")
BLANKS = frozenset(" \t\n")
# What a continued line can join without making grammar of it.
JOINABLE = re.compile(r"[\w./,:%+@~^='\"-]")

DEEPEST = 12


class Finder(Protocol):
    """Who is told what was read."""

    inputs: List[str]

    def add_script(self, text: str, depth: int) -> None:
        """A text that a shell may run."""

    def add_expanded(self, text: str, depth: int) -> None:
        """A text that a shell may expand as if it stood in double quotes."""

    def add_words(self, words: List[str], depth: int, has_input: bool) -> None:
        """One command; *has_input*: all that it reads stands in the line."""


class LenientReader:
    """Reads a text as a shell would, and follows every branch."""

    def __init__(self, text: str, found: Finder, depth: int) -> None:
        if depth > DEEPEST:
            raise NotUnderstood
        self.text, self.found, self.depth = text, found, depth
        self.position = 0
        self.waiting_delimiters: List[Tuple[str, bool]] = []
        # How many substitutions are open, and whether what is read may be arithmetic.
        self.substitutions = 0
        self.in_arithmetic = False

    def peek(self, length: int = 1) -> str:
        """What comes next."""
        return self.text[self.position : self.position + length]

    def commands(self, closing: str) -> None:
        """A list of commands up to *closing*, which is consumed; "" is the end of the text."""
        words: List[str] = []
        inputs: List[bool] = []
        while True:
            character = self.peek()
            if character in (" ", "\t"):
                self.position += 1
            elif self.peek(2) == "\\\n":
                self.continuation()
            elif character in ("<", ">") or self.peek(2) == "&>":
                inputs += self.redirection(words)
            elif not character or character in ";&|()\n":
                if closing and "case" in words:
                    raise NotUnderstood  # its patterns end with the parenthesis awaited here
                if character == "(":
                    self.check_parenthesis()
                self.found.add_words(words, self.depth, bool(inputs) and all(inputs))
                words, inputs = [], []
                self.position += 1
                if not character or character == closing:
                    if character == closing and not self.waiting_delimiters:
                        return
                    raise NotUnderstood
                if character == "(":
                    self.list_in_parentheses(arithmetic=self.peek() == "(")
                    if self.peek() and self.peek() not in BLANKS | METACHARACTERS:
                        raise NotUnderstood  # a word that goes on, as in a=(1)b
                elif character == "\n":
                    self.here_documents()
            elif character == "#":
                before = self.text[self.position - 1 : self.position]
                if self.in_arithmetic or not (before in BLANKS or before in ";&|("):
                    raise NotUnderstood  # it may be a number, or a part of a word
                while self.peek() not in ("", "\n"):
                    self.position += 1
            else:
                words.append(self.word())

    def continuation(self) -> None:
        """Skip a backslash at the end of a line, where nothing new comes of joining the lines."""
        before = self.text[self.position - 1 : self.position]
        while self.peek(2) == "\\\n":
            self.position += 2
        after = self.peek()
        if not after or after in BLANKS or (before in BLANKS and after != "#"):
            return
        if before and before in ";&|(" and after not in METACHARACTERS and after != "#":
            return
        if not JOINABLE.match(before) or not (JOINABLE.match(after) or after == "$"):
            raise NotUnderstood

    def check_parenthesis(self) -> None:
        """Raise for a parenthesis that may belong to a pattern, as in ``r@(m)``."""
        before = self.text[self.position - 1 : self.position]
        if not before or before in BLANKS or before in METACHARACTERS or before == "=":
            return
        if not EMPTY_PARENTHESES.match(self.text, self.position):
            raise NotUnderstood

    def list_in_parentheses(self, arithmetic: bool = False) -> None:
        """A list of commands whose opening parenthesis was read; perhaps it is arithmetic."""
        if self.waiting_delimiters:
            raise NotUnderstood  # whose lines the next ones are depends on the shell
        before, self.in_arithmetic = self.in_arithmetic, arithmetic or self.in_arithmetic
        self.nested(lambda: self.commands(")"))
        self.in_arithmetic = before

    def substituted(self) -> None:
        """The list of a substitution whose opening parenthesis was read."""
        self.substitutions += 1
        self.list_in_parentheses(arithmetic=self.peek() == "(")
        self.substitutions -= 1

    def nested(self, read: Callable[[], None]) -> None:
        """Read something one level deeper."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise NotUnderstood
        read()
        self.depth -= 1

    def redirection(self, words: List[str]) -> List[bool]:
        """
        A redirection with its target.

        Returns for one that the command may read from whether it reads what
        stands in the line; nothing for others.
        """
        if self.peek(2) in ("<(", ">("):
            words.append(self.word())
            return []
        before = self.text[self.position - 1 : self.position]
        descriptor = ""
        if words and words[-1].isdigit() and before.isdigit():
            descriptor = words.pop()
        if before == "}" and NAMED_DESCRIPTOR.search(
            self.text, max(0, self.position - 100), self.position
        ):
            raise NotUnderstood
        found = REDIRECTION.match(self.text, self.position)
        if found is None:
            raise NotUnderstood
        self.position = found.end()
        while self.peek() in (" ", "\t") or self.peek(2) == "\\\n":
            if self.peek() == "\\":
                self.continuation()
            else:
                self.position += 1
        start = self.position
        target = self.word()
        if self.position == start:
            raise NotUnderstood
        operator = found.group().rstrip("!")
        if operator in ("<<", "<<-"):
            if ANYTHING in target or "\\" in self.text[start : self.position]:
                raise NotUnderstood
            if self.in_arithmetic:
                raise NotUnderstood  # a shift, and no here-document
            self.waiting_delimiters.append((target, operator == "<<-"))
        elif operator == "<<<":
            self.found.inputs.append(target)
        if "<" not in operator:
            return []
        return [operator in ("<<", "<<-", "<<<") and descriptor.strip("0") == ""]

    def here_documents(self) -> None:
        """The texts that the line before has announced."""
        waiting, self.waiting_delimiters = self.waiting_delimiters, []
        for delimiter, tabs in waiting:
            lines: List[str] = []
            while True:
                if self.position >= len(self.text):
                    raise NotUnderstood
                end = self.text.find("\n", self.position)
                line = self.text[self.position : end if end >= 0 else None]
                self.position += len(line) + 1
                if (line.lstrip("\t") if tabs else line) == delimiter:
                    break
                if line.endswith("\\"):
                    raise NotUnderstood  # may join the next line, which then is no delimiter
                lines.append(line)
            body = "\n".join(lines)
            if self.substitutions and not survives_substitution(lines, delimiter):
                raise NotUnderstood
            self.found.inputs.append(body)
            # What runs while it is expanded; quoted ones, which are not, are not told apart.
            LenientReader(body, self.found, self.depth + 1).until("")

    def word(self) -> str:
        """One word, its quotes removed."""
        pieces: List[str] = []
        start = self.position
        open_ended = False
        while True:
            character = self.peek()
            if not character or character in BLANKS:
                break
            if character in "\r\v\f":
                raise NotUnderstood  # a blank to some programs, and none to a shell
            if character in METACHARACTERS:
                if self.peek(2) not in ("<(", ">(") or self.position > start:
                    break
                self.position += 2
                self.substituted()
                pieces.append(ANYTHING)
                continue
            if (
                character == "["
                and IDENTIFIER.fullmatch(self.text, start, self.position)
                and not PLAIN_SUBSCRIPT.match(self.text, self.position)
            ):
                raise NotUnderstood  # a shell may read on beyond the end of the word
            if character in "*?" or self.starts_a_set(character, start):
                # Where the pattern ends is not worth knowing: the rest may be anything.
                open_ended = True
            pieces.append(self.piece(character))
        word = "".join(pieces)
        if self.waiting_delimiters and "\n" in self.text[start : self.position]:
            raise NotUnderstood  # whose lines these are depends on the shell
        self.read_again(word)
        if open_ended:
            cut = min((word.find(mark) for mark in "*?[{" if mark in word), default=0)
            return word[:cut] + ANYTHING
        return word

    def read_again(self, text: str) -> None:
        """
        Look into substitutions that quotes have hidden so far.

        Arithmetic, subscripts, prompts and several builtins expand a text that
        was quoted when it was written: ``test -v 'a[$(x)]'``.
        """
        if "$(" in text or "`" in text:
            self.found.add_expanded(text, self.depth + 1)

    def starts_a_set(self, character: str, start: int) -> bool:
        """Whether a bracket or brace may expand, and is neither grammar nor ``{}``."""
        if character == "{":
            return self.peek(2) != "{}" and not BRACE_ALONE.match(self.text, self.position)
        if character == "[":
            return not TEST_COMMAND.match(self.text, start)
        return False

    def piece(self, character: str) -> str:
        """One piece of a word, its quotes removed."""
        if character == "\\":
            following = self.peek(2)[1:]
            if not following:
                raise NotUnderstood
            if following == "\n":
                self.continuation()
                return ""
            self.position += 2
            return following
        if character == "'":
            end = self.text.find("'", self.position + 1)
            if end < 0:
                raise NotUnderstood
            start, self.position = self.position + 1, end + 1
            return self.text[start:end]
        if character == '"':
            self.position += 1
            return self.until('"')
        if character == "$":
            return self.dollar(quoted=False)
        if character == "`":
            return self.backquoted()
        self.position += 1
        return character

    def until(self, closing: str) -> str:
        """Double-quoted text up to *closing*, which is consumed; "" is the end of the text."""
        pieces: List[str] = []
        while True:
            character = self.peek()
            if character == closing:
                self.position += 1
                return "".join(pieces)
            if not character:
                raise NotUnderstood
            if character == "\\" and self.peek(2)[1:] in ("$", "`", '"', "\\", "\n"):
                pieces.append(self.peek(2)[1:].replace("\n", ""))
                self.position += 2
            elif character == "$":
                pieces.append(self.dollar(quoted=True))
            elif character == "`":
                pieces.append(self.backquoted())
            else:
                pieces.append(character)
                self.position += 1

    def dollar(self, quoted: bool) -> str:
        """What begins with a dollar sign; its text is not known before it runs."""
        self.position += 1
        character = self.peek()
        if character == "[" or self.peek(2) == "\\\n":
            raise NotUnderstood  # arithmetic to some; a continued line could be anything
        if character == "(":
            if self.peek(3) == "(\\\n":
                raise NotUnderstood
            if not (self.peek(2) == "((" and self.arithmetic()):
                self.position += 1
                self.substituted()
        elif character == "{":
            self.position += 1
            if self.peek() in ("|", "(", "\\") or self.peek().isspace():
                raise NotUnderstood  # a list of commands to new shells
            # Quotes inside mean one thing here and another there, braces as well.
            self.nested(lambda: self.balanced("", "}", "{'\"" if quoted else "{"))
        elif character == "'" and not quoted:
            self.position += 1
            start = self.position
            while self.peek() != "'":
                if not self.peek():
                    raise NotUnderstood
                self.position += 2 if self.peek() == "\\" else 1
            self.read_again(unescaped(self.text[start : self.position]))
            self.position += 1
        elif character == '"' and not quoted:
            self.position += 1
            return self.until('"')
        else:
            found = VARIABLE.match(self.text, self.position)
            if found is None:
                return "$"
            self.position = found.end()
        return ANYTHING

    def arithmetic(self) -> bool:
        """Skip ``$((...))``; False, and nothing skipped, if it is a subshell in a substitution."""
        start = self.position
        self.position += 2
        self.nested(lambda: self.balanced("(", ")", "'\""))
        if self.peek() == ")":
            self.position += 1
            return True
        self.position = start
        return False

    def balanced(self, opening: str, closing: str, doubtful: str) -> None:
        """Skip to the closing bracket, with a look into every substitution before it."""
        depth = 1
        pieces: List[str] = []
        while depth:
            character = self.peek()
            if not character or character in doubtful:
                raise NotUnderstood
            if character in "\\'\"$`":
                pieces.append(self.piece(character))
                continue
            if self.peek(2) in ("<(", ">("):
                raise NotUnderstood
            depth += (character == opening) - (character == closing)
            pieces.append(character)
            self.position += 1
        self.read_again("".join(pieces))

    def backquoted(self) -> str:
        """A substitution in backquotes, where quoting is undone once before it is read."""
        found = BACKQUOTED.match(self.text, self.position)
        if found is None:
            raise NotUnderstood
        self.position = found.end()
        # Double quotes are among what is undone only where it stands between such.
        for undone in (r"\\([\\`$])", r"\\([\\`$\"])"):
            self.found.add_script(re.sub(undone, r"\1", found.group(1)), self.depth + 1)
        return ANYTHING
