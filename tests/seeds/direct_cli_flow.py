"""The examples of the direct CLI flow: what real CLIs speak, from the greeting to the result."""

from __future__ import annotations

from seed_examples import Asks, Greets, Heard, Replies, Said

REQUEST = {
    "type": "control_request",
    "request_id": "uuid",
    "request": {
        "subtype": "can_use_tool",
        "tool_name": "Bash",
        "input": {
            "command": "ls /tmp/test/",
            "description": "List contents of /tmp/test/ directory",
        },
        "tool_use_id": "toolu_xxx",
        "permission_suggestions": [
            {
                "type": "addRules",
                "rules": [{"toolName": "Read", "ruleContent": "//private/tmp/test/**"}],
                "behavior": "allow",
                "destination": "session",
            }
        ],
        "blocked_path": "/private/tmp/test",
    },
}
ASKING = {
    "type": "control_request",
    "request_id": "uuid",
    "request": {
        "subtype": "can_use_tool",
        "tool_name": "AskUserQuestion",
        "input": {
            "questions": [
                {
                    "question": "Which color do you prefer?",
                    "header": "Color",
                    "multiSelect": False,
                    "options": [
                        {"label": "Red", "description": "Choose the color red"},
                        {"label": "Green", "description": "Choose the color green"},
                        {"label": "Blue", "description": "Choose the color blue"},
                    ],
                }
            ]
        },
        "tool_use_id": "toolu_xxx",
    },
}
FLOW_REQUEST = {
    "type": "control_request",
    "request_id": "perm-1",
    "request": {"subtype": "can_use_tool"},
}

