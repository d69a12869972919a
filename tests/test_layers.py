"""Who may import whom: every import of every file, wherever it stands, goes one way."""

import ast
from functools import cache
from pathlib import Path

import claude_sync

HOME = Path(claude_sync.__file__).parent

# From the ground up. A package imports from those above its own line, here, and from itself.
LAYERS = (
    ("errors",),
    ("support",),
    ("log",),
    ("messages",),
    ("protocol",),
    ("options", "prompts", "schema"),
    ("permissions", "hooks", "tools"),
    ("engine",),
    ("client",),
    ("sessions",),
    ("render",),
    ("batch",),
    ("gui", "notebook", "bridge"),
    ("testing",),
    ("cli",),
)
RANKS = {name: rank for rank, names in enumerate(LAYERS) for name in names}

# Folders and modules that do not stand in their package yet, and the package they belong to.
NOT_IN_PLACE = {
    "cli": "__main__",
    "permissions": "policies",  # a documented import path
    "render": "exports markup",  # documented import paths
}
HOMES = {name: home for home, names in NOT_IN_PLACE.items() for name in names.split()}

# Commands, which may import the command line; single files of other layers.
EXCEPTIONS = {
    "bridge/__main__.py -> cli/__init__.py",
    "gui/__main__.py -> cli/common.py",
    # What shows an answer is found when somebody looks.
    "messages/display.py -> render/repr.py",
    "messages/display.py -> render/timeline.py",
    # For the types of the answer and the result that an error carries.
    "errors.py -> messages/answer.py",
}
FILES = {
    "batch/command.py": "cli",
    "bridge/command.py": "cli",
}

# Imports against the layers that are still there. This list only ever gets shorter.
KNOWN: set[str] = set()


@cache
def sources():
    """The files of the package, by their names in it, with their syntax trees."""
    return {
        path.relative_to(HOME).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(HOME.rglob("*.py"))
    }


def package_of(name):
    """The package that a file belongs to; None for the files that belong to none."""
    top = name.split("/")[0].removesuffix(".py")
    return FILES.get(name) or HOMES.get(top, top if top in RANKS else None)


def file_of(parts):
    """The file of a dotted name inside the package, or None."""
    path = "/".join(parts)
    for name in (f"{path}.py", f"{path}/__init__.py".lstrip("/")):
        if name in sources():
            return name
    return None


def imports_of(name):
    """The files of the package that a file imports from, anywhere in it."""
    for node in ast.walk(sources()[name]):
        if isinstance(node, ast.Import):
            inner = [alias.name for alias in node.names if alias.name.startswith("claude_sync.")]
            found = [each.split(".")[1:] for each in inner]
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                folder = name.split("/")[:-1]
                base = folder[: len(folder) - node.level + 1]
            elif (node.module or "").split(".")[0] == "claude_sync":
                base = []
            else:
                continue
            module = (node.module or "").removeprefix("claude_sync").strip(".")
            base = base + (module.split(".") if module else [])
            found = [[*base, alias.name] for alias in node.names]
        else:
            continue
        for parts in found:
            target = file_of(parts) or file_of(parts[:-1])
            if target not in (None, "__init__.py"):
                yield target


def against_the_layers():
    """Each import that goes the wrong way, as text."""
    for name in sources():
        own = package_of(name)
        if own is None:
            continue
        for target in imports_of(name):
            other = package_of(target)
            if other is not None and other != own and RANKS[other] >= RANKS[own]:
                yield f"{name} -> {target}"


def test_every_file_belongs_to_a_package():
    """Only the package itself and its version stand above them all."""
    homeless = {name for name in sources() if package_of(name) is None}
    assert homeless == {"__init__.py", "_version.py"}


def test_nothing_that_is_gone_is_waited_for():
    """What stands in its package leaves the table, and a name is in it once."""
    there = {name.split("/")[0].removesuffix(".py") for name in sources()}
    assert not set(HOMES) - there
    assert len(HOMES) == sum(len(names.split()) for names in NOT_IN_PLACE.values())


def test_imports_go_one_way():
    """No import goes up, but for those that are known; and those are still there."""
    assert set(against_the_layers()) - EXCEPTIONS == KNOWN


def test_the_search_finds_imports():
    """In modules, in functions and below TYPE_CHECKING."""
    found = set(imports_of("client/client.py"))
    assert {"errors.py", "client/echo.py", "engine/session.py"} <= found
