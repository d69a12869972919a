"""What the CLI asks of the program: permissions, questions, hooks, tools."""

from __future__ import annotations

from .serving import Answers, Requests

__all__ = ["Answers", "Requests"]
