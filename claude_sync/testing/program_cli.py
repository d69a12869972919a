"""
The stand-in CLI as a process: what only a process can do, and how it finds its script.

::

    [process] -> lines -> messages -> dispatch -> handlers -> turn

Run by ``program``, which is a file of its own because Python compiles the file it is
told to run anew at every start.
"""

from __future__ import annotations

import collections
import json
import os
import select
import sys
import time
from types import ModuleType

from .cli_side import CliSide, EndOfInput

# Known to type checkers; importing typing would take longer than all the rest.
TYPE_CHECKING = False
if TYPE_CHECKING:
    import queue
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, NoReturn

    Wire = dict[str, Any]
    Script = Callable[["ProgramCli"], object]

__all__ = ["SETTINGS_FLAG", "ProgramCli", "main"]

SETTINGS_FLAG = "--stand-in="
# How a process ends whose script has failed; no CLI uses it.
SCRIPT_FAILED = 70
# Set while a script's file is loaded. Stand-ins that it starts then would load it again.
LOADING = "CLAUDE_SYNC_STAND_IN_LOADING"
IN_A_CIRCLE = """\
the stand-in was started by a file that another stand-in loads to find its script in it, and would
load that file again, without end. Move what starts it into a function, or under
if __name__ == "__main__":
"""
# A test that died must not leave processes behind that nothing ends.
LIFETIME = 300
PORTION = 1 << 16


class ProgramCli(CliSide):
    """A CLI that is a process: stdin, stdout, stderr, signals, an exit code."""

    def __init__(
        self, settings: Mapping[str, Any], argv: Sequence[str], environ: Mapping[str, str]
    ) -> None:
        super().__init__(settings)
        self.session_id = random_uuid()
        self.cwd = os.getcwd()
        self.read_command_line(argv, environ)
        self._lines = Input()
        self._ignores_end = False

    # What a carrier provides.

    def receive(self, patience: float | None = None) -> Wire | None:
        """See :meth:`CliSide.receive`. As a real CLI does, it exits at a line that is no JSON."""
        line = self._lines.next(patience)
        if line is None:
            return None
        if not line:
            if self._ignores_end:
                self.wait_forever()
            raise EndOfInput("the client has ended its side")
        try:
            message = json.loads(line)
        except ValueError:
            message = None
        if not isinstance(message, dict):
            self.print_error(f"Error parsing streaming input line: {line[:200]!r}")
            self.exit(1)
        return message

    def print_raw(self, data: bytes) -> None:
        """See :meth:`CliSide.print_raw`."""
        write_all(1, data)

    def print_error(self, line: str) -> None:
        """See :meth:`CliSide.print_error`."""
        write_all(2, line.encode("utf-8", "surrogateescape") + b"\n")

    def exit(self, code: int = 0) -> NoReturn:
        """End here, with this exit code."""
        raise SystemExit(code)

    def kill_itself(self) -> NoReturn:
        """Send itself the signal that cannot be caught."""
        import signal

        os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))
        self.wait_forever()

    # What only a process can do.

    def ignore_termination(self) -> None:
        """From now on only a kill ends it; a polite request to terminate does not."""
        import signal

        signal.signal(signal.SIGTERM, signal.SIG_IGN)

    def ignore_end_of_input(self) -> None:
        """From now on the end of its input does not end it: it waits to be killed."""
        self._ignores_end = True

    def wait_forever(self) -> NoReturn:
        """Hang: read nothing, say nothing, until somebody ends it."""
        while True:
            time.sleep(LIFETIME)

    def swallow_input(self) -> None:
        """Read everything and answer nothing, until the input ends."""
        try:
            while True:
                self.receive()
        except EndOfInput:
            return

    def close_input(self) -> None:
        """Close its stdin: what the client writes from now on breaks."""
        self._lines.close()

    def close_output(self) -> None:
        """Close its stdout and live on."""
        os.close(1)

    def leave_child(self, seconds: float) -> int:
        """Start a process that keeps stdout and stderr open for *seconds*; its id. POSIX only."""
        child = os.fork()
        if child == 0:
            time.sleep(seconds)
            os._exit(0)
        return child


