"""Conversations that a CLI was to go on with, and does not know."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .connection import Connection

__all__ = ["conversation_is_missing"]


def conversation_is_missing(connection: Connection) -> bool:
    """Whether the CLI ended because it does not know the conversation to resume."""
    if connection.ready:
        return False
    said = [connection.refusal or "", *connection.stderr_tail]
    return any("No conversation found" in text for text in said)
