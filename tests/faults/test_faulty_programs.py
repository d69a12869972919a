"""What a program does to its clients: exit, fork, Ctrl-C. Each runs in a process of its own."""

import os
import signal
import time

import pytest

# Far less than the turns below would take.
PROMPTLY = 10.0

OPENED = """
import os, signal, sys, threading, time, warnings
import claude_sync, scripts
from claude_sync.testing import StandIn

def say(*words):
    print(*words, flush=True)

client = claude_sync.Client(cli=StandIn().command)
"""


@pytest.mark.parametrize("ending", ["", "sys.exit(3)", "raise ValueError('oops')"])
def test_exit_with_a_running_turn(program, gone, ending):
    """A program that ends with an open client and a running turn exits promptly; no orphans."""
    running = program(
        OPENED
        + f"""
client.start()
client.submit("[[sleep 60]]")
say("pid", client.pid)
{ending}
"""
    )
    began = time.monotonic()
    code, printed, errors = running.end()
    assert time.monotonic() - began < PROMPTLY
    assert code == {"": 0, "sys.exit(3)": 3}.get(ending, 1), errors
    assert ("Traceback" in errors) == ending.startswith("raise")
    gone(int(printed.split()[1]))


def test_exit_while_a_thread_asks(program, gone):
    """A daemon thread that waits in ask() does not keep the program from exiting."""
    running = program(
        OPENED
        + """
client.start()
threading.Thread(target=client.ask, args=("[[sleep 60]]",), daemon=True).start()
while client.state != "busy":
    threading.Event().wait(0.01)
say("pid", client.pid)
"""
    )
    code, printed, errors = running.end()
    assert code == 0, errors
    gone(int(printed.split()[1]))


def test_exit_inside_a_handler_that_hangs(program, gone):
    """A handler that never returns does not keep the program from exiting."""
    running = program(
        OPENED
        + """
import claude_sync.engine.closing
claude_sync.engine.closing.EXIT_TIME = 0.3
inside = threading.Event()
client.on_text(lambda _: inside.set() or threading.Event().wait())
client.submit("hi")
inside.wait(30)
say("pid", client.pid)
"""
    )
    began = time.monotonic()
    code, printed, errors = running.end()
    assert time.monotonic() - began < PROMPTLY
    assert code == 0, errors
    gone(int(printed.split()[1]))


def test_killed_program(program, gone):
    """A program that is killed leaves no CLI behind: the end of its input ends it."""
    running = program(
        OPENED
        + """
client.ask("hi")
say("pid", client.pid)
sys.stdin.readline()
"""
    )
    pid = int(running.wait_for("\n").split()[1])
    running.process.kill()
    running.end()
    gone(pid)


def test_fork(program):
    """A forked child cannot use the client, and its end does not disturb the parent's."""
    running = program(
        OPENED
        + """
client.ask("before")
warnings.simplefilter("ignore")  # newer Pythons warn about fork() with threads
child = os.fork()
if child == 0:
    for call in (client.start, client.interrupt, lambda: client.ask("x"), client.wait_idle):
        try:
            call()
        except claude_sync.UsageError as error:
            say("refused", "fork" in str(error))
    client.close()
    sys.exit(7)
_, status = os.waitpid(child, 0)
say("child", os.WEXITSTATUS(status))
say(client.ask("after"))
client.close()
"""
    )
    code, printed, errors = running.end()
    assert code == 0, errors
    assert printed.split("\n")[:-1] == [*["refused True"] * 4, "child 7", "echo: after"]
    assert errors == ""


def test_fork_before_the_start(program):
    """Then there is nothing to share: the child and the parent use a client each."""
    running = program(
        """
import os, sys, claude_sync
from claude_sync.testing import StandIn

client = claude_sync.Client(cli=StandIn().command)
child = os.fork()
print(client.ask("child" if child == 0 else "parent"), flush=True)
client.close()
if child:
    os.waitpid(child, 0)
"""
    )
    code, printed, errors = running.end()
    assert (code, errors) == (0, "")
    assert sorted(printed.split("\n")[:-1]) == ["echo: child", "echo: parent"]


def test_fork_in_mid_turn(program):
    """A child forked while a turn runs may exit in any way; the parent gets its answer."""
    running = program(
        OPENED
        + """
import gc
client.start()
turn = client.submit("[[sleep 0.5]] done")
warnings.simplefilter("ignore")  # newer Pythons warn about fork() with threads
child = os.fork()
if child == 0:
    del turn, client
    gc.collect()
    sys.exit(0)
_, status = os.waitpid(child, 0)
say("child", status)
say(turn.result(30))
client.close()
"""
    )
    code, printed, errors = running.end()
    assert (code, errors) == (0, "")
    assert printed.startswith("child 0\necho: ")