def main(words: Sequence[str]) -> int:
    """Play the CLI that the command line describes; the exit code."""
    if LOADING in os.environ:
        write_all(2, IN_A_CIRCLE.encode())
        return SCRIPT_FAILED
    settings: Wire = {}
    if words and words[0].startswith(SETTINGS_FLAG):
        settings = json.loads(words[0][len(SETTINGS_FLAG) :])
        words = words[1:]
    cli = ProgramCli(settings, words, os.environ)
    if "--version" in words:
        cli.print_raw(f"{cli.version} (stand-in of Claude Code)\n".encode())
        return 0
    try:
        script_of(settings)(cli)
    except EndOfInput:
        return 0
    except BrokenPipeError:  # the client has gone; a real CLI would not mind either
        return 1
    except Exception:
        import traceback

        cli.print_error("the stand-in's script failed:\n" + traceback.format_exc())
        return SCRIPT_FAILED
    return 0


def script_of(settings: Mapping[str, Any]) -> Script:
    """The script that *settings* name; without one, the echo."""
    if "script" not in settings:
        from .offline import echo

        return echo
    import signal

    if hasattr(signal, "alarm"):  # the end of this process, whatever it ignores
        signal.alarm(int(settings.get("lifetime", LIFETIME)))
    sys.path[:] = [*sys.path, *(each for each in settings["path"] if each not in sys.path)]
    # The file is run under a name that is not its own.
    module = ModuleType("stand_in_script")
    module.__file__ = settings["file"]
    sys.modules[module.__name__] = module
    os.environ[LOADING] = settings["file"]
    with open(settings["file"], "rb") as source:
        exec(compile(source.read(), settings["file"], "exec"), module.__dict__)
    del os.environ[LOADING]
    found: Any = module
    for part in settings["script"].split("."):
        found = getattr(found, part)
    script: Script = found
    return script


def random_uuid() -> str:
    """A random id; made by hand, because the module for it takes long to import."""
    digits = os.urandom(16).hex()
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-8{digits[17:20]}-{digits[20:]}"


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of *data*, waiting as long as nobody reads."""
    written = os.write(descriptor, data)
    while written < len(data):
        written += os.write(descriptor, memoryview(data)[written:])


class Input:
    """
    Lines from stdin, with a limit on how long to wait.

    Each byte is looked at once, however the input is cut: an attachment is one line
    of many megabytes. On POSIX the one thread of the program waits for the pipe itself:
    a second thread inside read() would keep the pipe open after close(). Windows cannot
    wait for a pipe, so there a thread reads it.
    """

    def __init__(self) -> None:
        self._lines: collections.deque[bytes] = collections.deque()
        self._begun: list[bytes] = []
        self._ended = False
        self._portions: queue.Queue[bytes] | None = None
        if os.name == "nt":
            import queue
            import threading

            self._portions = queue.Queue()
            # A daemon: nothing else could end it, for it waits for the client.
            threading.Thread(target=self._carry, name="stand-in-input", daemon=True).start()

    def next(self, patience: float | None) -> bytes | None:
        """The next line that is not blank; b"" at the end; None if *patience* ran out."""
        deadline = None if patience is None else time.monotonic() + patience
        while True:
            while self._lines:
                line = self._lines.popleft().strip()
                if line:
                    return line
            if self._ended:
                return b""
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            data = self._portion(left)
            if data is None:
                return None
            first, *others = data.split(b"\n") if data else (b"", b"")
            self._ended = not data
            self._begun.append(first)
            if others:
                self._lines.append(b"".join(self._begun))
                self._lines.extend(others[:-1])
                self._begun = others[-1:]

    def close(self) -> None:
        """Read no more; the writer's next write breaks, as far as a thread allows."""
        self._ended = True
        os.close(0)

    def _portion(self, patience: float | None) -> bytes | None:
        """What has arrived; b"" at the end; None if *patience* seconds brought nothing."""
        if self._portions is None:
            if patience is not None and not select.select([0], [], [], patience)[0]:
                return None
            return os.read(0, PORTION)
        try:
            return self._portions.get(patience is None or patience > 0, patience)
        except Exception:  # queue.Empty, of a module that is not loaded elsewhere
            return None

    def _carry(self) -> None:
        """Thread: carries stdin, on Windows."""
        data = b"..."
        while data and self._portions is not None:
            try:
                data = os.read(0, PORTION)
            except OSError:
                data = b""
            self._portions.put(data)
