"""The examples run as they are: with the stand-in, and with a real CLI if there is one."""

import importlib.util
import os
import subprocess
import sys

import pytest
from executables import ROOT, clean_environment, real_cli
from patience import PATIENCE
from saved_sessions import conversation
from tables import each

from claude_sync.testing import LoopbackModel
from claude_sync.testing.model import tool_use

LONGEST = 60

# Those with a window need a person, or a test that takes the place of one: see gui/.
WINDOWS = ("tk_chat", "tk_embed", "qt_chat")
EXAMPLES = sorted(path for path in (ROOT / "examples").glob("*.py") if path.stem not in WINDOWS)

# Between them they ask for permission, have tools of their own, and want an answer in a form.
WITH_A_CLI = ("permission_prompt", "tool_over_data", "typed_extraction")


def examples(default):
    """All examples; only those of some names are for the default tier."""
    marks = {True: (), False: pytest.mark.everything}
    return [
        pytest.param(path, id=path.stem, marks=marks[path.stem in default]) for path in EXAMPLES
    ]


# What each prints, if the model is an echo: lines that tell that the point was made.
EXPECTED = {
    "cost_report": ["all: 15 tokens written, 0.0004 USD", "the conversation has 10 tokens"],
    "guarded_folder": ["echo: What is in the notes?"],
    "label_csv": ["I love this kettle: good, kettle", "2 labelled, 0 failed, 0.0003 USD"],
    "label_csv_dask": ["I love this kettle: good, kettle"],
    "permission_prompt": ["echo: Write a haiku about threads into haiku.txt"],
    "read_only_review": ["echo: Review setup.py: correctness first, then clarity. Be brief."],
    "tool_over_data": ["echo: Which city grew most?"],
    "resume_conversation": ["Claude: echo: Where were we?", "echo: Where were we?"],
    "typed_extraction": ["letter.txt: 12.50 to Acme, due 2026-03-01"],
    "quickstart": ["ECHO: WHAT IS MY NAME?", "echo: And backwards?"],
    "streaming": ["echo: Count from one to five, in words.", "echo: Was that too long?"],
    "threads": [
        "Oslo: echo: One word: which country is Oslo in?",
        "One word for Lima? echo: One word for Lima?",
        "Rome: echo: One word: which river is near Rome?",
    ],
}


# What those print in which the stand-in uses tools; a model that echoes uses none.
OFFLINE = {
    "label_csv": ["I love this kettle: good, echo", "2 labelled, 0 failed, 0.0000 USD"],
    "label_csv_dask": ["The lamp broke after a day: good, echo"],
    "typed_extraction": ["letter.txt: 1 to echo, due None"],
    "cost_report": ["all: 21 tokens written, 0.0000 USD", "the conversation has 12 tokens"],
    "guarded_folder": [
        'Write: offline, so not run: {"file_path": "notes/todo.txt", "content": "sleep"}'
    ],
    "permission_prompt": ["denied: Write"],
    "resume_conversation": [
        "My name is Ada.",
        "You: My name is Ada.",
        "Claude: echo: My name is Ada.",
        "echo: Where were we?",
    ],
    "read_only_review": [
        'Read: offline, so not run: {"file_path": "setup.py"}',
        "denied: Bash",
    ],
    "tool_over_data": [
        'mcp__claude_sync__population: {"2010": 586860, "2020": 693494}',
        "mcp__claude_sync__population: no figures of Atlantis; there are Lima, Oslo",
    ],
}
if importlib.util.find_spec("distributed") is None:
    needed = "this example needs Dask: pip install 'dask[distributed]'"
    EXPECTED["label_csv_dask"] = OFFLINE["label_csv_dask"] = [needed]
# Those that go on with what an earlier run has left.
GO_ON = ("resume_conversation",)
REFUSED_BY_THE_HOOK = "secret.txt"


# What those say on stderr for which nobody is there to be asked.
WARNED = {
    "permission_prompt": "claude-1: Claude asked for permission and was denied, because there was "
    "no terminal to ask on. Run the program in a terminal, or decide without one: "
    "permissions=policies.allow_tools(...)\n",
}


