"""``Client``, which a program holds, and its methods: asking, handlers, control requests."""

from __future__ import annotations

from .client import (
    ASK_OPTIONS,
    HANDLERS,
    LONGEST_CLOSE,
    Client,
    ask,
    form_of,
    handlers_among,
    stop_own_turn,
)

__all__ = [
    "ASK_OPTIONS",
    "HANDLERS",
    "LONGEST_CLOSE",
    "Client",
    "ask",
    "form_of",
    "handlers_among",
    "stop_own_turn",
]
