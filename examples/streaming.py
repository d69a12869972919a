"""
See the answer while it is written: with a handler, with a loop, and not to its end.

    python examples/streaming.py            asks Claude
    python examples/streaming.py --offline  asks the built-in stand-in, which echoes
"""

import sys

import claude_sync
from claude_sync.testing import StandIn

cli = StandIn().command if "--offline" in sys.argv else None


def show(text):
    """Called for each new piece of text, on the client's own thread."""
    print(text, end="", flush=True)


with claude_sync.Client(cli=cli) as client:
    # A handler hears every turn; ask() returns when the last one has run.
    client.on_text(show)
    client.ask("Say hello in three languages.")
    client.off(show)
    print("\n---")

    # The same as a loop, on this thread. The answer is complete when the loop ends.
    with client.stream("Count from one to five, in words.") as turn:
        for text in turn:
            print(text, end="", flush=True)
    print(f"\n--- {turn.result().usage.output_tokens} tokens")

    # Enough is enough: leaving the block early interrupts the turn.
    with client.stream("Write a very long story. " * 20) as turn:
        words = 0
        for text in turn:
            words += len(text.split())
            if words > 20:
                break
    print(f"stopped after {words} words: {turn.text[:40]!r} ...")

    # The conversation goes on as if nothing had been.
    print(client.ask("Was that too long?"))
