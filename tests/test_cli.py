"""What ``claude-sync`` promises to a shell: stdout, stderr and exit codes."""

import functools
import json
import os
import shutil
import signal
import subprocess
import sys

import cli_scripts
import pytest
from command_line import CommandLine
from executables import clean_environment, executable
from patience import PATIENCE
from tables import each

from claude_sync import __version__, cli
from claude_sync.cli.common import client_options

NOTICE = f"claude-sync: {cli.OFFLINE}\n"


@pytest.fixture
def run_apart(tmp_path):
    """Run ``python -m claude_sync``; its exit code, stdout and stderr."""

    def run(*words, stdin=b"", environment=None):
        done = subprocess.run(
            [sys.executable, "-W", "error", "-m", "claude_sync", *words],
            input=stdin,
            capture_output=True,
            cwd=tmp_path,
            env=environment or clean_environment(tmp_path),
            timeout=PATIENCE,
        )
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    return run


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """The same without a process of its own."""
    command_line = CommandLine(tmp_path, monkeypatch, capsys)
    environment = clean_environment(tmp_path)
    return functools.partial(command_line.run, environment=environment)


def test_the_answer_is_all_there_is_on_stdout(run_apart):
    """``ask`` prints the answer and one newline; that nobody thinks goes to stderr."""
    assert run_apart("ask", "--offline", "Hello") == (0, "echo: Hello\n", NOTICE)


def test_what_follows_two_dashes_is_never_an_option(run_apart):
    """A script can pass on words that it does not know, and none of them allows anything."""
    tool = '[[tool Bash {"command": "ls"}]]'
    code, stdout, stderr = run_apart("ask", "--offline", "--", tool, "--yes")
    assert code == 0
    assert "was denied" in stderr
    code, stdout, _ = run_apart("ask", "--offline", "--", "-x", "--json", "--", "--no-such-option")
    assert (code, stdout) == (0, "echo: -x --json -- --no-such-option\n")
    assert run_apart("ask", "--offline", "a", "--", "-", "-b", stdin=b"x")[1] == "echo: a\nx\n-b\n"


@each(
    ("words", "name", "value"),
    [
        (["ask", "--", "--yes"], "prompt", ["--yes"]),
        (["ask", "hi", "--", "--"], "prompt", ["hi", "--"]),
        (["ask", "--json", "--", "hi", "-h"], "prompt", ["hi", "-h"]),
        (["record", "x.jsonl", "--", "--cwd"], "prompt", ["--cwd"]),
        (["record", "--", "-x.jsonl", "hi"], "file", "-x.jsonl"),
        (["export", "--", "-x.jsonl"], "session", "-x.jsonl"),
        (["sessions", "rename", "1b4e28ba", "--", "-- a title"], "title", "-- a title"),
        (["sessions", "restore", "--", "-folder"], "folder", "-folder"),
    ],
)
def test_two_dashes_are_understood_by_every_command(words, name, value):
    """Wherever they stand, and whatever argparse of this Python makes of them."""
    assert getattr(cli.parsed(words), name) == value


def test_an_option_takes_no_word_from_behind_two_dashes(run):
    """What is left out before them is complained about, in the words that were typed."""
    code, _, stderr = run("ask", "--model", "--", "hi")
    assert code == 2
    assert "--model" in stderr
    code, _, stderr = run("export", "last", "--", "-x")
    assert code == 2
    assert "unrecognized arguments: -x." in stderr


def test_ctrl_c_interrupts_a_turn_whose_first_words_are_written_already(tmp_path):
    """Text is written as it arrives; Ctrl-C is told to the CLI, and ends everything quietly."""
    note = tmp_path / "note"
    path = executable(tmp_path, cli_scripts.notes_an_interrupt, note=str(note))
    asking = subprocess.Popen(
        [sys.executable, "-W", "error", "-m", "claude_sync", "ask", "hi", "--cli", path],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=clean_environment(tmp_path),
        start_new_session=True,
    )
    with asking:
        assert asking.stdout.read(5) == b"Well,"  # and nothing more will come
        asking.send_signal(signal.SIGINT)
        assert asking.communicate(timeout=PATIENCE) == (b"\n", b"")
    assert asking.returncode == 130
    assert note.read_text() == "interrupt"


