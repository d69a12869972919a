"""
Which tests run twice: with a client of their own CLI, and with one over a bridge.

A client over a bridge is a client like any other, so its tests are those of any other.
Whatever cannot be the same is in the tables below, with the reason; no test is weaker for
being run over a bridge. ``test_bridged.py`` sees to it that every file is in one of the
tables: whoever writes one decides.
"""

from __future__ import annotations

import contextlib
import json
import sys

import pytest
from bridge_front_end import check

from claude_sync.bridge import Bridge
from claude_sync.bridge.backend import Backend

# Real CLIs: the newest over a bridge in all of these, the older ones where they differ most.
REAL = (
    *("test_real_answers", "test_real_attachments", "test_real_background"),
    *("test_real_controls", "test_real_crash", "test_real_failures", "test_real_forms"),
    *("test_real_hooks", "test_real_interrupt", "test_real_mcp_servers", "test_real_options"),
    *("test_real_permissions", "test_real_recording", "test_real_retries"),
    *("test_real_returns", "test_real_sessions", "test_real_steer", "test_real_text"),
    *("test_real_tools", "test_real_waiting"),
)
REAL_WITH_OLDER_CLIS = ("test_real_interrupt", "test_real_steer")
NOT_REAL = {
    "test_real_batches": "many clients, which a pool makes by itself",
    "test_real_chat": "a client that the command makes by itself",
    "test_real_commands": "a client that the command makes by itself",
    "test_real_export": "about what was said, however it came",
    "test_real_notebook": "a client that a notebook makes by itself",
    "test_real_notebook_lab": "a client that a notebook makes by itself",
    "test_real_qt": "where handlers run, which is the same whatever carries the messages",
    "test_real_tk": "where handlers run, which is the same whatever carries the messages",
    "test_real_replay": "plays recordings, by a transport of its own",
    "test_real_timeline": "the times of a client's own CLI",
    "test_real_closing": "the processes that this program itself starts, and ends",
    "test_real_dialects": "how a CLI is spoken to, which is the backend's business",
    "test_real_money": "the sums are made here, of results that come as they are",
    "test_real_bridge": "about bridges anyhow",
    "test_real_bridge_client": "about bridges anyhow",
    "test_real_bridge_seed": "about bridges anyhow",
    "test_real_bridge_ssh": "about bridges anyhow",
}
# Stand-ins for CLIs that misbehave.
STAND_IN = (
    "test_faulty_closing",
    "test_faulty_controls",
    "test_faulty_edges",
    "test_faulty_exits",
    "test_faulty_floods",
    "test_faulty_handlers",
    "test_faulty_hooks",
    "test_faulty_lines",
    "test_faulty_lives",
    "test_faulty_money",
    "test_faulty_permissions",
    "test_faulty_recording",
    "test_faulty_requests",
    "test_faulty_results",
    "test_faulty_retries",
    "test_faulty_returns",
    "test_faulty_shapes",
    "test_faulty_signals",
    "test_faulty_silence",
    "test_faulty_tools",
    "test_faulty_writing",
)
NOT_STAND_IN = {
    "test_faulty_batches": "many clients, which a pool makes by itself",
    "test_faulty_notebook": "a client that a notebook makes by itself",
    "test_faulty_dialects": "how a CLI is spoken to, which is the backend's business",
    "test_faulty_programs": "the processes that this program itself starts, and ends",
}
# Tests of the files above that cannot hold.
NOT_THESE = {
    "test_a_question_that_joins_a_turn_of_the_cli_gets_its_answer": (
        "lets the client forget that a turn runs; the one behind the bridge does not"
    ),
    "test_a_real_session": "plays the recording again, by a transport of its own",
    "test_crash_with_raise": "looks at the process before the greeting",
    "test_ctrl_c_in_close": "breaks into functions that the backend calls, too, in this process",
    "test_recorded_greeting_with_servers_of_agents": "the backend greets with the agents",
    "test_restart_that_fails": "changes the settings of a client that has passed them on",
    "test_stderr_flood": (
        "counts the memory of both sides, whose bounds together are more than one alone"
    ),
    "test_nothing_is_asked_again_with_raise": "the CLI's process is the backend's",
    "test_what_a_dead_cli_cannot_have_read_is_asked_again": "the CLI's process is the backend's",
    "test_the_first_question_needs_no_restart": (
        "looks at the process before the greeting, and there is none behind a bridge"
    ),
}

DIRECT = "direct"
BRIDGE = "bridge"
BACKEND = [sys.executable, "-m", "claude_sync.bridge", "--trust-client"]
# So many lines of a session in a row are held against the schema; the rest is like them.
CHECKED = 3000


def real_over_bridge(file, test, is_newest):
    """Whether a test of real CLIs runs over a bridge, too."""
    name = file.rpartition(".")[2]
    return test not in NOT_THESE and name in (REAL if is_newest else REAL_WITH_OLDER_CLIS)


def stand_in_over_bridge(file, test):
    """Whether a test of a stand-in runs over a bridge, too."""
    return test not in NOT_THESE and file.rpartition(".")[2] in STAND_IN


@contextlib.contextmanager
def traffic_is_valid(patch):
    """Within this, whatever goes over a bridge is noted; at its end, it is checked."""
    told, heard = [], []
    send, hear = Backend.send, Backend._hear

    def note(lines, line):
        if len(lines) < CHECKED and line.startswith(b"{") and len(line) < 100_000:
            lines.append(line)

    patch.setattr(Backend, "send", lambda self, line: (note(told, line), send(self, line)))
    patch.setattr(Backend, "_hear", lambda self, line: (note(heard, line), hear(self, line)))
    yield
    for lines, way in ((told, "from_front_end"), (heard, "from_backend")):
        for line in lines:
            check(way, json.loads(line))


@contextlib.contextmanager
def checked_bridge(**settings):
    """A bridge to a backend of this library, which may do everything; what is said is valid."""
    with contextlib.ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        stack.enter_context(traffic_is_valid(patch))
        yield stack.enter_context(Bridge(BACKEND, **settings))
