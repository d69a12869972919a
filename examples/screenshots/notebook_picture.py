"""
Make the pictures of the notebook: JupyterLab in a browser, a real CLI, a model with a script.

    python examples/screenshots/notebook_picture.py

Needs JupyterLab, Playwright, Chromium and a CLI (CLAUDE_CODE_PATH, or that of claude-agent-sdk).
"""

import contextlib
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
CHAT = "from claude_sync.notebook import Chat\n\nchat = Chat(tools=[population])\nchat"
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


@contextlib.contextmanager
def open_notebook(*cells, width, height):
    """A notebook with these cells, in a browser."""
    from executables import real_cli
    from jupyter_lab import Lab, browser_page

    with tempfile.TemporaryDirectory() as name, LoopbackModel() as model:
        folder = Path(name)
        environment = {
            **model.environment(folder / "home", inherit=True),
            "CLAUDE_CODE_PATH": real_cli(),
            "PYTHONPATH": str(ROOT),
        }
        with Lab(folder / "lab", environment) as lab, browser_page(folder, width, height) as page:
            script(model, lab.root)
            page.open(lab.notebook("cities.ipynb", *cells))
            yield page


def notebook(path=HERE / "notebook.png"):
    """Take the picture; the last cell waits for an answer."""
    cells = ("%load_ext claude_sync", DATA, FIRST, SECOND)
    with open_notebook(*cells, width=1000, height=1090) as page:
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


def chat(path=HERE / "notebook_chat.png"):
    """A chat that asks for permission."""
    with open_notebook(DATA, CHAT, width=900, height=900) as page:
        page.run(0)
        page.run(1)
        field = page.output(1).get_by_placeholder("Ask Claude").first
        for prompt, shown in (("Which of them grew most?", "15.1 %"), (SECOND[8:], "Deny")):
            field.fill(prompt)
            field.press("Enter")
            page.output(1).get_by_text(shown).first.wait_for()
        page.page.wait_for_timeout(1_000)
        page.output(1).screenshot(path=str(path))
        page.output(1).get_by_role("button", name="Deny").click()
        page.wait_for_text(1, "Done.")


if __name__ == "__main__":
    notebook()
    chat()