EXAMPLES = [
    Said(
        "Initialization, request",
        {
            "request_id": "unique-id",
            "type": "control_request",
            "request": {
                "subtype": "initialize",
                "systemPrompt": "",
                "mcpServers": {},
                "agents": {},
                "hooks": {},
            },
        },
        Greets(),
        lacks=frozenset(
            {"request.agents", "request.hooks", "request.mcpServers", "request.systemPrompt"}
        ),
    ),
    Heard(
        "Initialization, response",
        {
            "type": "control_response",
            "response": {
                "subtype": "success",
                "request_id": "unique-id",
                "response": {
                    "commands": [
                        {"name": "compact", "description": "...", "argumentHint": "..."},
                        {"name": "context", "description": "...", "argumentHint": ""},
                    ],
                    "output_style": "default",
                    "available_output_styles": ["default", "Explanatory", "Learning"],
                    "models": [
                        {
                            "value": "default",
                            "displayName": "Default (recommended)",
                            "description": "Opus 4.5",
                        },
                        {"value": "sonnet", "displayName": "Sonnet", "description": "Sonnet 4.5"},
                        {"value": "haiku", "displayName": "Haiku", "description": "Haiku 4.5"},
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
            "request_id": "unique-id",
            "body.models.2.displayName": "Haiku",
            "body.commands.0.name": "compact",
            "body.account.email": "user@example.com",
        },
    ),
    Heard(
        "System init message",
        {
            "type": "system",
            "subtype": "init",
            "uuid": "message-uuid",
            "session_id": "session-uuid",
            "cwd": "/path/to/working/directory",
            "tools": ["Task", "Bash", "Read", "Write", "Edit", "..."],
            "mcp_servers": [{"name": "flutter-test", "status": "connected"}],
            "model": "claude-sonnet-4-5-20250929",
            "permissionMode": "default",
            "slash_commands": ["compact", "context", "cost", "..."],
            "apiKeySource": "none",
            "claude_code_version": "2.1.17",
            "output_style": "default",
            "agents": ["Bash", "general-purpose", "Explore", "Plan"],
            "skills": [],
            "plugins": [],
        },
        "Init",
        {
            "session_id": "session-uuid",
            "uuid": "message-uuid",
            "cli_version": "2.1.17",
            "tools.1": "Bash",
            "agents.1": "general-purpose",
        },
    ),
    Said(
        "Send user message",
        {
            "type": "user",
            "message": {"role": "user", "content": "Your message here"},
            "parent_tool_use_id": None,
            "session_id": "session-uuid",
        },
        Asks("Your message here"),
        adds=frozenset({"uuid"}),
        differs=frozenset({"session_id"}),
    ),
    Heard(
        "Permission request",
        REQUEST,
        "PermissionRequest",
        {
            "tool": "Bash",
            "input.command": "ls /tmp/test/",
            "tool_use_id": "toolu_xxx",
            "blocked_path": "/private/tmp/test",
            "suggestions.0.rules.0.toolName": "Read",
        },
    ),
    Said(
        "Permission response, allow",
        {
            "type": "control_response",
            "response": {
                "subtype": "success",
                "request_id": "matching-uuid",
                "response": {
                    "behavior": "allow",
                    "updatedInput": {
                        "command": "ls /tmp/test/",
                        "description": "List contents of /tmp/test/ directory",
                    },
                    "updatedPermissions": [],
                    "toolUseID": "toolu_xxx",
                },
            },
        },
        Replies({**REQUEST, "request_id": "matching-uuid"}, lambda request: request.allow()),
        lacks=frozenset({"response.response.updatedPermissions"}),
    ),
    Said(
        "Permission response, deny",
        {
            "type": "control_response",
            "response": {
                "subtype": "success",
                "request_id": "matching-uuid",
                "response": {
                    "behavior": "deny",
                    "message": "User declined this operation",
                    "toolUseID": "toolu_xxx",
                },
            },
        },
        Replies(
            {**REQUEST, "request_id": "matching-uuid"},
            lambda request: request.deny("User declined this operation"),
        ),
    ),
    Heard(
        "AskUserQuestion, request",
        ASKING,
        "PermissionRequest",
        {
            "tool": "AskUserQuestion",
            "questions.0.text": "Which color do you prefer?",
            "questions.0.labels": ("Red", "Green", "Blue"),
            "questions.0.options.2.description": "Choose the color blue",
        },
    ),
    Said(
        "AskUserQuestion, response",
        {
            "type": "control_response",
            "response": {
                "subtype": "success",
                "request_id": "uuid",
                "response": {
                    "behavior": "allow",
                    "updatedInput": {"answers": {"Which color do you prefer?": "Green"}},
                    "toolUseID": "toolu_xxx",
                },
            },
        },
        Replies(ASKING, lambda request: request.answer("Green")),
        adds=frozenset({"response.response.updatedInput.questions"}),
    ),
    Heard(
        "Assistant message",
        {
            "type": "assistant",
            "uuid": "message-uuid",
            "session_id": "session-uuid",
            "parent_tool_use_id": None,
            "message": {
                "model": "claude-sonnet-4-5-20250929",
                "id": "msg_xxx",
                "type": "message",
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "I'll help you with that."},
                    {
                        "type": "tool_use",
                        "id": "toolu_xxx",
                        "name": "Read",
                        "input": {"file_path": "/path"},
                    },
                ],
                "stop_reason": None,
                "usage": {
                    "input_tokens": 100,
                    "output_tokens": 50,
                    "cache_creation_input_tokens": 1000,
                    "cache_read_input_tokens": 500,
                },
            },
        },
        "Assistant",
        {
            "text": "I'll help you with that.",
            "tool_uses.0.input": {"file_path": "/path"},
            "uuid": "message-uuid",
            "usage.cache_creation_input_tokens": 1000,
        },
    ),
    Heard(
        "User message, tool results",
        {
            "type": "user",
            "uuid": "message-uuid",
            "session_id": "session-uuid",
            "parent_tool_use_id": None,
            "message": {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "toolu_xxx",
                        "content": "file contents here...",
                        "is_error": False,
                    }
                ],
            },
            "tool_use_result": {"stdout": "output", "stderr": "", "interrupted": False},
        },
        "User",
        {"tool_results.0.text": "file contents here...", "tool_use_result.stdout": "output"},
    ),
    Heard(
        "Result message",
        {
            "type": "result",
            "subtype": "success",
            "uuid": "message-uuid",
            "session_id": "session-uuid",
            "is_error": False,
            "duration_ms": 5000,
            "duration_api_ms": 4500,
            "num_turns": 2,
            "result": "Final text response",
            "total_cost_usd": 0.05,
            "usage": {
                "input_tokens": 200,
                "output_tokens": 100,
                "cache_creation_input_tokens": 1000,
                "cache_read_input_tokens": 500,
            },
            "modelUsage": {
                "claude-sonnet-4-5-20250929": {
                    "inputTokens": 200,
                    "outputTokens": 100,
                    "cacheReadInputTokens": 500,
                    "cacheCreationInputTokens": 1000,
                    "costUSD": 0.05,
                    "contextWindow": 200000,
                }
            },
            "permission_denials": [],
        },
        "Result",
        {
            "subtype": "success",
            "text": "Final text response",
            "total_cost_usd": 0.05,
            "num_turns": 2,
            "model_usage.claude-sonnet-4-5-20250929.contextWindow": 200000,
        },
    ),
    Said(
        "Example flow, 2",
        {"request_id": "init-1", "type": "control_request", "request": {"subtype": "initialize"}},
        Greets(),
    ),
    Heard(
        "Example flow, 3",
        {"type": "control_response", "response": {"subtype": "success", "request_id": "init-1"}},
        "Reply",
        {"request_id": "init-1", "error": None},
    ),
    Heard(
        "Example flow, 4",
        {"type": "system", "subtype": "init", "session_id": "sess-123", "tools": []},
        "Init",
        {"session_id": "sess-123", "tools": ()},
    ),
    Said(
        "Example flow, 5",
        {"type": "user", "message": {"role": "user", "content": "List files in /tmp"}},
        Asks("List files in /tmp"),
        adds=frozenset({"parent_tool_use_id", "session_id", "uuid"}),
    ),
    Heard(
        "Example flow, 6",
        {"type": "assistant", "message": {"content": [{"type": "tool_use", "name": "Bash"}]}},
        "Assistant",
        {"tool_uses.0.name": "Bash", "tool_uses.0.id": "", "tool_uses.0.input": {}},
    ),
    Heard(
        "Example flow, 7",
        FLOW_REQUEST,
        "PermissionRequest",
        {"tool": "", "input": {}, "tool_use_id": None},
    ),
    Said(
        "Example flow, 8",
        {
            "type": "control_response",
            "response": {
                "subtype": "success",
                "request_id": "perm-1",
                "response": {"behavior": "allow"},
            },
        },
        Replies(FLOW_REQUEST, lambda request: request.allow()),
        adds=frozenset({"response.response.updatedInput"}),
    ),
    Heard(
        "Example flow, 9",
        {"type": "user", "message": {"content": [{"type": "tool_result"}]}},
        "User",
        {"tool_results.0.is_error": False, "tool_results.0.content": None},
    ),
    Heard(
        "Example flow, 10",
        {
            "type": "assistant",
            "message": {"content": [{"type": "text", "text": "Here are the files..."}]},
        },
        "Assistant",
        {"text": "Here are the files..."},
    ),
    Heard(
        "Example flow, 11",
        {"type": "result", "subtype": "success", "result": "Here are the files..."},
        "Result",
        {"text": "Here are the files...", "is_error": False, "total_cost_usd": None},
    ),
]
