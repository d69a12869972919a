"""
Two judgements on shell command lines, over the one reader in ``shell``.

``covered`` is strict: each command of a line is covered by some rule, and nothing else happens.
``may_run`` is generous: some command of a line could be the one that a rule names, or the line
cannot be read. Both work with tables of programs: those that only handle text, those that run
other programs, and the words that make the former do the latter.

Out of reach are files that are run as scripts, hooks, makefiles, aliases, texts that are put
together in another language, and other programs with the same effect. SECURITY.rst says so.
"""

from __future__ import annotations

import functools
import re
from typing import Dict, FrozenSet, Iterable, List, Optional, Sequence, Set, Tuple

from ..errors import UsageError
from .shell import (
    MANY,
    MARKS,
    ONE,
    PLAIN_COMMAND,
    RESERVED_WORDS,
    Command,
    Line,
    Unreadable,
    read,
)

__all__ = ["CommandPattern", "Wildcards", "covered", "may_run"]


def names(text: str) -> FrozenSet[str]:
    """A set of names, written with blanks between them."""
    return frozenset(text.split())


# Programs that only read, write or pass on text, unless one of their running words is there.
DATA_PROGRAMS = names(
    "awk basename bat cat cd cmp comm cut date diff dirname echo egrep false fgrep file find gawk "
    "gh git grep head jq less ls mawk md5sum mkdir nl paste popd printf pushd pwd rev rg sed "
    "sha256sum sleep sort stat tail tr true uniq wc xxd :"
)
# They run a program that one of their arguments names.
RUNNERS = names(
    "aoss arch asdf builtin bundle bunx busybox bwrap caffeinate capsh catchsegv cgexec choom "
    "chpst chroot chrt cmd command conda cpulimit dbus-launch dbus-run-session direnv doas "
    "dumb-init entr env eatmydata exec fakechroot fakeroot faketime fd fdfind firejail flock gdb "
    "gosu hyperfine ionice i386 isolate jexec jobs linux32 linux64 logsave ltrace mise newgrp nice "
    "nix-shell nohup npx nsenter numactl nvm parallel perf pipenv pkexec pnpx poetry prlimit "
    "proxychains proxychains4 pty rbenv rlwrap run0 runcon runuser s6-setuidgid schroot screen "
    "script scriptreplay setarch setlock setpriv setsid setuidgid sg softlimit split ssh "
    "ssh-agent start-stop-daemon stdbuf strace su sudo systemd-inhibit systemd-run taskset "
    "tcpserver time timelimit timeout tini tmux torify torsocks toybox tsocks unbuffer unshare uv "
    "uvx valgrind watch watchexec wine x86_64 xargs xinit xterm xvfb-run zargs"
)
SHELLS = names(
    "ash bash csh dash elvish fish hush ion ksh ksh93 lksh mksh nu oksh osh posh powershell pwsh "
    "rbash rksh rzsh sh tcsh xonsh yash zsh"
)
# Their arguments are command lines themselves.
TAKERS = names(
    "alias bind compgen complete emulate entr eval fc flock hyperfine mapfile newgrp parallel "
    "readarray run0 runuser screen script sg ssh su tmux trap watch watchexec"
)
SOURCES = names("source .")
INTERPRETERS = re.compile(
    r"(?:bun|deno|gjs|groovy|guile|irb|julia|lua|luajit|node|nodejs|osascript|perl|php|pypy|python"
    r"|raku|ruby|rscript|scala|tclsh|wish|(?:g|m|n)?awk)[0-9.]*"
)
CODE_OPTION = re.compile(r"-[A-Za-z]*[ceErpR].*|--(?:eval|print|command|run).*", re.DOTALL)
RUNNING_CODE = re.compile(
    r"system|popen|subprocess|exec|eval|spawn|child_process|`|\bqx\b|%x|passthru|getline", re.I
)
# What they run comes from elsewhere, or later.
NEVER = names("at atq batch crontab run-parts")
# Builtins that evaluate subscripts and arithmetic in words that were quoted.
EVALUATING = names(
    "[ [[ break bye cd compgen continue declare exit export float getln getopts integer let local "
    "logout mapfile print printf private read readarray readonly return set shift test typeset "
    "ulimit unset vared wait zformat zparseopts zregexparse"
)
# Builtins that do more than their words say. A rule with a wildcard does not cover them.
EXACT_ONLY = names(
    "[[ . alias autoload bind break builtin bye compgen complete continue declare disown emulate "
    "enable eval exec exit fc float functions getln getopts hash integer jobs let local logout "
    "mapfile nameref print private readarray readonly rehash return sched set setopt shift shopt "
    "source trap typeset ulimit umask unalias unset unsetopt vared wait zargs zcompile zformat "
    "zle zmodload zparseopts zregexparse zstyle"
)
# How many words stand before the program that they run.
OPERANDS = {
    "asdf": 1, "chroot": 1, "chrt": 1, "conda": 1, "direnv": 2, "flock": 1, "gosu": 1, "logsave": 1,
    "mise": 1, "perf": 1, "pipenv": 1, "poetry": 1, "runcon": 1, "setuidgid": 1, "sg": 1, "ssh": 1,
    "su": 1, "taskset": 1, "timeout": 1, "timelimit": 1, "uv": 1, "faketime": 1, "setlock": 1,
}  # fmt: skip
# Where the program begins cannot be told: any of the words may be it.
UNCERTAIN = names("bwrap busybox nsenter parallel schroot toybox unshare wine zargs")
READERS_OF_ARGUMENTS = names("parallel xargs zargs")
# Variables by which a program is run, or another one is found.
FATEFUL = re.compile(
    r"(?:\w*PAGER|\w*EDITOR|VISUAL|BROWSER|LESS\w*|GIT_\w+|LD_\w+|DYLD_\w+|PS[0-9]|PROMPT\w*"
    r"|IFS|F?PATH|CDPATH|SHELL\w*|BASH\w*|ENV|ZDOTDIR|RIPGREP_\w+|GREP_\w+|PERL5\w*|PYTHON\w+"
    r"|NODE_OPTIONS|RUBYOPT|HIST\w+)\+?="
)
STARTUP_FILES = re.compile(r"(?:BASH_ENV|ZDOTDIR|ENV)=")
SUBSTITUTION = re.compile(r"\$\(|`")
# A value of an option, and not the program that is run.
OPERAND = re.compile(r"[0-9][0-9.,:%+-]*[a-zA-Z]?")

