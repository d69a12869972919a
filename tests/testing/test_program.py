"""The stand-in CLI is a real process that does what its script says, however odd."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from patience import PATIENCE

from claude_sync.errors import UsageError
from claude_sync.testing import StandIn
from claude_sync.testing.offline import NOTICE

ROOT = Path(__file__).parents[2]

INITIALIZE = {
    "type": "control_request",
    "request_id": "req_1",
    "request": {"subtype": "initialize"},
}
QUESTION = {"type": "user", "uuid": "u1", "message": {"role": "user", "content": "hi"}}

posix_only = pytest.mark.skipif(os.name == "nt", reason="needs POSIX")


@contextlib.contextmanager
def running(command, *words, cwd=None):
    """A process with three pipes; it is ended and waited for, whatever the test does."""
    process = subprocess.Popen(
        [*command, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=cwd,
    )
    try:
        yield process
    finally:
        process.kill()
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        process.stdout.close()
        process.stderr.close()
        process.wait(PATIENCE)


def send(process, *messages):
    """Write messages to the process."""
    process.stdin.write(b"".join(json.dumps(each).encode() + b"\n" for each in messages))
    process.stdin.flush()


def receive(process):
    """The next message of the process."""
    return json.loads(process.stdout.readline())


def played(script, *messages, **settings):
    """Run *script* to its end, the input being *messages*: exit code, messages, stderr."""
    given = b"".join(json.dumps(message).encode() + b"\n" for message in messages)
    command = StandIn(script, **settings).command
    done = subprocess.run(command, input=given, capture_output=True, timeout=PATIENCE, check=False)
    said = [json.loads(line) for line in done.stdout.splitlines()]
    return done.returncode, said, done.stderr.decode()


# Scripts: the process runs this file to find them.


def answers_once(cli):
    cli.accept()
    cli.answer("Hello")
    cli.expect_end()
    cli.print_error("bye")
    cli.exit(3)


def tells_what_it_was_given(cli):
    cli.say(argv=list(cli.argv), settings=cli.settings, cwd=cli.cwd, home=cli.environ["HOME"])


def expects_something_else(cli):
    cli.expect("user", text="ho")


def expects_for_ever(cli):
    cli.say(type="ready")
    while True:
        cli.expect("user")


def kills_itself(cli):
    cli.print_raw(b'{"type": "resu')
    cli.kill_itself()


def is_stubborn(cli):
    cli.ignore_termination()
    cli.ignore_end_of_input()
    cli.say(type="ready")
    cli.swallow_input()


def hangs(cli):
    cli.say(type="ready")
    cli.wait_forever()


def hears_nothing(cli):
    cli.close_input()
    cli.say(type="ready")
    cli.wait_forever()


def closes_its_output(cli):
    cli.close_output()
    cli.expect_end()
    cli.exit(4)


def leaves_a_child(cli):
    cli.say(child=cli.leave_child(600))
    cli.exit(6)


# What scripts can do.


def test_a_script_speaks_the_protocol():
    """The words of a script mean as a process what they mean in memory."""
    code, said, errors = played(answers_once, INITIALIZE, QUESTION)
    assert code == 3
    assert said[0]["response"]["request_id"] == "req_1"
    assert [each["result"] for each in said if each["type"] == "result"] == ["Hello"]
    assert errors == "bye\n"


def test_a_script_knows_how_it_was_started(tmp_path, monkeypatch):
    """Arguments, environment, folder and settings reach the script, wherever it runs."""
    monkeypatch.setenv("HOME", str(tmp_path))
    command = StandIn(tells_what_it_was_given, color="red", style="old").command
    with running(command, "--model=opus", cwd=tmp_path) as process:
        told = receive(process)
        assert process.wait(PATIENCE) == 0
    assert told["argv"] == ["--model=opus"]
    assert (told["settings"]["color"], told["settings"]["style"]) == ("red", "old")
    assert Path(told["cwd"]).samefile(tmp_path)
    assert told["home"] == str(tmp_path)


def test_a_script_that_fails_says_why():
    """An unexpected message ends the process with a code of its own and a traceback."""
    code, _, errors = played(expects_something_else, QUESTION)
    assert code == 70
    assert "expected text='ho', found 'hi'" in errors


def test_the_end_of_its_input_ends_it():
    """As a real CLI does, a script that expects more exits with 0 when the input ends."""
    assert played(expects_for_ever)[0] == 0


@pytest.mark.parametrize("line", [b"nonsense\n", b"[1]\n"])
def test_a_broken_line_ends_it(line):
    """As a real CLI does, it exits with 1 at a line that is no JSON object."""
    with running(StandIn(expects_for_ever).command) as process:
        receive(process)
        process.stdin.write(line)
        process.stdin.flush()
        assert process.wait(PATIENCE) == 1
        assert b"Error parsing" in process.stderr.read()


@posix_only
def test_it_can_kill_itself():
    """kill_itself() ends it by a signal, in mid-line if need be."""
    with running(StandIn(kills_itself).command) as process:
        assert process.wait(PATIENCE) == -signal.SIGKILL
        assert process.stdout.read() == b'{"type": "resu'


@posix_only
def test_it_can_refuse_to_end():
    """A stubborn one outlives the end of its input and a request to terminate."""
    with running(StandIn(is_stubborn).command) as process:
        receive(process)
        process.terminate()
        send(process, QUESTION)
        process.stdin.close()
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.2)
        process.kill()
        assert process.wait(PATIENCE) == -signal.SIGKILL


@posix_only
def test_nobody_waits_for_ever():
    """A process that nobody ends ends by itself, when its lifetime is over."""
    with running(StandIn(hangs, lifetime=1).command) as process:
        assert process.wait(PATIENCE) == -signal.SIGALRM


@posix_only
def test_it_can_break_the_pipe():
    """After close_input() what is written to it breaks, though it lives."""
    with running(StandIn(hears_nothing).command) as process:
        receive(process)
        with pytest.raises(BrokenPipeError):
            send(process, QUESTION)
        assert process.poll() is None


def test_it_can_stop_talking():
    """After close_output() its output has ended, though it lives."""
    with running(StandIn(closes_its_output).command) as process:
        assert process.stdout.read() == b""
        assert process.poll() is None
        process.stdin.close()
        assert process.wait(PATIENCE) == 4


@posix_only
def test_it_can_leave_a_child_behind():
    """A child that outlives it keeps its output open."""
    with running(StandIn(leaves_a_child).command) as process:
        child = receive(process)["child"]
        assert process.wait(PATIENCE) == 6
        os.kill(child, signal.SIGKILL)  # would fail if there were no child
        assert process.stdout.read() == b""


# The command.


def test_a_script_must_be_findable():
    """What a process could not find by file and name is refused at once."""
    for script in (lambda cli: None, print, "".join):
        with pytest.raises(UsageError, match="top level"):
            StandIn(script)
    namespace = {}
    exec(compile("def script(cli): pass", "nowhere.py", "exec"), namespace)
    with pytest.raises(UsageError, match="no file"):
        StandIn(namespace["script"])


UNGUARDED = """
import sys
from claude_sync import Client
from claude_sync.testing import StandIn

