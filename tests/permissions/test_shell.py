"""What command lines run is held against real shells: nothing slips past a rule."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shell_lines import DAILY, FORBIDDEN, LINES, attempt, smuggled
from stand_in_requests import decided
from tables import each

from claude_sync.permissions import policies

CASES = json.loads(Path(__file__).with_name("cases.json").read_text(encoding="utf-8"))

SHELLS = {"bash": ["bash"], "dash": ["dash"], "zsh": ["zsh", "-f"], "ash": ["busybox", "ash"]}
ALLOWING = policies.allow_tools(
    *("Bash(git *)", "Bash(ls *)", "Bash(npm run test:*)", "Bash(test *)", "Bash(printf *)"),
    *("Bash([ *)", "Bash(read *)", "Bash(export *)", "Bash(find *)", "Bash(awk *)", "Bash(sed *)"),
    *("Bash(sort *)", "Bash(xargs ls *)", "Bash(echo *)", "Bash(cat *)", "Bash(split *)"),
    *("Bash(env *)", "Bash(timeout *)", "Bash(linux64 *)", "Bash(eval *)", "Bash(trap *)"),
    *("Bash(wait *)", "Bash(set *)", "Bash(unset *)", "Bash(kill *)", "Bash(exit *)"),
)
DENYING = policies.deny_tools("Bash(rm *)", "Bash(curl:*)", "Bash(touch *)")
BY_HAND = [*LINES["hidden"], *LINES["tried"]]


def allowed(line):
    """Whether the rules that allow cover a line."""
    return decided(ALLOWING, "Bash", {"command": line}) is not None


def denied(line):
    """Whether the rules that deny may mean a line."""
    return decided(DENYING, "Bash", {"command": line}) is not None


def starts(careful, python, runner):
    """Whether that interpreter runs, and finds the file, where the shells are to run."""
    command = [*careful, python, "-c", "import json, subprocess, sys; open(sys.argv[1])", runner]
    return subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode == 0


class Shells:
    """Real shells in a folder where only stand-ins are found, unprivileged where that can be."""

    # A file system that cannot be written, but for the folder, and no rights.
    CAREFUL = (
        'mount --bind / / && mount -o remount,ro,bind / && mount -t tmpfs -o mode=777 none "$1"'
        ' && folder=$1 && shift && exec setpriv --reuid 65534 --regid 65534 --clear-groups "$@"'
        ' "$folder"'
    )

    def __init__(self, folder):
        runner = str(Path(__file__).with_name("shell_runner.py"))
        careful = ["unshare", "-m", "sh", "-c", self.CAREFUL, "sh", str(folder)]
        is_root = sys.platform == "linux" and os.geteuid() == 0 and shutil.which("setpriv")
        # Without rights, an interpreter below root's own folder may not find its libraries.
        pythons = [sys.executable, shutil.which("python3", path="/usr/bin:/usr/local/bin")]
        usable = [
            python for python in pythons if python and is_root and starts(careful, python, runner)
        ]
        command = [*careful, usable[0], runner] if usable else [sys.executable, runner, str(folder)]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def traces(self, shell, line):
        """What a line left behind: files, and forbidden programs that ran."""
        self.process.stdin.write(
            json.dumps([[shutil.which(SHELLS[shell][0]), *SHELLS[shell][1:]], line]) + "\n"
        )
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        """End the process."""
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture(scope="module")
def shells():
    """The shells."""
    if os.name == "nt":
        pytest.skip("needs POSIX")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        found = Shells(folder)
        yield found
        found.close()


def any_shell(name):
    """Skip the test where a shell is missing."""
    if shutil.which(SHELLS[name][0]) is None:
        pytest.skip(f"needs {SHELLS[name][0]}")


def forbidden(traces):
    """Whether one of the forbidden programs ran."""
    return bool({f"ran-{name}" for name in FORBIDDEN} & set(traces))


def oracle(shells, shell, lines):
    """How many of some lines were allowed, and not denied; none of them may escape."""
    by_allow = by_deny = 0
    escaped = []
    for line in lines:
        is_allowed, is_denied = allowed(line), denied(line)
        if is_denied and not is_allowed:
            continue
        traces = shells.traces(shell, line)
        if is_allowed:
            by_allow += 1
            escaped += [("allowed", line)] if traces else []
        if not is_denied:
            by_deny += 1
            escaped += [("not denied", line)] if forbidden(traces) else []
    assert escaped == []
    return by_allow, by_deny


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_runs_nothing_that_slipped_past_a_rule(shells, shell):
    """What is allowed leaves nothing behind, and what is not denied does not run it."""
    any_shell(shell)
    chance = random.Random(20)
    by_allow, by_deny = oracle(shells, shell, [attempt(chance) for _ in range(400)])
    assert by_allow > 5
    assert by_deny > 15
    oracle(shells, shell, BY_HAND)


@pytest.mark.everything
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_runs_nothing_that_slipped_past_a_rule_in_many_lines(shells, shell, capsys):
    """The same for very many lines."""
    any_shell(shell)
    chance = random.Random(21)
    by_allow, by_deny = oracle(shells, shell, [attempt(chance) for _ in range(20_000)])
    with capsys.disabled():
        print(f"\n{shell}: 20,000 lines, {by_allow} allowed, {by_deny} not denied, none escaped")


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_agrees_that_what_is_smuggled_runs(shells, shell):
    """The tests above would notice: most of the smuggled lines do run what is forbidden."""
    any_shell(shell)
    chance = random.Random(22)
    ran = sum(forbidden(shells.traces(shell, smuggled(chance.choice))) for _ in range(60))
    assert ran > 25


def test_the_shells_agree_that_hidden_commands_run(shells):
    """Together they run many of them."""
    found = [name for name, command in SHELLS.items() if shutil.which(command[0])]
    if {"bash", "zsh"} - set(found):
        pytest.skip("needs bash and zsh")
    ran = [any(forbidden(shells.traces(name, x)) for name in found) for x in LINES["hidden"]]
    assert sum(ran) > len(ran) // 2


@each("line", LINES["hidden"])
def test_a_hidden_command_is_denied_and_not_allowed(line):
    """What readers of command lines overlook is found, or the line cannot be read."""
    assert denied(line)
    assert not allowed(line)


@settings(max_examples=300)
@given(st.integers(0, 1 << 64))
def test_nothing_is_smuggled_past_a_rule(seed):
    """Whatever runs a forbidden command next to a harmless one."""
    line = smuggled(random.Random(seed).choice)
    assert not allowed(line), line
    assert denied(line), line


def test_daily_work_goes_on():
    """Of harmless lines few are refused, and those mostly because they write a file."""
    rules = [f"Bash({each})" for row in DAILY["rules"] for each in row.split("|")]
    allowing, denying = policies.allow_tools(*rules), policies.deny_tools("Bash(rm *)")
    daily = DAILY["lines"]
    refused = [x for x in daily if decided(allowing, "Bash", {"command": x}) is None]
    stopped = [x for x in daily if decided(denying, "Bash", {"command": x}) is not None]
    assert len(daily) >= 300
    assert len(refused) <= len(daily) * 0.05, refused
    assert len(stopped) <= len(daily) * 0.01, stopped


@each("line", CASES["lines that only speak of rm"])
def test_data_is_not_a_command(line):
    """Arguments, comments and texts of other programs are left alone."""
    assert not denied(line)


@each(("line", "is_allowed"), CASES["lines and whether the rules allow them"])
def test_an_allow_rule_covers_what_every_shell_reads_alike(line, is_allowed):
    """Each command of the line, and nothing that happens beside them."""
    assert allowed(line) is is_allowed


@each(("rule", "line"), CASES["rules and lines that they allow"])
def test_a_rule_covers_what_it_names_itself(rule, line):
    """The words that run something may stand in the rule."""
    assert decided(policies.allow_tools(rule), "Bash", {"command": line}) == "allow"


@each(("rule", "line"), CASES["rules and lines that they do not allow"])
def test_a_rule_with_a_wildcard_covers_no_other_program(rule, line):
    """However much of the line the wildcard stands for."""
    assert decided(policies.allow_tools(rule), "Bash", {"command": line}) is None


@each(
    "line",
    [
        *("$(" * 50 + ")" * 50, "x" * 60_000, "sudo " + "a " * 400, "(" * 9000),
        *("xargs " * 300 + "ls", "timeout 5 " * 4000 + "ls"),
    ],
)
def test_what_is_made_to_take_long_is_given_up(line):
    """The line comes from the model."""
    assert denied(line)
    assert not allowed(line)


@each(
    "line",
    [
        *("sed '" + "1,2p;" * 4000 + "x'", "sed '" + "1 p; " * 4000 + "x'", "x" * 49_000),
        *("awk '" + "print " * 8000 + "'", "tar --i" + "a" * 40_000 + "!", "GIT_" * 12_000),
        *("find " + "-exec a " * 2000, "cmake " + "COMPILER" * 6000, "nice -n 5 " * 20 + "x"),
    ],
)
def test_what_could_take_for_ever_is_decided(line):
    """Not timed: each of these took minutes, or a stack, in some way of comparing."""
    assert not allowed(line)
    denied(line)