ASSIGNED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
FOLLOWED = names("fd fdfind find")
RUNNING_OPTION = re.compile(r"-(?:exec|execdir|ok|okdir|x|X)|--exec(?:-batch)?")
SHELL_OPTION = re.compile(r"-[aefhiklmnuvxlE]+|--(?:login|norc|noprofile|posix|restricted)")
TESTING = re.compile(r"-[bcdefghkLnprsSuwxzGNO]")

# Words that make a program run another one, or write where nobody expects it. A rule covers them
# only if they stand in the rule itself. A long option may be shortened.
RUNNING_WORDS: Dict[str, re.Pattern[str]] = {
    "find": re.compile(r"-(?:exec|execdir|ok|okdir|delete|fprint0?|fprintf|fls)"),
    "awk": re.compile(
        r"-(?![Fv]).*|--.*|.*(?:system|getline|close|fflush|@|\|(?!\|)|(?:print|printf)[^;}]*>).*",
        re.DOTALL,
    ),
    "tar": re.compile(
        r"-?[A-Za-z]*[IF].*|--(?:ch|to-c|use|rsh|inf|new-v|rmt|i)\w*[a-z-]*(?:=.*)?", re.DOTALL
    ),
    "sort": re.compile(r"-[A-Za-z0-9.,]*o.*|--(?:co|o).*", re.DOTALL),
    "rg": re.compile(r"--(?:pre|hostname-bin)(?:=.*)?", re.DOTALL),
    "split": re.compile(r"--f.*", re.DOTALL),
    "man": re.compile(r"-[A-Za-z]*[PH].*|--(?:p|h).*", re.DOTALL),
    "less": re.compile(r"\+.*|-[A-Za-z]*[kKoO].*|--(?:lesskey|log|LOG).*", re.DOTALL),
    "rsync": re.compile(r"-[A-Za-z]*e.*|--(?:rs|e).*", re.DOTALL),
    "scp": re.compile(r"-[A-Za-z]*[oSF].*", re.DOTALL),
    "zip": re.compile(r"-[A-Za-z]*T.*|--(?:unz|te).*", re.DOTALL),
    "gh": re.compile(r"alias|extension|ext|config|codespace|cs|!.*", re.DOTALL),
    "bat": re.compile(r"--(?:pager|config).*", re.DOTALL),
    "curl": re.compile(r"-[A-Za-z]*K.*|--config.*", re.DOTALL),
    "wget": re.compile(r"-[A-Za-z]*e.*|--(?:use-a|ex|conf).*", re.DOTALL),
    "xxd": re.compile(r"-r"),
    "go": re.compile(r"--?(?:exec|toolexec|vettool)(?:=.*)?|tool", re.DOTALL),
    "cargo": re.compile(r"--con.*", re.DOTALL),
    "sed": re.compile(r"(?!-[nErsuz]+\Z|-e\Z|--(?:quiet|silent|debug|posix)\Z)-.*", re.DOTALL),
}
MANAGERS = names("asdf bun bundle conda hatch mise npm pdm pipenv pnpm poetry rye uv yarn")
for name in MANAGERS:
    RUNNING_WORDS[name] = re.compile(r"exec|run|shell|tool|x|activate|hook-env")
