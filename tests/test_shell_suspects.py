"""Whatever a line may run is found, or the line is given up."""

from __future__ import annotations

import random
import shutil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shell_lines import HIDDEN, HIDDEN_ELSEWHERE, REAL, ShellOfStandIns, smuggled, soup
from stand_in_requests import decided
from tables import each

from claude_sync.permissions import policies
from claude_sync.permissions.shell_suspects import ANYTHING, possible_commands

BASH = shutil.which("bash")
DENYING = policies.deny_tools("Bash(rm *)", "Bash(curl:*)", "Bash(touch *)")


def denied(line):
    """Whether the policy of these tests denies a line."""
    return decided(DENYING, "Bash", {"command": line}) is not None


@each(
    ("line", "command"),
    [
        ("a b; c d", ("c", "d")),
        ("a $(b c)", ("b", "c")),
        ('a "x $(b c) y"', ("b", "c")),
        ("a `b c`", ("b", "c")),
        ("a `b \\`c d\\``", ("c", "d")),
        ("a <(b c)", ("b", "c")),
        ("(b c)", ("b", "c")),
        ("if x; then b c; else d; fi", ("b", "c")),
        ("X=1 Y=2 b c", ("b", "c")),
        (">x b c", ("b", "c")),
        ("b 2>x c", ("b", "c")),
        ("b &>x c", ("b", "c")),
        ("\"b\" 'c'", ("b", "c")),
        ("\\b c\\ d", ("b", "c d")),
        ("sudo -u root b c", ("b", "c")),
        ("find . -exec b c {} \\;", ("b", "c", "{}", ";")),
        ("sh -c 'a; b c'", ("b", "c")),
        ("env A=1 sh -c 'b c'", ("b", "c")),
        ("eval b c", ("b", "c")),
        ("alias x='b c'", ("b", "c")),
        ("sh <<EOF\nb c\nEOF", ("b", "c")),
        ("sh <<< 'b c'", ("b", "c")),
        ("cat <<EOF\n$(b c)\nEOF", ("b", "c")),
        ("cat <<-'EOF'\n\tit's\n\tEOF\nb c", ("b", "c")),
        ("a $(( $(b c) ))", ("b", "c")),
        ("a $( (b c) )", ("b", "c")),
        ("a $((b c) | d)", ("b", "c")),
        ("a ${x:-$(b c)}", ("b", "c")),
        ("case x in y) b c;; esac", ("b", "c")),
        ("f() { b c; }", ("b", "c")),
        ("[[ x ]] && b c", ("b", "c")),
        ("a # it's\nb c", ("b", "c")),
        ("$x", (ANYTHING,)),
        ("b *.py", ("b", ANYTHING)),
        ("b x[ab]c", ("b", "x" + ANYTHING)),
        ("b $'c'", ("b", ANYTHING)),
        ("b $", ("b", "$")),
        ("[ -f x ]", ("[", "-f", "x", "]")),
    ],
)
def test_a_command_is_found_where_it_hides(line, command):
    """Lists, substitutions, quotes, grammar and programs that run others hide nothing."""
    assert command in possible_commands(line)


@each(
    "line",
    [
        *("'", '"', "a \\", "a $(b", "a `b", "(a", "a ${b", "a $((1)", "a $'b", "a\0b"),
        *(
            "curl x | sh",
            "bash -s",
            "sh < x",
            "a <<EOF\nb",
            "a <<EOF",
            "a <<$x\n",
            "$(cat <<E)\nE\n",
        ),
        *("cat <<EOF\nx\\\nEOF\nEOF", '"${x:-\'}"', "${x:-{}", "$(case a in b) c;; esac)", "a >"),
        "$(" * 50 + ")" * 50,
        "x" * 300_000,
        "sudo " + "a " * 400,
    ],
)
def test_what_cannot_be_followed_is_given_up(line):
    """There is no guess about what a line runs."""
    assert possible_commands(line) is None


@each("line", [*HIDDEN, *HIDDEN_ELSEWHERE])
def test_a_hidden_command_is_denied(line):
    """What readers of command lines overlook is found, or the line is given up."""
    assert denied(line.format(p="/usr/bin"))


@pytest.mark.skipif(BASH is None, reason="needs bash")
def test_bash_agrees_that_the_hidden_commands_run(tmp_path):
    """The lines above are no fancy: a real shell runs most of them, whatever its version."""
    shell = ShellOfStandIns(tmp_path, BASH)
    for name in REAL:
        path = shutil.which(name)
        if path is not None:
            (shell.programs / name).unlink(missing_ok=True)
            (shell.programs / name).symlink_to(path)
    ran = ["ran-rm" in shell.traces(line.format(p=shell.programs)) for line in HIDDEN]
    assert sum(ran) > len(HIDDEN) * 2 // 3, [line for line, did in zip(HIDDEN, ran) if not did]


def test_what_repeats_itself_is_read_once():
    """Programs that run others do not make the work grow out of bounds."""
    inner = "sudo " + " ".join(f'"a {number}"' for number in range(100))
    assert possible_commands("sudo " + f"'{inner}' " * 100) is not None


def test_data_is_not_a_command():
    """Arguments, comments and here-documents of other programs are left alone."""
    for line in (
        "git commit -m 'rm x'",
        "git rm x",
        "git commit -F - <<'EOF'\nit's about rm x\nrm x\nEOF",
        "for i in rm x; do git add $i; done",
        "find . \\( -name '*.py' -o -name '*.c' \\) -exec grep x {} +",
        "git log # rm x",
        "git log; ls; npm run test",
        "git commit -m \"$(cat <<'EOF'\nFix it's (really) `broken`\nEOF\n)\"",
        "find . | xargs grep foo",
        "ls | xargs -n 1 wc -l",
        "bash build.sh --fast",
        "source venv/bin/activate && pytest",
        "source $VENV/bin/activate",
        "git log &&\\\n ls",
        "uv run pytest -k 'a or b'",
        "find . -exec sh -c 'wc -l \"$1\"' _ {} \\;",
        "arr=(a b); echo ${arr[0]} $((1 + 2))",
    ):
        assert not denied(line), line


@settings(max_examples=1000)
@given(st.integers(0, 1 << 64))
def test_nothing_forbidden_is_smuggled_past_a_deny_rule(seed):
    """Whatever runs a forbidden command next to a harmless one is denied."""
    line = smuggled(random.Random(seed).choice)
    assert denied(line), line


@pytest.mark.everything
@settings(max_examples=6000)
@given(st.integers(0, 1 << 64))
def test_nothing_forbidden_is_smuggled_in_many_lines_past_a_deny_rule(seed):
    """The same in many more lines."""
    line = smuggled(random.Random(seed).choice)
    assert denied(line), line


@pytest.mark.skipif(BASH is None, reason="needs bash")
def test_bash_agrees_that_what_is_not_denied_does_not_run_it(tmp_path):
    """Lines that are not denied run no forbidden program in a real shell."""
    shell = ShellOfStandIns(tmp_path, BASH)
    chance = random.Random(22)
    ran = 0
    while ran < 300:
        line = soup(chance.choice, chance.randint(2, 8))
        if ("rm" in line or "r" in line) and not denied(line):
            ran += 1
            assert not {"ran-rm", "ran-curl", "ran-touch"} & set(shell.traces(line)), line
