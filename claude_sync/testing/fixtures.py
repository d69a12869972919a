"""
What the fixtures for pytest give out; see ``plugin`` for the fixtures.

::

    test -> [fixtures] -> ScriptedCli, Recording, LoopbackModel or the echo -> Client

A client of a test talks to whatever else the test asks for: to ``scripted_cli``, to
``recording``, to the real CLI with ``loopback_model``, and otherwise to the offline CLI,
which echoes.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from ..support.conceal import Concealer
from .offline import echo
from .recording import Recording
from .replay import hidden_folders
from .scripted import ScriptedCli

if TYPE_CHECKING:
    from .model import LoopbackModel

__all__ = ["Tape", "client_options", "marked_options", "offline_cli", "path_of_recording"]

FOLDER = "recordings"
# What stands for the folder of a test, in its recording.
FOLDER_NAME = "<tmp_path>"
LONGEST_NAME = 100
# What may be in the name of a file, everywhere.
PLAIN = re.compile(r"[^\w.-]+")


class Tape:
    """
    The ``recording`` of a test: one that is being made, or one that is played.

    Args:
        path: Where it is kept.
        is_recording: Make it, with the CLI that is found; otherwise play it.
        folder: The folder in which the test works, which is another one each time; in the
            recording it is ``<tmp_path>``.
        settings: See :class:`Recording`.

    Attributes:
        path: Where it is kept.
        is_recording: Whether it is being made.

    """

    def __init__(
        self, path: Path, is_recording: bool = False, folder: Path | None = None, **settings: Any
    ) -> None:
        self.path = path
        self._folders = {} if folder is None else {FOLDER_NAME: str(folder)}
        self.is_recording = is_recording
        self._recording: Recording | None = None
        # Kept only if the test passes: a recording of a failure is of no use.
        self._fresh = path.with_name(path.name + ".new")
        if is_recording:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._fresh.unlink(missing_ok=True)
        elif path.exists():
            self._recording = Recording(path, folders=self._folders, **settings)
        else:
            raise UsageError(
                f"there is no recording {str(path)!r}. Run this test once with "
                "'pytest --claude-record': it then asks the CLI, which may cost money."
            )

    @property
    def recording(self) -> Recording:
        """What is played; UsageError while it is being made."""
        if self._recording is None:
            raise UsageError("nothing is played: the recording is being made just now.")
        return self._recording

    @property
    def options(self) -> dict[str, Any]:
        """The settings of a client that records, or talks to what was recorded: ``**options``."""
        if self._recording is None:
            return {"record": self._fresh}
        return {"transport": self._recording.replay}

    def finish(self, passed: bool) -> None:
        """The test is over: keep what was recorded, or see that all of it was played."""
        if self._recording is not None:
            if passed:
                self._recording.assert_done()
            return
        if passed and self._fresh.exists():
            self._hide_folder()
            os.replace(self._fresh, self.path)
        self._fresh.unlink(missing_ok=True)

    def _hide_folder(self) -> None:
        # Inside somebody's home it is recorded without that.
        conceal = Concealer(os.environ).text
        # Not splitlines(), which takes more than the end of a line for one.
        lines = self._fresh.read_text("utf-8", "surrogateescape").strip("\n").split("\n")
        for folder in self._folders.values():
            for form in (folder, conceal(folder)):
                hidden = [hidden_folders(json.loads(line), {FOLDER_NAME: form}) for line in lines]
                lines = [json.dumps(record, separators=(",", ":")) for record in hidden]
        self._fresh.write_text("".join(f"{line}\n" for line in lines), "utf-8")


def path_of_recording(file: Path, name: str) -> Path:
    """Where the recording of the test *name* in *file* is: beside it, in a folder."""
    plain = PLAIN.sub("-", name.replace("::", ".")).strip("-")
    readable = name.replace("::", ".").replace("[", "-").replace("]", "")
    if plain != readable or len(plain) > LONGEST_NAME:
        # Two names may have become one; this tells them apart.
        digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=3).hexdigest()
        plain = f"{plain[:LONGEST_NAME]}-{digest}"
    return file.parent / FOLDER / file.stem / f"{plain}.jsonl"


def offline_cli() -> ScriptedCli:
    """The offline CLI in memory: it echoes, and uses the tools that a prompt names."""
    return ScriptedCli(echo)


def client_options(
    home: Path,
    scripted_cli: ScriptedCli | None = None,
    tape: Tape | None = None,
    model: LoopbackModel | None = None,
) -> dict[str, Any]:
    """The settings with which a client talks to what a test asks for; *home* is for the CLI."""
    if scripted_cli is not None:
        return {"transport": scripted_cli}
    if tape is not None and not tape.is_recording:
        return tape.options
    options: dict[str, Any] = {} if tape is None else tape.options
    if model is not None:
        home.mkdir(parents=True, exist_ok=True)
        return {**options, "env": model.environment(home)}
    return options if tape is not None else {"transport": offline_cli}


def marked_options(options: dict[str, Any], markers: Iterable[Any]) -> dict[str, Any]:
    """*options* with the settings of *markers*, ``@pytest.mark.claude(...)``; the last one wins."""
    marked: dict[str, Any] = {}
    for marker in markers:
        if marker.args:
            raise UsageError(
                "the marker takes settings by name, @pytest.mark.claude(model='haiku'); "
                f"not {marker.args[0]!r}."
            )
        marked.update(marker.kwargs)
    if "cli" in marked and "transport" not in marked:
        transport = options.get("transport")
        if isinstance(transport, ScriptedCli):
            raise UsageError(
                "the client of this test hears what scripted_cli says, so cli= has no effect. "
                "Leave one of them out."
            )
        if transport is offline_cli:
            options = {name: value for name, value in options.items() if name != "transport"}
    return {**options, **marked}
