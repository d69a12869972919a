"""
Play small conversations with a Claude Code CLI and a model on this machine.

Tells which fields of the messages are new or gone against what is recorded: the scene, the kind
of message ("in" is to the CLI, "out" from it), what happened, and to which field. What is the
same in several scenes is listed with the first of them. Nothing is asked of the service: no
account, no network, no cost.

examples:
  python -m claude_sync.testing.drift
  python -m claude_sync.testing.drift --cli ./node_modules/.bin/claude interrupt resume
  python -m claude_sync.testing.drift --update

exit codes:
  0  no drift
  1  drift, or a scene that failed
  2  it could not run
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import Difference, choose, compare, facts_of, load, merge, store
from .scenes import SCENES, play

__all__ = ["main"]

NO_DRIFT, DRIFT, CANNOT_RUN = 0, 1, 2
Messages = list[tuple[str, dict[str, Any]]]
BASELINE = Path(__file__).with_name("baseline.json")
# With one run, everything that comes and goes would be expected.
RUNS_TO_UPDATE = 3


def main(words: Sequence[str] | None = None) -> int:
    """Do what the command line says; the exit code."""
    arguments = parser().parse_args(words)
    names: list[str] = arguments.scenes or list(SCENES)
    unknown = [name for name in names if name not in SCENES]
    if unknown:
        return cannot_run(f"there is no scene {unknown[0]!r}. There are: {', '.join(SCENES)}.")
    runs = RUNS_TO_UPDATE if arguments.update else 1
    played = [(name, played_once(name, arguments.cli)) for name in names * runs]
    failed = [(name, each) for name, each in played if isinstance(each, Exception)]
    runs_done = [(name, each) for name, each in played if not isinstance(each, Exception)]
    version = next((version_of(messages) for _, messages in runs_done), "")
    try:
        baseline = load(BASELINE)
        known = version if arguments.update else choose(baseline, version)
        if not version or known is None:
            reason = failed[0][1] if failed else f"there is no baseline for {version!r}"
            return cannot_run(" ".join(str(reason).split()))
        found = [(name, failure_of(error)) for name, error in failed]
        facts = baseline.setdefault(known, {})
        for name, messages in runs_done:
            seen = facts_of(messages)
            if arguments.update:
                facts[name] = merge(facts.get(name), seen)
            else:
                found += [(name, each) for each in compare(facts.get(name, {}), seen)]
        if arguments.update and not failed:
            store(BASELINE, baseline)
    except (OSError, ValueError) as error:
        return cannot_run(str(error))
    print(f"claude {version} {'is added to' if arguments.update else 'against'} {known}")
    return report(names, found)


def played_once(name: str, cli: str | None) -> Messages | Exception:
    """What was said in a scene, or why it failed."""
    try:
        return play(SCENES[name], cli or os.environ.get("CLAUDE_CODE_PATH"))
    except Exception as error:
        return error


def failure_of(error: Exception) -> Difference:
    """A scene that failed, as a line of the report."""
    return Difference(type(error).__name__, "failed", " ".join(str(error).split()))


def version_of(messages: Messages) -> str:
    """What the CLI calls itself when it begins a turn."""
    told = (message.get("claude_code_version") for _, message in messages)
    return next((version for version in told if isinstance(version, str)), "")


def parser() -> argparse.ArgumentParser:
    """What can be said on the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m claude_sync.testing.drift",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("scenes", metavar="scene", nargs="*", help=f"of {', '.join(SCENES)}")
    parser.add_argument("--cli", metavar="PATH", help="the CLI (default: the one a Client finds)")
    parser.add_argument(
        "--update", action="store_true", help="add what was seen to the baseline of this version"
    )
    return parser


def report(names: Sequence[str], found: Sequence[tuple[str, Difference]]) -> int:
    """Print what was found, each difference with its first scene, and count it; the exit code."""
    scenes: dict[Difference, list[str]] = {}
    for name, each in dict.fromkeys(found):
        scenes.setdefault(each, []).append(name)
    for each, named in scenes.items():
        also = f"  (and in {len(named) - 1} more)" if named[1:] else ""
        print(
            "  ".join([f"{named[0]:<12}", f"{each.kind:<40}", f"{each.what:<6}", each.where]) + also
        )
    counts = sorted(Counter(each.what for each in scenes).items())
    told = ", ".join(f"{count} {what}" for what, count in counts)
    print(f"{len(names)} scene{'s' if names[1:] else ''}: {told or 'no drift'}")
    return DRIFT if found else NO_DRIFT


def cannot_run(reason: str) -> int:
    """Say why nothing was compared."""
    print(f"drift: {reason}", file=sys.stderr)
    return CANNOT_RUN


if __name__ == "__main__":
    # What the client warns about is part of the scenes.
    logging.getLogger("claude_sync").addHandler(logging.NullHandler())
    sys.exit(main())
