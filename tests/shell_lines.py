"""Command lines made at random, and a shell in which only stand-ins can run."""

from __future__ import annotations

import os
import subprocess

HARMLESS = ("git status", "git log -1", "ls", "npm run test", "npm run test unit", "git")
FORBIDDEN = ("rm", "curl", "touch")

# Each surely runs the forbidden command {b}, or tries to, next to the allowed one {a}.
JOININGS = (
    "{a};{b}",
    "{b};{a}",
    "{a}&&{b}",
    "{a} || {b}",
    "{a}|{b}",
    "{b} |& {a}",
    "{a}&{b}",
    "{a}\n{b}",
    "{b}\n{a}\n",
    "{a} \\\n; {b}",
    "{a} $({b})",
    '{a} "$({b})"',
    '{a} "a `{b}` b"',
    "{a} `{b}`",
    "{a} <({b})",
    "{a} >({b})",
    "({b})",
    "{a};({b})",
    "{{ {b}; }}",
    "{a} && {{ {b}\n}}",
    "if {a}; then {b}; fi",
    "if {b}; then {a}; fi",
    "for i in a b; do {b}; done",
    "for i in $({b}); do {a}; done",
    "while {b}; do break; done",
    "until ! {b}; do {a}; break; done",
    "case a in a) {b};; esac",
    "! {b}",
    "time {b}",
    "f() {{ {b}; }}; f",
    "function f {{ {b}; }}; f",
    "{a} ${{x:-$({b})}}",
    "{a} $(( $({b}) ))",
    "{a} <<EOF\n$({b})\nEOF",
    "{a} <<'EOF'\nit's\nEOF\n{b}",
    "{a} <<< $({b})",
    "X=1 {b}",
    "X=$({b}) {a}",
    ">/dev/null {b}",
    "2>&1 {b}",
    "{a} # '\n{b}",
    "{a} '#' ; {b}",
    "{a} \\' ; {b} \\'",
    "{a} 'it'\\''s' ; {b}",
    '{a} "\\"" ; {b} "\\""',
    '{a} "${{x}}" ; {b}',
    "{a} $'\\'' ; {b} #'",
    "[[ a ]] && {b}",
    "eval '{b}'",
    "command {b}",
    "env {b}",
    "env A=1 {b}",
    "nohup {b}",
    "exec {b}",
    "sudo {b}",
    "X={b}; $X",
    "trap '{b}' EXIT",
)
# Each runs rm, or tries to, in a way that a reader of command lines may overlook.
# These also do so in a shell where only stand-ins and the programs of REAL are found;
# {p} is their folder.
HIDDEN = (
    'ls "$\\\n(rm x)"',
    "ls\u00a0#; rm x",
    "ls \v#; rm x",
    "ls \r#; rm x",
    "ls \u2003#; rm x",
    "2\\\n>/dev/null rm x",
    "cat <<E $(\nrm x\n)\nE\n)",
    "ls $(cat <<E\nE)\nrm x\nE\n)",
    "ls ${{x:-<(rm x)}}",
    "false && ls $[ #]; rm x",
    "false && (( #)); rm x\n))",
    "ls $[1<<E]\nrm x\nE]\n",
    "a[1<<2]=3\nrm x\n2]=3",
    "false && a[ #]=1; rm x",
    "env -u for rm x",
    "exec -a for rm x",
    "flock case rm x",
    "echo x | xargs -I case rm case",
    "x=val; e$x 'ls;rm y'",
    "{p}/bas? -c 'ls;rm x'",
    "{p}/../p*/rm x",
    "shopt -s extglob\n{p}/r@(m) x",
    "echo 'rm x' | sh -s foo",
    "echo 'rm x' | bash -o errexit",
    "echo 'rm x' | bash --rcfile y",
    "echo 'rm x' | bash /dev/fd/0",
    "echo 'rm x' | bash 3<<< ls",
    "echo 'rm x' | bash {{f}}<<< ls",
    "bash <<< ls < <(echo rm x)",
    "source /dev/stdin <<< 'rm x'",
    ". <(echo rm x)",
    "echo rm x | xargs env",
    "echo rm x | xargs nice",
    "echo 'rm x' | xargs -I{{}} sh -c '{{}}'",
    "find {p} -name rm -exec {{}} x \\;",
    "find . -maxdepth 0 -exec sh -c 'rm {{}}' \\;",
    "env '-Srm x'",
    "env -Srm x",
    "env --split-string='rm x'",
    "env '-S-Srm x'",
    "env '-Srm\r x'",
    "env -u \rfor rm x",
    "env '-Sa]=1 rm x'",
    "a=(1)#; rm x",
    "a=()b rm x",
    "source rm x",
    "echo 'rm x' | bash -otime errexit",
    "echo 'rm x' | sh -s a -exec",
    "prlimit rm x",
    "rbash -c 'ls;rm x'",
    "hash -p {p}/rm foo; foo x",
    "compgen -C 'rm x'",
    "compgen -W '$(rm x)'",
    "test -v 'a[$(rm x)]'",
    "test -v a[\\$\\(rm\\ x\\)]",
    "test -v $'a[\\x24(rm x)]'",
    "test -v ${{x:-'a[$(rm x)]'}}",
    "[[ 'a[$(rm x)]' -eq 0 ]]",
    "let 'a[$(rm x)]=1'",
    "printf -v 'a[$(rm x)]' y",
    "read 'a[$(rm x)]' <<< y",
    "a=(1); unset 'a[$(rm x)]'",
    "declare -i y='a[$(rm x)]'",
    "declare -n r='a[$(rm x)]'; ls $r",
    "x='a[$(rm x)]'; ls $((x))",
    "x='$(rm x)'; ls ${{x@P}}",
    "PS4='$(rm x)'; set -x; ls",
)
REAL = ("bash", "sh", "cat", "xargs", "env", "find", "flock", "nice", "prlimit", "rbash")
# And these need another shell, or a program that few machines have.
HIDDEN_ELSEWHERE = (
    *("su --command='ls;rm x'", "script -c'ls;rm x'", "ls & wait -n -p 'a[$(rm x)]'", "=rm x"),
    *("ls ${{ rm x; }}", "ls ${{| rm x; }}", "ls ${{(e)x}} $(rm x)", "csh -c 'ls;rm x'"),
    *("tcsh -c 'ls;rm x'", "ksh93 -c 'ls;rm x'", "yash -c 'ls;rm x'", "pwsh -c 'ls;rm x'"),
    *("pkexec rm x", "run0 rm x", "choom -n 1 -- rm x", "genv rm x", "gtimeout 1 rm x"),
    *("valgrind rm x", "perf stat rm x", "tmux new 'ls;rm x'", "screen -dm rm x", "uv run rm x"),
    *("poetry run rm x", "pipenv run rm x", "gosu me rm x", "tini -- rm x", "gnice rm x"),
    *("echo rm | xargs -I% % x", "echo rm x | parallel", "a=1\u2028#; rm x"),
)
BLANKS = (" ", "  ", "\t", " \\\n ", " \\\n")
# Ways to write a name; the shell takes all of them for the same.
SPELLINGS = (
    lambda name: name,
    lambda name: f'"{name}"',
    lambda name: f"'{name}'",
    lambda name: f"\\{name}",
    lambda name: name[0] + "\\" + name[1:],
    lambda name: name[0] + '""' + name[1:],
    lambda name: name[0] + "''" + name[1:],
    lambda name: name[0] + "\\\n" + name[1:],
    lambda name: f"$'{name}'",
    lambda name: f"${{none-{name}}}",
)

