"""
A small program, and how it is tested: see test_summarise.py beside it.

    python examples/testing/summarise.py README.rst            asks Claude
    python examples/testing/summarise.py README.rst --offline  asks the built-in stand-in
    pytest examples/testing                                    tests it, without Claude
"""

import sys

import claude_sync
from claude_sync.testing import StandIn


def summarise(client, path):
    """One line about a file; what cannot be summarised has none."""
    answer = client.ask(f"Summarise {path} in one line.", timeout=120, raise_on_error=False)
    return "" if answer.is_error else " ".join(answer.split())


def may_read(request):
    """Claude may look at files, and do nothing else."""
    return request.allow() if request.tool == "Read" else request.deny("only Read is allowed")


if __name__ == "__main__":
    paths = [word for word in sys.argv[1:] if word != "--offline"]
    cli = StandIn().command if "--offline" in sys.argv else None
    with claude_sync.Client(cli=cli, on_permission=may_read) as client:
        for path in paths:
            print(f"{path}: {summarise(client, path)}")
