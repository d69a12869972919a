"""
A reviewer that can read everything below this folder and change nothing.

    python examples/read_only_review.py setup.py
    python examples/read_only_review.py --offline       with the built-in stand-in
"""

import sys

import claude_sync
from claude_sync.permissions import policies
from claude_sync.testing import StandIn

OFFLINE = "--offline" in sys.argv
files = [word for word in sys.argv[1:] if word != "--offline"] or ["setup.py"]
prompt = f"Review {', '.join(files)}: correctness first, then clarity. Be brief."
if OFFLINE:
    # What stands in double brackets makes the stand-in ask for a tool.
    prompt = '[[tool Read {"file_path": "setup.py"}]] [[tool Bash {"command": "rm -rf /"}]]'

try:
    with claude_sync.Client(
        permissions=policies.read_only,
        append_system_prompt="You review code. You do not change it.",
        cli=StandIn().command if OFFLINE else None,
    ) as client:
        client.on_tool_use(lambda use: print(f"- {use.name} {use.input}"))
        answer = client.ask(prompt, timeout=600)
        print(answer)
        for denied in answer.permission_denials:
            print(f"denied: {denied['tool_name']}")
except claude_sync.ClaudeError as error:
    sys.exit(f"{type(error).__name__}: {error}")