def run(example, *words, environment, warned=""):
    """Run an example to its end; what it printed."""
    done = subprocess.run(
        [sys.executable, "-W", "error", str(example), *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=environment,
        timeout=PATIENCE,
    )
    assert (done.returncode, done.stderr.decode()) == (0, warned)
    return done.stdout.decode().splitlines()


@pytest.mark.parametrize("example", examples(set(EXPECTED) - {"label_csv_dask"}))
def test_an_example_runs_without_a_cli(example, tmp_path):
    """--offline needs neither a CLI nor an account."""
    environment = clean_environment(tmp_path, PATH="")
    conversation(tmp_path / ".claude", "My name is Ada.", cwd=os.path.realpath("."))
    warned = WARNED.get(example.stem, "")
    printed = run(example, "--offline", environment=environment, warned=warned)
    assert set(OFFLINE.get(example.stem, EXPECTED[example.stem])) <= set(printed)
    assert REFUSED_BY_THE_HOOK not in "\n".join(printed)


@pytest.mark.real
@pytest.mark.parametrize("example", examples(WITH_A_CLI))
def test_an_example_runs_with_a_real_cli(example, tmp_path):
    """Unchanged, an example asks the CLI that is found."""
    with LoopbackModel() as model:
        invoice = {"sender": "Acme", "total": "12.50", "due": "2026-03-01"}
        model.when("Read this invoice").reply(tool_use("StructuredOutput", invoice))
        label = {"mood": "good", "product": "kettle"}
        model.when("Label this review").reply(tool_use("StructuredOutput", label))
        environment = {
            **model.environment(tmp_path, inherit=True),
            "CLAUDE_CODE_PATH": real_cli(),
            "PYTHONPATH": str(ROOT),
        }
        for _ in range(2 if example.stem in GO_ON else 1):
            printed = run(example, environment=environment)
        assert model.conversation or example.stem == "label_csv_dask"
    assert set(EXPECTED[example.stem]) <= set(printed)


@each("example", EXAMPLES)
def test_an_example_fits_on_a_screen_and_says_what_it_shows(example):
    """One can read it in a minute."""
    text = example.read_text()
    assert text.startswith('"""\n')
    assert f"python examples/{example.name} --offline" in text
    assert len(text.splitlines()) <= LONGEST


def test_an_example_says_what_is_missing(tmp_path):
    """Without a CLI the quickstart ends with advice instead of a traceback."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "quickstart.py")],
        stderr=subprocess.PIPE,
        env=clean_environment(tmp_path, CLAUDE_CODE_PATH="/nowhere/claude"),
        timeout=PATIENCE,
    )
    assert done.returncode == 1
    assert done.stderr.startswith(b"CliNotFound: ")
    assert b"Traceback" not in done.stderr


TESTING = ROOT / "examples" / "testing"


def test_the_program_of_the_testing_tutorial_is_tested(tmp_path):
    """Its tests pass as they are, with the fixtures and the recording that are there; no CLI."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-c", os.devnull, "--rootdir", str(TESTING), "-q"),
            *("-W", "error", "-p", "no:cacheprovider", str(TESTING)),
        ],
        capture_output=True,
        text=True,
        env=clean_environment(tmp_path, PATH="", PYTHONDONTWRITEBYTECODE="1"),
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stdout
    assert "5 passed" in done.stdout


def test_the_program_of_the_testing_tutorial_runs(tmp_path):
    """The tested program is one."""
    words = ("README.rst", "--offline")
    environment = clean_environment(tmp_path, PATH="")
    printed = run(TESTING / "summarise.py", *words, environment=environment)
    assert printed == ["README.rst: echo: Summarise README.rst in one line."]


def test_the_testing_tutorial_is_short():
    """A test of each kind, in so many lines of code."""
    lines = (TESTING / "test_summarise.py").read_text().splitlines()
    code = [line for line in lines[2:] if line.strip()]
    assert len(code) <= 24
