"""
What happened in a conversation, and how it is shown: Markdown, HTML, documents, timelines.

::

    messages -> [chats] -> html, documents (Markdown, HTML, JSON), repr (what notebooks show)

:class:`Chat` is what happened, as data: its ``add()`` is a handler for ``on_message``.
"""

from .chats import Chat, Picture, Round, Step
from .markdown import escape, markdown_to_html, safe_link

__all__ = ["Chat", "Picture", "Round", "Step", "escape", "markdown_to_html", "safe_link"]