def test_a_reader_that_leaves_ends_the_turn_quietly(tmp_path):
    """``claude-sync ask ... | head -c 6`` does not complain about the pipe."""
    asking = subprocess.Popen(
        [sys.executable, "-m", "claude_sync", "ask", "--offline", "[[deltas 300000]]"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=clean_environment(tmp_path),
    )
    with asking:
        asking.stdout.read(6)
        asking.stdout.close()
        assert asking.stderr.read() == NOTICE.encode()
        assert asking.wait(PATIENCE) == 1


def test_messages_of_one_turn_are_lines_of_their_own(run, tmp_path):
    """What Claude says before and after a tool is not run together."""
    path = executable(tmp_path, cli_scripts.speaks_twice)
    assert run("ask", "--cli", path, "2+2?") == (0, "Let me look.\nIt is 4.\n", "")


def test_the_output_of_a_command_is_an_answer(run):
    """A slash command, which streams nothing, still prints what it has to say."""
    code, stdout, _ = run("ask", "--offline", "/cost")
    assert code == 0
    assert stdout.startswith("Total cost: ")
    assert stdout.count("\n") == 1


def test_standard_input_that_is_no_text_is_refused(run_apart):
    """Bytes that are not UTF-8 are a mistake in the command line, said in words."""
    code, stdout, stderr = run_apart("ask", "--offline", "-", stdin=b"\xff\xfe")
    assert (code, stdout) == (2, "")
    assert "UTF-8" in stderr
    assert "Traceback" not in stderr


def test_the_options_reach_the_cli(run, tmp_path):
    """--model, --resume and --cwd are those of the client."""
    path = executable(tmp_path, cli_scripts.answers_with_its_options)
    folder = tmp_path / "project"
    folder.mkdir()
    code, stdout, _ = run(
        *("ask", "--cli", path, "--model", "opus", "--cwd", str(folder)),
        *("--resume", "11111111-1111-4111-8111-111111111111", "hi"),
    )
    assert code == 0
    assert json.loads(stdout) == {
        "model": "opus",
        "resume": "11111111-1111-4111-8111-111111111111",
        "cwd": os.path.realpath(folder),
    }


def test_json_is_one_object(run):
    """--json prints everything a program wants to know, and nothing else."""
    code, stdout, stderr = run("ask", "--offline", "--json", "Hello")
    told = json.loads(stdout)
    assert (code, stderr) == (0, NOTICE)
    assert set(told) == {"text", "session_id", "cost_usd", "usage", "is_error"}
    assert (told["text"], told["cost_usd"], told["is_error"]) == ("echo: Hello", 0.0, False)
    assert len(told["session_id"]) == 36
    assert told["usage"]["output_tokens"] == 7


def test_a_failed_turn_is_an_error_and_not_an_answer(run_apart, tmp_path):
    """What the CLI says about a failure goes to stderr, with advice: here, exit code 3."""
    path = executable(tmp_path, cli_scripts.is_not_logged_in)
    code, stdout, stderr = run_apart("ask", "--cli", path, "hi")
    assert (code, stdout) == (3, "")
    assert stderr.startswith("claude-sync: Not logged in")
    assert "/login" in stderr.splitlines()[-1]
    assert "Traceback" not in stderr
    code, stdout, stderr = run_apart("ask", "--json", "--cli", path, "hi")
    told = json.loads(stdout)
    assert (code, told["is_error"], stderr) == (3, True, f"claude-sync: {told['error']}\n")


def test_no_cli_is_exit_code_3(run, tmp_path):
    """A CLI that is not there is told with the places looked at, and how to install it."""
    code, stdout, stderr = run("ask", "--cli", str(tmp_path / "nothing"), "hi")
    assert (code, stdout) == (3, "")
    assert str(tmp_path / "nothing") in stderr
    assert "npm install" in stderr


def test_a_timeout_is_exit_code_4(run):
    """--timeout gives up, and says so."""
    code, stdout, stderr = run("ask", "--offline", "--timeout", "0.5", "[[sleep 60]]")
    assert (code, stdout) == (4, "")
    assert "within 0.5 s" in stderr


@each(
    "words",
    [
        ("aks", "hi"),
        ("ask",),
        ("ask", "--offline", " "),
        ("ask", "--offline", "--timeout", "0", "hi"),
        ("ask", "--offline", "--timeout", "soon", "hi"),
        ("ask", "--offline", "--timeout", "nan", "hi"),
        ("ask", "--offline", "--cli", "claude", "hi"),
        ("ask", "--offline", "--cwd", "no-such-folder", "hi"),
        ("ask", "--offline", "-", "-"),
        ("ask", "--off", "hi"),
    ],
)
def test_a_wrong_command_line_is_exit_code_2(run, words):
    """Mistakes are told in words, on stderr."""
    code, stdout, stderr = run(*words)
    assert (code, stdout) == (2, "")
    assert "claude-sync" in stderr
    assert "Traceback" not in stderr


def test_the_version_is_told(run_apart):
    """--version is that of the package."""
    assert run_apart("--version") == (0, f"claude-sync {__version__}\n", "")


def test_alone_it_prints_its_help(run):
    """On stdout, and that is no mistake."""
    code, stdout, stderr = run()
    assert (code, stderr) == (0, "")
    assert stdout.startswith("usage: claude-sync ")


def test_what_was_probably_meant_is_told(run):
    """Of an option of that command."""
    assert "--model" in run("ask", "--modle", "x", "hi")[2]
    assert "Did you mean" not in run("ask", "--qqqqq", "hi")[2]


def test_settings_of_a_question_reach_the_client():
    """In their types; what is not typed is left to the library."""
    words = ["ask", "--budget", "0.5", "--retries", "2", "--max-turns", "3", "hi"]
    arguments = cli.parsed([*words, "--system-prompt", "Be brief.", "--permission-mode", "plan"])
    options = client_options(arguments)
    assert (options["budget_usd"], options["retries"], options["max_turns"]) == (0.5, 2, 3)
    assert (options["system_prompt"], options["permission_mode"]) == ("Be brief.", "plan")
    assert "retries" not in client_options(cli.parsed(["ask", "hi"]))


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_learn_the_commands_and_their_options(run, shell):
    """Each shell in its own words, which it can read if it is installed here."""
    code, stdout, stderr = run("completion", shell)
    assert (code, stderr) == (0, "")
    for word in ("sessions", "restore", "permission-mode", "completion"):
        assert word in stdout
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=stdout, text=True, check=True)
