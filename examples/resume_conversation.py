"""
Go on with yesterday's conversation: the newest one that was held in this folder.

    python examples/resume_conversation.py            asks Claude
    python examples/resume_conversation.py --offline  asks the built-in stand-in, which echoes
"""

import sys

import claude_sync
from claude_sync import sessions
from claude_sync.testing import StandIn

cli = StandIn().command if "--offline" in sys.argv else None
SPEAKERS = {claude_sync.User: "You", claude_sync.Assistant: "Claude"}

try:
    # What the CLI has saved, the newest first. No CLI is started for it.
    newest = next(iter(sessions.list_sessions(".")), None)

    if newest is None:
        print("No conversation was held in this folder yet: a new one begins.")
    else:
        print(f"{newest.title}\n({newest.message_count} messages, {newest.modified:%d %B %Y})")
        for message in sessions.read_session(newest)[-4:]:  # of the classes that handlers get
            speaker = SPEAKERS.get(type(message))
            if speaker is not None and message.text:
                print(f"{speaker}: {message.text}")

    session = newest.session_id if newest is not None else None
    with claude_sync.Client(resume=session, cli=cli) as client:
        print(client.ask("Where were we?", timeout=120))
except claude_sync.ClaudeError as error:
    sys.exit(f"{type(error).__name__}: {error}")
