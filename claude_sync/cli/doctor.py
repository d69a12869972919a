"""
``claude-sync doctor``: what a bug report needs, and what to do about what is wrong.

::

    examine() -> [Report] -> text

Nothing is asked, so nothing is spent: the CLI is only started. Decisions taken here
and nowhere else: what of an installation is told, and what is a secret of its owner.
Values of variables are never shown, e-mail addresses are shortened, and the home
folder is written as ``~``.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shlex
import subprocess
import sys
import time
from importlib import metadata
from typing import Any, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

from .._version import __version__
from ..client import Client
from ..engine.launch.discovery import Search, find_cli
from ..engine.launch.environment import belongs_to_a_session
from ..errors import UPDATE, ClaudeError, CliFailed, CliNotFound
from ..messages.events import Info
from ..support.redact import redact_text
from .common import FAILED, OK, advice_of, as_typed, cli_of, harmless

__all__ = ["DESCRIPTION", "EPILOG", "Report", "add_arguments", "examine", "run"]

DESCRIPTION = """\
Check everything that claude_sync needs, and say what is wrong and how to fix it. You can paste
the output into a bug report: it contains no keys and no addresses. The CLI is started but asked
nothing, so this costs nothing.
"""

EPILOG = """\
examples:
  claude-sync doctor
  claude-sync doctor --cli /opt/claude/bin/claude

exit codes:
  0    all is well
  1    something is not; the last lines tell what helps
  2    the command line was wrong
  130  interrupted by Ctrl-C
"""

Cli = Union[str, Sequence[str], None]

# How long a CLI may take to start or to tell its version; slow disks need a part of it.
START_PATIENCE = 60.0
VERSION_PATIENCE = 30.0

PACKAGES = ("ujson", "typing-extensions", "claude-agent-sdk")

VARIABLES = re.compile(
    r"CLAUDE.*|ANTHROPIC.*|AWS_(PROFILE|REGION|BEARER_TOKEN_BEDROCK)|CLOUD_ML_REGION"
    r"|(HTTPS?|NO|ALL)_PROXY|NODE_EXTRA_CA_CERTS|DISABLE_TELEMETRY",
    re.IGNORECASE,
)

# The login of a person, as accounts name it. What else they name is a key.
LOGIN = "claude.ai"
UNTRIED = " (not tried)"

E_MAIL = re.compile(r"([\w.+-])[\w.+-]*@([\w-])[\w.-]*")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What can be said on the command line, besides --cli and --offline."""
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="list every place where a CLI can be"
    )


def run(arguments: argparse.Namespace) -> int:
    """Do what *arguments* say; the exit code."""
    report = examine(cli_of(arguments), offline=arguments.offline, verbose=arguments.verbose)
    # The last words of a CLI may be in it.
    sys.stdout.write(harmless(report.text()) + "\n")
    return FAILED if report.problems else OK


class Report:
    """
    What was found, in sections of named lines, and the problems with their advice.

    Attributes:
        problems: What is wrong, each with what to do; empty if all is well.

    """

    def __init__(self) -> None:
        self.problems: List[str] = []
        self._sections: List[Tuple[str, List[Tuple[str, str]]]] = []

    def section(self, title: str) -> None:
        """Begin a section; lines are added to it."""
        self._sections.append((title, []))

    def tell(self, name: str, value: object) -> None:
        """Add a line, or several under one name."""
        self._sections[-1][1].append((name, str(value)))

    def text(self) -> str:
        """The report, without what is nobody's business."""
        lines = []
        for title, told in self._sections:
            lines.append(f"{title}:")
            for name, value in told:
                first, *rest = value.split("\n")
                lines.append(f"  {name + ':':<19}{first}".rstrip())
                lines += [" " * 21 + line for line in rest]
            lines.append("")
        if not self.problems:
            lines.append("All is well.")
        for problem in self.problems:
            lines.append("PROBLEM: " + problem.replace("\n", "\n  "))
        return discreet("\n".join(lines))


def examine(cli: Cli = None, *, offline: bool = False, verbose: bool = False) -> Report:
    """
    Look at everything.

    Args:
        cli: The option of that name.
        offline: Whether that is the stand-in.
        verbose: Whether to list places where a CLI can be even if one was found.

    """
    report = Report()
    tell_versions(report)
    tell_environment(report, os.environ)
    report.section("Claude Code CLI")
    if verbose and not offline:
        tell_places(report, cli, os.environ)
    try:
        command = find_cli(cli, os.environ)
    except ClaudeError as error:
        if not (verbose or offline):
            tell_places(report, cli, os.environ)
        report.tell("used", "none")
        report.problems.append(problem_of(error))
        return report
    report.tell("used", "the built-in stand-in: no model" if offline else " ".join(command))
    tell_start(report, cli, command, offline)
    return report


def tell_versions(report: Report) -> None:
    """The versions of everything that takes part, but the CLI's."""
    report.section("Versions")
    report.tell("claude_sync", __version__)
    python = f"{platform.python_version()} ({platform.python_implementation()})"
    report.tell("Python", f"{python}, {sys.executable}")
    report.tell("platform", platform.platform())
    for package in PACKAGES:
        report.tell(package, version_of(package))


