"""The README's example of a Tk window runs as it is printed."""

import re
import textwrap

from executables import ROOT, executable
from tk_events import click

import claude_sync

SECTION = re.compile(r"\nTkinter\n-+\n(.*?)\n\n\n", re.DOTALL)
BLOCK = re.compile(r"^\.\. code-block:: py\n\n((?:    .*\n|\n)+)", re.MULTILINE)


def test_the_code_runs_as_it_is_printed(tkinter, tmp_path, monkeypatch, until):
    """It shows the answer, its button stops, and its end is the end of the client."""
    (code,) = BLOCK.findall(SECTION.search((ROOT / "README.rst").read_text("utf-8")).group(1))
    monkeypatch.setenv("CLAUDE_CODE_PATH", executable(tmp_path, pace=0.001))
    seen = {}

    def person(root, *_):
        until(root, lambda: "setup.py" in names["view"].get("1.0", "end"))
        button = next(each for each in root.winfo_children() if each.winfo_class() == "Button")
        click(button)
        until(root, names["turn"].done)
        seen["state"] = names["client"].state
        root.destroy()

    monkeypatch.setattr(tkinter.Misc, "mainloop", person)
    names = {}
    exec(compile(textwrap.dedent(code), "README.rst", "exec"), names)
    names["client"].close()
    assert isinstance(names["client"], claude_sync.Client)
    assert seen["state"] == "idle"
    assert names["client"].state == "closed"
