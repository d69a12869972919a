"""
A program around a CLI that has its own idea of ``--version``.

Run as ``python odd_version.py FILE SAYS COMMAND...``: it writes its process id to FILE, a
line each time, and prints SAYS, or nothing ever if that is ``silence``. Without
``--version`` it is the COMMAND.
"""

import os
import sys
import time

if __name__ == "__main__":
    file, says, *command = sys.argv[1:]
    if command[-1] != "--version":
        os.execv(command[0], command)
    with open(file, "a") as asked:
        asked.write(f"{os.getpid()}\n")
    if says == "silence":
        time.sleep(300)
    os.write(1, os.fsencode(says))