for name in names("bun npm pnpm yarn"):  # "run" is for what the project itself defines
    RUNNING_WORDS[name] = re.compile(r"exec|x|dlx|explore")
for name in names("gawk mawk nawk"):
    RUNNING_WORDS[name] = RUNNING_WORDS["awk"]
RUNNING_WORDS["gtar"] = RUNNING_WORDS["tar"]

NOT_BY_WILDCARD = (RUNNERS | SHELLS | TAKERS | NEVER) - RUNNING_WORDS.keys()

# Scripts of sed that only print, delete and replace.
SED_ADDRESS = r"(?:[0-9]+|\$|/(?:[^/\\\n]|\\[^\n])*/)"
SED_PLACE = rf"(?:{SED_ADDRESS}(?:,[ ]?(?:\+?[0-9]+|{SED_ADDRESS}))?[ ]?!?)?"
SED_REPLACING = "|".join(
    rf"s{sign}(?:[^{sign}\\\n]|\\[^\n])*{sign}(?:[^{sign}\\\n]|\\[^\n])*{sign}[gpiI0-9]*"
    for sign in ("/", r"\|", "#", ",")
)
SED_SCRIPT = re.compile(
    rf"(?:{SED_PLACE}[ ]?(?:[dpqlG=]|{SED_REPLACING})[ ]?(?:;[ ]?|\Z|(?=\}})))+", re.DOTALL
)

# What git does without running a program that its words name. Hooks and settings are the user's.
GIT_COMMANDS = names(
    "add apply blame branch cat-file check-ignore checkout cherry cherry-pick clean clone commit "
    "count-objects describe diff diff-tree fetch for-each-ref format-patch fsck gc grep init log "
    "ls-files ls-remote ls-tree merge merge-base mv name-rev pull push rebase reflog remote reset "
    "restore rev-list rev-parse revert rm shortlog show show-ref stash status switch symbolic-ref "
    "tag update-index version whatchanged worktree"
)
GIT_RUNNING_OPTIONS = (
    "config", "config-env", "exec", "exec-path", "ext-diff", "extcmd", "open-files-in-pager",
    "output", "receive-pack", "template", "textconv", "upload-pack",
)  # fmt: skip
GIT_SHORT_OPTIONS = {
    "rebase": "x",
    "grep": "O",
    "clone": "cu",
    "ls-remote": "u",
    "format-patch": "o",
}
GIT_ALONE = names("--version --help")
GIT_FIRST_OPTIONS = names("--no-pager -P --no-optional-locks --literal-pathspecs")

