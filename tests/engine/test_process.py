"""The CLI as a child process: bytes both ways, and an end that always comes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from patience import PATIENCE

from claude_sync import CliDidNotStart, CliNotFound, Options, UsageError
from claude_sync.engine.launch import process as process_module
from claude_sync.engine.launch.command import Launch
from claude_sync.engine.launch.process import ProcessTransport, Waker

posix_only = pytest.mark.skipif(os.name == "nt", reason="needs POSIX")

ECHO = """
import sys
for line in sys.stdin.buffer:
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()
"""


def launch_of(code, *words, cwd=None):
    """How a Python program is started in the place of the CLI."""
    argv = (sys.executable, "-I", "-S", "-u", "-c", code, *words)
    return Launch(argv, dict(os.environ), cwd, {})


@pytest.fixture
def start():
    """Start a transport; whatever is left of it is ended by force afterwards."""
    started = []

    def begin(code, *words, cwd=None):
        transport = ProcessTransport()
        transport.start(launch_of(code, *words, cwd=cwd))
        started.append(transport)
        return transport

    yield begin
    for transport in started:
        transport.kill()
        transport.close(PATIENCE)
        transport.free()


def read_all(read):
    """Everything up to the end."""
    return b"".join(iter(read, b""))


def read_line(transport):
    """The first line of the output."""
    data = b""
    while not data.endswith(b"\n"):
        portion = transport.read()
        assert portion, "the child has ended"
        data += portion
    return data


def test_bytes_go_both_ways(start):
    """What is written reaches the child, what it prints comes back, unchanged."""
    transport = start(ECHO)
    transport.write(b'{"a": "\xc3\xa4"}\n')
    assert read_line(transport) == b'{"a": "\xc3\xa4"}\n'
    assert transport.exit_code is None
    assert transport.pid != os.getpid()


def test_a_write_of_any_size_arrives_whole(start):
    """A pipe takes large data in portions; all of it arrives."""
    transport = start(ECHO)
    data = b"x" * 3_000_000 + b"\n"
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(transport.write, data)
        assert read_line(transport) == data
        writing.result(PATIENCE)


def test_stderr_is_apart(start):
    """Each output has its own pipe and its own end."""
    transport = start("import sys; print('out'); print('err', file=sys.stderr)")
    assert read_all(transport.read).split() == [b"out"]
    assert read_all(transport.read_error).split() == [b"err"]
    assert transport.read() == transport.read_error() == b""


def test_the_exit_code_is_known(start):
    """wait() tells it, and None while the child lives."""
    transport = start("import sys; sys.stdin.read(); sys.exit(3)")
    assert transport.wait(0) is None
    transport.end_input()
    assert transport.wait(PATIENCE) == 3
    assert transport.exit_code == 3


def test_end_of_input_is_the_polite_end(start):
    """close() ends the input first: a child that ends by itself exits with its own code."""
    transport = start(ECHO)
    transport.close(PATIENCE)
    assert transport.exit_code == 0
    assert transport.read() == b""
    with pytest.raises(OSError, match="closed"):
        transport.write(b"x\n")


@posix_only
def test_a_child_that_ignores_its_input_is_terminated(start, monkeypatch):
    """After the grace comes a request to terminate."""
    monkeypatch.setattr(process_module, "GRACE", 0.05)
    transport = start("import time; print('up'); time.sleep(600)")
    read_line(transport)
    transport.close(PATIENCE)
    assert transport.exit_code == -signal.SIGTERM


@posix_only
def test_a_child_that_ignores_everything_is_killed(start, monkeypatch):
    """After the request comes force, within the time that was given."""
    monkeypatch.setattr(process_module, "GRACE", 0.05)
    code = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
        "print('up'); time.sleep(600)"
    )
    transport = start(code)
    read_line(transport)
    before = time.monotonic()
    transport.close(1.0)
    assert transport.exit_code == -signal.SIGKILL
    assert time.monotonic() - before < PATIENCE / 2


def test_kill_is_at_once_and_harmless_afterwards(start):
    """A killed child is gone; killing it again, or one that never started, does nothing."""
    transport = start("import time; time.sleep(600)")
    transport.kill()
    assert transport.wait(PATIENCE) is not None
    transport.kill()
    unstarted = ProcessTransport()
    unstarted.kill()
    unstarted.close(1)


def test_closing_wakes_a_reader(start):
    """A thread that is inside read() comes back."""
    transport = start(ECHO)
    with ThreadPoolExecutor(2) as pool:
        reading = [pool.submit(transport.read), pool.submit(transport.read_error)]
        transport.close(PATIENCE)
        assert [each.result(PATIENCE) for each in reading] == [b"", b""]


@posix_only
def test_a_grandchild_that_holds_the_pipe_does_not_hold_up_reading(start):
    """Reading ends when the child has exited and what it wrote is read."""
    code = (
        "import subprocess, sys; "
        "child = subprocess.Popen([sys.executable, '-I', '-S', '-c', "
        "'import time; time.sleep(600)']); print(child.pid)"
    )
    transport = start(code)
    with ThreadPoolExecutor(1) as pool:
        output = pool.submit(read_all, transport.read).result(PATIENCE)
    os.kill(int(output), signal.SIGKILL)


@posix_only
def test_the_child_has_a_session_of_its_own(start):
    """A terminal's Ctrl-C does not reach it."""
    transport = start("import os; print(os.getsid(0), os.getpid()); input()")
    session, pid = read_line(transport).split()
    assert session == pid
    assert int(session) != os.getsid(0)


