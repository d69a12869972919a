"""
Diffs for the tools that change files: what is on disk against what would be there.

The file is only looked at: regular files, at most :data:`MOST_READ` bytes of
them, and nothing that could make a reader wait, such as a pipe. Where the file
cannot tell what would happen, a line that begins with ``#`` says so and the
replacement is shown by itself. Line ends are compared as ``\\n``: the CLI too
finds texts in files that have others.
"""

from __future__ import annotations

import difflib
import os
import re
import stat
from typing import Any, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from ..messages.fields import flag_of, mapping_of, mappings_of, optional_text_of, text_of

__all__ = ["edit_diff", "notebook_diff", "write_diff"]

MOST_READ = 1024 * 1024
# From here on comparing line by line may take seconds, and fills the screen anyway.
MOST_COMPARED = 3000
# A few replacements of replacements can fill any memory.
MOST_MADE = 8 * MOST_READ
MOST_EDITS = 200
# Lines are taken apart up to here; what follows them is one piece.
MOST_LINES = 50_000
MOST_MARKED = 1000
CONTEXT = 3
# What is there is made when it is read.
SYSTEM_FOLDERS = re.compile(r"/+(?:proc|sys|dev)(?:/|\Z)", re.IGNORECASE)
NO_NEWLINE = "\\ No newline at end of file"


class OnDisk(NamedTuple):
    """What there is at a path: a text, nothing (``is_new``), or a reason why it is unknown."""

    text: Optional[str] = None
    is_new: bool = False
    problem: str = ""
    notes: Tuple[str, ...] = ()


# Tools. Each returns the lines of the preview.


def edit_diff(path: str, edits: Sequence[Mapping[str, Any]], cwd: Optional[str]) -> List[str]:
    """What Edit and MultiEdit do: texts in a file are replaced, one after the other."""
    disk = read_file(path, cwd)
    before = "" if disk.is_new else disk.text
    # Without an old text the first edit makes the file.
    creates = bool(edits) and disk.is_new and not text_of(edits[0].get("old_string"))
    notes = list(disk.notes)
    if before is None:
        notes.append(f"# The file cannot be read here: {disk.problem}.")
    elif disk.is_new and not creates:
        notes.append("# There is no such file.")
        before = None
    after = before
    lost: List[Tuple[str, str]] = []
    for number, edit in enumerate(edits, 1):
        old = plain_ends(text_of(edit.get("old_string")))
        new = plain_ends(text_of(edit.get("new_string")))
        name = f"edit {number}: " if len(edits) > 1 else ""
        if after is not None and number <= MOST_EDITS:
            changed, problem = replaced(after, old, new, flag_of(edit.get("replace_all")))
            if problem:
                notes.append(f"# {name}{problem}")
            if changed is not None:
                after = changed
                continue
        lost.append((old, new))
    shown = shown_path(path, cwd)
    lines: List[str] = []
    if after is not None and (after != before or creates):
        lines += diff(None if disk.is_new else before, after, shown)
    for old, new in lost:
        # What comes later is not shown anyway, so it need not be compared.
        compared = len(lines) < MOST_COMPARED
        lines += diff(ended(old), ended(new), shown, numbered=False, compared=compared)
    return notes + (lines or [f"# {shown}: nothing changes."])


def write_diff(input: Mapping[str, Any], cwd: Optional[str]) -> List[str]:
    """What Write does: a file gets another content as a whole."""
    path = text_of(input.get("file_path"))
    disk = read_file(path, cwd)
    content = plain_ends(text_of(input.get("content")))
    shown = shown_path(path, cwd)
    if disk.text == content:
        return [*disk.notes, f"# {shown}: the text stays the same."]
    if disk.text is None and not disk.is_new:
        problem = f"# What is there now cannot be read here: {disk.problem}."
        return [*disk.notes, problem, *diff("", content, shown)]
    return [*disk.notes, *diff(disk.text, content, shown)]


