"""
Run the CLI as a child process and carry bytes to and from it.

::

    [process] -> lines -> messages -> dispatch -> handlers -> turn

Decisions taken here and nowhere else:

* The child gets a session (on Windows: a process group) of its own, so that a
  terminal's Ctrl-C reaches this program only, which then decides.
* Reading ends when the child has exited and what it wrote is read, even if one
  of its own children still holds the pipe open: nobody may wait for a dead CLI.
* Ending goes from polite to firm: end of input, a grace period in which the
  CLI saves its transcript, a request to terminate, and the end by force.
* Descriptors are read and written directly. Python's buffered pipes have locks,
  and a thread that is blocked in a write must not stop another from closing.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, Callable, Dict, Optional, Sequence

from ...errors import CliDidNotStart, CliNotFound, UsageError
from .guard import MARK, Guard, new_mark
from .transport import Transport

if TYPE_CHECKING:
    from .command import Launch

__all__ = ["ProcessTransport"]

WINDOWS = sys.platform == "win32"

# What a pipe of Linux holds: one read brings hundreds of messages at full speed, and returns at
# once with fewer. More would make each read get its memory from the system, and give it back.
CHUNK = 64 * 1024
# What a pipe takes in one go, on Windows, where it cannot be asked.
SURE_TO_FIT = 4096
# The last lines of stderr come a moment after the end of stdout.
STDERR_PATIENCE = 0.5
# How long a write waits for room before it sees whether the input was closed meanwhile.
LOOK_AGAIN = 0.1
# How long the CLI may take to save its transcript after the end of its input.
GRACE = 5.0
# How long it may take to act on a request to terminate.
TERMINATION_GRACE = 2.0


class ProcessTransport(Transport):
    """The ``claude`` executable as a child process."""

    def __init__(self) -> None:
        self._process: Optional[subprocess.Popen[bytes]] = None
        self._argv: Sequence[str] = ()
        # Guards the closing of the child's stdin, which happens once.
        self._input_lock = threading.Lock()
        self._input: Optional[int] = None
        self._closed_input: Optional[int] = None
        # Written to when reading must end although the pipe stays open.
        self._stop = Waker()
        self._output: Optional[Output] = None
        self._errors: Optional[Output] = None
        # What takes stderr, where one thread can read both.
        self._take_errors: Optional[Callable[[bytes], None]] = None
        # Ends what is left when this program or the CLI has ended.
        self._guard: Optional[Guard] = None

    def start(self, launch: Launch) -> None:
        """Spawn the child; see :class:`Transport`."""
        from ...support.redact import remember_secrets
        from .command import creation_flags, redact_argv

        remember_secrets(launch.environment)
        self._argv = redact_argv(launch.argv)
        if launch.cwd is not None and not os.path.isdir(launch.cwd):
            self._stop.close()
            raise UsageError(
                f"the working folder {launch.cwd!r} does not exist. Create it, or name another.",
                option="cwd",
                value=launch.cwd,
            )
        options: Any = (
            {"creationflags": creation_flags(True)} if WINDOWS else {"start_new_session": True}
        )
        options["env"] = launch.environment
        try:
            options.update(as_user(launch))
        except UsageError:
            self._stop.close()
            raise
        # Our own pipes rather than Popen's: their file objects would close the
        # descriptors a second time, by number, when they are collected.
        ends = [*os.pipe(), *os.pipe(), *os.pipe()]
        if not WINDOWS:
            mark = new_mark()
            options["env"] = {**options["env"], MARK: mark}
            # First, so that there is no moment without it.
            with contextlib.suppress(OSError):  # a system without a shell
                self._guard = Guard(mark)
                self._guard.remove_in_the_end(launch.temporary_files)
        its_input, our_output, our_input, its_output, our_errors, its_errors = ends
        try:
            process: subprocess.Popen[bytes] = subprocess.Popen(
                list(launch.argv),
                stdin=its_input,
                stdout=its_output,
                stderr=its_errors,
                cwd=launch.cwd,
                **options,
            )
        except FileNotFoundError:
            self._close_all(ends)
            # The file itself may be there, and the interpreter its first line names may not.
            missing = launch.argv[0]
            if os.path.exists(missing):
                missing += " (it exists, but the interpreter named in its first line does not)"
            raise CliNotFound([missing]) from None
        except OSError as error:
            self._close_all(ends)
            raise CliDidNotStart(
                f"the CLI could not be run: {error.strerror or error}", argv=self._argv
            ) from error
        except BaseException:
            self._close_all(ends)
            raise
        for descriptor in (its_input, its_output, its_errors):
            os.close(descriptor)
        self._process = process
        if self._guard is not None:
            self._guard.watch(process.pid)
        if not WINDOWS:
            os.set_blocking(our_output, False)
        self._input = our_output
        self._output = Output(our_input, process, self._stop)
        self._errors = Output(our_errors, process, self._stop)
        if self._take_errors is not None:
            self._output.listen_beside(our_errors, self._take_errors)

    def write(self, data: bytes) -> None:
        """Write all of *data*, in portions, as the child reads them."""
        view = memoryview(data)
        while view:
            taken = self.write_now(view)
            view = view[taken:]
            if not taken:
                self._wait_until_writable()

    def write_now(self, data: Any) -> int:
        """Write what the pipe takes without waiting; see :class:`Transport`."""
        descriptor = self._input
        if descriptor is None:
            raise BrokenPipeError("the input of the CLI is closed")
        if WINDOWS and len(data) > SURE_TO_FIT:
            # Pipes cannot be told not to wait there; in portions, the end comes through.
            data = data[:SURE_TO_FIT]
        try:
            return os.write(descriptor, data)
        except BlockingIOError:
            return 0

    def _wait_until_writable(self) -> None:
        """Wait a moment for the child to read; not longer, as its input may be closed."""
        descriptor = self._input
        if descriptor is not None and not WINDOWS:
            import select

            room = select.poll()
            room.register(descriptor, select.POLLOUT | select.POLLERR)
            room.poll(1000 * LOOK_AGAIN)

    def read(self) -> bytes:
        """The next portion of stdout; b"" at its end."""
        return self._output.read() if self._output is not None else b""

    def read_error(self) -> bytes:
        """The next portion of stderr; b"" at its end."""
        return self._errors.read() if self._errors is not None else b""

    def listen_to_errors(self, take: Callable[[bytes], None]) -> None:
        """Read stderr beside stdout; Windows cannot wait for two pipes."""
        if not WINDOWS:
            self._take_errors = take

    @property
    def has_errors_of_its_own(self) -> bool:
        """Whether stderr must be read by :meth:`read_error`."""
        return self._take_errors is None

    def close(self, timeout: float) -> None:
        """End the child: end of input, grace, terminate, kill; then free what it used."""
        process = self._process
        if process is None:
            self._stop.close()
            return
        deadline = time.monotonic() + timeout
        self.end_input()
        # Of a short timeout, keep some for the firm steps.
        firm = min(TERMINATION_GRACE, timeout / 4)
        if not self._ended_by(min(time.monotonic() + GRACE, deadline - 2 * firm)):
            process.terminate()
            if not self._ended_by(min(time.monotonic() + TERMINATION_GRACE, deadline - firm)):
                self.kill()
                self._ended_by(max(deadline, time.monotonic() + 0.2))
        # Its children may hold the pipes; the readers must come back all the same.
        self._stop.wake()
        if self._guard is not None:
            self._guard.release()

    def kill(self) -> None:
        """End the child, and whatever of its process group is left, by force."""
        process = self._process
        if process is None or process.poll() is not None:
            return
        if not WINDOWS:
            # The group is the child's own: it leads the session it was started in.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, 9)
        process.kill()
        if self._guard is not None:
            self._guard.release()

    def free(self) -> None:
        """Close the descriptors. Called when no thread reads any more."""
        self.end_input()
        for output in (self._output, self._errors):
            if output is not None:
                output.close()
        if self._closed_input is not None:
            close_quietly(self._closed_input)
            self._closed_input = None
        self._stop.close()
        self._end_guard()

    def abandon(self) -> None:
        """In a forked child: close our copies of the pipes; see :class:`Transport`."""
        process = self._process
        descriptors = [self._input, self._closed_input, *self._stop.descriptors()]
        for output in (self._output, self._errors):
            if output is not None:
                descriptors += [output.descriptor, output.process_handle]
        for descriptor in descriptors:
            if descriptor is not None:
                close_quietly(descriptor)
        if self._guard is not None:
            self._guard.abandon()
        if process is not None:
            process.returncode = 0  # not our child: nothing to wait for, and no warning
        self._process = None
        self._input = None

    @property
    def pid(self) -> Optional[int]:
        """The child's process id."""
        return self._process.pid if self._process is not None else None

    @property
    def guard_pid(self) -> Optional[int]:
        """The process id of the guard."""
        return self._guard.pid if self._guard is not None else None

    @property
    def exit_code(self) -> Optional[int]:
        """The child's exit code; negative for a signal; None while it lives."""
        return self._process.poll() if self._process is not None else None

    @property
    def argv(self) -> Sequence[str]:
        """The command that was run, secrets removed."""
        return self._argv

    def wait(self, timeout: float) -> Optional[int]:
        """Wait up to *timeout* seconds for the child to end; its exit code, or None."""
        self._ended_by(time.monotonic() + timeout)
        return self.exit_code

    def _close_all(self, descriptors: Sequence[int]) -> None:
        for descriptor in descriptors:
            os.close(descriptor)
        self._stop.close()
        self._end_guard()

    def _end_guard(self) -> None:
        """Wait until nothing is left of the CLI."""
        guard, self._guard = self._guard, None
        if guard is not None:
            guard.release()
            guard.wait()

    def end_input(self) -> None:
        """Close the child's stdin; once."""
        with self._input_lock:
            descriptor, self._input = self._input, None
            if descriptor is None:
                return
            # Put the null device in its place instead of closing it. Another thread may be
            # about to write; a number that is free could by then be somebody else's file.
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, descriptor, inheritable=False)
            os.close(null)
            self._closed_input = descriptor

    def _ended_by(self, deadline: float) -> bool:
        assert self._process is not None
        try:
            self._process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            return False
        return True


