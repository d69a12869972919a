"""
One reader of shell command lines, for the two judgements in ``commands``.

``read`` takes a line apart into a flat list of commands, those in substitutions, groups and
loops included. It knows the part of the grammar that bash, dash, zsh and busybox read alike, and
raises :class:`Unreadable` at everything else: an allow rule then allows nothing, and a deny rule
denies. It never guesses.

A word has its source, as it was written, and its value: the quotes removed, and a mark in place
of what only the running shell knows.
"""

from __future__ import annotations

import functools
import re
from typing import List, NamedTuple, Optional, Tuple

from .globs import FILES, MANY, ONE

__all__ = ["PLAIN_COMMAND", "RESERVED_WORDS", "Command", "Line", "Unreadable", "Word", "read"]

LONGEST_LINE = 50_000
DEEPEST = 8

# The name of a program, written plainly: no quote, expansion, glob or assignment.
PLAIN_COMMAND = re.compile(r"(?:~/)?[A-Za-z0-9_./+@:,-]+|\[\[?", re.ASCII)
IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\+?=", re.ASCII)

# In the encodings of some locales the byte of such a sign is the second half of a character, so
# that behind one it may lose its meaning.
SWALLOWED = re.compile(r"[^\x00-\x7f][\\|{}\[\]~`]")

# At the place of a command these are grammar: what follows is a command as well.
BEFORE_COMMANDS = frozenset(
    ("!", "{", "then", "do", "else", "if", "elif", "while", "until", "time")
)
AFTER_COMMANDS = frozenset(("}", "fi", "done"))
# These open what not every shell reads alike.
UNREADABLE_WORDS = frozenset(
    (
        *("-", "always", "case", "coproc", "end", "esac", "for", "foreach", "function", "in"),
        *("nocorrect", "noglob", "repeat", "select"),
    )
)
RESERVED_WORDS = BEFORE_COMMANDS | AFTER_COMMANDS | UNREADABLE_WORDS

DELIMITER = r"(?=[ \t\n;&|)]|\Z)"
DUPLICATE = re.compile(rf"[0-9]?[<>]&[0-9-]{DELIMITER}")
REDIRECTION = re.compile(r"[0-9]?(>>|>|<<<|<)[ \t]*(?=[A-Za-z0-9_./\"'$~])")
DOCUMENT = re.compile(rf"0?<<[ \t]*(['\"]?)([A-Za-z_]\w*)\1{DELIMITER}", re.ASCII)
SEPARATOR = re.compile(r"&&|\|\||\|&|[;&|\n]")
LOOP = re.compile(r"for[ \t]+([A-Za-z_]\w*)[ \t]+in(?=[ \t;\n])", re.ASCII)
ARITHMETIC = re.compile(r"\(\(([\w\s+*/%=!?:,.$-]*)\)\)", re.ASCII)
EXPANSION = re.compile(
    r"\{#?(?:[A-Za-z_]\w*|[0-9@*#?$!-])((?:[:+?=%#/^,-]|:[-+?=])[\w\s.,/:*?@%+=#-]*)?\}", re.ASCII
)
VARIABLE = re.compile(r"[A-Za-z_]\w*|[0-9@*#?$!-]", re.ASCII)
AFTER_SIGN, AFTER_SIGN_QUOTED = " \t\n;|)", " \t\n;|)\"'/.,\\"
# A message in a here-document, as it is handed to git and gh: always the same text.
CONSTANT = re.compile(r"\(cat <<'([A-Z]+)'\n((?:(?!\1)[^'\"$()#`\\\n]*\n)*)\1\n[ \t]*\)", re.ASCII)


class Unreadable(Exception):
    """The line has a part that shells may read differently."""


class Word(NamedTuple):
    """A word as it was written, and what is known of what the shell makes of it."""

    source: str
    value: str


class Command:
    """
    One simple command, with all that belongs to it.

    Attributes:
        words: The words, the program first; none if it only redirects or assigns.
        assignments: What stands before it, as ``X=1``.
        redirections: Pairs of an operator and the file.
        inputs: The texts of its here-documents and here-strings.
        after_both: Whether it begins with ``&>``, which is two commands to some shells only.

    """

    def __init__(self, after_both: bool = False) -> None:
        self.words: List[Word] = []
        self.assignments: List[Word] = []
        self.redirections: List[Tuple[str, Word]] = []
        self.inputs: List[str] = []
        self.after_both = after_both
        self.is_closed = False  # a group that has ended; no word may follow

    def is_empty(self) -> bool:
        """Whether nothing was read of it yet."""
        return not (self.words or self.assignments or self.redirections or self.is_closed)

    def values(self) -> List[str]:
        """The values of its words."""
        return [word.value for word in self.words]


