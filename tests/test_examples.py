"""The examples run as they are: with the stand-in, and with a real CLI if there is one."""

import os
import subprocess
import sys

import pytest
from executables import ROOT, clean_environment, real_cli
from saved_sessions import conversation

from claude_sync.testing import LoopbackModel
from claude_sync.testing.model import tool_use

PATIENCE = 100
LONGEST = 60

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))

# What each prints, if the model is an echo: lines that tell that the point was made.
EXPECTED = {
    "cost_report": ["all: 15 tokens written, 0.0004 USD", "the conversation has 10 tokens"],
    "guarded_folder": ["echo: What is in the notes?"],
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
# Those that go on with what an earlier run has left.
GO_ON = ("resume_conversation",)
REFUSED_BY_THE_HOOK = "secret.txt"


def run(example, *words, environment):
    """Run an example to its end; what it printed."""
    done = subprocess.run(
        [sys.executable, "-W", "error", str(example), *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=environment,
        timeout=PATIENCE,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode().splitlines()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_without_a_cli(example, tmp_path):
    """--offline needs neither a CLI nor an account."""
    environment = clean_environment(tmp_path, PATH="")
    conversation(tmp_path / ".claude", "My name is Ada.", cwd=os.path.realpath("."))
    printed = run(example, "--offline", environment=environment)
    assert set(OFFLINE.get(example.stem, EXPECTED[example.stem])) <= set(printed)
    assert REFUSED_BY_THE_HOOK not in "\n".join(printed)


@pytest.mark.real
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_with_a_real_cli(example, tmp_path):
    """Unchanged, an example asks the CLI that is found."""
    with LoopbackModel() as model:
        invoice = {"sender": "Acme", "total": "12.50", "due": "2026-03-01"}
        model.when("Read this invoice").reply(tool_use("StructuredOutput", invoice))
        environment = {
            **model.environment(tmp_path, inherit=True),
            "CLAUDE_CODE_PATH": real_cli(),
            "PYTHONPATH": str(ROOT),
        }
        for _ in range(2 if example.stem in GO_ON else 1):
            printed = run(example, environment=environment)
        assert model.conversation
    assert set(EXPECTED[example.stem]) <= set(printed)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
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
