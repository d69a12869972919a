"""``claude-sync``, called in the process of the test: most of what it does needs no other."""

from __future__ import annotations

import io
import os
import signal
import sys

from claude_sync import cli

SIGNALS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


class CommandLine:
    """Calls of the command line in a folder and an environment of their own."""

    def __init__(self, folder, monkeypatch, capsys):
        self.folder, self.monkeypatch, self.capsys = folder, monkeypatch, capsys

    def run(self, *words, environment, stdin=b""):
        """Exit code, stdout and stderr of ``claude-sync`` with some words."""
        signals = {number: signal.getsignal(number) for number in SIGNALS}
        with self.monkeypatch.context() as patch:
            patch.chdir(self.folder)
            for name in set(os.environ) - set(environment):
                patch.delenv(name)
            for name, value in environment.items():
                patch.setenv(name, value)
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
            self.capsys.readouterr()
            try:
                code = cli.main(words)
            except SystemExit as ended:  # argparse
                code = ended.code
            finally:
                for number, handler in signals.items():
                    signal.signal(number, handler)
        return (code, *self.capsys.readouterr())