class Line:
    """
    What a line consists of.

    Attributes:
        commands: All of them, flat.
        loops: The name and the words of each ``for``.
        texts: What stands in expansions and arithmetic, which some shells evaluate.
        is_common: Whether every shell knows all that it uses.

    """

    def __init__(self) -> None:
        self.commands: List[Command] = []
        self.loops: List[Tuple[str, List[Word]]] = []
        self.texts: List[str] = []
        self.is_common = True


@functools.lru_cache(maxsize=16)
def read(text: str, depth: int = 0) -> Line:
    """The commands of a line; raises :class:`Unreadable`. Do not change what it returns."""
    if len(text) > LONGEST_LINE or SWALLOWED.search(text):
        raise Unreadable
    if not text.replace("\n", " ").replace("\t", " ").isprintable():
        raise Unreadable
    line = Line()
    Reader(text, line, depth).commands("")
    return line


class Reader:
    """Reads a text from left to right."""

    def __init__(self, text: str, line: Line, depth: int) -> None:
        self.text, self.line, self.depth = text, line, depth
        self.position = 0
        # Here-documents that were announced: the command, its delimiter, whether it is quoted.
        self.awaited: List[Tuple[Command, str, bool]] = []

    def peek(self, length: int = 1) -> str:
        """What comes next."""
        return self.text[self.position : self.position + length]

    def skip(self, pattern: re.Pattern[str]) -> Optional[re.Match[str]]:
        """Skip what may come now."""
        found = pattern.match(self.text, self.position)
        if found is not None:
            self.position = found.end()
        return found

    # Commands.

    def commands(self, closing: str) -> None:
        """A list of commands up to *closing*, which is consumed; "" is the end of the text."""
        if self.depth > DEEPEST:
            raise Unreadable
        command = Command()
        needs_command = False  # after && and the like
        while True:
            self.blanks()
            character = self.peek()
            if character == closing:
                if self.awaited or (needs_command and command.is_empty()):
                    raise Unreadable
                self.end(command)
                self.position += 1
                return
            if character in ("", ")"):
                raise Unreadable
            if character == "#":
                end = self.text.find("\n", self.position)
                self.position = len(self.text) if end < 0 else end
            elif character in ";&|\n":
                command, needs_command = self.separator(command, needs_command)
            elif character == "(":
                command = self.parenthesis(command)
            elif character in "<>" or self.redirects():
                self.redirection(command)
            else:
                command = self.add_word(command)

    def blanks(self) -> None:
        """Skip blanks, and line ends that a backslash hides behind a blank."""
        while True:
            if self.peek() in (" ", "\t"):
                self.position += 1
            elif self.peek(2) == "\\\n":
                self.continuation()
                if self.peek() == "#":
                    raise Unreadable
            else:
                return

    def continuation(self) -> None:
        """Skip a backslash at the end of a line; what it joins must be blanks."""
        if self.text[self.position - 1 : self.position] not in (" ", "\t", "\n"):
            raise Unreadable
        self.position += 2

    def end(self, command: Command) -> None:
        """A command is complete."""
        if not command.is_empty() and (
            command.words or command.assignments or command.redirections
        ):
            self.line.commands.append(command)

    def separator(self, command: Command, needs_command: bool) -> Tuple[Command, bool]:
        """What stands between commands; returns the next one, and whether it must come."""
        found = self.skip(SEPARATOR)
        assert found is not None
        sign = found.group()
        if sign == "\n":
            is_empty = command.is_empty()
            self.end(command)
            self.documents()
            return Command(), needs_command and is_empty
        if command.is_empty() or self.peek() in (";", "|") or (sign == "&" and self.peek() == "!"):
            raise Unreadable
        if self.peek() == "&" and sign != "|":
            raise Unreadable
        if sign == "|&":
            self.line.is_common = False
        self.end(command)
        return Command(after_both=sign == "&" and self.peek() == ">"), sign not in (";", "&")

    def parenthesis(self, command: Command) -> Command:
        """A group of commands, or what follows the name of a function."""
        following = self.text[self.position + 1 : self.position + 2]
        if len(command.words) == 1 and following == ")":
            others = command.assignments or command.redirections
            if others or not IDENTIFIER.fullmatch(command.words[0].source):
                raise Unreadable
            self.position += 2
            self.line.is_common = False
            return Command()
        if not command.is_empty() or following in ("(", ")"):
            raise Unreadable
        self.position += 1
        self.nested()
        command.is_closed = True
        return command

    def nested(self) -> None:
        """A list of commands whose opening parenthesis was read."""
        if self.awaited:
            raise Unreadable  # whose lines the next ones are depends on the shell
        self.depth += 1
        self.commands(")")
        self.depth -= 1

    def add_word(self, command: Command) -> Command:
        """A word of a command, or of the grammar around it; returns the command to go on with."""
        is_first = not command.words and not command.redirections
        if is_first and not command.assignments and not command.is_closed:
            loop = self.skip(LOOP)
            if loop is not None:
                return self.loop(loop.group(1))
        word = self.word(is_first)
        source = word.source
        if command.is_closed or (command.words and command.words[-1].source == "]]"):
            raise Unreadable
        if command.words and source in ("{", "}"):
            raise Unreadable
        if command.words or command.redirections:
            # Behind a redirection a reserved word is none, or is one, from shell to shell.
            if not command.words and (source in RESERVED_WORDS or ASSIGNMENT.match(source)):
                raise Unreadable
            command.words.append(word)
        elif ASSIGNMENT.match(source):
            command.assignments.append(word)
        elif command.assignments:
            if source in RESERVED_WORDS:
                raise Unreadable
            command.words.append(word)
        elif source in UNREADABLE_WORDS:
            raise Unreadable
        elif source in AFTER_COMMANDS:
            command.is_closed = True
        elif source in BEFORE_COMMANDS:
            self.blanks()
            if source == "time" and self.peek() == "-":
                raise Unreadable
        else:
            if source == "[[":
                self.line.is_common = False
            command.words.append(word)
        return command

    def loop(self, name: str) -> Command:
        """The words of a loop, up to the end of the command."""
        words: List[Word] = []
        while True:
            self.blanks()
            if self.peek() in ("", ";", "\n"):
                break
            if self.peek() in "&|()<>#":
                raise Unreadable
            words.append(self.word(False))
            if words[-1].source in ("{", "}"):
                raise Unreadable
        self.line.loops.append((name, words))
        command = Command()
        command.is_closed = True
        return command

    # Redirections.

    def redirects(self) -> bool:
        """Whether a digit comes that belongs to a redirection."""
        return self.peek().isdigit() and self.peek(2)[1:] in ("<", ">")

    def redirection(self, command: Command) -> None:
        """A redirection with its target."""
        if self.text[self.position - 1 : self.position] == "}":
            raise Unreadable  # {name}> stores a descriptor in a variable
        if self.peek(2) in ("<(", ">("):
            start = self.position
            self.position += 2
            self.nested()
            self.line.is_common = False
            if command.is_closed or self.peek() not in ("", " ", "\t", "\n", ";", ")", "|", "&"):
                raise Unreadable
            command.words.append(Word(self.text[start : self.position], ONE))
            return
        if self.skip(DUPLICATE):
            command.redirections.append((">&", Word("", "")))
            return
        document = self.skip(DOCUMENT)
        if document is not None:
            self.awaited.append((command, document.group(2), bool(document.group(1))))
            command.redirections.append(("<<", Word("", "")))
            return
        found = self.skip(REDIRECTION)
        if found is None:
            raise Unreadable
        target = self.word(False)
        if found.group(1) == "<<<":
            self.line.is_common = False
            command.inputs.append(target.value)
        command.redirections.append((found.group(1), target))

    def documents(self) -> None:
        """The texts that the line before has announced."""
        awaited, self.awaited = self.awaited, []
        for command, delimiter, is_quoted in awaited:
            lines: List[str] = []
            while True:
                if self.position >= len(self.text):
                    raise Unreadable
                end = self.text.find("\n", self.position)
                line = self.text[self.position : end if end >= 0 else None]
                self.position += len(line) + 1
                if line == delimiter:
                    break
                # A longer line may end it in some shells, a backslash may hide the end.
                if line.lstrip().startswith(delimiter) or line.endswith("\\"):
                    raise Unreadable
                lines.append(line)
            body = "\n".join(lines)
            if self.depth and re.search(r"[()]", body) and re.search(r"['\"\\`]", body):
                raise Unreadable
            if not is_quoted and re.search(r"[$`\\]", body):
                self.line.is_common = False
                body = Reader(body, self.line, self.depth + 1).expanded()
            command.inputs.append(body)
        if awaited:
            self.position -= 1  # the line end behind the last one ends nothing more

    # Words.

    def word(self, is_first: bool) -> Word:
        """One word; it is not empty."""
        start = self.position
        pieces: List[str] = []
        while True:
            character = self.peek()
            if not character or character in " \t\n;&|<>)":
                break
            if character == "(":
                raise Unreadable
            is_name = is_first and IDENTIFIER.fullmatch(self.text, start, self.position)
            if character == "[" and is_name:
                raise Unreadable  # a subscript, where shells disagree about its end
            pieces.append(self.piece(character, start))
        source = self.text[start : self.position]
        if not source or (self.peek() in ("<", ">") and source.isdigit()):
            raise Unreadable
        if self.awaited and "\n" in source:
            raise Unreadable
        return Word(source, "".join(pieces))

    def piece(self, character: str, start: int) -> str:
        """One piece of a word, its quotes removed."""
        if character == "'":
            end = self.text.find("'", self.position + 1)
            if end < 0:
                raise Unreadable
            begin, self.position = self.position + 1, end + 1
            return self.text[begin:end]
        if character == '"':
            self.position += 1
            return self.until('"')
        if character == "\\":
            escaped = self.peek(2)[1:]
            if escaped in ("", "\n"):
                raise Unreadable
            self.position += 2
            return escaped
        if character == "$":
            return self.dollar(is_quoted=False)
        if character == "`":
            raise Unreadable
        self.position += 1
        if character in "*?":
            return FILES
        if character == "[":
            alone = self.position - start == 1 and re.match(
                r"\[?[ \t\n]|\Z", self.text[self.position : self.position + 2]
            )
            second = self.text[start : self.position] == "[["
            return "[" if alone or second else FILES
        if character == "{":
            if self.peek() == "}":
                self.position += 1
                return "{}"
            ends = self.peek() in ("", " ", "\t", "\n") and self.position - start == 1
            return "{" if ends else MANY
        return character

    def until(self, closing: str) -> str:
        """Double-quoted text up to *closing*, which is consumed; "" is the end of the text."""
        pieces: List[str] = []
        while True:
            character = self.peek()
            if character == closing:
                self.position += 1
                return "".join(pieces)
            if character in ("", "`"):
                raise Unreadable
            if character == "$":
                pieces.append(self.dollar(is_quoted=True))
            elif self.peek(2) == "\\\n":
                self.continuation()
            elif character == "\\" and self.peek(2)[1:] in ("$", "`", '"', "\\"):
                pieces.append(self.peek(2)[1:])
                self.position += 2
            else:
                pieces.append(character)
                self.position += 1

    def expanded(self) -> str:
        """The text of a here-document, with what is substituted in it."""
        return self.until("")

    def dollar(self, is_quoted: bool) -> str:
        """What begins with a dollar sign; returns the mark that stands for it."""
        self.position += 1
        mark = ONE if is_quoted else MANY
        following = self.peek()
        if following == "(":
            constant = self.skip(CONSTANT) if is_quoted and not self.awaited else None
            if constant is not None:
                return constant.group(2)
            if self.peek(2) == "((":
                found = self.skip(ARITHMETIC)
                if found is None:
                    raise Unreadable
                self.line.texts.append(found.group(1))
                self.line.is_common = False
                return mark
            self.position += 1
            self.nested()
            return mark
        if following == "{":
            found = self.skip(EXPANSION)
            if found is None:
                raise Unreadable
            if found.group(1) or found.group().startswith("{#"):
                self.line.texts.append(found.group(1) or "")
                self.line.is_common = False
            name = found.group()[1:2]
        else:
            found = self.skip(VARIABLE)
            if found is None:
                # The sign stands for itself; "$'" and the like would be another kind of quote.
                if following and following not in (AFTER_SIGN_QUOTED if is_quoted else AFTER_SIGN):
                    raise Unreadable
                return "$"
            name = found.group()[:1]
        if self.peek() == "[":
            raise Unreadable
        return MANY if name in ("@", "*") else mark
