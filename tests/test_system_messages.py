"""System messages: each subtype gives what the CLI told."""

import dataclasses

import pytest

from claude_sync import system_messages, task_messages
from claude_sync.messages import System
from claude_sync.protocol.parsing import SYSTEM_MESSAGES, parse
from claude_sync.system_messages import (
    ApiRetry,
    CompactBoundary,
    HookProgress,
    HookResponse,
    HookRun,
    HookStarted,
    Init,
    ModelFallback,
    ModelRefusalFallback,
    ModelRefusalNoFallback,
    SessionStateChanged,
    Status,
)


def system(subtype, **fields):
    return parse({"type": "system", "subtype": subtype, **fields})


def test_the_beginning_of_a_turn_tells_what_there_is():
    """Everything a program shows of a session is in Init."""
    init = system(
        "init",
        session_id="s1",
        cwd="project",
        model="some-model",
        tools=["Read", "Bash"],
        mcp_servers=[{"name": "files", "status": "connected"}],
        permissionMode="plan",
        slash_commands=["compact"],
        apiKeySource="none",
        claude_code_version="9.8.7",
        output_style="default",
        agents=["planner"],
        skills=["drawing"],
        plugins=[{"name": "extra"}],
        capabilities=["interrupt_receipt_v1"],
        user_message_uuids=["u1"],
    )
    assert init == Init(
        subtype="init",
        cwd="project",
        model="some-model",
        tools=("Read", "Bash"),
        mcp_servers=({"name": "files", "status": "connected"},),
        permission_mode="plan",
        slash_commands=("compact",),
        api_key_source="none",
        cli_version="9.8.7",
        output_style="default",
        agents=("planner",),
        skills=("drawing",),
        plugins=({"name": "extra"},),
        capabilities=("interrupt_receipt_v1",),
        user_message_uuids=("u1",),
    )
    assert init.session_id == "s1"


def test_an_old_cli_tells_no_version_and_no_capabilities():
    """What is not told is None: no capabilities is another thing than not telling."""
    assert (system("init").cli_version, system("init").capabilities) == (None, None)
    assert system("init", capabilities=[]).capabilities == ()


def test_agents_given_as_objects_are_named():
    """A list of objects with names is read as the list of names."""
    assert system("init", agents=[{"name": "planner"}, "other"]).agents == ("planner", "other")


def test_status_tells_what_goes_on():
    """All forms of status are read: work, a change of mode, the end of compacting, a remark."""
    assert system("status", status="compacting").status == "compacting"
    assert system("status", status=None, permissionMode="plan") == Status(
        "status", permission_mode="plan"
    )
    failed = system("status", compact_result="failed", compact_error={"message": "too short"})
    assert (failed.compact_result, failed.compact_error) == ("failed", "too short")
    assert system("status", status="processing", message="Testing").message == "Testing"


def test_a_compact_boundary_tells_the_sizes_or_the_summary():
    """Both the numbers of today's CLIs and the summary of an older form are read."""
    metadata = {"trigger": "auto", "pre_tokens": 900, "post_tokens": 30, "extra": 1}
    boundary = system("compact_boundary", compact_metadata=metadata)
    assert boundary == CompactBoundary(
        "compact_boundary",
        trigger="auto",
        pre_tokens=900,
        post_tokens=30,
        compact_metadata=metadata,
    )
    assert system("compact_boundary", summary="so far").summary == "so far"


def test_a_retry_tells_when_and_why():
    """Attempt, limit, delay, status and kind of error are read."""
    retry = system(
        "api_retry", attempt=2, max_retries=10, retry_delay_ms=500.5, error_status=529, error="busy"
    )
    assert retry == ApiRetry("api_retry", {}, 2, 10, 500.5, 529, "busy")
    assert system("api_retry", error_status=None).error_status is None


def test_the_state_of_the_session_is_told():
    """State and addressee are read."""
    state = system("session_state_changed", state="idle", sdk_host_only=True)
    assert state == SessionStateChanged("session_state_changed", state="idle", sdk_host_only=True)


