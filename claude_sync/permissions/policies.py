"""
Ready-made answers to permission requests.

A policy is a function that takes a ``PermissionRequest`` and returns a decision, or None: ask the
next one. Pass one to ``Client(permissions=...)``, register it with ``client.on_permission``, or
combine several with ``first_of``::

    policy = policies.first_of(
        policies.deny_tools("Read(.env)", "Bash(rm *)"),
        policies.allow_tools("Read", "Edit(src/**)", "Bash(git diff *)"),
        policies.ask_on_terminal,
    )

The first that decides wins, so what is denied comes first. ``claude_sync.permissions.rules``
describes how rules are written.

The CLI asks only about what its own settings and mode leave open: a policy cannot deny what the
CLI does not ask.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, Callable, Mapping, Optional, overload

from ..errors import UsageError
from ..support.checks import check_path, refuse
from .paths import PATH_KEYS, FilePattern, slashed
from .rules import ToolUse, allowed_by, parse_rules
from .terminal import ask_on_terminal

if TYPE_CHECKING:
    from ..options.options import Options
    from .request import Decision, PermissionRequest

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

# It needs an answer; a yes is none.
QUESTION = "AskUserQuestion"

# The CLI allows everything, or denies what is not allowed, and asks about nothing.
MODES_WITHOUT_QUESTIONS = ("bypassPermissions", "dontAsk")

# They read files of this machine, or keep Claude's own list of things to do.
READING_TOOLS = frozenset(("Read", "Glob", "Grep", "LS", "NotebookRead", "TodoRead", "TodoWrite"))


def allow_all(request: PermissionRequest) -> Decision | None:
    """Allow every tool. It does not answer questions to the user, which need more than a yes."""
    return None if request.tool == QUESTION else request.allow()


def deny_all(request: PermissionRequest) -> Decision:
    """Deny every tool, questions for the user included."""
    return request.deny(
        f"Permission denied: this session may not use {request.tool}, nor any other tool that "
        "needs permission. Do not try another one: answer from what you know already, and say "
        "what you could not check."
    )


@overload
def read_only(request: PermissionRequest) -> Decision | None: ...


@overload
def read_only(*, inside: str | os.PathLike[str]) -> Policy: ...


def read_only(request: Any = None, *, inside: Any = None) -> Any:
    """
    Allow the tools that read files and search in them; deny all others.

    It denies every tool that might do more than read: tools that write, commands (even those
    that would only read), the network, and tools of MCP servers. It does not answer questions to
    the user. Without arguments, it allows reading **every file of the machine**.
    ``read_only(inside="docs")`` makes a policy that also denies reading outside of this folder,
    ``..`` and symbolic links included.
    """
    if inside is not None:
        return reading_inside(check_path("inside", inside))
    if request is None:
        raise UsageError(
            "read_only() needs the folder to read in. Write read_only(inside=path), or pass "
            "read_only itself, without parentheses."
        )
    return decide_reading(request, is_inside=True)


def reading_inside(folder: str | os.PathLike[str]) -> Policy:
    """The policy of ``read_only(inside=folder)``."""
    home = os.path.realpath(os.path.expanduser(folder))
    escaped = re.sub(r"([*?\[\\])", r"\\\1", slashed(home))
    pattern = FilePattern(f"/{escaped}/**")

    def policy(request: PermissionRequest) -> Decision | None:
        use = use_of(request)
        without_files = request.tool not in PATH_KEYS
        return decide_reading(request, without_files or pattern.allows(*use), home)

    return policy


def decide_reading(request: PermissionRequest, is_inside: bool, home: str = "") -> Decision | None:
    """Allow what reads, in the right place; deny the rest."""
    if request.tool == QUESTION:
        return None
    if request.tool in READING_TOOLS and is_inside:
        return request.allow()
    where = f" in {home}" if home else ""
    return request.deny(
        f"Permission denied: this session only reads files{where}. Use Read, Grep and Glob{where}; "
        "describe changes and commands in your answer instead of making them."
    )


def allow_tools(*rules: str) -> Policy:
    """
    A policy that allows what the rules cover, and leaves other requests undecided.

    It allows a command line if the rules cover every command in it, and if all shells parse it
    the same way: ``"Bash(git diff *)"`` does not allow ``git diff; rm x``, ``git diff $(rm x)``
    or ``git diff > x``. Arguments that make a program run another one must be in the rule itself:
    ``"Bash(find *)"`` does not cover ``find -exec``, nor ``"Bash(git *)"`` ``git -c``.

    A rule checks the text of a command, not what the command does. It does not resolve paths in a
    command: ``"Bash(cat src/*)"`` covers ``cat src/../../etc/passwd``; and without a space before
    the wildcard, ``"Bash(git*)"`` covers ``git-evil``. The shell decides which program a plain
    name runs, with the user's aliases and PATH. ``SECURITY.rst`` has the details.

    Rules never answer a question to the user (``AskUserQuestion``).
    """
    parsed = parse_rules("allow_tools", rules)

    def policy(request: PermissionRequest) -> Decision | None:
        is_allowed = request.tool != QUESTION and allowed_by(parsed, use_of(request))
        return request.allow() if is_allowed else None

    return policy


def deny_tools(*rules: str) -> Policy:
    """
    A policy that denies what the rules might cover, and leaves other requests undecided.

    It denies a command line if any part of it could be what a rule names: inside a substitution,
    behind ``sudo``, ``env`` or ``xargs``, in other quotes, with a variable in its place, or as an
    argument of a program that may run it. It also denies a line that shells could parse
    differently. Options before a subcommand make no difference: ``"Bash(git push *)"`` denies
    ``git -C . push``. It compares a path both as written and as resolved.

    Such a rule stops commands that are visible in the line. It cannot know what a script, a
    makefile or ``python -c`` will do, and a rule about Read does not stop ``cat``. To be safe,
    allow what Claude needs instead.
    """
    parsed = parse_rules("deny_tools", rules)

    def policy(request: PermissionRequest) -> Decision | None:
        use = use_of(request)
        denying = next((rule for rule in parsed if rule.may_match(use)), None)
        if denying is None:
            return None
        return request.deny(
            f"Permission denied: this is, or could be, what the rule {denying.text!r} of this "
            "session forbids. Do not try to do the same thing another way; continue without it. "
            "If you meant something else, use one simple command, or an absolute path."
        )

    return policy


def first_of(*policies: Policy) -> Policy:
    """A policy that asks others in turn and takes the first decision; None asks the next one."""
    if not policies:
        raise UsageError("first_of() needs a policy. Write for example first_of(deny_all).")
    for each in policies:
        if not callable(each):
            raise refuse(
                "each argument of first_of()",
                each,
                "a policy: a function, or a call such as allow_tools('Read'); write "
                "first_of(*policies) for a list of them",
            )

    def policy(request: PermissionRequest) -> Decision | None:
        decisions = (each(request) for each in policies)
        return next((decision for decision in decisions if decision is not None), None)

    return policy


def never_asks(options: Options) -> str:
    """
    Why the CLI will never ask a handler or a policy, in words; empty: it may ask.

    The engine warns with it once, when the CLI starts and somebody is registered to decide.
    """
    settings = options.settings if isinstance(options.settings, Mapping) else {}
    rules = settings.get("permissions")
    mode = rules.get("defaultMode") if isinstance(rules, Mapping) else None
    allowed = rules.get("allow") if isinstance(rules, Mapping) else None
    if "dangerously-skip-permissions" in (options.extra_args or {}):
        return "extra_args has dangerously-skip-permissions"
    if options.permission_mode in MODES_WITHOUT_QUESTIONS:
        return f"permission_mode is {options.permission_mode!r}"
    if options.permission_mode is None and mode in MODES_WITHOUT_QUESTIONS:
        return f"settings has the defaultMode {mode!r}"
    for name, tools in (("allowed_tools", options.allowed_tools), ("settings", allowed)):
        bare = {str(tool).strip().replace("(*)", "") for tool in tools or ()}
        if "Bash" in bare and not bare.isdisjoint(("Edit", "Write")):
            return f"{name} allows all commands and all edits"
    return ""


def use_of(request: PermissionRequest) -> ToolUse:
    """What rules look at: the input that will run, whatever a handler did to its copies."""
    return ToolUse(request.tool, dict(request.raw_input), request.cwd)
