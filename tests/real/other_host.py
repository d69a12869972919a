"""
A second host on this machine: a network of its own, with an SSH server in it.

::

    this network  a --------- b  the other one: an address, a loopback device, sshd

It is a network namespace and a pair of virtual devices, so it needs Linux, root, ``ip``,
``ssh`` and ``sshd``. The file system is shared. Nothing of it is left at the end; what a run
that was killed has left is removed by the next one.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import os
import random
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

PREFIX = "claude-sync-test-"
NUMBERS = itertools.count(1)
PORT = 22
CLONE_NEWNET = 0x40000000
# Longer than anything takes on a loaded machine; only failures ever wait for it.
PATIENCE = 60.0
# Both sides ask each other every second, and give up after this many questions.
UNANSWERED = 5

# No /run of the machine's own: sshd wants a folder there that not every machine has.
START_SSHD = "mount -t tmpfs none /run && mkdir -m 755 /run/sshd && exec {sshd} -D -e -f {config}"

CONFIG = """\
ListenAddress {address}:{port}
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/user_key.pub
AuthenticationMethods publickey
PermitRootLogin prohibit-password
StrictModes no
UsePAM no
UseDNS no
PidFile none
PrintMotd no
ClientAliveInterval 1
ClientAliveCountMax {unanswered}
"""


def what_is_missing():
    """What a second host would need, which is a network namespace; None if all is there."""
    if not sys.platform.startswith("linux"):
        return "needs Linux"
    if os.geteuid() != 0:
        return "needs root"
    for program in ("ip", "ssh", "ssh-keygen", "sshd"):
        if program_named(program) is None:
            return f"needs {program}"
    name = f"{PREFIX}{os.getpid()}-0"
    tried = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True)
    if tried.returncode != 0:
        return "needs network namespaces"
    run("ip", "netns", "del", name)
    return None


class OtherHost:
    """
    See the module. Use it as a context manager.

    Args:
        folder: For keys and settings; one that is removed by somebody.

    Attributes:
        address: Where it is.
        log: What its SSH server said.

    """

    def __init__(self, folder):
        number = next(NUMBERS)
        self.name = f"{PREFIX}{os.getpid()}-{number}"
        self.device = f"cs{os.getpid()}n{number}"
        self.folder = Path(folder)
        self.log = []
        self._sshd = None
        self._listener = None

    def __enter__(self):
        remove_stale()
        try:
            self._make_network()
            self._start_sshd()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *exc_info):
        self.close()

    def close(self):
        """Remove everything."""
        end_processes(self.name)
        if self._sshd is not None:
            self._sshd.wait(PATIENCE)
        if self._listener is not None:
            self._listener.join(PATIENCE)
        remove(self.name)
        # It goes with the namespace, unless that was never made, or some time later.
        subprocess.run(["ip", "link", "del", self.device], capture_output=True)

    def ssh(self, *command, key="user_key"):
        """The words that run *command* there, as somebody would write them who is alone here."""
        settings = {
            "IdentitiesOnly": "yes",
            "BatchMode": "yes",
            "ConnectTimeout": int(PATIENCE),
            "UserKnownHostsFile": self.folder / "known_hosts",
            "ServerAliveInterval": 1,
            "ServerAliveCountMax": UNANSWERED,
        }
        words = ["ssh", "-F", "none", "-i", str(self.folder / key)]
        for name, value in settings.items():
            words += ["-o", f"{name}={value}"]
        return [*words, f"root@{self.address}", shlex.join(command)]

    def cut(self):
        """From now on nothing gets through, and nobody is told."""
        run("ip", "link", "set", self.device, "down")

    def mend(self):
        """Everything gets through again."""
        run("ip", "link", "set", self.device, "up")

    def processes(self):
        """By their ids, the command lines of what runs there, the SSH server excepted."""
        found = {}
        for pid in pids_of(self.name):
            with contextlib.suppress(OSError):
                line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
                if line and not re.match(r"(\S*/)?sshd(-session)?\b", line):
                    found[pid] = line.strip()
        return found

    def call(self, function):
        """Call *function* with sockets that are those of that host; what it returns."""
        returned = []

        def work():
            library = ctypes.CDLL(None, use_errno=True)
            with open(f"/run/netns/{self.name}") as namespace:
                if library.setns(namespace.fileno(), CLONE_NEWNET) != 0:
                    raise OSError(ctypes.get_errno(), "the namespace could not be entered")
            returned.append(function())

        # A namespace is that of a thread, and of those that it starts.
        thread = threading.Thread(target=work)
        thread.start()
        thread.join(PATIENCE)
        assert returned, "the function has failed"
        return returned[0]

    def _make_network(self):
        ours, self.address = free_addresses()
        run("ip", "netns", "add", self.name)
        inside, peer = ("ip", "-n", self.name), f"{self.device}b"
        run("ip", "link", "add", self.device, "type", "veth", "peer", "name", peer)
        run("ip", "link", "set", peer, "netns", self.name)
        run("ip", "addr", "add", f"{ours}/30", "dev", self.device)
        run("ip", "link", "set", self.device, "up")
        run(*inside, "addr", "add", f"{self.address}/30", "dev", peer)
        run(*inside, "link", "set", peer, "up")
        run(*inside, "link", "set", "lo", "up")

    def _start_sshd(self):
        for name in ("host_key", "user_key", "wrong_key"):
            run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.folder / name))
        host_key = (self.folder / "host_key.pub").read_text()
        (self.folder / "known_hosts").write_text(f"{self.address} {host_key}")
        config = self.folder / "sshd_config"
        config.write_text(
            CONFIG.format(
                address=self.address, port=PORT, folder=self.folder, unanswered=UNANSWERED
            )
        )
        start = START_SSHD.format(
            sshd=shlex.quote(program_named("sshd")), config=shlex.quote(str(config))
        )
        self._sshd = subprocess.Popen(
            ["ip", "netns", "exec", self.name, "sh", "-c", start],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        listening = threading.Event()
        self._listener = threading.Thread(target=self._listen, args=(listening,), daemon=True)
        self._listener.start()
        assert listening.wait(PATIENCE), f"the SSH server did not start: {self.log}"
        with socket.create_connection((self.address, PORT), timeout=PATIENCE):
            pass

    def _listen(self, listening):
        with self._sshd.stderr as file:
            for line in file:
                self.log.append(line)
                if "Server listening" in line:
                    listening.set()


def program_named(name):
    """The path of a program; some are where only root looks."""
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


def run(*words):
    """Run a command that must succeed; what it printed."""
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, f"{shlex.join(words)}: {done.stderr}"
    return done.stdout


def free_addresses():
    """Two neighbours of a private range that no route of this machine knows."""
    for _ in range(100):
        start = f"10.{random.randrange(64, 255)}.{random.randrange(256)}."
        routes = run("ip", "route", "show", "match", f"{start}1").splitlines()
        if all(route.startswith("default") for route in routes):
            return f"{start}1", f"{start}2"
    raise AssertionError("this machine has a route to every private address")


def pids_of(name):
    """The processes in a namespace."""
    return [int(word) for word in run("ip", "netns", "pids", name).split()]


def end_processes(name):
    """End what runs in a namespace, which nobody but a test has started."""
    end = time.monotonic() + PATIENCE
    while namespaces(name) and pids_of(name):
        assert time.monotonic() < end, f"{name} does not end"
        for pid in pids_of(name):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        threading.Event().wait(0.02)


def namespaces(beginning=PREFIX):
    """Those there are whose names begin so."""
    names = [line.split()[0] for line in run("ip", "netns", "list").splitlines() if line.strip()]
    return [name for name in names if name.startswith(beginning)]


def remove(name):
    """Remove a namespace, if it is there."""
    if name in namespaces():
        run("ip", "netns", "del", name)


def remove_stale():
    """Remove what runs have left that were killed."""
    for name in namespaces():
        found = re.match(rf"{PREFIX}(\d+)-", name)
        if found and not Path("/proc", found.group(1)).exists():
            end_processes(name)
            remove(name)
