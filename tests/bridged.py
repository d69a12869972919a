"""
Which tests run twice: with a client of their own CLI, and with one over a bridge.

A client over a bridge is a client like any other. So the second run is for what the bridge itself
decides, and the tables below name it, each entry with its reason. It belongs to the second tier.
"""

from __future__ import annotations

import contextlib
import json
import sys

import pytest
from bridge_front_end import check

from claude_sync.bridge import Bridge
from claude_sync.bridge.client import Backend

# Real CLIs over a bridge. It carries what is said as it is, so a test is here for what the bridge
# itself does. Everything else that CLIs do is tested without one.
REAL = {
    "test_real_answers": {
        "test_many_threads_get_their_own_answers": "many questions at once on one way",
    },
    "test_real_attachments": {
        "test_a_large_document_arrives": "a line of megabytes crosses it",
    },
    "test_real_crash": {
        "test_a_killed_cli_goes_on_with_the_conversation": "a session of the backend is replaced",
    },
    "test_real_failures": {
        "test_no_credentials": "a variable that is taken away is taken away there",
        "test_a_conversation_that_does_not_exist": "a session that cannot be created",
        "test_a_folder_that_does_not_exist": "the folder is one of the other side",
    },
    "test_real_interrupt": {
        "test_an_interrupt_before_the_cli_is_ready": "the session is not created yet",
    },
    "test_real_mcp_servers": {
        "test_servers_of_both_kinds": "ours are here, those of others run there",
    },
    "test_real_options": {
        "test_a_prompt_is_added_and_tools_are_limited": "options and a recording cross it",
        "test_a_conversation_goes_on_elsewhere": "resume, continue and fork are the backend's",
    },
    "test_real_returns": {
        "test_a_form_for_one_question": "the backend starts the next process",
    },
}
# Stand-ins for CLIs that misbehave: beginnings, ends and full pipes. What is said between them
# goes through as it is, so its tests need no second way.
STAND_IN = {
    # Closing goes through the backend, and each side has its limits.
    "test_faulty_closing": (
        *("test_cli_ignores_the_end_of_its_input", "test_close_after_a_crash"),
        *("test_close_inside_a_handler", "test_close_interrupts_the_running_turn"),
        *("test_close_while_a_request_waits", "test_close_while_start_waits"),
        *("test_close_without_waiting", "test_two_closes_at_once"),
    ),
    # How a CLI ended is told by the backend.
    "test_faulty_exits": (
        *("test_error_result_before_the_exit", "test_exit_at_start", "test_exit_between_turns"),
        *("test_exit_fails_a_request_too", "test_exit_in_mid_turn"),
        *("test_exit_while_start_waits", "test_output_closed_in_mid_turn"),
    ),
    # The backend pauses, too.
    "test_faulty_floods": ("test_interrupt_while_the_reader_pauses",),
    # Lines are cut in another way, and stderr travels in messages.
    "test_faulty_lines": (
        "test_invalid_utf8_inside_a_message",
        *("test_lone_surrogates", "test_noise_is_logged", "test_stderr_flood_is_heard"),
    ),
    # Each life of a CLI is another session.
    "test_faulty_lives": ("test_resumed_after_a_crash", "test_three_crashes"),
    # A full pipe is full on both sides.
    "test_faulty_writing": (
        *("test_broken_pipe", "test_interrupt_while_a_write_is_stuck"),
        *("test_large_prompt_arrives", "test_timeout_while_a_write_is_stuck"),
    ),
}

DIRECT = "direct"
BRIDGE = "bridge"
BACKEND = [sys.executable, "-m", "claude_sync.bridge", "--trust-client"]
# So many lines of a session in a row are held against the schema; the rest is like them.
CHECKED = 3000


def real_over_bridge(file, test, is_newest):
    """Whether a test of real CLIs runs over a bridge, too."""
    return is_newest and test in REAL.get(file.rpartition(".")[2], ())


def stand_in_over_bridge(file, test):
    """Whether a test of a stand-in runs over a bridge, too."""
    return test in STAND_IN.get(file.rpartition(".")[2], ())


@contextlib.contextmanager
def traffic_is_valid(patch):
    """Within this, whatever goes over a bridge is noted; at its end, it is checked."""
    told, heard = [], []
    send, hear = Backend.send, Backend._hear_group

    def note(lines, said):
        for line in said:
            if len(lines) < CHECKED and line.startswith(b"{") and len(line) < 100_000:
                lines.append(line)

    def sent(self, data):
        note(told, data.splitlines())
        send(self, data)

    def group(self, prefix, lines):
        note(heard, lines)
        hear(self, prefix, lines)

    patch.setattr(Backend, "send", sent)
    patch.setattr(Backend, "_hear_group", group)
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
