"""The examples of the session envelopes: a backend with many sessions, which a bridge drives.

The document gives types instead of values; the values here are made up to fit them.
"""

from __future__ import annotations

from seed_examples import Heard, Replies, Said, Unsaid, callback

PERMISSION = {
    "type": "callback.request",
    "id": "cb-1",
    "session_id": "s-1",
    "payload": {
        "callback_type": "can_use_tool",
        "tool_name": "Bash",
        "tool_input": {"command": "ls"},
        "suggestions": [
            {
                "type": "addRules",
                "rules": [{"toolName": "Bash", "ruleContent": "ls:*"}],
                "behavior": "allow",
                "destination": "session",
            }
        ],
        "tool_use_id": "toolu_1",
    },
}
HOOK = {
    "type": "callback.request",
    "id": "cb-2",
    "session_id": "s-1",
    "payload": {
        "callback_type": "hook",
        "hook_event": "PreToolUse",
        "hook_input": {"tool_name": "Bash", "tool_input": {"command": "ls"}},
        "tool_use_id": "toolu_1",
    },
}

EXAMPLES = [
    Unsaid(
        "session.create",
        {
            "type": "session.create",
            "id": "c-1",
            "payload": {
                "prompt": "Hello",
                "cwd": "/path",
                "options": {
                    "model": "sonnet",
                    "permission_mode": "acceptEdits",
                    "allowed_tools": ["Read"],
                    "disallowed_tools": ["WebFetch"],
                    "system_prompt": {
                        "type": "preset",
                        "preset": "claude_code",
                        "append": "Be brief.",
                    },
                    "max_turns": 3,
                    "max_budget_usd": 1.5,
                    "max_thinking_tokens": 1024,
                    "include_partial_messages": True,
                    "enable_file_checkpointing": False,
                    "additional_directories": ["../other"],
                    "mcp_servers": {
                        "files": {
                            "type": "stdio",
                            "command": "serve",
                            "args": ["files"],
                            "env": {},
                        },
                        "news": {"type": "sse", "url": "http://127.0.0.1/sse", "headers": {}},
                        "maps": {"type": "http", "url": "http://127.0.0.1/mcp"},
                    },
                    "agents": {
                        "helper": {
                            "description": "helps",
                            "prompt": "You help.",
                            "tools": ["Read"],
                            "model": "haiku",
                        }
                    },
                    "hooks": {"PreToolUse": [{"matcher": "Write|Edit"}]},
                    "sandbox": {"enabled": True, "network": {"allow_local_binding": True}},
                    "setting_sources": ["user", "project", "local"],
                    "betas": ["context-1m"],
                    "output_format": {"type": "json_schema", "schema": {"type": "object"}},
                    "fallback_model": "haiku",
                },
            },
        },
        "SessionCreate",
        {
            "id": "c-1",
            "prompt": "Hello",
            "cwd": "/path",
            "options.additional_directories": ["../other"],
            "session_id": None,
        },
    ),
    Unsaid(
        "session.send",
        {
            "type": "session.send",
            "id": "c-2",
            "session_id": "s-1",
            "payload": {"message": "And then?"},
        },
        "SessionSend",
        {"id": "c-2", "session_id": "s-1", "message": "And then?"},
    ),
    Unsaid(
        "session.interrupt",
        {"type": "session.interrupt", "id": "c-3", "session_id": "s-1", "payload": {}},
        "SessionInterrupt",
        {"id": "c-3", "session_id": "s-1", "payload": {}},
    ),
    Unsaid(
        "session.kill",
        {"type": "session.kill", "id": "c-4", "session_id": "s-1", "payload": {}},
        "SessionKill",
        {"id": "c-4", "session_id": "s-1"},
    ),
    Said(
        "callback.response, allow",
        {
            "type": "callback.response",
            "id": "cb-1",
            "session_id": "s-1",
            "payload": {
                "behavior": "allow",
                "updated_input": {"command": "ls -a"},
                "updated_permissions": [
                    {
                        "type": "addRules",
                        "rules": [{"toolName": "Bash", "ruleContent": "ls:*"}],
                        "behavior": "allow",
                        "destination": "session",
                    }
                ],
            },
        },
        Replies(
            PERMISSION, lambda request: request.allow({"command": "ls -a"}, request.suggestions)
        ),
    ),
    Said(
        "callback.response, deny",
        {
            "type": "callback.response",
            "id": "cb-1",
            "session_id": "s-1",
            "payload": {"behavior": "deny", "message": "not here"},
        },
        Replies(PERMISSION, lambda request: request.deny("not here")),
    ),
    Said(
        "callback.response, hook",
        {
            "type": "callback.response",
            "id": "cb-2",
            "session_id": "s-1",
            "payload": {
                "continue": True,
                "decision": "approve",
                "system_message": "",
                "reason": "",
                "hook_specific_output": {},
            },
        },
        Replies(HOOK),
        lacks=frozenset(
            {
                "payload.continue",
                "payload.decision",
                "payload.hook_specific_output",
                "payload.reason",
                "payload.system_message",
            }
        ),
    ),
    Unsaid(
        "callback.response, block",
        {
            "type": "callback.response",
            "id": "cb-2",
            "session_id": "s-1",
            "payload": {
                "continue": False,
                "decision": "block",
                "system_message": "careful",
                "reason": "no",
                "hook_specific_output": {"x": 1},
            },
        },
        "CallbackResponse",
        {
            "goes_on": False,
            "decision": "block",
            "system_message": "careful",
            "reason": "no",
            "hook_specific_output": {"x": 1},
            "behavior": None,
        },
    ),
    Unsaid(
        "query.call",
        {
            "type": "query.call",
            "id": "q-1",
            "session_id": "s-1",
            "payload": {"method": "setModel", "args": ["opus"]},
        },
        "QueryCall",
        {"id": "q-1", "method": "setModel", "args": ["opus"]},
    ),
    Heard(
        "session.created",
        {
            "type": "session.created",
            "id": "c-1",
            "session_id": "s-1",
            "payload": {"sdk_session_id": "sdk-1"},
        },
        "SessionCreated",
        {"id": "c-1", "session_id": "s-1", "sdk_session_id": "sdk-1"},
    ),
    Heard(
        "sdk.message, system/init",
        {
            "type": "sdk.message",
            "session_id": "s-1",
            "payload": {"type": "system", "subtype": "init", "session_id": "sdk-1"},
        },
        "SdkMessage",
        {"session_id": "s-1", "message.__class__.__name__": "Init", "message.session_id": "sdk-1"},
    ),
    Heard(
        "sdk.message, assistant",
        {
            "type": "sdk.message",
            "session_id": "s-1",
            "payload": {
                "type": "assistant",
                "uuid": "u-1",
                "message": {"content": [{"type": "text", "text": "Hello"}]},
            },
        },
        "SdkMessage",
        {
            "session_id": "s-1",
            "message.__class__.__name__": "Assistant",
            "message.text": "Hello",
            "message.uuid": "u-1",
        },
    ),
    Heard(
        "sdk.message, user",
        {
            "type": "sdk.message",
            "session_id": "s-1",
            "payload": {
                "type": "user",
                "uuid": "u-2",
                "message": {
                    "content": [{"type": "tool_result", "tool_use_id": "t", "content": "x"}]
                },
            },
        },
        "SdkMessage",
        {
            "session_id": "s-1",
            "message.__class__.__name__": "User",
            "message.tool_results.0.tool_use_id": "t",
        },
    ),
    Heard(
        "sdk.message, result",
        {
            "type": "sdk.message",
            "session_id": "s-1",
            "payload": {"type": "result", "subtype": "success", "result": "Hello"},
        },
        "SdkMessage",
        {
            "session_id": "s-1",
            "message.__class__.__name__": "Result",
            "message.text": "Hello",
            "message.subtype": "success",
        },
    ),
    Heard(
        "sdk.message, stream_event",
        {
            "type": "sdk.message",
            "session_id": "s-1",
            "payload": {"type": "stream_event", "event": {"type": "message_stop"}},
        },
        "SdkMessage",
        {
            "session_id": "s-1",
            "message.__class__.__name__": "StreamEvent",
            "message.event_type": "message_stop",
        },
    ),
    Heard(
        "callback.request, can_use_tool",
        PERMISSION,
        "PermissionRequest",
        {
            "tool": "Bash",
            "input": {"command": "ls"},
            "suggestions.0.type": "addRules",
            "tool_use_id": "toolu_1",
        },
    ),
    Heard(
        "callback.request, hook",
        HOOK,
        "CallbackRequest",
        {
            "id": "cb-2",
            "callback_type": "hook",
            "hook_event": "PreToolUse",
            "hook_input.tool_name": "Bash",
            "tool_use_id": "toolu_1",
        },
    ),
    Heard(
        "query.result",
        {
            "type": "query.result",
            "id": "q-1",
            "session_id": "s-1",
            "payload": {"success": True, "result": [{"value": "opus"}]},
        },
        "QueryResult",
        {"id": "q-1", "success": True, "result.0.value": "opus", "error": None},
    ),
    Heard(
        "query.result, failed",
        {
            "type": "query.result",
            "id": "q-1",
            "session_id": "s-1",
            "payload": {"success": False, "result": None, "error": "no such model"},
        },
        "QueryResult",
        {"success": False, "result": None, "error": "no such model"},
    ),
    Heard(
        "session.interrupted",
        {"type": "session.interrupted", "id": "c-3", "session_id": "s-1", "payload": {}},
        "SessionInterrupted",
        {"id": "c-3", "session_id": "s-1"},
    ),
    Heard(
        "session.killed",
        {"type": "session.killed", "id": "c-4", "session_id": "s-1", "payload": {}},
        "SessionKilled",
        {"id": "c-4", "session_id": "s-1"},
    ),
    Heard(
        "error",
        {
            "type": "error",
            "id": "c-2",
            "session_id": "s-9",
            "payload": {
                "code": "SESSION_NOT_FOUND",
                "message": "no such session",
                "details": {"session_id": "s-9"},
            },
        },
        "ErrorMessage",
        {"kind": "SESSION_NOT_FOUND", "error": "no such session", "session_id": "s-9"},
    ),
    Said(
        "Callback flow",
        {
            "type": "callback.response",
            "id": "cb-123",
            "session_id": "s-1",
            "payload": {"behavior": "allow", "updated_input": {"command": "ls"}},
        },
        Replies(
            callback("Bash", {"command": "ls"}, "cb-123", "s-1"), lambda request: request.allow()
        ),
        adds=frozenset({"payload.updated_permissions"}),
    ),
    Unsaid(
        "Query method call",
        {
            "type": "query.call",
            "id": "qc-456",
            "session_id": "s-1",
            "payload": {"method": "supportedModels", "args": []},
        },
        "QueryCall",
        {"id": "qc-456", "method": "supportedModels", "args": []},
    ),
    Heard(
        "Query method call, result",
        {
            "type": "query.result",
            "id": "qc-456",
            "session_id": "s-1",
            "payload": {"success": True, "result": [{"value": "default"}]},
        },
        "QueryResult",
        {"id": "qc-456", "result": [{"value": "default"}]},
    ),
    Heard(
        "SDK message types, compact_boundary",
        {
            "type": "sdk.message",
            "session_id": "s-1",
            "payload": {"type": "system", "subtype": "compact_boundary"},
        },
        "SdkMessage",
        {"message.__class__.__name__": "CompactBoundary", "message.subtype": "compact_boundary"},
    ),
    Heard(
        "SDK message types, result, error",
        {
            "type": "sdk.message",
            "session_id": "s-1",
            "payload": {"type": "result", "subtype": "error_max_turns", "is_error": True},
        },
        "SdkMessage",
        {
            "message.__class__.__name__": "Result",
            "message.subtype": "error_max_turns",
            "message.is_error": True,
        },
    ),
]
