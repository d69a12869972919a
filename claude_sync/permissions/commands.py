"""
Two judgements on shell command lines, over the one reader in ``shell``.

``covered`` is strict: each command of a line is covered by some rule, and nothing else happens.
``may_run`` is generous: some command of a line could be the one that a rule names, or the line
cannot be read. What both know about programs is in ``programs.ini``: those that only handle text,
those that run other programs, and the words that make the former do the latter.

Out of reach are files that are run as scripts, hooks, makefiles, aliases, texts that are put
together in another language, and other programs with the same effect. SECURITY.rst says so.
"""

from __future__ import annotations

import configparser
import functools
import pkgutil
import re
from typing import Dict, Iterable, List, Optional, Sequence, Set, Tuple

from ..errors import UsageError
from .globs import MANY, MARKS, ONE, Glob
from .shell import PLAIN_COMMAND, RESERVED_WORDS, Command, Line, Unreadable, read

__all__ = ["CommandPattern", "covered", "may_run", "text_globs"]

TABLES = configparser.ConfigParser(delimiters=("=",), comment_prefixes=("#",), interpolation=None)
TABLES.read_string((pkgutil.get_data(__package__, "programs.ini") or b"").decode("utf-8"))
NAMES = {key: frozenset(text.split()) for key, text in TABLES["names"].items()}
SHORT_OPTIONS = TABLES["short running options of git"]
OPERANDS = {
    name: int(count)
    for count, words in TABLES["words before the program"].items()
    for name in words.split()
}
PATTERNS: Dict[str, re.Pattern[str]] = {}
for key, text in TABLES["patterns"].items():
    joined = re.sub(r"\{([a-z ]+)\}", lambda name: PATTERNS[name[1]].pattern, text)
    PATTERNS[key] = re.compile(joined.replace("\n", ""), re.DOTALL)
RUNNING_WORDS = {
    name: re.compile(text.replace("\n", ""), re.DOTALL)
    for words, text in TABLES["running words"].items()
    for name in words.split()
}
NOT_BY_WILDCARD = (
    NAMES["runners"] | NAMES["shells"] | NAMES["takers"] | NAMES["never"]
) - RUNNING_WORDS.keys()

MOST_WORDS_OF_A_RUNNER = 250
# A longer one would take long to compare with the patterns of some programs.
LONGEST_WORD = 4_000
TOKEN = re.compile(r"[\w./+-]+", re.ASCII)


class CommandPattern:
    """What stands in the parentheses of a rule for commands."""

    def __init__(self, rule: str, pattern: str) -> None:
        self.words = pattern.split()
        self.is_exact = "*" not in pattern
        self.exact = text_globs(rule, pattern)
        unquoted = re.sub(r"['\"]", "", pattern)
        self.suspicions = self.exact + (text_globs(rule, unquoted) if unquoted else [])
        # Where it is not the same, no command has to be compared.
        self.first = "" if {"*", "\\"} & set(self.words[0]) else self.words[0].partition(":")[0]
        # The words up to the first that may be anything, looked for in texts.
        literal: List[str] = []
        for word in re.sub(r":\*\Z", " *", unquoted).split():
            if not word.strip("*"):
                break
            literal.append(word.lower() if literal else program_name(word))
        self.sequence = [text_glob(word) for word in literal]
        self.names_program = names_program(literal)

    def matches(self, source: str) -> bool:
        """Whether it covers a command, as it is written."""
        return source.startswith(self.first) and any(each.matches(source) for each in self.exact)

    def may_be(self, words: Sequence[str]) -> bool:
        """Whether a command, its quotes removed, may be what is meant."""
        name = program_name(words[0])
        forms = [(first, *words[1:]) for first in {words[0], words[0].rpartition("/")[2], name}]
        if name.startswith("git-"):
            forms.append(("git", name[4:], *words[1:]))
        return any(may_match(each, form) for each in self.suspicions for form in forms)

    def stands_in(self, tokens: Sequence[str]) -> bool:
        """Whether its words follow one another in a text, perhaps with options between them."""
        states: Set[Tuple[int, bool]] = set()
        for token in tokens:
            following: Set[Tuple[int, bool]] = set()
            for count, after_option in states | {(0, False)}:
                if count < len(self.sequence) and self.sequence[count].matches(token):
                    following.add((count + 1, False))
                if count and (token.startswith("-") or after_option):
                    following.add((count, token.startswith("-")))
            states = following
            if any(count == len(self.sequence) for count, _ in states):
                return bool(self.sequence)
        return False