# Variables that change nothing but how much is said, and the names of loops.
SAFE_VARIABLES = re.compile(
    r"CI|DEBUG|NODE_ENV|RAILS_ENV|RUST_BACKTRACE|RUST_LOG|LANG|LC_[A-Z]+|TZ|(?:NO|FORCE)_COLOR"
    r"|COLUMNS|LINES|PYTHONUNBUFFERED|PYTHONDONTWRITEBYTECODE|PYTHONIOENCODING|GOOS|GOARCH"
    r"|CGO_ENABLED|VERBOSE|PORT|HOST|LOG_LEVEL|CARGO_TERM_COLOR|[a-z]|[A-Z]|file|files|dir"
    r"|folder|line|item|num|count|pkg|package|branch|commit|word|key|value|url|ver|version|test|img"
)
SAFE_VALUE = re.compile(
    r"[A-Za-z0-9_.,:/@%+-]*|'[A-Za-z0-9_.,:/@%+ -]*'|\"[A-Za-z0-9_.,:/@%+ -]*\""
)
PLAIN_FILE = re.compile(r"(?!.*(?:\A|/)\.\.(?:/|\Z))[A-Za-z0-9_.-][A-Za-z0-9_./-]*")
PLAIN_OPERAND = re.compile(r"[A-Za-z0-9_./:@%+,-]*")
SUBSCRIPT = re.compile(r"\[.*[$`]", re.DOTALL)
# What xargs and its like may be told without another program in it.
XARGS_OPTION = re.compile(r"-[0rtx]+|-[nPL][0-9]+|--null|--no-run-if-empty|--verbose")
XARGS_PAIR = names("-n -P -L")
PEELED = {"timeout": re.compile(r"[0-9.]+[smhd]?"), "nohup": None, "nice": None}

MOST_WORDS_OF_A_RUNNER = 250
TOKEN = re.compile(r"[\w./+-]+", re.ASCII)


class Wildcards:
    """
    A text with wildcards, compared in time proportional to the compared text.

    Each bit of ``state`` is a place in the pattern that can be reached; a mark of the reader in
    the compared text reaches every place from the first one on.
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
            was_option, option = option, word[:1] == "-" or word[:1] in MARKS
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
            if character in MARKS:
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


class CommandPattern:
    """What stands in the parentheses of a rule for commands."""

    def __init__(self, rule: str, pattern: str) -> None:
        self.words = pattern.split()
        self.is_exact = "*" not in pattern
        self.exact = wildcards_of(rule, pattern)
        unquoted = re.sub(r"['\"]", "", pattern)
        self.suspicions = self.exact + (wildcards_of(rule, unquoted) if unquoted else [])
        # Where it is not the same, no command has to be compared.
        self.first = "" if "*" in self.words[0] or "\\" in self.words[0] else self.words[0]
        # The words up to the first that may be anything, looked for in texts.
        literal: List[str] = []
        for word in re.sub(r":\*\Z", " *", unquoted).split():
            if not word.strip("*"):
                break
            literal.append(program_name(word) if not literal else word.lower())
        self.sequence = [Wildcards(word) for word in literal]
        self.names_program = names_program(literal)

    def matches(self, source: str) -> bool:
        """Whether it covers a command, as it is written."""
        if self.first and not source.startswith(self.first.partition(":")[0]):
            return False
        return any(each.matches(source) for each in self.exact)

    def may_be(self, words: Sequence[str]) -> bool:
        """Whether a command, its quotes removed, may be what is meant."""
        name = program_name(words[0])
        firsts = {words[0], words[0].rpartition("/")[2], name}
        forms = [(first, *words[1:]) for first in firsts]
        if name.startswith("git-"):
            forms.append(("git", name[4:], *words[1:]))
        return any(each.may_match(form) for each in self.suspicions for form in forms)

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


def wildcards_of(rule: str, pattern: str) -> List[Wildcards]:
    """The patterns of a rule for commands: the exact one, and those that it abbreviates."""
    prefix = pattern[:-2].rstrip() if pattern.endswith(":*") else None
    if prefix is None and pattern.endswith(" *") and pattern.count("*") == 1:
        prefix = pattern[:-2].rstrip()  # the CLI, too, takes the arguments as optional
    if prefix is None:
        return [Wildcards(pattern)]
    if not prefix:
        raise UsageError(
            f"the rule {rule!r} names no command before its wildcard. Write the tool's name "
            "alone to match every use of it."
        )
    return [Wildcards(prefix), Wildcards(prefix + " *")]


def program_name(word: str) -> str:
    """A program's name without its folder, as a file system that ignores case finds it."""
    name = word.rpartition("/")[2].rpartition("\\")[2].lower()
    return name[:-4] if name.endswith(".exe") else name


