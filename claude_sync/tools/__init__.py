"""
Functions of the program that Claude can call.

::

    def weather(city: str, days: int = 1) -> str:
        \"\"\"Tell the weather.

        Args:
            city: Name of the town.
            days: How many days ahead.
        \"\"\"

    client = claude_sync.Client(tools=[weather])

A plain function is enough; :func:`tool` is for those that need a name, a hint or
a question before they run.
"""

from .results import Image, ToolContext, ToolError
from .tool import Tool, failed_result, make_tool, make_tools, tool

__all__ = [
    "Image",
    "Tool",
    "ToolContext",
    "ToolError",
    "failed_result",
    "make_tool",
    "make_tools",
    "tool",
]
