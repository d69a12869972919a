"""
Patterns like those of ``.gitignore`` against the paths that tools name.

Where a pattern begins: ``//x`` at the root of the file system, ``~/x`` in the
home folder, ``/x``, ``./x`` and ``a/x`` in the folder the CLI runs in, and ``x``,
which has no slash, anywhere below that folder. ``*`` and ``?`` stay within one
name, ``**`` spans folders, ``[a-c]`` is one character of a set.

Allowing is strict and denying is generous. An allowed path is resolved first,
links and ``..`` included, and every reading of it must match, with its case. A
denied path matches as given or resolved, in any case. What changes between the
decision and the moment the tool opens the file is out of reach.
"""

from __future__ import annotations

import os
import re
import unicodedata
from typing import Any, Dict, Iterator, List, Optional, Tuple

from ..errors import UsageError
from .path_patterns import PathPattern

__all__ = ["FilePattern"]

# The tools that take paths, and the key of the path each one needs.
PATH_KEYS = {
    "Read": "file_path",
    "Edit": "file_path",
    "Write": "file_path",
    "MultiEdit": "file_path",
    "NotebookEdit": "notebook_path",
    "NotebookRead": "notebook_path",
    "Grep": "path",
    "Glob": "path",
    "LS": "path",
}
# They look into folders, and take the current one where none is named.
FOLDER_TOOLS = frozenset(("Grep", "Glob", "LS"))

WILDCARDS = frozenset("*?[\\")

# Longer ones no file has; to compare them would only take time.
LONGEST_PATH = 4096
LONGEST_NAME = 255
MOST_LINKS = 40
# What these lead to differs from process to process, and the CLI is another one.
OF_PROCESSES = re.compile(r"/(?:proc|dev/(?:fd|std(?:in|out|err)))(?:/|\Z)", re.IGNORECASE)