def text_glob(pattern: str) -> Glob:
    """The pattern of a text, in which a star may be escaped."""
    tokens = re.findall(r"\\[*\\]|\*+|[^*]", pattern, re.DOTALL)
    return Glob([None if token.startswith("*") else token[-1] for token in tokens])


def text_globs(rule: str, pattern: str) -> List[Glob]:
    """The patterns of a rule for texts: the exact one, and those that it abbreviates."""
    prefix = pattern[:-2].rstrip() if pattern.endswith(":*") else None
    if prefix is None and pattern.endswith(" *") and pattern.count("*") == 1:
        prefix = pattern[:-2].rstrip()  # the CLI, too, takes the arguments as optional
    if prefix is None:
        return [text_glob(pattern)]
    if not prefix:
        raise UsageError(
            f"the rule {rule!r} names no command before its wildcard. Write the tool's name "
            "alone to match every use of it."
        )
    return [text_glob(prefix), text_glob(prefix + " *")]


def may_match(glob: Glob, words: Sequence[str]) -> bool:
    """
    Whether the words of a command match, or may match, perhaps without its options.

    Options may stand before a subcommand, with a value or without: ``git -C . push`` is
    ``git push``, too.
    """
    state = glob.after(words[0], glob.start)
    option = False
    for word in words[1:]:
        following = glob.after(" " + word, state)
        was_option, option = option, word[:1] == "-" or word[:1] in MARKS
        # Perhaps the word before had this one for its value.
        state = following | state if option or was_option else following
        if not state:
            return False
    return bool(state & glob.end)


def program_name(word: str) -> str:
    """A program's name without its folder, as a file system that ignores case finds it."""
    name = word.rpartition("/")[2].rpartition("\\")[2].lower()
    return name[:-4] if name.endswith(".exe") else name


def names_program(words: Sequence[str]) -> bool:
    """Whether the beginning of a rule about a runner says which program it runs."""
    name = words[0] if words else ""
    harmless = PATTERNS["shell options" if name in NAMES["shells"] else "xargs options"]
    operands = OPERANDS.get(name, 0)
    after_option = False
    for word in words[1:]:
        if word.startswith("-"):
            after_option = not harmless.fullmatch(word)
        elif after_option or is_value(word):
            after_option = False
        elif operands:
            operands -= 1
        else:
            return True
    return False


def is_value(word: str) -> bool:
    """Whether a word is an assignment or a number, and not a program."""
    return bool(PATTERNS["assigned"].match(word) or PATTERNS["operand"].fullmatch(word))


def is_computed(word: str) -> bool:
    """Whether only the running shell knows a word, or a part of it."""
    return not MARKS.isdisjoint(word)


def may_be_option(word: str) -> bool:
    """Whether a word, or a part of it, may turn out to be any option."""
    if MANY in word or word[:1] in MARKS:
        return True
    return word.startswith("-") and is_computed(word.partition("=")[0])


