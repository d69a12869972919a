"""The example is a notebook that runs as it is."""

from __future__ import annotations

import json

from executables import ROOT, clean_environment, executable
from kernels import needed, run_notebook, shown

EXAMPLE = ROOT / "examples" / "notebook.ipynb"


def test_the_example_runs_from_top_to_bottom(tmp_path):
    """With a stand-in that echoes; in a kernel that takes no input."""
    needed("nbclient", "nbformat", "ipykernel", "IPython")
    path = executable(tmp_path)
    environment = clean_environment(tmp_path, CLAUDE_CODE_PATH=path)
    cells = [shown(outputs) for outputs in run_notebook(EXAMPLE, tmp_path, environment)]
    assert cells[1].startswith("echo: In one sentence: what is a thread?\n$")
    assert cells[2] == "'ECHO: IN ONE SENTENCE: WHAT IS A THREAD?'"
    assert "in percent: Oslo, Lima?" in cells[4]
    assert '{"city": ..., "percent": ...}' in cells[4]
    assert cells[7] == "City(name='echo', people=1)"
    assert cells[9] == "True"


def test_the_example_is_kept_without_outputs():
    """What it prints depends on the model; and nobody's folders get into the project."""
    notebook = json.loads(EXAMPLE.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None
    assert notebook["metadata"]["kernelspec"]["name"] == "python3"
