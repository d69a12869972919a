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
REDIRECTED = re.compile(r"[0-9]?[<>]")
DUPLICATE = re.compile(rf"[0-9]?[<>]&[0-9-]{DELIMITER}")
REDIRECTION = re.compile(r"[0-9]?(>>|>|<<<|<)[ \t]*(?=[A-Za-z0-9_./\"'$~])")
DOCUMENT = re.compile(rf"0?<<[ \t]*(['\"]?)([A-Za-z_]\w*)\1{DELIMITER}", re.ASCII)
BLANKS = re.compile(r"[ \t]+")
COMMENT = re.compile(r"#[^\n]*")
SEPARATOR = re.compile(r"&&(?![;&|])|\|\|(?![;|&])|\|(?![;|&])|;(?![;|&])|&(?![;|&!])|\n")
FOR = re.compile(r"for(?=[ \t])")
LOOP = re.compile(r"[ \t]+([A-Za-z_]\w*)[ \t]+in(?=[ \t;\n])", re.ASCII)
# What stands for itself: in single quotes, behind a backslash, and all other plain text.
LITERAL = re.compile(r"'([^']*)'|\\([^\n])|({}|[^ \t\n;&|<>()'\"\\$`*?\[{]+)", re.DOTALL)
IN_QUOTES = re.compile(r"\\([$`\"\\])|[^\"$`\\]+|[\"\\]")
BRACKET = re.compile(r"\[\[?(?=[ \t\n]|\Z)")
ARITHMETIC = re.compile(r"\(\((?P<text>[\w\s+*/%=!?:,.$-]*)\)\)", re.ASCII)
EXPANSION = re.compile(
    r"\{#?(?:[A-Za-z_]\w*|[0-9@*#?$!-])(?P<text>(?:[:+?=%#/^,-]|:[-+?=])[\w\s.,/:*?@%+=#-]*)?\}",
    re.ASCII,
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
                if command.words and command.words[0].source == "[[":
                    raise Unreadable
                self.skip(COMMENT)
            elif character in ";&|\n":
                command, needs_command = self.separator(command, needs_command)
            elif character == "(":
                following = self.peek(2)[1:]
                if not command.is_empty() or following in ("(", ")"):
                    raise Unreadable  # a function, arithmetic, a pattern
                self.nested()
                command.is_closed = True
            elif REDIRECTED.match(self.text, self.position):
                self.redirection(command)
            elif command.is_empty() and self.skip(FOR):
                self.loop(command)
            else:
                self.add_word(command)

    def blanks(self) -> None:
        """Skip blanks, and line ends that a backslash hides behind a blank."""
        while self.skip(BLANKS) or self.peek(2) == "\\\n":
            if self.peek(2) == "\\\n":
                self.continuation()
                if self.peek() == "#":
                    raise Unreadable

    def continuation(self) -> None:
        """Skip a backslash at the end of a line; what it joins must be blanks."""
        if self.text[self.position - 1 : self.position] not in (" ", "\t", "\n"):
            raise Unreadable
        self.position += 2

    def end(self, command: Command) -> None:
        """A command is complete."""
        if command.words or command.assignments or command.redirections:
            self.line.commands.append(command)

    def separator(self, command: Command, needs_command: bool) -> Tuple[Command, bool]:
        """What stands between commands; returns the next one, and whether it must come."""
        found = self.skip(SEPARATOR)
        if found is None or (command.is_empty() and found.group() != "\n"):
            raise Unreadable
        needs_command = found.group() in ("&&", "||", "|") or (needs_command and command.is_empty())
        self.end(command)
        if found.group() == "\n":
            self.documents()
        return Command(after_both=found.group() == "&" and self.peek() == ">"), needs_command

    def nested(self) -> None:
        """A list of commands in parentheses."""
        if self.awaited:
            raise Unreadable  # whose lines the next ones are depends on the shell
        self.position += 1
        self.depth += 1
        self.commands(")")
        self.depth -= 1

    def add_word(self, command: Command) -> None:
        """A word of a command, or of the grammar around it."""
        is_first = not command.words and not command.redirections
        word = self.word(is_first)
        source = word.source
        if command.is_closed or (command.words and command.words[-1].source == "]]"):
            raise Unreadable
        is_reserved = source in RESERVED_WORDS
        if command.words:
            if source in ("{", "}"):
                raise Unreadable
            command.words.append(word)
        elif command.redirections and (is_reserved or ASSIGNMENT.match(source)):
            # Behind a redirection a reserved word is none, or is one, from shell to shell.
            raise Unreadable
        elif is_first and ASSIGNMENT.match(source):
            command.assignments.append(word)
        elif is_reserved and (command.assignments or source in UNREADABLE_WORDS):
            raise Unreadable
        elif is_reserved:
            command.is_closed = source in AFTER_COMMANDS
            self.blanks()
            if source == "time" and self.peek() == "-":
                raise Unreadable
        else:
            self.line.is_common &= source != "[["
            command.words.append(word)

    def loop(self, command: Command) -> None:
        """The name and the words of a loop, up to the end of the command."""
        name = self.skip(LOOP)
        if name is None:
            raise Unreadable
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
        self.line.loops.append((name.group(1), words))
        command.is_closed = True

    # Redirections.

    def redirection(self, command: Command) -> None:
        """A redirection with its target."""
        if self.text[self.position - 1 : self.position] == "}":
            raise Unreadable  # {name}> stores a descriptor in a variable
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
                line = self.text[self.position :].partition("\n")[0]
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
                body = Reader(body, self.line, self.depth + 1).until("")
            command.inputs.append(body)
        if awaited:
            self.position -= 1  # the line end behind the last one ends nothing more

    # Words.

    def word(self, is_first: bool) -> Word:
        """One word; it is not empty."""
        start = self.position
        bracket = self.skip(BRACKET)
        pieces = [bracket.group()] if bracket is not None else []
        while self.peek() not in ("", *" \t\n;&|<>)"):
            is_name = is_first and IDENTIFIER.fullmatch(self.text, start, self.position)
            if self.peek() == "[" and is_name:
                raise Unreadable  # a subscript, where shells disagree about its end
            pieces.append(self.piece(start))
        source = self.text[start : self.position]
        if not source or (self.peek() in ("<", ">") and source.isdigit()):
            raise Unreadable
        if self.awaited and "\n" in source:
            raise Unreadable
        return Word(source, "".join(pieces))

    def piece(self, start: int) -> str:
        """One piece of a word, its quotes removed."""
        literal = self.skip(LITERAL)
        if literal is not None:
            return str(literal[literal.lastindex or 0])
        character = self.peek()
        self.position += 1
        if character == '"':
            return self.until('"')
        if character == "$":
            return self.dollar(is_quoted=False)
        if character in "*?[":
            return FILES
        if character != "{":
            raise Unreadable  # "(", a backquote, a quote without an end
        ends = self.peek() in ("", " ", "\t", "\n") and self.position - start == 1
        return "{" if ends else MANY

    def until(self, closing: str) -> str:
        """Double-quoted text up to *closing*, which is consumed; "" is the end of the text."""
        pieces: List[str] = []
        while self.peek() != closing:
            if self.peek() in ("", "`"):
                raise Unreadable
            if self.peek() == "$":
                self.position += 1
                pieces.append(self.dollar(is_quoted=True))
            elif self.peek(2) == "\\\n":
                self.continuation()
            else:
                found = self.skip(IN_QUOTES)
                assert found is not None
                pieces.append(found[1] or found[0])
        self.position += 1
        return "".join(pieces)

    def dollar(self, is_quoted: bool) -> str:
        """What follows a dollar sign; returns the mark that stands for it."""
        mark = ONE if is_quoted else MANY
        following = self.peek()
        if following == "(":
            constant = self.skip(CONSTANT) if is_quoted and not self.awaited else None
            if constant is not None:
                return constant.group(2)
            if self.peek(2) != "((":
                self.nested()
                return mark
        if following in ("(", "{"):
            found = self.skip(ARITHMETIC if following == "(" else EXPANSION)
            if found is None:
                raise Unreadable
            if found["text"] or found.group().startswith(("(", "{#")):
                self.line.texts.append(found["text"] or "")
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