def running_words(name: str, words: Sequence[str]) -> Optional[List[int]]:
    """
    Where the words stand that make a program run another one.

    None: what only the running shell knows may be one of them.
    """
    if name == "git":
        return git_running_words(words)
    pattern = RUNNING_WORDS.get(name)
    if pattern is None:
        return []
    if any(len(word) > LONGEST_WORD or may_be_option(word) for word in words[1:]):
        return None
    found = [at for at, word in enumerate(words) if at and pattern.fullmatch(word)]
    plain = [at for at, word in enumerate(words) if at and not word.startswith("-")]
    if name == "sed":
        scripts = [at + 1 for at, word in enumerate(words[:-1]) if word == "-e"] or plain[:1]
        found += [at for at in scripts if not PATTERNS["sed script"].fullmatch(words[at])]
    elif name in ("uniq", "xxd"):
        takes_number = "-[fsw]" if name == "uniq" else "-[cglos]"
        plain += [at for at, word in enumerate(words) if word in ("-", "--")]
        found += [at for at in plain if not re.fullmatch(takes_number, words[at - 1])][1:]
    elif name in NAMES["managers"]:
        found = [at for at in found if at not in plain[2:]]
    elif name in ("tar", "gtar"):
        # Only the first word is a bundle of options without a hyphen.
        is_bundle = re.fullmatch(r"[A-Za-z]+", "".join(words[1:2]))
        found = [at for at in found if (at == 1 and is_bundle) or words[at].startswith("-")]
    return found


def git_running_words(words: Sequence[str]) -> Optional[List[int]]:
    """The same for git: its subcommand, if it is not a known one, and options."""
    found: List[int] = []
    at = 1
    while (
        at < len(words) and words[at].startswith("-") and words[at] not in ("--version", "--help")
    ):
        if words[at] not in NAMES["first options of git"]:
            found.append(at)
            at += words[at] in ("-C", "-c", "--git-dir", "--work-tree", "--namespace")
        at += 1
    subcommand = words[at] if at < len(words) else "--help"
    if subcommand not in NAMES["git"] | {"--version", "--help"}:
        found.append(at)
    short = SHORT_OPTIONS.get(subcommand, "")
    has_value = False
    for place, word in enumerate(words[at + 1 :], at + 1):
        if MANY in word:
            return None
        if has_value or word == "--":
            if not has_value:
                break
            has_value = False
        elif may_be_option(word):
            return None
        elif word.startswith("--"):
            has_value = subcommand in ("commit", "tag") and word == "--message"
            option = word[2:].partition("=")[0]
            if any(each.startswith(option) for each in NAMES["running options of git"]):
                found.append(place)
        elif "::" in word or (short and re.match(rf"-[A-Za-z]*[{short}]", word)):
            found.append(place)
        else:
            has_value = subcommand in ("commit", "tag") and word in ("-m", "-am")
    return found


# The strict judgement.


def covered(text: str, patterns: Sequence[CommandPattern]) -> bool:
    """Whether each command of a line is covered by a pattern, and nothing else happens."""
    try:
        line = read(text)
    except Unreadable:
        return False
    if not line.is_common or not line.commands:
        return False
    for name, words in line.loops:
        if not PATTERNS["safe variables"].fullmatch(name) or any(
            has_subscript(word.value) for word in words
        ):
            return False
    return all(is_covered(command, patterns) for command in line.commands)


def is_covered(command: Command, patterns: Sequence[CommandPattern]) -> bool:
    """Whether one command is covered, its redirections and assignments included."""
    for operator, target in command.redirections:
        harmless = operator in (">&", "<<") or target.source == "/dev/null"
        if not harmless and not (
            operator == "<" and PATTERNS["plain file"].fullmatch(target.source)
        ):
            return False
    if not all(is_safe_assignment(word.source) for word in command.assignments):
        return False
    if not command.words:
        return bool(command.assignments) or command.is_closed or command.after_both
    if command.after_both:
        return False  # one command to bash, and two to others
    return words_covered([word.source for word in command.words], command.values(), patterns)


def is_safe_assignment(source: str) -> bool:
    """Whether an assignment changes nothing that matters."""
    name, _, value = source.partition("=")
    is_safe = PATTERNS["safe variables"].fullmatch(name) and PATTERNS["safe value"].fullmatch(value)
    return bool(is_safe)


