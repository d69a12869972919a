"""The examples of the stream-json format: what real CLIs speak, with a few words too many."""

from __future__ import annotations

from seed_examples import Asks, Greets, Heard, Replies, Requests, Said, Serves, permission

MCP_REQUEST = {
    "type": "control_request",
    "request_id": "unique-request-id",
    "request": {
        "subtype": "mcp_message",
        "server_name": "claude-vscode",
        "message": {
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "claude-code", "version": "2.1.1"},
            },
            "jsonrpc": "2.0",
            "id": 0,
        },
    },
}
FLOW_REQUEST = {
    "type": "control_request",
    "request_id": "req123",
    "request": {
        "subtype": "can_use_tool",
        "tool_name": "Bash",
        "input": {"command": "date"},
        "tool_use_id": "toolu_1",
    },
}
SUGGESTION = {
    "type": "addRules",
    "rules": [{"toolName": "Bash", "ruleContent": "git show:*"}],
    "behavior": "allow",
    "destination": "localSettings",
}
EDITS = {"matcher": "Edit|Write|MultiEdit", "hooks": [lambda event: None]}


def abs_of(number: int) -> int:
    """The distance of a number from 0."""
    return abs(number)


EXAMPLES = [
    Said(
        "User message",
        {
            "type": "user",
            "session_id": "",
            "message": {"role": "user", "content": [{"type": "text", "text": "Hello, Claude!"}]},
            "parent_tool_use_id": None,
        },
        Asks([{"type": "text", "text": "Hello, Claude!"}]),
        adds=frozenset({"uuid"}),
    ),
    Said(
        "Initialize request",
        {
            "type": "control_request",
            "request_id": "unique-request-id",
            "request": {
                "subtype": "initialize",
                "hooks": {
                    "PreToolUse": [
                        {"matcher": "Edit|Write|MultiEdit", "hookCallbackIds": ["hook_0"]}
                    ],
                    "PostToolUse": [
                        {"matcher": "Edit|Write|MultiEdit", "hookCallbackIds": ["hook_1"]}
                    ],
                },
                "sdkMcpServers": ["claude-vscode"],
                "appendSystemPrompt": "Additional system prompt text...",
            },
        },
        Greets(
            hooks={"PreToolUse": [EDITS], "PostToolUse": [EDITS]},
            tools=[abs_of],
            append_system_prompt="Additional system prompt text...",
        ),
        adds=frozenset(
            {
                "request.hooks.PostToolUse.0.timeout",
                "request.hooks.PreToolUse.0.timeout",
                "request.sdkMcpServerManifests",
            }
        ),
        lacks=frozenset({"request.appendSystemPrompt"}),
        differs=frozenset({"request.sdkMcpServers.0"}),
    ),
    Said(
        "Control request, interrupt",
        {
            "type": "control_request",
            "request_id": "unique-request-id",
            "request": {"subtype": "interrupt"},
        },
        Requests(lambda client: client.interrupt()),
        adds=frozenset({"request.cancel_queued"}),
    ),
    Heard(
        "MCP message request",
        MCP_REQUEST,
        "Request",
        {
            "subtype": "mcp_message",
            "request_id": "unique-request-id",
            "body.server_name": "claude-vscode",
            "body.message.method": "initialize",
        },
    ),
    Said(
        "Control response, allow",
        {
            "type": "control_response",
            "response": {
                "subtype": "success",
                "request_id": "matching-request-id",
                "response": {
                    "behavior": "allow",
                    "updatedInput": {"file_path": "/path/to/file.txt", "content": "file contents"},
                    "toolUseID": "tool-use-id-from-request",
                },
            },
        },
        Replies(
            permission(
                "Write",
                {"file_path": "/path/to/file.txt", "content": "file contents"},
                "matching-request-id",
                "tool-use-id-from-request",
            ),
            lambda request: request.allow(),
        ),
    ),
    Said(
        "Control response, allow with a suggestion",
        {
            "type": "control_response",
            "response": {
                "subtype": "success",
                "request_id": "matching-request-id",
                "response": {
                    "behavior": "allow",
                    "updatedInput": {"command": "git show --stat abc123"},
                    "toolUseID": "tool-use-id-from-request",
                    "applyPermissionSuggestion": {
                        "type": "addRules",
                        "rules": [{"toolName": "Bash", "ruleContent": "git show:*"}],
                        "behavior": "allow",
                        "destination": "localSettings",
                    },
                },
            },
        },
        Replies(
            permission(
                "Bash",
                {"command": "git show --stat abc123"},
                "matching-request-id",
                "tool-use-id-from-request",
                permission_suggestions=[SUGGESTION],
            ),
            lambda request: request.allow_always(save=True),
        ),
        adds=frozenset({"response.response.updatedPermissions"}),
        lacks=frozenset({"response.response.applyPermissionSuggestion"}),
    ),
    Said(
        "Control response, deny",
        {
            "type": "control_response",
            "response": {
                "subtype": "success",
                "request_id": "matching-request-id",
                "response": {
                    "behavior": "deny",
                    "message": "User declined this operation",
                    "toolUseID": "tool-use-id-from-request",
                },
            },
        },
        Replies(
            permission("Bash", {}, "matching-request-id", "tool-use-id-from-request"),
            lambda request: request.deny("User declined this operation"),
        ),
    ),
    Said(
        "Control response, AskUserQuestion",
        {
            "type": "control_response",
            "response": {
                "subtype": "success",
                "request_id": "matching-request-id",
                "response": {
                    "behavior": "allow",
                    "updatedInput": {
                        "questions": [
                            {
                                "question": "Yes or no?",
                                "header": "Choice",
                                "options": [
                                    {"label": "Yes", "description": "Affirmative response"},
                                    {"label": "No", "description": "Negative response"},
                                ],
                                "multiSelect": False,
                            }
                        ],
                        "answers": {"Yes or no?": "Yes"},
                    },
                    "toolUseID": "tool-use-id-from-request",
                },
            },
        },
        Replies(
            permission(
                "AskUserQuestion",
                {
                    "questions": [
                        {
                            "question": "Yes or no?",
                            "header": "Choice",
                            "options": [
                                {"label": "Yes", "description": "Affirmative response"},
                                {"label": "No", "description": "Negative response"},
                            ],
                            "multiSelect": False,
                        }
                    ]
                },
                "matching-request-id",
                "tool-use-id-from-request",
            ),
            lambda request: request.answer("Yes"),
        ),
    ),
    Said(
        "MCP message response",
        {
            "type": "control_response",
            "response": {
                "subtype": "success",
                "request_id": "matching-request-id",
                "response": {
                    "mcp_response": {
                        "result": {
                            "protocolVersion": "2025-11-25",
                            "capabilities": {"tools": {}},
                            "serverInfo": {"name": "claude-vscode", "version": "2.0.75"},
                        },
                        "jsonrpc": "2.0",
                        "id": 0,
                    }
                },
            },
        },
        Serves({**MCP_REQUEST, "request_id": "matching-request-id"}),
        differs=frozenset(
            {
                "response.response.mcp_response.result.serverInfo.name",
                "response.response.mcp_response.result.serverInfo.version",
            }
        ),
    ),
    Heard(
        "Initialize response",
        {
            "type": "control_response",
            "response": {
                "subtype": "success",
                "request_id": "matching-request-id",
                "response": {
                    "commands": [
                        {
                            "name": "compact",
                            "description": "Clear conversation history "
                            "but keep a summary in context",
                            "argumentHint": "<optional custom summarization instructions>",
                        },
                        {
                            "name": "context",
                            "description": "Show current context usage",
                            "argumentHint": "",
                        },
                    ],
                    "output_style": "default",
                    "available_output_styles": ["default", "Explanatory", "Learning"],
                    "models": [
                        {
                            "value": "default",
                            "displayName": "Default (recommended)",
                            "description": "Opus 4.5 · Most capable for complex work",
                        },
                        {
                            "value": "sonnet",
                            "displayName": "Sonnet",
                            "description": "Sonnet 4.5 · Best for everyday tasks",
                        },
                    ],
                    "account": {
                        "email": "user@example.com",
                        "organization": "Organization Name",
                        "subscriptionType": "Claude Team",
                    },
                },
            },
        },
        "Reply",
        {
            "request_id": "matching-request-id",
            "body.commands.1.name": "context",
            "body.account.subscriptionType": "Claude Team",
            "body.output_style": "default",
        },
    ),
    Heard(
        "Assistant message",
        {
            "type": "assistant",
            "message": {
                "model": "claude-opus-4-5-20251101",
                "id": "msg_123abc",
                "type": "message",
                "role": "assistant",
                "content": [{"type": "text", "text": "Hello! How can I help you?"}],
                "stop_reason": "end_turn",
                "usage": {"input_tokens": 100, "output_tokens": 50},
            },
            "parent_tool_use_id": None,
            "session_id": "session-uuid",
            "uuid": "message-uuid",
        },
        "Assistant",
        {
            "text": "Hello! How can I help you?",
            "stop_reason": "end_turn",
            "message_id": "msg_123abc",
            "uuid": "message-uuid",
            "session_id": "session-uuid",
        },
    ),
    Heard(
        "Assistant message, message_start",
        {
            "type": "stream_event",
            "event": {
                "type": "message_start",
                "message": {
                    "model": "claude-opus-4-5-20251101",
                    "id": "msg_123abc",
                    "type": "message",
                    "role": "assistant",
                    "content": [],
                    "stop_reason": None,
                    "usage": {"input_tokens": 3, "output_tokens": 1},
                },
            },
            "session_id": "session-uuid",
            "parent_tool_use_id": None,
            "uuid": "event-uuid",
        },
        "StreamEvent",
        {
            "event_type": "message_start",
            "event.message.id": "msg_123abc",
            "parent_tool_use_id": None,
        },
    ),
    Heard(
        "Assistant message, text delta",
        {
            "type": "stream_event",
            "event": {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "text_delta", "text": "partial text"},
            },
            "session_id": "session-uuid",
            "parent_tool_use_id": None,
            "uuid": "event-uuid",
        },
        "StreamEvent",
        {"event_type": "content_block_delta", "event.delta.text": "partial text"},
    ),
    Heard(
        "Assistant message, input delta",
        {
            "type": "stream_event",
            "event": {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "input_json_delta", "partial_json": '{"quest'},
            },
            "session_id": "session-uuid",
            "parent_tool_use_id": None,
            "uuid": "event-uuid",
        },
        "StreamEvent",
        {"event_type": "content_block_delta", "event.delta.partial_json": '{"quest'},
    ),
    Heard(
        "Control request, tool permissions",
        {
            "type": "control_request",
            "request_id": "unique-request-id",
            "request": {
                "subtype": "can_use_tool",
                "tool_name": "Bash",
                "input": {"command": "ls -la"},
                "permission_suggestions": [
                    {
                        "type": "addRules",
                        "rules": [{"toolName": "Bash", "ruleContent": "git show:*"}],
                        "behavior": "allow",
                        "destination": "localSettings",
                    }
                ],
                "tool_use_id": "toolu_xyz",
            },
        },
        "PermissionRequest",
        {
            "tool": "Bash",
            "input": {"command": "ls -la"},
            "suggestions.0.destination": "localSettings",
            "tool_use_id": "toolu_xyz",
            "blocked_path": None,
        },
    ),
    Heard(
        "Control request, AskUserQuestion",
        {
            "type": "control_request",
            "request_id": "unique-request-id",
            "request": {
                "subtype": "can_use_tool",
                "tool_name": "AskUserQuestion",
                "input": {
                    "questions": [
                        {
                            "question": "Would you like to proceed?",
                            "header": "Confirm",
                            "options": [
                                {"label": "Yes", "description": "Proceed with the action"},
                                {"label": "No", "description": "Cancel"},
                            ],
                            "multiSelect": False,
                        }
                    ]
                },
                "tool_use_id": "toolu_abc",
            },
        },
        "PermissionRequest",
        {
            "tool": "AskUserQuestion",
            "questions.0.text": "Would you like to proceed?",
            "questions.0.header": "Confirm",
            "questions.0.labels": ("Yes", "No"),
            "questions.0.multi_select": False,
        },
    ),
    Heard(
        "User message echo",
        {
            "type": "user",
            "message": {"role": "user", "content": [{"type": "text", "text": "User's message"}]},
        },
        "User",
        {"text": "User's message", "uuid": None},
    ),
    Heard(
        "Tool result",
        {
            "type": "user",
            "message": {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "content": "Tool output or error message",
                        "is_error": False,
                        "tool_use_id": "toolu_xyz",
                    }
                ],
            },
            "parent_tool_use_id": None,
            "session_id": "session-uuid",
            "uuid": "result-uuid",
            "tool_use_result": {
                "questions": [{"question": "Question text?"}],
                "answers": {"Question text?": "Answer"},
            },
        },
        "User",
        {
            "tool_results.0.text": "Tool output or error message",
            "tool_results.0.is_error": False,
            "tool_use_result.answers": {"Question text?": "Answer"},
        },
    ),
    Heard(
        "Auth status",
        {
            "type": "auth_status",
            "isAuthenticating": False,
            "output": [],
            "uuid": "auth-uuid",
            "session_id": "session-uuid",
        },
        "AuthStatus",
        {"is_authenticating": False, "output": (), "error": None, "uuid": "auth-uuid"},
    ),
    Heard(
        "System init",
        {
            "type": "system",
            "subtype": "init",
            "cwd": "/current/working/directory",
            "session_id": "session-uuid",
            "tools": ["Task", "Bash", "Glob", "Grep", "Read", "Edit", "Write", "..."],
            "mcp_servers": [{"name": "claude-vscode", "status": "connected"}],
            "model": "claude-opus-4-5-20251101",
            "permissionMode": "default",
            "slash_commands": ["compact", "context", "cost", "init", "..."],
            "apiKeySource": "none",
            "claude_code_version": "2.1.1",
            "output_style": "default",
            "agents": ["Bash", "general-purpose", "Explore", "Plan", "..."],
            "skills": [],
            "plugins": [{"name": "plugin-name", "path": "/path/to/plugin"}],
            "uuid": "init-uuid",
        },
        "Init",
        {
            "cli_version": "2.1.1",
            "plugins.0.name": "plugin-name",
            "mcp_servers.0.name": "claude-vscode",
            "skills": (),
        },
    ),
    Heard(
        "Result",
        {
            "type": "result",
            "subtype": "success",
            "is_error": False,
            "duration_ms": 3136,
            "duration_api_ms": 12925,
            "num_turns": 1,
            "result": "Final assistant response text",
            "session_id": "session-uuid",
            "total_cost_usd": 0.18986465,
            "usage": {
                "input_tokens": 3,
                "cache_creation_input_tokens": 20336,
                "cache_read_input_tokens": 0,
                "output_tokens": 12,
                "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
                "service_tier": "standard",
            },
            "modelUsage": {
                "claude-opus-4-5-20251101": {
                    "inputTokens": 9,
                    "outputTokens": 122,
                    "cacheReadInputTokens": 9209,
                    "cacheCreationInputTokens": 28341,
                    "webSearchRequests": 0,
                    "costUSD": 0.18483075,
                    "contextWindow": 200000,
                }
            },
            "permission_denials": [],
            "uuid": "result-uuid",
        },
        "Result",
        {
            "subtype": "success",
            "total_cost_usd": 0.18986465,
            "usage.cache_creation_input_tokens": 20336,
            "model_usage.claude-opus-4-5-20251101.outputTokens": 122,
            "result": "Final assistant response text",
        },
    ),
    Heard(
        "Error handling",
        {
            "type": "error",
            "error": {"type": "invalid_request", "message": "Description of what went wrong"},
        },
        "ErrorMessage",
        {"kind": "invalid_request", "error": "Description of what went wrong"},
    ),
    Said(
        "Example flow, 1",
        {
            "type": "user",
            "session_id": "",
            "message": {"role": "user", "content": [{"type": "text", "text": "What is 2+2?"}]},
            "parent_tool_use_id": None,
        },
        Asks([{"type": "text", "text": "What is 2+2?"}]),
        adds=frozenset({"uuid"}),
    ),
    Heard(
        "Example flow, 2",
        {
            "type": "assistant",
            "message": {
                "role": "assistant",
                "content": [{"type": "text", "text": "2 + 2 = 4"}],
                "stop_reason": "end_turn",
            },
        },
        "Assistant",
        {"text": "2 + 2 = 4", "message_id": "", "stop_reason": "end_turn"},
    ),
    Heard(
        "Example flow, 3",
        FLOW_REQUEST,
        "PermissionRequest",
        {"tool": "Bash", "input.command": "date", "suggestions": ()},
    ),
    Said(
        "Example flow, 4",
        {
            "type": "control_response",
            "response": {
                "subtype": "success",
                "request_id": "req123",
                "response": {
                    "behavior": "allow",
                    "updatedInput": {"command": "date"},
                    "toolUseID": "toolu_1",
                },
            },
        },
        Replies(FLOW_REQUEST, lambda request: request.allow()),
    ),
]
