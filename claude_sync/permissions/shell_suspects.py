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
from typing import List, Optional, Set, Tuple

from .shell_commands import RESERVED_WORDS, NotUnderstood, names
from .shell_reader import ANYTHING, LenientReader

__all__ = ["ANYTHING", "possible_commands"]

# Programs that run the program named by one of their arguments.
RUNNERS = names(
    "arch asdf builtin bundle bunx busybox bwrap caffeinate cgexec choom chpst chroot chrt command "
    "compgen conda coproc dbus-run-session direnv doas dumb-init entr env exec fakeroot fd find "
    "firejail flock function gchroot genv gfind gnice gnohup gosu gstdbuf gtime gtimeout gxargs "
    "hash hyperfine ionice ltrace mise nice nocorrect noglob nohup npx nsenter numactl parallel "
    "perf pipenv pkexec poetry prlimit proxychains repeat rlwrap run0 runuser screen script "
    "setarch setpriv setsid sg ssh start-stop-daemon stdbuf strace su sudo systemd-run taskset "
    "time timeout tini tmux torsocks toybox unbuffer unshare uv uvx valgrind watch watchexec xargs "
    "xvfb-run -"
)
ENVIRONMENTS = names("env genv")
SHELLS = names(
    "ash bash csh dash elvish fish hush ksh ksh93 lksh mksh nu oksh posh powershell pwsh rbash "
    "rksh rzsh sh tcsh xonsh yash zsh"
)
# Their arguments are command lines themselves.
SCRIPT_RUNNERS = SHELLS | names(
    "alias bind compgen complete doas entr env eval flock genv hyperfine mapfile parallel "
    "readarray run0 runuser screen script sg ssh su sudo tmux trap watch watchexec"
)
# They run a file in the shell itself.
SOURCES = names("source .")
# Behind these a name still means what it means to the shell itself.
SHELL_PREFIXES = names("builtin command coproc nocorrect noglob repeat time")
# They add what they read to the command that they are given.
READERS_OF_ARGUMENTS = names("xargs gxargs parallel")
# What follows them is data, and the command comes after the next separator.
DATA_WORDS = frozenset(("for", "foreach", "select", "case"))
# A program follows, and find puts the name of a file wherever it reads {}.
EXEC_OPTIONS = names("-exec -execdir -ok -okdir -x -X --exec --exec-batch")
# Options of shells that have a value of their own.
OPTIONS_WITH_VALUES = names("--rcfile --init-file")

ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\[[^\]]*\])?\+?=", re.DOTALL)
PLAIN_WORD = re.compile(r"[\w./=:@%+,-]*")
PLACEHOLDER = re.compile(r"\{[^{}\s]*\}")
REPLACE_OPTION = re.compile(r"-[IiJ](.*)|--replace(?:=(.*))?", re.DOTALL)
JOINED_OPTION = re.compile(r"-([A-Za-z]{1,12})", re.ASCII)

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
        self.expanded: Set[str] = set()

    def add_script(self, text: str, depth: int) -> None:
        """All commands of a text that a shell may run."""
        if text not in self.scripts:
            self.scripts.add(text)
            LenientReader(text, self, depth).commands("")

    def add_expanded(self, text: str, depth: int) -> None:
        """All commands that run when a shell expands a text."""
        if text not in self.expanded:
            self.expanded.add(text)
            LenientReader(text, self, depth).until("")

    def add_command(self, name: str, arguments: List[str]) -> None:
        """One command as it is."""
        command = (name, *arguments)
        self.commands[command] = None

    def add_words(self, words: List[str], depth: int, has_input: bool) -> None:
        """One command, and those that it runs in turn."""
        words = without_prefixes(words)
        # Which argument is the program depends on options unknown here: perhaps each.
        runs_arguments = False
        # How many of the last words are what xargs has read; a program only behind a runner.
        read, read_is_run = 0, False
        previous = ""
        in_shell = True
        while len(words) > (0 if read_is_run else read):
            if previous in EXEC_OPTIONS:
                words = [words[0].replace("{}", ANYTHING), *words[1:]]
            # zsh takes =name for the path of a program.
            words = [words[0].lstrip("=") or words[0], *words[1:]]
            self.add_command(words[0], words[1:])
            name = program_name(words[0])
            unknown = ANYTHING in words[0]
            if name in SCRIPT_RUNNERS or unknown:
                self.add_script_arguments(words, depth, has_input, runs_arguments)
            elif in_shell and words[0] in SOURCES:
                self.add_source(words[1:], has_input)
                if len(words) > 1 and "/" not in words[1]:  # found like a program
                    self.add_command(words[1], words[2:])
            if name in READERS_OF_ARGUMENTS:
                words, read = with_arguments_read(words), 1
            elif name in RUNNERS | SHELLS:
                read_is_run = True
            runs_arguments = runs_arguments or name in RUNNERS
            in_shell = in_shell and (name not in RUNNERS or name in SHELL_PREFIXES)
            if runs_arguments or unknown or "=" in words[0]:
                # What is not known may be nothing, or an assignment; env takes any name in one.
                previous, words = words[0], without_prefixes(words[1:], data_words=False)
            elif "]]" in words:  # zsh takes a command right behind a condition
                words = without_prefixes(words[words.index("]]") + 1 :])
            else:
                break
            if len(words) > MOST_WORDS_OF_A_RUNNER:
                raise NotUnderstood

    def add_source(self, operands: List[str], has_input: bool) -> None:
        """The file that a shell reads its commands from: none, or the first of the operands."""
        self.reads_scripts = True
        if not has_input and (not operands or may_be_a_stream(operands[0])):
            raise NotUnderstood  # they come from elsewhere

    def add_script_arguments(
        self, words: List[str], depth: int, has_input: bool, inside: bool
    ) -> None:
        """The arguments of a program that takes command lines; *inside*: another one runs it."""
        self.reads_scripts = True
        name, arguments = program_name(words[0]), words[1:]
        if name in SHELLS:
            takes_text, operands = shell_arguments(arguments)
            if not takes_text:
                self.add_source(operands, has_input)
                if not operands:
                    return
        if name in READERS_OF_ARGUMENTS:
            arguments = with_arguments_read(words)[1:-1]
        if name == "eval":
            arguments = [*arguments, " ".join(arguments)]
        for index, argument in enumerate(arguments):
            if inside and argument != "{}":
                argument = argument.replace("{}", ANYTHING)
            for text in texts_in(argument):
                if name in ENVIRONMENTS and text != argument and text.lstrip()[:1] == "-":
                    raise NotUnderstood  # options inside an option
                # A single word behind sudo and its like was already taken for a command.
                if name not in RUNNERS or not PLAIN_WORD.fullmatch(text):
                    self.add_script(text, depth + 1)
                elif text and text != argument:
                    self.add_command(text, arguments[index + 1 :])