class FilePattern:
    """The part in parentheses of a rule such as ``Read(src/**)``."""

    def __init__(self, text: str) -> None:
        """*text* as written; raises ``UsageError`` where it can match nothing."""
        if not text.isprintable():
            raise UsageError(
                f"the file pattern {text!r} has characters that cannot be seen. "
                "Write it with printable characters only."
            )
        self.text = text
        self.anchor, rest = split_anchor(text)
        self.folder_only = rest.endswith("/")
        self.names: List[str] = []
        for name in rest.split("/"):
            repeated = name == "**" and self.names[-1:] == ["**"]
            if name not in ("", ".") and not repeated:
                self.names.append(name)
        if not self.names:
            raise UsageError(
                f"the file pattern {text!r} names no file. Write for example 'src/**', or '/**' "
                "for everything in the folder."
            )
        if ".." in self.names or text.startswith("!"):
            raise UsageError(
                f"the file pattern {text!r} cannot be used: '..' and '!' have no meaning here. "
                "Write the whole path after two slashes, for example '//home/me/project/**'."
            )
        if not self.anchor and "/" not in rest.rstrip("/") and self.names != ["**"]:
            self.names.insert(0, "**")
        try:
            PathPattern(self.names, "no")
            PathPattern([folded(name) for name in self.names], "no")
        except re.error:
            raise UsageError(
                f"the set in square brackets in the file pattern {text!r} makes no sense. "
                "Write for example '[a-z]'."
            ) from None
        # How many names at the beginning are plain.
        self.plain = next(
            (at for at, name in enumerate(self.names) if WILDCARDS & set(name)), len(self.names)
        )

    def allows(self, tool: str, given: Dict[str, Any], cwd: str) -> bool:
        """Whether every file that the tool may touch with this input surely matches."""
        paths = paths_of(tool, given)
        if paths is None or not is_absolute(cwd):
            return False
        if tool == "Glob" and not stays_below(given.get("pattern")):
            return False
        if tool == "Glob":
            # Its plain beginning may be a link that leads elsewhere.
            paths += [os.path.join(path, plain_head(given["pattern"])) for path in paths]
        # Who searches a folder reads everything in it.
        whole_folders = tool not in FOLDER_TOOLS or self.covers_folders()
        try:
            if any(is_too_long(path) or touches_processes(path, cwd) for path in paths):
                return False
            base, pattern = self.strict_pattern(cwd, tool)
            return all(
                matches_below(slashed(resolved), base, pattern)
                and (whole_folders or os.path.isfile(resolved))
                for path in paths
                for resolved in resolutions(path, cwd)
            )
        except ValueError:  # a name that cannot be looked up
            return False

    def may_match(self, tool: str, given: Dict[str, Any], cwd: str) -> bool:
        """Whether some file that the tool may touch with this input matches, in any reading."""
        key = PATH_KEYS[tool]
        paths = [given[each] for each in set(PATH_KEYS.values()) if each in given]
        if key not in given:
            if tool not in FOLDER_TOOLS:
                return True  # what it touches is not known
            paths.append(cwd)
        if tool == "Glob":
            folder, pattern = given.get("path", ""), given.get("pattern")
            if not isinstance(folder, str) or not isinstance(pattern, str):
                return True
            paths.append(os.path.join(folder, pattern))
        if not is_absolute(cwd):
            return True
        try:
            return any(self.may_match_path(tool, path, cwd) for path in paths)
        except ValueError:
            return True

    def may_match_path(self, tool: str, path: Any, cwd: str) -> bool:
        """Whether one path matches in any reading of it."""
        if not isinstance(path, str) or "\0" in path or is_too_long(path):
            return True
        # Which file it names there depends on the process that opens it.
        if touches_processes(os.path.expanduser(path.strip()), cwd):
            return True
        readings = [folded(slashed(each)) for each in lenient_resolutions(path, cwd)]
        for base, names in self.bases(cwd):
            place = folded(slashed(base)).rstrip("/")
            whole = names[-1] == "**"
            pattern = PathPattern(
                [folded(name) for name in (names[:-1] if whole else names)],
                "only" if whole else "too",
            )
            if any(matches_below(reading, place, pattern) for reading in readings):
                return True
            # A search in a folder also reads what lies below it.
            if tool == "Grep" and not os.path.isfile(os.path.join(cwd, path)):
                plain = names[: max(0, self.plain - (len(self.names) - len(names)))]
                place = folded(slashed(os.path.join(base, *plain))).rstrip("/") + "/"
                for reading in readings:
                    above = reading.rstrip("/") + "/"
                    if place.startswith(above) or above.startswith(place):
                        return True
        return False

    def root(self, cwd: str) -> str:
        """The folder where the pattern begins, as written."""
        if self.anchor == "//":
            return os.path.abspath(os.sep)
        return os.path.expanduser("~") if self.anchor == "~/" else cwd

    def covers_folders(self) -> bool:
        """
        Whether what lies in a folder that matches is allowed as well.

        So it is for a plain name. A wildcard stands for what it matches alone:
        ``*.md`` should not open a folder that somebody calls ``x.md``.
        """
        last = self.names[-1]
        return self.folder_only or last == "**" or not WILDCARDS & set(last)

    def strict_pattern(self, cwd: str, tool: str) -> Tuple[str, PathPattern]:
        """The folder below which resolved paths are allowed, and which of them are."""
        root, names = self.root(cwd), list(self.names)
        if self.anchor == "//":
            # Named from the root on, so its links are meant. A link inside the project
            # is not: it would extend the rule to wherever the link leads.
            resolved = min(self.plain, len(names) - 1)
            root = os.path.join(root, *names[:resolved])
            del names[:resolved]
        base = slashed(os.path.realpath(root)).rstrip("/")
        folder_too = tool in FOLDER_TOOLS
        if names[-1] == "**":
            return base, PathPattern(names[:-1], "too" if folder_too else "only")
        if self.folder_only and not folder_too:
            return base, PathPattern(names, "only")
        return base, PathPattern(names, "too" if self.covers_folders() else "no")

    def bases(self, cwd: str) -> Iterator[Tuple[str, List[str]]]:
        """The folders where the pattern may begin for a deny, and what it has below them."""
        root = self.root(cwd)
        yield os.path.abspath(root), self.names
        yield os.path.realpath(root), self.names
        head, tail = self.names[: self.plain], self.names[self.plain :]
        if tail:
            yield os.path.realpath(os.path.join(root, *head)), tail


def split_anchor(text: str) -> Tuple[str, str]:
    """Where a pattern begins, "" for a pattern without a sign of it, and the rest."""
    if text.startswith("//"):
        return "//", re.sub(r"\A([A-Za-z]):", r"\1", text.lstrip("/"))
    for anchor in ("~/", "./", "/"):
        if text.startswith(anchor):
            return anchor, text[len(anchor) :]
    return "", text