def version_of(package: str) -> str:
    """The version of an installed package."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def tell_environment(report: Report, environ: Mapping[str, str]) -> None:
    """The names of variables that change what the CLI does."""
    report.section("Environment variables that are set (values are not shown)")
    passed_on = [name for name in sorted(environ) if VARIABLES.fullmatch(name)]
    of_session = [name for name in passed_on if belongs_to_a_session(name)]
    report.tell("for the CLI", lines_of(name for name in passed_on if name not in of_session))
    if of_session:
        report.tell("not passed on", lines_of([*of_session, "(of the session this runs in)"]))


def tell_places(report: Report, cli: Cli, environ: Mapping[str, str]) -> None:
    """Every place where a CLI can be, in the order of preference, and what is there."""
    named = environ.get("CLAUDE_CODE_PATH")

    def look(place: str, how: str, *arguments: str) -> None:
        search = Search(environ, os.name == "nt")
        found = getattr(search, how)(*arguments)
        report.tell(place, " ".join(found) if found else lines_of(search.searched))

    if cli is None:
        report.tell("--cli", "not given")
    else:
        look("--cli", "named", cli if isinstance(cli, str) else cli[0], "--cli")
    if named:
        look("CLAUDE_CODE_PATH", "named", named, "CLAUDE_CODE_PATH")
    else:
        report.tell("CLAUDE_CODE_PATH", "not set")
    look("PATH", "on_path", "claude")
    look("claude-agent-sdk", "installed_sdk")
    look("usual places", "usual_folders")


def tell_start(report: Report, cli: Cli, command: Sequence[str], offline: bool) -> None:
    """Start the CLI, and tell what it says about itself."""
    begun = time.monotonic()
    try:
        with Client(cli=cli, start_timeout=START_PATIENCE, on_crash="raise") as client:
            client.start()
            ready = time.monotonic() - begun
            info = client.info
    except ClaudeError as error:
        report.tell("version", version_by_flag(command))
        report.tell("starts", "no")
        report.problems.append(problem_of(error, command))
        return
    report.tell("version", info.cli_version or version_by_flag(command))
    report.tell("starts", f"yes, ready after {ready:.2f} s")
    if not offline:
        tell_login(report, info, command)


def problem_of(error: ClaudeError, command: Sequence[str] = ()) -> str:
    """What is wrong and what helps, without what the report says already."""
    if isinstance(error, CliNotFound):  # the report has the places
        return f"the 'claude' command was not found. {advice_of(error)}"
    if not isinstance(error, CliFailed) or error.option or not command:
        return as_typed(error)
    return (
        f"{error.problem}\nRun it yourself in a terminal, and see what it says:\n"
        f"    {shlex.join(command)}\n"
        f"or install it again ({UPDATE})."
    )


def version_by_flag(command: Sequence[str]) -> str:
    """What ``claude --version`` prints: old CLIs do not tell it otherwise."""
    try:
        done = subprocess.run(
            [*command, "--version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=VERSION_PATIENCE,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return f"unknown ({type(error).__name__})"
    said = done.stdout.decode("utf-8", "replace").strip()
    return said.split("\n")[0] or "unknown"


def tell_login(report: Report, info: Info, command: Sequence[str]) -> None:
    """Who pays, as far as the CLI tells; not being logged in is a problem."""
    account = info.account
    if not isinstance(account, Mapping):
        report.tell("login", "the CLI does not tell")
        return
    sources = [told(account, "apiKeySource"), told(account, "tokenSource")]
    # A key is only there; whether it is good, the service alone knows.
    sources = [source and source + UNTRIED * (source != LOGIN) for source in sources]
    provider = told(account, "apiProvider")
    if provider not in (None, "firstParty"):
        sources.append(provider)
    known = [source for source in sources if source is not None]
    if not known:
        report.tell("login", "none")
        report.problems.append(
            "the CLI is not logged in. Run it once in a terminal and log in with /login:\n"
            f"    {shlex.join(command)}\n"
            "or set ANTHROPIC_API_KEY in the environment."
        )
        return
    more = [told(account, name) for name in ("subscriptionType", "email")]
    report.tell("login", ", ".join(["by " + known[0], *known[1:], *filter(None, more)]))


def told(account: Mapping[str, Any], name: str) -> Optional[str]:
    """A value of the account, or None where there is none."""
    value = account.get(name)
    return value if isinstance(value, str) and value not in ("", "none") else None


def lines_of(values: Iterable[str]) -> str:
    """One value a line; or that there is none."""
    return "\n".join(values) or "none"


def discreet(text: str) -> str:
    """*text* without keys, without whole addresses, and without the name of the user."""
    text = E_MAIL.sub(r"\1***@\2***", redact_text(text))
    home = os.path.expanduser("~")
    if home in ("~", os.sep):
        return text
    return re.sub(re.escape(home) + r"(?![\w.-])", "~", text)