def texts_in(argument: str) -> List[str]:
    """What a program may take for a command line in an argument: all of it, or its end."""
    texts = [argument]
    assigned = ASSIGNMENT.match(argument)
    if assigned:
        texts.append(argument[assigned.end() :])
    if argument.startswith("--") and "=" in argument:
        texts.append(argument.partition("=")[2])
    joined = JOINED_OPTION.match(argument)
    if joined:
        texts += [argument[end:] for end in range(2, joined.end() + 1)]
    return texts


def shell_arguments(arguments: List[str]) -> Tuple[bool, List[str]]:
    """
    Whether a shell is given its commands as an argument, and what is no option of it.

    There are no operands where it reads its input in spite of them.
    """
    rest = list(arguments)
    reads_input = False
    while rest and rest[0][:1] in ("-", "+", ANYTHING):
        option = rest.pop(0)
        if ANYTHING in option or re.match(r"-[A-Za-z]*c|--command", option, re.IGNORECASE):
            return True, rest
        if option in ("-", "--"):
            break
        if option.startswith("--"):
            values = int(option in OPTIONS_WITH_VALUES)
        else:
            reads_input = reads_input or "s" in option
            values = option.lower().count("o")
        # Shells differ in whether the value is joined to the option.
        reads_input = reads_input or any(map(may_be_a_stream, rest[:values]))
        if any(value.startswith("-") for value in rest[:values]):
            return True, rest
        del rest[:values]
    return False, [] if reads_input else rest


def may_be_a_stream(path: str) -> bool:
    """Whether a path may lead to what another program writes, rather than to a file."""
    folders = path.split("/")
    last = folders[-1]
    if last in ("-", "stdin") or last.isdigit() or ANYTHING in last:
        return True
    outside = path.startswith("/") or ".." in folders or ANYTHING in path
    return outside and bool({"dev", "proc"} & set(folders))


def with_arguments_read(words: List[str]) -> List[str]:
    """The words of xargs or parallel with what they will read in its place, and at the end."""
    if all(re.match(r"-|\d+\Z", word) for word in words[1:]) and words[0].endswith("parallel"):
        raise NotUnderstood  # what it reads are the commands
    filled: List[str] = []
    tokens: List[str] = []
    for word in words:
        option = REPLACE_OPTION.fullmatch(word)
        if filled and REPLACE_OPTION.fullmatch(filled[-1]) and filled[-1] in ("-I", "-J"):
            tokens.append(word)
            filled.append(word)
            continue
        if option:
            tokens += [token for token in option.groups() if token]
            filled.append(word)
            continue
        for token in tokens:
            word = word.replace(token, ANYTHING)
        filled.append(PLACEHOLDER.sub(ANYTHING, word))
    return [*filled, ANYTHING]


def without_prefixes(words: List[str], data_words: bool = True) -> List[str]:
    """A command without the grammar and the assignments before it."""
    for index, word in enumerate(words):
        if word in DATA_WORDS and data_words:
            bodies = [at for at in range(index, len(words)) if words[at] in ("{", "do")]
            return without_prefixes(words[bodies[0] :]) if bodies else []
        if word not in RESERVED_WORDS - RUNNERS and not ASSIGNMENT.match(word):
            return words[index:]
    return []


def program_name(word: str) -> str:
    """A program's name without its folder, as a file system that ignores case finds it."""
    name = re.split(r"[/\\]", word)[-1].lower()
    return name[:-4] if name.endswith(".exe") else name
