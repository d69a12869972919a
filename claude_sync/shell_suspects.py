"""
What a shell command line might run: more rather than less.

A deny rule must see a command wherever it stands: in a list, a substitution, a
group or a loop, behind assignments, redirections and programs that run other
programs, in any quotes. ``possible_commands`` therefore collects everything that
may become a command, and puts ``ANYTHING`` where only the running shell knows the
text. It may name commands that never run; it must not miss one that does. Where
that cannot be promised it returns None, and the line has to be denied.

Out of reach are programs with a language of their own (``python -c``, ``awk``,
``git -c alias.x=...``, ``make``) and files that are run as scripts.
"""

from __future__ import annotations

import re
from typing import Callable, List, Optional, Set, Tuple

from .shell_commands import RESERVED_WORDS, NotUnderstood, names

__all__ = ["ANYTHING", "possible_commands"]

# Stands for any text at all; a command line itself cannot contain this character.
ANYTHING = "\0"

# Programs that run the program named by one of their arguments.
RUNNERS = names(
    "arch builtin busybox bwrap caffeinate chroot chrt command coproc dbus-run-session doas "
    "entr env exec fakeroot fd find firejail flock function ionice ltrace nice "
    "nocorrect noglob nohup nsenter numactl parallel proxychains repeat rlwrap runuser "
    "script setarch setpriv setsid ssh stdbuf strace su sudo systemd-run taskset time timeout "
    "torsocks toybox unbuffer unshare watch xargs xvfb-run -"
)
SHELLS = names("ash bash dash fish ksh mksh sh zsh")
# Their arguments are command lines themselves.
SCRIPT_RUNNERS = SHELLS | names(
    "alias bind complete doas entr env eval flock mapfile parallel runuser script ssh su sudo "
    "trap watch"
)
# What follows them is data, and the command comes after the next separator.
DATA_WORDS = frozenset(("for", "foreach", "select", "case"))

ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\[[^\]]*\])?\+?=", re.DOTALL)
REDIRECTION = re.compile(r"(?:&>>?|<<<|<<-?|<>|>>|>\||>&|<&|>|<)!?")
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]|[@*#?$!_-]", re.ASCII)
PLAIN_WORD = re.compile(r"[\w./=:@%+,-]*")
BRACE_ALONE = re.compile(r"\{(?=\s|\Z)")
TEST_COMMAND = re.compile(r"\[{1,2}(?=\s|\Z)")
BACKQUOTED = re.compile(r"`((?:[^\\`]|\\.)*)`", re.DOTALL)
# Ends a word; every other blank does as well.
METACHARACTERS = frozenset(";&|()<>")

DEEPEST = 12
MOST_WORDS_OF_A_RUNNER = 250
LONGEST_LINE = 200_000


def possible_commands(line: str) -> Optional[List[Tuple[str, ...]]]:
    """
    Every command that a line may run, as words without quotes; None: it cannot be told.

    ``ANYTHING`` in a word stands for any text, blanks included.
    """
    if ANYTHING in line or len(line) > LONGEST_LINE:
        return None
    found = Suspects()
    try:
        found.add_script(line, 0)
        # Only now is it known whether some shell reads what the line hands over as input.
        if found.reads_scripts:
            for text in list(found.inputs):
                found.add_script(text, 1)
    except NotUnderstood:
        return None
    return list(found.commands)


class Suspects:
    """What was found so far, in a line and in everything inside it."""

    def __init__(self) -> None:
        # A dict for its order and for its uniqueness.
        self.commands: dict[Tuple[str, ...], None] = {}
        self.inputs: List[str] = []
        self.reads_scripts = False
        # Texts that were read already: programs that run others repeat them many times.
        self.scripts: Set[str] = set()

    def add_script(self, text: str, depth: int) -> None:
        """All commands of a text that a shell may run."""
        if text not in self.scripts:
            self.scripts.add(text)
            LenientReader(text, self, depth).commands("")

    def add_words(self, words: List[str], depth: int, has_input: bool) -> None:
        """One command, and those that it runs in turn."""
        words = without_prefixes(words)
        # Which argument is the program depends on options unknown here: perhaps each.
        runs_arguments = False
        while words:
            self.commands[tuple(words)] = None
            name = program_name(words[0])
            if name in SCRIPT_RUNNERS:
                self.add_script_arguments(words, depth, has_input)
            runs_arguments = runs_arguments or name in RUNNERS
            if runs_arguments or ANYTHING in words[0]:
                # What is not known may be nothing, or an assignment.
                words = without_prefixes(words[1:])
            elif "]]" in words:  # zsh takes a command right behind a condition
                words = without_prefixes(words[words.index("]]") + 1 :])
            else:
                break
            if len(words) > MOST_WORDS_OF_A_RUNNER:
                raise NotUnderstood

    def add_script_arguments(self, words: List[str], depth: int, has_input: bool) -> None:
        """The arguments of a program that takes command lines."""
        self.reads_scripts = True
        name, arguments = program_name(words[0]), words[1:]
        if name in SHELLS and not [
            word for word in arguments if not word.startswith("-") and word != "/dev/stdin"
        ]:
            if not has_input:
                raise NotUnderstood  # it reads its commands from elsewhere
            return
        if name == "eval":
            arguments = [*arguments, " ".join(arguments)]
        for argument in arguments:
            assigned = ASSIGNMENT.match(argument)
            for text in {argument, argument[assigned.end() :] if assigned else argument}:
                # A single word behind sudo and its like was already taken for a command.
                if name not in RUNNERS or not PLAIN_WORD.fullmatch(text):
                    self.add_script(text, depth + 1)


class LenientReader:
    """Reads a text as a shell would, and follows every branch."""

    def __init__(self, text: str, found: Suspects, depth: int) -> None:
        if depth > DEEPEST:
            raise NotUnderstood
        self.text = text
        self.found = found
        self.depth = depth
        self.position = 0
        self.waiting_delimiters: List[Tuple[str, bool]] = []

    def peek(self, length: int = 1) -> str:
        """What comes next."""
        return self.text[self.position : self.position + length]

    def commands(self, closing: str) -> None:
        """A list of commands up to *closing*, which is consumed; "" is the end of the text."""
        words: List[str] = []
        has_input = False
        while True:
            character = self.peek()
            if character and character not in "\n\r" and character.isspace():
                self.position += 1
            elif self.peek(2) == "\\\n":
                self.position += 2
            elif character in ("<", ">") or self.peek(2) == "&>":
                has_input = self.redirection(words) or has_input
            elif not character or character in ";&|()\n\r":
                if closing and "case" in words:
                    raise NotUnderstood  # its patterns end with the parenthesis awaited here
                self.found.add_words(words, self.depth, has_input)
                words, has_input = [], False
                self.position += 1
                if not character or character == closing:
                    if character != closing or self.waiting_delimiters:
                        raise NotUnderstood
                    return
                if character == "(":
                    self.nested(lambda: self.commands(")"))
                elif character == "\n":
                    self.here_documents()
            elif character == "#":
                while self.peek() not in ("", "\n"):
                    self.position += 1
            else:
                words.append(self.word())

    def nested(self, read: Callable[[], None]) -> None:
        """Read something one level deeper."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise NotUnderstood
        read()
        self.depth -= 1

    def redirection(self, words: List[str]) -> bool:
        """A redirection with its target; whether it hands over text that stands in the line."""
        if self.peek(2) in ("<(", ">("):
            words.append(self.word())
            return False
        before = self.text[self.position - 1 : self.position]
        if words and words[-1].isdigit() and before.isdigit():
            words.pop()  # the descriptor
        found = REDIRECTION.match(self.text, self.position)
        if found is None:
            raise NotUnderstood
        self.position = found.end()
        while self.peek() in (" ", "\t") or self.peek(2) == "\\\n":
            self.position += 2 if self.peek() == "\\" else 1
        start = self.position
        target = self.word()
        if self.position == start:
            raise NotUnderstood
        operator = found.group().rstrip("!")
        if operator in ("<<", "<<-"):
            if ANYTHING in target or "\\" in self.text[start : self.position]:
                raise NotUnderstood
            self.waiting_delimiters.append((target, operator == "<<-"))
        elif operator == "<<<":
            self.found.inputs.append(target)
        return operator in ("<<", "<<-", "<<<")

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
            if not character or character.isspace():
                break
            if character in METACHARACTERS:
                if self.peek(2) not in ("<(", ">(") or self.position > start:
                    break
                self.position += 2
                self.nested(lambda: self.commands(")"))
                pieces.append(ANYTHING)
                continue
            if character in "*?" or self.starts_a_set(character, start):
                # Where the pattern ends is not worth knowing: the rest may be anything.
                open_ended = True
            pieces.append(self.piece(character))
        word = "".join(pieces)
        if open_ended:
            cut = min((word.find(mark) for mark in "*?[{" if mark in word), default=0)
            return word[:cut] + ANYTHING
        return word

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
            self.position += 2
            if not following:
                raise NotUnderstood
            return "" if following == "\n" else following
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
        if character == "(":
            if not (self.peek(2) == "((" and self.arithmetic()):
                self.position += 1
                self.nested(lambda: self.commands(")"))
        elif character == "{":
            self.position += 1
            # Quotes inside mean one thing here and another there, braces as well.
            self.nested(lambda: self.balanced("", "}", "{'\"" if quoted else "{"))
        elif character == "'" and not quoted:
            self.position += 1
            while self.peek() != "'":
                if not self.peek():
                    raise NotUnderstood
                self.position += 2 if self.peek() == "\\" else 1
            self.position += 1
        elif character == '"' and not quoted:
            self.position += 1
            return self.until('"')
        else:
            found = VARIABLE.match(self.text, self.position)
            if found is None and character != "[":
                return "$"
            self.position = found.end() if found else self.position
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
        while depth:
            character = self.peek()
            if not character or character in doubtful:
                raise NotUnderstood
            if character in "\\'\"$`":
                self.piece(character)
                continue
            depth += (character == opening) - (character == closing)
            self.position += 1

    def backquoted(self) -> str:
        """A substitution in backquotes, where quoting is undone once before it is read."""
        found = BACKQUOTED.match(self.text, self.position)
        if found is None:
            raise NotUnderstood
        self.position = found.end()
        for text in {found.group(1), re.sub(r"\\([\\`$\"])", r"\1", found.group(1))}:
            self.found.add_script(text, self.depth + 1)
        return ANYTHING


def without_prefixes(words: List[str]) -> List[str]:
    """A command without the grammar and the assignments before it."""
    for index, word in enumerate(words):
        if word in DATA_WORDS:
            bodies = [at for at in range(index, len(words)) if words[at] in ("{", "do")]
            return without_prefixes(words[bodies[0] :]) if bodies else []
        if word not in RESERVED_WORDS - RUNNERS and not ASSIGNMENT.match(word):
            return words[index:]
    return []


def program_name(word: str) -> str:
    """A program's name without its folder, as a file system that ignores case finds it."""
    name = re.split(r"[/\\]", word)[-1].lower()
    return name[:-4] if name.endswith(".exe") else name
