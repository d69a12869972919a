"""%claude in JupyterLab, in a browser, with a real CLI: used as a person uses it."""

from __future__ import annotations

import itertools
import threading

import pytest
from executables import ROOT
from jupyter_lab import Lab, browser_page, chromium_path, until
from kernels import needed
from patience import process_is_gone

from claude_sync.testing.model import text, tool_use

pytestmark = pytest.mark.everything
NUMBERS = itertools.count(1)
# Each would tell if it ran.
HOSTILE = (
    "<script>window.ran = 1</script>"
    "<img src=x onerror='window.ran = 2'>"
    "<svg onload='window.ran = 3'></svg>"
    "<details open ontoggle='window.ran = 4'>"
    "<iframe srcdoc='<script>parent.ran = 5</script>'></iframe>"
    "<style onload='window.ran = 6'></style>"
)
LINKS = "[click](javascript:window.ran=7) <javascript:window.ran=8> ![x](javascript:window.ran=9)"


@pytest.fixture(scope="module")
def lab(cli, model, home, tmp_path_factory):
    """JupyterLab, whose kernels find this CLI and this model."""
    needed("jupyterlab", "playwright", "ipywidgets")
    if chromium_path() is None:
        pytest.skip("needs Chromium and playwright")
    environment = {
        **model.environment(home, inherit=True),
        "CLAUDE_CODE_PATH": cli.path,
        "PYTHONPATH": str(ROOT),
    }
    with Lab(tmp_path_factory.mktemp("lab"), environment) as server:
        yield server


@pytest.fixture(scope="module")
def browser(lab, tmp_path_factory):
    """A browser with a page."""
    with browser_page(tmp_path_factory.mktemp("browser")) as page:
        yield page


@pytest.fixture
def page(lab, browser):
    """A new notebook whose first cell has loaded the magics; the others are empty."""
    name = f"notebook{next(NUMBERS)}.ipynb"
    browser.open(lab.notebook(name, "%load_ext claude_sync", "", "", ""))
    browser.run(0)
    yield browser
    browser.shut_down(lab, name)


@pytest.fixture
def gate():
    """Holds the model until the test, or its end, opens it."""
    gate = threading.Event()
    yield gate
    gate.set()


def test_a_question_is_typed_and_its_answer_is_seen_to_grow(page, model, gate):
    """Markdown, before the model has said all of it."""
    model.when("tell me").reply(text("**Begin** and the end of it", gate=gate))
    page.type(1, "%claude tell me")
    page.output(1).locator("strong", has_text="Begin").wait_for()
    assert "working" in page.output(1).inner_text()
    assert "the end of it" not in page.output(1).inner_text()
    gate.set()
    page.wait_for_text(1, "and the end of it")
    page.wait_for_text(1, "tokens")
    assert "working" not in page.output(1).inner_text()


def test_the_answer_goes_on_in_the_next_cell(page):
    """As _, and as a variable."""
    page.type(1, "%claude hello")
    page.wait_for_text(1, "echo: hello")
    page.type(2, "print(_.upper(), claude_answer.cost_usd > 0)")
    page.wait_for_text(2, "ECHO: HELLO True")


def test_a_permission_is_answered_in_the_cell(page, model, lab):
    """The tool runs after the reply, and its line unfolds."""
    use = tool_use("Bash", {"command": "echo made > made.txt; cat made.txt"})
    model.when("make the file").reply(use).then_reply("It is made.")
    page.type(1, "%claude make the file")
    page.wait_for_text(1, "Claude wants to run a command")
    assert not (lab.root / "made.txt").exists()
    page.reply(1, "y")
    page.wait_for_text(1, "It is made.")
    assert (lab.root / "made.txt").read_text() == "made\n"
    line = page.output(1).locator("summary", has_text="Bash").first
    result = page.output(1).locator("details pre", has_text="made").last
    assert not result.is_visible()
    line.click()
    block = page.output(1).locator("details[open] pre").first
    block.wait_for()
    # JupyterLab has styles for it, which would take its frame.
    assert block.evaluate("block => getComputedStyle(block).paddingLeft") != "0px"


