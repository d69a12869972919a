"""A line is taken apart completely, or not at all."""

from __future__ import annotations

import random
import shutil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shell_lines import HARMLESS, ShellOfStandIns, smuggled, soup
from stand_in_requests import decided
from tables import each

from claude_sync.permissions import policies
from claude_sync.permissions.shell_commands import simple_commands

BASH = shutil.which("bash")
ALLOWING = policies.allow_tools("Bash(git *)", "Bash(ls)", "Bash(npm run test:*)")


def allowed(line):
    """Whether the policy of these tests allows a line."""
    return decided(ALLOWING, "Bash", {"command": line}) is not None


@each(
    ("line", "commands"),
    [
        ("git status", ["git status"]),
        ("  git \t status  ", ["git status"]),
        ("git status; ls", ["git status", "ls"]),
        ("a && b || c | d |& e & f", ["a", "b", "c", "d", "e", "f"]),
        ("a\n\nb\n", ["a", "b"]),
        ("a &&\n b", ["a", "b"]),
        ("a;", ["a"]),
        ("a &", ["a"]),
        ("git commit -m 'x; y'", ["git commit -m 'x; y'"]),
        ('git commit -m "x && y"', ['git commit -m "x && y"']),
        ('git commit -m "say \\"x\\""', ['git commit -m "say \\"x\\""']),
        ("git log a\\;b", ["git log a\\;b"]),
        ("git log \\\n  -1", ["git log -1"]),
        ("gi\\\nt log", ["git log"]),
        ("a > /dev/null 2>&1", ["a"]),
        ("2>/dev/null a b", ["a b"]),
        ("a&>/dev/null", ["a"]),
        ("a b>/dev/null c", ["a b c"]),
        ("a < /dev/null", ["a"]),
        ("a $HOME ${x} $1 $?", ["a $HOME ${x} $1 $?"]),
        ('grep "x$" y', ['grep "x$" y']),
        ("git show HEAD@{1} a#b", ["git show HEAD@{1} a#b"]),
        ('git commit -m "done!"', ['git commit -m "done!"']),
        ("./run.sh ~/x *.py", ["./run.sh ~/x *.py"]),
        ("~/bin/x y", ["~/bin/x y"]),
        ("echo é", ["echo é"]),
    ],
)
def test_what_is_plain_is_understood(line, commands):
    """Each simple command is found, with its words as they were written."""
    assert simple_commands(line) == commands


@each(
    "line",
    [
        *("", " ", "\n", ";", "a ;; b", "; a", "a && ", "a |", "| a", "a & & b", "a ; ; b"),
        *("'", '"', "a 'b", 'a "b', "a \\", 'a "b\\', "a\0b", "a\rb", "a\vb", "a\fb", "a\x1b[2Kb"),
        *("a\u00a0b", "a\u2028b", "a\u200bb", "a\u202eb", "a\x85b", "a\ud800"),
        *("a $(b)", "a `b`", 'a "$(b)"', 'a "`b`"', "a <(b)", "a >(b)", "(a)", "a (b)", "a )"),
        *("{ a; }", "a {", "a }", "! a", "if a; then b; fi", "time a", "coproc a", "[[ a ]]"),
        *("function a { b; }", "a() { b; }", "for i in a", "case a in b) c;; esac", "while a"),
        *("a > b", "a >> b", "a >| /dev/null", "a < b", "a << b", "a <<< b", "a &> b", "a >& b"),
        *("a > /dev/null/x", "a > /dev/nullx", "a >&2x", "a 2>&1x", "a <> /dev/null", "a >&1-"),
        *("> /dev/null", "{x}>/dev/null a", "a {x}>/dev/null", "a > '/dev/null'", "a <& 3"),
        *("a=b c", "a+=b c", "a[0]=b c", "a=b", "$x", "${x} a", "$'a' b", "a $'b'", 'a $"b"'),
        *(
            "a ${x:-b}",
            "a ${x[0]}",
            "a $((1))",
            "a $[1]",
            "a $x[1]",
            "a ${!x}",
            "a $@",
            "a $(",
            "a $é",
        ),
        *("'a' b", '"a" b', "\\a b", "a* b", "a? b", "{a,b} c", "[ a ]", "=a b", "^a^b", "%1"),
        *("a # b", "# a", "a;# b", "a !b", "a !!", 'a "!b"', "a !$", "a \\\n# b", "é a"),
        *(
            "git 中\\'';rm x #'",
            'git "中\\"";rm x #"',
            "git é|ls",
            "git é{a}",
            "git é[a]",
            "git é~",
        ),
        *("git $x\\\n['$(rm x)']", "git ${x}\\\n[1]", "git $?\\\n[1]", 'git "$x\\\n[1]"'),
    ],
)
def test_what_is_not_plain_is_not_understood(line):
    """A doubt about one character is a doubt about the whole line."""
    assert simple_commands(line) is None


@settings(max_examples=1000)
@given(st.integers(0, 1 << 64))
def test_nothing_forbidden_is_smuggled_past_an_allow_rule(seed):
    """Whatever runs a forbidden command next to an allowed one is not allowed."""
    line = smuggled(random.Random(seed).choice)
    assert not allowed(line), line


@pytest.mark.everything
@settings(max_examples=6000)
@given(st.integers(0, 1 << 64))
def test_nothing_forbidden_is_smuggled_in_many_lines_past_an_allow_rule(seed):
    """The same in many more lines."""
    line = smuggled(random.Random(seed).choice)
    assert not allowed(line), line


@settings(max_examples=2000)
@given(st.integers(0, 1 << 64))
def test_what_is_understood_consists_of_plain_commands(seed):
    """Out of any soup of grammar come commands that begin with a plain name, or None."""
    pick = random.Random(seed)
    for command in simple_commands(soup(pick.choice, pick.randint(1, 8))) or ():
        assert command.split(" ")[0].isprintable()
        assert not set(command.split(" ")[0]) & set("$`'\"\\=(){}<>;&|*?[]#!")


@pytest.mark.skipif(BASH is None, reason="needs bash")
def test_bash_agrees_that_what_is_allowed_is_harmless(tmp_path):
    """Lines that are allowed run no forbidden program and leave no file in a real shell."""
    shell = ShellOfStandIns(tmp_path, BASH)
    chance = random.Random(20)
    ran = 0
    while ran < 300:
        line = chance.choice(HARMLESS) + soup(chance.choice, chance.randint(1, 7))
        if allowed(line):
            ran += 1
            assert shell.traces(line) == [], line


@pytest.mark.skipif(BASH is None, reason="needs bash")
def test_bash_agrees_that_the_smuggled_commands_run(tmp_path):
    """The tests above would notice: most of the smuggled lines do run what is forbidden."""
    shell = ShellOfStandIns(tmp_path, BASH)
    chance = random.Random(21)
    lines = [smuggled(chance.choice) for _ in range(100)]
    assert sum(bool(shell.traces(line)) for line in lines) > 60