class Output:
    """
    One output pipe of the child.

    Where the system can wait for several things at once, a read also ends when
    the child has exited or when the :class:`Waker` is woken.
    """

    def __init__(self, descriptor: int, process: subprocess.Popen[bytes], stop: Waker) -> None:
        self.descriptor: Optional[int] = descriptor
        self._process = process
        self.process_handle: Optional[int] = None
        self._poll = None
        self._ended = False
        # The other pipe that is read while this one is waited for, and what takes it.
        self._beside: Optional[int] = None
        self._take: Callable[[bytes], object] = len
        if not WINDOWS:
            import select

            self._readable = select.POLLIN | select.POLLHUP | select.POLLERR
            self._poll = select.poll()
            self._poll.register(descriptor, self._readable)
            self._poll.register(stop.receiver, select.POLLIN)
            if hasattr(os, "pidfd_open"):
                try:
                    self.process_handle = os.pidfd_open(process.pid)
                    self._poll.register(self.process_handle, select.POLLIN)
                except OSError:  # a kernel or sandbox without it
                    self.process_handle = None

    def listen_beside(self, descriptor: int, take: Callable[[bytes], None]) -> None:
        """Hand what comes from that other pipe to *take*, while this one is read."""
        assert self._poll is not None
        self._beside, self._take = descriptor, take
        self._poll.register(descriptor, self._readable)

    def read(self) -> bytes:
        """More bytes, or b"" at the end."""
        descriptor = self.descriptor
        if descriptor is None or self._ended:
            return b""
        data = b""
        if self._poll is None or self._wait(descriptor):
            with contextlib.suppress(OSError):
                data = os.read(descriptor, CHUNK)
        self._ended = not data
        if self._ended and self._beside is not None:
            self._read_last_words()
        return data

    def _wait(self, descriptor: int) -> bool:
        """Wait for data or end of file: True. False when there is no more to wait for."""
        assert self._poll is not None
        while True:
            # Without a handle on the process, look after it once a second.
            ready = self._poll.poll(None if self.process_handle is not None else 1000)
            numbers = {number for number, _ in ready}
            if self._beside is not None and self._beside in numbers:
                numbers.discard(self._beside)
                self._read_beside(self._beside)
            if descriptor in numbers:
                return True
            if numbers or (not ready and self._process.poll() is not None):
                # Exited, or told to stop: whatever arrives now comes from a grandchild.
                return any(number == descriptor for number, _ in self._poll.poll(0))

    def _read_beside(self, descriptor: int) -> bool:
        data = b""
        with contextlib.suppress(OSError):
            data = os.read(descriptor, CHUNK)
        if data:
            self._take(data)
            return True
        assert self._poll is not None
        self._poll.unregister(descriptor)
        self._beside = None
        self._take(b"")
        return False

    def _read_last_words(self) -> None:
        """The last lines of the other pipe come a moment after the end of this one."""
        import select

        poll, end = select.poll(), time.monotonic() + STDERR_PATIENCE
        descriptor = self._beside
        while descriptor is not None and self._beside is not None:
            # All that an ended process has written is there.
            left = 0.0 if self._process.poll() is not None else end - time.monotonic()
            poll.register(descriptor, self._readable)
            if not poll.poll(max(0.0, 1000 * left)) or not self._read_beside(descriptor):
                break
        if self._beside is not None:
            self._beside = None
            self._take(b"")

    def close(self) -> None:
        """Close the descriptors."""
        for descriptor in (self.descriptor, self.process_handle):
            if descriptor is not None:
                close_quietly(descriptor)
        self.descriptor = self.process_handle = None