def words_covered(
    sources: Sequence[str], words: Sequence[str], patterns: Sequence[CommandPattern]
) -> bool:
    """Whether a pattern covers these words, or those of the program that they run."""
    if not PLAIN_COMMAND.fullmatch(sources[0]) or sources[0] in RESERVED_WORDS:
        return False
    source = " ".join(sources)
    if any(each.matches(source) and does_only(each, words) for each in patterns):
        return True
    # The program of a harmless runner, if each of its options is a word.
    peeled = PATTERNS["peeled"].match(" ".join(words))
    start = peeled.group().count(" ") if peeled else 0
    if not peeled or " ".join([*words[:start], ""]) != peeled.group() or start >= len(words):
        return False
    if len(words) > MOST_WORDS_OF_A_RUNNER:
        return False
    if words[0] == "xargs":
        # Whatever it reads is added, so that an exact rule is not enough.
        sources, words = [*sources, MANY], [*words, MANY]
        patterns = [each for each in patterns if not each.is_exact]
    return words_covered(sources[start:], words[start:], patterns)


def does_only(pattern: CommandPattern, words: Sequence[str]) -> bool:
    """Whether a command that a pattern covers does what the pattern says, and no more."""
    if pattern.is_exact:
        return True
    name = program_name(words[0])
    if name in NAMES["exact"]:
        return False
    if name in NOT_BY_WILDCARD and not PATTERNS["telling"].match(" ".join(words)):
        return pattern.names_program and name not in NAMES["takers"]
    if name in ("test", "["):
        return is_safe_test([word for word in words[1:] if word != "]"])
    if name == "printf":
        return is_safe_printf(words[1:])
    if name == "read":
        safe = PATTERNS["safe variables"].fullmatch
        return all(word in ("-r", "-e") or safe(word) for word in words[1:])
    if name == "export":
        return all(map(is_safe_assignment, words[1:]))
    found = running_words(name, words)
    return found is not None and stand_in_rule(found, words, pattern.words)


def stand_in_rule(found: Sequence[int], words: Sequence[str], rule: Sequence[str]) -> bool:
    """Whether the running words of a command stand in the rule, with what follows them."""
    for at in found:
        following = "".join(words[at + 1 : at + 2])
        if not any(
            word == words[at] and (not behind or text_glob(behind).matches(following))
            for word, behind in zip(rule, [*rule[1:], ""])
        ):
            return False
    return True


def has_subscript(word: str) -> bool:
    """Whether a builtin could evaluate a word, quoted or not."""
    return bool(PATTERNS["subscript"].search(word))


def is_safe_test(words: Sequence[str]) -> bool:
    """Whether ``test`` evaluates none of its words."""
    if all(map(PATTERNS["plain operand"].fullmatch, words)):
        return True
    if words[0] == "!":
        words = words[1:]
    # Unquoted, a variable may be several words, and one of them an operator.
    if any(has_subscript(word) or is_computed(word.replace(ONE, "")) for word in words):
        return False
    if len(words) == 2:
        return bool(PATTERNS["testing"].fullmatch(words[0]))
    return len(words) == 1 or (len(words) == 3 and words[1] in ("=", "==", "!="))


def is_safe_printf(words: Sequence[str]) -> bool:
    """Whether ``printf`` prints, and evaluates none of its words."""
    if not words or words[0].startswith("-") or is_computed(words[0]):
        return False
    if any(map(has_subscript, words)):
        return False
    letters = re.findall(r"%[-0-9.# +]*(.?)", words[0])
    return set(letters) <= set("sbc%") or all(map(PATTERNS["plain operand"].fullmatch, words[1:]))


# The generous judgement.


