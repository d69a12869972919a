"""
Make the picture of the notebook: JupyterLab in a browser, a real CLI, a model with a script.

    python examples/screenshots/notebook_picture.py

Needs JupyterLab, Playwright, Chromium and a CLI (CLAUDE_CODE_PATH, or that of claude-agent-sdk).
"""

import sys
import tempfile
from pathlib import Path

from claude_sync.testing import LoopbackModel
from claude_sync.testing.model import text, tool_use

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "tests"))

DATA = '''\
people = {"Oslo": {2010: 586_860, 2020: 693_494}, "Lima": {2010: 8_473_000, 2020: 9_752_000}}
cities = ", ".join(people)

def population(city: str, year: int) -> int:
    """How many people lived in a city."""
    return people[city][year]'''
FIRST = "%%claude --tools population\nWhich of these grew most from 2010 to 2020: {cities}?"
SECOND = "%claude Write that into growth.md."
TABLE = """\
**Oslo** grew most, by 18 %:

| city | 2010 | 2020 | growth |
|------|-----:|-----:|-------:|
| Oslo | 586,860 | 693,494 | **18.2 %** |
| Lima | 8,473,000 | 9,752,000 | 15.1 % |

The figures are from `population()`; the growth is `(new - old) / old`.
"""
FILE = "# Growth from 2010 to 2020\n\n- Oslo: 18.2 %\n- Lima: 15.1 %\n"


def script(model, folder):
    """What the model says."""
    asked = [
        tool_use("mcp__claude_sync__population", {"city": city, "year": year})
        for city in ("Oslo", "Lima")
        for year in (2010, 2020)
    ]
    model.when("grew most").reply(["I look up the figures.", *asked]).then_reply(TABLE)
    write = tool_use("Write", {"file_path": str(folder / "growth.md"), "content": FILE})
    model.when("growth.md").reply([text("A short file will do."), write]).then_reply("Done.")


def notebook(path=HERE / "notebook.png"):
    """Take the picture; the last cell waits for an answer."""
    from executables import real_cli
    from jupyter_lab import Lab, browser_page

    with tempfile.TemporaryDirectory() as name, LoopbackModel() as model:
        folder = Path(name)
        environment = {
            **model.environment(folder / "home", inherit=True),
            "CLAUDE_CODE_PATH": real_cli(),
            "PYTHONPATH": str(ROOT),
        }
        with Lab(folder / "lab", environment) as lab, browser_page(folder, 1000, 1090) as page:
            script(model, lab.root)
            address = lab.notebook("cities.ipynb", "%load_ext claude_sync", DATA, FIRST, SECOND)
            page.open(address)
            for number in range(3):
                page.run(number)
            page.wait_for_text(2, "15.1 %")
            page.wait_for_text(2, "tokens")
            page.run(3)
            page.wait_for_text(3, "Allow it?")
            page.page.locator("input.jp-Stdin-input").wait_for()
            page.page.evaluate("document.querySelector('.jp-WindowedPanel-outer').scrollTop = 0")
            page.page.locator(".jp-NotebookPanel").screenshot(path=str(path))
            page.reply(3, "n")
            page.wait_for_text(3, "Done.")


if __name__ == "__main__":
    notebook()