def paths_of(tool: str, given: Dict[str, Any]) -> Optional[List[str]]:
    """The paths of a tool's input; None where one is missing or strange."""
    paths = [given[key] for key in sorted(set(PATH_KEYS.values())) if key in given]
    if PATH_KEYS[tool] not in given:
        if tool not in FOLDER_TOOLS:
            return None
        paths.append(".")
    for path in paths:
        # Tools strip blanks and expand the tilde, or not, from version to version.
        if not isinstance(path, str) or not path.isprintable() or path != path.strip():
            return None
        if not path or path.startswith("~"):
            return None
        if os.name == "nt" and re.search(r"[. ](?:[\\/]|\Z)|:", path[2:]):
            return None  # names that Windows silently changes, and streams
    return paths


def stays_below(pattern: Any) -> bool:
    """Whether a glob finds only files below the folder where it begins."""
    if not isinstance(pattern, str) or not pattern.isprintable() or pattern != pattern.strip():
        return False
    if "\\" in pattern or "(" in pattern or ":" in pattern:
        return False
    # Braces and sets can spell two dots and a leading slash, too.
    if re.search(r"(?:\A|[{,])[/~]", pattern):
        return False
    return ".." not in re.sub(r"[{},\[\]!^]", "", pattern)


def plain_head(pattern: str) -> str:
    """The names at the beginning of a glob that have no wildcards."""
    found = re.match(r"(?:[^*?\[\]{}/]+(?:/+|\Z))*", pattern)
    return found.group() if found else ""


def matches_below(path: str, base: str, pattern: PathPattern) -> bool:
    """Whether a path is in a folder, or is it, and the rest of it matches."""
    return (path == base or path.startswith(base + "/")) and pattern.matches(path[len(base) :])


def is_too_long(path: str) -> bool:
    """Whether no file can have this path."""
    return len(path) > LONGEST_PATH or any(
        len(os.fsencode(name)) > LONGEST_NAME for name in re.split(r"[/\\]", path)
    )


def touches_processes(path: str, cwd: str) -> bool:
    """Whether a path, or a link on the way, leads through what belongs to a process."""
    if os.name == "nt":
        return False
    joined = os.path.join(cwd, path)
    return leads_to_processes(joined) or leads_to_processes(os.path.normpath(joined))


def leads_to_processes(path: str) -> bool:
    """The same for an absolute path in one of its readings."""
    waiting = path.split("/")[::-1]
    reached, links = "", 0
    while waiting:
        name = waiting.pop()
        if name in ("", "."):
            continue
        if name == "..":
            reached = os.path.dirname(reached).rstrip("/")
            continue
        following = f"{reached}/{name}"
        if OF_PROCESSES.match(following):
            return True
        try:
            target = os.readlink(following)
        except OSError:  # no link, or nothing at all
            reached = following
            continue
        links += 1
        if links > MOST_LINKS:
            return False  # nobody can open it
        if target.startswith("/"):
            reached = ""
        waiting += target.split("/")[::-1]
    return False


def is_absolute(path: Any) -> bool:
    """Whether it is the absolute path of a folder."""
    try:
        return os.path.isabs(path) and b"\0" not in os.fsencode(path)
    except (TypeError, ValueError):  # no path, or one that the file system cannot have
        return False


def resolutions(path: str, cwd: str) -> Iterator[str]:
    """The files that a path may name: ``..`` behind a link is read in two ways."""
    joined = os.path.join(cwd, path)
    yield os.path.realpath(joined)
    yield os.path.realpath(os.path.normpath(joined))


def lenient_resolutions(path: str, cwd: str) -> Iterator[str]:
    """Everything that a path may name, or may be called."""
    for spelling in {path, path.strip(), os.path.expanduser(path.strip())}:
        joined = os.path.join(cwd, spelling)
        yield os.path.normpath(joined)
        yield from resolutions(spelling, cwd)
        folder, name = os.path.split(os.path.normpath(joined))
        yield os.path.join(os.path.realpath(folder), name)


def slashed(path: str) -> str:
    """A path with forward slashes, and a drive as its first name."""
    if os.name != "nt":
        # Two slashes at the beginning survive normalization, for reasons of history.
        return re.sub(r"\A//+", "/", path)
    drive, rest = os.path.splitdrive(path)
    return ("/" + drive[:1].lower() if drive else "") + rest.replace("\\", "/")


def folded(text: str) -> str:
    """A text as file systems compare it that ignore case and composition."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())
