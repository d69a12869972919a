"""Markdown into HTML that is safe to show: see :mod:`claude_sync.render.markdown`."""

from .render.markdown import escape, markdown_to_html, safe_link

__all__ = ["escape", "markdown_to_html", "safe_link"]