def names_program(words: Sequence[str]) -> bool:
    """Whether the beginning of a rule about a runner says which program it runs."""
    name = words[0] if words else ""
    harmless = SHELL_OPTION if name in SHELLS else XARGS_OPTION
    operands = OPERANDS.get(name, 0)
    after_option = False
    for word in words[1:]:
        if word.startswith("-"):
            after_option = not harmless.fullmatch(word)
        elif after_option or ASSIGNED.match(word) or OPERAND.fullmatch(word):
            after_option = False
        elif operands:
            operands -= 1
        else:
            return True
    return False


def is_computed(word: str) -> bool:
    """Whether only the running shell knows a word, or a part of it."""
    return not MARKS.isdisjoint(word)


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
    if any(map(may_be_option, words[1:])):
        return None
    found = [at for at, word in enumerate(words) if at and pattern.fullmatch(word)]
    if name == "sed":
        scripts = [at + 1 for at, word in enumerate(words[:-1]) if word == "-e"]
        if not scripts:
            scripts = [at for at, word in enumerate(words) if at and not word.startswith("-")][:1]
        found += [at for at in scripts if not SED_SCRIPT.fullmatch(words[at])]
    if name in MANAGERS:
        subcommands = [at for at, word in enumerate(words) if at and not word.startswith("-")][:2]
        found = [at for at in found if at in subcommands]
    elif name in ("tar", "gtar"):
        # Only the first word is a bundle of options without a hyphen.
        found = [at for at in found if at == 1 or words[at].startswith("-")]
        if words[1:] and not re.match(r"-|[A-Za-z]+\Z", words[1]):
            found = [at for at in found if at > 1]
    return found


def may_be_option(word: str) -> bool:
    """Whether a word, or a part of it, may turn out to be any option."""
    if MANY in word or word[:1] in MARKS:
        return True
    return word.startswith("-") and is_computed(word.partition("=")[0])


def git_running_words(words: Sequence[str]) -> Optional[List[int]]:
    """The same for git: its subcommand, if it is not a known one, and options."""
    found: List[int] = []
    at = 1
    while at < len(words) and words[at].startswith("-") and words[at] not in GIT_ALONE:
        if words[at] not in GIT_FIRST_OPTIONS:
            found.append(at)
            at += words[at] in ("-C", "-c", "--git-dir", "--work-tree", "--namespace")
        at += 1
    if at >= len(words):
        return found
    subcommand = words[at]
    if subcommand not in GIT_COMMANDS | GIT_ALONE:
        found.append(at)
    short = GIT_SHORT_OPTIONS.get(subcommand, "")
    is_value = False
    for place, word in enumerate(words[at + 1 :], at + 1):
        if MANY in word:
            return None
        if is_value:
            is_value = False
            continue
        if word == "--":
            break
        if may_be_option(word):
            return None
        is_value = subcommand in ("commit", "tag") and word in ("-m", "-am", "--message")
        option = word[2:].partition("=")[0]
        if word.startswith("--"):
            if option and any(each.startswith(option) for each in GIT_RUNNING_OPTIONS):
                found.append(place)
        elif "::" in word or (short and re.match(rf"-[A-Za-z]*[{short}]", word)):
            found.append(place)
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
        if not SAFE_VARIABLES.fullmatch(name) or any(SUBSCRIPT.search(w.value) for w in words):
            return False
    return all(is_covered(command, patterns) for command in line.commands)


def is_covered(command: Command, patterns: Sequence[CommandPattern]) -> bool:
    """Whether one command is covered, its redirections and assignments included."""
    for operator, target in command.redirections:
        harmless = operator in (">&", "<<") or target.source == "/dev/null"
        if not harmless and not (operator == "<" and PLAIN_FILE.fullmatch(target.source)):
            return False
    if not all(is_safe_assignment(word.source) for word in command.assignments):
        return False
    if not command.words:
        return bool(command.assignments) or command.is_closed or command.after_both
    if command.after_both:
        return False  # one command to bash, and two to others
    sources = [word.source for word in command.words]
    return words_covered(sources, command.values(), patterns)


