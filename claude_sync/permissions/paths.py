"""
Patterns like those of ``.gitignore`` against the paths that tools name.

Where a pattern begins: ``//x`` at the root of the file system, ``~/x`` in the home folder, ``/x``,
``./x`` and ``a/x`` in the folder the CLI was started in, and ``x``, which has no slash, anywhere
below that folder. ``*`` and ``?`` stay within one name, ``**`` spans folders, ``[a-c]`` is one
character of a set.

Allowing is strict and denying is generous. An allowed path is absolute, is resolved first, links
and ``..`` included, and every reading of it must match, with its case. A denied path matches as
given or resolved, in any case. A path that is not absolute may be anywhere, because Claude can
change the folder of the CLI: it is never allowed, and always denied; newer CLIs write the whole
path before they ask. What changes between the decision and the moment the tool opens the file is
out of reach.
"""

from __future__ import annotations

import os
import re
import unicodedata
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

from ..errors import UsageError
from .globs import Glob, Token, name_glob

__all__ = ["PATH_KEYS", "FilePattern", "slashed"]

# The tools that take paths, and the key of the path each one needs.
PATH_KEYS = {
    **dict.fromkeys(("Read", "Edit", "Write", "MultiEdit"), "file_path"),
    **dict.fromkeys(("NotebookEdit", "NotebookRead"), "notebook_path"),
    **dict.fromkeys(("Grep", "Glob", "LS"), "path"),
}
KEYS = tuple(sorted(set(PATH_KEYS.values())))
# They look into folders.
FOLDER_TOOLS = frozenset(("Grep", "Glob", "LS"))
WILDCARDS = frozenset("*?[\\")

# Longer ones no file has; to compare them would only take time.
LONGEST_PATH = 4096
LONGEST_NAME = 255
MOST_LINKS = 40
# What these lead to differs from process to process, and the CLI is another one.
OF_PROCESSES = re.compile(r"/(?:proc|dev/(?:fd|std(?:in|out|err)))(?:/|\Z)", re.IGNORECASE)
ANCHOR = re.compile(r"//+|~/|\./|/|")


# What a pattern says about the rest of a path: there is none, there may be some, there must be.
ENDS: Tuple[Token, ...] = ()
MAY_GO_ON: Tuple[Token, ...] = (None,)
MUST_GO_ON: Tuple[Token, ...] = (bool, None)


def glob_of(names: Sequence[str], rest: Tuple[Token, ...]) -> Glob:
    """Names below a folder, where ``**`` stands for any number of them, and what follows."""
    tokens: List[Token] = []
    for name in names:
        wild = None if name == "**" else name_glob(name)
        tokens.append(wild if WILDCARDS & set(name) else name)
    return Glob([*tokens, *rest])


def matches_below(glob: Glob, path: str, base: str) -> bool:
    """Whether a path is in a folder, or is it, and the rest of it matches."""
    is_below = path == base or path.startswith(base + "/")
    return is_below and glob.matches(filter(None, path[len(base) :].split("/")))


