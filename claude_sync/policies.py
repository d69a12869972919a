"""
Ready-made answers to permission requests.

A policy is a function that takes a ``PermissionRequest`` and returns a decision,
or None: not decided, ask the next one. Pass one to ``Client(permissions=...)``,
register it with ``client.on_permission``, or put several into ``first_of``::

    policy = policies.first_of(
        policies.deny_tools("Read(.env)", "Bash(rm *)"),
        policies.allow_tools("Read", "Edit(src/**)", "Bash(git *)"),
        policies.ask_on_terminal,
    )

The first that decides wins, so what is denied comes first. How rules are written
is told in ``claude_sync.rules``.

The CLI asks only about what its own settings and mode leave open: a policy cannot
deny what was never asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable, Mapping, Optional

from .errors import UsageError
from .rules import ToolUse, allowed_by, parse_rules
from .terminal import ask_on_terminal

if TYPE_CHECKING:
    from .permissions import Decision, PermissionRequest

    Policy = Callable[[PermissionRequest], Optional[Decision]]

__all__ = [
    "allow_all",
    "allow_tools",
    "ask_on_terminal",
    "deny_all",
    "deny_tools",
    "first_of",
    "read_only",
]

# It wants an answer, and a yes is none.
QUESTION = "AskUserQuestion"

# They read files of this machine, or keep Claude's own list of things to do.
READING_TOOLS = frozenset(("Read", "Glob", "Grep", "LS", "NotebookRead", "TodoRead", "TodoWrite"))


def allow_all(request: PermissionRequest) -> Optional[Decision]:
    """Allow every tool. A question for the user stays open: it needs an answer, not a yes."""
    return None if request.tool == QUESTION else request.allow()


def deny_all(request: PermissionRequest) -> Optional[Decision]:
    """Deny every tool, questions for the user included."""
    return request.deny(
        f"This session may not use {request.tool}, nor any other tool that needs permission. "
        "Do not try another one: answer from what you know already, and say what you could "
        "not check."
    )


def read_only(request: PermissionRequest) -> Optional[Decision]:
    """
    Allow the tools that read files and search in them; deny all others.

    Denied is whatever is not known to only read: tools that write, commands
    (even those that would only read), the network, and tools of MCP servers. A
    question for the user stays open.
    """
    if request.tool == QUESTION:
        return None
    if request.tool in READING_TOOLS:
        return request.allow()
    return request.deny(
        f"This session only reads, so {request.tool} is not available. Use Read, Grep and Glob "
        "to look at files; where something should be changed or run, describe the change or "
        "the command in your answer instead."
    )


def allow_tools(*rules: str) -> Policy:
    """
    A policy that allows what the rules cover, and decides nothing else.

    A shell command is allowed if it consists of simple commands, each of which is
    covered by one of the rules: with ``"Bash(git *)"`` not ``git log; rm x``,
    ``git log $(rm x)`` or ``git log > x``, nor anything that is not completely
    understood. Paths are resolved before they are compared.

    A rule is about a command and not about what the command does:
    ``"Bash(git *)"`` covers all arguments of git, those included that make it run
    another program (``git -c core.pager=...``), and ``"Bash(find *)"`` covers
    ``find -exec``. Nor is a path in a command resolved: ``"Bash(cat src/*)"`` covers
    ``cat src/../../etc/passwd``, and ``"Bash(git*)"`` covers ``git-evil``, for want of
    a blank before the wildcard. The plain name of a program is what the shell makes of it,
    with the user's own aliases and PATH.

    A question for the user (``AskUserQuestion``) is never decided by a rule.
    """
    parsed = parse_rules("allow_tools", rules)

    def policy(request: PermissionRequest) -> Optional[Decision]:
        if request.tool == QUESTION:
            return None
        if allowed_by(parsed, use_of(request)):
            return request.allow()
        return None

    return policy


def deny_tools(*rules: str) -> Policy:
    """
    A policy that denies what the rules may mean, and decides nothing else.

    A shell command is denied if any part of it could be what a rule names: inside
    a substitution, behind ``sudo``, ``env`` or ``xargs``, in other quotes, with a
    variable in its place; and if it cannot be understood at all. Options before a
    subcommand make no difference: ``"Bash(git push *)"`` denies ``git -C . push``.
    A path is denied as it is written or as it resolves.

    Such a rule stops what is written openly. It cannot know what a script, a
    makefile or ``python -c`` will do, and a rule about Read says nothing about
    ``cat``. To be safe allow what is needed instead.
    """
    parsed = parse_rules("deny_tools", rules)

    def policy(request: PermissionRequest) -> Optional[Decision]:
        for rule in parsed:
            if rule.may_match(use_of(request)):
                return request.deny(
                    f"This is, or could be, what the rule {rule.text!r} of this session forbids. "
                    "Do not try to do the same in another way: go on without it. If you meant "
                    "something else, use one simple command or a plain path that shows it."
                )
        return None

    return policy


def first_of(*policies: Policy) -> Policy:
    """A policy that asks others in turn; the first decision stands, and None asks the next."""
    if not policies:
        raise UsageError("first_of() needs a policy. Write for example first_of(deny_all).")
    for each in policies:
        if isinstance(each, (list, tuple)):
            raise UsageError(
                f"first_of() takes each policy by itself, not a {type(each).__name__} of them. "
                "Write first_of(a, b), or first_of(*policies) with a star."
            )
        if not callable(each):
            raise UsageError(
                f"first_of() takes policies, which are functions, not {type(each).__name__}. "
                "Put rules into allow_tools(...) or deny_tools(...)."
            )

    def policy(request: PermissionRequest) -> Optional[Decision]:
        for each in policies:
            decision = each(request)
            if decision is not None:
                return decision
        return None

    return policy


def use_of(request: PermissionRequest) -> ToolUse:
    """
    What the rules look at: the input that will be used, whatever was done to its copies.

    An input of another shape counts as none.
    """
    given = request.raw_input
    return ToolUse(request.tool, dict(given) if isinstance(given, Mapping) else {}, request.cwd)
