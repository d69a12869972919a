"""
Claude works in this folder, and asks you before it changes anything.

    python examples/permission_prompt.py "Write a haiku about threads into haiku.txt"
    python examples/permission_prompt.py --offline      with the built-in stand-in
"""

import sys

import claude_sync
from claude_sync.testing import StandIn

OFFLINE = "--offline" in sys.argv
prompt = " ".join(word for word in sys.argv[1:] if word != "--offline")
if OFFLINE:
    # What stands in double brackets makes the stand-in ask for a tool.
    prompt = '[[tool Write {"file_path": "haiku.txt", "content": "threads wait in line"}]]'

# Shows what would happen and asks; yes, no, always, or no and why.
policy = claude_sync.policies.first_of(
    claude_sync.policies.allow_tools("Read", "Glob", "Grep"),
    claude_sync.policies.ask_on_terminal,
)

try:
    with claude_sync.Client(
        permissions=policy,
        post="caller",  # prompts belong to the thread that asks
        cli=StandIn().command if OFFLINE else None,
    ) as client:
        client.on_text(lambda text: print(text, end="", flush=True))
        answer = client.ask(prompt or "Write a haiku about threads into haiku.txt")
        print()
        for denied in answer.permission_denials:
            print(f"denied: {denied['tool_name']}")
except claude_sync.ClaudeError as error:
    sys.exit(f"{type(error).__name__}: {error}")