with open(sys.argv[1] if __name__ == "__main__" else {notes!r}, "a") as notes:
    notes.write("loaded ")

def script(cli):
    cli.accept()
    cli.answer("Hello")

with Client(cli=StandIn(script).command) as client:
    print(client.ask("hi", timeout=60))
"""


def test_a_file_that_starts_itself_is_stopped(tmp_path):
    """No main guard: its second stand-in says what is wrong instead of loading it once more."""
    notes = tmp_path / "notes"
    program = tmp_path / "program.py"
    program.write_text(UNGUARDED.format(notes=str(notes)))
    done = subprocess.run(
        [sys.executable, str(program), str(notes)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 1
    assert 'if __name__ == "__main__":' in done.stderr
    assert notes.read_text().split() == ["loaded"] * 2  # by us, and by the stand-in


def test_a_program_in_one_file_is_not_started_again(monkeypatch):
    """There, the interpreter is the program itself: as it is told, and as its child sees it."""
    with monkeypatch.context() as patch:
        patch.setattr(sys, "frozen", True, raising=False)
        with pytest.raises(UsageError, match="ScriptedCli"):
            StandIn()
    monkeypatch.setattr(sys, "argv", ["program", *StandIn().command[1:]])
    with pytest.raises(UsageError, match="ScriptedCli"):
        StandIn()


def test_settings_are_checked():
    """A style that does not exist and a value that is no JSON are refused at once."""
    with pytest.raises(UsageError, match="style"):
        StandIn(style="ancient")
    with pytest.raises(UsageError, match="setting"):
        StandIn(color=object())
    assert "red" in repr(StandIn(color="red"))


def test_it_imports_only_what_it_needs():
    """A start loads neither the library nor the slow parts of the standard library."""
    command = StandIn().command
    program = command.index(next(word for word in command if word.endswith(".py")))
    told = [*command[:program], "-X", "importtime", *command[program:]]
    done = subprocess.run(told, input=b"", capture_output=True, timeout=PATIENCE, check=True)
    loaded = {line.split(b"|")[-1].strip().decode() for line in done.stderr.splitlines()}
    assert "claude_sync_stand_in.offline" in loaded
    unwanted = ("claude_sync", "ujson", "typing", "site", "threading", "inspect", "uuid")
    assert loaded.isdisjoint(unwanted)


def test_it_runs_as_a_module():
    """``python -m claude_sync.testing.program`` is the offline CLI."""
    command = [sys.executable, "-m", "claude_sync.testing.program"]
    with running(command, cwd=ROOT) as process:
        send(process, INITIALIZE, QUESTION)
        process.stdin.close()
        said = [json.loads(line) for line in process.stdout]
        assert process.wait(PATIENCE) == 0
        assert process.stderr.read().decode() == NOTICE + "\n"
    assert said[-2]["result"] == "echo: hi"


@pytest.mark.parametrize(("style", "version"), [("new", b"2.1.325"), ("old", b"2.1.29")])
def test_it_tells_its_version(style, version):
    """``--version`` prints a version first, and nothing on stderr."""
    command = [*StandIn(style=style).command, "--version"]
    done = subprocess.run(command, capture_output=True, timeout=PATIENCE, check=True)
    assert done.stdout.split()[0] == version
    assert done.stderr == b""


def test_a_large_question_is_read_whole():
    """A line of several megabytes, as attachments make it, arrives complete."""
    text = "x" * 3_000_000
    question = {"type": "user", "message": {"role": "user", "content": text}}
    code, said, _ = played(None, question)
    assert code == 0
    assert said[-1]["result"] == "echo: " + text


def test_a_client_that_goes_away_ends_it():
    """When nobody reads any more, it ends without a traceback."""
    with running(StandIn().command, "--include-partial-messages") as process:
        process.stdout.close()
        many = {"type": "user", "message": {"role": "user", "content": "[[deltas 100000]]"}}
        send(process, many)
        assert process.wait(PATIENCE) == 1
        assert process.stderr.read().decode() == NOTICE + "\n"
