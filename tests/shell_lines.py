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