class Suspects:
    """What a line may run: commands, and texts in which a program may be named."""

    def __init__(self) -> None:
        # Dicts for their order and for their uniqueness.
        self.commands: Dict[Tuple[str, ...], None] = {}
        self.texts: Dict[str, None] = {}
        self.followed: Set[object] = set()
        self.written: Set[str] = set()

    def add_script(self, text: str, depth: int) -> None:
        """Everything that a text runs when a shell reads it; raises where that is unknown."""
        if text in self.followed:
            return
        self.followed.add(text)
        line = read(text, depth)
        for command in line.commands:
            for operator, target in command.redirections:
                if operator in (">", ">>") and target.source != "/dev/null":
                    self.written.add(target.value.rpartition("/")[2])
        self.add_texts(text, line)
        for command in line.commands:
            words = command.values()
            for word in command.assignments:
                if PATTERNS["startup files"].match(word.value) or substitutes(word.value):
                    raise Unreadable
            if words[:1] == ["alias"] and len(line.commands) > 1 and "=" in " ".join(words):
                raise Unreadable
            if words:
                self.add_command(words, command, depth)

    def add_texts(self, text: str, line: Line) -> None:
        """The texts of a line in which the name of a program counts."""
        found = [*line.texts]
        for _, loop_words in line.loops:
            found.append(" ".join(word.value for word in loop_words))
        for command in line.commands:
            found += [word.value for word in command.assignments]
        harmless = all(is_data(command) for command in line.commands if command.words)
        if (len(line.commands) > 1 and self.written) or PATTERNS["fateful"].search(text):
            harmless = False
        for command in () if harmless else line.commands:
            words = [*command.assignments, *command.words]
            targets = [target.value for _, target in command.redirections]
            found.append(" ".join([*(word.value for word in words), *targets]))
            found += [" ".join(word.source for word in words), *command.inputs]
        self.texts.update(dict.fromkeys(found))

    def add_command(self, words: List[str], command: Optional[Command], depth: int) -> None:
        """One command, and those that it runs in turn."""
        if tuple(words) in self.followed:
            return
        self.followed.add(tuple(words))
        if not PLAIN_COMMAND.fullmatch(words[0]):
            raise Unreadable  # computed, or no plain name
        self.commands[tuple(words)] = None
        name = program_name(words[0])
        inputs = command.inputs if command is not None else []
        if name in NAMES["never"] or words[0].rpartition("/")[2] in self.written:
            raise Unreadable
        if (name in NAMES["evaluating"] or name.startswith("-")) and any(map(substitutes, words)):
            raise Unreadable
        if name == "git" and any(word.lower().startswith("alias.") for word in words):
            raise Unreadable  # another name for anything
        if PATTERNS["interpreters"].fullmatch(name):
            check_code(name, words, inputs)
        if name in NAMES["shells"]:
            self.add_shell(words, command, depth)
        elif words[0] in ("source", "."):
            self.check_file(words[1] if len(words) > 1 else "-")
        if name in NAMES["takers"]:
            # Arguments that are read as scripts, each and all together.
            for text in dict.fromkeys([*words[1:], " ".join(words[1:])]):
                is_assigned = PATTERNS["assigned"].match(text)
                script = text.partition("=")[2].strip("'\"") if is_assigned else text
                if script and not script.startswith("-"):
                    self.add_script(script, depth + 1)
        if name in ("env", "genv") and any(re.match(r"-[^u]*S|--s", word) for word in words):
            raise Unreadable
        if name in NAMES["runners"]:
            self.add_runner(name, words, depth)
        if name in NAMES["followed"]:
            for at, word in enumerate(words[:-1]):
                if PATTERNS["running option"].fullmatch(word):
                    program = [each.replace("{}", MANY) for each in words[at + 1 :]]
                    self.add_command(program, None, depth)

    def add_runner(self, name: str, words: List[str], depth: int) -> None:
        """The program that another one runs: each of the words is tried."""
        if len(words) > MOST_WORDS_OF_A_RUNNER:
            raise Unreadable
        if name in NAMES["reading arguments"]:
            words = arguments_read(words)
        operands = OPERANDS.get(name, 0)
        is_certain = after_option = False
        for at, word in enumerate(words[1:], 1):
            if word.startswith("-"):
                after_option = not (name == "xargs" and PATTERNS["xargs options"].fullmatch(word))
                continue
            is_operand = operands and not after_option
            if is_value(word):
                if PATTERNS["startup files"].match(word):
                    raise Unreadable
                operands -= bool(is_operand and not PATTERNS["assigned"].match(word))
            elif PLAIN_COMMAND.fullmatch(word) and (is_operand or is_certain):
                self.commands[tuple(words[at:])] = None
                operands -= bool(is_operand)
            elif PLAIN_COMMAND.fullmatch(word):
                self.add_command(words[at:], None, depth)
                is_certain = not after_option and name not in NAMES["uncertain"]
            elif is_operand:
                operands -= 1
            elif is_computed(word) and not is_certain:
                raise Unreadable
            after_option = False

    def add_shell(self, words: List[str], command: Optional[Command], depth: int) -> None:
        """What a shell reads: its argument, its input, or a file."""
        options = PATTERNS["shell"].match(" ".join([*words, ""]))
        at = options.group().count(" ") if options else 0
        if not options or " ".join([*words[:at], ""]) != options.group():
            raise Unreadable
        if at < len(words) and words[at][:1] in ("-", "+"):
            raise Unreadable  # an option that is not known
        if options["code"]:
            if at >= len(words):
                raise Unreadable
            self.add_script(words[at], depth + 1)
        elif at < len(words):
            self.check_file(words[at])
        elif words[-1] not in ("--version", "--help"):
            redirections = command.redirections if command is not None else []
            if command is None or not command.inputs or any(way == "<" for way, _ in redirections):
                raise Unreadable  # who knows what it reads
            for text in command.inputs:
                self.add_script(text, depth + 1)

    def check_file(self, path: str) -> None:
        """Raise unless a script is a file that was there before."""
        last = path.rpartition("/")[2]
        is_stream = {"dev", "proc"} & set(path.split("/")) or last in ("", "-", "stdin")
        is_new = last in self.written or is_computed("".join(self.written))
        if is_computed(path) or is_stream or is_new or last.isdigit():
            raise Unreadable


