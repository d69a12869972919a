"""
The CLI's saved conversations: list, read, copy, rename, tag and delete them.

::

    from claude_sync import sessions

    newest = sessions.list_sessions(".", limit=1)[0]
    print(newest.title, newest.modified)
    for message in sessions.read_session(newest):
        ...
    with claude_sync.Client(resume=newest.session_id, cwd=newest.cwd) as client:
        ...

These functions work on the files of the CLI, without starting one. A conversation is
named by its id, or by an item of :func:`list_sessions`. Where an id is unknown they
raise :exc:`SessionNotFound`.

Everywhere, ``cwd`` says which folder the conversation was held in (None: any), and
``config_dir`` where the CLI keeps its files (None: ``CLAUDE_CONFIG_DIR``, or ``~/.claude``).
"""

from __future__ import annotations

from .changing import (
    delete_session,
    fork_session,
    rename_session,
    restore_session,
    tag_session,
)
from .files import SessionNotFound
from .listing import SessionInfo, list_sessions, session_info
from .reading import Subagent, list_subagents, read_session, read_subagent

__all__ = [
    "SessionInfo",
    "SessionNotFound",
    "Subagent",
    "delete_session",
    "fork_session",
    "list_sessions",
    "list_subagents",
    "read_session",
    "read_subagent",
    "rename_session",
    "restore_session",
    "session_info",
    "tag_session",
]