def test_hooks_share_a_base():
    """Start, progress and end of a hook carry the same ids."""
    ids = {"hook_id": "h1", "hook_name": "lint", "hook_event": "PostToolUse"}
    started = system("hook_started", **ids)
    progress = system("hook_progress", stdout="a", stderr="b", output="ab", **ids)
    response = system("hook_response", exit_code=2, outcome="error", output="ab", **ids)
    for message, expected in (
        (started, HookStarted),
        (progress, HookProgress),
        (response, HookResponse),
    ):
        assert type(message) is expected
        assert isinstance(message, HookRun)
        assert (message.hook_id, message.hook_name, message.hook_event) == tuple(ids.values())
    assert (progress.stdout, progress.stderr, progress.output) == ("a", "b", "ab")
    assert (response.exit_code, response.outcome, response.output) == (2, "error", "ab")


def test_every_change_of_model_is_a_fallback():
    """The three ways a model fails share the names of the models."""
    for subtype, expected in (
        ("model_fallback", ModelFallback),
        ("model_refusal_fallback", ModelRefusalFallback),
        ("model_refusal_no_fallback", ModelRefusalNoFallback),
    ):
        message = system(subtype, original_model="large", fallback_model="small", content="sorry")
        assert type(message) is expected
        assert isinstance(message, ModelFallback)
        assert (message.original_model, message.fallback_model) == ("large", "small")
    retracted = system("model_refusal_fallback", retracted_message_uuids=["u1", "u2"])
    assert retracted.retracted_message_uuids == ("u1", "u2")


@pytest.mark.parametrize(
    ("subtype", "fields"),
    [
        ("code_change_published", {"provider": "forge", "url": "https://example.org/1"}),
        ("commands_changed", {"commands": [{"name": "review"}]}),
        ("control_request_progress", {"request_id": "r1", "status": "started", "attempt": 1}),
        ("elicitation_complete", {"mcp_server_name": "files", "elicitation_id": "e1"}),
        ("files_persisted", {"files": [{"file_id": "f"}], "failed": [], "processed_at": "noon"}),
        ("informational", {"level": "warning", "content": "text", "prevent_continuation": True}),
        ("local_command_output", {"content": "printed"}),
        ("memory_recall", {"mode": "select", "memories": [{"path": "m"}]}),
        ("mirror_error", {"key": {"sessionId": "s"}, "error": "refused"}),
        ("notification", {"key": "k", "text": "look", "priority": "low"}),
        ("permission_denied", {"tool_name": "Bash", "tool_use_id": "t1", "message": "no"}),
        ("plugin_install", {"status": "failed", "name": "extra", "error": "offline"}),
        ("post_turn_summary", {"summarizes_uuid": "u1", "status_category": "done"}),
        ("session_metadata", {"metadata": {"artifacts": None}}),
        ("session_writes_lost", {"error_code": "ENOSPC", "lost": ["transcript"]}),
        ("thinking_tokens", {"estimated_tokens": 9, "estimated_tokens_delta": 4}),
        ("vcs_state_changed", {"kind": "commit", "cwd": "project"}),
        ("worker_shutting_down", {"reason": "host_exit"}),
    ],
)
def test_fields_are_named_as_on_the_wire(subtype, fields):
    """Each field of a rare message is found under the name the CLI gave it."""
    message = system(subtype, **fields)
    assert type(message) is SYSTEM_MESSAGES[subtype]
    for name, value in fields.items():
        expected = tuple(value) if isinstance(value, list) else value
        assert getattr(message, name) == expected


def classes_of(*modules):
    """The classes of messages that *modules* define."""
    return {
        value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, System) and value is not System
    }


def test_every_class_has_its_subtype():
    """No class is forgotten in the table; only bases are not in it."""
    missing = classes_of(system_messages, task_messages) - set(SYSTEM_MESSAGES.values())
    assert missing == {HookRun, task_messages.Task}


@pytest.mark.parametrize("module", [system_messages, task_messages], ids=lambda m: m.__name__)
def test_every_class_is_exported(module):
    """The list of names is complete and says nothing that is not there."""
    assert {each.__name__ for each in classes_of(module)} == set(module.__all__)


@pytest.mark.parametrize("subtype", sorted(SYSTEM_MESSAGES))
def test_every_subtype_has_values_for_nothing(subtype):
    """A message without any field is complete, and equals one made by hand."""
    message = system(subtype)
    assert message == SYSTEM_MESSAGES[subtype](subtype=subtype)
    for field in dataclasses.fields(message):
        assert hasattr(message, field.name)


def test_a_subtype_that_is_not_known_is_kept():
    """A new subtype is a plain System with everything in raw."""
    message = system("dream", color="blue")
    assert type(message) is System
    assert message.subtype == "dream"
    assert message.raw["color"] == "blue"
