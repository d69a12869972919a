"""
One question, then a conversation, and what an answer knows besides its text.

    python examples/quickstart.py            asks Claude
    python examples/quickstart.py --offline  asks the built-in stand-in, which echoes
"""

import sys

import claude_sync
from claude_sync.testing import StandIn

cli = StandIn().command if "--offline" in sys.argv else None

try:
    # One question: opens a client, asks, closes it.
    print(claude_sync.ask("What is 2+2? Answer with the number alone.", cli=cli))

    # A conversation: the second question knows the first.
    with claude_sync.Client(cli=cli) as client:
        client.ask("My name is Ada. Say hello.", timeout=120)
        answer = client.ask("What is my name?", timeout=120)

        print(answer.upper())  # an Answer is a str ...
        print(f"this answer: {answer.usage.output_tokens} tokens, {answer.cost_usd:.4f} USD")
        print(f"both: {client.cost_usd:.4f} USD")

    # ... and it can be gone on with, now or tomorrow.
    print(claude_sync.ask("And backwards?", resume=answer.session_id, cli=cli, timeout=120))
except claude_sync.ClaudeError as error:
    # Every error of the library says what happened and what to do about it.
    sys.exit(f"{type(error).__name__}: {error}")