PIECES = (
    *("git", "git ", "git status", "ls", "npm run test", "rm x", "curl y", "touch z", "rm", "r"),
    *(" ", " ", "\t", "\n", ";", "&&", "||", "|", "&", "|&", "'", '"', "\\", "\\\n", "$(", ")"),
    *("`", "(", "{ ", " }", "{", "}", "<", "<<EOF\n", "\nEOF\n", ">", "> /dev/null", "2>&1"),
    *(">f", "<<<", "$'", "${x:-", "$x", "${x}", "$((", "))", "#", " # ", "!", "if ", "; then "),
    *("; fi", "case a in a) ", " ;; esac", "for i in a; do ", "; done", "eval ", "command "),
    *("X=1 ", "X=rm;", "$X ", "time ", "env ", "nohup ", "sudo ", "\r", "\v", "*", "?", "[", "]"),
    *(
        "f() { ",
        "; }; f",
        "-",
        "=",
        "\u00a0",
        "\u202e",
        "bash -c ",
        "<<'EOF'\n",
        "x[0]=1 ",
        "[[ a ]] ",
    ),
)


def joined(a, b, choices):
    """One line that runs *b*; *choices* picks among the ways to do it."""
    joining = choices(JOININGS)
    if "'{b}'" in joining or "X={b}" in joining:
        return joining.format(a=a, b=b.split()[0])
    return joining.format(a=a, b=b)


def forbidden_command(choices):
    """A forbidden command, its name written in some way."""
    return choices(SPELLINGS)(choices(FORBIDDEN)) + choices(BLANKS) + "x"


def smuggled(choices):
    """A line that runs a forbidden command somewhere, perhaps deep inside."""
    name = choices(FORBIDDEN)
    line = joined(choices(HARMLESS), f"{name} x", choices)
    if "'" not in line and "eval" not in line:
        line = line.replace(f"{name} x", forbidden_command(choices))
    if choices((True, False, False)) and "EOF" not in line and "#" not in line:
        line = choices(("{a} $(\n{b}\n)", "(\n{b}\n)", "{{ {b}\n}}", "{a} && {b}")).format(
            a=choices(HARMLESS), b=line
        )
    return line


def soup(choices, length):
    """Pieces of shell grammar in no order."""
    return "".join(choices(PIECES) for _ in range(length))


class ShellOfStandIns:
    """Runs lines in a folder of their own, where only the programs below are found."""

    def __init__(self, folder, shell):
        self.shell = shell
        self.programs = folder / "programs"
        self.work = folder / "work"
        self.marker = folder / "marker"
        self.programs.mkdir()
        self.work.mkdir()
        for name in ("git", "ls", "npm"):
            self.program(name, "exit 0")
        for name in FORBIDDEN:
            self.program(name, f"echo ran-{name} >> '{self.marker}'")
        for name in ("env", "nohup", "sudo"):
            self.program(name, 'exec "$@"')

    def program(self, name, body):
        """Make a program."""
        path = self.programs / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)

    def traces(self, line):
        """What a line left behind: files, and forbidden programs that ran."""
        subprocess.run(
            [self.shell, "-c", line],
            cwd=self.work,
            env={"PATH": str(self.programs)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=60,
            check=False,
        )
        left = sorted(os.listdir(self.work))
        for name in left:
            (self.work / name).unlink()
        if self.marker.exists():
            left += self.marker.read_text().split()
            self.marker.unlink()
        return left