def notebook_diff(input: Mapping[str, Any], cwd: Optional[str]) -> List[str]:
    """What NotebookEdit does: the source of one cell is replaced, inserted or deleted."""
    path = text_of(input.get("notebook_path"))
    cell_id = optional_text_of(input.get("cell_id"))
    mode = text_of(input.get("edit_mode")) or "replace"
    source = plain_ends(text_of(input.get("new_source")))
    kind = text_of(input.get("cell_type"))
    shown = shown_path(path, cwd)
    disk = read_file(path, cwd)
    if mode == "insert":
        where = f"after cell {cell_id}" if cell_id else "at the beginning"
        title = f"{shown} (new {kind + ' ' if kind else ''}cell {where})"
        return [*disk.notes, *diff(None, ended(source), title)]
    title = f"{shown} (cell {cell_id})" if cell_id else shown
    before, problem = cell_source(disk, cell_id)
    notes = [*disk.notes, *([f"# {problem}"] if problem else [])]
    if mode == "delete":
        if before is None:
            return [*notes, f"# Delete: {title}"]
        return notes + diff(ended(before), None, title)
    if mode != "replace":
        notes.append(f"# The edit mode {mode!r} is unknown.")
    if before == source:
        return [*notes, f"# {title}: the source stays the same."]
    known = before is not None
    return notes + diff(ended(before or ""), ended(source), title, numbered=known)


def cell_source(disk: OnDisk, cell_id: Optional[str]) -> Tuple[Optional[str], str]:
    """The source of a cell, or None and why it is not known."""
    if disk.text is None:
        return None, "There is no such file." if disk.is_new else (
            f"The notebook cannot be read here: {disk.problem}."
        )
    import json

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


# Files.


def read_file(path: str, cwd: Optional[str]) -> OnDisk:
    """What is at *path*; never waits and never raises."""
    if not path:
        return OnDisk(problem="the call names no file")
    full = os.path.join(cwd, path) if cwd else path
    # Merely asking for such a path would send the user's credentials to that computer.
    if os.name == "nt" and full.replace("/", "\\").startswith("\\\\"):
        return OnDisk(problem="it is on another computer")
    notes: Tuple[str, ...] = ()
    try:
        if is_of_the_system(full):
            return OnDisk(problem="it is no file on a disk")
        notes = link_notes(full, shown_path(path, cwd), cwd)
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
    wide = data.startswith(b"\xff\xfe")
    text = data.decode("utf-16-le" if wide else "utf-8", "replace")
    if "\r\n" in text:
        notes = (*notes, "# The file has CRLF line ends.")
    return OnDisk(plain_ends(text), notes=notes)


def is_of_the_system(path: str) -> bool:
    """Whether a path leads to devices or processes, which may do something when they are read."""
    if os.name == "nt":
        return False
    # Loaded here because few programs ever show a diff.
    from .paths import touches_processes

    places = (os.path.normpath(path), os.path.realpath(path))
    if any(SYSTEM_FOLDERS.match(place) for place in places):
        return True
    return touches_processes(os.path.join(os.getcwd(), path))


def link_notes(path: str, shown: str, cwd: Optional[str]) -> Tuple[str, ...]:
    """A line that tells where a link leads; nothing for a path without one."""
    real = os.path.realpath(path)
    plain = os.path.abspath(path)
    if cwd:
        # A folder of the session that is reached through a link is nothing to tell.
        inside = os.path.join(os.path.abspath(cwd), "")
        if plain.startswith(inside):
            plain = os.path.join(os.path.realpath(cwd), plain[len(inside) :])
    if os.path.normcase(real) == os.path.normcase(plain):
        return ()
    words = "is a link to" if os.path.islink(path) else "leads through a link to"
    target = real.replace("\n", "\\n")
    return (f"# {shown} {words} {target}",)


def read_regular(path: str) -> Tuple[bytes, int]:
    """The first bytes of a regular file, and its size."""
    check_regular(os.stat(path))  # before: opening a device may already do something
    flags = os.O_RDONLY
    for name in ("O_NONBLOCK", "O_CLOEXEC", "O_BINARY", "O_NOCTTY"):
        flags |= getattr(os, name, 0)
    number = os.open(path, flags)
    with open(number, "rb", buffering=0) as file:
        status = os.fstat(number)
        check_regular(status)  # after: it may be another file by now
        data = b""
        while len(data) <= MOST_READ:
            piece = file.read(MOST_READ + 1 - len(data))
            if not piece:
                break
            data += piece
    return data, status.st_size


