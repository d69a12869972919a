"""
The environment the CLI gets: that of the program, cleaned, plus what is ours.

A program may itself run inside a Claude Code session, say in its Bash tool or
as a hook. What that session put into the environment would make the new CLI
believe it is part of the old one, so it is not passed on.
"""

from __future__ import annotations

from typing import Dict, Mapping, Optional

# Set by a Claude Code session for its children; each describes that session.
NESTED_SESSION_VARIABLES = (
    "CLAUDECODE",
    "CLAUDE_CODE_BRIDGE_SESSION_ID",
    "CLAUDE_CODE_CHILD_SESSION",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_EXECPATH",
    "CLAUDE_CODE_HOST_SESSION_ID",
    "CLAUDE_CODE_PARENT_SESSION_ID",
    "CLAUDE_CODE_RESUME_FROM_SESSION",
    "CLAUDE_CODE_SDK_READS_SESSION_STATE",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_SESSION_KIND",
    "CLAUDE_CODE_SESSION_LOG",
    "CLAUDE_CODE_SESSION_NAME",
    "CLAUDE_CODE_SSE_PORT",
    "CLAUDE_ENV_FILE",
    "CLAUDE_PROJECT_DIR",
)
NESTED_SESSION_PREFIXES = ("CLAUDE_AGENT_SDK_",)

SESSION_STATE_EVENTS = "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS"


def child_environment(
    inherited: Mapping[str, str],
    changes: Mapping[str, Optional[str]],
    *,
    cwd: Optional[str],
    variables: Mapping[str, str],
    windows: bool,
) -> Dict[str, str]:
    """
    The complete environment of the CLI.

    *variables* are options that the CLI reads as variables. *changes* is the caller's
    ``env=``: it wins over everything else, and a value of None removes a variable.
    """
    environment = {
        name: value for name, value in inherited.items() if not belongs_to_a_session(name)
    }
    # Tells the service what kind of program is asking.
    environment["CLAUDE_CODE_ENTRYPOINT"] = "sdk-py"
    # Without it nobody can know when a turn that the CLI began by itself is over.
    environment.setdefault(SESSION_STATE_EVENTS, "1")
    environment.update(variables)
    if cwd is not None:
        # Shells trust PWD over the real folder, and it still names ours.
        environment["PWD"] = cwd
    for name, value in changes.items():
        if windows:  # names differ in case only there, and the last one must win
            for same in [known for known in environment if known.upper() == name.upper()]:
                del environment[same]
        if value is None:
            environment.pop(name, None)
        else:
            environment[name] = value
    return environment


def belongs_to_a_session(name: str) -> bool:
    """Whether *name* describes the session this program runs in."""
    return name in NESTED_SESSION_VARIABLES or name.startswith(NESTED_SESSION_PREFIXES)


def variable(environment: Mapping[str, str], name: str, windows: bool) -> Optional[str]:
    """The value of *name*, or None if it is missing or empty; case counts on POSIX only."""
    value = environment.get(name)
    if value is None and windows:
        for known, content in environment.items():
            if known.upper() == name.upper():
                value = content
    return value or None
