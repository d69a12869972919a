"""%load_ext claude_sync: in a real kernel, at a real terminal, with a stand-in for the CLI."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from executables import ROOT, clean_environment, executable
from kernels import Kernel, kernel_environment, needed
from notebook_shells import PATIENCE, Shell

import claude_sync
from claude_sync import notebook
from claude_sync.errors import UsageError

EXAMPLE = ROOT / "examples" / "notebook.ipynb"

# Without IPython.


def test_the_extension_is_found_where_ipython_looks():
    """In the module that %load_ext names; loading it costs nothing before."""
    assert claude_sync.load_ipython_extension is notebook.load_ipython_extension
    assert claude_sync.unload_ipython_extension is notebook.unload_ipython_extension
    assert claude_sync.notebook is notebook


def test_loading_twice_is_loading_once():
    """And unloading ends it."""
    shell = Shell()
    notebook.load_ipython_extension(shell)
    try:
        magic = shell.magics_manager.magics["line"]["claude"]
        notebook.load_ipython_extension(shell)
        assert shell.magics_manager.magics["line"]["claude"] is magic
    finally:
        notebook.unload_ipython_extension(Shell())
        assert shell.magics_manager.magics["line"]
        notebook.unload_ipython_extension(shell)
    assert not shell.magics_manager.magics["line"]


def test_settings_need_the_magics():
    """The error says what to do."""
    with pytest.raises(UsageError, match="%load_ext claude_sync"):
        notebook.configure(model="sonnet")


# In a kernel.


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    """A kernel whose CLI is the stand-in that echoes."""
    needed("IPython", "ipykernel", "jupyter_client")
    folder = tmp_path_factory.mktemp("kernel")
    path = executable(folder)
    environment = clean_environment(folder, CLAUDE_CODE_PATH=path)
    with Kernel(folder, environment) as started:
        assert started.run("%load_ext claude_sync").error is None
        yield started


def test_an_answer_is_displayed_once_and_is_the_value(kernel):
    """As Markdown and as text; _ and claude_answer have it."""
    outputs = kernel.run("%claude hello *you*")
    assert "<p>echo: hello <em>you</em></p>" in outputs.displays[0]["text/html"]
    assert outputs.displays[0]["text/plain"].startswith("echo: hello *you*\n$")
    assert (len(outputs.displays), outputs.values, outputs.text) == (1, [], "")
    assert kernel.value("(str(_), str(claude_answer), type(_).__name__)") == (
        "echo: hello *you*",
        "echo: hello *you*",
        "Answer",
    )
    outputs = kernel.run("claude_answer")
    assert "hello" in outputs.values[0]["text/plain"]


def test_an_answer_can_be_assigned_and_shown_later(kernel):
    """The display of the cell is not the display of the value."""
    assert kernel.run("given = %claude hello").values == []
    assert len(kernel.run("given").values) == 1


def test_a_cell_is_a_question(kernel):
    """With variables of the notebook, and braces that are none."""
    kernel.run("city = 'Oslo'")
    question = '%%claude\nIn {city}: {"a": {1}} {{city}} {city.upper()} $city {exit}\nsecond line'
    kernel.run(question)
    expected = 'echo: In Oslo: {"a": {1}} {city} {city.upper()} $city {exit}\nsecond line'
    assert kernel.value("str(claude_answer)") == expected


ENDING_WITH_A_QUESTION_MARK = [
    ("%claude what is my name?", "what is my name?"),
    ("%claude what's my name?", "what's my name?"),
    ("if True:\n    %claude is this (indented?  ", "is this (indented?"),
    ("x = 1\ngot = %claude what is 'x'?\nx = 2", "what is 'x'?"),
    ("%claude really??", "really??"),
    ("%%claude\nwhat is my name?", "what is my name?"),
]


def test_a_question_may_end_with_a_question_mark(kernel):
    """IPython would take it for a request for help."""
    for cell, question in ENDING_WITH_A_QUESTION_MARK:
        assert kernel.run(cell).error is None
        assert kernel.value("str(claude_answer)") == f"echo: {question}"


def test_help_is_still_help(kernel):
    """For the magic, for everything else, and inside of strings."""
    before = kernel.value("str(claude_answer)")
    outputs = kernel.run("%claude?")
    assert outputs.error is None
    kernel.run("text = '''\n%claude what?\n'''")
    assert kernel.value("text") == "\n%claude what?\n"
    assert kernel.value("str(claude_answer)") == before


def test_nothing_in_a_question_is_evaluated(kernel):
    """IPython would, if it were not told otherwise."""
    kernel.run("touched = []")
    kernel.run("%claude what is {touched.append(1)} and $touched.append(2)")
    assert kernel.value("touched") == []


def test_permission_is_asked_in_the_cell(kernel):
    """By input(), which only the thread of the cell can do."""
    outputs = kernel.run('%claude [[tool Bash {"command": "ls"}]]', "y")
    assert "Allow it?" in outputs.prompts[0]
    assert "✓ Bash ls (allowed)" in outputs.displays[0]["text/plain"]
    assert outputs.displays[1]["text/plain"] == ""  # its place is in the turn
    outputs = kernel.run('%claude [[tool Bash {"command": "ls"}]]', "?", "n not today")
    assert "not today" in outputs.displays[0]["text/html"]
    assert "✗ Bash ls (denied)" in outputs.displays[0]["text/plain"]


def test_a_notebook_that_takes_no_input_says_no(kernel):
    """It ends, and Claude knows why."""
    outputs = kernel.run('%claude [[tool Bash {"command": "ls"}]]', allow_stdin=False)
    assert outputs.error is None
    assert "this notebook takes no input" in outputs.displays[0]["text/html"]


def test_an_error_is_one_line_and_can_be_caught(kernel):
    """No traceback of ours."""
    name, text, traceback = kernel.run("%claude --modle x").error
    assert name == "UsageError"
    assert traceback == [f"UsageError: {text}"]
    code = (
        "try:\n    %claude --modle x\nexcept claude_sync.UsageError as error:\n    print('caught')"
    )
    assert kernel.run(f"import claude_sync\n{code}").text == "caught\n"


def test_an_interrupt_stops_the_turn_and_keeps_the_conversation(kernel):
    """Cells that wait behind it are not run."""
    kernel.run("%claude before")
    session = kernel.value("claude_client.session_id")
    outputs = kernel.run("%claude [[sleep 60]]", at="working", call=kernel.interrupt)
    assert outputs.error[0] == "KeyboardInterrupt"
    assert outputs.error[2] == [
        "KeyboardInterrupt: the turn was stopped; the conversation can go on."
    ]
    assert "TurnInterrupted" not in outputs.displays[0]["text/html"]  # once is enough
    assert kernel.run("%claude after").error is None
    assert kernel.value("claude_client.session_id") == session


def test_an_interrupt_at_the_prompt_stops_the_turn(kernel):
    """Nobody has to answer first."""
    outputs = kernel.run('%claude [[tool Bash {"command": "ls"}]]', kernel.interrupt)
    assert outputs.error[0] == "KeyboardInterrupt"
    assert "Bash ls (interrupted)" in outputs.displays[0]["text/plain"]
    assert kernel.run("%claude after").error is None


def test_a_table_and_a_list_of_objects(kernel):
    """All rows are sent; the type of an answer may be a list of a class of the notebook."""
    kernel.run("import pandas\nbig = pandas.DataFrame({'n': range(200)})")
    outputs = kernel.run("%claude How many? {big} {big.head()}")
    assert "{big.head()} was sent as it is" in outputs.text
    assert kernel.value("str(claude_answer).count('\\n')") > 200
    name, text, _ = kernel.run("%claude --returns List[Town which?").error
    assert name == "UsageError" and "List[City]" in text


def test_tools_run_in_the_cell(kernel):
    """On its thread, and what they print is in its output."""
    kernel.run(
        "import threading\n"
        "def population(city: str) -> int:\n"
        "    'How many people live there.'\n"
        "    print(threading.current_thread() is threading.main_thread())\n"
        "    return 7"
    )
    outputs = kernel.run(
        '%claude --tools population [[tool mcp__claude_sync__population {"city": "Oslo"}]]'
    )
    assert outputs.text == "True\n"
    assert "✓ population city=Oslo" in outputs.displays[0]["text/plain"]


def test_a_turn_is_shown_without_waiting(kernel):
    """The display goes on when the cell has ended."""
    kernel.run(
        "from claude_sync.notebook import show\n"
        "background = claude_sync.Client()\n"
        "show(background.submit('hello'))"
    )
    assert kernel.value("str(background.submit('again').result(30))") == "echo: again"
    kernel.run("background.close()")


def test_a_chat_is_the_value_of_a_cell(kernel):
    """It goes on while other cells run, and is closed by close()."""
    outputs = kernel.run("chat = claude_sync.notebook.Chat()\nchat")
    assert "application/vnd.jupyter.widget-view+json" in outputs.values[0]
    kernel.run(
        "import threading\n"
        "answered = threading.Event()\n"
        "chat.on_answer(lambda answer: answered.set())\n"
        "chat.ask('hello chat')"
    )
    assert kernel.value("answered.wait(30)")
    assert "echo: hello chat" in kernel.value("chat.presenter.markdown()")
    assert kernel.value("chat.close() or chat.client.state") in ("closing", "closed")


def test_unloading_ends_the_conversation(kernel):
    """And the magic is gone; loading begins anew."""
    kernel.run("%claude hello")
    assert kernel.run("%unload_ext claude_sync").error is None
    assert kernel.value("claude_client.state") == "closed"
    assert "not found" in kernel.run("%claude hello").text
    assert kernel.run("%load_ext claude_sync").error is None
    assert kernel.run("%claude hello").error is None


# The example.


def test_the_example_runs_from_top_to_bottom(kernel):
    """With a stand-in that echoes; in a kernel that takes no input."""
    shown = []
    for cell in json.loads(EXAMPLE.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            outputs = kernel.run("".join(cell["source"]), allow_stdin=False)
            assert outputs.error is None, outputs.error
            bundles = [*outputs.displays, *outputs.values]
            shown.append("\n".join(bundle["text/plain"] for bundle in bundles))
    assert shown[1].startswith("echo: In one sentence: what is a thread?\n$")
    assert shown[2] == "'ECHO: IN ONE SENTENCE: WHAT IS A THREAD?'"
    assert "in percent: Oslo, Lima?" in shown[4]
    assert '{"city": ..., "percent": ...}' in shown[4]
    assert shown[7] == "City(name='echo', people=1)"
    assert shown[9] == "True"


def test_the_example_is_kept_without_outputs():
    """What it prints depends on the model; and nobody's folders get into the project."""
    example = json.loads(EXAMPLE.read_text(encoding="utf-8"))
    for cell in example["cells"]:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None
    assert example["metadata"]["kernelspec"]["name"] == "python3"


# At a terminal.


def test_plain_ipython_shows_text(tmp_path):
    """As it comes, and once."""
    needed("IPython")
    environment = {
        **clean_environment(tmp_path, CLAUDE_CODE_PATH=executable(tmp_path)),
        **kernel_environment(tmp_path),
    }
    code = (
        "get_ipython().run_line_magic('load_ext', 'claude_sync')\n"
        "%claude hello\n"
        "print(repr(str(_)))\n"
        "%claude --modle x\n"
    )
    done = subprocess.run(
        [
            *(sys.executable, "-m", "IPython", "--simple-prompt", "--no-banner"),
            *("--no-confirm-exit", "--colors=NoColor", "--HistoryManager.enabled=False"),
        ],
        input=code,
        capture_output=True,
        text=True,
        env=environment,
        cwd=ROOT,
        timeout=PATIENCE,
    )
    assert "echo: hello\n[$0.0000 · " in done.stdout
    assert "'echo: hello'\n" in done.stdout
    assert done.stdout.count("echo: hello") == 2
    assert "UsageError: there is no setting --modle" in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
