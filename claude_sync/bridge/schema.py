"""
A JSON Schema of every message of the bridge, for front ends in other languages.

``python -m claude_sync.bridge --schema`` prints it. Each message has a definition of its
own, named by its type; ``from_front_end`` and ``from_backend`` are all of one direction.
"""

from __future__ import annotations

from typing import Any, Dict, Mapping, Sequence

from ..options import Options, names_of
from ..options.fields import EFFORTS, PERMISSION_MODES, SETTING_SOURCES
from .options import NOT_HERE

__all__ = ["schema"]

Schema = Dict[str, Any]

ANYTHING: Schema = {}
TEXT: Schema = {"type": "string"}
TEXTS: Schema = {"type": "array", "items": TEXT}
FLAG: Schema = {"type": "boolean"}
OBJECT: Schema = {"type": "object"}
OBJECTS: Schema = {"type": "array", "items": OBJECT}
COUNT: Schema = {"type": "integer", "minimum": 0}
AMOUNT: Schema = {"type": "number", "minimum": 0}
UUID: Schema = {"type": "string", "pattern": "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"}
PROMPT: Schema = {"oneOf": [TEXT, {"$ref": "#/$defs/content_blocks"}]}

ERROR_CODES = (
    *("INVALID_MESSAGE", "SESSION_NOT_FOUND", "SESSION_CREATE_FAILED", "CALLBACK_TIMEOUT"),
    *("CALLBACK_NOT_FOUND", "QUERY_METHOD_FAILED", "SDK_ERROR"),
)


def schema() -> Schema:
    """The schema, as JSON Schema 2020-12 has it."""
    incoming = {
        "session.create": envelope("session.create", created_by()),
        "session.send": envelope("session.send", sent(), session=True),
        "session.interrupt": envelope(
            "session.interrupt", record({"cancel_queued": FLAG}), session=True
        ),
        "session.kill": envelope("session.kill", record({"timeout": AMOUNT}), session=True),
        "callback.response": envelope("callback.response", answer(), id_needed=True),
        "callback.progress": envelope("callback.progress", progress(), id_needed=True),
        "query.call": envelope("query.call", query(), session=True),
    }
    outgoing = {
        "session.created": envelope("session.created", created(), session=True),
        "sdk.message": envelope("sdk.message", OBJECT, session=True, id_allowed=False),
        "callback.request": envelope("callback.request", question(), True, True),
        "callback.cancelled": envelope("callback.cancelled", record({}), True, True),
        "query.result": envelope("query.result", query_result(), session=True),
        "session.interrupted": envelope("session.interrupted", receipt(), session=True),
        "session.stderr": envelope(
            "session.stderr", record({"line": TEXT}, ["line"]), session=True, id_allowed=False
        ),
        "session.updated": envelope("session.updated", updated(), session=True, id_allowed=False),
        "session.killed": envelope("session.killed", record({}), session=True),
        "error": envelope("error", error()),
    }
    for each in incoming.values():
        # A front end may leave an empty payload out.
        if not each["properties"]["payload"].get("required"):
            each["required"].remove("payload")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Messages of the bridge of claude_sync, one a line",
        "oneOf": [{"$ref": "#/$defs/from_front_end"}, {"$ref": "#/$defs/from_backend"}],
        "$defs": {
            "from_front_end": any_of(incoming),
            "from_backend": any_of(outgoing),
            **incoming,
            **outgoing,
            **parts(),
        },
    }


def envelope(
    kind: str, payload: Schema, session: bool = False, id_needed: bool = False, **more: bool
) -> Schema:
    """A message; *session*, *id_needed*: whether it must name them."""
    fields: Schema = {"type": {"const": kind}, "id": TEXT, "session_id": TEXT, "payload": payload}
    if not more.get("id_allowed", True):
        del fields["id"]
    needed = ["type", "payload"]
    needed += ["session_id"] if session else []
    needed += ["id"] if id_needed else []
    return record(fields, needed)


def record(fields: Mapping[str, Any], needed: Sequence[str] = ()) -> Schema:
    """An object with these fields and no others."""
    made: Schema = {
        "type": "object",
        "properties": dict(fields),
        "required": list(needed),
        "additionalProperties": False,
    }
    return made


