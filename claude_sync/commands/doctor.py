"""
``claude-sync doctor``: what is there, what is wrong, and what helps.
"""

from __future__ import annotations

import argparse
import sys

from .common import FAILED, OK, cli_of, harmless

__all__ = ["DESCRIPTION", "EPILOG", "add_arguments", "run"]

DESCRIPTION = """\
Look at everything claude_sync needs, tell what is wrong and what helps. The output can
be pasted into a bug report: it holds no keys and no addresses. The CLI is started but
asked nothing, so this costs nothing.
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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Nothing but --cli and --offline."""


def run(arguments: argparse.Namespace) -> int:
    """Do what *arguments* say; the exit code."""
    from ..doctor import examine

    report = examine(cli_of(arguments), offline=arguments.offline)
    # The last words of a CLI may be in it.
    sys.stdout.write(harmless(report.text()) + "\n")
    return FAILED if report.problems else OK
