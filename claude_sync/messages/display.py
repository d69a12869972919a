"""
What a program may show: the methods that notebooks look for, and timelines.

Small, because everything that can be asked is loaded with it. What makes the
pictures is loaded when one is shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List

if TYPE_CHECKING:
    from ..render.timeline import Timeline


class Displayed:
    """
    Something that notebooks show in more than one line of text.

    To look at it never raises, never waits and changes nothing.
    """

    def _repr_html_(self) -> str:
        from ..render.repr import html_of

        return html_of(self)

    def _repr_markdown_(self) -> str:
        from ..render.repr import markdown_of

        return markdown_of(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Dict[str, str]:
        """Both, for front ends that choose; *include* and *exclude* are theirs to apply."""
        bundle = {"text/html": self._repr_html_(), "text/markdown": self._repr_markdown_()}
        for name in list(bundle):
            if (include and name not in include) or (exclude and name in exclude):
                del bundle[name]
        return bundle


class Timed:
    """Something that knows when what of it happened."""

    # The engine's record of times.
    _marks: Any = None

    def timeline(self) -> Timeline:
        """
        When what happened: the model at work, tools, waiting for permission.

        Of a turn that still runs: until now. Of a client: its last 100 turns.
        """
        from ..render.timeline import timeline_of

        return timeline_of(self._all_marks())

    def _all_marks(self) -> List[Any]:
        return [] if self._marks is None else [self._marks]