def any_of(messages: Mapping[str, Any]) -> Schema:
    """One of the messages."""
    return {"oneOf": [{"$ref": f"#/$defs/{kind}"} for kind in messages]}


def one_of(*words: str) -> Schema:
    """One of these texts."""
    return {"enum": list(words)}


def ref(name: str) -> Schema:
    """A definition."""
    return {"$ref": f"#/$defs/{name}"}


def by_name(values: Schema) -> Schema:
    """An object whose names are free."""
    return {"type": "object", "additionalProperties": values}


# What front ends send.


def created_by() -> Schema:
    """The payload of ``session.create``."""
    return record(
        {
            "prompt": PROMPT,
            "cwd": TEXT,
            "uuid": UUID,
            "extensions": FLAG,
            "options": ref("options"),
        }
    )


def sent() -> Schema:
    """The payload of ``session.send``."""
    fields = {"message": PROMPT, "uuid": UUID, "steer": FLAG, "should_query": FLAG}
    fields["verbatim"] = FLAG
    return record(fields, ["message"])


def answer() -> Schema:
    """The payload of ``callback.response``: of a permission, a hook or a tool."""
    fields = {
        "behavior": one_of("allow", "deny"),
        "updated_input": OBJECT,
        "message": TEXT,
        "interrupt": FLAG,
        "updated_permissions": OBJECTS,
        "continue": FLAG,
        "stop_reason": TEXT,
        "suppress_output": FLAG,
        "decision": one_of("approve", "block"),
        "system_message": TEXT,
        "reason": TEXT,
        "hook_specific_output": OBJECT,
        "content": {"oneOf": [TEXT, OBJECTS]},
        "structured_content": OBJECT,
        "is_error": FLAG,
    }
    # What later CLIs take from a hook passes.
    return {**record(fields), "additionalProperties": True}


def progress() -> Schema:
    """The payload of ``callback.progress``."""
    fields = {"progress": {"type": "number"}, "total": {"type": "number"}, "message": TEXT}
    return record(fields, ["progress"])


def query() -> Schema:
    """The payload of ``query.call``."""
    return record({"method": TEXT, "args": {"type": "array"}, "kwargs": OBJECT}, ["method"])


# What the backend sends.


def created() -> Schema:
    """The payload of ``session.created``."""
    fields = {
        "sdk_session_id": {"type": ["string", "null"]},
        "greeting": OBJECT,
        "pid": {"type": ["integer", "null"]},
        "cli_version": {"type": ["string", "null"]},
    }
    return record(fields, ["sdk_session_id"])


def updated() -> Schema:
    """The payload of ``session.updated``."""
    return record({"sdk_session_id": {"type": ["string", "null"]}}, ["sdk_session_id"])


def receipt() -> Schema:
    """The payload of ``session.interrupted``: the CLI's words, which later ones may add to."""
    fields = {"still_queued": TEXTS, "cancelled": TEXTS}
    return {**record(fields), "additionalProperties": True}


def question() -> Schema:
    """The payload of ``callback.request``."""
    permission = {
        "callback_type": {"const": "can_use_tool"},
        "tool_name": TEXT,
        "tool_input": OBJECT,
        "suggestions": OBJECTS,
        "blocked_path": TEXT,
        "tool_use_id": TEXT,
        "decision_reason": TEXT,
        "title": TEXT,
        "description": TEXT,
        "agent_id": TEXT,
        "request": OBJECT,
    }
    hook = {
        "callback_type": {"const": "hook"},
        "hook_event": TEXT,
        "hook_input": OBJECT,
        "tool_use_id": TEXT,
        "hook_id": TEXT,
    }
    tool = {
        "callback_type": {"const": "tool"},
        "tool_name": TEXT,
        "tool_input": OBJECT,
        "tool_use_id": {"type": ["string", "null"]},
    }
    return {
        "oneOf": [
            record(permission, ["callback_type", "tool_name", "tool_input", "suggestions"]),
            record(hook, ["callback_type", "hook_event", "hook_input"]),
            record(tool, ["callback_type", "tool_name", "tool_input"]),
        ]
    }


def query_result() -> Schema:
    """The payload of ``query.result``."""
    done = record({"success": {"const": True}, "result": ANYTHING}, ["success", "result"])
    failed = record(
        {"success": {"const": False}, "error": TEXT, "details": ref("details")},
        ["success", "error"],
    )
    return {"oneOf": [done, failed]}


