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
from claude_sync.bridge.backend import Backend

# Real CLIs over a bridge. It carries what is said as it is, so a test is here for what the bridge
# itself does. Everything else that CLIs do is tested without one.
REAL = {
    "test_real_answers": {
        "test_many_threads_get_their_own_answers": "which answer is whose is told by the backend",
        "test_clear_begins_a_new_conversation": "the id of the conversation changes behind it",
    },
    "test_real_attachments": {
        "test_attachments_arrive_as_they_were_sent": "files become blocks on this side",
        "test_a_large_document_arrives": "a line of megabytes crosses it",
        "test_an_image_of_a_tool_comes_back": "an image in the reply to a callback",
    },
    "test_real_background": {
        "test_answers_do_not_shift": "results that nobody asked for cross it, too",
    },
    "test_real_controls": {
        "test_a_mode_may_be_refused": "the code of a refusal crosses it",
        "test_mcp_servers": "replies to requests become the same objects",
        "test_rewind_files": "a method with arguments, whose files are on the other side",
        "test_what_the_cli_told": "the greeting is the backend's",
        "test_a_new_cli_says_itself_what_it_lacks": "what the CLI does not know is told as such",
        "test_an_interrupt_withdraws_what_is_queued": "the receipt crosses it",
    },
    "test_real_crash": {
        "test_a_killed_cli_goes_on_with_the_conversation": "a session of the backend is replaced",
    },
    "test_real_failures": {
        "test_no_credentials": "a variable that is taken away is taken away there",
        "test_a_conversation_that_does_not_exist": "a session that cannot be created",
        "test_a_folder_that_does_not_exist": "the folder is one of the other side",
    },
    "test_real_hooks": {
        "test_a_hook_blocks_a_tool": "a hook is a callback",
        "test_a_hook_has_its_time": "both sides have a limit for it",
        "test_hooks_on_the_asking_thread": "matchers choose on the other side, threads on this one",
    },
    "test_real_interrupt": {
        "test_an_interrupted_stream_keeps_its_text": "an interrupt is a message of its own",
        "test_an_interrupt_before_the_cli_is_ready": "the session is not created yet",
    },
    "test_real_mcp_servers": {
        "test_servers_of_both_kinds": "ours are callbacks, those of others run there",
    },
    "test_real_options": {
        "test_a_prompt_is_added_and_tools_are_limited": "options and a recording cross it",
        "test_a_conversation_goes_on_elsewhere": "resume, continue and fork are the backend's",
    },
    "test_real_permissions": {
        "test_an_interrupt_withdraws_the_request": "a callback is cancelled",
        "test_the_cli_dies_or_is_closed_while_a_person_thinks": "its session ends before a reply",
        "test_several_requests_are_open_at_once": "callbacks are answered in another order",
        "test_questions_are_answered": "a question is a callback with an answer of its own",
    },
    "test_real_retries": {
        "test_a_crash_is_met_by_the_same_question": "what was asked is known on this side",
    },
    "test_real_returns": {
        "test_a_form_for_one_question": "the backend starts the next process",
    },
    "test_real_steer": {
        "test_a_steer_joins_a_turn_in_a_tool_round": "a message in mid-turn",
        "test_context_is_seen_and_not_answered": "a message that has no answer",
    },
    "test_real_text": {
        "test_a_turn_of_many_parts_is_told_once_and_in_order": "all kinds of events, in order",
    },
    "test_real_tools": {
        "test_read_only_tools_run_at_once": "several callbacks run here at once",
        "test_an_interrupt_reaches_the_tool": "a callback that runs is cancelled",
        "test_tools_after_a_crash": "tools are told to the next session",
    },
}
# With the old CLI, where the two sides make up for what it does not tell.
REAL_WITH_OLD_CLI = {
    "test_real_controls": {
        "test_what_an_old_cli_lacks_is_told_at_once": "its version is found out by the backend",
    },
    "test_real_interrupt": {
        "test_an_interrupted_stream_keeps_its_text": "it does not say whose result is whose",
        "test_the_queue_goes_on_after_an_interrupt": "it does not say whose result is whose",
    },
    "test_real_steer": {
        "test_a_steer_without_a_tool_round_spoils_no_answer": "a result that is nobody's answer",
        "test_context_is_refused_for_the_old_cli": "the refusal is decided by its version",
    },
}
# Stand-ins for CLIs that misbehave: what the bridge itself decides. All else is decided by the
# client on this side, of messages that come as they are; its tests need no second way for them.
STAND_IN = {
    # Closing goes through the backend, and each side has its limits.
    "test_faulty_closing": (
        *("test_cli_ignores_the_end_of_its_input", "test_close_after_a_crash"),
        *("test_close_inside_a_handler", "test_close_interrupts_the_running_turn"),
        *("test_close_while_a_handler_does_not_return", "test_close_while_a_request_waits"),
        *("test_close_while_another_thread_asks", "test_close_while_start_waits"),
        *("test_close_without_waiting", "test_nothing_works_after_close"),
        *("test_on_close_is_the_last_thing", "test_two_closes_at_once"),
    ),
    # Requests and their errors are put into other words, twice.
    "test_faulty_controls": (
        *("test_answered_twice", "test_closed_while_waiting", "test_eight_threads_at_once"),
        *("test_garbled_refusal", "test_garbled_reply", "test_never_answered", "test_refused"),
        *("test_the_cli_dies", "test_unknown_to_the_cli"),
        "test_what_was_changed_is_changed_again",
    ),
    # Stopping a turn is the backend's work, and so are its limits.
    "test_faulty_edges": (
        *("test_cancelled_turn_raises", "test_close_after_the_output_has_ended"),
        *("test_nothing_is_left_after_the_output_has_ended", "test_steer_under_back_pressure"),
        "test_stop_that_comes_too_late",
    ),
    # How a CLI ended is told by the backend.
    "test_faulty_exits": (
        *("test_error_result_before_the_exit", "test_exit_at_start", "test_exit_between_turns"),
        *("test_exit_fails_a_request_too", "test_exit_in_mid_turn"),
        *("test_exit_while_start_waits", "test_output_closed_in_mid_turn"),
    ),
    # The backend pauses, too.
    "test_faulty_floods": ("test_interrupt_while_the_reader_pauses", "test_reader_pauses"),
    "test_faulty_handlers": (
        *("test_cancel_of_a_running_question", "test_interrupt_in_a_handler"),
        *("test_leaving_a_stream_early", "test_timeout_while_it_runs"),
    ),
    # Text is encoded twice, and stderr travels in messages.
    "test_faulty_lines": (
        *("test_a_huge_line", "test_invalid_utf8_inside_a_message"),
        *("test_lone_surrogates", "test_noise_is_logged"),
        *("test_session_goes_on_after_unknown_messages", "test_stderr_flood_is_heard"),
    ),
    # Starting a CLI again is the backend's work.
    "test_faulty_lives": (
        *("test_crash_is_logged", "test_nested_session_variables_are_not_inherited"),
        *("test_queued_questions_survive_a_crash", "test_resumed_after_a_crash"),
        "test_three_crashes",
    ),
    # A decision is a callback of the bridge's.
    "test_faulty_permissions": (
        *("test_allow_always", "test_answered_later_from_another_thread", "test_approve_plan"),
        *("test_callback_request_is_answered_in_kind", "test_changed_input"),
        *("test_cli_dies_while_a_person_thinks", "test_deny_and_interrupt"),
        *("test_handler_that_raises_denies_and_the_client_goes_on", "test_nobody_decides"),
        *("test_question_handler", "test_twenty_requests_at_once"),
        "test_withdrawn_while_a_person_thinks",
    ),
    "test_faulty_requests": (
        *("test_elicitation_is_declined", "test_many_requests_at_once"),
        *("test_message_to_a_server_that_does_not_exist", "test_unknown_request"),
        "test_withdrawn_request",
    ),
    # Whose answer it is, is decided on either side.
    "test_faulty_results": (
        *("test_late_result_of_an_interrupted_turn", "test_many_threads_get_their_own_answers"),
        *("test_question_waits_for_a_turn_of_the_cli", "test_result_of_another_uuid"),
        "test_steered_message_with_a_result_of_its_own",
    ),
    "test_faulty_signals": ("test_ctrl_c_at_the_beginning_of_close",),
    # The clocks of silence run in the backend.
    "test_faulty_silence": (
        *("test_control_request_is_never_answered", "test_greeting_is_never_answered_to_start"),
        *("test_idle_clock_stops_while_the_cli_waits_for_us", "test_idle_timeout"),
        *("test_interrupt_that_is_ignored", "test_turn_that_never_ends"),
    ),
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
    table = REAL if is_newest else REAL_WITH_OLD_CLI
    return test in table.get(file.rpartition(".")[2], ())


def stand_in_over_bridge(file, test):
    """Whether a test of a stand-in runs over a bridge, too."""
    return test in STAND_IN.get(file.rpartition(".")[2], ())


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
