"""
``claude-sync batch``: the prompts of a file, each with its answer in another.

Decisions taken here and nowhere else:

* While it runs, finished answers are in ``OUTPUT.checkpoint``; the same command goes on from
  there. ``OUTPUT`` itself is written beside it and put in its place at the end, in the order
  of the input. It has every prompt; after Ctrl-C it stays as it was.
* Ctrl-C once: what is being answered is finished. Twice: stop now.
* Nobody is asked, not even on a terminal: a batch is to run alone, several prompts at once.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from ..cli.common import (
    add_permission_arguments,
    as_typed,
    permission_options,
    schema_in,
)
from ..errors import ClaudeError, UsageError
from .batches import map as ask_all
from .checkpoint import ON_CHANGE, Checkpoint, merge, shard_path
from .tables import Table, kind_of_output

__all__ = ["DESCRIPTION", "EPILOG", "add_arguments", "run"]

DESCRIPTION = """\
Ask every prompt of a file, several at once, each in a conversation of its own. If the command
is stopped, run it again: it continues and asks nothing twice. Claude may use the tools that its
settings and --allow name. All others are denied, and you are not asked about them.
"""

EPILOG = """\
examples:
  claude-sync batch prompts.jsonl -o answers.jsonl
  claude-sync batch reviews.csv -o labels.jsonl --template "Is this kind? {text}" --workers 8
  claude-sync batch reviews.csv -o labels.jsonl --column text --returns schema.json --budget 5
  claude-sync batch files.csv -o reviews.csv --template "Review {path}" --allow Read
  claude-sync batch many.jsonl -o out.parquet --id id --shard "$SLURM_ARRAY_TASK_ID/16"
  claude-sync batch many.jsonl -o out.parquet --id id --merge

INPUT is a .csv or .tsv file with a header, or JSON lines: strings, or objects with "prompt" and
optionally "id" and "attach". OUTPUT has one row for each, in the same order: index, id, prompt,
answer, data, error, cost_usd, attempts, seconds. Its name decides the format: .csv and .parquet
have a column for each field of --returns; everything else is JSON lines.

--shard K/N asks every N-th prompt, beginning with number K (from 0), as one job of an array. Its
output is OUTPUT.K-of-N. When all are done, --merge combines them and asks again what failed.

Ctrl-C once finishes what is being answered; twice stops now. You can continue after both.

exit codes:
  0    every prompt was answered
  1    some were not; stderr and the output say why, and the same command tries them again
  2    the command line, or the input, was wrong
  130  interrupted by Ctrl-C
"""

OK, FAILED, INTERRUPTED = 0, 1, 130
NUMBERS: tuple[tuple[str, type, Any, str], ...] = (
    ("--workers", int, 4, "prompts at the same time (default: 4)"),
    ("--budget", float, None, "send nothing more once this many USD are spent"),
    ("--retries", int, 2, "further attempts after an overload (default: 2)"),
    ("--timeout", float, None, "seconds for each prompt (default: none)"),
    ("--requests-per-minute", float, None, "the most requests to send in a minute"),
    ("--tokens-per-minute", float, None, "the most tokens to send in a minute"),
)
# Arguments that map() takes under the same names.
PASSED_ON = (
    *("workers", "retries", "timeout", "requests_per_minute", "tokens_per_minute"),
    *("shard", "on_change", "model", "cwd"),
)
# Of the prompts that failed, so many are told.
TOLD_FAILURES = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What can be said on the command line, --cli and --offline excepted."""
    add = parser.add_argument
    add("input", metavar="INPUT", help="prompts: .csv, .tsv or JSON lines")
    help_output = "answers: .csv, .parquet, or JSON lines"
    names = ("-o", "--out", "--output")
    add(*names, dest="output", metavar="OUTPUT", required=True, help=help_output)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--column", help="the column, or key, with the prompt (default: prompt)")
    which.add_argument("--template", help='make the prompt from columns: "Summarise: {text}"')
    add(
        "--interpret",
        action="store_true",
        help="let the CLI read @path and run /commands in prompts, which are plain text otherwise",
    )
    for flag, kind, default, told in NUMBERS:
        add(flag, metavar="N", type=kind, default=default, help=told)
    add("--returns", metavar="FILE", help="a JSON Schema that every answer must match")
    add("--id", metavar="COLUMN", help="the column that identifies a row, if rows move")
    add("--shard", metavar="K/N", type=shard, help="one of N parts, from 0")
    add("--merge", action="store_true", help="combine all parts first")
    help_change = "what to do if prompts or settings have changed (default: raise)"
    add("--on-change", choices=ON_CHANGE, default="raise", help=help_change)
    add("--model", help="alias (sonnet) or full name of the model")
    add("--cwd", metavar="FOLDER", help="the folder Claude works in")
    add_permission_arguments(parser)
    add("--restart", action="store_true", help="forget earlier answers and ask everything again")


