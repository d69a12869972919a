"""
Let nothing of the CLI outlive this program, however the program ends.

A guard is a small shell that is started before the CLI and reads from a pipe of ours. The
pipe ends when we close it, and when this program dies: by an exception, ``os._exit()`` or a
signal that no handler sees. Then the guard ends what is left of the CLI: the members of its
session and of its process group, and every process that carries the mark of this run in its
environment, wherever it has gone. A child with another environment and another session is
not found; nothing short of a container would hold it.

The CLI gets the mark as a variable. The guard does not carry it, and leads a session of its
own, so that it ends neither itself nor the guards of clients inside a tool.

Windows has no guard: there the CLI alone is ended.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from typing import Sequence

__all__ = ["MARK", "Guard", "new_mark"]

MARK = "CLAUDE_SYNC_RUN"

# The last processes get SIGKILL well before.
PATIENCE = 5.0

# It reads the mark, private files and the id of the CLI, then waits for the end of its input.
# The files, which may hold secrets, are removed with their folders. Whatever process is left is
# asked to terminate, has a second for that, and is killed. Processes may start others meanwhile,
# so it looks several times. Zombies do not count: they wait for their parent. Without grep or
# /proc it finds the process group alone. The shell reads no file of /proc by itself: it reads
# one byte at a time, and a machine may have thousands of processes.
SCRIPT = r"""
trap '' HUP INT TERM QUIT PIPE
read -r mark || exit 0
while IFS= read -r word; do
    case $word in
        /*) set -- "$@" "$word" ;;
        *) cli=$word ;;
    esac
done
for file; do
    rm -f "$file"
    rmdir "${file%/*}"
done
left() {
    if [ ! -r /proc/self/stat ] || ! command -v grep > /dev/null; then
        kill -0 "-$cli" && echo "-$cli"
        return
    fi
    {
        # After the name: state, parent, group, session.
        group="[)] [^Z] [0-9]+ (${cli:-none} [0-9]+|[0-9]+ ${cli:-none}) "
        grep -slaE "$group" /proc/[0-9]*/stat
        grep -slaF "$mark" /proc/[0-9]*/environ
    } | while IFS=/ read -r _ _ id _; do echo "$id"; done
}
for step in TERM:0.1 TERM:0.2 TERM:0.3 TERM:0.4 KILL:0.1 KILL:0.1 KILL:0.1; do
    signal=${step%:*}
    found=$(left)
    [ -z "$found" ] && exit 0
    [ "$signal$last" = TERMTERM ] || kill "-$signal" $found
    last=$signal
    sleep "${step#*:}" || sleep 1
done
"""


def new_mark() -> str:
    """A value that no other run has."""
    return os.urandom(16).hex()


class Guard:
    """The guard of one CLI process."""

    def __init__(self, mark: str) -> None:
        receiver, self._sender = os.pipe()
        try:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", SCRIPT],
                stdin=receiver,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                # Without the mark of an outer run, and without settings of shells.
                env={"PATH": f"/usr/bin:/bin:{os.environ.get('PATH', '/bin')}"},
                cwd="/",
                start_new_session=True,
            )
            os.write(self._sender, f"{MARK}={mark}\n".encode())
        except BaseException:
            os.close(self._sender)
            raise
        finally:
            os.close(receiver)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def remove_in_the_end(self, files: Sequence[str]) -> None:
        """Remove private files of the CLI too, if the program cannot."""
        for file in files:
            if os.path.isabs(file) and "\n" not in file:  # one line for each
                with contextlib.suppress(OSError):
                    os.write(self._sender, os.fsencode(file) + b"\n")

    def watch(self, pid: int) -> None:
        """The CLI runs, under this process id."""
        with contextlib.suppress(OSError):  # the guard was killed: nobody is left to tell
            os.write(self._sender, b"%d\n" % pid)

    def release(self) -> None:
        """End whatever is left of the CLI, and the guard. It goes on by itself."""
        sender, self._sender = self._sender, -1
        if sender >= 0:
            os.close(sender)

    def wait(self) -> None:
        """Wait until everything has ended."""
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:  # something cannot be killed: a disk that hangs
            self._process.kill()
            self._process.wait()

    def abandon(self) -> None:
        """In a forked child: let go of the pipe, so that it ends with our parent."""
        self.release()
        self._process.returncode = 0  # not our child: nothing to wait for, and no warning
