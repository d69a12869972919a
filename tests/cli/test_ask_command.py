"""``claude-sync ask``: standard input, attachments, forms, rules, and the terminal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile

import cli_scripts
import command_scripts
import pytest
from executables import executable
from image_samples import png
from saved_sessions import conversation
from tables import each
from tmux_terminal import Terminal

from claude_sync import cli
from claude_sync.cli import ask

ID = "11111111-aaaa-4111-8111-111111111111"
NOTICE = f"claude-sync: {cli.OFFLINE}\n"
WRITE = '[[tool Write {"file_path": "x.txt", "content": "new\\n"}]]'
SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


def asked_of(run, tmp_path, *words, **settings):
    """What a CLI was started with, and asked."""
    path = executable(tmp_path, command_scripts.tells_how_it_was_started)
    code, stdout, stderr = run("ask", "--cli", path, *words, **settings)
    assert (code, stderr) == (0, "")
    return json.loads(stdout)


@each(
    ("words", "said"),
    [
        (["Sum", "up:"], "/cost\ntwo\nSum up:"),
        (["a", "-", "b"], "a\n/cost\ntwo\nb"),
        (["a", "-"], "/cost\ntwo\na"),
        (["-"], "/cost\ntwo"),
        ([""], "/cost\ntwo"),
    ],
)
def test_what_is_piped_in_is_data(run, words, said):
    """It stands before the prompt, or where the dash is; and it is no command."""
    assert run("ask", "--offline", *words, stdin=b"/cost\ntwo\n")[1] == f"echo: {said}\n"


def test_a_pipe_that_nobody_writes_to_is_left_alone(tmp_path, environment, monkeypatch):
    """A script whose standard input stays open gets its answer, and is told about it."""
    reading, writing = os.pipe()
    try:
        asking = subprocess.run(
            [sys.executable, "-m", "claude_sync", "ask", "--offline", "Hello"],
            stdin=reading,
            capture_output=True,
            env=environment,
            timeout=60,
        )
    finally:
        os.close(reading)
        os.close(writing)
    assert (asking.returncode, asking.stdout) == (0, b"echo: Hello\n")
    assert b"no data arrived on standard input within 3 s" in asking.stderr


def test_files_are_attached(run, tmp_path):
    """--attach may be repeated; what is no such file is refused before anything starts."""
    (tmp_path / "a.png").write_bytes(png(2, 2))
    (tmp_path / "b.txt").write_text("words")
    asked = asked_of(run, tmp_path, "--attach", "a.png", "--attach", "b.txt", "See?")
    assert [block["type"] for block in asked["content"]] == ["image", "document", "text"]
    code, stdout, stderr = run("ask", "--cli", "/nowhere", "--attach", "no.png", "See?")
    assert (code, stdout) == (2, "")
    assert "no.png" in stderr


def test_an_answer_in_a_form_is_json(run, tmp_path):
    """--returns prints the data; with --json it is a field."""
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA))
    path = executable(tmp_path, command_scripts.gives_data)
    words = ("ask", "--cli", path, "--returns", "schema.json", "Who?")
    data = {"name": "Ada", "age": 36, "wanted": ["name"]}
    assert run(*words) == (0, json.dumps(data) + "\n", "")
    code, stdout, _ = run(*words, "--json")
    told = json.loads(stdout)
    assert (code, told["data"], told["text"]) == (0, data, "It is ready.")


@pytest.mark.parametrize("content", ["nonsense", "[]", None])
def test_a_form_that_is_none_is_refused(run, tmp_path, content):
    """The file has to be there and hold an object."""
    if content is not None:
        (tmp_path / "schema.json").write_text(content)
    code, stdout, stderr = run("ask", "--offline", "--returns", "schema.json", "Who?")
    assert (code, stdout) == (2, "")
    assert "schema.json" in stderr
    assert "Traceback" not in stderr


def test_the_cost_is_told_on_stderr(run, tmp_path):
    """--cost is a line of its own."""
    path = executable(tmp_path, None, cost=0.25)
    code, stdout, stderr = run("ask", "--cli", path, "--cost", "Hello")
    assert (code, stdout) == (0, "echo: Hello\n")
    assert stderr.startswith("claude-sync: $0.2500 · ")


def test_nobody_to_ask_means_no_and_tells_how_to_allow(run):
    """Without a terminal and without rules, a tool is denied."""
    code, stdout, stderr = run("ask", "--offline", WRITE)
    assert (code, "no one is available to allow Write" in stdout) == (0, True)
    assert stderr.count('Allow it with --allow "Write", or everything with --yes') == 1


@pytest.mark.parametrize(
    ("rules", "is_run"),
    [
        (("--allow", "Write"), True),
        (("--allow", "Read"), False),
        (("--allow", "Bash", "--allow", "Write(//**/*.txt)"), True),
        (("--yes",), True),
        (("--yes", "--deny", "Write"), False),
        (("--allow", "Write", "--deny", "Write(//**/x.*)"), False),
    ],
)
def test_rules_decide_and_what_is_denied_comes_first(run, rules, is_run):
    """--allow, --deny and --yes, as the policies of the library."""
    # A rule for files allows whole paths only.
    path = os.path.join(tempfile.gettempdir(), "x.txt").replace("\\", "/")
    code, stdout, _ = run("ask", "--offline", *rules, WRITE.replace("x.txt", path))
    assert code == 0
    assert ("offline, so not run" in stdout) is is_run


def test_what_is_denied_is_denied_to_the_cli_too(run, tmp_path):
    """A CLI does not ask about what its settings allow, so it is told."""
    asked = asked_of(run, tmp_path, "--deny", "Bash(rm *)", "--deny", "WebFetch", "hi")
    assert asked["disallowed"] == "Bash(rm *),WebFetch"


def test_the_last_conversation_is_gone_on_with(run, tmp_path):
    """--continue; not together with --resume."""
    assert asked_of(run, tmp_path, "--continue", "hi")["continue"] is True
    code, _, stderr = run("ask", "--offline", "--continue", "--resume", "x", "hi")
    assert code == 2
    assert "not allowed with" in stderr


# On a terminal.


@pytest.fixture
def terminal(tmp_path, environment):
    """Start a command in a terminal."""

    def start(*words, **more):
        command = [sys.executable, "-W", "error", "-m", "claude_sync", *words]
        variables = {name: value for name, value in environment.items() if name != "COLUMNS"}
        return Terminal(command, {**variables, **more}, tmp_path)

    return start


def test_a_terminal_obeys_nothing_of_an_answer_or_an_error(terminal, tmp_path):
    """Nobody clears the screen or sets the title."""
    path = executable(tmp_path, command_scripts.says_evil_things)
    with terminal("chat", "--cli", path) as shown:
        shown.until("$0.0000 >")
        shown.type("one")
        shown.until("an \\x1b[2Jevil \\x1b]0;title\\x07 word")
        shown.until("$0.0000 >", times=2)
        shown.type("two")
        screen = shown.until("\\x1b[2Jevil", times=2)
        assert "claude-sync: " in screen
        assert "> one" in screen  # nothing was cleared


def test_help_has_examples_and_exit_codes(run):
    """Of every command that asks."""
    for command in ("ask", "chat", "record", "replay", "sessions", "export", "doctor", "batch"):
        code, stdout, _ = run(command, "--help")
        assert code == 0
        assert "examples:" in stdout
        assert "exit codes:" in stdout
        assert "--offline" in stdout
    assert f"{ask.SILENCE:g} seconds" in run("ask", "--help")[1]


@pytest.mark.parametrize("name", [ID, "11111111", "last"])
def test_a_conversation_is_resumed_by_the_beginning_of_its_id(run, config, tmp_path, name):
    """Or as the last one: as with the other commands."""
    conversation(config, "hello", cwd=os.path.realpath(tmp_path), session_id=ID)
    path = executable(tmp_path, cli_scripts.answers_with_its_options)
    code, stdout, _ = run("ask", "--cli", path, "--resume", name, "hi")
    assert (code, json.loads(stdout)["resume"]) == (0, ID)


def test_a_title_is_for_the_cli_and_an_id_of_nothing_is_refused(run, tmp_path):
    """New CLIs know titles."""
    path = executable(tmp_path, cli_scripts.answers_with_its_options)
    stdout = run("ask", "--cli", path, "--resume", "The parser", "hi")[1]
    assert json.loads(stdout)["resume"] == "The parser"
    for name in ("2222", "last"):
        code, stdout, stderr = run("ask", "--cli", path, "--resume", name, "hi")
        assert (code, stdout) == (2, "")
        assert "sessions list --all" in stderr


QUESTION = json.dumps(
    {"questions": [{"question": "Which?", "options": [{"label": "A"}, {"label": "B"}]}]}
)


@pytest.mark.parametrize(
    ("prompt", "question"),
    [(WRITE, "Allow it?"), (f"[[tool AskUserQuestion {QUESTION}]]", "(n to decline)")],
)
def test_ctrl_c_at_a_question_is_exit_code_130(terminal, prompt, question):
    """The turn is stopped, and nothing is said about it."""
    with terminal("ask", "--offline", prompt) as shown:
        shown.until(question)
        shown.press("C-c")
        screen = shown.until("[exit code 130]")
        assert screen.count("claude-sync: ") == 1  # that it is offline
        assert "Write: " not in screen


def test_a_diff_is_in_colours(terminal):
    """Where the terminal has them."""
    with terminal("ask", "--offline", WRITE) as shown:
        shown.until("Allow it?")
        assert "\x1b[32m+new" in shown.screen(colours=True)
        shown.type("n")
        shown.until("[exit code 0]")
    with terminal("ask", "--offline", WRITE, NO_COLOR="1") as shown:
        shown.until("Allow it?")
        assert "\x1b" not in shown.screen(colours=True)
        shown.type("n")
        shown.until("[exit code 0]")