def substitutes(word: str) -> bool:
    """Whether a word has a substitution in it that was quoted."""
    return bool(PATTERNS["substitution"].search(word))


def is_data(command: Command) -> bool:
    """Whether a command only handles text, and can neither be made to run nor to write."""
    words = command.values()
    # A name with a folder or a mark in it is not on the list.
    name = words[0].lower()
    if name not in NAMES["data"]:
        return False
    if name in NAMES["evaluating"] and (words[1:2] == ["-v"] or any(map(substitutes, words))):
        return False
    return running_words(name, words) == []


def check_code(name: str, words: Sequence[str], inputs: Sequence[str]) -> None:
    """Raise for code in another language that runs programs."""
    options = (
        at for at, word in enumerate(words) if at and PATTERNS["code option"].fullmatch(word)
    )
    code = words[1:] if name.endswith("awk") else words[next(options, len(words)) :]
    if any(PATTERNS["running code"].search(text) for text in (*code, *inputs)):
        raise Unreadable


def arguments_read(words: List[str]) -> List[str]:
    """The words of xargs and its like, with what they will read at the end and in its place."""
    tokens = ["{}"]
    for at, word in enumerate(words):
        found = PATTERNS["replacing"].fullmatch(word)
        if found:
            is_next = found["letter"] in ("I", "J") and not found["short"]
            joined = found["short"] or found["long"] or ""
            tokens.append("".join(words[at + 1 : at + 2]) if is_next else joined)
    if any(re.search(r"\w", token) for token in tokens):
        raise Unreadable
    for token in filter(None, tokens):
        words = [words[0], *(word.replace(token, MANY) for word in words[1:])]
    return [*words, MANY]


@functools.lru_cache(maxsize=16)
def suspects(text: str) -> Optional[Suspects]:
    """What a line may run; None: it cannot be told, or is always denied."""
    found = Suspects()
    try:
        found.add_script(text, 0)
    except Unreadable:
        return None
    return found


def may_run(text: str, pattern: CommandPattern) -> bool:
    """Whether a line may run what a pattern names, or cannot be read."""
    found = suspects(text)
    if found is None or pattern.matches(text.strip()):
        return True
    if any(pattern.may_be(words) for words in found.commands):
        return True
    return any(pattern.stands_in(tokens) for each in found.texts for tokens in tokens_of(each))


def tokens_of(text: str) -> Iterable[List[str]]:
    """The words of a text, its quotes joined and its quotes dropped."""
    for plain in {re.sub(r"['\"\\\\]", "", text), text}:
        yield [program_name(token.strip(".")) for token in TOKEN.findall(plain)]
