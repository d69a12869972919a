"""%claude in a real kernel, with real CLIs: streams, asks, is interrupted and restarted."""

from __future__ import annotations

import threading

import pytest
from executables import ROOT
from kernels import Kernel, needed, run_notebook, shown
from patience import process_is_gone

from claude_sync.testing.model import text, tool_use

EXAMPLE = ROOT / "examples" / "notebook.ipynb"


@pytest.fixture(scope="module")
def environment(cli, model, home):
    """What a kernel needs to find this CLI and this model."""
    return {
        **model.environment(home, inherit=True),
        "CLAUDE_CODE_PATH": cli.path,
        "PYTHONPATH": str(ROOT),
    }


@pytest.fixture(scope="module")
def kernel(environment, tmp_path_factory):
    """A kernel with the magics."""
    needed("IPython", "ipykernel", "jupyter_client")
    with Kernel(tmp_path_factory.mktemp("kernel"), environment) as started:
        assert started.run("%load_ext claude_sync").error is None
        yield started


@pytest.fixture
def gate():
    """Holds the model until the test, or its end, opens it."""
    gate = threading.Event()
    yield gate
    gate.set()


def test_text_is_displayed_while_it_comes(kernel, model, gate):
    """The beginning is there before the model has said the rest."""
    model.when("stream this").reply(text("**begin** and the end.", gate=gate))
    outputs = kernel.run("%claude stream this", at="<strong>begin</strong>", call=gate.set)
    assert outputs.error is None
    assert outputs.displays[0]["text/plain"].startswith("**begin** and the end.\n$")


def test_the_conversation_goes_on_from_cell_to_cell(kernel, model):
    """The model is sent what was said before."""
    kernel.run("%claude my word is cormorant")
    kernel.run("%claude which word is it?")
    request = model.wait_for_request("which word is it?")
    assert "cormorant" in str(request.messages)


def test_a_permission_is_asked_in_the_cell(kernel, model):
    """And what was decided happens."""
    model.when("make it").reply(tool_use("Bash", {"command": "echo x > made.txt"})).then_reply("ok")
    outputs = kernel.run("%claude make it", "n")
    assert "Bash echo x > made.txt (denied)" in outputs.displays[0]["text/plain"]
    assert not (kernel.folder / "made.txt").exists()
    outputs = kernel.run("%claude make it", "y")
    assert "✓ Bash echo x > made.txt (allowed)" in outputs.displays[0]["text/plain"]
    assert (kernel.folder / "made.txt").exists()


def test_a_function_of_the_notebook_is_called(kernel, model):
    """In the kernel, and the conversation is the same."""
    kernel.run("%claude my second word is heron")
    kernel.run(
        "calls = []\n"
        "def look_up(city: str) -> int:\n"
        "    'Look up.'\n"
        "    calls.append(city)\n"
        "    return 7"
    )
    use = tool_use("mcp__claude_sync__look_up", {"city": "Oslo"})
    model.when("look it up").reply(use).then_reply("seven")
    outputs = kernel.run("%claude --tools look_up look it up")
    assert outputs.error is None
    assert outputs.prompts == []
    assert kernel.value("calls") == ["Oslo"]
    assert "heron" in str(model.wait_for_request("look it up").messages)


def test_an_interrupt_stops_the_turn_and_keeps_the_conversation(kernel, model, gate):
    """While the model speaks."""
    model.when("a long story").reply(text("Once upon a time, long ago", gate=gate))
    outputs = kernel.run("%claude a long story", at="Once upon", call=kernel.interrupt)
    assert outputs.error[0] == "KeyboardInterrupt"
    assert len(outputs.error[2]) == 1
    assert "Once upon" in kernel.value("str(claude_answer)")
    gate.set()
    assert kernel.run("%claude and now?").error is None
    assert "a long story" in str(model.wait_for_request("and now?").messages)


def test_an_interrupt_at_the_prompt_stops_the_turn(kernel, model):
    """The tool does not run."""
    use = tool_use("Bash", {"command": "echo x > never.txt"})
    model.when("ask me").reply(use).then_reply("ok")
    outputs = kernel.run("%claude ask me", kernel.interrupt)
    assert outputs.error[0] == "KeyboardInterrupt"
    assert kernel.run("%claude still there?").error is None
    assert not (kernel.folder / "never.txt").exists()


def test_another_model_is_asked(kernel, model):
    """From that question on."""
    kernel.run("%claude --model claude-opus-4-1 who are you?")
    assert "opus" in model.wait_for_request("who are you?").body["model"]


@pytest.mark.everything
def test_a_kernel_that_is_restarted_in_mid_turn_leaves_no_cli(environment, model, gate, tmp_path):
    """As the button of a notebook restarts it."""
    model.when("wait for ever").reply(text("waiting for the end", gate=gate))
    with Kernel(tmp_path, environment) as other:
        other.run("%load_ext claude_sync")
        other.run("%claude hello")
        pid = other.value("claude_client.pid")
        other.begin("%claude wait for ever")
        other.wait_for("waiting")
        other.restart()
        assert process_is_gone(pid)


@pytest.mark.everything
def test_the_example_runs_as_it_is(environment, model, tmp_path):
    """From top to bottom, by a program."""
    needed("nbclient", "nbformat")
    city = {"name": "Bologna", "people": 390_000}
    model.when("oldest university").reply(tool_use("StructuredOutput", city)).then_reply("Bologna")
    use = tool_use("mcp__claude_sync__population", {"city": "Oslo", "year": 2010})
    model.when("grew most").reply(use).then_reply("Oslo **did**.")
    cells = [shown(outputs) for outputs in run_notebook(EXAMPLE, tmp_path, environment)]
    assert cells[1].startswith("echo: In one sentence: what is a thread?\n$")
    assert cells[4].startswith("✓ population city=Oslo, year=2010\nOslo **did**.\n$")
    assert cells[7] == "City(name='Bologna', people=390000)"
    assert cells[9] == "True"
    results = [result.text for request in model.requests for result in request.tool_results]
    assert "586860" in results
