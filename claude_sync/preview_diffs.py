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
import stat
from typing import Any, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from .wire_fields import flag_of, mapping_of, mappings_of, optional_text_of, text_of

__all__ = ["edit_diff", "notebook_diff", "write_diff"]

MOST_READ = 1024 * 1024
# From here on comparing line by line may take seconds, and fills the screen anyway.
MOST_COMPARED = 3000
# A few replacements of replacements can fill any memory.
MOST_MADE = 8 * MOST_READ
MOST_EDITS = 200
CONTEXT = 3
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
        lines += diff(ended(old), ended(new), shown, numbered=False)
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
        return [problem, *diff("", content, shown)]
    return [*disk.notes, *diff(disk.text, content, shown)]


def notebook_diff(input: Mapping[str, Any], cwd: Optional[str]) -> List[str]:
    """What NotebookEdit does: the source of one cell is replaced, inserted or deleted."""
    path = text_of(input.get("notebook_path"))
    cell_id = optional_text_of(input.get("cell_id"))
    mode = text_of(input.get("edit_mode")) or "replace"
    source = plain_ends(text_of(input.get("new_source")))
    kind = text_of(input.get("cell_type"))
    shown = shown_path(path, cwd)
    if mode == "insert":
        where = f"after cell {cell_id}" if cell_id else "at the beginning"
        title = f"{shown} (new {kind + ' ' if kind else ''}cell {where})"
        return diff(None, ended(source), title)
    title = f"{shown} (cell {cell_id})" if cell_id else shown
    before, problem = cell_source(read_file(path, cwd), cell_id)
    notes = [f"# {problem}"] if problem else []
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
    if found * len(new) > MOST_MADE:
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
    try:
        data, size = read_regular(full)
    except FileNotFoundError:
        return OnDisk(is_new=True)
    except IsADirectoryError:
        return OnDisk(problem="it is a folder")
    except OSError as error:
        return OnDisk(problem=error.strerror or type(error).__name__)
    except ValueError:  # a NUL, or what no file system can encode
        return OnDisk(problem="no file can have this name")
    if len(data) > MOST_READ:
        return OnDisk(problem=f"it is too large ({max(size, len(data)):,} bytes)")
    wide = data.startswith(b"\xff\xfe")
    text = data.decode("utf-16-le" if wide else "utf-8", "replace")
    crlf = "\r\n" in text
    return OnDisk(plain_ends(text), notes=("# The file has CRLF line ends.",) if crlf else ())


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
    """*path* on one line, without the part that is the current folder."""
    if cwd:
        inside = os.path.join(cwd, "")
        if path.startswith(inside) and len(path) > len(inside):
            path = path[len(inside) :]
    if os.name == "nt":
        path = path.replace("\\", "/")
    return path.replace("\n", "\\n").lstrip("/") or "(no file)"


def plain_ends(text: str) -> str:
    """*text* with newlines only."""
    return text.replace("\r\n", "\n")


def ended(text: str) -> str:
    """A piece of a file with a newline at its end, where that tells nothing."""
    return text + "\n" if text and not text.endswith("\n") else text


# Diffs.


def diff(
    before: Optional[str], after: Optional[str], path: str, numbered: bool = True
) -> List[str]:
    """The lines of a unified diff; None is no file at all."""
    old, new = lines_of(before or ""), lines_of(after or "")
    lines = [
        "--- /dev/null" if before is None else f"--- a/{path}",
        "+++ /dev/null" if after is None else f"+++ b/{path}",
    ]
    for group in groups_of(old, new):
        _, old_start, _, new_start, _ = group[0]
        _, _, old_end, _, new_end = group[-1]
        if numbered:
            lines.append(f"@@ -{span(old_start, old_end)} +{span(new_start, new_end)} @@")
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


def groups_of(old: Sequence[str], new: Sequence[str]) -> List[List[Opcode]]:
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
    if old_end - start + new_end - start > MOST_COMPARED:
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
    """The lines of *text* with their newlines; the last one may have none."""
    lines = [line + "\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def marked(lines: List[str], mark: str, added: Sequence[str]) -> None:
    """Add lines of a text to those of a diff."""
    for line in added:
        if line.endswith("\n"):
            lines.append(mark + line[:-1])
        else:
            lines += [mark + line, NO_NEWLINE]


def span(start: int, end: int) -> str:
    """Where a part of a file is, as diffs say it."""
    length = end - start
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"