def test_prices_are_prices_and_formulas_are_formulas(page, model):
    """In answers, in the line about the cost, and in the Markdown of an answer."""
    said = "It costs $5 now and $10 later; $x^2$ is a formula.\n\n```python\nreturn '$1 $2'\n```"
    model.when("what does it cost").reply(said)
    page.type(1, "%claude what does it cost")
    page.wait_for_text(1, "tokens")
    page.type(2, "%claude what does it cost")
    page.wait_for_text(2, "so far")
    page.type(3, "from IPython.display import Markdown; Markdown(claude_answer._repr_markdown_())")
    for cell in (1, 2, 3):
        page.wait_for_text(cell, "$5 now and $10 later")
        page.output(cell).locator("mjx-container").first.wait_for()
        assert page.output(cell).locator("mjx-container").count() == 1
        assert "$1 $2" in page.output(cell).inner_text()
    assert page.output(2).inner_text().count("$") == 6  # of the text, of the code, and two sums


def test_the_interrupt_button_stops_the_turn_and_keeps_the_conversation(page, model, gate):
    """One line tells so; the next question is answered."""
    model.when("a long story").reply(text("Once upon a time there was", gate=gate))
    page.type(1, "%claude a long story")
    page.wait_for_text(1, "Once upon")
    page.interrupt()
    page.wait_for_text(1, "the conversation can go on")
    assert "Traceback" not in page.output(1).inner_text()
    gate.set()
    page.type(2, "%claude and then?")
    page.wait_for_text(2, "echo: and then?")
    assert "a long story" in str(model.wait_for_request("and then?").messages)


def test_nothing_that_is_said_runs(page, model):
    """Neither what the model says, nor a tool, nor what is asked for, nor an error."""
    command = f"echo \"{HOSTILE}\" '{LINKS}'"
    # The first is harmless to the CLI, and says all that; the second has to be asked for.
    said = f"{HOSTILE}\n\n{LINKS}"
    rule = model.when("attack").reply([said, tool_use("Bash", {"command": command})])
    rule.then_reply(tool_use("Bash", {"command": f"touch x; {command}"})).then_reply(HOSTILE)
    page.type(1, "%claude attack")
    page.wait_for_text(1, "Claude wants to run a command")
    page.reply(1, f"n {HOSTILE}")
    page.wait_for_text(1, "tokens")
    for summary in page.output(1).locator("summary").all():
        summary.click()
    for link in page.output(1).locator("a").all():
        assert link.get_attribute("href").startswith(("http://", "https://", "mailto:"))
    page.type(2, f"%claude --nothing{HOSTILE.split()[0]} x")
    page.wait_for_text(2, "UsageError")
    # In both of its forms.
    markdown = "from IPython.display import display; display(claude_answer, include=[{!r}])"
    page.type(3, f"{markdown.format('text/markdown')}\nclaude_answer")
    page.output(3).get_by_text("window.ran").last.wait_for()
    page.output(3).locator(".jp-RenderedMarkdown").wait_for()
    shown = page.output(1).inner_text()
    assert "<script>window.ran = 1</script>" in shown
    assert page.page.evaluate("window.ran === undefined")
    # JupyterLab's own icons are outside of what is displayed.
    for cell in (1, 3):
        displayed = page.output(cell).locator(".jp-RenderedHTMLCommon")
        assert displayed.count() == 2
        assert displayed.locator("script, img, svg, iframe").count() == 0
        # Each card brings the library's own styles, and nobody else's.
        styles = [style.inner_html() for style in displayed.locator("style").all()]
        assert {each.strip()[:18] for each in styles} <= {"body .claude-sync "}