def is_safe_assignment(source: str) -> bool:
    """Whether an assignment changes nothing that matters."""
    name, _, value = source.partition("=")
    return bool(SAFE_VARIABLES.fullmatch(name) and SAFE_VALUE.fullmatch(value))


def words_covered(
    sources: Sequence[str], words: Sequence[str], patterns: Sequence[CommandPattern]
) -> bool:
    """Whether a pattern covers these words, or those of the program that they run."""
    if not PLAIN_COMMAND.fullmatch(sources[0]) or sources[0] in RESERVED_WORDS:
        return False
    source = " ".join(sources)
    if any(each.matches(source) and does_only(each, words) for each in patterns):
        return True
    start = peeled(words)
    if not start or start >= len(words):
        return False
    if words[0] == "xargs":
        # Whatever it reads is added, so that an exact rule is not enough.
        sources, words = [*sources, MANY], [*words, MANY]
        patterns = [each for each in patterns if not each.is_exact]
    return words_covered(sources[start:], words[start:], patterns)


def peeled(words: Sequence[str]) -> int:
    """Where the program begins that a harmless runner runs; 0 if there is none."""
    at = 1
    if words[0] == "xargs":
        while at < len(words) and (words[at] in XARGS_PAIR or XARGS_OPTION.fullmatch(words[at])):
            is_pair = words[at] in XARGS_PAIR
            if is_pair and not re.fullmatch(r"[0-9]+", "".join(words[at + 1 : at + 2])):
                return 0
            at += 1 + is_pair
        return at
    if words[0] not in PEELED:
        return 0
    if words[0] == "nice" and words[1:2] == ["-n"]:
        return 3 if re.fullmatch(r"-?[0-9]+", "".join(words[2:3])) else 0
    operand = PEELED[words[0]]
    if operand is not None:
        return 2 if operand.fullmatch("".join(words[1:2])) else 0
    return 1


def does_only(pattern: CommandPattern, words: Sequence[str]) -> bool:
    """Whether a command that a pattern covers does what the pattern says, and no more."""
    if pattern.is_exact:
        return True
    name = program_name(words[0])
    if name in EXACT_ONLY:
        return False
    if name in NOT_BY_WILDCARD and not looks_up(words):
        return pattern.names_program and name not in TAKERS
    if name in ("test", "["):
        return is_safe_test(words[1:])
    if name == "printf":
        return is_safe_printf(words[1:])
    if name == "read":
        return all(w in ("-r", "-e") or SAFE_VARIABLES.fullmatch(w) for w in words[1:])
    if name == "export":
        return all(is_safe_assignment(word) for word in words[1:])
    found = running_words(name, words)
    return found is not None and stand_in_rule(found, words, pattern.words)


def stand_in_rule(found: Sequence[int], words: Sequence[str], rule: Sequence[str]) -> bool:
    """Whether the running words of a command stand in the rule, with what follows them."""
    free = list(range(len(rule)))
    for at in found:
        following = "".join(words[at + 1 : at + 2])
        place = next(
            (
                each
                for each in free
                if rule[each] == words[at]
                and all(Wildcards(word).matches(following) for word in rule[each + 1 : each + 2])
            ),
            None,
        )
        if place is None:
            return False
        free.remove(place)
    return True


def looks_up(words: Sequence[str]) -> bool:
    """Whether a command only tells where a program is."""
    return words[0] == "command" and words[1:2] in (["-v"], ["-V"])


def is_safe_test(words: Sequence[str]) -> bool:
    """Whether ``test`` evaluates none of its words."""
    words = [word for word in words if word != "]"]
    if all(PLAIN_OPERAND.fullmatch(word) for word in words):
        return True
    if words[0] == "!":
        words = words[1:]
    # Unquoted, a variable may be several words, and one of them an operator.
    if any(SUBSCRIPT.search(word) or not MARKS.isdisjoint(word.replace(ONE, "")) for word in words):
        return False
    if len(words) == 2:
        return bool(TESTING.fullmatch(words[0]))
    return len(words) == 1 or (len(words) == 3 and words[1] in ("=", "==", "!="))


