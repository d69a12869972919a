"""
Functions of a front end, as tools of a client.

A front end may be written in any language, so it gives the JSON Schema itself, and its
results are content blocks already.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Dict, Mapping, Optional

from ..tools import Tool, ToolContext
from .options import ToolWish

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["FrontEndTool"]

Call = Callable[[Mapping[str, Any], ToolContext], Optional[Dict[str, Any]]]

GONE = {"content": [{"type": "text", "text": "The call was withdrawn."}], "isError": True}


def nothing() -> None:
    """The function of a tool that has none here."""


class FrontEndTool(Tool):  # Python 3.9 cannot say Tool[..., Any]
    """A tool whose function is somewhere else."""

    def __init__(self, wish: ToolWish, call: Call) -> None:
        super().__init__(
            nothing,
            name=wish.name,
            description=wish.description,
            title=wish.title,
            ask=wish.ask,
            max_result_chars=wish.max_result_chars,
        )
        # As MCP spells them: also hints that are not known here.
        self.annotations = dict(wish.annotations)
        self._schema = wish.input_schema
        self._call = call

    @property
    def schema(self) -> Dict[str, Any]:
        """As the front end gave it."""
        return self._schema

    def changed(self, **settings: Any) -> Self:  # noqa: ARG002
        """There are no other settings to give it."""
        return self

    def run(
        self, arguments: Mapping[str, Any], context: Optional[ToolContext] = None
    ) -> Dict[str, Any]:
        """Have it called there, and wait for the result."""
        return self._call(arguments, context or ToolContext()) or GONE