def check_regular(status: os.stat_result) -> None:
    """Raise for what is no regular file."""
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError
    if not stat.S_ISREG(status.st_mode):
        raise OSError(0, "it is no regular file")


def shown_path(path: str, cwd: Optional[str]) -> str:
    """*path* on one line: relative if it is in the current folder, else in full."""
    if cwd and path and "\0" not in path:
        inside = os.path.join(os.path.normpath(cwd), "")
        path = os.path.normpath(os.path.join(cwd, path))
        if path.startswith(inside) and len(path) > len(inside):
            path = path[len(inside) :]
    if os.name == "nt":
        path = path.replace("\\", "/")
    return path.replace("\n", "\\n") or "(no file)"


def titled(side: str, path: str) -> str:
    """The name of a file in a diff; a letter before a path in full would make it another."""
    return path if os.path.isabs(path) else f"{side}/{path}"


def plain_ends(text: str) -> str:
    """*text* with newlines only."""
    return text.replace("\r\n", "\n")


def ended(text: str) -> str:
    """A piece of a file with a newline at its end, where that tells nothing."""
    return text + "\n" if text and not text.endswith("\n") else text


# Diffs.


def diff(
    before: Optional[str],
    after: Optional[str],
    path: str,
    numbered: bool = True,
    compared: bool = True,
) -> List[str]:
    """The lines of a unified diff; None is no file at all."""
    old, new = lines_of(before or ""), lines_of(after or "")
    lines = [
        "--- /dev/null" if before is None else f"--- {titled('a', path)}",
        "+++ /dev/null" if after is None else f"+++ {titled('b', path)}",
    ]
    for group in groups_of(old, new, compared):
        _, old_start, _, new_start, _ = group[0]
        _, _, old_end, _, new_end = group[-1]
        if numbered:
            old_span = span(old_start, old_end, uncounted(old, old_end))
            new_span = span(new_start, new_end, uncounted(new, new_end))
            lines.append(f"@@ -{old_span} +{new_span} @@")
        else:
            lines.append("@@")
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                marked(lines, " ", old[i1:i2])
            else:
                marked(lines, "-", old[i1:i2])
                marked(lines, "+", new[j1:j2])
    return lines


Opcode = Tuple[str, int, int, int, int]


def groups_of(old: Sequence[str], new: Sequence[str], compared: bool) -> List[List[Opcode]]:
    """The changes with some lines around them. Only what lies between them is compared."""
    shorter = min(len(old), len(new))
    head = 0
    while head < shorter and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < shorter - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    start, rest = max(0, head - CONTEXT), max(0, tail - CONTEXT)
    old_end, new_end = len(old) - rest, len(new) - rest
    if not compared or old_end - start + new_end - start > MOST_COMPARED:
        group: List[Opcode] = [
            ("equal", start, head, start, head),
            ("replace", head, len(old) - tail, head, len(new) - tail),
            ("equal", len(old) - tail, old_end, len(new) - tail, new_end),
        ]
        return [group]
    matcher = difflib.SequenceMatcher(None, old[start:old_end], new[start:new_end])
    return [
        [(tag, i1 + start, i2 + start, j1 + start, j2 + start) for tag, i1, i2, j1, j2 in group]
        for group in matcher.get_grouped_opcodes(CONTEXT)
    ]


def lines_of(text: str) -> List[str]:
    """
    The lines of *text* with their newlines; the last one may have none.

    Of very many lines the last one holds all that are left.
    """
    lines = [line + "\n" for line in text.split("\n", MOST_LINES)]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def uncounted(lines: Sequence[str], end: int) -> int:
    """How many lines the last one holds besides its first, if *end* is behind it."""
    if end < len(lines) or len(lines) <= MOST_LINES:
        return 0
    return lines[-1][:-1].count("\n")


def marked(lines: List[str], mark: str, added: Sequence[str]) -> None:
    """Add lines of a text to those of a diff."""
    for line in added:
        ends = line.endswith("\n")
        # More than one only where there are more than can be shown.
        lines += [mark + each for each in (line[:-1] if ends else line).split("\n", MOST_MARKED)]
        if not ends:
            lines.append(NO_NEWLINE)


def span(start: int, end: int, more: int = 0) -> str:
    """Where a part of a file is, as diffs say it."""
    length = end - start + more
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"
