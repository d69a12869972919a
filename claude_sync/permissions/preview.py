"""
What a tool call would do, as lines for the person who is asked to allow it.

A diff for what changes files, a command line for the shell, and readable text for the rest. What
is most telling comes first: the command before what Claude says about it, short fields before
long ones. Whatever the call contains, a preview

* is made: nothing in it raises, and no file in it makes the reader wait;
* is short: what does not fit is left out of the middle, of lines and of the text, and counted;
* is harmless: characters that could move a cursor, change a colour, turn the direction of text or
  hide are shown as escapes, so that what one reads is what is there.
"""

from __future__ import annotations

import difflib
import itertools
import json
import os
import re
import stat
from typing import Any, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from ..messages.fields import (
    flag_of,
    mapping_of,
    mappings_of,
    optional_number_of,
    optional_text_of,
    text_of,
)
from ..support.text import visible
from .paths import touches_processes
from .questions import questions_of

__all__ = ["DIFFS", "MAX_CHARACTERS", "MAX_LINES", "Line", "preview", "preview_lines", "shown"]

MAX_LINES = 400
MAX_CHARACTERS = 20_000
# With everything in it: more than anybody reads, and less than fills a memory.
MOST_LINES = 20_000
MOST_CHARACTERS = 1_000_000
# A line of a minified file would take the place of everything else.
LONGEST_LINE = 2_000
# What fits on a line of its own together with its name.
SHORT = 100
# More of a title or of what Claude says about a call is no help to anybody.
LONGEST_TITLE = 200
# What is pushed out of sight is told.
MANY_BLANKS = re.compile(r"[ \t\u3000]{100,}")

HUNK = re.compile(r"([-+])([0-9]+)")
MOST_READ = 1024 * 1024
# From here on comparing line by line may take seconds, and fills the screen anyway.
MOST_COMPARED = 3000
# A few replacements of replacements can fill any memory.
MOST_MADE = 8 * MOST_READ
MOST_EDITS = 200
CONTEXT = 3
# What is there is made when it is read.
SYSTEM_FOLDERS = re.compile(r"/+(?:proc|sys|dev)(?:/|\Z)", re.IGNORECASE)

Input = Mapping[str, Any]


class Line(NamedTuple):
    """
    A line of a preview.

    Attributes:
        kind: ``added``, ``removed``, ``hunk``, ``note`` or ``plain``.
        text: The line.

    """

    kind: str
    text: str


def preview(tool: str, input: Input, cwd: Optional[str] = None, full: bool = False) -> str:
    """The lines of :func:`preview_lines` as a text."""
    return "\n".join(line.text for line in preview_lines(tool, input, cwd, full))


def preview_lines(
    tool: str, input: Input, cwd: Optional[str] = None, full: bool = False
) -> Tuple[Line, ...]:
    """
    What *tool* would do with *input*. Never raises.

    Args:
        tool: The name of the tool, as the CLI gives it.
        input: What it is called with.
        cwd: The folder of the session, against which relative paths are read.
        full: Whether to show all fields as they came, with nothing left out that can be read.

    """
    name = tool if isinstance(tool, str) else text_of(tool)
    try:
        if full and isinstance(input, Mapping):
            lines = [note(name), *pairs(input)]
        else:
            lines = lines_of_call(name, input, cwd if isinstance(cwd, str) else None)
    except Exception:  # A person still has to decide about it.
        lines = [note(f"{name}: its input cannot be shown.")]
    return bounded(lines, full)


def lines_of_call(tool: str, input: Any, cwd: Optional[str]) -> List[Line]:
    """The lines of a preview, however many and however long."""
    if not isinstance(input, Mapping):
        return [*block(tool), *block(json_text(input), "  ")]
    if tool in DIFFS and isinstance(input.get(DIFFS[tool]), str):
        return changes(tool, input, cwd)
    if tool == "Bash" and isinstance(input.get("command"), str):
        return command(input)
    lines = questions(input) if tool == "AskUserQuestion" else []
    _, server, name = (*tool.split("__", 2), "", "")[:3]
    head = f"{server}: {name or '?'}" if tool.startswith("mcp__") else tool
    return lines or [*block(head), *pairs(input)]


