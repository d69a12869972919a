"""
Find the ``claude`` command: the words that start it, or every place looked at.

Asked in this order; what the caller names must exist, the rest are guesses:

1. the ``cli`` option: a path, a name on PATH, or the words that start it;
2. the environment variable ``CLAUDE_CODE_PATH``: a path or a name on PATH;
3. ``PATH``;
4. the binary inside an installed ``claude-agent-sdk``, which is not imported;
5. the folders installers use.

The current folder is never searched: a project must not be able to bring its
own ``claude``. On Windows a real ``claude.exe`` is taken before the scripts npm
installs, and those are never run themselves: cmd.exe parses the arguments of a
``.cmd`` a second time, so a ``&`` in a prompt would start another command. What
such a script would start is looked up and started directly.
"""

from __future__ import annotations

import os
from typing import List, Mapping, Optional, Sequence, Union

from ...errors import CliNotFound
from .environment import variable

__all__ = ["find_cli"]

SCRIPTS_FOR_NODE = (".js", ".cjs", ".mjs")
SHIMS = (".cmd", ".bat", ".ps1")
SCRIPT = "cli.js"
PACKAGE = os.path.join("@anthropic-ai", "claude-code")

USUAL_FOLDERS = (
    "~/.local/bin",
    "~/.claude/local",
    "~/.claude/local/node_modules/.bin",
    "~/.npm-global/bin",
    "~/.bun/bin",
    "~/.volta/bin",
    "~/.yarn/bin",
    "~/node_modules/.bin",
    "/opt/homebrew/bin",
    "/usr/local/bin",
    "/usr/bin",
)
# Beside ~, folders that variables name.
USUAL_WINDOWS_FOLDERS = (
    "~/.local/bin",
    "~/.claude/local",
    "~/.bun/bin",
    "APPDATA/npm",
    "LOCALAPPDATA/Programs/claude",
    "LOCALAPPDATA/pnpm",
)


def find_cli(
    cli: Union[str, os.PathLike[str], Sequence[str], None],
    environ: Mapping[str, str],
    *,
    windows: Optional[bool] = None,
) -> List[str]:
    """
    The words that start the CLI, the first of them an absolute path.

    Args:
        cli: The option of that name.
        environ: The environment the CLI will get; PATH and the home folder are
            taken from it.
        windows: Whether to follow the rules of Windows; None asks the system.

    Raises:
        CliNotFound: Its ``searched`` tells, for each place, why not.

    """
    search = Search(environ, os.name == "nt" if windows is None else windows)
    if cli is not None:
        if isinstance(cli, (str, os.PathLike)):
            found = search.named(os.fspath(cli), "cli")
            rest: List[str] = []
        else:
            found = search.named(cli[0], "cli[0]")
            rest = list(cli[1:])
    else:
        rest = []
        named = variable(environ, "CLAUDE_CODE_PATH", search.windows)
        if named is not None:
            found = search.named(named, "CLAUDE_CODE_PATH")
        else:
            found = search.on_path("claude") or search.installed_sdk() or search.usual_folders()
    if found is None:
        raise CliNotFound(search.searched)
    return found + rest


