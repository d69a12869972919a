"""
The command: ``python -m claude_sync.testing.drift [--cli PATH] [--update] [scene ...]``.

The report has a line for each difference: the scene, the kind of message (``in`` is to the CLI,
``out`` from it), what happened, and to which field. What is the same in several scenes is told
with the first of them.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from ...engine.launch.discovery import find_cli
from ...errors import ClaudeError
from . import Difference, Shapes, choose, compare, load, merge, shape_of, store
from .scenes import SCENES, play, version_of

__all__ = ["main"]

DESCRIPTION = """\
Play small conversations with a Claude Code CLI and a model on this machine, and tell which
fields of the messages are new, gone or changed against what is recorded. Nothing is asked of
the service: no account, no network, no cost.
"""
EPILOG = """\
examples:
  python -m claude_sync.testing.drift
  python -m claude_sync.testing.drift --cli ./node_modules/.bin/claude interrupt resume
  python -m claude_sync.testing.drift --update

exit codes:
  0  no drift
  1  drift, or a scene that failed
  2  it could not run
"""
NO_DRIFT, DRIFT, CANNOT_RUN = 0, 1, 2
BASELINE = Path(__file__).with_name("baseline.json")
# With one run, everything that comes and goes would be expected.
RUNS_TO_UPDATE = 3
Found = list[tuple[str, Difference]]


def main(words: Sequence[str] | None = None) -> int:
    """Do what the command line says; the exit code."""
    arguments = parser().parse_args(words)
    names: list[str] = arguments.scenes or list(SCENES)
    unknown = [name for name in names if name not in SCENES]
    if unknown:
        return cannot_run(f"there is no scene {unknown[0]!r}. There are: {', '.join(SCENES)}.")
    try:
        baseline = load(BASELINE)
        command = find_cli(arguments.cli, os.environ)
        version = version_of(command)
        known = version if arguments.update else choose(baseline, version)
        if known is None or not version:
            return cannot_run(f"there is no baseline for the version {version!r} of the CLI.")
        found = played(baseline.setdefault(known, {}), names, command, arguments.update)
        if arguments.update and not found:  # every scene was played to its end
            store(BASELINE, baseline)
    except (ClaudeError, OSError, ValueError) as error:
        return cannot_run(str(error))
    print(f"claude {version} {'is added to' if arguments.update else 'against'} {known}")
    return report(names, found)


def parser() -> argparse.ArgumentParser:
    """What can be said on the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m claude_sync.testing.drift",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("scenes", metavar="scene", nargs="*", help=f"of {', '.join(SCENES)}")
    parser.add_argument("--cli", metavar="PATH", help="the CLI (default: the one a Client finds)")
    parser.add_argument(
        "--update", action="store_true", help="add what is seen to the baseline of this version"
    )
    return parser


def played(shapes: Shapes, names: Sequence[str], command: Sequence[str], adds: bool) -> Found:
    """Play the scenes; add what is seen to what is known, or find how it differs."""
    found: Found = []
    for name in [*names] * (RUNS_TO_UPDATE if adds else 1):
        try:
            seen = shape_of(play(SCENES[name], command))
        except Exception as error:
            reason = " ".join(str(error).split())
            found.append((name, Difference(type(error).__name__, "failed", reason)))
            continue
        if adds:
            shapes[name] = merge(shapes.get(name), seen)
        else:
            found += [(name, each) for each in compare(shapes.get(name, {}), seen)]
    return found


def report(names: Sequence[str], found: Found) -> int:
    """Print what was found, scene by scene, and count it; the exit code."""
    scenes: dict[Difference, list[str]] = {}
    for name, each in dict.fromkeys(found):
        scenes.setdefault(each, []).append(name)
    rows = [(named[0], each.kind, each.what) for each, named in scenes.items()]
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row, (each, named) in zip(rows, scenes.items()):
        columns = [f"{word:<{width}}" for word, width in zip(row, widths)]
        also = f"  (and in {len(named) - 1} more)" if named[1:] else ""
        print("  ".join([*columns, each.where + also]).rstrip())
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
