"""
Record the scenes of ``tests/money_scenes.py`` with real CLIs.

    python tests/recordings/make.py                    all scenes, all CLIs
    python tests/recordings/make.py 2.1.29 turns       of this CLI, this scene

The CLIs are looked for as in ``tests/real/real_clis.py``. What is stored, in
``VERSION/SCENE.jsonl``: first what the model reported, one list for each note of the
scene; then both directions of the wire, as the client's own recorder wrote them, without
times, and without the long lists that nobody needs. Ids, times and the order of what
happens in the background differ from run to run; nothing else does.
"""

from __future__ import annotations

import dataclasses
import getpass
import json
import os
import platform
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent.parent), str(HERE.parent), str(HERE.parent / "real")]

from money_scenes import SCENES, Book, Stage  # noqa: E402
from real_clis import NEWEST, OLD, Model, cli_path  # noqa: E402

import claude_sync  # noqa: E402

LARGEST = 60_000
LONGEST_LIST = 3
LONGEST_TEXT = 300
# Long, and about the machine or the release rather than the conversation.
DROPPED = {
    *("tools", "slash_commands", "skills", "plugins", "agents", "mcp_servers", "memory_paths"),
    *("commands", "models", "account", "available_output_styles", "output_style", "pid"),
    *("behaviors", "rate_limits", "hooks", "toolStats", "preserved_messages"),
}


def shortened(value):
    """A value without what nobody needs."""
    if isinstance(value, dict):
        return {name: shortened(part) for name, part in value.items() if name not in DROPPED}
    if isinstance(value, list):
        return [shortened(part) for part in value[:LONGEST_LIST]]
    if isinstance(value, str) and len(value) > LONGEST_TEXT:
        return value[:LONGEST_TEXT]
    return value


def version_of(lines, version):
    """The version of a CLI that is known by another name."""
    told = [line["msg"].get("claude_code_version") for line in lines[1:]]
    return next(filter(None, told), version)


def neutral(line, names):
    """A line that does not tell where it was recorded."""
    for name, instead in names.items():
        line = line.replace(name, instead)
    private = {str(Path.home()), platform.node(), getpass.getuser(), tempfile.gettempdir()}
    for word in private - {"", "/"}:
        assert f'"{word}' not in line and f"/{word}" not in line, f"{word!r} is in {line}"
    return line


def record(version, name, path):
    """Play one scene and store it."""
    with tempfile.TemporaryDirectory() as folder, Model() as model:
        places = {part: Path(folder, part) for part in ("home", "work")}
        for place in places.values():
            place.mkdir()
        raw = Path(folder, "recording.jsonl")
        book = Book()
        book.listen(model)

        def open_client(**options):
            environment = model.environment(places["home"])
            return claude_sync.Client(
                cli=str(path), cwd=places["work"], env=environment, record=raw, **options
            )

        stage = Stage(version, open_client, model, book)
        SCENES[name](stage)
        lines = [json.loads(line) for line in raw.read_text().splitlines()]
        flat = str(places["work"]).replace("/", "-")
        names = {str(places["work"]): "/work", str(places["home"]): "/home/user", flat: "-work"}
        names = {**names, f"claude-{os.getuid()}": "claude-1000", folder: "/folder"}
        told = [[dataclasses.asdict(line) for line in note.lines] for note in stage.notes]
        stored = [{"dir": "book", "msg": told}]
        stored += [
            {"dir": line["dir"], "msg": shortened(line["msg"])}
            for line in lines
            if line["dir"] in ("in", "out") and isinstance(line.get("msg"), dict)
        ]
    text = "".join(f"{neutral(json.dumps(line), names)}\n" for line in stored)
    assert len(text) < LARGEST, f"{version}/{name} is too large: {len(text)}"
    target = HERE / version_of(stored, version) / f"{name}.jsonl"
    target.parent.mkdir(exist_ok=True)
    target.write_text(text, encoding="utf-8")
    print(f"{target.relative_to(HERE.parent)}: {len(stored)} lines, {len(text)} bytes")


def main(words):
    """Record what the command line names."""
    versions = [OLD, NEWEST]
    for version in [word for word in words if word in versions] or versions:
        for name in [word for word in words if word in SCENES] or SCENES:
            record(version, name, cli_path(version))


if __name__ == "__main__":
    main(sys.argv[1:])
