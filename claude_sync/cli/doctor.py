"""
``claude-sync doctor``: what a bug report needs, and what to do about what is wrong.

Nothing is asked, so nothing is spent: the CLI is only started. Decisions taken here and nowhere
else: what of an installation is told, and what is a secret of its owner. Values of variables are
never shown, e-mail addresses are shortened, and the home folder is written as ``~``.
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
from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata
from typing import Any

from .._version import __version__
from ..client import Client
from ..engine.launch.discovery import Search, find_cli
from ..engine.launch.environment import belongs_to_a_session
from ..errors import UPDATE, ClaudeError, CliFailed, CliNotFound
from ..support.redact import redact_text
from ..support.styles import safe
from .common import FAILED, OK, advice_of, as_typed, cli_of, option

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

E_MAIL = re.compile(r"([\w.+-])[\w.+-]*@([\w-])[\w.-]*")


def doctor(arguments: argparse.Namespace) -> int:
    """
    Check everything that claude_sync needs, and say what is wrong and how to fix it. You can paste
    the output into a bug report: it contains no keys and no addresses. The CLI is started but asked
    nothing, so this costs nothing.

    examples:
      claude-sync doctor
      claude-sync doctor --cli /opt/claude/bin/claude

    exit codes:
      0    all is well
      1    something is wrong; the last lines say how to fix it
      2    the command line was wrong
      130  interrupted by Ctrl-C
    """
    report = Report()
    examine(report, cli_of(arguments), arguments.offline, arguments.verbose)
    sys.stdout.write(report.text() + "\n")
    return FAILED if report.problems else OK


def doctor_arguments(parser: argparse.ArgumentParser) -> None:
    """What can be said on the command line, besides --cli and --offline."""
    option(parser, "-v --verbose", "list every place where a CLI was looked for")


class Report:
    """What was found, in named lines, and the problems with their advice."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self._lines: list[str] = []

    def section(self, title: str) -> None:
        """Begin a section; lines are added to it."""
        self._lines += [*([""] if self._lines else []), f"{title}:"]

    def tell(self, name: str, *values: str) -> None:
        """Add a line, or several under one name."""
        first, *rest = values or ("none",)
        self._lines.append(f"  {name + ':':<19}{first}")
        self._lines += [" " * 21 + line for line in rest]

    def text(self) -> str:
        """The report, without what is nobody's business; a CLI's last words may be in it."""
        problems = ["PROBLEM: " + problem.replace("\n", "\n  ") for problem in self.problems]
        text = "\n".join([*self._lines, "", *(problems or ["All is well."])])
        text = E_MAIL.sub(r"\1***@\2***", redact_text(text))
        home = os.path.expanduser("~")
        if home not in ("~", os.sep):
            text = re.sub(re.escape(home) + r"(?![\w.-])", "~", text)
        return safe(text)


def examine(report: Report, cli: Any, offline: bool, verbose: bool) -> None:
    """Look at everything; *verbose* tells the places of CLIs even if one was found."""
    report.section("Versions")
    report.tell("claude_sync", __version__)
    python = f"{platform.python_version()} ({platform.python_implementation()})"
    report.tell("Python", f"{python}, {sys.executable}")
    report.tell("platform", platform.platform())
    for package in PACKAGES:
        try:
            report.tell(package, metadata.version(package))
        except metadata.PackageNotFoundError:
            report.tell(package, "not installed")
    report.section("Environment variables that are set (values are not shown)")
    names = [name for name in sorted(os.environ) if VARIABLES.fullmatch(name)]
    of_session = [name for name in names if belongs_to_a_session(name)]
    report.tell("for the CLI", *(name for name in names if name not in of_session))
    if of_session:
        report.tell("not passed on", *of_session, "(of the session this runs in)")
    report.section("Claude Code CLI")
    try:
        command = find_cli(cli, os.environ)
    except ClaudeError as error:
        tell_places(report, cli)
        report.tell("used", "none")
        report.problems.append(problem_of(error, ()))
        return
    if verbose and not offline:
        tell_places(report, cli)
    report.tell("used", "the built-in stand-in: no model" if offline else " ".join(command))
    tell_start(report, cli, command, offline)


def tell_places(report: Report, cli: Any) -> None:
    """Every place where a CLI can be, in the order of preference, and what is there."""

    def look(place: str, how: str, *arguments: str) -> None:
        search = Search(os.environ, os.name == "nt")
        found = getattr(search, how)(*arguments)
        report.tell(place, *([" ".join(found)] if found else search.searched))

    if cli is None:
        report.tell("--cli", "not given")
    else:
        look("--cli", "named", cli if isinstance(cli, str) else cli[0], "--cli")
    named = os.environ.get("CLAUDE_CODE_PATH")
    if named:
        look("CLAUDE_CODE_PATH", "named", named, "CLAUDE_CODE_PATH")
    else:
        report.tell("CLAUDE_CODE_PATH", "not set")
    look("PATH", "on_path", "claude")
    look("claude-agent-sdk", "installed_sdk")
    look("usual places", "usual_folders")


def tell_start(report: Report, cli: Any, command: Sequence[str], offline: bool) -> None:
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
    if offline:
        return
    logins = logins_of(info.account)
    if info.account is None:
        report.tell("login", "the CLI does not say")
    elif logins:
        report.tell("login", "by " + ", ".join(logins))
    else:
        report.tell("login", "none")
        report.problems.append(
            "the CLI is not logged in. Run it once in a terminal and log in with /login:\n"
            f"    {shlex.join(command)}\n"
            "or set ANTHROPIC_API_KEY in the environment."
        )


def logins_of(account: Any) -> list[str]:
    """Who pays, as far as the CLI tells; then what is known of them. Empty without a login."""
    account = account if isinstance(account, Mapping) else {}

    def told(*names: str) -> list[str]:
        found = [account.get(name) for name in names]
        return [each for each in found if isinstance(each, str) and each not in ("", "none")]

    # A key is only there; whether it is good, the service alone knows.
    keys = [f"{key} (not tried)" for key in told("apiKeySource", "tokenSource") if key != LOGIN]
    login = [each for each in told("tokenSource", "apiKeySource") if each == LOGIN]
    provider = [each for each in told("apiProvider") if each != "firstParty"]
    known = [*keys, *login, *provider]
    return [*known, *told("subscriptionType", "email")] if known else []


def problem_of(error: ClaudeError, command: Iterable[str]) -> str:
    """What is wrong and what helps, without what the report says already."""
    if isinstance(error, CliNotFound):  # the report has the places
        return f"{error.problem} {advice_of(error)}"
    if not isinstance(error, CliFailed) or error.option:
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
    return done.stdout.decode("utf-8", "replace").strip().split("\n")[0] or "unknown"
