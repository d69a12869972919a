"""
One permission rule: its text, and what it matches.

Rules are written as in the CLI's own settings::

    Read                        every use of a tool
    Bash(git status)            one command, exactly
    Bash(git diff *)            a wildcard stands for any text, blanks included
    Bash(npm run test:*)        the command itself, or with anything behind a space
    Edit(src/**)                files, see ``paths``
    WebFetch(domain:docs.org)   one host; ``*.docs.org`` for those below it
    Agent(Explore)              one kind of subagent; Skill(name) likewise
    mcp__server                 every tool of a server, also ``mcp__server__*``
    mcp__server__tool           one of them

A rule for a command is a text and knows nothing of what the text means: ``Bash(cat
src/*)`` also covers ``cat src/../../etc/passwd``, and ``Bash(git*)`` also covers
``git-evil``. ``Bash(git push *)`` allows ``git push x`` alone; it denies
``git -C . push x`` as well, since options before a subcommand change little.

A rule for Edit also covers Write, MultiEdit and NotebookEdit, and one for Read
also covers Grep, Glob, LS and NotebookRead.

Each rule can be asked in two ways. ``allows`` is strict: every part of the request
is covered for certain. ``may_match`` is generous: some part of it could be meant.
"""

from __future__ import annotations

import re
import unicodedata
import warnings
from typing import Any, Dict, List, NamedTuple, Sequence
from urllib.parse import unquote

from ..errors import UsageError
from ..options.fields import KNOWN_TOOLS
from ..support.checks import nearest
from .commands import CommandPattern, covered, may_run, text_glob, text_globs
from .paths import FilePattern
from .shell import PLAIN_COMMAND, RESERVED_WORDS, Command, Unreadable, read

__all__ = ["Rule", "ToolUse", "allowed_by", "parse_rules"]

# A rule for the first also covers the others.
FAMILIES = {
    "Read": frozenset(("Read", "Grep", "Glob", "LS", "NotebookRead")),
    "Edit": frozenset(("Edit", "Write", "MultiEdit", "NotebookEdit")),
}
# The same tool under the names that it had.
RENAMED = (
    frozenset(("Agent", "Task")),
    frozenset(("KillBash", "KillShell", "TaskStop")),
    frozenset(("AgentOutputTool", "BashOutput", "TaskOutput")),
    frozenset(("Skill", "SlashCommand")),
)
FILE_TOOLS = frozenset().union(*FAMILIES.values())
# Tools that run a command line as well. A rule that denies Bash must not be evaded through
# them; one that allows Bash says nothing about what else they do.
ALSO_SHELLS = frozenset(("Bash", "Monitor"))
NAME_KEYS = {
    **dict.fromkeys(("Agent", "Task"), ("subagent_type",)),
    **dict.fromkeys(("Skill", "SlashCommand"), ("skill", "command")),
}
# What JavaScript trims.
BLANKS = "\t\n\v\f\r \xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
BLANKS += "\u2028\u2029\u202f\u205f\u3000\ufeff"

TOOL_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*", re.ASCII)
SERVER_RULE = re.compile(r"mcp__[A-Za-z0-9_.-]+(?:__[A-Za-z0-9_.*-]+)?", re.ASCII)
DOMAIN = re.compile(r"(?:\*\.)?[a-z0-9-]+(?:\.[a-z0-9-]+)*", re.ASCII)
# Nothing that two readers of addresses could take for two different hosts.
PLAIN_ADDRESS = re.compile(r"https?://([A-Za-z0-9.-]+)(?::[0-9]+)?(?:[/?#][!-\[\]-~]*)?", re.ASCII)
ANY_ADDRESS = re.compile(r"[A-Za-z]+:/*(?:[^/?#]*@)?(\[[^\]]*\]|[^/?#:]*)", re.ASCII)


class ToolUse(NamedTuple):
    """A tool with its input, and the folder in which the CLI runs."""

    tool: str
    given: Dict[str, Any]
    cwd: str


class Rule:
    """
    One rule, ready to be asked.

    Attributes:
        text: The rule as it was written.
        tool: The name before the parentheses.

    """

    def __init__(self, text: str, tool: str) -> None:
        self.text = text
        self.tool = tool

    def __repr__(self) -> str:
        return f"Rule({self.text!r})"

    def covers(self, tool: str) -> bool:
        """Whether the rule is about this tool at all."""
        names = next((names for names in RENAMED if self.tool in names), (self.tool,))
        return tool in FAMILIES.get(self.tool, names)

    def may_cover(self, tool: str) -> bool:
        """Whether the rule is about this tool, or about one that can do the same."""
        return self.covers(tool) or (self.tool == "Bash" and tool in ALSO_SHELLS)

    def allows(self, use: ToolUse) -> bool:
        """Whether the rule covers this use of a tool, all of it and for certain."""
        return self.covers(use.tool) and self.covers_input(use)

    def may_match(self, use: ToolUse) -> bool:
        """Whether the rule could mean this use of a tool, or some part of it."""
        return self.may_cover(use.tool) and self.may_mean_input(use)

    def covers_input(self, use: ToolUse) -> bool:  # noqa: ARG002
        """Whether the input of a tool that it is about is covered."""
        return True

    def may_mean_input(self, use: ToolUse) -> bool:  # noqa: ARG002
        """Whether the input of a tool that it is about could be meant."""
        return True