class FilePattern:
    """The part in parentheses of a rule such as ``Read(src/**)``."""

    def __init__(self, text: str) -> None:
        """*text* as written; raises ``UsageError`` where it can match nothing."""
        anchor = ANCHOR.match(text)
        self.anchor = anchor.group()[:2] if anchor else ""
        rest = text[anchor.end() if anchor else 0 :]
        if self.anchor == "//":
            rest = re.sub(r"\A([A-Za-z]):", r"\1", rest)
        self.folder_only = rest.endswith("/")
        self.names = [name for name in rest.split("/") if name not in ("", ".")]
        problem = ""
        if not text.isprintable():
            problem = "has characters that cannot be seen. Write it with printable characters only"
        elif not self.names:
            problem = "names no file. Write for example 'src/**', or '/**' for all of the folder"
        elif ".." in self.names or text.startswith("!"):
            problem = (
                "cannot be used: '..' and '!' have no meaning here. Write the whole path after two "
                "slashes, for example '//home/me/project/**'"
            )
        else:
            try:
                glob_of([folded(name) for name in self.names], ENDS)
            except re.error:
                problem = "has square brackets that make no sense. Write for example '[a-z]'"
        if problem:
            raise UsageError(f"the file pattern {text!r} {problem}.")
        if not self.anchor and "/" not in rest.rstrip("/") and self.names != ["**"]:
            self.names.insert(0, "**")
        # How many names at the beginning are plain.
        wild = (at for at, name in enumerate(self.names) if WILDCARDS & set(name))
        self.plain = next(wild, len(self.names))

    def allows(self, tool: str, given: Dict[str, Any], cwd: str) -> bool:
        """Whether every file that the tool may touch with this input surely matches."""
        paths = paths_of(tool, given)
        if paths is None or not is_absolute(cwd):
            return False
        if tool == "Glob":
            if not stays_below(given.get("pattern")):
                return False
            # Its plain beginning may be a link that leads elsewhere.
            paths += [os.path.join(path, plain_head(given["pattern"])) for path in paths]
        try:
            if any(is_too_long(path) or touches_processes(path) for path in paths):
                return False
            base, glob = self.strict_pattern(cwd, tool)
            # Who searches a folder reads everything in it.
            whole_folders = tool not in FOLDER_TOOLS or self.covers_folders()
            return all(
                matches_below(glob, slashed(resolved), base)
                and (whole_folders or os.path.isfile(resolved))
                for path in paths
                for resolved in resolutions(path)
            )
        except (OSError, ValueError):  # a name that cannot be looked up
            return False

    def may_match(self, tool: str, given: Dict[str, Any], cwd: str) -> bool:
        """Whether some file that the tool may touch with this input matches, in any reading."""
        if PATH_KEYS[tool] not in given:
            return True  # it looks into the current folder, which may be any
        paths = [given[key] for key in KEYS if key in given]
        if tool == "Glob":
            pattern = given.get("pattern")
            if not isinstance(pattern, str) or not isinstance(given["path"], str):
                return True
            paths.append(os.path.join(given["path"], pattern))
        try:
            return not is_absolute(cwd) or any(self.may_be(tool, path, cwd) for path in paths)
        except (OSError, ValueError):
            return True

    def may_be(self, tool: str, path: Any, cwd: str) -> bool:
        """Whether one path matches in any reading of it."""
        # Some CLIs trim what JavaScript takes for blanks, which nobody sees.
        if not isinstance(path, str) or not path.isprintable() or not os.path.isabs(path):
            return True
        if is_too_long(path) or touches_processes(path):
            return True
        readings = [folded(slashed(each)) for each in lenient_resolutions(path)]
        for base, names in self.bases(cwd):
            place = folded(slashed(base)).rstrip("/")
            whole = names[-1] == "**"
            folded_names = [folded(name) for name in (names[:-1] if whole else names)]
            glob = glob_of(folded_names, MUST_GO_ON if whole else MAY_GO_ON)
            if any(matches_below(glob, reading, place) for reading in readings):
                return True
            # A search in a folder also reads what lies below it.
            if tool == "Grep" and not os.path.isfile(path):
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

        So it is for a plain name. A wildcard stands for what it matches alone: ``*.md`` should
        not open a folder that somebody calls ``x.md``.
        """
        last = self.names[-1]
        return self.folder_only or last == "**" or not WILDCARDS & set(last)

    def strict_pattern(self, cwd: str, tool: str) -> Tuple[str, Glob]:
        """The folder below which resolved paths are allowed, and which of them are."""
        root, names = self.root(cwd), list(self.names)
        if self.anchor == "//":
            # Named from the root on, so its links are meant. A link inside the project is not: it
            # would extend the rule to wherever the link leads.
            resolved = min(self.plain, len(names) - 1)
            root = os.path.join(root, *names[:resolved])
            del names[:resolved]
        base = slashed(os.path.realpath(root)).rstrip("/")
        folder_too = tool in FOLDER_TOOLS
        if names[-1] == "**":
            return base, glob_of(names[:-1], MAY_GO_ON if folder_too else MUST_GO_ON)
        if self.folder_only and not folder_too:
            return base, glob_of(names, MUST_GO_ON)
        return base, glob_of(names, MAY_GO_ON if self.covers_folders() else ENDS)

    def bases(self, cwd: str) -> Iterator[Tuple[str, List[str]]]:
        """The folders where the pattern may begin for a deny, and what it has below them."""
        root = self.root(cwd)
        yield os.path.abspath(root), self.names
        yield os.path.realpath(root), self.names
        head, tail = self.names[: self.plain], self.names[self.plain :]
        if tail:
            yield os.path.realpath(os.path.join(root, *head)), tail


def paths_of(tool: str, given: Dict[str, Any]) -> Optional[List[str]]:
    """The paths of a tool's input; None where one is missing, relative or strange."""
    if PATH_KEYS[tool] not in given:
        return None
    paths = [given[key] for key in KEYS if key in given]
    for path in paths:
        if not isinstance(path, str) or not path.isprintable() or path != path.strip():
            return None
        if not os.path.isabs(path):
            return None
        if os.name == "nt" and re.search(r"[. ](?:[\\/]|\Z)|:", path[2:]):
            return None  # names that Windows silently changes, and streams
    return paths