class Waker:
    """A pipe that wakes up whoever polls its receiver; it stays awake."""

    def __init__(self) -> None:
        self.receiver, self._sender = os.pipe()
        self._closed = False

    def wake(self) -> None:
        """Make the receiver readable, for good."""
        if not self._closed:
            os.write(self._sender, b"x")

    def close(self) -> None:
        """Close both ends; once."""
        if not self._closed:
            self._closed = True
            close_quietly(self.receiver)
            close_quietly(self._sender)

    def descriptors(self) -> Sequence[Optional[int]]:
        """Both ends, for a forked child to close."""
        return () if self._closed else (self.receiver, self._sender)


def close_quietly(descriptor: int) -> None:
    """Close a descriptor that may be gone already."""
    with contextlib.suppress(OSError):
        os.close(descriptor)


def as_user(launch: Launch) -> Dict[str, Any]:
    """
    What Popen needs to start the CLI as the user that ``user=`` names.

    With the groups and the home of that user and none of ours; the private files become its own.
    """
    settings = launch.options
    name = None if settings is None else settings.user
    if settings is None or name is None:
        return {}
    if WINDOWS:
        raise UsageError(
            "user= does not work on Windows. Run the program as that user.", option="user"
        )
    import pwd

    try:
        account = pwd.getpwnam(name)
    except KeyError:
        raise UsageError(
            f"this machine has no user {name!r}. Correct user=, or leave it out.", option="user"
        ) from None
    if account.pw_uid == os.geteuid():
        return {}
    files = launch.temporary_files
    try:
        if os.geteuid() != 0:
            raise PermissionError("this program does not run as root")
        for path in {*files, *map(os.path.dirname, files)}:
            os.chown(path, account.pw_uid, account.pw_gid)
        groups = os.getgrouplist(name, account.pw_gid)
    except PermissionError as error:
        raise UsageError(
            f"only root may run the CLI as {name!r}: {error}. Run the program as that user.",
            option="user",
        ) from None
    home = {"HOME": account.pw_dir, "USER": name, "LOGNAME": name}
    own = {key: value for key, value in home.items() if key not in (settings.env or {})}
    environment = {**launch.environment, **own}
    return {
        "user": account.pw_uid,
        "group": account.pw_gid,
        "extra_groups": groups,
        "env": environment,
    }