def command(input: Input) -> List[Line]:
    """A command of the shell, and below it what Claude says about it."""
    lines = block(input["command"], "  ", "$ ")
    about = text_of(input.get("description"))
    if about.strip():
        lines.append(note(f"# Claude says: {shown(about)}"))
    timeout = optional_number_of(input.get("timeout"))
    if timeout is not None:
        lines.append(note(f"# stopped after {timeout / 1000:g} s"))
    if flag_of(input.get("run_in_background")):
        lines.append(note("# in the background"))
    if flag_of(input.get("dangerouslyDisableSandbox")):
        lines.append(note("# outside the sandbox"))
    known = ("command", "description", "timeout", "run_in_background", "dangerouslyDisableSandbox")
    others = {key: value for key, value in input.items() if key not in known}
    return lines + [note("#" + line.text[1:]) for line in pairs(others)]


def questions(input: Input) -> List[Line]:
    """Questions to the person, with their options."""
    lines: List[Line] = []
    for number, question in enumerate(questions_of(input), 1):
        head = f"[{question.header}] " if question.header else ""
        several = " (several answers are possible)" if question.multi_select else ""
        lines += block(f"{head}{question.text}{several}", "   ", f"{number}. ")
        for option in question.options:
            about = f": {option.description}" if option.description else ""
            lines += block(option.label + about, "     ", "   - ")
    return lines


# Changes of files.

# The tools that change files, and the field without which there is nothing to compare.
DIFFS = {
    "Edit": "file_path",
    "MultiEdit": "file_path",
    "Write": "file_path",
    "NotebookEdit": "notebook_path",
}


class OnDisk(NamedTuple):
    """What there is at a path: a text, nothing (``is_new``), or a reason why it is unknown."""

    text: Optional[str] = None
    is_new: bool = False
    problem: str = ""
    notes: Tuple[Line, ...] = ()


def changes(tool: str, input: Input, cwd: Optional[str]) -> List[Line]:
    """The diff of a tool that changes a file."""
    path = text_of(input.get(DIFFS[tool]))
    name = shown_path(path, cwd)
    disk = read_file(path, name, cwd)
    if tool == "NotebookEdit":
        lines = cell_lines(input, disk, name)
    elif tool == "Write":
        lines = written_lines(plain_ends(text_of(input.get("content"))), disk, name)
    else:
        # Only the field that the tool looks at: another one could show something else.
        edits = mappings_of(input.get("edits")) if tool == "MultiEdit" else (input,)
        lines = edit_lines(edits, disk, name)
    return [*disk.notes, *lines]


def written_lines(content: str, disk: OnDisk, name: str) -> List[Line]:
    """What Write does: a file gets another content as a whole."""
    if disk.text == content:
        return [note(f"# {name}: the text stays the same.")]
    if disk.problem:
        problem = note(f"# What is there now cannot be read here: {disk.problem}.")
        return [problem, *diff("", content, name)]
    return diff(disk.text, content, name)


def edit_lines(edits: Sequence[Input], disk: OnDisk, name: str) -> List[Line]:
    """What Edit and MultiEdit do: texts in a file are replaced, one after the other."""
    notes: List[Line] = []
    before = "" if disk.is_new else disk.text
    # Without an old text the first edit makes the file.
    creates = bool(edits) and disk.is_new and not text_of(edits[0].get("old_string"))
    if disk.problem:
        notes.append(note(f"# The file cannot be read here: {disk.problem}."))
    elif disk.is_new and not creates:
        notes.append(note("# There is no such file."))
        before = None
    after = before
    lost: List[Line] = []
    for number, edit in enumerate(edits, 1):
        old, new = (plain_ends(text_of(edit.get(key))) for key in ("old_string", "new_string"))
        if after is not None and number <= MOST_EDITS:
            changed, problem = replaced(after, old, new, flag_of(edit.get("replace_all")))
            if problem:
                notes.append(note(f"# {f'edit {number}: ' if len(edits) > 1 else ''}{problem}"))
            if changed is not None:
                after = changed
                continue
        if len(lost) < MOST_COMPARED:  # what comes later is not shown anyway
            lost += diff(ended(old), ended(new), name, is_whole=False)
    lines: List[Line] = []
    if after is not None and (after != before or creates):
        lines = diff(None if disk.is_new else before, after, name)
    return notes + (lines + lost or [note(f"# {name}: nothing changes.")])