def stays_below(pattern: Any) -> bool:
    """Whether a glob finds only files below the folder where it begins."""
    if not isinstance(pattern, str) or not pattern.isprintable() or pattern != pattern.strip():
        return False
    # Braces and sets can spell two dots and a leading slash, too.
    if set("\\(:") & set(pattern) or re.search(r"(?:\A|[{,])[/~]", pattern):
        return False
    return ".." not in re.sub(r"[{},\[\]!^]", "", pattern)


def plain_head(pattern: str) -> str:
    """The names at the beginning of a glob that have no wildcards."""
    found = re.match(r"(?:[^*?\[\]{}/]+(?:/+|\Z))*", pattern)
    return found.group() if found else ""


def is_too_long(path: str) -> bool:
    """Whether no file can have this path."""
    return len(path) > LONGEST_PATH or any(
        len(os.fsencode(name)) > LONGEST_NAME for name in re.split(r"[/\\]", path)
    )


def touches_processes(path: str) -> bool:
    """Whether a path, or a link on the way, leads through what belongs to a process."""
    readings = (path, os.path.normpath(path)) if os.name != "nt" else ()
    return any(leads_to_processes(each, MOST_LINKS) for each in readings)


def leads_to_processes(path: str, links: int) -> bool:
    """The same for one reading of a path, with so many links followed at most."""
    reached, names = "/", path.split("/")
    for at, name in enumerate(names):
        following = "/" + os.path.normpath(f"/{reached}/{name}").lstrip("/")
        if OF_PROCESSES.match(following):
            return True
        if os.path.islink(following):
            target = os.path.join(reached, os.readlink(following), *names[at + 1 :])
            return links > 0 and leads_to_processes(target, links - 1)
        reached = following
    return False


def is_absolute(path: Any) -> bool:
    """Whether it is the absolute path of a folder."""
    try:
        return os.path.isabs(path) and b"\0" not in os.fsencode(path)
    except (TypeError, ValueError):  # no path, or one that the file system cannot have
        return False


def resolutions(path: str) -> Iterator[str]:
    """The files that a path may name: ``..`` behind a link is read in two ways."""
    yield os.path.realpath(path)
    yield os.path.realpath(os.path.normpath(path))


def lenient_resolutions(path: str) -> Iterator[str]:
    """Everything that a path may name, or may be called."""
    for spelling in {path, path.strip()}:
        normal = os.path.normpath(spelling)
        yield normal
        yield from resolutions(spelling)
        folder, name = os.path.split(normal)
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
