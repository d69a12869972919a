"""
The messages of type ``system``: what the CLI reports about itself.

One class for each subtype that programs use; those about tasks are in ``tasks``. Every other
subtype is a plain :class:`~claude_sync.System`, whose fields are attributes. Attributes are
named as on the wire, in lower case; which of them a CLI sends depends on its version.
"""

from __future__ import annotations

from typing import Any

from .base import System
from .fields import Raw, at, objects


class Init(System, subtype="init"):
    """A turn begins; what this session has. Comes again with every turn."""

    cwd: str = ""
    model: str = ""
    tools: tuple[str, ...] = ()
    mcp_servers: tuple[Raw, ...] = ()
    permission_mode: str | None = None
    slash_commands: tuple[str, ...] = ()
    api_key_source: str | None = None
    cli_version: str | None = at("claude_code_version")
    output_style: str | None = None
    agents: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    plugins: tuple[Raw, ...] = ()
    capabilities: tuple[str, ...] | None = None
    user_message_uuids: tuple[str, ...] = ()


class Status(System, subtype="status"):
    """What the CLI does right now (``compacting``, ``requesting``, None), or a change of mode."""

    status: str | None = None
    message: str | None = None
    permission_mode: str | None = None
    compact_result: str | None = None
    compact_error: str | None = None


class CompactBoundary(System, subtype="compact_boundary"):
    """A summary replaced the conversation so far."""

    trigger: str | None = at(within="compact_metadata")
    pre_tokens: int | None = at(within="compact_metadata")
    post_tokens: int | None = at(within="compact_metadata")
    compact_metadata: Raw = objects()
    summary: str | None = None


class ApiRetry(System, subtype="api_retry"):
    """A request to the service failed and is tried again."""

    attempt: int = 0
    max_retries: int = 0
    retry_delay_ms: float | None = None
    error_status: int | None = None
    error: str | None = None
    no_response: Any = None