def test_fork_closes_its_copies(program):
    """A child that lives on does not keep the parent's CLI from seeing the end of its input."""
    running = program(
        OPENED
        + """
client.ask("hi")
reader, writer = os.pipe()
warnings.simplefilter("ignore")  # newer Pythons warn about fork() with threads
child = os.fork()
if child == 0:
    os.close(writer)
    os.read(reader, 1)
    os._exit(0)
# A CLI that does not end by itself would hang here.
import claude_sync.engine.launch.process
claude_sync.engine.launch.process.GRACE = 1000
client.close(timeout=1000)
say("closed")
os.close(writer)
os.waitpid(child, 0)
"""
    )
    code, printed, errors = running.end()
    assert (code, printed) == (0, "closed\n"), errors


def test_multiprocessing(program):
    """Worker processes that are forked beside an open client work and end as usual."""
    running = program(
        OPENED
        + """
import multiprocessing
client.ask("hi")
context = multiprocessing.get_context("fork")
with context.Pool(2) as pool:
    say(sum(pool.map(abs, range(-10, 0))))
say(client.ask("after"))
client.close()
"""
    )
    code, printed, errors = running.end()
    assert (code, printed) == (0, "55\necho: after\n"), errors


ASKING = """
try:
    say("asking")
    client.ask(sys.argv[1])
except KeyboardInterrupt:
    say("interrupted")
say(client.ask("after"))
client.close()
say("closed")
"""


def interrupt_when(running, words):
    """Press Ctrl-C when it has printed *words*."""
    running.wait_for(words)
    running.process.send_signal(signal.SIGINT)


def test_ctrl_c_in_ask(program):
    """Ctrl-C ends ask() with KeyboardInterrupt; the turn is stopped, the session usable."""
    running = program(
        OPENED + "client.on_text(lambda text: say('text'))\n" + ASKING, "[[pace 0.1]]" + " w" * 600
    )
    interrupt_when(running, "text")
    began = time.monotonic()
    running.wait_for("interrupted")
    assert time.monotonic() - began < PROMPTLY
    code, printed, errors = running.end()
    assert code == 0, errors
    assert printed.endswith("echo: after\nclosed\n")


def test_ctrl_c_before_the_turn_begins(program):
    """Ctrl-C right after the question was sent has the same effect."""
    running = program(OPENED + "client.start()\n" + ASKING, "[[sleep 60]]")
    interrupt_when(running, "asking")
    running.wait_for("interrupted")
    code, printed, errors = running.end()
    assert code == 0, errors
    assert "echo: after" in printed


def test_ctrl_c_twice(program):
    """A second Ctrl-C does not wait for the end of a turn that does not end."""
    source = (
        OPENED.replace("StandIn()", "StandIn(scripts.never_ends_a_turn)")
        + """
import claude_sync.client.client, claude_sync.engine.stopping
claude_sync.engine.stopping.STOP_PATIENCE = 1000
inner = claude_sync.client.client.stop_own_turn
def watched(turn):
    say("stopping")
    inner(turn)
claude_sync.client.client.stop_own_turn = watched
client.on_message(lambda message: say("heard", message.type))
try:
    client.ask("hi")
except KeyboardInterrupt:
    say("interrupted")
client.close(timeout=1)
say("closed")
"""
    )
    running = program(source)
    interrupt_when(running, "heard user")
    interrupt_when(running, "stopping")
    running.wait_for("interrupted")
    code, printed, errors = running.end()
    assert code == 0, errors
    assert "closed" in printed


def test_ctrl_c_while_queued(program):
    """Ctrl-C withdraws a question that was not sent, and leaves the running turn alone."""
    running = program(
        OPENED
        + """
client.start()
go_on = threading.Event()
client.on_permission(lambda request: go_on.wait(30))
first = client.submit('[[tool Write {"file_path": "x"}]]')
try:
    say("asking")
    client.ask("second")
except KeyboardInterrupt:
    say("interrupted")
go_on.set()
say("first", first.result(30))
client.close()
"""
    )
    interrupt_when(running, "asking")
    code, printed, errors = running.end()
    assert code == 0, errors
    assert "interrupted" in printed
    assert "first Write" in printed


@pytest.mark.parametrize("post", ["manual", "caller"])
def test_ctrl_c_in_ask_without_a_dispatcher(program, post):
    """Ctrl-C works as well where handlers run on the asking thread."""
    source = OPENED.replace("command)", f"command, post={post!r})")
    running = program(
        source + "client.on_text(lambda text: say('text'))\n" + ASKING, "[[pace 0.1]]" + " w" * 600
    )
    interrupt_when(running, "text")
    running.wait_for("interrupted")
    code, printed, errors = running.end()
    assert code == 0, errors
    assert printed.endswith("echo: after\nclosed\n")


def test_ctrl_c_of_the_terminal_does_not_reach_the_cli(stand_in):
    """The CLI is in a process group of its own."""
    client = stand_in()
    client.start()
    assert os.getpgid(client.pid) != os.getpgid(0)
    assert os.getsid(client.pid) != os.getsid(0)