def replaced(text: str, old: str, new: str, every: bool) -> Tuple[Optional[str], str]:
    """*text* after an edit, or None where it cannot be made; and what is wrong with it."""
    if not old:
        if text:
            return None, "The old text is empty, but the file is not: the edit would fail."
        return new, ""
    found = text.count(old)
    times = found if every else min(found, 1)
    if times and len(text) + times * (len(new) - len(old)) > max(MOST_MADE, len(text)):
        return None, f"The old text is there {found:,} times: too much to show."
    if not found:
        return None, "The old text is not in the file: the edit would fail."
    if found > 1 and not every:
        problem = f"The old text is there {found:,} times: the edit would fail. Shown is the first."
        return text.replace(old, new, 1), problem
    return text.replace(old, new), ""


def cell_lines(input: Input, disk: OnDisk, name: str) -> List[Line]:
    """What NotebookEdit does: the source of one cell is replaced, inserted or deleted."""
    cell_id = optional_text_of(input.get("cell_id"))
    mode = text_of(input.get("edit_mode")) or "replace"
    source = "" if mode == "delete" else plain_ends(text_of(input.get("new_source")))
    where = f"cell {cell_id}" if cell_id else "cell"
    before, problem = ("", "") if mode == "insert" else cell_source(disk, cell_id)
    notes = [note(f"# {problem}")] if problem else []
    if mode == "insert":
        kind = text_of(input.get("cell_type"))
        where = f"new {kind} cell " + (f"after {where}" if cell_id else "at the beginning")
    elif mode != "replace":
        where = f"{mode} {where}"
    title = one_line(f"{name} ({where})")
    if before == source:
        return [*notes, note(f"# {title}: the source stays the same.")]
    return notes + diff(ended(before or ""), ended(source), title, is_whole=before is not None)


def cell_source(disk: OnDisk, cell_id: Optional[str]) -> Tuple[Optional[str], str]:
    """The source of a cell, or None and why it is not known."""
    if disk.text is None:
        return None, "There is no such file." if disk.is_new else (
            f"The notebook cannot be read here: {disk.problem}."
        )
    try:
        cells = mappings_of(mapping_of(json.loads(disk.text)).get("cells"))
    except (ValueError, RecursionError):
        return None, "The file is no notebook."
    if cell_id is None:
        return None, "The call does not say which cell."
    # Cells of old notebooks have no ids: the CLI calls them by their number.
    for index, cell in enumerate(cells):
        if optional_text_of(cell.get("id")) == cell_id or cell_id == f"cell-{index}":
            source = cell.get("source")
            if isinstance(source, list):
                source = "".join(map(text_of, source))
            return plain_ends(text_of(source)), ""
    return None, f"There is no cell {cell_id}."


def diff(before: Optional[str], after: str, name: str, is_whole: bool = True) -> List[Line]:
    """
    A unified diff. *before* is None where there is no file yet.

    Unless *is_whole*, the texts are parts of a file, and where they stand in it is not known.
    """
    if before is None:
        return [note(f"new file {name}"), *body(after, "+", "added")]
    # A letter before a path in full would make it the path of another file.
    before_name, after_name = (name if os.path.isabs(name) else f"{x}/{name}" for x in "ab")
    lines = [Line("plain", f"--- {before_name}"), Line("plain", f"+++ {after_name}")]
    if len(before) + len(after) > MOST_MADE:
        lines.append(note("# Too long to be compared."))
        return [*lines, *body(before, "-", "removed"), *body(after, "+", "added")]
    for line in hunks(with_ends(before), with_ends(after)):
        if line.startswith("@@"):
            lines.append(Line("hunk", line.rstrip("\n") if is_whole else "@@"))
            continue
        kind = {"+": "added", "-": "removed"}.get(line[0], "plain")
        lines.append(Line(kind, line[:-1] if line.endswith("\n") else line))
        if not line.endswith("\n"):
            lines.append(note("\\ No newline at end of file"))
    return lines


def hunks(old: List[str], new: List[str]) -> Iterator[str]:
    """The changes with some lines around them. Only what lies between them is compared."""
    head = same_lines(old, new)
    tail = same_lines(old[head:][::-1], new[head:][::-1])
    first, rest = max(0, head - CONTEXT), max(0, tail - CONTEXT)
    old, new = old[first : len(old) - rest], new[first : len(new) - rest]
    made = difflib.unified_diff(old, new, n=CONTEXT)
    if len(old) + len(new) > MOST_COMPARED:
        header = f"@@ -{first + 1},{len(old)} +{first + 1},{len(new)} @@"
        made = iter(["", "", header, *("-" + line for line in old), *("+" + line for line in new)])
    for line in itertools.islice(made, 2, None):
        if line.startswith("@@"):
            line = HUNK.sub(lambda found: f"{found[1]}{int(found[2]) + first}", line)
        yield line