def test_the_child_gets_its_folder_and_environment(start, tmp_path):
    """cwd and environment are those of the launch."""
    transport = start("import os; print(os.getcwd())", cwd=str(tmp_path))
    assert os.path.samefile(read_all(transport.read).decode().strip(), tmp_path)


def test_a_missing_program_is_not_found():
    """The error names what was looked for."""
    transport = ProcessTransport()
    with pytest.raises(CliNotFound, match="no-such-claude"):
        transport.start(Launch(("no-such-claude",), {}, None, {}))


@posix_only
def test_a_missing_interpreter_is_told_as_such(tmp_path):
    """The file is there, what its first line names is not: the error says so."""
    script = tmp_path / "claude"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    with pytest.raises(CliNotFound, match="interpreter named in its first line"):
        ProcessTransport().start(Launch((str(script),), {}, None, {}))


@posix_only
def test_a_file_that_cannot_be_run_is_told(tmp_path):
    """Without permission, or of a wrong format: CliDidNotStart with the system's words."""
    script = tmp_path / "claude"
    script.write_text("")
    with pytest.raises(CliDidNotStart, match=r"could not be run: Permission denied"):
        ProcessTransport().start(Launch((str(script),), {}, None, {}))


def test_a_start_that_fails_half_way_leaves_nothing(monkeypatch):
    """Ctrl-C while the CLI is started: its pipes are closed, and its guard ends."""
    start = subprocess.Popen

    def interrupted(argv, **settings):
        if argv[0] == sys.executable:
            raise KeyboardInterrupt
        return start(argv, **settings)

    opened = []
    pipe = os.pipe
    transport = ProcessTransport()
    monkeypatch.setattr(subprocess, "Popen", interrupted)
    monkeypatch.setattr(os, "pipe", lambda: opened.extend(made := pipe()) or made)
    with pytest.raises(KeyboardInterrupt):
        transport.start(launch_of(ECHO))
    assert transport.guard_pid is None
    assert opened
    for descriptor in opened:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(descriptor)


def test_a_missing_folder_is_not_taken_for_a_missing_program(tmp_path):
    """The error is about the folder."""
    with pytest.raises(UsageError, match="does not exist"):
        ProcessTransport().start(launch_of(ECHO, cwd=str(tmp_path / "gone")))


def test_secrets_are_not_in_the_command_that_is_shown(start):
    """argv is for error texts."""
    transport = start(ECHO, "--api-key=hunter2")
    assert "hunter2" not in " ".join(transport.argv)


