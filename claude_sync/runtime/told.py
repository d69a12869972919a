"""What the CLI has told about itself, as a program sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional, Tuple

from ..events import Info

if TYPE_CHECKING:
    from .connection import Connection

__all__ = ["info_of"]


def info_of(connection: Optional[Connection]) -> Info:
    """What the CLI behind *connection* told so far; nothing where none was started."""
    if connection is None:
        return Info()
    told = connection.greeting
    return Info(
        commands=as_tuple(told.get("commands")),
        models=as_tuple(told.get("models")),
        account=told.get("account"),
        agents=as_tuple(told.get("agents")),
        output_style=told.get("output_style"),
        available_output_styles=as_tuple(told.get("available_output_styles")),
        cli_version=connection.cli_version,
        capabilities=as_tuple(connection.capabilities or told.get("capabilities")),
        raw=told,
    )


def as_tuple(value: Any) -> Optional[Tuple[Any, ...]]:
    """A list of the wire as a tuple; None stays None."""
    return tuple(value) if isinstance(value, (list, tuple)) else None
