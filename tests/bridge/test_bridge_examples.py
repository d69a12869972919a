"""The front ends of examples/bridge, run as they are."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys

import pytest
from executables import ROOT, clean_environment
from patience import PATIENCE

EXAMPLES = ROOT / "examples" / "bridge"
BACKEND = shlex.join([sys.executable, "-m", "claude_sync", "bridge", "--offline"])


# A backend that wants two things to be decided at once, and tells how they were.
ASKS_TWICE = """
import json, sys
sys.stdin.readline()
for name in ("Read", "Write"):
    about = {"type": "callback.request", "id": name, "session_id": "s"}
    payload = {"callback_type": "can_use_tool", "tool_name": name, "tool_input": {}}
    print(json.dumps({**about, "payload": payload}))
sys.stdout.flush()
told = [json.loads(sys.stdin.readline()) for _ in range(2)]
said = " ".join(each["id"] + ":" + each["payload"]["behavior"] for each in told)
payload = {"type": "result", "result": said}
print(json.dumps({"type": "sdk.message", "session_id": "s", "payload": payload}), flush=True)
sys.stdin.read()
"""


def run(words, home, answers=b"", backend=BACKEND):
    """Run a front end; what it printed, on stdout and stderr."""
    environment = clean_environment(home, BRIDGE=backend)
    done = subprocess.run(
        words, input=answers, capture_output=True, env=environment, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.decode(), done.stderr.decode()


def test_the_python_front_end_asks_two_sessions(tmp_path):
    """It knows nothing of this library, and gets an answer from each."""
    source = (EXAMPLES / "front_end.py").read_text()
    assert "import claude_sync" not in source
    printed, _ = run([sys.executable, "-I", str(EXAMPLES / "front_end.py")], tmp_path)
    assert sorted(printed.splitlines()) == [
        "Which river is near Paris? echo: Which river is near Paris?",
        "Which river is near Rome? echo: Which river is near Rome?",
    ]


@pytest.fixture
def node():
    """The Node of this machine."""
    found = shutil.which("node")
    if found is None:
        pytest.skip("needs Node")
    return found


@pytest.mark.parametrize(("word", "told"), [(b"y\n", "offline, so not run"), (b"n\n", "No.")])
def test_the_node_front_end_asks_before_a_tool_is_used(node, tmp_path, word, told):
    """It prints the answer, after a person has decided."""
    prompt = '[[tool Bash {"command": "ls"}]] hello'
    words = [node, str(EXAMPLES / "front_end.mjs"), prompt]
    printed, asked = run(words, tmp_path, word)
    assert 'Bash {"command":"ls"}? [y/N]' in asked
    assert printed.startswith("Bash: ")
    assert told in printed


@pytest.mark.parametrize(
    ("words", "told"), [(b"y\n", "Read:allow Write:deny"), (b"", "Read:deny Write:deny")]
)
def test_one_word_decides_one_thing(node, tmp_path, words, told):
    """Questions that come together are asked one after the other; nobody there means no."""
    script = tmp_path / "asks_twice.py"
    script.write_text(ASKS_TWICE)
    front_end = [node, str(EXAMPLES / "front_end.mjs")]
    printed, _ = run(front_end, tmp_path, words, shlex.join([sys.executable, str(script)]))
    assert printed == f"{told}\n"


def test_each_fits_on_one_screen():
    """Examples are read before they are run."""
    files = list(EXAMPLES.iterdir())
    assert {file.name for file in files} >= {"front_end.mjs", "front_end.py"}
    for file in files:
        assert len(file.read_text().splitlines()) <= 55
