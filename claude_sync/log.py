"""
The one logger of the library: ``logging.getLogger("claude_sync")``.

Lines begin with a sign: ``>`` sent, ``<`` received, ``=`` a change of state,
``!`` something went wrong. Payloads are shortened, and credentials never appear.
Warnings and errors reach stderr even in a program that configures no logging:
a handler that fails, or a tool that was denied, should not go unnoticed.
"""

from __future__ import annotations

import logging

__all__ = ["logger", "shortened"]

logger = logging.getLogger("claude_sync")

LONGEST_PAYLOAD = 200


def shortened(data: object) -> str:
    """A payload as one short line, without anything that looks like a credential."""
    from .runtime.redaction import redact_text

    text = data.decode("utf-8", "replace") if isinstance(data, bytes) else str(data)
    text = redact_text(text[: 4 * LONGEST_PAYLOAD].strip())
    return text if len(text) <= LONGEST_PAYLOAD else text[:LONGEST_PAYLOAD] + " ..."