def is_safe_printf(words: Sequence[str]) -> bool:
    """Whether ``printf`` prints, and evaluates none of its words."""
    if not words or words[0].startswith("-") or is_computed(words[0]):
        return False
    if any(SUBSCRIPT.search(word) for word in words):
        return False
    letters = re.findall(r"%[-0-9.# +]*(.?)", words[0])
    return set(letters) <= set("sbc%") or all(PLAIN_OPERAND.fullmatch(w) for w in words[1:])


# The generous judgement.


class Suspects:
    """What a line may run: commands, and texts in which a program may be named."""

    def __init__(self) -> None:
        # Dicts for their order and for their uniqueness.
        self.commands: Dict[Tuple[str, ...], None] = {}
        self.texts: Dict[str, None] = {}
        self.scripts: Set[str] = set()
        self.followed: Set[Tuple[str, ...]] = set()
        self.written: Set[str] = set()

    def add_script(self, text: str, depth: int) -> None:
        """Everything that a text runs when a shell reads it; raises where that is unknown."""
        if text in self.scripts:
            return
        self.scripts.add(text)
        line = read(text, depth)
        for command in line.commands:
            for operator, target in command.redirections:
                if operator in (">", ">>") and target.source != "/dev/null":
                    self.written.add(target.value.rpartition("/")[2])
        self.add_texts(text, line)
        for command in line.commands:
            words = command.values()
            for word in command.assignments:
                if STARTUP_FILES.match(word.value) or SUBSTITUTION.search(word.value):
                    raise Unreadable
            if words[:1] == ["alias"] and len(line.commands) > 1 and "=" in " ".join(words):
                raise Unreadable
            if words:
                self.add_command(words, command, depth)

    def add_texts(self, text: str, line: Line) -> None:
        """The texts of a line in which the name of a program counts."""
        for added in line.texts:
            self.texts[added] = None
        for _, loop_words in line.loops:
            self.texts[" ".join(word.value for word in loop_words)] = None
        for command in line.commands:
            for word in command.assignments:
                self.texts[word.value] = None
        harmless = all(is_data(command) for command in line.commands if command.words)
        if harmless and len(line.commands) > 1 and self.written:
            harmless = False
        if harmless and not FATEFUL.search(text):
            return
        for command in line.commands:
            if not is_data(command) or not harmless:
                words = [*command.assignments, *command.words]
                targets = [target.value for _, target in command.redirections]
                self.texts[" ".join([*(w.value for w in words), *targets])] = None
                self.texts[" ".join(word.source for word in words)] = None
                self.texts.update(dict.fromkeys(command.inputs))

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
        if name in NEVER or words[0].rpartition("/")[2] in self.written:
            raise Unreadable
        evaluates = name in EVALUATING or name.startswith("-")
        if evaluates and any(SUBSTITUTION.search(word) for word in words):
            raise Unreadable
        if INTERPRETERS.fullmatch(name):
            check_code(name, words, inputs)
        if name in SHELLS:
            self.add_shell(words, command, depth)
        elif words[0] in SOURCES:
            self.check_file(words[1] if len(words) > 1 else "-")
        if name in TAKERS:
            self.add_arguments(words, depth)
        if name in ("env", "genv") and any(re.match(r"-[^u]*S|--s", word) for word in words):
            raise Unreadable
        if name in RUNNERS:
            self.add_runner(name, words, depth)
        if name in FOLLOWED:
            for at, word in enumerate(words[:-1]):
                if RUNNING_OPTION.fullmatch(word):
                    program = [each.replace("{}", MANY) for each in words[at + 1 :]]
                    self.add_command(program, None, depth)

    def add_runner(self, name: str, words: List[str], depth: int) -> None:
        """The program that another one runs: each of the words is tried."""
        if len(words) > MOST_WORDS_OF_A_RUNNER:
            raise Unreadable
        if name in READERS_OF_ARGUMENTS:
            words = arguments_read(words)
        operands = OPERANDS.get(name, 0)
        is_certain = after_option = False
        for at, word in enumerate(words[1:], 1):
            if word.startswith("-"):
                after_option = not (name == "xargs" and XARGS_OPTION.fullmatch(word))
                continue
            if ASSIGNED.match(word):
                if STARTUP_FILES.match(word):
                    raise Unreadable
            elif is_certain:
                if PLAIN_COMMAND.fullmatch(word):
                    self.commands[tuple(words[at:])] = None
            elif PLAIN_COMMAND.fullmatch(word) and not OPERAND.fullmatch(word):
                if operands and not after_option:
                    operands -= 1
                    self.commands[tuple(words[at:])] = None
                else:
                    self.add_command(words[at:], None, depth)
                    is_certain = not after_option and name not in UNCERTAIN
            elif operands and not after_option:
                operands -= 1
            elif is_computed(word):
                raise Unreadable
            after_option = False

    def add_shell(self, words: List[str], command: Optional[Command], depth: int) -> None:
        """What a shell reads: its argument, its input, or a file."""
        at = 1
        while at < len(words) and words[at][:1] in ("-", "+"):
            option = words[at]
            at += 1
            if re.fullmatch(r"-[A-Za-z]*c|--command", option):
                if at >= len(words) or words[at][:1] in ("-", "+") or "o" in option[:-1]:
                    raise Unreadable
                return self.add_script(words[at], depth + 1)
            if re.fullmatch(r"[-+][A-Za-z]*[oO]", option):
                if not re.fullmatch(r"[a-z]+", "".join(words[at : at + 1])):
                    raise Unreadable
                at += 1
            elif option in ("--version", "--help"):
                return None
            elif not SHELL_OPTION.fullmatch(option):
                raise Unreadable
        if at < len(words):
            return self.check_file(words[at])
        reads_file = command is None or any(operator == "<" for operator, _ in command.redirections)
        if command is None or not command.inputs or reads_file:
            raise Unreadable  # who knows what it reads
        for text in command.inputs:
            self.add_script(text, depth + 1)
        return None

    def check_file(self, path: str) -> None:
        """Raise unless a script is a file that was there before."""
        last = path.rpartition("/")[2]
        is_stream = (
            last in ("", "-", "stdin") or last.isdigit() or {"dev", "proc"} & set(path.split("/"))
        )
        if (
            is_computed(path)
            or is_stream
            or last in self.written
            or MARKS & set("".join(self.written))
        ):
            raise Unreadable

    def add_arguments(self, words: List[str], depth: int) -> None:
        """Arguments that are read as scripts, each and all together."""
        for text in dict.fromkeys([*words[1:], " ".join(words[1:])]):
            stripped = text.partition("=")[2].strip("'\"") if ASSIGNED.match(text) else text
            if stripped and not stripped.startswith("-"):
                self.add_script(stripped, depth + 1)