def run(arguments: argparse.Namespace, cli: Any = None) -> int:
    """Do what *arguments* say; the exit code."""
    given = vars(arguments)
    prompts = Table(arguments.input, arguments.column, arguments.template, arguments.id)
    output, checkpoint = arguments.output, arguments.output + ".checkpoint"
    own_checkpoint = checkpoint
    if arguments.shard is not None:
        output = shard_path(output, arguments.shard)
        own_checkpoint = shard_path(checkpoint, arguments.shard)
    check_output(arguments.input, output, checkpoint)
    returns = None if arguments.returns is None else schema_in(arguments.returns)
    batch = ask_all(
        prompts,
        returns=returns,
        budget_usd=arguments.budget,
        checkpoint=checkpoint,
        id=None if arguments.id is None else "id",
        progress=True,
        cli=cli,
        verbatim=not arguments.interpret,
        **{name: given[name] for name in PASSED_ON},
        **permission_options(arguments),
    )
    if arguments.restart and os.path.exists(own_checkpoint):
        Checkpoint(own_checkpoint).close()  # refuses another file, and one that is in use
        for ending in ("", "-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(own_checkpoint + ending)
    if arguments.merge:
        tell(f"{merge(checkpoint)} parts merged")
    try:
        with interruptible(batch) as presses, batch:
            written = write_answers(batch, output, kind_of_output(arguments.output), presses)
    except UsageError as error:  # as it is typed
        told = str(error).replace("on_change='", "--on-change='")
        raise UsageError(told.replace("checkpoint file", "OUTPUT")) from error
    tell(summary(batch, written, output))
    if presses:
        tell("interrupted; run the same command again to continue")
        return INTERRUPTED
    # Fewer than there were: somebody has changed the input meanwhile.
    return FAILED if batch.failed or written != batch.total else OK


def write_answers(batch: Any, output: str, kind: str, presses: Sequence[object]) -> int:
    """Write every item, in order; how many. If it was stopped, the output stays as it was."""
    temporary = output + ".part"
    try:
        written: int = batch.write(temporary, kind)
        if presses:
            os.unlink(temporary)
        else:
            os.replace(temporary, output)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)  # what was finished is in the checkpoint
        if isinstance(error, OSError):
            is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            advice = "Free some space" if is_full else "Check the folder of --out"
            raise ClaudeError(
                f"the answers cannot be written: {error.strerror or error}. {advice}, and "
                "run the same command again to continue."
            ) from None
        raise
    return written


@contextlib.contextmanager
def interruptible(batch: Any) -> Iterator[list[bool]]:
    """Ctrl-C stops *batch* gently the first time, and ends the program the second time."""
    presses: list[bool] = []

    def pressed(*_: object) -> None:
        presses.append(True)
        signal.signal(signal.SIGINT, before)
        batch.stop()
        with contextlib.suppress(RuntimeError):  # it came while something was being written
            tell("finishing what is being answered; Ctrl-C again stops now")

    before = signal.signal(signal.SIGINT, pressed)
    try:
        yield presses
    finally:
        signal.signal(signal.SIGINT, before)


def summary(batch: Any, written: int, output: str) -> str:
    """What is said at the end."""
    lines = []
    for item in batch.errors[:TOLD_FAILURES]:
        name = item.index if item.id is None else f"{item.index} ({item.id})"
        reason = as_typed(item.error).partition("\n")[0]
        lines.append(f"prompt {name} failed: {type(item.error).__name__}: {reason}")
    if batch.failed > TOLD_FAILURES:
        lines.append(f"and {batch.failed - TOLD_FAILURES} more; see {output}")
    restored = batch.summary.restored
    before = f" ({restored} of them before)" if restored else ""
    lines.append(
        f"{written - batch.failed} of {batch.total} answered{before}, {batch.failed} failed, "
        f"{batch.cost_usd:.4f} USD, {batch.summary.seconds:.0f} s: {output}"
    )
    if written > restored:
        lines.extend(f"{name}: {value}" for name, value in batch.summary.rows()[-2:])
    return "\n".join(lines)


def check_output(source: str, output: str, checkpoint: str) -> None:
    """Refuse to write over the input, or into nowhere."""
    for name in (output, output + ".part", checkpoint):
        if os.path.exists(name) and os.path.samefile(source, name):
            raise UsageError(
                f"{name} is written, and is the same file as INPUT. Name another output."
            )
    if os.path.exists(output) and not os.path.isfile(output):
        raise UsageError(
            f"{output} is not a regular file, so it was not changed. Name another output."
        )


def tell(text: str) -> None:
    """Say something on stderr."""
    for line in text.splitlines():
        sys.stderr.write(f"claude-sync: {line}\n")
    sys.stderr.flush()


def shard(words: str) -> tuple[int, int]:
    """Which of how many parts."""
    number, _, count = words.partition("/")
    if number.isdigit() and count.isdigit() and int(number) < int(count):
        return int(number), int(count)
    raise argparse.ArgumentTypeError(f"{words!r} is not K/N with K from 0 to N-1")
