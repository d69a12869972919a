"""The examples of the JSON stream protocol: permissions come and go as callbacks."""

from __future__ import annotations

from seed_examples import Asks, Greets, Heard, Replies, Requests, Said, callback

REQUEST = {
    "type": "callback.request",
    "id": "cb-001",
    "session_id": "ee5e97bf-0000-0000-0000-000000000002",
    "payload": {
        "callback_type": "can_use_tool",
        "tool_name": "Bash",
        "tool_input": {"command": "rm -rf /tmp/test", "description": "Delete test directory"},
        "tool_use_id": "toolu_01ABC123",
        "blocked_path": "/tmp/test",
        "suggestions": [
            {
                "type": "addRules",
                "rules": [{"toolName": "Bash", "ruleContent": "rm -rf /tmp/**"}],
                "behavior": "allow",
                "destination": "session",
            }
        ],
    },
}
ASKING = {
    "type": "assistant",
    "message": {
        "content": [
            {
                "type": "tool_use",
                "id": "toolu_ask_001",
                "name": "AskUserQuestion",
                "input": {
                    "questions": [
                        {
                            "question": "How should I format the output?",
                            "header": "Format",
                            "options": [
                                {"label": "Summary", "description": "Brief overview"},
                                {"label": "Detailed", "description": "Full explanation"},
                            ],
                            "multiSelect": False,
                        }
                    ]
                },
            }
        ]
    },
}
QUESTIONS = ASKING["message"]["content"][0]["input"]