class Search:
    """One search: where it looked, and why not. Every method returns argv or None."""

    def __init__(self, environ: Mapping[str, str], windows: bool) -> None:
        self.environ = environ
        self.windows = windows
        self.searched: List[str] = []

    def named(self, name: str, origin: str) -> Optional[List[str]]:
        """What the caller named: a path if it has a folder in it, else a name on PATH."""
        separators = "/\\" if self.windows else "/"
        expanded = self.in_home(name)
        is_script = expanded.lower().endswith(SCRIPTS_FOR_NODE)
        if any(separator in expanded for separator in separators) or is_script:
            # Absolute, because the CLI starts in another folder than ours.
            return self.usable(os.path.abspath(expanded), f"{origin}: ")
        return self.on_path(expanded, f"{origin}: ")

    def on_path(self, name: str, origin: str = "") -> Optional[List[str]]:
        """*name* in the folders of PATH."""
        folders = self.path_folders()
        for candidate in self.file_names(name):
            for folder in folders:
                place = os.path.join(folder, candidate)
                if os.path.lexists(place):
                    found = self.usable(place, origin)
                    if found is not None:
                        return found
        listed = ", ".join(folders) if folders else "it names no folder"
        self.searched.append(f"{origin}{name!r} on PATH: missing ({listed})")
        return None

    def installed_sdk(self) -> Optional[List[str]]:
        """The binary in an installed claude-agent-sdk."""
        folder = installed_package("claude_agent_sdk")
        if folder is None:
            self.searched.append("Python package claude-agent-sdk: not installed")
            return None
        name = "claude.exe" if self.windows else "claude"
        return self.usable(os.path.join(folder, "_bundled", name))

    def usual_folders(self) -> Optional[List[str]]:
        """The folders installers use."""
        for folder in USUAL_WINDOWS_FOLDERS if self.windows else USUAL_FOLDERS:
            first, _, rest = folder.partition("/")
            if first.isupper():
                base = variable(self.environ, first, self.windows)
                if base is None:
                    continue
                folder = os.path.join(base, *rest.split("/"))
            if self.in_home(folder) in self.path_folders():
                continue  # it was looked at
            places = [
                os.path.join(self.in_home(folder), name) for name in self.file_names("claude")
            ]
            for place in list(filter(os.path.lexists, places)) or places[:1]:
                found = self.usable(place)
                if found is not None:
                    return found
        return None

    def path_folders(self) -> List[str]:
        """The folders of PATH."""
        path = variable(self.environ, "PATH", self.windows) or ""
        # A relative entry, the empty one included, depends on the current folder.
        entries = path.split(";" if self.windows else ":")
        return [entry for entry in entries if os.path.isabs(entry)]

    def file_names(self, name: str) -> List[str]:
        """The files that *name* can mean, the best first."""
        if not self.windows or os.path.splitext(name)[1]:
            return [name]
        return [name + extension for extension in (".exe", ".cmd", ".bat", ".ps1", "")]

    def usable(self, place: str, origin: str = "") -> Optional[List[str]]:
        """How *place* is started, or None and a note why it cannot be."""
        extension = os.path.splitext(place)[1].lower()
        if not os.path.exists(place):
            reason = "missing"
            if os.path.lexists(place):
                reason = "a link to a file that is missing"
        elif os.path.isdir(place):
            reason = "a folder, not a program"
        elif extension in SCRIPTS_FOR_NODE:
            return self.with_node(place, origin)
        elif self.windows and (extension in SHIMS or not extension):
            return self.behind_shim(place, origin)
        elif not self.windows and not os.access(place, os.X_OK):
            reason = "not executable (chmod +x helps)"
        else:
            return [place]
        self.searched.append(f"{origin}{place}: {reason}")
        return None

    def behind_shim(self, shim: str, origin: str) -> Optional[List[str]]:
        """What the npm script *shim* would start (Windows)."""
        folder = os.path.dirname(shim)
        # A global installation has its packages below the script; in
        # node_modules/.bin they are beside that folder.
        for packages in (os.path.join(folder, "node_modules"), os.path.dirname(folder)):
            for program in (os.path.join("bin", "claude.exe"), SCRIPT):
                place = os.path.join(packages, PACKAGE, program)
                if os.path.isfile(place):
                    return [place] if program != SCRIPT else self.with_node(place, origin, folder)
        self.searched.append(
            f"{origin}{shim}: a script, which cannot be run safely, and the package it starts "
            "is not beside it (set cli= or CLAUDE_CODE_PATH to claude.exe or to cli.js)"
        )
        return None

    def with_node(self, script: str, origin: str, *folders: str) -> Optional[List[str]]:
        """*script*, run by the Node in *folders* or on PATH."""
        name = "node.exe" if self.windows else "node"
        for folder in (*folders, *self.path_folders()):
            place = os.path.join(folder, name)
            if os.path.isfile(place) and (self.windows or os.access(place, os.X_OK)):
                return [place, script]
        self.searched.append(f"{origin}{script}: needs {name}, which is not on PATH")
        return None

    def in_home(self, path: str) -> str:
        """*path* with a leading ~ replaced by the home folder of the CLI's environment."""
        if path != "~" and not path.startswith(("~/", "~\\")):
            return path
        name = "USERPROFILE" if self.windows else "HOME"
        home = variable(self.environ, name, self.windows) or os.path.expanduser("~")
        return os.path.join(home, *path[2:].split("/"))


def installed_package(name: str) -> Optional[str]:
    """The folder of an installed top-level package, which is not imported for that."""
    from importlib.util import find_spec  # needed in few programs

    try:
        spec = find_spec(name)
    except (ImportError, ValueError):  # a broken installation is no reason to fail
        return None
    if spec is None or not spec.submodule_search_locations:
        return None
    return next(iter(spec.submodule_search_locations))