@posix_only
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
def test_abandoning_closes_our_copies_only(start):
    """In a forked child the pipes are let go of, and the CLI lives on."""
    transport = start("print('up'); input()")
    read_line(transport)
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            transport.abandon()
            if transport.pid is None and transport.exit_code is None:
                code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert transport.exit_code is None
    transport.write(b"\n")
    assert transport.wait(PATIENCE) == 0


def test_writing_while_it_closes_hits_nobody_else(start):
    """A thread that is about to write never writes into a descriptor that was reused."""
    transport = start("import sys; sys.stdin.read()")
    stop = threading.Event()

    def write():
        while not stop.is_set():
            try:
                transport.write(b"x\n")
            except OSError:
                return

    thread = threading.Thread(target=write)
    thread.start()
    transport.end_input()
    others = [os.open(os.devnull, os.O_RDONLY) for _ in range(20)]
    stop.set()
    thread.join(PATIENCE)
    for descriptor in others:
        os.close(descriptor)
    assert not thread.is_alive()
    assert transport.wait(PATIENCE) == 0


@posix_only
def test_a_waker_stays_awake():
    """Whoever polls it later sees it too; closing twice is harmless."""
    import select

    waker = Waker()
    poll = select.poll()
    poll.register(waker.receiver, select.POLLIN)
    assert poll.poll(0) == []
    waker.wake()
    assert poll.poll(0) == poll.poll(0) != []
    assert len(waker.descriptors()) == 2
    waker.close()
    waker.close()
    waker.wake()
    assert waker.descriptors() == ()


def test_nothing_is_waited_for_without_a_process():
    """A transport that never started has no output and no exit code."""
    transport = ProcessTransport()
    assert (transport.read(), transport.read_error()) == (b"", b"")
    assert (transport.pid, transport.exit_code, tuple(transport.argv)) == (None, None, ())
    transport.close(1)


@pytest.fixture
def as_root(monkeypatch):
    """Believe that root runs this, and note which files change hands."""
    changed = []
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(os, "chown", lambda path, *ids: changed.append((path, *ids)))
    return changed


def launch_as(user, **settings):
    """How the CLI is started as a user."""
    options = Options(user=user, **settings)
    return Launch(("claude",), {"HOME": "/root", "A": "b"}, None, {}, ("/t/a", "/t/b"), options)


@posix_only
def test_another_user_has_its_own_home_groups_and_files(as_root, monkeypatch):
    """Nothing of root is left to it."""
    pwd = pytest.importorskip("pwd")
    ada = pwd.struct_passwd(("ada", "x", 4321, 4322, "", "/home/ada", "/bin/sh"))
    monkeypatch.setattr(pwd, "getpwnam", {"ada": ada}.__getitem__)
    monkeypatch.setattr(os, "getgrouplist", lambda name, group: [group, 77])
    started = process_module.as_user(launch_as("ada"))
    variables = {"HOME": "/home/ada", "USER": "ada", "LOGNAME": "ada", "A": "b"}
    ids = {"user": 4321, "group": 4322, "extra_groups": [4322, 77]}
    assert started == {**ids, "env": variables}
    assert sorted(as_root) == [(path, 4321, 4322) for path in ("/t", "/t/a", "/t/b")]
    started = process_module.as_user(launch_as("ada", env={"HOME": "/root"}))
    assert started["env"]["HOME"] == "/root"


@posix_only
def test_only_root_runs_the_cli_as_another_user(monkeypatch):
    """Refused before the start, and so is a user that does not exist."""
    pwd = pytest.importorskip("pwd")
    ada = pwd.struct_passwd(("ada", "x", 4321, 4322, "", "/home/ada", "/bin/sh"))
    monkeypatch.setattr(pwd, "getpwnam", {"ada": ada}.__getitem__)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    for user in ("ada", "bob"):
        with pytest.raises(UsageError) as caught:
            ProcessTransport().start(launch_as(user))
        assert caught.value.option == "user"


@posix_only
def test_the_user_that_we_are_changes_nothing():
    """The CLI runs as it would without."""
    pwd = pytest.importorskip("pwd")
    assert process_module.as_user(launch_as(pwd.getpwuid(os.geteuid()).pw_name)) == {}