EXAMPLES = [
    Said(
        "Initialization, step 1",
        {
            "type": "control_request",
            "request_id": "req-1234567890-abc123",
            "request": {
                "subtype": "initialize",
                "system_prompt": {"type": "preset", "preset": "claude_code"},
                "mcp_servers": {},
                "agents": {},
                "hooks": {},
            },
        },
        Greets(dialect="callback"),
    ),
    Heard(
        "Initialization, step 2",
        {
            "type": "control_response",
            "response": {
                "subtype": "success",
                "request_id": "req-1234567890-abc123",
                "response": {
                    "commands": [
                        {
                            "name": "compact",
                            "description": "Clear conversation history...",
                            "argumentHint": "<optional instructions>",
                        }
                    ],
                    "output_style": "default",
                    "available_output_styles": ["default", "Explanatory", "Learning"],
                    "models": [
                        {
                            "value": "default",
                            "displayName": "Default (recommended)",
                            "description": "Opus 4.5 · Most capable",
                        },
                        {
                            "value": "sonnet",
                            "displayName": "Sonnet",
                            "description": "Sonnet 4.5 · Best for everyday tasks",
                        },
                    ],
                    "account": {
                        "email": "user@example.com",
                        "organization": "Org Name",
                        "subscriptionType": "Claude Max",
                    },
                },
            },
        },
        "Reply",
        {
            "request_id": "req-1234567890-abc123",
            "error": None,
            "body.commands.0.name": "compact",
            "body.models.1.value": "sonnet",
            "body.account.subscriptionType": "Claude Max",
            "body.available_output_styles": ["default", "Explanatory", "Learning"],
        },
    ),
    Said(
        "Initialization, step 3",
        {
            "type": "user",
            "message": {"role": "user", "content": "Hello, Claude!"},
            "parent_tool_use_id": None,
        },
        Asks("Hello, Claude!", dialect="callback"),
    ),
    Heard(
        "Initialization, step 4",
        {
            "type": "system",
            "subtype": "init",
            "cwd": "/path/to/project",
            "session_id": "ee5e97bf-0000-0000-0000-000000000001",
            "tools": ["Task", "Bash", "Read", "Edit", "Write", "Glob", "Grep"],
            "mcp_servers": [{"name": "flutter-test", "status": "connected"}],
            "model": "claude-sonnet-4-5-20250929",
            "permissionMode": "default",
            "slash_commands": ["compact", "cost", "context"],
            "apiKeySource": "none",
            "claude_code_version": "2.1.29",
            "output_style": "default",
            "agents": ["Bash", "general-purpose", "Explore", "Plan"],
            "skills": ["keybindings-help"],
            "plugins": [],
            "uuid": "ee5e97bf-0000-0000-0000-000000000002",
        },
        "Init",
        {
            "session_id": "ee5e97bf-0000-0000-0000-000000000001",
            "cwd": "/path/to/project",
            "model": "claude-sonnet-4-5-20250929",
            "permission_mode": "default",
            "cli_version": "2.1.29",
            "mcp_servers.0.status": "connected",
            "skills": ("keybindings-help",),
            "plugins": (),
            "agents.3": "Plan",
            "api_key_source": "none",
            "slash_commands.0": "compact",
            "uuid": "ee5e97bf-0000-0000-0000-000000000002",
        },
    ),
    Heard(
        "Assistant message",
        {
            "type": "assistant",
            "message": {
                "model": "claude-sonnet-4-5-20250929",
                "id": "msg_01ABC123",
                "type": "message",
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "I'll help you with that."},
                    {
                        "type": "tool_use",
                        "id": "toolu_01XYZ789",
                        "name": "Bash",
                        "input": {"command": "ls -la", "description": "List files in directory"},
                    },
                ],
                "stop_reason": None,
                "stop_sequence": None,
                "usage": {
                    "input_tokens": 100,
                    "output_tokens": 50,
                    "cache_creation_input_tokens": 500,
                    "cache_read_input_tokens": 1000,
                },
            },
            "parent_tool_use_id": None,
            "session_id": "ee5e97bf-0000-0000-0000-000000000001",
            "uuid": "ee5e97bf-0000-0000-0000-000000000003",
        },
        "Assistant",
        {
            "text": "I'll help you with that.",
            "message_id": "msg_01ABC123",
            "tool_uses.0.name": "Bash",
            "tool_uses.0.id": "toolu_01XYZ789",
            "tool_uses.0.input.command": "ls -la",
            "stop_reason": None,
            "usage.cache_read_input_tokens": 1000,
            "parent_tool_use_id": None,
        },
    ),
    Heard(
        "User message, tool result",
        {
            "type": "user",
            "message": {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "toolu_01XYZ789",
                        "content": "file1.txt\nfile2.txt\nfile3.txt",
                        "is_error": False,
                    }
                ],
            },
            "parent_tool_use_id": None,
            "session_id": "ee5e97bf-0000-0000-0000-000000000001",
            "uuid": "ee5e97bf-0000-0000-0000-000000000004",
            "tool_use_result": {
                "stdout": "file1.txt\nfile2.txt\nfile3.txt",
                "stderr": "",
                "interrupted": False,
                "isImage": False,
            },
        },
        "User",
        {
            "tool_results.0.tool_use_id": "toolu_01XYZ789",
            "tool_results.0.is_error": False,
            "tool_results.0.text": "file1.txt\nfile2.txt\nfile3.txt",
            "tool_use_result.interrupted": False,
            "tool_results.0.tool_use_result.isImage": False,
        },
    ),
    Heard(
        "Result message",
        {
            "type": "result",
            "subtype": "success",
            "is_error": False,
            "duration_ms": 5234,
            "duration_api_ms": 3890,
            "num_turns": 2,
            "result": "I found 3 files in the directory.",
            "session_id": "ee5e97bf-0000-0000-0000-000000000001",
            "total_cost_usd": 0.0342,
            "usage": {
                "input_tokens": 150,
                "output_tokens": 75,
                "cache_creation_input_tokens": 500,
                "cache_read_input_tokens": 1500,
                "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
                "service_tier": "standard",
            },
            "modelUsage": {
                "claude-sonnet-4-5-20250929": {
                    "inputTokens": 150,
                    "outputTokens": 75,
                    "cacheReadInputTokens": 1500,
                    "cacheCreationInputTokens": 500,
                    "webSearchRequests": 0,
                    "costUSD": 0.0342,
                    "contextWindow": 200000,
                    "maxOutputTokens": 64000,
                }
            },
            "permission_denials": [],
            "uuid": "ee5e97bf-0000-0000-0000-000000000010",
        },
        "Result",
        {
            "subtype": "success",
            "is_error": False,
            "text": "I found 3 files in the directory.",
            "total_cost_usd": 0.0342,
            "num_turns": 2,
            "duration_api_ms": 3890,
            "usage.output_tokens": 75,
            "model_usage.claude-sonnet-4-5-20250929.costUSD": 0.0342,
            "permission_denials": (),
        },
    ),
    Heard(
        "Callback request",
        REQUEST,
        "PermissionRequest",
        {
            "tool": "Bash",
            "input.command": "rm -rf /tmp/test",
            "tool_use_id": "toolu_01ABC123",
            "blocked_path": "/tmp/test",
            "suggestions.0.rules.0.ruleContent": "rm -rf /tmp/**",
        },
    ),
    Said(
        "Callback response, allow",
        {
            "type": "callback.response",
            "id": "cb-001",
            "session_id": "ee5e97bf-0000-0000-0000-000000000002",
            "payload": {
                "behavior": "allow",
                "updated_input": {
                    "command": "rm -rf /tmp/test",
                    "description": "Delete test directory",
                },
                "updated_permissions": [],
            },
        },
        Replies(REQUEST, lambda request: request.allow(), dialect="callback"),
    ),
    Said(
        "Callback response, deny",
        {
            "type": "callback.response",
            "id": "cb-001",
            "session_id": "ee5e97bf-0000-0000-0000-000000000002",
            "payload": {"behavior": "deny", "message": "User denied file deletion"},
        },
        Replies(
            REQUEST, lambda request: request.deny("User denied file deletion"), dialect="callback"
        ),
    ),
    Heard(
        "Assistant message with AskUserQuestion",
        ASKING,
        "Assistant",
        {"tool_uses.0.name": "AskUserQuestion", "tool_uses.0.input.questions.0.header": "Format"},
    ),
    Said(
        "Permission response with answers",
        {
            "type": "callback.response",
            "id": "cb-ask-001",
            "session_id": "...",
            "payload": {
                "behavior": "allow",
                "updated_input": {
                    "questions": [
                        {
                            "question": "How should I format the output?",
                            "header": "Format",
                            "options": [
                                {"label": "Summary", "description": "Brief overview"},
                                {"label": "Detailed", "description": "Full explanation"},
                            ],
                            "multiSelect": False,
                        }
                    ],
                    "answers": {"How should I format the output?": "Summary"},
                },
            },
        },
        Replies(
            callback("AskUserQuestion", QUESTIONS, "cb-ask-001", "..."),
            lambda request: request.answer("Summary"),
            dialect="callback",
        ),
        adds=frozenset({"payload.updated_permissions"}),
    ),
    Said(
        "Sending images",
        {
            "type": "user",
            "message": {
                "role": "user",
                "content": [
                    {"type": "text", "text": "What is in this image?"},
                    {
                        "type": "image",
                        "source": {
                            "type": "base64",
                            "media_type": "image/png",
                            "data": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB...",
                        },
                    },
                ],
            },
        },
        Asks(
            [
                {"type": "text", "text": "What is in this image?"},
                {
                    "type": "image",
                    "source": {
                        "type": "base64",
                        "media_type": "image/png",
                        "data": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB...",
                    },
                },
            ],
            dialect="callback",
        ),
        adds=frozenset({"parent_tool_use_id"}),
    ),
    Heard(
        "Receiving image results",
        {
            "type": "user",
            "message": {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "toolu_screenshot_001",
                        "content": [
                            {
                                "type": "image",
                                "source": {
                                    "type": "base64",
                                    "media_type": "image/png",
                                    "data": "...",
                                },
                            }
                        ],
                    }
                ],
            },
            "tool_use_result": {"isImage": True},
        },
        "User",
        {
            "tool_results.0.tool_use_id": "toolu_screenshot_001",
            "tool_results.0.content.0.media_type": "image/png",
            "tool_results.0.is_error": False,
            "tool_use_result.isImage": True,
        },
    ),
    Said(
        "Interrupt",
        {
            "type": "control_request",
            "request_id": "req-interrupt-001",
            "request": {"subtype": "interrupt"},
        },
        Requests(lambda client: client.interrupt(), dialect="callback"),
    ),
    Said(
        "Set model",
        {
            "type": "control_request",
            "request_id": "req-model-001",
            "request": {"subtype": "set_model", "model": "opus"},
        },
        Requests(lambda client: client.control("set_model", model="opus"), dialect="callback"),
    ),
    Heard(
        "Set model, response",
        {
            "type": "control_response",
            "response": {"subtype": "success", "request_id": "req-model-001"},
        },
        "Reply",
        {"request_id": "req-model-001", "error": None, "body": {}},
    ),
    Said(
        "Set permission mode",
        {
            "type": "control_request",
            "request_id": "req-perm-001",
            "request": {"subtype": "set_permission_mode", "mode": "acceptEdits"},
        },
        Requests(
            lambda client: client.control("set_permission_mode", mode="acceptEdits"),
            dialect="callback",
        ),
    ),
    Heard(
        "Usage fields",
        {
            "type": "assistant",
            "message": {
                "content": [],
                "usage": {
                    "input_tokens": 100,
                    "output_tokens": 50,
                    "cache_creation_input_tokens": 500,
                    "cache_read_input_tokens": 1000,
                    "cache_creation": {
                        "ephemeral_5m_input_tokens": 0,
                        "ephemeral_1h_input_tokens": 500,
                    },
                    "service_tier": "standard",
                },
            },
        },
        "Assistant",
        {
            "usage.cache_creation.ephemeral_1h_input_tokens": 500,
            "usage.service_tier": "standard",
            "usage.output_tokens": 50,
        },
    ),
    Heard(
        "Result message usage",
        {
            "type": "result",
            "total_cost_usd": 0.0342,
            "usage": {
                "input_tokens": 250,
                "output_tokens": 150,
                "cache_creation_input_tokens": 500,
                "cache_read_input_tokens": 2500,
                "server_tool_use": {"web_search_requests": 1, "web_fetch_requests": 0},
            },
            "modelUsage": {
                "claude-sonnet-4-5-20250929": {
                    "inputTokens": 200,
                    "outputTokens": 120,
                    "cacheReadInputTokens": 2000,
                    "cacheCreationInputTokens": 400,
                    "webSearchRequests": 1,
                    "costUSD": 0.03,
                    "contextWindow": 200000,
                    "maxOutputTokens": 64000,
                },
                "claude-haiku-4-5-20251001": {
                    "inputTokens": 50,
                    "outputTokens": 30,
                    "cacheReadInputTokens": 500,
                    "cacheCreationInputTokens": 100,
                    "webSearchRequests": 0,
                    "costUSD": 0.0042,
                    "contextWindow": 200000,
                    "maxOutputTokens": 64000,
                },
            },
        },
        "Result",
        {
            "total_cost_usd": 0.0342,
            "usage.server_tool_use.web_search_requests": 1,
            "model_usage.claude-haiku-4-5-20251001.costUSD": 0.0042,
            "subtype": "",
            "is_error": False,
        },
    ),
    Heard(
        "Subagent user message",
        {
            "type": "user",
            "message": {"role": "user", "content": [{"type": "text", "text": "What is 2+2?"}]},
            "parent_tool_use_id": "toolu_task_001",
            "session_id": "...",
            "uuid": "...",
        },
        "User",
        {"parent_tool_use_id": "toolu_task_001", "text": "What is 2+2?", "is_replay": False},
    ),
    Heard(
        "Subagent tool result",
        {
            "type": "user",
            "message": {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "toolu_task_001",
                        "content": [
                            {"type": "text", "text": "4"},
                            {"type": "text", "text": "agentId: ae01306 (for resuming...)"},
                        ],
                    }
                ],
            },
            "parent_tool_use_id": None,
            "tool_use_result": {
                "status": "completed",
                "prompt": "What is 2+2?",
                "agentId": "ae01306",
                "content": [{"type": "text", "text": "4"}],
                "totalDurationMs": 2427,
                "totalTokens": 18038,
                "totalToolUseCount": 0,
                "usage": {},
            },
        },
        "User",
        {
            "parent_tool_use_id": None,
            "tool_results.0.tool_use_id": "toolu_task_001",
            "tool_results.0.content.0.text": "4",
            "tool_use_result.agentId": "ae01306",
            "tool_use_result.totalTokens": 18038,
        },
    ),
    Heard(
        "Content block delta",
        {
            "type": "stream_event",
            "event_type": "content_block_delta",
            "event": {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "text_delta", "text": "Hello, "},
            },
        },
        "StreamEvent",
        {"event_type": "content_block_delta", "event.delta.text": "Hello, ", "event.index": 0},
    ),
    Heard(
        "Thinking delta",
        {
            "type": "stream_event",
            "event_type": "content_block_delta",
            "event": {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "thinking_delta", "thinking": "Let me consider this..."},
            },
        },
        "StreamEvent",
        {"event_type": "content_block_delta", "event.delta.thinking": "Let me consider this..."},
    ),
    Heard(
        "Error message",
        {
            "type": "error",
            "error": {"type": "overloaded_error", "message": "Service is temporarily overloaded"},
        },
        "ErrorMessage",
        {"kind": "overloaded_error", "error": "Service is temporarily overloaded"},
    ),
    Heard(
        "Result error",
        {
            "type": "result",
            "subtype": "error",
            "is_error": True,
            "result": "An error occurred",
            "errors": ["Connection timeout"],
        },
        "Result",
        {
            "subtype": "error",
            "is_error": True,
            "result": "An error occurred",
            "errors": ("Connection timeout",),
        },
    ),
    Heard(
        "Compact boundary",
        {
            "type": "system",
            "subtype": "compact_boundary",
            "summary": "Previous conversation summary...",
        },
        "CompactBoundary",
        {"summary": "Previous conversation summary...", "trigger": None},
    ),
    Heard(
        "Status update",
        {
            "type": "system",
            "subtype": "status",
            "status": "processing",
            "message": "Running tests...",
        },
        "Status",
        {"status": "processing", "message": "Running tests..."},
    ),
]