def is_data(command: Command) -> bool:
    """Whether a command only handles text, and can neither be made to run nor to write."""
    if not command.words or not PLAIN_COMMAND.fullmatch(command.words[0].value):
        return False
    words = command.values()
    name = program_name(words[0])
    if name not in DATA_PROGRAMS or "/" in words[0]:
        return False
    if name in EVALUATING and (words[1:2] == ["-v"] or any(map(SUBSTITUTION.search, words))):
        return False
    return running_words(name, words) == []


def check_code(name: str, words: Sequence[str], inputs: Sequence[str]) -> None:
    """Raise for code in another language that runs programs."""
    at = next((i for i, word in enumerate(words) if i and CODE_OPTION.fullmatch(word)), len(words))
    code = words[1:] if name.endswith("awk") else words[at:]
    if any(RUNNING_CODE.search(text) for text in (*code, *inputs)):
        raise Unreadable


def arguments_read(words: List[str]) -> List[str]:
    """The words of xargs and its like, with what they will read at the end and in its place."""
    tokens = ["{}"]
    for at, word in enumerate(words):
        if re.match(r"-[IiJ]|--replace", word):
            joined = word[2:] if word[1] != "-" else word.partition("=")[2]
            token = joined or "".join(words[at + 1 : at + 2]) if word[1] != "i" else joined
            if re.search(r"\w", token):
                raise Unreadable
            tokens.append(token)
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