class ServerRule(Rule):
    """
    Tools of an MCP server: one, all, or those whose names match.

    The CLI writes a name with an underscore for each character that a tool cannot have:
    ``mcp__my.server`` is ``mcp__my_server``. Names of servers and tools may hold the separator
    themselves, so that a name can be read in several ways. Where that is so, nothing is allowed.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text, re.sub(r"[^A-Za-z0-9_*-]", "_", text))
        parts, _, last = self.tool.rpartition("__")
        by_name = "*" in last
        self.prefix = (parts if by_name else self.tool) + "__"
        self.name = text_glob(last if by_name else "*")
        # One tool; else it names a server.
        self.single = not by_name and parts != "mcp"

    def covers(self, tool: str) -> bool:
        if self.single:
            return tool == self.tool
        name = tool[len(self.prefix) :]
        return self.may_cover(tool) and "__" not in name and not name.startswith("_")

    def may_cover(self, tool: str) -> bool:
        if tool == self.tool:
            return True
        return tool.startswith(self.prefix) and self.name.matches(tool[len(self.prefix) :])


class FileRule(Rule):
    """The files of a pattern."""

    def __init__(self, text: str, tool: str, pattern: str) -> None:
        super().__init__(text, tool)
        self.pattern = FilePattern(pattern)

    def covers_input(self, use: ToolUse) -> bool:
        return self.pattern.allows(use.tool, use.given, use.cwd)

    def may_mean_input(self, use: ToolUse) -> bool:
        return self.pattern.may_match(use.tool, use.given, use.cwd)


class DomainRule(Rule):
    """The addresses of a host, or of those below it."""

    def __init__(self, text: str, tool: str, pattern: str) -> None:
        super().__init__(text, tool)
        kind, _, domain = pattern.partition(":")
        self.domain = domain.strip().lower()
        if kind != "domain" or not DOMAIN.fullmatch(self.domain):
            raise UsageError(
                f"the rule {text!r} names no host. Write it as 'WebFetch(domain:example.com)'."
            )

    def names(self, host: str) -> bool:
        """Whether a host is the one."""
        if self.domain.startswith("*."):
            return host.endswith(self.domain[1:])
        return host == self.domain

    def covers_input(self, use: ToolUse) -> bool:
        address = use.given.get("url")
        found = PLAIN_ADDRESS.fullmatch(address) if isinstance(address, str) else None
        return found is not None and self.names(found.group(1).lower())

    def may_mean_input(self, use: ToolUse) -> bool:
        address = use.given.get("url")
        if not isinstance(address, str):
            return True
        # As browsers read it: blanks dropped, backslashes turned, wide characters narrowed.
        address = unicodedata.normalize("NFKC", re.sub(r"[\t\r\n]", "", address)).strip()
        found = ANY_ADDRESS.match(address.replace("\\", "/"))
        if found is None:
            return True
        host = unicodedata.normalize("NFKC", unquote(found.group(1))).replace("\u3002", ".")
        return not host.isascii() or self.names(host.lower().strip("."))


class NameRule(Rule):
    """Subagents or skills of one name."""

    def __init__(self, text: str, tool: str, pattern: str) -> None:
        super().__init__(text, tool)
        self.keys = NAME_KEYS[tool]
        self.patterns = text_globs(text, pattern)
        self.suspicions = text_globs(text, pattern.casefold())

    def covers_input(self, use: ToolUse) -> bool:
        values = self.values(use)
        return bool(values) and all(
            isinstance(value, str) and any(each.matches(value) for each in self.patterns)
            for value in values
        )

    def may_mean_input(self, use: ToolUse) -> bool:
        return not self.values(use) or any(
            not isinstance(value, str) or self.may_be(value.casefold().strip(f"/{BLANKS}"))
            for value in self.values(use)
        )

    def may_be(self, name: str) -> bool:
        """Whether a name, perhaps with arguments behind it, may be what is meant."""
        forms = (name, *name.split(None, 1)[:1])
        return any(each.matches(form) for each in self.suspicions for form in forms)

    def values(self, use: ToolUse) -> List[Any]:
        """The names in an input."""
        return [use.given[key] for key in self.keys if key in use.given]


class CommandRule(Rule):
    """Shell commands; ``allowed_by`` asks several such rules about the parts of one line."""

    def __init__(self, text: str, tool: str, pattern: str) -> None:
        super().__init__(text, tool)
        self.pattern = CommandPattern(text, pattern)

    def covers_input(self, use: ToolUse) -> bool:
        return commands_allowed([self], use.given)

    def may_mean_input(self, use: ToolUse) -> bool:
        line = use.given.get("command")
        return not isinstance(line, str) or may_run(line, self.pattern)


def commands_allowed(rules: Sequence[CommandRule], given: Dict[str, Any]) -> bool:
    """Whether each simple command of a line is covered by some rule."""
    line = given.get("command")
    if not isinstance(line, str) or given.get("dangerouslyDisableSandbox"):
        return False  # who named a command did not agree to run it without the sandbox
    return covered(line, [rule.pattern for rule in rules])


def allowed_by(rules: Sequence[Rule], use: ToolUse) -> bool:
    """Whether the rules together cover this use of a tool, all of it and for certain."""
    about = [rule for rule in rules if rule.covers(use.tool)]
    for_commands = [rule for rule in about if isinstance(rule, CommandRule)]
    return any(rule.allows(use) for rule in about) or (
        len(for_commands) > 1 and commands_allowed(for_commands, use.given)
    )


def parse_rules(function: str, texts: Sequence[Any]) -> List[Rule]:
    """The rules that were passed to *function*; raises ``UsageError`` where one is wrong."""
    if not texts:
        raise UsageError(f"{function}() needs a rule. Write for example {function}('Read').")
    rules = []
    for text in texts:  # in this function itself: a warning counts the calls up to the user's
        rule = parse_rule(text)
        if function == "allow_tools" and isinstance(rule, CommandRule):
            check_simple(rule.text)
        rules.append(rule)
    return rules


def parse_rule(text: Any) -> Rule:
    """One rule; raises ``UsageError`` where it is wrong."""
    if not isinstance(text, str):
        raise UsageError(
            f"a rule is a text such as 'Read' or 'Bash(git diff *)', not {type(text).__name__}. "
            "Pass several rules as several arguments, with a star before a list of them."
        )
    stripped = text.strip()
    tool, parenthesis, rest = stripped.partition("(")
    if SERVER_RULE.fullmatch(tool) and not parenthesis:
        return ServerRule(stripped)
    if not TOOL_NAME.fullmatch(tool):
        raise UsageError(
            f"{text!r} is not a rule: it does not begin with the name of a tool. Write for "
            "example 'Read', 'Bash(git diff *)' or 'mcp__server'; wildcards in names work only "
            "behind 'mcp__server__', and allow_all and deny_all are for everything."
        )
    check_name(text, tool)
    if not parenthesis:
        return Rule(stripped, tool)
    pattern = rest[:-1].strip()
    if not rest.endswith(")") or not pattern:
        raise UsageError(
            f"the parentheses of the rule {text!r} are empty or not closed. Write "
            f"'{tool}' for every use of the tool, or '{tool}(...)' with a pattern inside."
        )
    return parse_pattern(stripped, tool, pattern)


def parse_pattern(text: str, tool: str, pattern: str) -> Rule:
    """A rule with something in its parentheses."""
    if pattern == "*":
        return Rule(text, tool)
    if tool == "Bash":
        return CommandRule(text, tool, pattern)
    if tool in FILE_TOOLS:
        return FileRule(text, tool, pattern)
    if tool == "WebFetch":
        return DomainRule(text, tool, pattern)
    if tool in NAME_KEYS:
        return NameRule(text, tool, pattern)
    raise UsageError(
        f"the rule {text!r} cannot be checked: the library cannot distinguish uses of {tool}. "
        f"Write '{tool}' alone, or decide in a function of your own."
    )


def check_name(text: str, tool: str) -> None:
    """Refuse a known name in the wrong case, and warn of one that is nearly known."""
    for known in KNOWN_TOOLS:
        if tool.lower() == known.lower() and tool != known:
            raise UsageError(f"the rule {text!r} names no tool. Write {known!r} instead.")
    near = "" if tool in KNOWN_TOOLS else nearest(tool, KNOWN_TOOLS, 0.75)
    if near and abs(len(near) - len(tool)) <= 1:
        warnings.warn(
            f"the rule {text!r} names an unknown tool; did you mean {near!r}?",
            stacklevel=5,  # whoever called allow_tools() or deny_tools()
        )


def check_simple(text: str) -> None:
    """Refuse an allow rule that no simple command can match."""
    pattern = text.partition("(")[2][:-1].strip()
    first = pattern.split()[0]
    try:
        commands = read(pattern.replace("*", "x")).commands
    except Unreadable:  # such as a quote whose end is somewhere in the wildcard
        commands = [Command()]
    is_simple = len(commands) == 1 and not (commands[0].redirections or commands[0].assignments)
    is_plain = "*" in first or (PLAIN_COMMAND.fullmatch(first) and first not in RESERVED_WORDS)
    if not is_simple or not is_plain:
        raise UsageError(
            f"the rule {text!r} can never allow anything: a line is split into simple commands, "
            "and each of them is compared without shell syntax, variables and redirections. Write "
            "a rule for each command, for example 'Bash(git log *)' and 'Bash(head)'."
        )
