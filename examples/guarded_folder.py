"""
Claude may edit files of one folder without asking, and nothing outside of it.

    python examples/guarded_folder.py notes "Sort notes/todo.txt"
    python examples/guarded_folder.py --offline         with the built-in stand-in

A hook sees every use of a tool, also those that no permission is asked for.
"""

import os
import sys

import claude_sync
from claude_sync import hooks
from claude_sync.testing import StandIn

OFFLINE = "--offline" in sys.argv
words = [word for word in sys.argv[1:] if word != "--offline"]
folder = os.path.realpath(words[0] if words else "notes")
prompt = " ".join(words[1:]) or "What is in the notes?"
if OFFLINE:
    # What stands in double brackets makes the stand-in ask for a tool.
    prompt = (
        '[[tool Write {"file_path": "notes/todo.txt", "content": "sleep"}]] '
        '[[tool Write {"file_path": "notes/../secret.txt", "content": "oops"}]]'
    )

try:
    with claude_sync.Client(
        permission_mode="acceptEdits", cli=StandIn().command if OFFLINE else None
    ) as client:

        @client.on_hook("PreToolUse", matcher="Edit|MultiEdit|Write|NotebookEdit")
        def stay_inside(event):
            given = event.tool_input.get("file_path") or event.tool_input["notebook_path"]
            path = os.path.realpath(os.path.join(event.cwd, given))
            if os.path.commonpath([path, folder]) != folder:
                return hooks.block(f"only files below {folder} may be changed")
            return None

        @client.on_permission
        def decide(request):
            return request.tool in ("Read", "Glob", "Grep", "Write")

        answer = client.ask(prompt, timeout=600)
        print(answer)
except claude_sync.ClaudeError as error:
    sys.exit(f"{type(error).__name__}: {error}")