def error() -> Schema:
    """The payload of ``error``."""
    fields = {"code": one_of(*ERROR_CODES), "message": TEXT, "details": ref("details")}
    return record(fields, ["code", "message"])


# What these consist of.


def parts() -> Schema:
    """The definitions that messages refer to."""
    block = {"type": "object", "properties": {"type": TEXT}, "required": ["type"]}
    return {
        "content_blocks": {"type": "array", "minItems": 1, "items": block},
        "details": {
            "type": "object",
            "properties": {
                "error": TEXT,
                "code": TEXT,
                "text": TEXT,
                "exit_code": {"type": "integer"},
                "stderr_tail": TEXTS,
            },
        },
        "options": options(),
        "mcp_server": {
            "type": "object",
            "properties": {
                "type": TEXT,
                "command": TEXT,
                "args": TEXTS,
                "env": OBJECT,
                "url": TEXT,
                "headers": OBJECT,
            },
        },
        "agent": {
            "type": "object",
            "properties": {
                "description": TEXT,
                "prompt": TEXT,
                "tools": TEXTS,
                "model": TEXT,
            },
            "required": ["description", "prompt"],
        },
        "hook": record(
            {
                "matcher": TEXT,
                "timeout": AMOUNT,
                "on_failure": one_of("block", "continue"),
                "id": TEXT,
            }
        ),
        "tool": record(
            {
                "name": TEXT,
                "description": TEXT,
                "input_schema": OBJECT,
                "ask": FLAG,
                "title": TEXT,
                "annotations": OBJECT,
                "max_result_chars": COUNT,
            },
            ["name"],
        ),
        "sandbox": sandbox(),
    }


def sandbox() -> Schema:
    """The settings of a sandbox, and whatever else the CLI knows."""
    network = {
        "allow_local_binding": FLAG,
        "allow_unix_sockets": TEXTS,
        "allow_all_unix_sockets": FLAG,
    }
    return {
        "type": "object",
        "properties": {
            "enabled": FLAG,
            "auto_allow_bash_if_sandboxed": FLAG,
            "excluded_commands": TEXTS,
            "allow_unsandboxed_commands": FLAG,
            "network": {"type": "object", "properties": network},
            "ignore_violations": by_name(TEXTS),
        },
    }


def options() -> Schema:
    """The options of a session: the documented ones in detail, then those of ours."""
    preset = record(
        {"type": {"const": "preset"}, "preset": TEXT, "append": {"type": ["string", "null"]}},
        ["type"],
    )
    others = {"type": "object", "properties": {"type": one_of("file", "custom")}}
    form = {"type": {"const": "json_schema"}, "schema": OBJECT}
    fields: Schema = {name: ANYTHING for name in names_of(Options) if name not in NOT_HERE}
    fields.update(
        {
            "model": TEXT,
            "fallback_model": TEXT,
            "permission_mode": one_of(*PERMISSION_MODES),
            "allowed_tools": TEXTS,
            "disallowed_tools": TEXTS,
            "system_prompt": {"anyOf": [TEXT, preset, others]},
            "append_system_prompt": TEXT,
            "max_turns": COUNT,
            "max_budget_usd": AMOUNT,
            "max_thinking_tokens": COUNT,
            "effort": one_of(*EFFORTS),
            "include_partial_messages": FLAG,
            "enable_file_checkpointing": FLAG,
            "additional_directories": TEXTS,
            "add_dirs": TEXTS,
            "mcp_servers": {"anyOf": [by_name(ref("mcp_server")), TEXT]},
            "agents": by_name(ref("agent")),
            "hooks": by_name({"type": "array", "items": ref("hook")}),
            "tools": {"type": "array", "items": ref("tool")},
            "sandbox": ref("sandbox"),
            "setting_sources": {"type": "array", "items": one_of(*SETTING_SOURCES)},
            "betas": TEXTS,
            "output_format": record(form, ["type", "schema"]),
            "resume": TEXT,
            "session_id": UUID,
        }
    )
    made = record(fields)
    # null is as good as nothing.
    made["properties"] = {
        name: {"anyOf": [each, {"type": "null"}]} if each else each for name, each in fields.items()
    }
    return made
