"""
Threads that ask, steer, cancel and interrupt at random, against real CLIs: a command, no test.

::

    python tests/chaos.py --runs 10 --seconds 10 --cli PATH [--cli PATH ...]

Each run has one client and eight threads. The model on 127.0.0.1 answers each question with the
question's own number, so an answer that belongs to somebody else is seen. Wrong answers, waits
that do not end, and unexpected errors are printed and make the exit code 1.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import sys
import tempfile
import threading
import time

from claude_sync import (
    AskTimeout,
    Client,
    ClientClosed,
    ExecutionError,
    TurnInterrupted,
    UsageError,
)
from claude_sync.testing import LoopbackModel

THREADS = 8
# Longer than anything takes on a loaded machine; what takes longer hangs.
PATIENCE = 60.0
QUESTION = re.compile(r"question number (\d+)\b")


def reply(request):
    """The number of the last question in the newest message."""
    found = QUESTION.findall(request.text)
    return f"the answer to {found[-1]}" if found else "no question"


class Run:
    """One client, and what its threads saw."""

    def __init__(self, client, seed, seconds):
        self.client = client
        self.end = time.monotonic() + seconds
        self.random = random.Random(seed)
        self.lock = threading.Lock()
        self.count = 0
        self.right = 0
        self.problems = []

    def number(self):
        """A number of no other question."""
        with self.lock:
            self.count += 1
            return self.count

    def settle(self, turn, number):
        """See how a turn ends."""
        try:
            answer = turn.result(PATIENCE)
        except (TurnInterrupted, ClientClosed, ExecutionError):
            return  # somebody interrupted it
        except AskTimeout as error:
            if not turn.done():  # otherwise it is the question's own timeout
                self.problems.append(f"question {number} hangs: {error}")
            return
        except Exception as error:
            self.problems.append(f"question {number}: {type(error).__name__}: {error}")
            return
        told = re.findall(r"the answer to (\d+)", answer)
        if told and told[-1] != str(number):
            self.problems.append(f"question {number} got {answer!r}")
        elif told:
            self.right += 1

    def work(self, seed):
        """One thread: something at random, until the time is up."""
        dice = random.Random(seed)
        while time.monotonic() < self.end:
            number = self.number()
            prompt = f"question number {number} is here"
            what = dice.choices(
                ["ask", "submit", "stream", "steer", "cancel", "interrupt", "context", "timeout"],
                [6, 4, 2, 3, 2, 1, 1, 1],
            )[0]
            try:
                self.do(what, prompt, number, dice)
            except (UsageError, ClientClosed, TurnInterrupted):
                continue  # nothing runs that could be steered, or somebody interrupted it
            except Exception as error:
                self.problems.append(f"{what}: {type(error).__name__}: {error}")

    def do(self, what, prompt, number, dice):
        """One thing."""
        client = self.client
        if what == "steer":
            client.steer("please go on")
        elif what == "interrupt":
            client.interrupt(PATIENCE)
        elif what == "context":
            client.add_context("something to know")
        elif what == "stream":
            with client.stream(prompt) as turn:
                for _ in turn:
                    if dice.random() < 0.2:
                        break
        else:
            turn = client.submit(prompt, timeout=dice.random() if what == "timeout" else None)
            if what == "cancel":
                threading.Event().wait(dice.random() / 10)
                turn.cancel()
            if not turn.cancelled():
                self.settle(turn, number)


def run(cli, seed, seconds):
    """One run; what it found."""
    with LoopbackModel() as model, tempfile.TemporaryDirectory() as folder:
        home, cwd = os.path.join(folder, "home"), os.path.join(folder, "cwd")
        os.mkdir(home)
        os.mkdir(cwd)
        model.default(reply)
        client = Client(cli=cli, cwd=cwd, env=model.environment(home), start_timeout=PATIENCE)
        with client:
            client.start(PATIENCE)
            found = Run(client, seed, seconds)
            threads = [
                threading.Thread(target=found.work, args=(seed * 1000 + number,), daemon=True)
                for number in range(THREADS)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(seconds + 3 * PATIENCE)
            found.problems += [f"{each.name} hangs" for each in threads if each.is_alive()]
            try:
                turn = client.submit("question number 999999 is here")
                found.settle(turn, 999999)
            except Exception as error:
                found.problems.append(f"afterwards: {type(error).__name__}: {error}")
    return found


def main():
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cli", action="append", required=True)
    arguments = parser.parse_args()
    wrong = 0
    for cli in arguments.cli:
        for number in range(arguments.runs):
            found = run(cli, arguments.seed + number, arguments.seconds)
            wrong += len(found.problems)
            print(f"{cli}: run {number}: {found.count} calls, {found.right} right", flush=True)
            for problem in found.problems:
                print(f"  {problem}", flush=True)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