def test_buttons_answer_while_no_cell_runs(page, model, lab):
    """Below the turn that is shown, which goes on after the click."""
    use = tool_use("Bash", {"command": f"echo clicked > clicked.txt  # {HOSTILE[:40]}"})
    model.when("press the button").reply(use).then_reply("It was **pressed**.")
    page.type(
        1,
        "import claude_sync\n"
        "from claude_sync.notebook import buttons, forms, show\n"
        "forms.SETTLING = 0\n"
        "client = claude_sync.Client(on_permission=buttons)\n"
        "show(client.submit('press the button'))",
    )
    allow = page.output(1).get_by_role("button", name="Allow")
    allow.wait_for()
    page.type(2, "print('another cell', client.state)")
    page.wait_for_text(2, "another cell busy")
    assert not (lab.root / "clicked.txt").exists()
    allow.click()
    page.output(1).locator("strong", has_text="pressed").wait_for()
    page.wait_for_text(1, "tokens")
    assert (lab.root / "clicked.txt").exists()
    assert allow.count() == 0
    assert page.page.evaluate("window.ran === undefined")
    page.type(3, "client.close(); print('closed')")
    page.wait_for_text(3, "closed")


def test_a_chat_in_a_cell(page, model, lab):
    """Enter sends; a permission and a question are answered in it; a running cell is told of."""
    asked = {"question": "Which?", "header": "W", "multiSelect": False}
    asked["options"] = [{"label": name, "description": "as said"} for name in ("Red", "Blue")]
    use = tool_use("Bash", {"command": f"echo chatted > chat.txt  # {HOSTILE[:40]}"})
    said = f"**made** for $5 and $6, $x^2$ {HOSTILE}"
    question = tool_use("AskUserQuestion", {"questions": [asked]})
    model.when("make it").reply(use).then_reply(question).then_reply(said)
    page.type(
        1,
        "from claude_sync.notebook import Chat, forms\nforms.SETTLING = 0\nchat = Chat()\nchat",
    )
    field = page.output(1).get_by_placeholder("Ask Claude").first
    field.fill("make it")
    field.press("Enter")
    allow = page.output(1).get_by_role("button", name="Allow", exact=True)
    allow.wait_for()
    assert not (lab.root / "chat.txt").exists()
    allow.click()
    page.output(1).get_by_text("Blue: as said").click()
    page.output(1).get_by_role("button", name="Answer", exact=True).click()
    page.output(1).locator("strong", has_text="made").wait_for()
    page.output(1).locator("mjx-container").wait_for()
    page.wait_for_text(1, "$5 and $6")
    assert (lab.root / "chat.txt").exists()
    assert page.page.evaluate("window.ran === undefined")
    page.type(2, "import time; time.sleep(3)")
    page.wait_for_text(1, "A cell is running")
    page.type(2, "first = chat")
    page.type(1, "chat = Chat()\nchat")
    page.output(1).get_by_placeholder("Ask Claude").first.wait_for()
    page.type(3, "chat.close(); print(first.client.state[:4], chat.client.state[:4])")
    page.wait_for_text(3, "clos clos")


def test_the_restart_button_in_mid_turn_leaves_no_cli(page, model, gate):
    """And the new kernel begins anew."""
    model.when("wait for ever").reply(text("waiting for the end of it", gate=gate))
    page.type(1, "%claude hello")
    page.wait_for_text(1, "echo: hello")
    page.type(2, "print('pid', claude_client.pid)")
    page.wait_for_text(2, "pid")
    pid = int(page.output(2).inner_text().split()[-1])
    page.type(3, "%claude wait for ever")
    page.wait_for_text(3, "waiting")
    page.restart()
    until(lambda: process_is_gone(pid), "the end of the CLI")
    page.wait_for_kernel()
    page.run(0)
    page.type(1, "%claude are you new?")
    page.wait_for_text(1, "echo: are you new?")
