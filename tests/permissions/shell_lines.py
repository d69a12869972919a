"""Command lines for the tests: those in the files beside this one, and more of them at random."""

from __future__ import annotations

from pathlib import Path

HARMLESS = ("git status", "git log -1", "ls", "npm run test", "npm run test unit", "git")
FORBIDDEN = ("rm", "curl", "touch")
BLANKS = (" ", "  ", "\t", " \\\n ", " \\\n")
# Ways to write a name; the shell takes all of them for the same.
SPELLINGS = (
    *("{0}{1}", '"{0}{1}"', "'{0}{1}'", "\\{0}{1}", "{0}\\{1}", '{0}""{1}', "{0}''{1}"),
    *("{0}\\\n{1}", "$'{0}{1}'", "${{none-{0}{1}}}"),
)


def sections(name):
    """The rows of a file, by the headings above them; escapes are as in Python."""
    found = {}
    rows = []
    for row in Path(__file__).with_name(name).read_text(encoding="utf-8").split("\n"):
        if row.startswith("== "):
            rows = found[row[3:]] = []
        elif row and not row.startswith("# "):
            rows.append(row.encode("ascii").decode("unicode_escape"))
    return found


DAILY = sections("daily_lines.txt")
LINES = sections("shell_lines.txt")


def joined(a, b, choices):
    """One line that runs *b*; *choices* picks among the ways to do it."""
    joining = choices(LINES["joinings"])
    if "'{b}'" in joining or "X={b}" in joining:
        return joining.format(a=a, b=b.split()[0])
    return joining.format(a=a, b=b)


def smuggled(choices):
    """A line that runs a forbidden command somewhere, perhaps deep inside."""
    name = choices(FORBIDDEN)
    line = joined(choices(HARMLESS), f"{name} x", choices)
    if "'" not in line and "eval" not in line:
        spelled = choices(SPELLINGS).format(name[0], name[1:]) + choices(BLANKS) + "x"
        line = line.replace(f"{name} x", spelled)
    if choices((True, False, False)) and "EOF" not in line and "#" not in line:
        line = choices(("{a} $(\n{b}\n)", "(\n{b}\n)", "{{ {b}\n}}", "{a} && {b}")).format(
            a=choices(HARMLESS), b=line
        )
    return line


def attempt(chance):
    """A line that tries to run what is forbidden, made in one of several ways."""
    kind = chance.randrange(5)
    if kind == 0:
        return smuggled(chance.choice)
    if kind < 3:
        start = chance.choice(HARMLESS) if kind == 1 else ""
        return start + "".join(chance.choices(LINES["pieces"], k=chance.randint(1, 8)))
    by_hand = LINES[chance.choice(("hidden", "tried"))]
    line = chance.choice(by_hand) if kind == 3 else joined("ls", "rm x", chance.choice)
    for _ in range(chance.randint(0, 3)):
        start = chance.randint(0, len(line))
        end = min(len(line), start + chance.choice((0, 0, 0, 1, 2)))
        line = line[:start] + chance.choice(LINES["pieces"]) + line[end:]
    return line
