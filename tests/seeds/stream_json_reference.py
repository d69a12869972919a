"""The examples of the stream-json reference: questions are user_message."""

from __future__ import annotations

from seed_examples import Asks, Heard, Requests, Said

EXAMPLES = [
    Heard(
        "system/init",
        {
            "type": "system",
            "subtype": "init",
            "session_id": "abc-123",
            "tools": ["Read", "Write", "Bash", "Glob", "Grep"],
            "model": "claude-sonnet-4-5-20250929",
            "cwd": "/path/to/workspace",
            "mcp_servers": [],
        },
        "Init",
        {
            "session_id": "abc-123",
            "tools.0": "Read",
            "model": "claude-sonnet-4-5-20250929",
            "cwd": "/path/to/workspace",
            "mcp_servers": (),
            "permission_mode": None,
        },
    ),
    Heard(
        "message_start",
        {
            "type": "stream_event",
            "event": {
                "type": "message_start",
                "message": {
                    "id": "msg_123",
                    "type": "message",
                    "role": "assistant",
                    "model": "claude-sonnet-4-5-20250929",
                },
            },
        },
        "StreamEvent",
        {"event_type": "message_start", "event.message.id": "msg_123"},
    ),
    Heard(
        "content_block_start, text",
        {
            "type": "stream_event",
            "event": {
                "type": "content_block_start",
                "index": 0,
                "content_block": {"type": "text", "text": ""},
            },
        },
        "StreamEvent",
        {"event_type": "content_block_start", "event.content_block.text": ""},
    ),
    Heard(
        "content_block_start, tool_use",
        {
            "type": "stream_event",
            "event": {
                "type": "content_block_start",
                "index": 1,
                "content_block": {
                    "type": "tool_use",
                    "id": "toolu_123",
                    "name": "Read",
                    "input": "",
                },
            },
        },
        "StreamEvent",
        {"event_type": "content_block_start", "event.index": 1, "event.content_block.input": ""},
    ),
    Heard(
        "content_block_delta, text",
        {
            "type": "stream_event",
            "event": {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "text_delta", "text": "Here is the "},
            },
        },
        "StreamEvent",
        {"event_type": "content_block_delta", "event.delta.text": "Here is the "},
    ),
    Heard(
        "content_block_delta, tool input",
        {
            "type": "stream_event",
            "event": {
                "type": "content_block_delta",
                "index": 1,
                "delta": {"type": "input_json_delta", "partial_json": '{"file_path":'},
            },
        },
        "StreamEvent",
        {"event_type": "content_block_delta", "event.delta.partial_json": '{"file_path":'},
    ),
    Heard(
        "content_block_stop",
        {"type": "stream_event", "event": {"type": "content_block_stop", "index": 0}},
        "StreamEvent",
        {"event_type": "content_block_stop", "event.index": 0},
    ),
    Heard(
        "message_delta",
        {
            "type": "stream_event",
            "event": {
                "type": "message_delta",
                "delta": {"stop_reason": "end_turn"},
                "usage": {"output_tokens": 150},
            },
        },
        "StreamEvent",
        {"event_type": "message_delta", "event.usage.output_tokens": 150},
    ),
    Heard(
        "message_stop",
        {"type": "stream_event", "event": {"type": "message_stop"}},
        "StreamEvent",
        {"event_type": "message_stop"},
    ),
    Heard(
        "assistant",
        {
            "type": "assistant",
            "message": {
                "id": "msg_123",
                "type": "message",
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "Here is the answer..."},
                    {
                        "type": "tool_use",
                        "id": "toolu_123",
                        "name": "Read",
                        "input": {"file_path": "/foo"},
                    },
                ],
                "model": "claude-sonnet-4-5-20250929",
                "stop_reason": "end_turn",
                "usage": {
                    "input_tokens": 500,
                    "output_tokens": 150,
                    "cache_creation_input_tokens": 0,
                    "cache_read_input_tokens": 400,
                },
            },
            "session_id": "abc-123",
        },
        "Assistant",
        {
            "text": "Here is the answer...",
            "tool_uses.0.input.file_path": "/foo",
            "stop_reason": "end_turn",
            "session_id": "abc-123",
            "usage.cache_read_input_tokens": 400,
        },
    ),
    Heard(
        "user",
        {
            "type": "user",
            "message": {"role": "user", "content": [{"type": "text", "text": "Hello Claude"}]},
            "session_id": "abc-123",
        },
        "User",
        {"text": "Hello Claude", "session_id": "abc-123", "uuid": None},
    ),
    Heard(
        "result, success",
        {
            "type": "result",
            "subtype": "success",
            "cost_usd": 0.0045,
            "total_cost_usd": 0.0123,
            "duration_ms": 3500,
            "duration_api_ms": 2800,
            "is_error": False,
            "num_turns": 1,
            "session_id": "abc-123",
            "usage": {"input_tokens": 500, "output_tokens": 150},
        },
        "Result",
        {
            "subtype": "success",
            "cost_usd": 0.0045,
            "total_cost_usd": 0.0123,
            "result": None,
            "is_error": False,
            "usage.output_tokens": 150,
        },
    ),
    Heard(
        "result, error",
        {
            "type": "result",
            "subtype": "error",
            "error": "Rate limit exceeded",
            "is_error": True,
            "session_id": "abc-123",
        },
        "Result",
        {
            "subtype": "error",
            "is_error": True,
            "errors": ("Rate limit exceeded",),
            "text": "Rate limit exceeded",
        },
    ),
    Said(
        "user_message, text",
        {"type": "user_message", "content": "What files are in the src directory?"},
        Asks("What files are in the src directory?", dialect="user-message"),
    ),
    Said(
        "user_message, images",
        {
            "type": "user_message",
            "content": [
                {"type": "text", "text": "What does this screenshot show?"},
                {
                    "type": "image",
                    "source": {
                        "type": "base64",
                        "media_type": "image/png",
                        "data": "iVBORw0KGgo=",
                    },
                },
            ],
        },
        Asks(
            [
                {"type": "text", "text": "What does this screenshot show?"},
                {
                    "type": "image",
                    "source": {
                        "type": "base64",
                        "media_type": "image/png",
                        "data": "iVBORw0KGgo=",
                    },
                },
            ],
            dialect="user-message",
        ),
    ),
    Said(
        "control_request, compact",
        {
            "type": "control_request",
            "request": {
                "subtype": "compact",
                "custom_instructions": "Focus on the authentication module",
            },
        },
        Asks("/compact Focus on the authentication module", dialect="user-message"),
    ),
    Said(
        "control_request, cancel",
        {"type": "control_request", "request": {"subtype": "cancel"}},
        Requests(lambda client: client.interrupt(), dialect="user-message"),
    ),
]