def same_lines(old: List[str], new: List[str]) -> int:
    """How many lines they begin with that are the same."""
    pairs = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(old, new))
    return sum(1 for _ in pairs)


def with_ends(text: str) -> List[str]:
    """The lines of *text* with their newlines; the last one may have none."""
    lines = [line + "\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def plain_ends(text: str) -> str:
    """*text* with newlines only: the CLI, too, finds texts in files that have other line ends."""
    return text.replace("\r\n", "\n")


def ended(text: str) -> str:
    """A piece of a file with a newline at its end, where that tells nothing."""
    return text + "\n" if text and not text.endswith("\n") else text


# Files. They are only looked at: regular ones, and not too much of them.


def read_file(path: str, name: str, cwd: Optional[str]) -> OnDisk:
    """What is at *path*; never waits and never raises."""
    if not path:
        return OnDisk(problem="the call names no file")
    full = os.path.join(cwd or os.getcwd(), path)
    # Merely asking for such a path would send the user's credentials to that computer.
    if os.name == "nt" and full.replace("/", "\\").startswith("\\\\"):
        return OnDisk(problem="it is on another computer")
    notes: Tuple[Line, ...] = ()
    try:
        if is_of_the_system(full):
            return OnDisk(problem="it is not a file on a disk")
        notes = link_notes(full, name, cwd)
        data, size = read_regular(full)
    except FileNotFoundError:
        return OnDisk(is_new=True, notes=notes)
    except IsADirectoryError:
        return OnDisk(problem="it is a folder", notes=notes)
    except OSError as error:
        return OnDisk(problem=error.strerror or type(error).__name__, notes=notes)
    except ValueError:  # a NUL, or what no file system can encode
        return OnDisk(problem="no file can have this name", notes=notes)
    if len(data) > MOST_READ:
        size = max(size, len(data))
        return OnDisk(problem=f"it is too large ({size:,} bytes)", notes=notes)
    text = data.decode("utf-16-le" if data.startswith(b"\xff\xfe") else "utf-8", "replace")
    if "\r\n" in text:
        notes = (*notes, note("# The file has CRLF line ends."))
    return OnDisk(plain_ends(text), notes=notes)


def is_of_the_system(path: str) -> bool:
    """Whether a path leads to devices or processes, which may do something when they are read."""
    if os.name == "nt":
        return False
    places = (os.path.normpath(path), os.path.realpath(path))
    return any(map(SYSTEM_FOLDERS.match, places)) or touches_processes(path)


def link_notes(path: str, name: str, cwd: Optional[str]) -> Tuple[Line, ...]:
    """A line that tells where a link leads; nothing for a path without one."""
    real, plain = os.path.realpath(path), [os.path.abspath(path)]
    if cwd:
        # A folder of the session that is reached through a link is nothing to tell.
        plain.append(os.path.normpath(os.path.join(os.path.realpath(cwd), relative(path, cwd))))
    if os.path.normcase(real) in map(os.path.normcase, plain):
        return ()
    return (note(f"# {name} leads through a link to {one_line(real)}"),)


def relative(path: str, cwd: str) -> str:
    """*path* from *cwd* on if it is below, else in full."""
    inside = os.path.join(os.path.abspath(cwd), "")
    path = os.path.normpath(os.path.join(inside, path))
    return path[len(inside) :] if path.startswith(inside) else path


def read_regular(path: str) -> Tuple[bytes, int]:
    """The first bytes of a regular file, and its size. No pipe is waited for."""
    flags = os.O_RDONLY
    for name in ("O_NONBLOCK", "O_CLOEXEC", "O_BINARY", "O_NOCTTY"):
        flags |= getattr(os, name, 0)
    if stat.S_ISDIR(os.stat(path).st_mode):
        raise IsADirectoryError
    with open(os.open(path, flags), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError(0, "it is no regular file")
        return file.read(MOST_READ + 1), status.st_size


def shown_path(path: str, cwd: Optional[str]) -> str:
    """*path* on one line: relative if it is in the folder of the session, else in full."""
    if cwd and path and "\0" not in path:
        path = relative(path, cwd)
    return one_line(path.replace("\\", "/") if os.name == "nt" else path) or "(no file)"


# Values.


def pairs(input: Input) -> List[Line]:
    """Every field on a line, or on several lines below its name; short ones first."""
    fields = [
        (one_line(str(key)), value if isinstance(value, str) else json_text(value))
        for key, value in input.items()
    ]
    lines: List[Line] = []
    for name, text in sorted(fields, key=lambda field: "\n" in field[1] or len(field[1]) > SHORT):
        if "\n" in text:
            lines += [*block(f"  {name}:"), *block(text, "    ")]
        else:
            lines += block(f"  {name}: {text}")
    return lines


def json_text(value: Any) -> str:
    """*value* as JSON, on several lines where it is long."""
    try:
        text = json.dumps(value, ensure_ascii=False)
        return text if len(text) <= SHORT else json.dumps(value, ensure_ascii=False, indent=2)
    except (TypeError, ValueError, RecursionError):
        return "(cannot be shown)"


def note(text: str) -> Line:
    """A line about the call, on one line."""
    return Line("note", one_line(text))


def block(text: str, by: str = "", first: Optional[str] = None, kind: str = "plain") -> List[Line]:
    """The lines of *text* behind *by*, the first one behind *first*."""
    head, *lines = text.split("\n", MOST_LINES)
    if len(lines) == MOST_LINES:
        # Of very many, those of the middle stay one text: nobody sees it, and it is counted.
        lines += lines.pop().rsplit("\n", MOST_LINES)
    prefix = by if first is None else first
    return [Line(kind, prefix + head), *(Line(kind, by + line) for line in lines)]


def body(text: str, mark: str, kind: str) -> List[Line]:
    """The lines of a file behind a mark."""
    return block(text[:-1] if text.endswith("\n") else text, mark, kind=kind) if text else []


def one_line(text: str) -> str:
    """*text* without newlines."""
    return text.replace("\n", "\\n")


def shown(text: str) -> str:
    """*text* on one line, harmless and not too long."""
    line = harmless(" ".join(text[: 10 * LONGEST_TITLE].split()), 10 * LONGEST_TITLE)
    return line if len(line) <= LONGEST_TITLE else line[: LONGEST_TITLE - 3] + "..."


# The size and the characters of a preview.


def bounded(lines: Sequence[Line], full: bool) -> Tuple[Line, ...]:
    """As many of the lines as there is room for, harmless; what is left out is of the middle."""
    most_lines = MOST_LINES if full else MAX_LINES
    most = MOST_CHARACTERS if full else MAX_CHARACTERS
    longest = most // 2 if full else LONGEST_LINE
    head = beginning(lines, most_lines, most, longest)
    if len(head) == len(lines):
        return tuple(head)
    head = beginning(lines, most_lines * 3 // 4, most * 3 // 4, longest)
    rest = lines[len(head) :]
    tail = beginning(rest[::-1], most_lines // 4 - 1, most // 4 - SHORT, longest)[::-1]
    left = sum(line.text.count("\n") + 1 for line in rest[: len(rest) - len(tail)])
    return (*head, note(f"... {left:,} more line{'' if left == 1 else 's'} ..."), *tail)


def beginning(lines: Sequence[Line], most_lines: int, most: int, longest: int) -> List[Line]:
    """So many of the lines as fit, harmless."""
    kept: List[Line] = []
    for line in lines[:most_lines]:
        kept.append(Line(line.kind, harmless(line.text, longest)))
        most -= len(kept[-1].text) + 1
        if most < 0:
            return kept[:-1]
    return kept


def harmless(line: str, longest: int = LONGEST_LINE) -> str:
    """A line without anything that a terminal would obey, and not too long."""
    line = MANY_BLANKS.sub(lambda found: f" ... {len(found[0]):,} blanks ... ", line)
    return shortened(visible(shortened(line, longest), keep="\t"), longest + SHORT)


def shortened(line: str, longest: int) -> str:
    """A line without its middle, if it is too long; its end may be what matters."""
    left = len(line) - longest
    if left <= 0:
        return line
    return f"{line[: longest * 3 // 4]} ... {left:,} more characters ... {line[-longest // 4 :]}"
