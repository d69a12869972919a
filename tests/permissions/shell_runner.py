"""
Runs command lines in a folder where only stand-ins for dangerous programs are found.

A process of its own, so that it can be started as another user, on a file system that cannot be
written: one JSON list of a shell's command and a line comes in, and what is left behind goes out.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys

HARMLESS = ("git", "ls", "npm")
FORBIDDEN = ("rm", "curl", "touch")
REAL = (
    *("bash", "sh", "cat", "xargs", "env", "find", "flock", "nice", "prlimit", "rbash", "awk"),
    *("sed", "sort", "split", "timeout", "test", "printf", "linux64", "setarch", "run-parts"),
)


def main(folder):
    """Serve lines until the input ends."""
    programs, work, marker = (os.path.join(folder, name) for name in ("programs", "work", "marker"))
    os.mkdir(programs)
    os.mkdir(work)
    bodies = dict.fromkeys(HARMLESS, "exit 0")
    bodies |= {name: f"echo ran-{name} >> '{marker}'" for name in FORBIDDEN}
    bodies |= dict.fromkeys(("nohup", "sudo"), 'exec "$@"')
    for name, body in bodies.items():
        path = os.path.join(programs, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\n{body}\n")
        os.chmod(path, 0o755)
    for name in REAL:
        if shutil.which(name):
            os.symlink(shutil.which(name), os.path.join(programs, name))
    for request in sys.stdin:
        shell, line = json.loads(request)
        # Everything that the line starts inherits this pipe, so that its end tells of theirs.
        reading, writing = os.pipe()
        process = subprocess.Popen(
            [*shell, "-c", line.replace("@programs@", programs)],
            cwd=work,
            env={"PATH": programs},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[writing],
            start_new_session=True,
        )
        os.close(writing)
        if not select.select([reading], [], [], 20)[0]:
            os.killpg(process.pid, 9)
        process.wait()
        os.close(reading)
        left = sorted(os.listdir(work))
        for name in left:
            path = os.path.join(work, name)
            shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
        if os.path.exists(marker):
            with open(marker, encoding="utf-8") as file:
                left += file.read().split()
            os.unlink(marker)
        print(json.dumps(left), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
